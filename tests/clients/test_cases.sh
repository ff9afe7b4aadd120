#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Public reports, met by programs: what the reporter saw is what the program sees. A case's number
# is that of scenarios/README.md where it has one; the source is the report.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml
cases=$root/scenarios/cases
bugs=$root/scenarios/bugs

# conforms NAME VARIANT PART...: the cases of the conformance suite with that part in their name.
conforms() {
    name=$1
    variant=$2
    shift 2
    for part in "$@"; do
        case_is "$name" 0 --ranks 2 --variant "$variant" "$macs" -- \
            "$conformance" --variant "$variant" --only "$part"
        says "$name: $part" stdout '\] ok 1 '
    done
}

# O-04, exo PR 2160: each end names another of two cables.
case_is O-04 3 "$cases/o-04-crossed-rails.yaml" -- "$uc_mesh" all_reduce
says O-04 stdout '^verdict deadlock'
says O-04 stderr 'rank 0 \(a\): rdma_en6.*the two ends name different cables'
case_is "O-04 right" 0 "$cases/o-04-both-rails.yaml" -- "$uc_mesh" all_reduce --ring
says "O-04 right" stdout 'ring of 2 ranks, 2 wires'

# O-05, exo#1390: the address is on bridge0. And the report that it does no harm.
case_is O-05 0 "$cases/o-05-bridge-in-the-way.yaml" -- \
    "$probe" rtr rdma_en4 1 :: "$probe" rtr rdma_en5 1
says O-05 stdout 'mini\] rtr 22$'
case_is O-05 1 "$cases/o-05-bridge-in-the-way.yaml" -- "$uc_mesh" all_reduce
says O-05 stderr 'rdma_en4 has no IPv4-mapped GID'
case_is "O-05 bridge-gid" 0 --quirk bridge-gid "$cases/o-05-bridge-in-the-way.yaml" -- \
    "$uc_mesh" all_reduce

# O-06, exo#1636 and others: Thunderbolt 4. Sources disagree on whether there are devices.
case_is O-06 0 "$cases/o-06-tb4-minis.yaml" -- "$probe" devices
says O-06 stdout 'mini1\] devices 0$'
case_is "O-06 tb4-devices" 0 "$bugs/exo-1813.yaml" -- "$probe" pd
says "O-06 tb4-devices" stdout 'pd NULL'

# O-10: a port without a cable.
case_is O-10 0 "$cases/o-10-dead-port.yaml" -- "$probe" pd rdma_en4 :: "$probe" pd rdma_en2
says O-10 stdout 'mini1\] pd ok'
says O-10 stdout 'mini2\] pd NULL'
case_is O-10 1 "$cases/o-10-dead-port.yaml" -- "$uc_mesh" all_reduce
says O-10 stderr 'rank 1: ibv_alloc_pd on rdma_en2'

# O-08, exo PR 1543: the port beside Ethernet.
case_is O-08 0 "$bugs/exo-1543.yaml" -- "$probe" pd rdma_en2
says O-08 stdout 'pd NULL'

# O-18: Linux at the other end, whose interfaces have long names.
for profile in apple verbs infiniband; do
    for file in o-18-linux-peer o-19-above-line-rate; do
        case_is "$file $profile" 0 --profile $profile "$cases/$file.yaml" -- \
            "$probe" ping rdma_en1 64 :: "$probe" ping rdma_thunderbolt0 64
        case_is "$file $profile, second port" 0 --profile $profile "$cases/$file.yaml" -- \
            "$probe" devices :: "$probe" pd rdma_thunderbolt1
        says "$file $profile, second port" stdout '\[linux\] pd (ok|NULL)'
    done
