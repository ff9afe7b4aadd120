#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Datagrams, shared receive queues, events and newer calls of the profile `verbs`: what our own
# program expects of them, and that no choice of scheduling changes when anything happens.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml

# shellcheck disable=SC2086 # words of an option
for how in "" "--fold 0" "--fold 60" "--parallel" "--spin 0" "--keep-aslr"; do
    run "cases $how" 0 timeout 60 "$tbmesh" run $how --profile verbs --ranks 2 "$macs" -- \
        "$verbs_cases" rdma_en2
    sed -n 's/.*verdict ok, //p' stdout >>results
done
[ "$(sort -u results | wc -l)" = 1 ] || fail "scheduling changes a result: $(cat results)"
run "profile apple has none of it" 1 timeout 60 "$tbmesh" run --ranks 2 "$macs" -- \
    "$verbs_cases" rdma_en2
says "profile apple" stdout 'cannot be run: Operation not supported'
finish
