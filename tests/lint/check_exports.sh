#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_exports.sh REAL OURS: the shim's libibverbs exports the names and versions of the real one,
# no more and no fewer. Consumers bind at start, so a missing name is a program that does not load.
set -eu

export LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

list() {
    readelf --dyn-syms -W "$1" |
        awk '$1 ~ /^[0-9]+:$/ && $7 != "UND" && $7 != "ABS" && $5 != "LOCAL" { print $8 }' | sort -u
}

list "$1" | grep @ >"$tmp/real"
list "$2" >"$tmp/ours"
if ! [ -s "$tmp/real" ]; then
    echo "check_exports.sh: no versioned symbol in $1" >&2
    exit 1
fi
if ! diff "$tmp/real" "$tmp/ours"; then
    echo "check_exports.sh: $2 does not export what $1 does" >&2
    exit 1
fi
