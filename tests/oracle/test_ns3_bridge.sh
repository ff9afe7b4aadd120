#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: test_ns3_bridge.sh WITNESS|none TABLE: ns-3 still counts what the table says that it counts.
set -eu
export LC_ALL=C.UTF-8
witness=$1
table=$2
if [ "$witness" = none ]; then
    echo "skipped: no ns-3 or no C++ when CMake ran (packages libns3-dev, g++)"
    exit 77
fi
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
failures=0
rows=0

# fail WORDS...: reports, and lets the other rows run.
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# count EDGES QUEUE RATE LATENCY BYTES UNTIL: "hops drops" of the whole and, as a sum, of its links.
count() {
    "$witness" --edges "$1" --queue "$2" --rate "$3" --latency "$4" --bytes "$5" --until "$6" \
        >"$top/counts" || echo "exit $?"
    awk -F'\t' '$1 == "all" { print $3, $4; next } NR > 1 { hops += $3; drops += $4 }
        END { print hops + 0, drops + 0 }' "$top/counts"
}

grep -v -e '^#' -e '^graph' "$table" >"$top/rows"
while read -r graph edges queue rate latency bytes until hops drops; do
    rows=$((rows + 1))
    found=$(count "$edges" "$queue" "$rate" "$latency" "$bytes" "$until")
    [ "$found" = "$hops $drops
$hops $drops" ] || fail "$graph, queue $queue, latency $latency, until $until:" \
        "table says $hops hops and $drops drops, ns-3 and its links say $found"
done <"$top/rows"
[ "$rows" -ge 20 ] || fail "only $rows rows in $table"

# refused ARGUMENTS...: a message, no counts, exit code 2.
refused() {
    code=0
    "$witness" "$@" >"$top/out" 2>"$top/err" || code=$?
    if [ "$code" != 2 ] || [ ! -s "$top/err" ] || [ -s "$top/out" ]; then
        fail "taken ($code): $*"
    fi
}

refused
refused --edges 0-1
refused --edges 0-0 --until 1us
refused --edges 0+1 --until 1us
refused --edges 0-1 --until 1
refused --edges 0-1 --until 0us
refused --edges 0-1 --until 1us --queue 0
refused --edges 0-1 --until 1us --rate 80GB/s
refused --edges 0-1 --until 1us --rate 7Gb/s
refused --edges 0-1 --until 1us --latency 150ns
refused --edges 0-1 --until 1us extra
echo "$rows rows"
exit "$((failures > 0))"
