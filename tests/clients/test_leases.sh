#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How far a rank may run ahead of the others shows nowhere: not where a queue pair is connected after
# its messages were sent, and not where a process ends behind what it has posted.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml

# same NAME PATTERN OPTIONS... -- QUESTION NUMBER: one trace and one answer, however it is scheduled.
same() {
    name=$1
    pattern=$2
    shift 2
    first=
    for choice in "" "--lease-cap 20ns" "--lease-cap 3us" --parallel "--driver conductor"; do
        # shellcheck disable=SC2086 # words
        run "$name $choice" 0 timeout 60 "$tbmesh" run $choice --ranks 2 "$@"
        says "$name $choice" stdout "$pattern"
        seen=$(grep -o "hash .*\|$pattern" stdout | sort | tr '\n' ' ')
        [ "$seen" = "${first:=$seen}" ] || fail "$name $choice: '$seen', and '$first' without a choice"
    done
}

# The least that a message takes after its receiver is in RTR is the latency of the fabric.
for profile in apple verbs; do
    same "connected late, $profile" 'took [0-9]* ns' --profile "$profile" "$macs" -- \
        "$probe" tardy rdma_en2 2
    took=$(sed -n 's/.* took \([0-9]*\) ns/\1/p' stdout)
    if [ "${took:-0}" -lt 2000 ] || [ "$took" -ge 10000 ]; then
        fail "connected late, $profile: $took ns"
    fi
    for end in leave vanish; do
        same "$end, $profile" 'came [0-9]*' --profile "$profile" "$macs" -- "$probe" "$end" rdma_en2 20
    done
done
finish
