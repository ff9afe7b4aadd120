#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The help names every command, every command's help has examples, and the examples run as they
# stand, in the order in which the help lists the commands.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

for item in scenarios models; do ln -s "$root/$item" .; done
mkdir bin
ln -s "$tbmesh" bin/tbmesh
PATH=$top/bin:$PATH

# What stands under "Examples:" to the end, without the indent.
examples() {
    sed -n '/^Examples:/,$s/^  *\(tbmesh .*\)/\1/p' "$1"
}

# try NAME FILE: every example of a help text. An exit code of 1 is an answer as well: a file's own
# expectations may fail.
try() {
    examples "$2" >"$1.sh"
    [ -s "$1.sh" ] || fail "$1: no example"
    while read -r line; do
        case $line in
        *" plot "*) command -v gnuplot >/dev/null || continue ;;
        # Nothing can be preloaded in a build with sanitizers, so that has no shim.
        *" run "*) [ -e "$(dirname "$tbmesh")/../lib/tbmesh/libtbmesh.so" ] || continue ;;
        esac
        code=0
        # A fit takes a minute; that it starts, and prints what it has when it is stopped, is enough.
        # In the foreground: else the group gets a second signal, and a second one ends it at once.
        case $line in
        *" calibrate "*) timeout --foreground -s INT 5 sh -c "exec $line" >stdout 2>stderr </dev/null || code=$? ;;
        *) sh -c "$line" >stdout 2>stderr </dev/null || code=$? ;;
        esac
        [ "$code" = 0 ] || { [ "$code" = 124 ] && grep -q PARTIAL stderr; } || {
            fail "$1: exit $code: $line"
            sed 's/^/    /' stderr
        }
        case $line in
        *" -o "*) ;;
        *) [ -s stdout ] || fail "$1: no output: $line" ;;
        esac
    done <"$1.sh"
}

run "help" 0 tbmesh --help
cp stdout help.txt
run "help, short" 0 tbmesh -h
cmp -s stdout help.txt || fail "-h and --help differ"
run "help, as a command" 0 tbmesh help
cmp -s stdout help.txt || fail "help and --help differ"
try main help.txt
run "version" 0 tbmesh --version
says "version" stdout '^tbmesh [0-9]+\.[0-9]+\.[0-9]+$'

sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' help.txt >commands
[ "$(wc -l <commands)" -ge 6 ] || fail "the help lists fewer than 6 commands"
for command in storm plan mpi sweep merge report lesson; do
    if grep -qx "$command" commands; then fail "the help lists '$command', which is not there"; fi
done
while read -r command; do
    run "$command --help" 0 tbmesh "$command" --help
    cp stdout "$command.txt"
    silent "$command --help" stderr
    run "help $command" 0 tbmesh help "$command"
    cmp -s stdout "$command.txt" || fail "help $command and $command --help differ"
    says "$command" "$command.txt" '^  --json'
    try "$command" "$command.txt"
    awk 'length > 100 { print FILENAME ": a line of " length " columns: " $0; bad = 1 }
        END { exit bad }' "$command.txt" || fail "$command: a line too long for a terminal"
done <commands
finish
