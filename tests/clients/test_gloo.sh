#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gloo of Debian (package libgloo-dev) over its ibverbs transport, between two and four Macs: RC
# writes with immediate data, a completion channel, a thread that waits there.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml
if [ ! -e /usr/include/gloo/transport/ibverbs/device.h ] || ! command -v g++ >/dev/null; then
    echo "skipped: no gloo or no C++ (packages libgloo-dev, g++)"
    exit 77
fi
# Its headers are not free of warnings.
g++ -std=c++17 -O1 -w -o gloo_check "$root/tests/clients/gloo/gloo_check.cc" -lgloo -libverbs ||
    fail "gloo_check does not compile"

# gloo RANKS MOST: all right, with one trace however it is scheduled and where addresses differ.
gloo() {
    traces=
    for options in "" --keep-aslr "--lease-cap 100ns" --parallel; do
        rm -rf meet
        mkdir meet
        # shellcheck disable=SC2086 # an option or none
        run "gloo, $1 ranks $options" 0 timeout 200 "$tbmesh" run $options --profile verbs \
            --ranks "$1" "$macs" -- ./gloo_check meet "$2"
        [ "$(grep -c " of $1: [0-9]* sizes, 0 wrong" stdout)" = "$1" ] || fail "gloo, $1 ranks"
        traces="$traces $(grep -o 'hash .*' stdout)"
    done
    [ "$(echo "$traces" | grep -o '[0-9a-f]\{16\}' | sort -u | wc -l)" = 1 ] ||
        fail "gloo, $1 ranks: more than one trace:$traces"
}

gloo 2 1048576
gloo 4 262144
finish
