#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: check.sh TBMESH SCENARIO GOLDEN: two runs give the same bytes, and they are GOLDEN's.
# UPDATE_GOLDEN=1 writes GOLDEN instead; the commit says why it moved.
set -eu
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

simulate() {
    code=0
    "$1" sim "$2" -o "$3" >"$out/said" 2>&1 || code=$?
    [ "$code" = 0 ] || {
        echo "exit $code: $2"
        cat "$out/said"
        exit 1
    }
}

simulate "$1" "$2" "$out/a"
simulate "$1" "$2" "$out/b"
diff -r "$out/a" "$out/b" || { echo "not deterministic: $2"; exit 1; }
if [ -n "${UPDATE_GOLDEN:-}" ]; then
    cp "$out/a/results.tsv" "$3"
    exit 0
fi
diff -u "$3" "$out/a/results.tsv" || {
    echo "moved: $2; if that is right, UPDATE_GOLDEN=1 ctest -L golden, and say why in the commit"
    exit 1
}
