#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `tbmesh run` says of a run: the object follows its schema and does not depend on scheduling,
# parameters without effect have none, and the table of the ranks.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml
schema_check=$(dirname "$tbmesh")/schema_check
command -v jq >/dev/null || {
    echo "skipped: jq is not there"
    exit 77
}

# result NAME EXIT FILE OPTIONS...: the object of a run goes into FILE; it follows the schema.
result() {
    name=$1
    file=$3
    expected=$2
    shift 3
    run "$name" "$expected" timeout 60 "$tbmesh" run --json "$@"
    cp stdout "$file"
    "$schema_check" "$root/schema/run.schema.json" "$file" || fail "$name: not as the schema has it"
}

# is NAME FILE FILTER VALUE: what jq's filter gives.
is() {
    seen=$(jq -rc "$3" "$2" 2>&1) || true
    [ "$seen" = "$4" ] || fail "$1: $3 is $seen, expected $4"
}

mesh="$uc_mesh all_reduce --sizes 4096 --repeat 5"
# shellcheck disable=SC2086 # words
result plain 0 plain.json --ranks 3 "$macs" -- $mesh
is plain plain.json '.verdict, .command, (.ranks | length)' 'ok
run
3'
is plain plain.json '.profile, .variant, .client_compute, .credit_latency_ps, .reproducible' 'apple
technote
not charged
0
true'
is plain plain.json '.ranks[1] | .rank, .host, .exit, .argv[1:3]' '1
studio2
0
["all_reduce","--sizes"]'
# Each rank sends its 4 KiB to both others, five times after a warm-up.
is plain plain.json '.ranks[2] | .messages[0] == .messages[1], .bytes[0] / .messages[0], .bytes[2]' 'true
4096
0'
is plain plain.json '[.ranks[].calls | .post_send == .post_recv and .poll_entry == 2 * .post_send] | all' true
is plain plain.json '.simulated_ps == .virtual_ps, .frames == ([.link_use[].frames] | add),
    ([.link_use[].bytes] | add) == ([.ranks[].bytes[]] | add)' 'true
true
true'
is plain plain.json '[.ranks[].ended_ps] | max <= '"$(jq .virtual_ps plain.json)" true

# The same in all but what it says of the choice, whatever runs when.
for choice in --parallel "--fold 0" "--fold 60 --parallel" "--spin 2000 --keep-aslr"; do
    # shellcheck disable=SC2086 # words
    result "$choice" 0 other.json --ranks 3 $choice "$macs" -- $mesh
    [ "$(jq 'del(.clock)' plain.json)" = "$(jq 'del(.clock)' other.json)" ] ||
        fail "$choice: another result"
done

# What had no effect has none; what a call costs has.
for name in $(jq -r '.parameters[] | select(.unit == "ps") | .name' plain.json); do
    value=$(jq ".parameters[] | select(.name == \"$name\") | .value" plain.json)
    effect=$(jq ".parameters[] | select(.name == \"$name\") | .had_effect" plain.json)
    # shellcheck disable=SC2086 # words
    result "$name" 0 other.json --ranks 3 --set "$name=$((value + 50000)) ps" "$macs" -- $mesh
    same=$(jq -n --slurpfile a plain.json --slurpfile b other.json \
        '$a[0] as $a | $b[0] as $b | $a.trace_hash == $b.trace_hash and
         $a.virtual_ps == $b.virtual_ps and $a.ranks == $b.ranks')
    case $effect$same in
    falsefalse) fail "$name is said to have no effect, and has one" ;;
    truetrue) fail "$name is said to have an effect, and has none" ;;
    esac
done
is "effects" plain.json '[.parameters[] | select(.name | test("^(cpu.sync|hub.latency|ip.latency|gpu.handoff_fast)$"))
    | .had_effect] | any' false
is "effects" plain.json '[.parameters[] | select(.name | test("^(cpu.clock|side.latency|rdma.poll|rdma.credit_latency)$"))
    | .had_effect] | all' true
# shellcheck disable=SC2086 # words
result "credits" 0 other.json --ranks 2 --set "rdma.credit_latency=4 us" "$macs" -- $mesh
is "credits" other.json .credit_latency_ps 4000000

# A program's own work.
# shellcheck disable=SC2086 # words
result fixed 0 other.json --ranks 3 --compute fixed=1us "$macs" -- $mesh
is fixed other.json '.client_compute, .reproducible' '1000000 ps a call
true'
[ "$(jq .virtual_ps other.json)" -gt "$(jq .virtual_ps plain.json)" ] || fail "fixed: costs no time"
# shellcheck disable=SC2086 # words
result measured 0 other.json --ranks 2 --compute measured=1.5 "$macs" -- $mesh
is measured other.json '.client_compute, .reproducible, ([.ranks[].computed_ps] | min > 0)' 'measured here, times 1.500
false
true'
for bad in 1us fixed fixed=3 fixed=-1us measured measured=0 measured=x measured=1e9; do
    run "--compute $bad" 2 "$tbmesh" run --compute "$bad" "$macs" -- true
done

# Two messages against three: a deadlock. What the scenario expects of its own `run:` is not judged.
few="$uc_mesh send_recv --sizes 4096 --repeat"
# shellcheck disable=SC2086 # words
result stuck 3 other.json --ranks 2 "$macs" -- $few 3 :: $few 2
is stuck other.json '.verdict, .deadlock, ([.expectations[].verdict] | unique[])' 'deadlock
true
not-run'

# The table is for people at a terminal, or on request.
# shellcheck disable=SC2086 # words
run "no table" 0 "$tbmesh" run --ranks 2 "$macs" -- $mesh
! grep -q 'waited for' stdout || fail "no table: there is one in a pipe"
# shellcheck disable=SC2086 # words
run "a table" 0 "$tbmesh" run --stats --ranks 2 "$macs" -- $mesh
says "a table" stdout 'waited for'
says "a table" stdout '^ +1  studio2 +[0-9.]+ [mu]s +[0-9]+ +[0-9]+ +[0-9]+ '
says "a table" stdout '^studio2 +[0-9.]+ [KM]?i?B +-$'
if command -v script >/dev/null; then
    run "a terminal" 0 script -qec "$tbmesh run --ranks 2 $macs -- $mesh" typescript
    says "a terminal" stdout 'waited for'
fi
finish
