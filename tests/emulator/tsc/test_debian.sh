#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: test_debian.sh FAKE LIBRARY: perftest's and UCX's binaries, which are stripped, hold as many
# sites as a disassembler finds in them.
set -eu
fake=$1
library=$2
count=$(mktemp)
trap 'rm -f "$count"' EXIT
failures=0
command -v objdump >/dev/null || { echo "no objdump: skipped"; exit 77; }

# instructions FILE...: how many of them a disassembler sees.
instructions() {
    objdump -d --no-show-raw-insn "$@" 2>/dev/null | awk '$2 ~ /^rdtscp?$/ { n++ } END { print n + 0 }'
}

# The loaded objects that are not exempt, one a line.
objects() {
    ldd "$1" | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc\.so|libibverbs\.so)' | xargs -r -n1 readlink -f
    readlink -f "$1"
}

for name in ib_send_lat ib_send_bw ib_write_lat ucx_perftest; do
    program=$(command -v "$name" || true)
    [ -n "$program" ] || { echo "$name is not installed: skipped"; continue; }
    # shellcheck disable=SC2046 # paths of libraries have no blanks
    want=$(instructions $(objects "$program"))
    TSC_COUNT=$count TSC_LIBRARY=$library LD_PRELOAD=$fake "$program" --help >/dev/null 2>&1 || true
    got=$(cat "$count")
    echo "$name: $got of $want"
    [ "$got" = "$want" ] || { echo "FAIL $name: $got sites, a disassembler finds $want"; failures=1; }
done
exit "$failures"
