#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same input gives the same bytes: whatever the environment, the folder, the name of the file.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

write_pair good.yaml
run "first" 0 "$tbmesh" sim good.yaml -o a
cp stdout first.txt
run "second" 0 env LC_ALL=C TZ=Pacific/Auckland HOME=/nowhere COLUMNS=40 TERM=dumb \
    "$tbmesh" sim good.yaml -o b
diff -r a b || fail "two runs differ"
sed 's|b/|a/|g; s|plot b|plot a|' stdout | diff first.txt - || fail "two tables differ"
run "another seed" 0 "$tbmesh" sim --seed 2 good.yaml -o c
if cmp -s a/results.tsv c/results.tsv; then fail "the seed changes nothing"; fi

# A scenario that goes out as a host file and comes back is simulated alike.
run "export" 0 "$tbmesh" export --matrix good.yaml -o matrix.json
run "import" 0 "$tbmesh" import --mlx matrix.json --model mac-mini-m4-pro -o found.yaml
sed '/^run:/,$d' found.yaml >again.yaml
sed -n '/^run:/,$p' good.yaml >>again.yaml
run "imported" 0 "$tbmesh" sim again.yaml -o d
cmp -s a/results.tsv d/results.tsv || fail "the imported scenario gives another result"

if command -v gnuplot >/dev/null; then
    mkdir tmp
    TMPDIR=$top/tmp
    export TMPDIR
    run "plot" 0 "$tbmesh" plot a
    run "plot elsewhere" 0 "$tbmesh" plot a/result.json -o pictures
    for svg in a/*.svg; do
        cmp -s "$svg" "pictures/${svg##*/}" || fail "two pictures differ: $svg"
        says "plot" "$svg" '^<svg'
        png=${svg%.svg}.png
        [ "$(head -c 4 "$png" | od -An -tx1 | tr -d ' ')" = 89504e47 ] || fail "no PNG: $png"
    done
    left=$(ls tmp)
    [ -z "$left" ] || fail "plot left a temporary folder: $left"
fi
mkdir empty
run "no gnuplot" 4 env PATH="$top/empty" "$tbmesh" plot a
says "no gnuplot" stderr 'gnuplot.*not installed'
mkdir bin
printf '#!/bin/sh\necho "line 1: bad news" >&2\nexit 1\n' >bin/gnuplot
chmod +x bin/gnuplot
run "gnuplot that fails" 4 env PATH="$top/bin:$PATH" "$tbmesh" plot a -o other
says "gnuplot that fails" stderr 'bad news'
[ ! -e other ] || fail "gnuplot that fails: something was written"
run "nothing to plot" 2 "$tbmesh" plot empty
run "no result" 2 "$tbmesh" plot nowhere.json
run "not a result" 2 "$tbmesh" plot good.yaml
finish
