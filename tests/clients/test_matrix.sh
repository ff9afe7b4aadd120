#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No scheduling choice changes a result: one trace hash for a mesh of four ranks and for a ring of
# three with three wires and their threads, whatever runs when and whatever else runs.
#
# Choices: strict or parallel turns, either driver, polls folded never, after 8 or after 60, leases
# free or 500 ns, ASLR off or on, an idle machine or three hogs. That makes 96. Of these 24 run: for
# each fold, eight that hold every pair of the other five, another eighth for each fold. With
# TBMESH_MATRIX=full all 96 run.
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

sizes=4,4096,65536,262144

# hash_of OPTIONS: adds a line for each client to the files mesh and ring.
hash_of() {
    # shellcheck disable=SC2086 # words
    run "mesh, $1" 0 timeout 60 "$tbmesh" run $1 "$macs" -- \
        "$uc_mesh" all_reduce --sizes $sizes --repeat 2
    grep -o 'trace hash .*' stdout >>mesh || fail "mesh, $1: no hash"
    # shellcheck disable=SC2086 # words
    run "ring, $1" 0 timeout 60 "$tbmesh" run $1 ring.yaml -- \
        "$uc_mesh" all_reduce --ring --wires 3 --sizes 4,65536,262144 --repeat 2
    grep -o 'trace hash .*' stdout >>ring || fail "ring, $1: no hash"
}

# rows HOGS: the lines of the matrix with (1) or without (0) hogs, as options.
rows() {
    awk -v hogs="$1" -v full="${TBMESH_MATRIX:-}" 'BEGIN {
        split("0 8 60", folds, " ")
        for (f = 1; f <= 3; f++) for (a = 0; a < 2; a++) for (b = 0; b < 2; b++)
            for (c = 0; c < 2; c++) for (d = 0; d < 2; d++) for (e = 0; e < 2; e++) {
                is_in = d == (a + b + (f == 2)) % 2 && e == (a + c + (f == 3)) % 2
                if (e != hogs || (full != "full" && !is_in)) continue
                print "--fold " folds[f] (a ? " --parallel" : "") (b ? " --driver conductor" : "") \
                    (c ? " --lease-cap 500ns" : "") (d ? " --keep-aslr" : "")
            }
    }'
}

hash_of ""
hash_of "--spin 2000"
hash_of "--driver conductor --spin 2000"
rows 0 >idle
while read -r options; do hash_of "$options"; done <idle
for i in 1 2 3; do
    timeout 290 sh -c 'while :; do :; done' &
    eval "hog$i=\$!"
done
rows 1 >busy
while read -r options; do hash_of "$options"; done <busy
# shellcheck disable=SC2154 # set by eval
kill "$hog1" "$hog2" "$hog3" || fail "the machine was not busy to the end"
[ "$(cat idle busy | wc -l)" -ge 24 ] || fail "the matrix has $(cat idle busy | wc -l) rows"

for client in mesh ring; do
    [ "$(sort -u "$client" | wc -l)" = 1 ] || {
        fail "$client: more than one result:"
        sort "$client" | uniq -c | sed 's/^/    /'
    }
done

# Jitter is drawn from the seed: another seed is another run.
run "another seed" 0 timeout 60 "$tbmesh" run --seed 2 "$macs" -- \
    "$uc_mesh" all_reduce --sizes $sizes --repeat 2
if grep -qF "$(head -1 mesh)" stdout; then fail "another seed: the same result"; fi
finish
