# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of this folder, which are called as: test_X.sh TBMESH ROOT.
# shellcheck shell=sh disable=SC2034 # the variables are for those who source this
set -eu
tbmesh=$1
root=$2
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
    sed 's/^/    /' "$top/stderr"
    return 0
}

# says NAME FILE PATTERN: a line of FILE matches the extended regular expression.
says() {
    grep -Eq -- "$3" "$2" || {
        fail "$1: no line matches '$3' in:"
        sed 's/^/    /' "$2" | head -20
    }
}

silent() {
    [ ! -s "$2" ] || {
        fail "$1: something was said:"
        sed 's/^/    /' "$2" | head -20
    }
}

# A small scenario: two Macs, one cable, quick to run.
write_pair() {
    cat >"$1" <<'END'
tbmesh: 1
name: a pair
seed: 1
macos: "26.3"
machines:
  - {name: mac, model: mac-mini-m4-pro, memory: 64 GiB, count: 2}
cables:
  - {mesh: [mac1, mac2], kind: tb5-1m}
rdma: enabled
bridge: {members: none}
ip: per-cable
run:
  - all_reduce: {library: jaccl-mesh, sizes: [4 KiB, 64 KiB], dtype: float32, repeat: 5}
END
}
