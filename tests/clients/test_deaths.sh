#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ends of every kind, of a rank and of the conductor: the run ends soon with a verdict that names
# who it was, and nothing is left behind.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml

mkdir "$top/tmp"
export TMPDIR="$top/tmp"
cp "$rogue" "$top/rogue_$$"
rogue=$top/rogue_$$

# left NAME: nothing is.
left() {
    if pgrep "rogue_$$" >/dev/null; then fail "$1: ranks are left"; fi
    [ -z "$(ls "$TMPDIR")" ] || fail "$1: left in TMPDIR: $(ls "$TMPDIR")"
}

# ends EXIT PATTERN DRIVER HOW [lock]: rank 0 ends well, rank 1 polls for ever, rank 2 ends so.
ends() {
    expected=$1
    pattern=$2
    driver=$3
    shift 3
    run "$*, $driver" "$expected" timeout 60 "$tbmesh" run --driver "$driver" --patience 2 --ranks 3 \
        "$macs" -- "$rogue" ok :: "$rogue" poll :: "$rogue" "$@"
    says "$*, $driver" stderr "$pattern"
    left "$*, $driver"
}

for driver in inline conductor; do
    for how in segv overflow unmap; do
        ends 1 'crashed: rank 2 \(studio3\): ended by signal 11' "$driver" $how
    done
    for how in _exit atexit; do
        ends 1 'failed: rank 2 \(studio3\): exit code 7' "$driver" $how
    done
    # It cannot hear of its turn any more, and knows that.
    ends 1 'crashed: rank 2 \(studio3\): ended by signal 9' "$driver" files
    # Both do nothing wrong: rank 1 it is that waits for ever.
    ends 3 'deadlock: all ranks: every thread waits' "$driver" quiet
    ends 3 'deadlock: all ranks: every thread waits' "$driver" daemon
done

# With the scheduler's lock in its hand. Whoever leaves in good order waits for the lock itself.
for how in kill segv overflow abort; do
    ends 1 'crashed: rank 2 \(studio3\): ended by signal' inline $how lock
    says "$how, lock" stderr 'crashed: all ranks: thread [0-9]+ ended or hung inside the scheduler'
done
for how in exit _exit atexit; do
    ends 3 'deadlock: rank 2 \(studio3\): waits for something' inline $how lock
done

# begin WORDS...: starts a run in the background and returns when its last rank is there.
begin() {
    "$tbmesh" run --ranks 2 --patience 40 "$macs" -- "$@" >stdout 2>stderr </dev/null &
    conductor=$!
    timeout 20 sh -c "until [ \"\$(pgrep -c rogue_$$)\" -ge 2 ]; do :; done" ||
        fail "$*: no rank starts"
}

# stopped NAME: it ends with a verdict, at once.
stopped() {
    timeout 20 tail -f -s 0.1 --pid="$conductor" /dev/null || fail "$1: does not end"
    code=0
    wait "$conductor" || code=$?
    [ "$code" = 1 ] || fail "$1: exit $code, expected 1"
    says "$1" stderr 'failed: all ranks: stopped by a signal'
    left "$1"
}

for number in HUP TERM; do
    begin "$rogue" spin
    kill -$number "$conductor"
    stopped "SIG$number"
done
# Twice, and more often, while it stops; programs that handle every signal are no obstacle.
begin "$rogue" quiet-spin
for _ in 1 2 3 4 5; do
    kill -TERM "$conductor" 2>/dev/null || true
done
stopped "SIGTERM five times"

# Someone who reads no more, but keeps the pipe: lines wait, a signal does not.
mkfifo pipe
sleep 600 <>pipe &
keeper=$!
# shellcheck disable=SC2016 # for the rank's shell
"$tbmesh" run --ranks 2 --patience 40 "$macs" -- \
    sh -c "'$rogue' ok; while echo 'no one reads this, at length, but it is said over and over'; do :; done" \
    >pipe 2>stderr </dev/null &
conductor=$!
timeout 20 sh -c "until [ \"\$(sed -n 's/^wchar: //p' /proc/$conductor/io)\" -gt 65000 ]; do :; done" ||
    fail "the pipe does not fill"
kill -TERM "$conductor"
stopped "a pipe that is full"
kill "$keeper"

# SIGKILL leaves the conductor no time: the guard ends the ranks and removes their folder.
begin "$rogue" spin
kill -KILL "$conductor"
wait "$conductor" 2>/dev/null || true
timeout 20 sh -c "while pgrep rogue_$$ >/dev/null || [ -n \"\$(ls '$TMPDIR')\" ]; do :; done" ||
    left SIGKILL
if grep -l 'memfd:tbmesh' /proc/[0-9]*/maps 2>/dev/null | grep -q "/$conductor/"; then
    fail "SIGKILL: shared memory is left"
fi
finish
