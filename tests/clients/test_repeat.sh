#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Many runs of a program, two at a time, have one trace hash. TBMESH_REPEAT=full: a hundred runs of
# each; else fewer of those that take longer (ib_send_lat asks for the time ten million times to
# learn the speed of the processor). Jitter is drawn from the seed: another seed is another run.
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

for program in ibv_uc_pingpong ib_send_lat; do
    command -v "$program" >/dev/null || {
        echo "skipped: $program is not there (packages ibverbs-utils, perftest)"
        exit 77
    }
done
cat >cable.yaml <<'END2'
tbmesh: 1
name: four studios, jitter on
seed: 1
macos: "26.3"
machines:
  - {name: studio, model: mac-studio-m3-ultra, memory: 512 GiB, count: 4}
cables:
  - {mesh: [studio1, studio2, studio3, studio4], kind: tb5-1m}
rdma: enabled
bridge: {members: none}
ip: per-cable
END2

# Each run has a port of its own on this computer's loopback.
cat >one.sh <<END2
#!/bin/sh
# Usage: one.sh PROGRAM NUMBER [OPTIONS of tbmesh run]
program=\$1
port=\$((20000 + ($$ * 211 + \$2) % 12000))
shift 2
case \$program in
pingpong) set -- --ranks 2 "\$@" cable.yaml -- ibv_uc_pingpong -d rdma_en2 -g 1 -n 50 -p \$port \\
    :: ibv_uc_pingpong -d rdma_en2 -g 1 -n 50 -p \$port 127.0.0.1 ;;
send_lat) set -- --ranks 2 "\$@" cable.yaml -- ib_send_lat -c UC -d rdma_en2 -x 1 -n 50 -p \$port \\
    :: ib_send_lat -c UC -d rdma_en2 -x 1 -n 50 -p \$port 127.0.0.1 ;;
*) set -- "\$@" cable.yaml -- "$uc_mesh" all_reduce --small-buffers --sizes 4,4096 --repeat 2 ;;
esac
timeout 60 "$tbmesh" run "\$@" 2>&1 </dev/null | grep -o '^verdict ok.*trace hash .*' || echo "\$program failed"
END2
chmod +x one.sh

for program in pingpong send_lat uc_mesh; do
    case ${TBMESH_REPEAT:-}$program in
    full* | pingpong) runs=100 ;;
    send_lat) runs=2 ;;
    *) runs=40 ;;
    esac
    seq "$runs" | xargs -P 2 -I '{}' ./one.sh "$program" '{}' >results
    count=$(wc -l <results)
    [ "$count" = "$runs" ] || fail "$program: $count results of $runs"
    [ "$(sort -u results | wc -l)" = 1 ] || {
        fail "$program: more than one result:"
        sort results | uniq -c | sed 's/^/    /' | head
    }
    says "$program" results '^verdict ok'
    ./one.sh "$program" 0 --seed 2 >other
    says "$program, another seed" other '^verdict ok'
    if grep -qF "$(sed -n '1s/.*hash //p' results)" other; then
        fail "$program, another seed: the same result"
    fi
done
finish
