#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whatever is wrong with a file: exit code 2, a message with its line and column, nothing written.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

write_pair good.yaml

# bad NAME LINE:COL PATTERN SED_SCRIPT: the good scenario with one slip.
bad() {
    sed -E "$4" good.yaml >bad.yaml
    cmp -s good.yaml bad.yaml && fail "$1: the slip is not in the file"
    for command in check sim; do
        rm -rf out-folder
        case $command in
        sim) run "$1" 2 "$tbmesh" sim bad.yaml -o out-folder ;;
        check) run "$1" 2 "$tbmesh" check bad.yaml ;;
        esac
        says "$1" stderr "^bad\.yaml:$2: .*$3"
        silent "$1" stdout
        [ ! -e out-folder ] || fail "$1: $command wrote a folder"
    done
}

bad "wrong unit" '6:[0-9]+' "'64 Gb/s'" 's|64 GiB|64 Gb/s|'
bad "no unit" '13:[0-9]+' "'4'" 's|4 KiB|4|'
bad "unknown key" '9:1' "did you mean 'rdma'" 's|^rdma:|rmda:|'
bad "unknown model" '6:[0-9]+' "did you mean 'mac-mini-m4-pro'" 's|mac-mini-m4-pro|mac-mini-m4-prp|'
bad "a Mac never sold" '6:[0-9]+' 'mac-studio-m4-ultra' 's|mac-mini-m4-pro|mac-studio-m4-ultra|'
bad "unknown machine" '8:[0-9]+' "mac3" 's|\[mac1, mac2\]|[mac1, mac3]|'
bad "port used twice" '9:[0-9]+' 'port 1' \
    '8s|.*|  - {from: mac1 port 1, to: mac2 port 1, kind: tb5-1m}\n  - {from: mac1 port 1, to: mac2 port 2, kind: tb5-1m}|'
bad "port lacking" '8:[0-9]+' 'port 9' \
    '8s|.*|  - {from: mac1 port 9, to: mac2 port 1, kind: tb5-1m}|'
bad "cable to itself" '8:[0-9]+' 'mac1' \
    '8s|.*|  - {from: mac1 port 1, to: mac1 port 2, kind: tb5-1m}|'
bad "count 0" '6:[0-9]+' 'count' 's|count: 2|count: 0|'
bad "a size that overflows" '13:[0-9]+' '99999999999999999999' 's|64 KiB|99999999999999999999 TiB|'
bad "a sum that overflows" '13:[0-9]+' 'TiB' 's|64 KiB|8000000 TiB|'
bad "duplicate key" '4:1' 'seed' 's|^macos:.*|seed: 2|'
bad "unknown library" '13:[0-9]+' "did you mean 'jaccl-mesh'" 's|jaccl-mesh|jacl-mesh|'
bad "unknown data type" '13:[0-9]+' 'float33' 's|float32|float33|'
bad "an anchor" '2:7' 'anchor' 's|^name: .*|name: \&a pair|'
bad "text without an end" '[0-9]+:[0-9]+' '' 's|^name: .*|name: "a pair|'

# All errors of a file in one run.
sed -e 's|64 GiB|64 Gb/s|' -e 's|jaccl-mesh|nonsense|' -e 's|^rdma:|rmda:|' good.yaml >bad.yaml
run "three slips" 2 "$tbmesh" check bad.yaml
[ "$(grep -c '^bad\.yaml:[0-9]*:[0-9]*: ' stderr)" -ge 3 ] || fail "three slips: not all are reported"

