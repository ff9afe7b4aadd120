#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified programs of Debian's ibverbs-utils and perftest on two or four Macs of a scenario.
# Figures are those that people measured on Macs, within 3 %.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

for program in ibv_devices ibv_uc_pingpong ib_send_lat ib_send_bw; do
    command -v "$program" >/dev/null || {
        echo "skipped: $program is not there (packages ibverbs-utils, perftest)"
        exit 77
    }
done
macs=$root/scenarios/clusters/four-studios.yaml

# pair NAME SERVER...: the same program on two Macs; the second is told where the first one listens.
pair() {
    name=$1
    shift
    run "$name" 0 timeout 60 "$tbmesh" run --ranks 2 "$macs" -- "$@" :: "$@" 127.0.0.1
}

# near NAME VALUE EXPECTED: within 3 %.
near() {
    awk -v x="$2" -v y="$3" 'BEGIN { exit !(x > 0.97 * y && x < 1.03 * y) }' ||
        fail "$1: $2 is not within 3 % of $3"
}

run "ibv_devices" 0 timeout 60 "$tbmesh" run "$macs" -- ibv_devices
for mac in 1 2 3 4; do
    for port in 2 3 4 5 6 7; do
        says "ibv_devices" stdout "^\[studio$mac\][[:space:]]+rdma_en${port}[[:space:]]+[0-9a-f]{12}ac05\$"
    done
done
[ "$(grep -c ac05 stdout)" = 24 ] || fail "ibv_devices: not 24 devices"
[ "$(grep -o '[0-9a-f]*ac05' stdout | sort -u | wc -l)" = 24 ] || fail "ibv_devices: equal GUIDs"

run "ibv_devinfo" 0 timeout 60 "$tbmesh" run --ranks 1 "$macs" -- ibv_devinfo -v -d rdma_en2
says "ibv_devinfo" stdout 'GID\[ +1\]:.*::ffff:[0-9.]+'
says "ibv_devinfo" stdout 'state:.*PORT_ACTIVE'

# 4 KiB each way and back: twice 4.64 us, and its clock reads.
pair "ibv_uc_pingpong" ibv_uc_pingpong -d rdma_en2 -g 1
us=$(sed -n 's/.*iters in .* seconds = \([0-9.]*\) usec.*/\1/p' stdout | head -1)
near "ibv_uc_pingpong, us an iteration" "${us:-0}" 9.55

# hellas-ai/thunderbolt-ibverbs#28 and #27, Mac to Mac over one Thunderbolt 5 cable.
for row in "64 4.15" "4096 4.64"; do
    size=${row% *}
    pair "ib_send_lat $size" ib_send_lat -c UC -d rdma_en2 -x 1 -s "$size" -n 1000
    us=$(awk -v size="$size" '$1 == "[studio2]" && $2 == size { print $7 }' stdout)
    near "ib_send_lat $size, us" "${us:-0}" "${row#* }"
done

# A receive queue of 1023 frames takes 63 messages of 64 KiB. MB are MiB here.
pair "ib_send_bw" ib_send_bw -c UC -d rdma_en2 -x 1 -s 65536 -n 1000 -t 32 -r 60
gb=$(awk '$1 == "[studio2]" && $2 == 65536 { print $5 * 1048576 * 8 / 1e9 }' stdout)
near "ib_send_bw, Gb/s" "${gb:-0}" 75.0

run "a receive queue too deep" 1 timeout 60 "$tbmesh" run --ranks 2 "$macs" -- \
    ib_send_bw -c UC -d rdma_en2 -x 1 -s 65536 -n 1000 :: \
    ib_send_bw -c UC -d rdma_en2 -x 1 -s 65536 -n 1000 127.0.0.1
says "a receive queue too deep" stderr 'counter=63'

run "no such command" 2 "$tbmesh" run "$macs" -- no-such-program
run "more ranks than Macs" 2 "$tbmesh" run --ranks 5 "$macs" -- ibv_devices
run "a program without verbs" 0 timeout 60 "$tbmesh" run --ranks 2 "$macs" -- echo "{rank} {host}"
says "a program without verbs" stdout '^\[studio2\] 1 studio2$'
says "a program without verbs" stderr 'never opened an RDMA device'
finish