done
# The longest that a device may have, and one more.
long_name() {
    ifname=$(printf 'port%0*d' "$1" 1)
    cat <<END
tbmesh: 1
name: "a long name"
macos: "26.3"
models:
  chips:
    - {name: chip, thread_copy: 12 GB/s, thread_reduce: 12 GB/s, host_staging: 12 GB/s, memory_bandwidth: 120 GB/s}
  machines:
    - name: long
      title: "A computer whose interfaces have long names"
      kind: mac
      chip: chip
      memory: [64 GiB]
      rdma: true
      ports:
        - {number: 1, label: "1", ifname: ${ifname%1}0, kind: thunderbolt, generation: 5, rate: 80 Gb/s}
        - {number: 2, label: "2", ifname: $ifname, kind: thunderbolt, generation: 5, rate: 80 Gb/s}
machines:
  - {name: mac, model: long, count: 2}
cables:
  - {pair: [mac1, mac2], kind: tb5-1m}
bridge: {members: none}
END
}
long_name 54 >long.yaml
case_is "long names" 0 --profile verbs long.yaml -- "$probe" pd "rdma_$ifname"
says "long names" stdout 'mac2\] pd ok'
long_name 55 >longer.yaml
case_is "longer names" 2 --profile verbs longer.yaml -- "$probe" devices
says "longer names" stderr 'long: the interface name .port0+0. is too long .* at most 58 characters'

# O-19: perftest prints more than the cable carries; the receiver's count is the truth. And why: what
# the sender could compute is measured, not guessed from what is switched on.
rate() {
    sed -n "s/.*\\] $1 \\([0-9]*\\)\\..*/\\1/p" stdout
}
# seen RANK: what the result says of it, in Gb/s: the sender's rate and what arrived.
seen() {
    jq -r ".ranks[$1].send_rates[0] | [.seen_bps, .delivered_bps, .line_bps] | map(. / 1e9 | floor) | @tsv" json
}
case_is O-19 0 --ranks 2 "$macs" -- "$probe" pace rdma_en2 200
[ "$(rate sender)" -lt 80 ] || fail "O-19: sender's rate $(rate sender) Gb/s"
! grep -q 'the completions of' stderr || fail "O-19: nothing is above the cable's rate"
case_is "O-19 early" 0 "$bugs/hellas-early.yaml" -- "$probe" pace rdma_en2 200
[ "$(rate sender)" -gt 80 ] || fail "O-19: no artefact: $(rate sender) Gb/s"
[ "$(rate receiver)" -lt 80 ] || fail "O-19: receiver's rate $(rate receiver) Gb/s"
says "O-19 early" stderr 'warning: rank 0 .*rdma_en2: the completions of [0-9]+ sends make [0-9.]+ Gb/s, on a cable of 80.0 Gb/s that delivered the row at 7[0-9.]+ Gb/s: they come when a send enters the queue'
[ "$(grep -c 'the completions of' stderr)" = 1 ] || fail "O-19 early: the receiver sends nothing"
# On the cable of the report, of 40 Gb/s, both directions.
case_is "O-19 40G" 0 --quirk early-completion "$cases/o-19-above-line-rate.yaml" -- \
    "$probe" pace rdma_en1 200 :: "$probe" pace rdma_thunderbolt0 200
says "O-19 40G" stderr 'warning: rank 0 .*on a cable of 40.0 Gb/s that delivered'
if command -v jq >/dev/null; then
    case_is "O-19 json" 0 --ranks 2 --json "$macs" -- "$probe" pace rdma_en2 200
    mv stdout json
    read -r sender there line <<END
$(seen 0)
END
    case "$sender $there $line" in
    7[0-6]" "[67][0-9]" 80") ;;
    *) fail "O-19 json: $sender, $there of $line" ;;
    esac
    [ "$(jq -c '.ranks[1].send_rates' json)" = "[]" ] || fail "O-19 json: rank 1 sends nothing"
    case_is "O-19 json early" 0 --json "$bugs/hellas-early.yaml" -- "$probe" pace rdma_en2 200
    mv stdout json
    read -r sender there line <<END
$(seen 0)
END
    case "$sender $there $line" in
    [1-9][0-9][0-9]" "7[0-6]" 80") ;;
    *) fail "O-19 json early: $sender, $there of $line" ;;
    esac
    [ "$(jq '.ranks[0].send_rates[0].above_line' json)" = true ] || fail "O-19 json early: not above"
