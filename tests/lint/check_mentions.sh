#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: check_mentions.sh ROOT: nothing names a place that exists only on a developer's machine.
set -eu
cd "$1"
places='\.\./''shared|(^|[^[:alnum:]_.])/''work(/|$|[^[:alnum:]_])|(^|[^[:alnum:]_.])/''home/[a-z]'
bad=$(find . \( -path ./build -o -path ./out -o -path ./.git \) -prune -o -type f -print | sort |
    xargs -d '\n' grep -nIE "$places" || true)
[ -z "$bad" ] || { printf 'private places are named:\n%s\n' "$bad"; exit 1; }
