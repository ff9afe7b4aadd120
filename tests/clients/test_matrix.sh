#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No scheduling choice changes a result: one trace hash for a mesh of four ranks and for a ring of
# three with three wires and their threads, whatever runs when and whatever else runs.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml

cat >ring.yaml <<'END'
tbmesh: 1
name: three studios, three cables between neighbours
seed: 1
macos: "26.3"
machines:
  - {name: studio, model: mac-studio-m3-ultra, memory: 512 GiB, count: 3}
cables:
  - {ring: [studio1, studio2, studio3], kind: tb5-1m}
  - {ring: [studio1, studio2, studio3], kind: tb5-1m}
  - {ring: [studio1, studio2, studio3], kind: tb5-1m}
rdma: enabled
bridge: {members: none}
ip: per-cable
END

# hash_of OPTIONS: adds a line for each client to the files mesh and ring.
hash_of() {
    # shellcheck disable=SC2086 # words
    run "mesh, $1" 0 timeout 60 "$tbmesh" run $1 "$macs" -- \
        "$uc_mesh" all_reduce --sizes 4,4096,65536,1048576 --repeat 3
    grep -o 'trace hash .*' stdout >>mesh || fail "mesh, $1: no hash"
    # shellcheck disable=SC2086 # words
    run "ring, $1" 0 timeout 60 "$tbmesh" run $1 ring.yaml -- \
        "$uc_mesh" all_reduce --ring --wires 3 --sizes 4,65536,1048576 --repeat 3
    grep -o 'trace hash .*' stdout >>ring || fail "ring, $1: no hash"
}

all_choices() {
    for mode in "" --parallel; do
        for fold in 0 8 60; do
            for aslr in "" --keep-aslr; do
                hash_of "$mode --fold $fold $aslr"
            done
        done
    done
    hash_of ""
    hash_of "--spin 2000"
}

all_choices
for i in 1 2 3; do
    timeout 120 sh -c 'while :; do :; done' &
    eval "hog$i=\$!"
done
for mode in "" --parallel "--fold 8" "--parallel --fold 0"; do hash_of "$mode"; done
# shellcheck disable=SC2154 # set by eval
kill "$hog1" "$hog2" "$hog3"

for client in mesh ring; do
    [ "$(sort -u "$client" | wc -l)" = 1 ] || {
        fail "$client: more than one result:"
        sort "$client" | uniq -c | sed 's/^/    /'
    }
done

# Jitter is drawn from the seed: another seed is another run.
run "another seed" 0 timeout 60 "$tbmesh" run --seed 2 "$macs" -- \
    "$uc_mesh" all_reduce --sizes 4,4096,65536,1048576 --repeat 3
if grep -qF "$(head -1 mesh)" stdout; then fail "another seed: the same result"; fi
finish