fi
# A quirk alone proves nothing: one message at a time is slower than any cable.
case_is "O-19 one by one" 0 "$bugs/hellas-early.yaml" -- "$probe" ping rdma_en2 64
! grep -q 'the completions of' stderr || fail "O-19: one message at a time is no row"

# O-31, mlx#3467: no IPv4; index 0 in place of it; and with it.
for variant in technote observed; do
    case_is "O-31 $variant" 0 --variant $variant "$bugs/mlx-3467.yaml" -- "$probe" gids
    [ "$(grep -c '\] gids 2 fe80$' stdout)" = 2 ] || fail "O-31 $variant: $(cat stdout)"
    for answer in "0 110" "1 22" "2 22"; do
        case_is "O-31 $variant" 0 --variant $variant "$bugs/mlx-3467.yaml" -- \
            "$probe" rtr rdma_en2 "${answer% *}"
        [ "$(grep -c "\] rtr ${answer#* }\$" stdout)" = 2 ] || fail "O-31 $variant: not $answer"
    done
done
case_is "O-31 index 0" 0 --ranks 2 "$macs" -- "$probe" rtr rdma_en2 0
says "O-31 index 0" stdout '\] rtr 110$'
case_is "O-31 index 1" 0 --ranks 2 "$macs" -- "$probe" rtr rdma_en2 1
says "O-31 index 1" stdout '\] rtr 0$'

# O-32, mlx#3162 and PR 4209; against them the report of 3, 6 and 6.
case_is O-32 0 --ranks 1 "$macs" -- "$probe" limits
says O-32 stdout '\] qp 10 then 16$'
says O-32 stdout '\] mr 100 then 12$'
says O-32 stdout 'max_qp 11 max_cq 11 max_pd 11'
case_is "O-32 3/6/6" 0 --ranks 1 "$bugs/adurham-limits.yaml" -- "$probe" limits
says "O-32 3/6/6" stdout '\] qp 3 then 16$'
says "O-32 3/6/6" stdout 'max_qp 3 max_cq 6 max_pd 6'
says "O-32 3/6/6" stdout '\] pd 6 then'
# Asking again does not help, whichever variant. And with the macOS before: the report's crash of the
# 101st region there is not replayed, it is refused as well.
conforms O-32 technote limit/eleventh_qp limit/region_101
conforms O-32 observed limit/eleventh_qp limit/region_101
sed 's/^macos: .*/macos: "26.2"/' "$macs" >older.yaml
case_is "O-32 macOS 26.2" 0 --ranks 1 older.yaml -- "$probe" limits
says "O-32 macOS 26.2" stdout '\] qp 10 then 16$'
says "O-32 macOS 26.2" stdout '\] mr 100 then 12$'
# The device is one, however many processes of the Mac use it; what one leaves the next can have.
case_is "O-32 processes" 0 --ranks 1 "$macs" -- "$probe" share
for answer in 'qp 9 then 16' 'mr 99 then 12' 'cq 10 then 12' 'pd 10 then 12'; do
    [ "$(grep -c "\] $answer\$" stdout)" = 2 ] || fail "O-32 processes: not twice '$answer'"
done

# O-33, mlx PR 4530: every way in which a peer can be missing.
conforms O-33 technote type/rc_is_refused
case_is O-33 1 "$bugs/mlx-4530.yaml" -- "$uc_mesh" all_reduce
says O-33 stderr 'RTR on rdma_en3: .*\(110\)'
case_is "O-33 port" 1 "$bugs/mlx-3777.yaml" -- "$probe" pd
says "O-33 port" stdout 'on\] pd NULL'
says "O-33 port" stderr 'off\] probe: no device'

