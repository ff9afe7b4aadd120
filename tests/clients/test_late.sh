#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that begins as JACCL does: it needs no verbs library, its ranks meet over TCP at the
# coordinator's address, and then it loads librdma.dylib.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml

# A rank 0 that comes late, without a clock: the others must not meet a closed door.
late=$uc_mesh_late
# shellcheck disable=SC2016 # the shell that is run expands it
slow='i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exec "$0" "$@"'
: >hashes
for _ in 1 2 3; do
    run "rank 0 comes late" 0 timeout 60 "$tbmesh" run "$macs" -- \
        sh -c "$slow" "$late" all_reduce --sizes 4KiB --repeat 5 :: \
        "$late" all_reduce --sizes 4KiB --repeat 5
    says "rank 0 comes late" stdout ' ok$'
    ! grep -q 'attempt' stderr || fail "rank 0 comes late: $(cat stderr)"
    sed -n 's/.*trace hash //p' stdout >>hashes
    run "the others come late" 0 timeout 60 "$tbmesh" run "$macs" -- \
        "$late" all_reduce --sizes 4KiB --repeat 5 :: \
        sh -c "$slow" "$late" all_reduce --sizes 4KiB --repeat 5
    sed -n 's/.*trace hash //p' stdout >>hashes
done
run "linked" 0 timeout 60 "$tbmesh" run "$macs" -- "$uc_mesh" all_reduce --sizes 4KiB --repeat 5
sed -n 's/.*trace hash //p' stdout >>hashes
[ "$(sort -u hashes | wc -l)" = 1 ] || fail "late and linked differ: $(tr '\n' ' ' <hashes)"

# Nobody else is disturbed: another address is no meeting point, and without a run there is none.
# The names that each version of MLX reads say the same.
# shellcheck disable=SC2016 # the dollars are the rank's
run "names" 0 timeout 30 "$tbmesh" run --ranks 2 "$root/scenarios/clusters/four-studios.yaml" -- \
    sh -c 'test "$MLX_RANK" = "$JACCL_RANK" && test -n "$JACCL_COORDINATOR" &&
        test "$MLX_JACCL_COORDINATOR" = "$JACCL_COORDINATOR" &&
        test "$MLX_IBV_COORDINATOR" = "$JACCL_COORDINATOR" &&
        test -s "$JACCL_IBV_DEVICES" && test "$MLX_IBV_DEVICES" = "$JACCL_IBV_DEVICES"'

run "no run" 3 env JACCL_RANK=0 JACCL_COORDINATOR=nonsense JACCL_IBV_DEVICES=/dev/null \
    "$uc_mesh_late" all_reduce
finish
