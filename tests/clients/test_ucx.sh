#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# UCX of Debian (package ucx-utils) finds the devices and their transports, and uses them: datagrams,
# reliable queue pairs, one-sided operations and atomics.
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
# perf TRANSPORTS ARGUMENTS...: ucx_perftest between two Macs, with the $options. Sets `row` to the client's
# last line: iterations, typical, average and overall time in us, MB/s, ...
port=$((20000 + $$ % 10000))
options=
perf() {
    transports=$1
    shift
    # shellcheck disable=SC2086 # an option or none
    run "ucx_perftest $* $options" 0 env UCX_TLS="$transports,self" UCX_NET_DEVICES=rdma_en2:1 \
        timeout 100 "$tbmesh" run $options --profile verbs --ranks 2 "$macs" -- \
        ucx_perftest -p "$port" "$@" :: ucx_perftest -p "$port" "$@" 127.0.0.1
    says "ucx_perftest $*" stdout '^\[studio2\] Final: +[0-9]+ '
    row=$(sed -n 's/^\[studio2\] Final: *//p' stdout)
}

# again TRANSPORTS ARGUMENTS...: has the same trace each time, though processes and addresses have
# other numbers: UCX would let the greater of two of them decide who connects first. It reads the
# clock after 16 empty polls, so those must not be folded by default.
again() {
    perf "$@"
    trace=$(grep -o 'hash .*' stdout)
    for options in --keep-aslr --parallel '--fold 0'; do
        perf "$@"
        [ "$trace" = "$(grep -o 'hash .*' stdout)" ] || fail "ucx_perftest $* $options: another trace"
    done
    perf "$@"
    if grep -q 'something else than poll on' stderr; then
        fail "ucx_perftest $*: a loop was folded too early"
    fi
}

# within NAME COLUMN LEAST MOST: of the row.
within() {
    echo "$row" | awk -v c="$2" -v least="$3" -v most="$4" '{ exit !($c >= least && $c <= most) }' ||
        fail "$1: column $2 is not in $3 .. $4: $row"
}

again ud_verbs -t tag_lat -n 1000 -w 10
options='--fold 16'
perf ud_verbs -t tag_lat -n 1000 -w 10
says "ucx_perftest $options" stderr 'rank 0 .* [0-9]+ times it did something else than poll on'
options=
perf ud_verbs -t tag_bw -s 65536 -n 200 -w 10
# A message to a Mac takes 3.6 us and the jitter, of 0.25 us in the mean; what brings bytes back
# takes two. 64 KiB by a cable of 74.1 Gb/s: 8,830 MiB/s.
both=rc_verbs,ud_verbs
again $both -t tag_lat -n 300 -w 10
within "RC tag_lat" 3 3.8 4.8
perf $both -t tag_bw -s 65536 -n 200 -w 10
within "RC tag_bw" 5 8600 8830
again $both -t ucp_put_lat -n 300 -w 10
within "RC put_lat" 3 3.8 4.8
perf $both -t ucp_put_bw -s 65536 -n 200 -w 10
within "RC put_bw" 5 8600 8830
perf $both -t ucp_get -n 100 -w 10
within "RC get" 3 7.5 8.8
for atomic in ucp_fadd ucp_cswap; do
    perf $both -t "$atomic" -n 100 -w 10
    within "RC $atomic" 3 7.5 8.8
done
perf $both -t ucp_add -n 100 -w 10
# The layer below, without datagrams once the ranks have met.
perf $both -d rdma_en2:1 -x rc_verbs -t put_lat -n 300 -w 10
within "RC verbs put_lat" 3 3.8 4.8
perf $both -d rdma_en2:1 -x rc_verbs -t add_mr -n 100 -w 10

run "profile apple has no device files" 0 timeout 60 "$tbmesh" run --ranks 1 "$macs" -- ucx_info -d
! grep -q 'rdma_en' stdout || fail "UCX finds Apple's devices"
finish
