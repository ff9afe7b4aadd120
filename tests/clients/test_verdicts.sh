#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# However a rank ends, the run ends with a verdict that names it, soon, and nothing is left behind.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml

# Names of our own, so that what is left over can be told from other tests' processes.
cp "$rogue" "$top/rogue_$$"
cp "$uc_mesh" "$top/mesh_$$"
rogue=$top/rogue_$$
uc_mesh=$top/mesh_$$

# one_rogue NAME EXIT HOW: ranks 0 and 3 end well, rank 1 polls for ever, rank 2 misbehaves.
one_rogue() {
    run "$1" "$2" timeout 30 "$tbmesh" run --patience 2 "$macs" -- \
        "$rogue" ok :: "$rogue" poll :: "$rogue" "$3" :: "$rogue" ok
}

one_rogue "a rank that aborts" 1 abort
says "a rank that aborts" stderr 'crashed: rank 2 \(studio3\): ended by signal 6'
one_rogue "a rank that is killed" 1 kill
says "a rank that is killed" stderr 'crashed: rank 2 \(studio3\): ended by signal 9'
one_rogue "a rank that fails" 1 exit
says "a rank that fails" stderr 'failed: rank 2 \(studio3\): exit code 7'
one_rogue "ranks that poll for ever" 3 poll
says "ranks that poll for ever" stdout '^verdict deadlock'
one_rogue "a rank that hangs" 3 hang
says "a rank that hangs" stderr 'deadlock: rank 2 \(studio3\): waits for something'
one_rogue "a rank that computes for ever" 3 spin
says "a rank that computes for ever" stderr 'deadlock: rank 2 \(studio3\): computes .*count rounds'
one_rogue "a rank that damages the others" 1 write
says "a rank that damages the others" stderr 'crashed: .*wrote into'

# Those who are left poll with a timeout in mind, sleep, compute or hang: a rank that ended badly ends
# the run, well before their --patience of 60 s.
for others in "watch watch" "nap watch" "deaf deaf" "watch later-spin" \
    "watch later-hang"; do
    # shellcheck disable=SC2086 # words
    set -- $others
    for how in kill exit; do
        run "$how, the others $others" 1 timeout 20 "$tbmesh" run "$macs" -- \
            "$rogue" "$1" :: "$rogue" ok :: "$rogue" $how :: "$rogue" "$2"
        says "$how, the others $others" stderr \
            ': rank 2 \(studio3\): (ended by signal 9|exit code 7)'
    done
done
# Nobody failed, but nothing ever reaches anybody.
for others in "watch watch" "watch ok" "nap nap"; do
    # shellcheck disable=SC2086 # words
    set -- $others
    run "for ever, $others" 3 timeout 30 "$tbmesh" run --patience 1 --ranks 2 "$macs" -- \
        "$rogue" "$1" :: "$rogue" "$2"
    says "for ever, $others" stderr 'deadlock: all ranks: the programs. time has gone on'
    count=$(grep -c 'deadlock: rank 1 (studio2): had exited with 0 at [0-9.]* us' stderr) || true
    [ "$count" = "$(echo "$others" | grep -c ok)" ] || {
        fail "for ever, $others: rank 1 had exited, or not"
        cat stderr
    }
done

# Two messages against three: who waits for whom.
run "a missing message" 3 timeout 30 "$tbmesh" run --ranks 2 "$macs" -- \
    "$uc_mesh" send_recv --sizes 4096 --repeat 3 :: "$uc_mesh" send_recv --sizes 4096 --repeat 2
says "a missing message" stderr 'deadlock: '

# A deadlock has one instant, whatever is folded, leased or run at once, also where others wait on
# sockets: messages that met no receive are lost.
: >instants
for how in "--fold 0" "--fold 8" "--fold 60 --parallel" "--fold 0 --parallel" \
    "--fold 16 --driver conductor" "--fold 0 --lease-cap 500ns --keep-aslr"; do
    # shellcheck disable=SC2086 # words
    run "a deadlock's instant, $how" 3 timeout 60 "$tbmesh" run $how --json \
        --quirk drop-unmatched "$macs" -- "$uc_mesh" all_reduce --sizes 4KiB --repeat 5
    sed '/"clock"/d; /"argv"/d; /"aslr"/d' stdout >"result_$(wc -l <instants)"
    grep -E '"virtual_ps"|"trace_hash"' stdout | tr -d '\n' >>instants
    echo >>instants
done
[ "$(sort -u instants | wc -l)" = 1 ] || {
    fail "a deadlock has more than one instant:"
    cat instants
}
cmp result_0 result_1 || fail "results of a deadlock differ with the fold"

# The middle of a collective: killed by the kernel once it has had a second of the processor, so that
# a busy machine does not change where it is.
long="$uc_mesh all_reduce --sizes 4096 --repeat 1000000"
# shellcheck disable=SC2086 # words
run "a rank killed at work" 1 timeout 90 "$tbmesh" run "$macs" -- \
    $long :: $long :: sh -c "ulimit -t 1; $long; exit 9" :: $long
# Rarely it is killed with the scheduler's lock in its hand, which is a verdict of its own.
says "a rank killed at work" stderr \
    'wait for rank 2 \(studio3\); its queue pair is gone|inside the scheduler'
says "a rank killed at work" stderr 'failed: rank 2 \(studio3\): exit code 9'

# begin: starts a long run in the background and returns when its ranks are there.
begin() {
    # shellcheck disable=SC2086 # words
    "$tbmesh" run "$macs" -- $long >stdout 2>stderr </dev/null &
    conductor=$!
    timeout 20 sh -c "until pgrep -x mesh_$$ >/dev/null; do :; done" || fail "no rank starts"
}

# The conductor itself: the guard sees to what is left.
begin
kill -KILL "$conductor"
wait "$conductor" 2>/dev/null || true
timeout 20 sh -c "while pgrep -x mesh_$$ >/dev/null; do :; done" ||
    fail "ranks outlive a conductor that was killed"

begin
kill -TERM "$conductor"
code=0
wait "$conductor" || code=$?
[ "$code" = 1 ] || fail "SIGTERM: exit $code, expected 1"
if pgrep -x "mesh_$$" >/dev/null; then fail "ranks outlive SIGTERM"; fi
if pgrep -x "rogue_$$" >/dev/null; then fail "rogues are left"; fi
finish
