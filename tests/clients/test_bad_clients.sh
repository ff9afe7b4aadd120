#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Commands that cannot run, programs that pass nonsense, and where their output goes.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml
verbs=$(dirname "$tbmesh")/../lib/tbmesh/libibverbs.so.1

# emulate NAME EXIT WORDS...: `tbmesh run` with these words ends so.
emulate() {
    name=$1
    expected=$2
    shift 2
    run "$name" "$expected" timeout 60 "$tbmesh" run "$@"
}

# Every function that programs can bind to, with arguments that make no sense.
nm -D --defined-only "$verbs" | sed -n 's/.* T \([a-z_0-9]*\)@@.*/\1/p' | sort -u >names
[ "$(wc -l <names)" -gt 100 ] || fail "only $(wc -l <names) functions"
cat >call.sh <<END
#!/bin/sh
exec "$garbage" <"$top/names"
END
chmod +x call.sh
for kind in "--variant technote" "--variant observed" "--profile verbs" \
    "--profile infiniband"; do
    # shellcheck disable=SC2086 # an option and its value
    emulate "garbage, $kind" 0 --ranks 1 $kind "$macs" -- ./call.sh
    grep '\]' stdout || true
done

# Memory runs out, at each place: an error, and never a crash or a hang.
# exhaust SAYS WORDS...: a run of two ranks that ends well if no allocation fails.
exhaust() {
    word=$1
    shift
    n=0
    while [ "$n" -lt 200 ]; do
        n=$((n + 1))
        code=0
        TBMESH_FAIL_ALLOC=$n timeout 30 "$tbmesh" run --ranks 2 --patience 3 "$@" \
            >stdout 2>stderr </dev/null || code=$?
        [ "$code" != 0 ] || break
        [ "$code" = 1 ] || fail "allocation $n fails: exit $code: $*"
        grep -Eq "$word" stdout stderr || fail "allocation $n fails without a word: $*"
        ! grep -q 'ended by signal' stderr || fail "allocation $n fails: a crash: $*"
    done
    if [ "$n" -le 20 ] || [ "$n" -ge 200 ]; then fail "a run makes $n allocations: $*"; fi
}
none='Cannot allocate memory'
exhaust "$none" "$macs" -- "$uc_mesh" all_reduce --sizes 4KiB,64KiB --repeat 2
# Where a case makes an object of its own, it is the case that fails.
exhaust "$none|FAILED rank" --profile verbs "$macs" -- "$verbs_cases" rdma_en2

# What cannot be started.
emulate "no command" 2 "$macs" --
emulate "no command at all" 2 "$macs"
emulate "an empty command" 2 "$macs" -- ''
emulate "no such command" 2 "$macs" -- no-such-command-anywhere
says "no such command" stderr "no such command: 'no-such-command-anywhere'"
emulate "no such file" 2 "$macs" -- ./nothing
says "no such file" stderr 'nothing: No such file'
emulate "a folder" 2 "$macs" -- "$top"
says "a folder" stderr 'is no program'
touch plain
emulate "may not be executed" 2 "$macs" -- ./plain
says "may not be executed" stderr 'may not be executed'
echo 'int main(void) { return 0; }' >static.c
if cc -static -o static static.c 2>/dev/null; then
    emulate "a static program" 2 "$macs" -- ./static
    says "a static program" stderr 'statically linked'
fi
emulate "nobody's interpreter" 2 "$macs" -- ./call.sh :: ./nothing
for bad in "--ranks 5" "--ranks -1" "--ranks 99999" "--variant apple" "--fold x"; do
    # shellcheck disable=SC2086 # an option and its value
    emulate "$bad" 2 $bad "$macs" -- "$probe" devices
done
emulate "no scenario" 2 nowhere.yaml -- "$probe" devices
emulate "more commands than ranks" 2 --ranks 2 "$macs" -- true :: true :: true
says "more commands than ranks" stderr '3 commands for 2 ranks'
emulate "a command between nothing" 2 --ranks 2 "$macs" -- true :: :: true
for words in "::" "true ::" ":: true"; do
    # shellcheck disable=SC2086 # words
    emulate "'$words'" 2 --ranks 2 "$macs" -- $words
    says "'$words'" stderr "'::' stands between two commands"
