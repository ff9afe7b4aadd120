#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where little is allowed: few files, few addresses, few processes, nowhere to write, nobody who
# reads. It works, or it says what is missing and what to do; and nothing is left behind. What needs
# root or namespaces is skipped, with a word, where they are not to be had.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml

# Everything of a run that lies in a folder lies in this one.
mkdir "$top/tmp"
export TMPDIR="$top/tmp"
cp "$uc_mesh" "$top/mesh_$$"
cp "$rogue" "$top/rogue_$$"
mesh="$top/mesh_$$ all_reduce --sizes 4096 --repeat 2"

# limited NAME EXIT LIMITS WORDS...: `tbmesh run` with these words under ulimit's options, such as "-n 64".
limited() {
    name=$1
    expected=$2
    limits=$3
    shift 3
    run "$name" "$expected" sh -c "ulimit $limits"' && exec "$@"' sh timeout 60 "$tbmesh" run "$@"
}

# Descriptors: of the conductor, and of a rank only. The soft limit is none while the hard one is larger.
# shellcheck disable=SC2086 # $mesh is words
{
    for n in 16 24 64; do
        limited "$n descriptors" 4 "-n $n" "$macs" -- $mesh
        says "$n descriptors" stderr "Too many open files \(ulimit -n is $n\); ulimit -n 1024 is enough"
    done
    limited "256 descriptors" 0 "-n 256" "$macs" -- $mesh
    limited "32 descriptors, soft" 0 "-S -n 32" "$macs" -- $mesh
    for driver in inline conductor; do
        limited "12 descriptors, soft, $driver" 1 "-S -n 12" --driver $driver "$macs" -- $mesh
        says "12 descriptors, soft, $driver" stderr 'it may open 12 files \(ulimit -n\)'
        says "12 descriptors, soft, $driver" stderr 'cannot join the simulation: too few file descriptors'
    done
    limited "ranks keep the limit" 0 "-S -n 300" --ranks 1 "$macs" -- sh -c 'ulimit -n'
    says "ranks keep the limit" stdout '^\[studio1\] 300$'

    # Addresses: an arena of 1 GiB for each client, of which hardly anything becomes memory.
    limited "100 MB of addresses" 4 "-v 100000" "$macs" -- $mesh
    says "100 MB of addresses" stderr 'Cannot allocate memory \(ulimit -v is 100000\)'
    limited "20 GB of addresses" 1 "-v 20000000" "$macs" -- $mesh
    says "20 GB of addresses" stderr 'it needs 33 GiB of addresses .*\(ulimit -v allows less\)'
    says "20 GB of addresses" stderr 'cannot join the simulation: shared memory cannot be mapped'

    # The environment.
    run "no environment" 0 env -i "TMPDIR=$TMPDIR" "$tbmesh" run --ranks 2 "$macs" -- $mesh
    hash=$(grep -o 'trace hash .*' stdout)
    run "odd locales" 0 env LANG=xx_YY.foo LC_ALL=tr_TR.UTF-8 HOME=/nowhere \
        "$tbmesh" run --ranks 2 "$macs" -- $mesh
    says "odd locales" stdout "$hash"
    for folder in /nowhere /proc; do
        run "TMPDIR=$folder" 4 env TMPDIR=$folder "$tbmesh" run --ranks 2 "$macs" -- $mesh
        says "TMPDIR=$folder" stderr "^tbmesh: $folder: .*; TMPDIR names a folder that can be written to"
    done
    mkdir "$TMPDIR/a b;c" gone
    run "a TMPDIR with spaces" 0 env "TMPDIR=$TMPDIR/a b;c" "$tbmesh" run --ranks 2 --profile verbs \
        "$macs" -- ibv_devices
    rmdir "$TMPDIR/a b;c" || fail "a TMPDIR with spaces: something is left"
    cp "$uc_mesh" "uc mesh;\$x"
    cp "$macs" "four macs.yaml"
    run "names with spaces" 0 "$tbmesh" run --ranks 2 "four macs.yaml" -- "./uc mesh;\$x" \
        all_reduce --sizes 4096 --repeat 2
    run "a folder that is gone" 0 sh -c 'cd gone && rmdir ../gone && exec "$@"' sh \
        "$tbmesh" run --ranks 2 "$macs" -- $mesh
    says "a folder that is gone" stdout "$hash"

    # Standard files that are closed, or full, or whose reader leaves.
    run "stdin is closed" 0 sh -c 'exec "$@" <&-' sh "$tbmesh" run --ranks 2 "$macs" -- $mesh
    says "stdin is closed" stdout "$hash"
    run "stderr is closed" 0 sh -c 'exec "$@" 2>&-' sh "$tbmesh" run --ranks 2 "$macs" -- $mesh
    says "stderr is closed" stdout "$hash"
    for where in "&-" /dev/full; do
        run "stdout is $where" 4 sh -c "exec \"\$@\" >$where" sh \
            timeout 60 "$tbmesh" run --ranks 2 "$macs" -- sh -c 'while echo x; do :; done'
        says "stdout is $where" stderr 'cannot write all of standard output'
        says "stdout is $where" stderr 'what they print cannot be passed on: (Bad file|No space)'
        run "json, stdout is $where" 4 sh -c "exec \"\$@\" >$where" sh \
            timeout 60 "$tbmesh" run --json --ranks 2 "$macs" -- $mesh
        says "json, stdout is $where" stderr 'cannot write all of standard output'
    done
}
# A rank that talks for ever, and one that is silent once the reader has left.
for program in 'while echo x; do :; done' "echo x; exec '$top/rogue_$$' spin"; do
    # shellcheck disable=SC2016 # for the inner shell
    run "the reader leaves" 0 sh -c '{ timeout 60 "$@"; echo "exit $?" >&2; } | head -n 1' sh \
        "$tbmesh" run --ranks 2 --patience 40 "$macs" -- sh -c "$program"
    says "the reader leaves" stderr 'what they print cannot be passed on: its reader has left'
    says "the reader leaves" stderr '^exit 1$'
