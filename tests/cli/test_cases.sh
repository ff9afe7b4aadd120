#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_cases.sh TBMESH ROOT: every public report in scenarios/cases and bugs still ends as its `expect:` says.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# holds COMMAND FILE: exit code 0, and no expectation that was left out.
holds() {
    code=0
    "$tbmesh" "$@" >out 2>err || code=$?
    [ "$code" = 0 ] && return 0
    fail "$*: exit code $code"
    grep -i 'expect\|fail' out err || cat err
}

count=0
for file in "$root"/scenarios/cases/*.yaml "$root"/scenarios/bugs/*.yaml; do
    count=$((count + 1))
    name=${file##*/}
    grep -q '^# Source: ' "$file" || fail "$name names no source"
    grep -q '^expect:' "$file" || fail "$name expects nothing"
    grep -q "\`$name\`" "$root/scenarios/README.md" || fail "scenarios/README.md does not list $name"
    if grep -q '^run:' "$file"; then
        holds sim -o "$top/results" "$file"
    else
        holds check "$file"
    fi
done
[ "$count" -ge 30 ] || fail "only $count cases were found"

# The harness can see a failure: the same scenario with a bound that cannot hold.
sed 's/algbw > 66 Gb/algbw > 79 Gb/' "$root/scenarios/cases/o-17-perftest.yaml" >bad.yaml
code=0
"$tbmesh" sim -o "$top/results" bad.yaml >out 2>err || code=$?
[ "$code" = 1 ] || fail "a failed expectation gave exit code $code"

finish
