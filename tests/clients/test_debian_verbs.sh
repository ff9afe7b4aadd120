#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified programs of Debian's ibverbs-utils and perftest that want more than Apple's devices
# offer, on two Macs whose devices offer it (--profile verbs).
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

for program in ibv_rc_pingpong ib_send_lat; do
    command -v "$program" >/dev/null || {
        echo "skipped: $program is not there (packages ibverbs-utils, perftest)"
        exit 77
    }
done
macs=$root/scenarios/clusters/four-studios.yaml
# Listeners are on the machine's own loopback, which tests that run at once share.
port=$((20000 + $$ % 10000))

# pair NAME SERVER...: the same program on two Macs; the second is told where the first one listens.
pair() {
    name=$1
    shift
    run "$name" 0 timeout 200 "$tbmesh" run --profile verbs --ranks 2 "$macs" -- \
        "$@" :: "$@" 127.0.0.1
}

# pingpong PROGRAM ARGUMENTS...: both sides count all iterations.
pingpong() {
    pair "$*" "$@" -d rdma_en2 -g 1 -p "$port"
    [ "$(grep -c 'iters in .* usec/iter' stdout)" = 2 ] || fail "$*: not two lines of results"
}

# perf PROGRAM ARGUMENTS...: the client prints a row for its size.
perf() {
    pair "$*" "$@" -d rdma_en2 -x 1 -p "$port"
    says "$*" stdout '^\[studio2\] +[0-9]+ +[0-9]+ '
}

# again NAME COMMAND...: a second run has the same trace.
again() {
    name=$1
    shift
    first=$(grep -o 'trace hash .*' stdout)
    "$@"
    [ "$first" = "$(grep -o 'trace hash .*' stdout)" ] || fail "$name: another trace"
}

# -c: they check what they received; -e: they sleep on events; -N, -t: newer calls.
for program in ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong; do
    pingpong "$program" -c
    again "$program" pingpong "$program" -c
    pingpong "$program" -c -e
done
pingpong ibv_rc_pingpong -c -N
pingpong ibv_rc_pingpong -c -t
perf ib_send_lat -n 1000
perf ib_send_lat -n 1000 -c UD
again "ib_send_lat -c UD" perf ib_send_lat -n 1000 -c UD
perf ib_send_bw -n 1000
perf ib_send_bw -n 1000 -c UD
perf ib_send_bw -n 1000 --use-srq

# Over InfiniBand ports have LIDs, and addresses need no GID.
for program in ibv_rc_pingpong ibv_ud_pingpong ibv_srq_pingpong; do
    run "$program by LID" 0 timeout 100 "$tbmesh" run --profile infiniband --ranks 2 "$macs" -- \
        "$program" -c -d rdma_en2 -p "$port" :: "$program" -c -d rdma_en2 -p "$port" 127.0.0.1
    says "$program by LID" stdout 'local address:  LID 0x0*1,'
done

run "no such profile" 2 "$tbmesh" run --profile other "$macs" -- ibv_devices
finish
