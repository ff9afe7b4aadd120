#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conductor as driver: a program that damages what it shares with the emulator loses its place,
# is named, and harms nobody else.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml

command -v ibv_uc_pingpong >/dev/null || {
    echo "skipped: ibv_uc_pingpong is not there (package ibverbs-utils)"
    exit 77
}
pingpong="ibv_uc_pingpong -d rdma_en2 -g 1 -n 200"

# among NAME EXIT HOW: ranks 0 and 1 talk to each other, rank 2 misbehaves, rank 3 ends well.
among() {
    # shellcheck disable=SC2086 # words
    run "$1" "$2" timeout 30 "$tbmesh" run --driver conductor --patience 2 "$macs" -- \
        $pingpong :: $pingpong 127.0.0.1 :: "$rogue" "$3" :: "$rogue" ok
    [ "$(grep -c '^\[studio[12]\] 200 iters in .* = [0-9.]* usec/iter' stdout)" = 2 ] ||
        fail "$1: the others do not come to their end"
}

among "a program that behaves" 0 ok
says "a program that behaves" stdout '^verdict ok'
hash=$(grep -o 'trace hash .*' stdout)
for how in "ring commands" "command commands" "flood commands" "channel thread" "bell thread" \
    "write commands"; do
    among "${how% *}" 1 "${how% *}"
    says "${how% *}" stderr "crashed: rank 2 \(studio3\): was dropped and killed: .*${how#* }.* no sense"
    [ "$(grep -c 'crashed:' stderr)" = 1 ] || fail "${how% *}: somebody else crashed too"
done
among "a rank that is killed" 1 kill
says "a rank that is killed" stderr 'crashed: rank 2 \(studio3\): ended by signal 9'

# One that works with the others: they see what a dead peer gives.
long="$uc_mesh all_reduce --sizes 4096 --repeat 1000000"
# shellcheck disable=SC2086 # words
run "peers of one that is dropped" 1 timeout 90 "$tbmesh" run --ranks 3 --driver conductor "$macs" -- \
    $long :: $long :: sh -c "ulimit -t 1; $long; exit 9"
says "peers of one that is dropped" stderr 'wait for rank 2 \(studio3\); its queue pair is gone'

# The driver is no choice that a result may show, other than by its name.
# shellcheck disable=SC2086 # words
run "inline" 0 timeout 30 "$tbmesh" run "$macs" -- \
    $pingpong :: $pingpong 127.0.0.1 :: "$rogue" ok :: "$rogue" ok
says "inline" stdout "$hash"
for words in "--driver conductor --lease-cap 500ns" "--driver inline --parallel --fold 8"; do
    # shellcheck disable=SC2086 # words
    run "$words" 0 timeout 30 "$tbmesh" run --json $words --ranks 1 "$macs" -- "$rogue" ok
    tr -d ' \n' <stdout >"json-${words##* }"
done
says "json" json-500ns '"clock":\{"driver":"conductor","turns":"strict","fold_after":20,"lease_cap_ps":500000\}'
says "json" json-8 '"clock":\{"driver":"inline","turns":"parallel","fold_after":8,"lease_cap_ps":0\}'
for bad in "--driver both" "--lease-cap soon" "--lease-cap -1ns"; do
    # shellcheck disable=SC2086 # words
    run "$bad" 2 "$tbmesh" run $bad "$macs" -- "$rogue" ok
done
finish