# Files that are none, or not text.
refused() {
    for command in check sim "export --dot"; do
        # shellcheck disable=SC2086 # the command may have an option
        run "$1" 2 timeout 20 "$tbmesh" $command "$2"
        says "$1" stderr "$3"
        silent "$1" stdout
    done
}
mkdir folder
mkfifo pipe
: >empty.yaml
head -c 200 good.yaml >truncated.yaml
head -c 3000 "$tbmesh" >binary.yaml
printf 'name: \033[31mred\n' >escape.yaml
# Letters and signs without an end of sense: 64 KiB of them, 160 times.
LC_ALL=C awk 'BEGIN { s = 1; for (i = 0; i < 1024; i++) { line = ""
    for (k = 0; k < 63; k++) { s = (s * 69069 + 1) % 4294967296; line = line sprintf("%c", 33 + int(s / 65536) % 94) }
    print line } }' >piece
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do cat piece; done >sixteen
for _ in 1 2 3 4 5 6 7 8 9 10; do cat sixteen; done >noise.yaml
dd if=/dev/zero of=zeros.yaml bs=1024 count=10240 2>/dev/null
dd if=/dev/zero of=huge.yaml bs=1024 count=0 seek=20480 2>/dev/null
refused "no such file" nowhere.yaml '^nowhere\.yaml: No such file'
refused "a directory" folder '^folder: .*directory'
refused "a pipe" pipe '^pipe: .*pipe'
refused "a device" /dev/zero '^/dev/zero: .*device'
refused "empty file" empty.yaml '^empty\.yaml:1:1: '
refused "truncated file" truncated.yaml '^truncated\.yaml:[0-9]+:[0-9]+: '
refused "binary" binary.yaml '^binary\.yaml:[0-9]+:[0-9]+: '
refused "10 MB of noise" noise.yaml '^noise\.yaml:[0-9]+:[0-9]+: '
refused "10 MB of zeros" zeros.yaml '^zeros\.yaml:[0-9]+:[0-9]+: '
refused "more than is read" huge.yaml '^huge\.yaml: .*16 MiB'
refused "steering bytes" escape.yaml '^escape\.yaml:[0-9]+:[0-9]+: '
if LC_ALL=C grep -q "$(printf '\033')" stderr; then fail "steering bytes reach the terminal"; fi
printf 'x: 1' | { code=0; "$tbmesh" check - >stdout 2>stderr || code=$?; [ "$code" = 2 ] || fail "standard input: $code"; }
says "standard input" stderr '^standard input:1:1: '

cp good.yaml unreadable.yaml
chmod 0 unreadable.yaml
if [ "$(id -u)" = 0 ]; then
    # Root reads everything; a user without rights is borrowed where the system has one.
    if command -v setpriv >/dev/null && chmod 755 "$top" &&
        setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$tbmesh"; then
        run "unreadable" 2 setpriv --reuid 65534 --regid 65534 --clear-groups "$tbmesh" check \
            unreadable.yaml
        says "unreadable" stderr '^unreadable\.yaml: Permission denied'
    else
        echo "skipped: an unreadable file (run as root)"
    fi
else
    refused "unreadable" unreadable.yaml '^unreadable\.yaml: Permission denied'
fi

# The command line itself.
run "no command" 2 "$tbmesh"
run "unknown command" 2 "$tbmesh" xcheck
says "unknown command" stderr "did you mean 'check'"
run "unknown option" 2 "$tbmesh" check --jsno good.yaml
says "unknown option" stderr "did you mean '--json'"
run "no file" 2 "$tbmesh" check
run "two files" 2 "$tbmesh" check good.yaml good.yaml
run "bad seed" 2 "$tbmesh" sim --seed -1 good.yaml
run "seed with a unit" 2 "$tbmesh" sim --seed '1 s' good.yaml
run "unknown parameter" 2 "$tbmesh" sim --set 'rdma.goodputt=70 Gb/s' good.yaml
says "unknown parameter" stderr "did you mean 'rdma.goodput'"
run "parameter without a unit" 2 "$tbmesh" sim --set 'rdma.goodput=70' good.yaml
run "bad models" 2 "$tbmesh" check --models good.yaml good.yaml
says "bad models" stderr '^good\.yaml:[0-9]+:[0-9]+: '
for command in storm plan mpi sweep merge report lesson; do
    run "$command" 2 "$tbmesh" "$command" good.yaml
    says "$command" stderr "'$command' is not in this version"
    [ "$(wc -l <stderr)" = 1 ] || fail "$command: more than one line"
done
run "number that is none" 2 "$tbmesh" explain rdma.goodputt
says "number that is none" stderr "did you mean 'rdma.goodput'"
run "model that is none" 2 "$tbmesh" models mac-mini-m4-prp
says "model that is none" stderr "did you mean 'mac-mini-m4-pro'"
run "model never sold" 2 "$tbmesh" models mac-studio-m4-ultra
says "model never sold" stderr 'never sold'
run "matrix that is none" 2 "$tbmesh" import --mlx good.yaml
finish
