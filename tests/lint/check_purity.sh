#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: check_purity.sh ARCHIVE...: the pure layers may call only these symbols from outside.
# Give all archives at once: what one of them defines, the others may use.
set -eu
allow='mem(chr|cmp|cpy|move|set)|str(len|nlen|chr|rchr|cmp|ncmp|str|spn|cspn|pbrk)'
allow="$allow|malloc|calloc|realloc|reallocarray|free|abort|qsort|v?snprintf"
# What the compiler itself adds: 128-bit arithmetic, assert, guards, counters of a debug preset.
allow="$allow|__u?(div|mod)ti3|__assert_fail|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_"
allow="$allow|__v?snprintf_chk|__mem(cpy|move|set)_chk"
allow="$allow|__(asan|ubsan|tsan|gcov|llvm|sancov|sanitizer|start|stop)_.*"

own=$(nm --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u)
[ -n "$own" ] || { echo "no symbol in $*: not an archive of objects"; exit 1; }
bad=$(nm --undefined-only "$@" | awk '$1 == "U" { print $2 }' | sort -u |
    grep -vxF "$own" | grep -vxE "$allow" || true)
[ -z "$bad" ] || { printf 'the pure layers may not call:\n%s\n' "$bad"; exit 1; }