# The cable is out: the device opens, the port is down, there is no domain.
for variant in technote observed; do
    case_is "O-33 out $variant" 0 --variant $variant "$cases/o-10-dead-port.yaml" -- \
        "$probe" port rdma_en4 :: "$probe" port rdma_en2
    says "O-33 out $variant" stdout 'mini1\] port 4 pd ok$'
    says "O-33 out $variant" stdout 'mini2\] port 1 pd NULL [1-9][0-9]*$'
    # ... or it is pulled later, at both ends.
    case_is "O-33 pulled $variant" 0 --variant $variant "$bugs/mlx-4192.yaml" -- "$probe" unplugged rdma_en2 10
    [ "$(grep -c '\] port 4 pd ok$' stdout)" = 2 ] || fail "O-33 pulled: before"
    [ "$(grep -c '\] port 1 pd NULL [1-9][0-9]*$' stdout)" = 2 ] || fail "O-33 pulled: after"
    # The peer dies: nothing completes, with or without an error.
    case_is "O-33 dies $variant" 1 --ranks 2 --variant $variant "$macs" -- "$probe" survive
    says "O-33 dies $variant" stdout 'studio1\] posted'
    ! grep -q 'completion status' stdout || fail "O-33 dies: $(cat stdout)"
    says "O-33 dies $variant" stderr 'rank 1 \(studio2\): ended by signal 6'
    says "O-33 dies $variant" stderr 'rank 0 \(studio1\): rdma_en2, .* 1 sends and 1 receives wait for rank 1 \(studio2\); its queue pair is gone'
    case_is "O-33 stranger $variant" 0 --ranks 2 --variant $variant "$macs" -- "$probe" wrong rdma_en2 1
    says "O-33 stranger $variant" stdout '\] wrong 110$'
done

# O-34, mlx#4192: a verdict; and the crash that was reported, at both ends.
loop="$uc_mesh all_reduce --sizes 4KiB --repeat 3000"
# shellcheck disable=SC2086 # words
case_is O-34 3 "$bugs/mlx-4192.yaml" -- $loop
says O-34 stdout '^verdict link-lost'
says O-34 stderr 'link-lost: mac1 en2 - mac2 en2: the cable was cut at 5000.000 us'
# Whoever posts a receive after the cut crashes; who only waits does not.
case_is "O-34 crash" 1 "$bugs/mlx-4192-crash.yaml" -- "$probe" rounds rdma_en2 100
says "O-34 crash" stderr 'rank 0 \(mac1\): ended by signal 11'
says "O-34 crash" stderr 'rank 1 \(mac2\): ended by signal 11'

# O-35, hellas-ai/thunderbolt-ibverbs PR 39; O-37, llama.cpp PR 26421; O-38, PR 27908.
conforms O-37 technote frames/
# llama.cpp found strides of 128 KiB the best of 32 to 256 KiB, and told no figures. Here a small
# request costs what its stride costs, and a stream does not care (docs/validation.md). It takes a
# cost of each call, which nobody has published, for a stride to be too small as well.
# strides BYTES WORDS...: "32768 65536 131072 262144" in order of the time that they took, best first.
strides() {
    size=$1
    shift
    case_is "O-37 $size $*" 0 --ranks 2 "$@" "$macs" -- "$probe" strides rdma_en2 "$size"
    order=$(sed -n 's/.*stride \([0-9]*\) took \([0-9]*\)$/\2 \1/p' stdout | sort -n | sed 's/.* //' | tr '\n' ' ')
}
strides 1024
[ "$order" = "32768 65536 131072 262144 " ] || fail "O-37 1 KiB: $order"
sed -n 's/.* took //p' stdout | awk '{t[NR] = $1} END {exit !(NR == 4 && t[4] > 3.5 * t[1] && t[4] < 5 * t[1])}' ||
    fail "O-37 1 KiB: $(cat stdout)"
strides 8388608
sed -n 's/.* at //p' stdout |
    awk 'NR == 1 {a = b = $1} {a = $1 < a ? $1 : a; b = $1 > b ? $1 : b} END {exit !(NR == 4 && b < 1.005 * a)}' ||
    fail "O-37 8 MiB: $(cat stdout)"
