#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each check passes a sound tree and finds one planted fault, by name.
set -eu
lint=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

sound_tree() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/sim/base" "$tree/sim/core" "$tree/verbs-shim/proto" "$tree/tests/fuzz/corpus/scan"
    printf '/* SPDX-License-%s: Apache-2.0 */\nint base_one(void);\n' Identifier >"$tree/sim/base/one.h"
    printf '/* SPDX-License-%s: Apache-2.0 */\n#include "sim/base/one.h"\n' Identifier >"$tree/sim/core/two.c"
    printf '#include <string.h>\nint core_two(const char *s);\n' >>"$tree/sim/core/two.c"
    printf 'int core_two(const char *s)\n{\n    return (int)strlen(s);\n}\n' >>"$tree/sim/core/two.c"
    printf 'not: a [ scenario' >"$tree/tests/fuzz/corpus/scan/noise.yaml"
}

archive() {
    "${CC:-cc}" -c -fno-builtin -I "$tree" -o "$tree/two.o" "$tree/sim/core/two.c"
    ar rcs "$tree/libtwo.a" "$tree/two.o"
}

# passes NAME COMMAND...
passes() {
    name=$1
    shift
    "$@" >"$tree/said" 2>&1 || { echo "FAIL $name: refused a sound tree:"; cat "$tree/said"; failures=1; }
}

# finds NAME PATTERN COMMAND...: the command fails and says PATTERN.
finds() {
    name=$1
    pattern=$2
    shift 2
    if "$@" >"$tree/said" 2>&1; then
        echo "FAIL $name: the planted fault passed"
        failures=1
    elif ! grep -q "$pattern" "$tree/said"; then
        echo "FAIL $name: does not say '$pattern':"
        cat "$tree/said"
        failures=1
    fi
}

sound_tree
passes layers "$lint/check_layers.sh" "$tree"
passes spdx "$lint/check_spdx.sh" "$tree"
passes mentions "$lint/check_mentions.sh" "$tree"
archive
passes purity "$lint/check_purity.sh" "$tree/libtwo.a"

echo '#include "sim/core/two.h"' >>"$tree/sim/base/one.h"
finds 'layers: an include upwards' 'one.h:3: sim/base may not include sim/core/two.h' \
    "$lint/check_layers.sh" "$tree"

sound_tree
echo '#  include <time.h> /* a clock */' >>"$tree/sim/core/two.c"
finds 'layers: a clock in the core' 'sim/core may not include <time.h>' "$lint/check_layers.sh" "$tree"

sound_tree
mkdir "$tree/sim/attic"
cp "$tree/sim/core/two.c" "$tree/sim/attic/two.c"
finds 'layers: an unknown folder' 'sim/attic is not in layers.tsv' "$lint/check_layers.sh" "$tree"

rm -rf "$tree/sim/attic" "$tree/sim/core/two.c"
finds 'layers: an empty tree' 'no C file' "$lint/check_layers.sh" "$tree"

sound_tree
printf 'int printf(const char *, ...);\nint shout(void);\nint shout(void)\n{\n    return printf("x");\n}\n' \
    >>"$tree/sim/core/two.c"
archive
finds 'purity: a printf in the core' '^printf$' "$lint/check_purity.sh" "$tree/libtwo.a"

sound_tree
sed -i 1d "$tree/sim/core/two.c"
finds 'spdx: no line' 'two.c: 0 lines' "$lint/check_spdx.sh" "$tree"

sound_tree
sed -i 1p "$tree/sim/core/two.c"
finds 'spdx: two lines' 'two.c: 2 lines' "$lint/check_spdx.sh" "$tree"

sound_tree
printf 'see ../%s/design\n' shared >"$tree/README.md"
finds 'mentions: a folder beside the project' 'README.md:1' "$lint/check_mentions.sh" "$tree"

sound_tree
printf '/* from /%s/main */\n' work >>"$tree/sim/base/one.h"
finds 'mentions: an absolute path' 'one.h:3' "$lint/check_mentions.sh" "$tree"

# readme: a page with one command and what it prints.
page() {
    fence='```'
    printf 'text\n\n%ssh\n%s\n%s\n\n' "$fence" "$1" "$fence" >"$tree/page.md"
    [ -z "$2" ] || printf '%stext\n%s\n%s\n' "$fence" "$2" "$fence" >>"$tree/page.md"
}
readme() {
    finds "$1" "$2" "$lint/check_readme.sh" "$tree" "$tree/sim" "$tree/page.md"
}
sound_tree
three='printf "a\nb\nc\n"'
for text in "$(printf 'a\nb\nc')" "$(printf 'a\n...')" "$(printf '...\nc')" "$(printf '...\nb\n...')"; do
    page "$three" "$text"
    passes "readme: $text" "$lint/check_readme.sh" "$tree" "$tree/sim" "$tree/page.md"
done
page "$three" "$(printf 'a\nB\nc')"
readme 'readme: another line' 'page.md:3: the page says   B'
page "$three" a
readme 'readme: too little' 'page.md:3: more was said: b'
page "$three" "$(printf 'a\n...\nd')"
readme 'readme: a line that never comes' 'page.md:3: the page says   d'
page : "$(printf 'a')"
readme 'readme: silence where the page shows output' 'page.md:3: the page says   a'
page false ''
readme 'readme: a command that fails' 'page.md:3: the command fails'
echo 'no command' >"$tree/page.md"
readme 'readme: nothing to run' 'nothing was checked'
printf '#!/bin/sh\necho "  demo  shows"\n' >"$tree/dev"
chmod +x "$tree/dev"
page './dev demo' ''
passes 'readme: ./dev demo' "$lint/check_readme.sh" "$tree" "$tree/sim" "$tree/page.md"
page './dev dance' ''
readme 'readme: a ./dev command that is not' "no command 'dance'"

exit "$failures"
