#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The exit code says how it ended, and a line on stderr comes with every code but 0.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

write_pair good.yaml

# expect_exit NAME EXIT EXPECTATION: what `sim` makes of one line under expect:.
expect_exit() {
    { cat good.yaml && printf 'expect:\n  - %s\n' "$3"; } >case.yaml
    run "$1" "$2" "$tbmesh" sim case.yaml -o result
    if [ "$2" = 0 ]; then silent "$1" stderr; else says "$1" stderr '^tbmesh: sim: '; fi
}
run "no expectation" 0 "$tbmesh" sim good.yaml -o result
silent "no expectation" stderr
expect_exit "holds" 0 'all_reduce[size=4 KiB].latency.median < 1 ms'
says "holds" stdout '^ *holds: all_reduce\[size=4 KiB\]'
expect_exit "fails" 1 'all_reduce[size=4 KiB].latency.median < 1 ns'
says "fails" stdout 'all_reduce\[size=4 KiB\]'
says "fails" stderr '1 of 1 expectations failed'
expect_exit "no such row" 1 'all_reduce[size=8 KiB].latency.median < 1 s'
expect_exit "no deadlock" 0 'deadlock == false'
expect_exit "a deadlock that does not come" 1 'deadlock == true'

# One cable cut before anything runs, and nobody may drop: everyone waits for ever.
deadlock() {
    cat good.yaml
    printf 'faults:\n  - {at: 0 ms, cut: "mac1:1"}\n'
}
deadlock >cut.yaml
run "deadlock" 3 "$tbmesh" sim cut.yaml -o cut
says "deadlock" stderr '^tbmesh: sim: deadlock'
says "deadlock" cut/result.json '"deadlock": *true'
{ deadlock && printf 'expect:\n  - deadlock == true\n'; } >cut.yaml
run "expected deadlock" 0 "$tbmesh" sim cut.yaml -o cut
{ deadlock && printf 'expect:\n  - deadlock == false\n'; } >cut.yaml
run "unexpected deadlock" 3 "$tbmesh" sim cut.yaml -o cut

# check: an error is exit 1, unless the scenario expects what is found.
run "feasible" 0 "$tbmesh" check good.yaml
silent "feasible" stderr
sed 's|^rdma: enabled|rdma: disabled|' good.yaml >off.yaml
run "not feasible" 1 "$tbmesh" check off.yaml
says "not feasible" stderr '^tbmesh: check: not feasible'
says "not feasible" stdout 'rdma-disabled'
says "not feasible" stdout 'rdma_ctl enable'
{ cat off.yaml && printf 'expect:\n  - check.feasible == false\n'; } >expected.yaml
run "not feasible, as expected" 0 "$tbmesh" check expected.yaml
{ cat off.yaml && printf 'expect:\n  - check.feasible == true\n'; } >expected.yaml
run "not feasible, against expectation" 1 "$tbmesh" check expected.yaml
run "a run that the cabling cannot do" 2 "$tbmesh" sim off.yaml -o off
says "a run that the cabling cannot do" stderr '^off\.yaml:[0-9]+:[0-9]+: '
says "a run that the cabling cannot do" stderr 'tbmesh check off.yaml'
[ ! -e off ] || fail "a run that the cabling cannot do: something was written"
sed '/^run:/,$d' good.yaml >idle.yaml
run "nothing to run" 2 "$tbmesh" sim idle.yaml -o idle
run "nothing to run, but to check" 0 "$tbmesh" check idle.yaml

# What did not act is named, and what the user set is called so.
run "set" 0 "$tbmesh" sim good.yaml -o result --set 'rdma.goodput=70 Gb/s' --seed 9
says "set" stdout 'hub\.latency'
says "set" result/result.json '"seed": *9'
says "set" result/result.json '"command line"'
# Models and parameters of the user's own.
cat >mine.yaml <<'END'
tbmesh-models: 1
cables:
  - {name: tb5-3m, kind: thunderbolt, generation: 5, rate: 80 Gb/s, length: 3 m, source: "a test", date: 2026-01-01, confidence: assumed}
END
sed 's|tb5-1m|tb5-3m|' good.yaml >longer.yaml
run "unknown cable" 2 "$tbmesh" sim longer.yaml -o longer
run "own cable" 0 "$tbmesh" sim --models mine.yaml longer.yaml -o longer
run "own cable, listed" 0 "$tbmesh" models --models mine.yaml tb5-3m
says "own cable, listed" stdout '3000 mm'
run "model twice" 2 "$tbmesh" sim --models mine.yaml --models mine.yaml longer.yaml -o longer
run "built-in calibration, named" 0 "$tbmesh" sim --calibration "$root/models/calibration.yaml" good.yaml -o named
run "built-in calibration" 0 "$tbmesh" sim good.yaml -o built-in
cmp -s named/results.tsv built-in/results.tsv || fail "the built-in calibration is another one"
sed 's|name: rdma.latency, value: [^,]*, low: [^,]*, high: [^,]*|name: rdma.latency, value: 9 us, low: 9 us, high: 9 us|' \
    "$root/models/calibration.yaml" >slow.yaml
run "own calibration" 0 "$tbmesh" sim --calibration slow.yaml good.yaml -o slow
if cmp -s slow/results.tsv built-in/results.tsv; then fail "the calibration changes nothing"; fi

run "default folder" 0 "$tbmesh" sim good.yaml
[ -s out/good/result.json ] || fail "default folder: out/good/result.json is missing"
says "default folder" stdout 'out/good/result.json'

# What no figure shows is a warning: in the table and in the JSON.
# warns NAME EXIT FILE PATTERN
warns() {
    run "$1" "$2" "$tbmesh" sim "$3" -o doubt
    says "$1" stdout "$4"
    run "$1, JSON" "$2" "$tbmesh" sim --json "$3"
    says "$1, JSON" stdout "^ *\"warnings\": .*$4"
}
{ sed 's|^ip: .*||' good.yaml && printf 'ip: none\n'; } >doubt.yaml
warns "infeasible, yet simulated" 0 doubt.yaml 'infeasible \(no-gid1\)'
{ cat good.yaml && printf 'faults:\n  - {at: 60 s, cut: "mac1:1"}\n'; } >doubt.yaml
warns "a fault past the end" 0 doubt.yaml 'came after the end of the run'
{ cat good.yaml && printf 'faults:\n  - {frames: {loss: 1e-9}}\n'; } >doubt.yaml
warns "no frame lost" 0 doubt.yaml "'frames' had no effect"
{ cat good.yaml && printf 'faults:\n  - {frames: {corrupt: 1}}\n'; } >doubt.yaml
run "damaged" 0 "$tbmesh" sim doubt.yaml -o doubt
says "damaged" stdout 'arrived with frames lost or changed'
says "damaged" doubt/result.json 'arrived with frames lost or changed'
says "damaged" doubt/results.tsv 'arrived with frames lost or changed'
deadlock >doubt.yaml
warns "a deadlock before the end" 3 doubt.yaml '1 of 2 rows were not simulated'
finish