strides 8388608 --compute fixed=2us
[ "${order%% *}" = 131072 ] || fail "O-37 8 MiB, costly calls: $order"
strides 1048576 --compute fixed=2us
[ "${order%% *}" = 65536 ] || fail "O-37 1 MiB, costly calls: $order"
case_is O-38 0 --ranks 1 "$bugs/llama-27908.yaml" -- "$probe" teardown
says O-38 stdout '\] unmap [1-9][0-9]* 0$'
case_is "O-38 technote" 0 --ranks 1 "$macs" -- "$probe" teardown
says "O-38 technote" stdout '\] unmap 0 0$'
for variant in technote observed; do
    conforms "O-38 $variant" "$variant" ERR_pins RTS_destroyed
    conforms "O-35 $variant" "$variant" budget
done

# O-36, gojaccl: retries wedge the port; an address on bridge0 makes no GID (O-05); rkey is 0.
case_is O-36 0 --ranks 2 "$macs" -- "$probe" wrong rdma_en2 20
says O-36 stdout 'studio1\] right 0$'
says O-36 stderr 'warning: rank 0 .*RTR on rdma_en2 failed 20 times'
case_is "O-36 few" 0 --ranks 2 "$macs" -- "$probe" wrong rdma_en2 4
! grep -q 'RTR on' stderr || fail "O-36: four failures are no loop"
case_is "O-36 wedge" 0 "$bugs/gojaccl-wedge.yaml" -- "$probe" wrong rdma_en2 20
says "O-36 wedge" stdout 'mac1\] right 110$'
says "O-36 wedge" stdout 'mac2\] right 0$'
# What the wedged port refuses is refused, too.
says "O-36 wedge" stderr 'warning: rank 0 .*RTR on rdma_en2 failed 21 times'
case_is "O-36 rkey" 0 --ranks 1 "$macs" -- "$probe" rkey
says "O-36 rkey" stdout '\] rkey 0$'

# O-39, ds4 PR 1024: a send before the receive is posted waits on a Mac and is lost elsewhere.
case_is O-39 0 --ranks 2 "$macs" -- "$probe" early
says O-39 stdout 'studio2\] arrived'
says O-39 stdout 'studio1\] send status 0$'
says O-39 stderr 'warning: all ranks: 1 send was held .*drop-unmatched.*; rank 0 \(studio1\), rdma_en2, queue pair 0x900 to rank 1 \(studio2\): 1, 1.050 ms$'
case_is "O-39 drop" 0 "$bugs/ds4-1024.yaml" -- "$probe" early
says "O-39 drop" stdout 'mac2\] lost'
says "O-39 drop" stdout 'mac1\] send status 0$'
! grep -q 'held-sends\|held for lack' stderr || fail "O-39: what is dropped is not held"
case_is "O-39 fail" 0 "$bugs/softiwarp-27.yaml" -- "$probe" early
says "O-39 fail" stdout 'mac2\] lost'
says "O-39 fail" stdout 'mac1\] send status 12$'
case_is "O-39 fail, in time" 0 "$bugs/softiwarp-27.yaml" -- "$probe" ping rdma_en2 64
case_is "O-39 fail, profile verbs" 0 --profile verbs --quirk fail-unmatched --ranks 2 "$macs" -- \
    "$probe" ping rdma_en2 64
case_is "O-39 in time" 0 --ranks 2 --json "$macs" -- "$probe" ping rdma_en2 64
tr -d ' \n' <stdout >flat
says "O-39 in time" flat '"held_sends":0,"held_ps":0'
! grep -q 'held-sends\|held for lack' stderr || fail "O-39: nothing was sent too early"

# Of many the worst, and how many more.
case_is "held, mesh" 0 "$macs" -- "$uc_mesh" all_reduce --sizes 4KiB --repeat 20
says "held, mesh" stderr 'sends were held .*queue pair 0x[0-9a-f]+ to rank [0-3] \(studio[1-4]\): [0-9]+, [^;]*; rank .*; rank .*; and [0-9]+ more queue pairs$'
worst=$(grep -o 'studio[1-4]): [0-9]*' stderr | sed 's/.* //')
[ "$worst" = "$(echo "$worst" | sort -rn)" ] || fail "held, mesh: not the worst first: $worst"

