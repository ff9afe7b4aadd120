#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: test_pair.sh TBMESH SCENARIO PROGRAM [RANKS]: two runs of the program end well and give the
# same result, byte by byte.
set -eu
tbmesh=$1
scenario=$2
program=$3
ranks=${4:-2}
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
for n in 1 2; do
    mkdir "$top/folder"
    "$tbmesh" run --ranks "$ranks" --json "$scenario" -- "$program" "$top/folder" >"$top/$n.json"
    rm -rf "$top/folder"
done
cmp "$top/1.json" "$top/2.json"
grep -q '"trace_hash"' "$top/1.json"