done

# Nowhere to write but TMPDIR; then but /dev/shm, which is small.
cat >small.sh <<'END'
#!/bin/sh
mount -t tmpfs -o ro tmpfs /var/tmp && mount -t tmpfs -o size=4m tmpfs /dev/shm || exit 77
"$@" || exit
mount -t tmpfs -o ro tmpfs /tmp && unset TMPDIR || exit 77
"$@" || exit
[ -z "$(ls /dev/shm)" ] || exit 78
mount -o remount,ro /dev/shm || exit 77
exec "$@"
END
chmod +x small.sh
# The programs themselves lie under /tmp otherwise.
if unshare --user --map-root-user --mount true 2>unshare.txt; then
    cd "$root" || exit
    # shellcheck disable=SC2086 # $mesh is words
    run "nowhere to write" 4 unshare --user --map-root-user --mount "$top/small.sh" \
        "$tbmesh" run --ranks 2 "$macs" -- "$uc_mesh" all_reduce --sizes 4096 --repeat 2
    cd "$top" || exit
    [ "$(grep -c "$hash" stdout)" = 2 ] || fail "nowhere to write: does not run before"
    says "nowhere to write" stderr '/tmp: Read-only file system; TMPDIR names a folder'
else
    echo "skipped: mounts of our own: $(cat unshare.txt)"
fi

# Another user, with few processes, in a folder that cannot be read.
as_user="setpriv --reuid 54321 --regid 54321 --clear-groups"
# shellcheck disable=SC2086 # $as_user and $mesh are words
if [ "$(id -u)" = 0 ] && $as_user true 2>/dev/null && $as_user test -x "$tbmesh"; then
    mkdir -m 711 closed
    chmod 755 "$top"
    chmod 777 "$TMPDIR"
    run "another user" 0 sh -c 'cd closed && exec "$@"' sh $as_user "$tbmesh" run --ranks 2 "$macs" \
        -- $mesh
    says "another user" stdout "$hash"
    for n in 1 2; do
        run "$n processes" 4 $as_user prlimit --nproc=$n \
            "$tbmesh" run --ranks 2 "$macs" -- $mesh
        says "$n processes" stderr \
            "Resource temporarily unavailable \(ulimit -u is $n\); allow more processes"
    done
    # Sixteen ranks have more descriptors on their way to them than a user may have under way.
    sed -e 's/count: 4/count: 16/' -e 's/{mesh: \[.*\],/{ring: [RING],/' "$macs" |
        sed "s/RING/$(seq -s , -f 'studio%.0f' 16)/" >ring16.yaml
    run "sixteen ranks, another user" 0 $as_user sh -c 'ulimit -n 1024 && exec "$@"' sh \
        "$tbmesh" run ring16.yaml -- "$top/rogue_$$" ok
else
    echo "skipped: another user: needs root, setpriv, and programs that all may execute"
fi

if pgrep "mesh_$$" >/dev/null || pgrep "rogue_$$" >/dev/null; then fail "processes are left"; fi
[ -z "$(ls "$TMPDIR")" ] || fail "left in TMPDIR: $(ls "$TMPDIR")"
finish
