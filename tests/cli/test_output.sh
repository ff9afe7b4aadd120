#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A disk that is full, a folder that cannot be written: exit code 4, a reason, no half file.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

write_pair good.yaml

# Nothing but what was there before the call, in the folder that was to be written.
untouched() {
    left=$(find "$2" -mindepth 1 ! -name before 2>/dev/null || true)
    [ -z "$left" ] || fail "$1: left behind: $left"
}

if [ -e /dev/full ]; then
    for command in "check good.yaml" "check --json good.yaml" "sim good.yaml -o full" models \
        "export --dot good.yaml" "sim --help" --help --version help; do
        code=0
        # shellcheck disable=SC2086 # words
        "$tbmesh" $command >/dev/full 2>stderr || code=$?
        [ "$code" = 4 ] || fail "full stdout: exit $code: $command"
        says "full stdout: $command" stderr 'cannot write all of standard output'
    done
    run "full device" 4 "$tbmesh" export --dot good.yaml -o /dev/full
fi
code=0
"$tbmesh" check good.yaml >&- 2>stderr || code=$?
[ "$code" = 4 ] || fail "closed stdout: exit $code"

# A reader that has read enough is no error, and nothing is said about it.
for command in check sim; do
    { "$tbmesh" "$command" good.yaml 2>stderr; echo $? >code; } | head -n 1 >stdout
    [ "$(cat code)" = 0 ] || fail "reader left: $command: exit $(cat code)"
    silent "reader left: $command" stderr
done

# Files may not grow beyond 512 bytes: result.json is longer.
mkdir limited
: >limited/before
code=0
(ulimit -f 1 && exec "$tbmesh" sim good.yaml -o limited) >/dev/null 2>stderr || code=$?
[ "$code" = 4 ] || fail "file size limit: exit $code"
says "file size limit" stderr 'limited/result.json: File too large'
untouched "file size limit" limited
code=0
(ulimit -f 1 && exec "$tbmesh" sim good.yaml -o made/for/this) >/dev/null 2>stderr || code=$?
[ "$code" = 4 ] || fail "file size limit, new folder: exit $code"
[ ! -e made ] || fail "file size limit: the new folder is left"

# An older result survives whole.
run "older result" 0 "$tbmesh" sim good.yaml -o older
cp -r older kept
(ulimit -f 1 && exec "$tbmesh" sim --seed 5 good.yaml -o older) >/dev/null 2>&1 || true
diff -r older kept >/dev/null || fail "older result: it was changed"

: >file
run "folder that is a file" 4 "$tbmesh" sim good.yaml -o file/sub
mkdir -p taken/result.json
run "file that is a folder" 4 "$tbmesh" sim good.yaml -o taken
says "file that is a folder" stderr 'taken/result.json'
[ ! -e taken/results.tsv ] || fail "file that is a folder: half of the set was written"
run "nowhere" 4 "$tbmesh" sim good.yaml -o /proc/nowhere

mkdir -m 555 shut
if [ "$(id -u)" != 0 ]; then
    run "unwritable folder" 4 "$tbmesh" sim good.yaml -o shut
    says "unwritable folder" stderr 'Permission denied'
elif command -v setpriv >/dev/null && chmod 755 "$top" && chmod 644 good.yaml &&
    setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$tbmesh"; then
    run "unwritable folder" 4 setpriv --reuid 65534 --regid 65534 --clear-groups "$tbmesh" sim \
        good.yaml -o shut
    says "unwritable folder" stderr 'Permission denied'
else
    echo "skipped: an unwritable folder (run as root)"
fi
untouched "unwritable folder" shut

# A full disk, where this system lets us make one.
mkdir disk
if unshare -rm true 2>/dev/null; then
    # shellcheck disable=SC2016 # the inner shell expands
    unshare -rm sh -c 'mount -t tmpfs -o size=8k none disk || exit 99
        code=0
        "$1" sim good.yaml -o disk/result >/dev/null 2>stderr || code=$?
        find disk -mindepth 1 >left
        exit $code' sh "$tbmesh" || code=$?
    if [ "$code" != 99 ]; then
        [ "$code" = 4 ] || fail "full disk: exit $code"
        says "full disk" stderr 'No space left on device'
        [ ! -s left ] || fail "full disk: left behind: $(cat left)"
    fi
else
    echo "skipped: a full disk (no user namespaces)"
fi

# Files have the mode that the umask gives them, and -o - is standard output.
(umask 027 && "$tbmesh" export --dot good.yaml -o mode.dot)
[ "$(stat -c %a mode.dot)" = 640 ] || fail "mode: $(stat -c %a mode.dot)"
run "dash" 0 "$tbmesh" export --dot good.yaml -o -
says "dash" stdout '^graph '
finish