done
for bad in "--ranks 0" "--fold -3" "--spin -7" "--patience 0"; do
    # shellcheck disable=SC2086 # an option and its value
    emulate "$bad" 2 $bad "$macs" -- true
    says "$bad" stderr "$(echo "$bad" | cut -d' ' -f1)"
done
emulate "no --" 2 "$macs" ibv_devices
says "no --" stderr "too many: 'ibv_devices'; it is tbmesh run SCENARIO -- COMMAND"

# Words, in commands of their own for some ranks.
emulate words 0 "$macs" -- echo '{rank}/{ranks}' '{host}' '{peer3}' '{ip0}' '{peers}' '{}' '{ra{rank}nk}'
says words stdout '^\[studio1\] 0/4 studio1 studio4 127\.0\.0\.1 \{peers\} \{\} \{ra0nk\}$'
says words stdout '^\[studio4\] 3/4 studio4 studio4 '
says words stderr 'warning: rank 0 \(studio1\): never opened an RDMA device'
emulate "no such peer" 2 "$macs" -- echo '{peer4}'
says "no such peer" stderr "names rank 4; there are ranks 0 to 3"
emulate "own commands" 0 "$macs" -- echo first :: echo second :: echo 'the rest {rank}'
says "own commands" stdout '^\[studio1\] first$'
says "own commands" stdout '^\[studio2\] second$'
says "own commands" stdout '^\[studio3\] the rest 2$'
says "own commands" stdout '^\[studio4\] the rest 3$'

# A script stands for what it starts; an exit code and a signal are its own.
cat >script.sh <<END
#!/bin/sh
echo before
"$probe" pd
exit \$((\$1))
END
chmod +x script.sh
emulate "a script" 0 --ranks 2 "$macs" -- ./script.sh 0
says "a script" stdout '^\[studio2\] before$'
says "a script" stdout '^\[studio2\] pd ok$'
emulate "a script's exit code" 1 --ranks 2 "$macs" -- ./script.sh 'TBMESH_RANK * 5'
says "a script's exit code" stderr 'failed: rank 1 \(studio2\): exit code 5'
! grep -q 'rank 0' stderr || fail "rank 0 did not fail"

# Output: a name before each line, whatever the pieces; nothing gets lost.
cat >talk.sh <<'END'
#!/bin/sh
printf 'a line in '
printf 'two pieces\n\nan empty one before, no end here'
echo 'on stderr' >&2
END
cat >much.sh <<'END'
#!/bin/sh
head -c 3000000 /dev/zero | tr '\0' x
echo
seq 20000
END
chmod +x talk.sh much.sh
emulate prefix 0 --ranks 1 "$macs" -- ./talk.sh
says prefix stdout '^\[studio1\] a line in two pieces$'
says prefix stdout '^\[studio1\] ?$'
says prefix stdout '^\[studio1\] an empty one before, no end here$'
says prefix stderr '^\[studio1\] on stderr$'
emulate much 0 --ranks 2 "$macs" -- ./much.sh
[ "$(tr -dc x <stdout | wc -c)" = 6000000 ] || fail "much: $(tr -dc x <stdout | wc -c) bytes of 6000000"
[ "$(grep -c '^\[studio2\] [0-9]*$' stdout)" = 20000 ] || fail "much: lines are lost"

# With --json stdout is the result's alone; with --log-dir a rank has its own files.
emulate json 0 --json --ranks 2 "$macs" -- ./script.sh 0
says json stderr '^\[studio1\] pd ok$'
if command -v jq >/dev/null; then
    [ "$(jq -r '.verdict, (.ranks | length), .ranks[1].exit' stdout | tr '\n' ' ')" = "ok 2 0 " ] ||
        fail "json: stdout is no result"
fi
emulate "json, failed" 1 --json --ranks 2 "$macs" -- ./script.sh 7
says "json, failed" stdout '"verdict" *: *"failed"'
emulate log-dir 0 --log-dir logs --ranks 2 "$macs" -- ./talk.sh
says log-dir logs/rank-0.out '^a line in two pieces$'
says log-dir logs/rank-1.err '^on stderr$'
! grep -q 'pieces' stdout stderr || fail "log-dir: output is here as well"
emulate "log-dir that cannot be" 2 --log-dir plain/logs --ranks 2 "$macs" -- ./talk.sh
finish
