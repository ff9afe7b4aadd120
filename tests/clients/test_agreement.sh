#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same traffic as a program under `tbmesh run` and as a workload under `tbmesh sim`: within 1 %.
#
# What a program's own work takes is not charged by `run`, so the Macs here copy and reduce at a rate
# that does not count. A poll and a clock take 1 ns, so that what is compared is the fabric and not
# the grid of polls. With jitter, messages draw the same delays in both, one by one: then even the
# longest of hundreds is the same. Only in an all-reduce do they differ below 256 KiB: `sim` starts all
# ranks of a repetition at once and takes the slowest, a program starts when it has finished.
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || { echo "skipped: jq is not installed"; exit 77; }

# scenario JITTER RUN: on stdout.
scenario() {
    cat <<END
tbmesh: 1
name: agreement
macos: "26.3"
jitter: $1
models:
  chips:
    - {name: fast, thread_copy: 12 TB/s, thread_reduce: 12 TB/s, host_staging: 12 TB/s, memory_bandwidth: 12 TB/s}
  machines:
    - name: mac-fast
      title: "A Mac whose memory takes no time"
      kind: mac
      chip: fast
      memory: [64 GiB]
      rdma: true
      ports:
        - {number: 1, label: "1", ifname: en2, kind: thunderbolt, generation: 5, rate: 80 Gb/s}
        - {number: 2, label: "2", ifname: en3, kind: thunderbolt, generation: 5, rate: 80 Gb/s}
machines:
  - {name: mac, model: mac-fast, count: 2}
cables:
  - {pair: [mac1, mac2], kind: tb5-1m}
bridge: {members: none}
run:
  - $2
END
}

# simulate JITTER RUN: lines of size, least, median and greatest latency in ps, messages.
simulate() {
    scenario "$1" "$2" >s.yaml
    "$tbmesh" sim --json s.yaml >sim.json || fail "sim of $2"
    jq -r '.results[] | [.size_bytes, .latency_ps.min, .latency_ps.median, .latency_ps.max, .messages] | @tsv' sim.json
}

emulate() {
    timeout 120 "$tbmesh" run --json --set "cpu.poll_empty=1 ns" --set "cpu.clock=1 ns" s.yaml -- \
        "$@" 2>programs >run.json
}

# compare NAME LEAST: lines of two files, of what the numbers in them are within 1 % of each other,
# for sizes from LEAST on.
compare() {
    if [ ! -s expected ] || [ "$(wc -l <expected)" != "$(wc -l <found)" ]; then
        fail "$1: nothing to compare"
        head -5 expected found programs
        return 0
    fi
    paste expected found | awk -v least="$2" '
        {
            n = NF / 2
            bad = $1 != $(n + 1)
            for (i = 2; i <= n && $1 >= least; i++) {
                d = $i - $(n + i)
                bad = bad || (d < 0 ? -d : d) > 0.01 * $i
            }
            if (bad) print
        }' >differ
    [ ! -s differ ] || {
        fail "$1: size and latencies of sim, then of run:"
        cat differ
    }
}

sizes="64B,256B,1KiB,4KiB,16KiB,64KiB,256KiB,1MiB,4MiB,16MiB"
every="{from: 64 B, to: 16 MiB, times: 4}"
for jitter in off on; do
    # One message to and fro: least, median and greatest of 501.
    for size in 64 256 1024 4096 16384 65536 262144 1048576; do
        simulate "$jitter" "ping_pong: {size: $size B, repeat: 501}" | cut -f 1-4 >expected
        emulate "$probe" ping rdma_en2 "$size" || fail "ping of $size"
        sed -n "s/.*\\] ping \\([0-9]*\\) \\([0-9]*\\) \\([0-9]*\\) .*/$size\\t\\1\\t\\2\\t\\3/p" \
            programs >found
        compare "ping_pong, $size, jitter $jitter" 0
    done

    # A message of many buffers, in one direction. Ranks 0 and 1 see the same.
    simulate "$jitter" "send_recv: {library: jaccl-mesh, sizes: $every, repeat: 31}" >all
    cut -f 1-4 all >expected
    emulate "$uc_mesh" send_recv --sizes "$sizes" --warmup 0 --repeat 31 --tsv || fail "send_recv"
    awk -F '\t' '$6 == 1 {printf "%s\t%d\t%d\t%d\n", $7, 1000 * $10, 1000 * $9, 1000 * $11}' \
        programs >found
    compare "send_recv, jitter $jitter" 0
    # 31 repetitions; each message of sim is one of run.
    [ "$(jq '.ranks[0].messages[1]' run.json)" = \
        "$(awk '{n += $5} END {print 31 * n}' all)" ] || fail "send_recv: other messages"

    # Both directions. A rank waits for the other one: what one wins the other loses.
    for ring in "" --ring; do
        library=jaccl-mesh
        [ -z "$ring" ] || library=jaccl-ring
        simulate "$jitter" "all_reduce: {library: $library, sizes: $every, repeat: 31}" |
            cut -f 1,3 >expected
        # shellcheck disable=SC2086 # an option or none
        emulate "$uc_mesh" all_reduce $ring --sizes "$sizes" --warmup 0 --repeat 31 --tsv ||
            fail "all_reduce $ring"
        awk -F '\t' '$6 == 0 {one = $9} $6 == 1 {printf "%s\t%d\n", $7, 500 * (one + $9)}' \
            programs >found
        least=0
        [ "$jitter" = off ] || least=262144
        compare "all_reduce $library, jitter $jitter" "$least"
    done
done

# With what calls cost by default, on a grid of 50 ns for polls and 25 ns for clocks.
simulate off "ping_pong: {size: 4 KiB, repeat: 501}" | cut -f 1,3 >expected
"$tbmesh" run --json s.yaml -- "$probe" ping rdma_en2 4096 2>programs >run.json || fail "ping"
sed -n "s/.*\\] ping [0-9]* \\([0-9]*\\) .*/4096\\t\\1/p" programs >found
compare "ping_pong as it is" 0

# The comparison can see a difference.
before=$failures
sed 's/4096\t/4096\t1/' found >other
mv other found
compare "meant to fail" 0 >/dev/null
[ "$failures" -gt "$before" ] || fail "a difference is not seen"
failures=$before
finish
