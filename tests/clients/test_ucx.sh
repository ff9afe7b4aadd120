#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# UCX of Debian (package ucx-utils) finds the devices and their transports, and uses them.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
command -v ucx_info >/dev/null || {
    echo "skipped: no ucx_info (package ucx-utils)"
    exit 77
}
macs=$root/scenarios/clusters/four-studios.yaml

run "ucx_info" 0 timeout 60 "$tbmesh" run --profile verbs --ranks 1 "$macs" -- ucx_info -d
for transport in rc_verbs ud_verbs; do
    for device in rdma_en2 rdma_en3 rdma_en4; do
        grep -A 1 "Transport: $transport" stdout | grep -q "Device: $device:1" ||
            fail "no $transport on $device"
    done
done
! grep -q 'failed to open interface' stdout || fail "UCX cannot open an interface"
# perf ARGUMENTS...: ucx_perftest between two Macs, over datagrams; a second run has the same trace.
port=$((20000 + $$ % 10000))
perf() {
    traces=
    for time in 1 2; do
        run "ucx_perftest $* ($time)" 0 env UCX_TLS=ud_verbs,self UCX_NET_DEVICES=rdma_en2:1 \
            timeout 100 "$tbmesh" run --profile verbs --ranks 2 "$macs" -- \
            ucx_perftest -p "$port" "$@" :: ucx_perftest -p "$port" "$@" 127.0.0.1
        says "ucx_perftest $*" stdout '^\[studio2\] Final: +[0-9]+ '
        traces="$traces $(grep -o 'hash .*' stdout)"
    done
    # shellcheck disable=SC2086 # words: hash A hash B
    set -- $traces
    [ "$2" = "$4" ] || fail "two runs of ucx_perftest have two traces"
}

perf -t tag_lat -n 1000 -w 10
perf -t tag_bw -s 65536 -n 200 -w 10

run "profile apple has no device files" 0 timeout 60 "$tbmesh" run --ranks 1 "$macs" -- ucx_info -d
! grep -q 'rdma_en' stdout || fail "UCX finds Apple's devices"
finish
