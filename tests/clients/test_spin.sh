#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that wait in loops over their own memory: a wait ends when the memory changes, at the time
# of whoever changed it, whatever runs when; work of the program's own takes no time.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
macs=$root/scenarios/clusters/four-studios.yaml

# The whole result of a wait is the same in every mode.
for what in thread lock call blocked timer signal polled compute loose; do
    : >results
    for mode in "" "--driver conductor" "--parallel --keep-aslr" "--fold 0"; do
        # shellcheck disable=SC2086 # words
        run "$what $mode" 0 timeout 60 "$tbmesh" run --ranks 1 $mode "$macs" -- "$spin" "$what"
        sed 's/^\[studio1\] //' stdout >>results
    done
    [ "$(sort -u results | wc -l)" = 2 ] || {
        fail "$what: more than one result:"
        sort results | uniq -c | sed 's/^/    /'
    }
done

# Nothing ends it, so nothing will ever happen: found at once, not after a patience.
for mode in "" "--driver conductor"; do
    # shellcheck disable=SC2086 # words
    run "forever $mode" 3 timeout 20 "$tbmesh" run --ranks 1 $mode "$macs" -- "$spin" forever
    says "forever" stderr 'deadlock: rank 0 \(studio1\): reads memory over and over'
done
finish
