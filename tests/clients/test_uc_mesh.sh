#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# uc_mesh at its largest: a mesh of seven Macs (six ports each) and a ring of eight, all operations,
# odd sizes, buffers as before macOS 26.3; and twenty runs with one result.
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

# scenario MACOS CABLES COUNT
scenario() {
    names=mac1
    for n in $(seq 2 "$3"); do names="$names, mac$n"; done
    cat <<END
tbmesh: 1
name: "$2 of $3"
macos: "$1"
machines:
  - {name: mac, model: mac-studio-m3-ultra, count: $3}
cables:
  - {$2: [$names], kind: tb5-1m}
bridge: {members: none}
END
}
scenario 26.3 mesh 7 >mesh7.yaml
scenario 26.3 ring 8 >ring8.yaml
scenario 26.2 mesh 3 >small.yaml

# right NAME SCENARIO WORDS...: every line of results is of right data.
right() {
    name=$1
    file=$2
    shift 2
    run "$name" 0 timeout 120 "$tbmesh" run "$file" -- "$uc_mesh" "$@" --repeat 3 --check
    grep -q ' ok$' stdout || fail "$name: no result"
    ! grep -qi 'wrong' stdout stderr || fail "$name: wrong data"
    says "$name" stdout '^verdict ok'
}

odd=4B,28B,4092B,4100B,65540B,262148B,1048580B
# every NAME FILE SHARED: each collective; those that give each rank a share of whole elements have
# the sizes SHARED.
every() {
    for op in all_reduce all_gather reduce_scatter; do
        sizes=$odd
        [ "$op" = all_reduce ] || sizes=$3
        right "$1, $op" "$2" "$op" --sizes "$sizes"
    done
    says "$1" stdout "$1 ranks"
    right "$1, send_recv" "$2" send_recv --sizes "$odd"
    right "$1, barrier" "$2" barrier
}

every "mesh of 7" mesh7.yaml 28B,28672B,65548B,1048600B
every "ring of 8" ring8.yaml 32B,32768B,65536B,1048608B
right "small buffers" small.yaml all_reduce --sizes "$odd" --small-buffers
right "small buffers, int32" small.yaml all_reduce --sizes "$odd" --small-buffers --dtype int32

# Twenty runs, one hash each, whatever runs beside.
for file in mesh7 ring8; do
    : >hashes
    for n in $(seq 20); do
        timeout 60 "$tbmesh" run "$file.yaml" -- "$uc_mesh" all_reduce --sizes 4KiB,100KiB \
            --repeat 3 >stdout 2>stderr </dev/null || fail "$file, run $n: exit $?"
        sed -n 's/.*trace hash //p' stdout >>hashes
    done
    if [ "$(sort -u hashes | wc -l)" != 1 ] || [ "$(wc -l <hashes)" != 20 ]; then
        fail "$file: $(wc -l <hashes) runs gave these hashes"
        sort hashes | uniq -c
    fi
done
finish
