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
    run "$name" 0 timeout 60 "$tbmesh" run --profile verbs --ranks 2 "$macs" -- \
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

pingpong ibv_rc_pingpong
pingpong ibv_rc_pingpong -e
pingpong ibv_rc_pingpong -N
pingpong ibv_uc_pingpong
pingpong ibv_uc_pingpong -e
perf ib_send_lat -n 1000
perf ib_send_lat -n 1000 -c UC
perf ib_send_bw -n 1000

run "no such profile" 2 "$tbmesh" run --profile other "$macs" -- ibv_devices
finish
