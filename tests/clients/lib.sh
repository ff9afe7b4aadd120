# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of this folder, which are called as: test_X.sh TBMESH UC_MESH ROGUE PROBE CONFORMANCE
# GARBAGE VERBS_CASES ONESIDED SPIN.
# shellcheck shell=sh disable=SC2034 # the variables are for those who source this
set -eu
tbmesh=$1
uc_mesh=$2
uc_mesh_late=${uc_mesh}_late
rogue=$3
probe=$4
conformance=$5
garbage=$6
verbs_cases=$7
onesided=$8
spin=$9
export LC_ALL=C.UTF-8
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
cd "$top"
failures=0

# fail WORDS...: reports, and lets the other cases run.
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

finish() {
    [ "$failures" = 0 ] || echo "$failures failures"
    exit "$((failures > 0))"
}

# run NAME EXPECTED_EXIT COMMAND...: stdout and stderr go to $top/stdout and $top/stderr.
run() {
    name=$1
    expected=$2
    shift 2
    code=0
    "$@" >"$top/stdout" 2>"$top/stderr" </dev/null || code=$?
    [ "$code" = "$expected" ] && return 0
    fail "$name: exit $code, expected $expected: $*"
    tail -n 20 "$top/stdout" "$top/stderr" | sed 's/^/    /'
    return 0
}

# case_is NAME EXIT WORDS...: `tbmesh run` with these words ends so.
case_is() {
    name=$1
    expected=$2
    shift 2
    run "$name" "$expected" timeout 60 "$tbmesh" run "$@"
}

# says NAME FILE PATTERN: a line of FILE matches the extended regular expression.
says() {
    grep -Eq -- "$3" "$2" || {
        fail "$1: no line matches '$3' in:"
        sed 's/^/    /' "$2" | head -20
    }
}
