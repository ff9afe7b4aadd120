#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: check_layers.sh ROOT: fails on an #include under ROOT/sim or ROOT/verbs-shim that layers.tsv does not allow.
set -eu
table=$(cd "$(dirname "$0")" && pwd)/layers.tsv
cd "$1"
[ -n "$(find sim -name '*.c')" ] || { echo "no C file under $1/sim"; exit 1; }
# shellcheck disable=SC2016 # the dollars are awk's
find sim verbs-shim -name '*.[ch]' | sort | xargs awk -F'\t' '
    BEGIN {
        n = split("assert ctype errno float inttypes iso646 limits stdalign stdarg stdbool " \
                  "stddef stdint stdio stdlib stdnoreturn string", names, " ")
        for (i = 1; i <= n; i++) pure["<" names[i] ".h>"] = 1
        n = split("complex fenv locale math setjmp signal stdatomic tgmath threads time uchar " \
                  "wchar wctype", names, " ")
        for (i = 1; i <= n; i++) iso["<" names[i] ".h>"] = 1
    }
    function group(h) {
        if (h in pure) return "pure"
        if (h in iso) return "c"
        if (h == "<yaml.h>") return "yaml"
        if (h ~ /^<json-glib\//) return "json"
        if (h ~ /^<(glib|gio|gmodule|gobject)/) return "glib"
        return "posix"
    }
    FILENAME ~ /layers\.tsv$/ { if ($0 !~ /^#/) { may[$1] = $2; sys[$1] = $3 } next }
    /^[ \t]*#[ \t]*include/ {
        split(FILENAME, part, "/"); layer = part[1] "/" part[2]
        if (!(layer in may)) {
            print FILENAME ":" FNR ": " layer " is not in layers.tsv"; bad = 1; next
        }
        h = $0; sub(/^[ \t]*#[ \t]*include[ \t]*/, "", h); sub(/[ \t].*$/, "", h)
        ok = 0
        if (h ~ /^"/) {
            gsub(/"/, "", h)
            m = split(may[layer], dir, " ")
            for (i = 1; i <= m; i++) if (index(h, dir[i] "/") == 1) ok = 1
        } else {
            m = split(sys[layer], grp, " ")
            for (i = 1; i <= m; i++) if (grp[i] == group(h)) ok = 1
        }
        if (!ok) { print FILENAME ":" FNR ": " layer " may not include " h; bad = 1 }
    }
    END { exit bad }' "$table"
