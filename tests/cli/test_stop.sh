#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C: the run ends, what there is is printed and written, and everything says that it is
# partial. The progress line is for terminals only.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

write_pair long.yaml
sed -i 's|sizes: .*|sizes: [4 KiB, 64 MiB], repeat: 100000}|' long.yaml

# until_true COMMAND...: tries for up to 30 s; a condition, not a fixed wait.
until_true() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || return 1
        sleep 0.05
    done
}

# The simulation has begun once the program catches SIGINT (bit 2 of the mask).
# shellcheck disable=SC2317 # until_true calls it
catches_interrupt() {
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = tbmesh ] || return 1
    mask=$(sed -n 's/^SigCgt:.*\(..\)$/\1/p' "/proc/$pid/status" 2>/dev/null) || return 1
    case $mask in ?[2367abef]) ;; *) return 1 ;; esac
}

for signal in INT TERM; do
    rm -rf result
    env --default-signal=INT "$tbmesh" sim long.yaml -o result >stdout 2>stderr </dev/null &
    pid=$!
    until_true catches_interrupt || fail "$signal: the run does not begin"
    kill -s "$signal" "$pid"
    code=0
    wait "$pid" || code=$?
    [ "$code" = 1 ] || fail "$signal: exit $code, expected 1"
    says "$signal" stdout 'PARTIAL'
    says "$signal" stderr '^tbmesh: sim: interrupted; the result is partial'
    says "$signal" result/result.json '"partial": *true'
    [ "$(find result -type f | wc -l)" = 3 ] || fail "$signal: files: $(find result)"
    [ "$(wc -l <stderr)" -le 2 ] || fail "$signal: progress in a pipe"
done

env --default-signal=INT "$tbmesh" sim --json long.yaml >stdout 2>stderr </dev/null &
pid=$!
until_true catches_interrupt || fail "json: the run does not begin"
kill -s INT "$pid"
wait "$pid" || true
says "json" stdout '"partial": *true'

# On a terminal: a line that is drawn after a second and taken away at the end.
if command -v script >/dev/null; then
    : >typescript
    env --default-signal=INT script -qefc "echo \$\$ >pid; exec '$tbmesh' sim long.yaml -o result" typescript \
        >/dev/null 2>&1 </dev/null &
    holder=$!
    until_true grep -q 'simulating: .* s' typescript || fail "terminal: no progress line"
    kill -s INT "$(cat pid)"
    wait "$holder" || true
    says "terminal" typescript 'PARTIAL'
else
    echo "skipped: the terminal (no script(1))"
fi
finish
