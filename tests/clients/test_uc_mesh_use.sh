#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# uc_mesh without a fabric: what it refuses before it opens a device.
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

unset JACCL_RANK MLX_RANK JACCL_IBV_DEVICES MLX_IBV_DEVICES JACCL_COORDINATOR MLX_JACCL_COORDINATOR
run help 0 "$uc_mesh" --help
says help stdout 'usage: uc_mesh OP'
run "no operation" 2 "$uc_mesh"
run "unknown operation" 2 "$uc_mesh" all_to_all
says "unknown operation" stderr "'all_to_all' is no operation"
for bad in '--sizes 0' '--sizes 6B' '--sizes 4KB' '--sizes 2048MiB' '--sizes 4KiB,' '--sizes -4' \
    '--repeat 0' '--repeat x' '--wires 5' '--dtype f64' '--size 4' '--repeat'; do
    # shellcheck disable=SC2086 # an option and its value
    run "$bad" 2 "$uc_mesh" all_reduce $bad
done
run "no rank" 2 "$uc_mesh" barrier
says "no rank" stderr 'JACCL_RANK is not set'

JACCL_RANK=1
JACCL_IBV_DEVICES=$top/matrix.json
JACCL_COORDINATOR=127.0.0.1
export JACCL_RANK JACCL_IBV_DEVICES JACCL_COORDINATOR
run "no matrix" 3 "$uc_mesh" barrier
says "no matrix" stderr 'cannot open the device matrix'

# matrix TEXT PATTERN: refused with these words.
matrix() {
    printf '%s' "$1" >matrix.json
    run "matrix $1" 3 "$uc_mesh" barrier
    says "matrix $1" stderr "$2"
}
matrix '' "expected '\[' of the matrix"
matrix '[' "expected '\[' of a row"
matrix '[[null]]' 'it must be square, 2 to 8'
matrix '[[null,"a"],["b"]]' 'expected rows of one length'
matrix '[[null,"a"],["b",null]] x' 'nothing behind'
matrix '[[null,"a],["b",null]]' 'line 1, byte 14: expected'
matrix '[[null,"a\u0041"],["b",null]]' 'plain characters'
matrix '[[null,""],["b",null]]' 'a device name in quotes'
matrix '[[null,5],["b",null]]' 'a device name in quotes'
matrix '[[null,["a","b","c","d","e"]],["b",null]]' 'at most 4 names'
matrix '[[null,"abcdefghijklmnopqrstuvwxyz012345"],["b",null]]' 'plain characters'
matrix '[[null,"a"],["b",null]' "',' or '\]' of the matrix"
matrix '[[nul,"a"],["b",null]]' 'a device name in quotes'
matrix '[[null,"a"],["b",null]]' "'127.0.0.1' is no coordinator"
JACCL_RANK=2
matrix '[[null,"a"],["b",null]]' 'rank 2 of a device matrix of 2'
finish
