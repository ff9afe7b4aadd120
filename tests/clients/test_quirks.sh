#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where reports contradict each other: each switch does what it says, in each profile, or the result
# says why it cannot; what is on is in the result; and it changes nothing but that.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml
cases=$root/scenarios/cases
bugs=$root/scenarios/bugs

# With any quirk, how the ranks are scheduled changes nothing.
for quirk in early-completion drop-unmatched fail-unmatched idle-sleep=20us/100us idle-stale=1s; do
    : >hashes
    for how in --keep-aslr --parallel "--fold 8" "--fold 60"; do
        # shellcheck disable=SC2086 # an option and its value
        timeout 60 "$tbmesh" run $how --ranks 3 --quirk "$quirk" "$macs" -- \
            "$uc_mesh" all_reduce --sizes 4KiB --repeat 5 2>stderr </dev/null |
            sed -n 's/.*trace hash //p' >>hashes
    done
    if [ "$(sort -u hashes | wc -l)" != 1 ] || [ "$(wc -l <hashes)" != 4 ]; then
        fail "$quirk: hashes $(tr '\n' ' ' <hashes)"
    fi
done

# Each quirk shows in what a program meets, or the result says why it cannot, at its place. A quirk
# without a line here is a failure.
asked_of() {
    case $1 in
    limits) echo "limits=3/6/6 $macs $probe limits" ;;
    tb4-devices) echo "$1 $cases/o-06-tb4-minis.yaml $probe devices" ;;
    dead-port-beside-ethernet) echo "$1 $macs $probe rtr rdma_en2 1" ;;
    bridge-gid) echo "$1 $cases/o-05-bridge-in-the-way.yaml $probe gids rdma_en4 :: $probe devices" ;;
    drop-unmatched | fail-unmatched) echo "$1 $macs $probe early" ;;
    early-completion) echo "$1 $macs $probe pace rdma_en2 200" ;;
    wedge) echo "$1=2 $macs $probe wrong rdma_en2 4" ;;
    idle-sleep) echo "$1=1ms/1ms $macs $probe idle rdma_en2 100" ;;
    idle-stale) echo "$1=1ms $macs $probe idle rdma_en2 100" ;;
    crash-on-cut) echo "$1 $bugs/mlx-4192.yaml $probe idle rdma_en2 10" ;;
    regions-need-remote-access) echo "$1 $macs $probe local" ;;
    receives-need-rts) echo "$1 $macs $probe before" ;;
    err-pins-regions) echo "$1 $macs $probe teardown" ;;
    no-bad-wr) echo "$1 $macs $probe bad" ;;
    esac
}
# meets WORDS...: what the programs print, in one order, and how the run ends.
meets() {
    timeout 60 "$tbmesh" run --ranks 2 "$@" 2>stderr </dev/null >stdout || echo "exit $?" >>stdout
    sed 's/, [0-9.]* us of .*//' stdout | sort
}
"$tbmesh" help run | sed -n 's/^  \([a-z0-9-]*\)\(=[A-Z/]*\)\{0,1\}$/\1/p' >quirks
[ "$(wc -l <quirks)" -ge 15 ] || fail "quirks: help names $(tr '\n' ' ' <quirks)"
while read -r quirk; do
    # shellcheck disable=SC2046 # words
    set -- $(asked_of "$quirk") ""
    [ $# -gt 2 ] || {
        fail "quirk $quirk: no question for it"
        continue
    }
    switch=$1
    file=$2
    shift 2
    sed '/^quirks:/d' "$file" >plain.yaml
    { cat plain.yaml && echo "quirks: {${switch%%=*}: $(case $switch in *=*) echo "${switch#*=}" ;; *) echo on ;; esac)}"; } >on.yaml
    for profile in apple verbs; do
        # shellcheck disable=SC2068 # without the empty last word
        meets --profile $profile plain.yaml -- $@ >without
        # shellcheck disable=SC2068
        meets --profile $profile on.yaml -- $@ >with
        is_told=$(grep -c "warning: on.yaml:[0-9]*:10: the quirk '$quirk' has no effect: it is of profile apple" stderr || true)
        is_same=$(cmp -s without with && echo 1 || echo 0)
        [ "$is_told" = "$is_same" ] || fail "quirk $quirk, $profile: told $is_told, same $is_same: $(cat with)"
    done
done <quirks
# Of devices that are the same without it, of a cable that nobody cuts, and on the command line.
case_is "idle quirks" 0 --ranks 1 --quirk crash-on-cut --quirk tb4-devices --quirk bridge-gid \
    "$macs" -- "$probe" pd
says "idle quirks" stderr "warning: --quirk crash-on-cut: .* has no effect: the scenario cuts no cable"
for quirk in tb4-devices bridge-gid; do
    says "idle quirks" stderr "warning: --quirk $quirk: .* has no effect: these computers' devices are the same"
done
case_is "observed, profile verbs" 0 --ranks 1 --profile verbs --variant observed "$macs" -- "$probe" pd
says "observed, profile verbs" stderr 'warning: --variant observed: has no effect'
printf 'profile: {unmatched: drop}\n' | cat "$macs" - >drop.yaml
case_is "profile's key" 0 --ranks 1 --profile infiniband --json drop.yaml -- "$probe" pd
says "profile's key" stderr "warning: drop.yaml:[0-9]*:11: the quirk 'drop-unmatched' has no effect"
says "profile's key" stdout '"id" *: *"quirk-without-effect"'

# `sim` says so as well, for each.
printf 'quirks: {early-completion: on, fail-unmatched: on,\n  wedge: 5}\n' | cat "$macs" - >several.yaml
run "sim" 0 "$tbmesh" sim several.yaml
line=$(wc -l <several.yaml)
says "sim" stdout "several.yaml:$((line - 1)):32: the quirk 'fail-unmatched' has no effect here"
says "sim" stdout "several.yaml:$line:3: the quirk 'wedge' has no effect here"
! grep -q "early-completion' has no" stdout || fail "sim: early-completion has an effect"

# What is switched on is in the result, and what is none is refused.
case_is result 0 --ranks 1 --json --quirk limits=3/6/6 --quirk drop-unmatched "$macs" -- "$probe" pd
tr -d ' \n' <stdout >flat
says result flat '"quirks":\["limits=3/6/6","drop-unmatched"\]'
# A file's own quirks and those of the command line add up; the command line's value wins.
case_is both 0 --ranks 1 --json --quirk limits=4/5/6 --quirk no-bad-wr "$bugs/adurham-limits.yaml" -- \
    "$probe" limits
tr -d ' \n' <stdout >flat
says both flat '"quirks":\["limits=4/5/6","no-bad-wr"\]'
says both stderr 'qp 4 then 16$'
for bad in nothing limits limits=3/6 limits=3/6/0 limits=a/b/c wedge=0 wedge=1/2 idle-sleep=2s \
    drop-unmatched=1 ''; do
    case_is "--quirk $bad" 2 --quirk "$bad" "$macs" -- "$probe" pd
done
finish
