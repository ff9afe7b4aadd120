#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# UCX of Debian (package ucx-utils) finds the devices and their transports.
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
run "profile apple has no device files" 0 timeout 60 "$tbmesh" run --ranks 1 "$macs" -- ucx_info -d
! grep -q 'rdma_en' stdout || fail "UCX finds Apple's devices"
finish
