#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: check_spdx.sh ROOT: every file that can hold a comment states its licence, once.
# Exempt: fuzz corpora, whose bytes are the test.
set -eu
cd "$1"
licence='SPDX-License-''Identifier: Apache-2.0'
bad=$(find . \( -path ./build -o -path ./out -o -path ./.git -o -path '*/corpus' \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.sh' -o -name '*.gp' \
    -o -name '*.yaml' -o -path ./dev -o -path ./.ci/run \) -print | sort |
    while read -r file; do
        count=$(grep -cF "$licence" "$file" || true)
        [ "$count" = 1 ] || echo "$file: $count lines with '$licence', not 1"
    done)
[ -z "$bad" ] || { printf '%s\n' "$bad"; exit 1; }