# O-40, ThunderMLX v0.3.6: the first send after a silence pays; a ping every second avoids it.
case_is O-40 0 --ranks 2 "$macs" -- "$probe" idle rdma_en2 10000
says O-40 stdout 'studio2\] message 1 took 0\.0 ms'
case_is "O-40 sleep" 0 "$bugs/thundermlx-idle.yaml" -- "$probe" idle rdma_en2 10000
says "O-40 sleep" stdout 'mac2\] message 1 took 3000\.0 ms'
case_is "O-40 pings" 0 "$bugs/thundermlx-idle.yaml" -- "$probe" alive rdma_en2 10000
says "O-40 pings" stdout 'mac2\] message 11 took 0\.0 ms'
! grep -q 'took 3' stdout || fail "O-40: a ping did not keep the cable awake"

# The same, gojaccl: after 23 minutes a queue pair carries nothing, and no error says so. A message a
# minute on the same queue pair keeps it alive; one on another does not, and there is a way back.
case_is "O-40 stale" 3 "$bugs/gojaccl-idle.yaml" -- "$probe" idle rdma_en1 1500000
says "O-40 stale" stdout '^verdict deadlock'
says "O-40 stale" stdout 'mac2\] message 0 took'
! grep -q 'message 1 took' stdout || fail "O-40 stale: a message came through"
says "O-40 stale" stderr 'deadlock: rank 0 \(mac1\): rdma_en1, queue pair 0x900: 1 sends and 0 receives wait for rank 1 \(mac2\); it was idle for 1500 s, and carries nothing since'
says "O-40 stale" stderr 'deadlock: rank 1 \(mac2\): .*0 sends and 1 receives wait .*idle for 1500 s'
says "O-40 stale" stderr 'warning: rank 0 \(mac1\): rdma_en1, queue pair 0x900: after 1500 s without a message'
[ "$(grep -c 'without a message' stderr)" = 1 ] || fail "O-40 stale: not once"
case_is "O-40 in time" 0 "$bugs/gojaccl-idle.yaml" -- "$probe" idle rdma_en1 1370000
says "O-40 in time" stdout 'mac2\] message 1 took'
! grep -q 'without a message' stderr || fail "O-40 in time: 1370 s are not 23 minutes"
case_is "O-40 minutely" 0 "$bugs/gojaccl-idle.yaml" -- "$probe" minutely rdma_en1 2820000
[ "$(grep -c 'mac2\] message [0-9]* took' stdout)" = 49 ] || fail "O-40 minutely: $(wc -l <stdout)"
case_is "O-40 another" 3 "$bugs/gojaccl-idle.yaml" -- "$probe" neighbour rdma_en1 1500000
says "O-40 another" stderr 'deadlock: rank 0 \(mac1\): rdma_en1, queue pair 0x900: 1 sends'
case_is "O-40 without" 0 --ranks 2 "$macs" -- "$probe" idle rdma_en2 1500000
says "O-40 without" stdout 'studio2\] message 1 took 0\.0 ms'
case_is "O-40 renewed" 0 "$bugs/gojaccl-idle.yaml" -- "$probe" renew rdma_en1 1500000
says "O-40 renewed" stdout 'mac2\] arrived'
says "O-40 renewed" stdout 'mac1\] flushed 1$'

# O-41, mlx#3910: the link is lost under a posted receive: no error ever, but a verdict.
case_is O-41 3 "$bugs/mlx-3910.yaml" -- "$probe" wait rdma_en2 30
says O-41 stderr 'link-lost: rank 1 \(mac2\): .* 0 sends and 1 receives wait'
says O-41 stderr 'link-lost: mac1 en2 - mac2 en2: the cable was cut at 20000.000 us'
case_is "O-41 observed" 3 --variant observed "$bugs/mlx-3910.yaml" -- "$probe" wait rdma_en2 30
says "O-41 observed" stderr 'link-lost: mac1 en2 - mac2 en2: the cable was cut'

finish
