#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One-sided verbs on two Macs of the profile `verbs`: our own program with checked data, one result
# whatever runs when, and Debian's perftest with the times that the cable gives.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml

# one_sided WHAT OPTIONS: adds the trace hash to the file hashes-WHAT.
one_sided() {
    # shellcheck disable=SC2086 # words
    run "$1, $2" 0 timeout 60 "$tbmesh" run --profile verbs --ranks 2 $2 "$macs" -- "$onesided" "$1"
    if grep -q 'not ok' stdout; then
        fail "$1, $2:"
        grep 'not ok' stdout
    fi
    grep -o 'trace hash .*' stdout >>"hashes-$1" || fail "$1, $2: no hash"
}

one_hash() {
    [ "$(sort -u "hashes-$1" | wc -l)" = 1 ] || {
        fail "$1: more than one result:"
        sort "hashes-$1" | uniq -c | sed 's/^/    /'
    }
}

for what in data uc errors look spin; do
    for mode in "" --parallel; do
        for fold in 0 8 60; do one_sided $what "$mode --fold $fold"; done
    done
    one_sided $what "--keep-aslr"
done
timeout 120 sh -c 'while :; do :; done' &
hog1=$!
timeout 120 sh -c 'while :; do :; done' &
hog2=$!
for what in data uc errors look spin; do
    one_sided $what ""
    one_sided $what --parallel
    one_hash $what
done
kill "$hog1" "$hog2" || : # on a slow machine they have ended by themselves

# Waits for a write that never comes: rank 1 by reading memory, rank 0 by polling.
run "nothing" 3 timeout 60 "$tbmesh" run --profile verbs --ranks 2 "$macs" -- "$onesided" nothing
says "nothing" stderr 'rank 1 \(studio2\): reads memory over and over'

command -v ib_read_lat >/dev/null || {
    echo "skipped: perftest is not there"
    [ "$failures" = 0 ] && exit 77
    finish
}
port=$((30000 + $$ % 10000))

# perf PROGRAM ARGUMENTS...: the client's row goes to the file row.
perf() {
    run "$*" 0 timeout 120 "$tbmesh" run --profile verbs --ranks 2 "$macs" -- \
        "$@" -d rdma_en2 -x 1 -p "$port" :: "$@" -d rdma_en2 -x 1 -p "$port" 127.0.0.1
    sed -n 's/^\[studio2\] *\([0-9]\{1,\} \{1,\}[0-9]\{1,\} .*\)/\1/p' stdout >row
    [ "$(wc -l <row)" = 1 ] || fail "$*: no row of results"
}

# within NAME COLUMN LEAST MOST: of the row.
within() {
    awk -v c="$2" -v least="$3" -v most="$4" '{ exit !($c >= least && $c <= most) }' row ||
        fail "$1: column $2 is not in $3 .. $4: $(cat row)"
}

# A message to a Mac takes 3.6 us and the jitter, of 0.25 us in the mean; a read takes two.
# Columns: bytes, iterations, min, max, typical, average.
perf ib_read_lat -n 100
within "ib_read_lat" 3 7.2 7.5
within "ib_read_lat" 6 7.7 8.3
perf ib_atomic_lat -n 100
within "ib_atomic_lat" 3 7.2 7.5
within "ib_atomic_lat" 6 7.7 8.3
# One write, there and back, waited for in memory: half of it, like the send of ib_send_lat.
perf ib_write_lat -n 100
within "ib_write_lat" 3 3.6 3.8
within "ib_write_lat" 6 3.9 4.2
perf ib_write_lat -c UC -n 100 -s 4096
within "ib_write_lat -c UC" 6 4.3 4.7
# 64 KiB by a cable of 74.1 Gb/s: 8,830 MiB/s. Columns: bytes, iterations, peak, average, messages.
for program in "ib_write_bw" "ib_write_bw -c UC" "ib_read_bw"; do
    # shellcheck disable=SC2086 # words
    perf $program -n 200
    within "$program" 4 8650 8850
done
# 16 of them are under way, for a round trip of 8 us and more.
perf ib_atomic_bw -n 200
within "ib_atomic_bw" 5 1.5 2.1
finish
