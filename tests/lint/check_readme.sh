#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: check_readme.sh ROOT BIN_DIR PAGE: every block of PAGE marked sh runs, in order, in one
# folder that looks like a checkout with a release built from BIN_DIR. A block marked text right
# after it is what it prints, line by line; a line of three dots stands for any lines.
# ./dev is not run from a test of its own: its commands are looked up in its help.
set -eu
root=$(cd "$1" && pwd)
bin=$(cd "$2" && pwd)
page=$(cd "$(dirname "$3")" && pwd)/$(basename "$3")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
mkdir -p "$top/blocks" "$top/tree/build/release"

for item in "$root"/*; do
    case ${item##*/} in
    build | out | dev) ;;
    *) ln -s "$item" "$top/tree/" ;;
    esac
done
ln -s "$bin" "$top/tree/build/release/bin"
cat >"$top/tree/dev" <<END
#!/bin/sh
"$root/dev" help | grep -q "^  \$1 " || { echo "./dev has no command '\$1'" >&2; exit 2; }
END
chmod +x "$top/tree/dev"

awk -v dir="$top/blocks" '
    /^```/ && open { open = 0; close(file); file = ""; next }
    /^```sh$/ { n++; line = NR; file = sprintf("%s/%03d.sh", dir, n); open = 1; shell = 1
                print NR > (file ".line"); close(file ".line"); next }
    /^```text$/ && shell { file = sprintf("%s/%03d.text", dir, n); printf "" > file; open = 1
                           shell = 0; next }
    /^```/ { open = 1; shell = 0; next }
    open && file { print > file; next }
    NF && !open { shell = 0 }' "$page"

count=0
failures=0
for block in "$top"/blocks/*.sh; do
    [ -e "$block" ] || break
    count=$((count + 1))
    place=${page##*/}:$(cat "$block.line")
    if ! (cd "$top/tree" && sh -eu "$block") >"$block.out" 2>"$block.err" </dev/null; then
        echo "$place: the command fails:"
        cat "$block" "$block.err"
        failures=1
        continue
    fi
    expected=${block%.sh}.text
    [ -e "$expected" ] || continue
    awk -v place="$place" '
        FILENAME == ARGV[1] { got[++n] = $0; next }
        $0 == "..." { skip = 1; next }
        {
            at++
            while (skip && at <= n && got[at] != $0) at++
            skip = 0
            if (at <= n && got[at] == $0) next
            print place ": the page says   " $0
            print place ": the program said " (at <= n ? got[at] : "nothing more")
            bad = 1
            exit
        }
        END {
            if (!bad && !skip && at < n) { print place ": more was said: " got[at + 1]; bad = 1 }
            exit bad
        }' "$block.out" "$expected" || failures=1
done
[ "$count" -gt 0 ] || { echo "${page##*/}: no block marked sh: nothing was checked"; exit 1; }
exit "$failures"
