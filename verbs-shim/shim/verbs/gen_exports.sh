#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gen_exports.sh NM REAL OUT_MAP OUT_STUBS OBJECT...
#
# Writes a version script and a C file of stubs, so that OBJECTs plus stubs export what the real
# libibverbs exports: every name under its own version node. A name that no OBJECT defines becomes a
# stub. So does every name@IBVERBS_1.0 beside a newer default: those entry points speak an older ABI
# with other structures, and a clean refusal is better than a misread pointer.
set -eu

nm=$1
real=$2
map=$3
stubs=$4
shift 4

export LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# name, version, "default" or "old", type, size
readelf --dyn-syms -W "$real" |
    awk '$7 != "UND" && $7 != "ABS" && $8 ~ /@/ {
        at = index($8, "@"); name = substr($8, 1, at - 1); version = substr($8, at)
        kind = sub(/^@@/, "", version) ? "default" : "old"; sub(/^@/, "", version)
        print name, version, kind, $4, $3
    }' | sort -u >"$tmp/real"
if ! [ -s "$tmp/real" ]; then
    echo "gen_exports.sh: $real exports no versioned symbol" >&2
    exit 1
fi
"$nm" -g --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u >"$tmp/ours"

# IBVERBS_1.2 before IBVERBS_1.10, private nodes last.
awk '{ print $2 }' "$tmp/real" | sort -u | sort -V | awk '/PRIVATE/ { last = last $0 "\n"; next }
    { print } END { printf "%s", last }' >"$tmp/nodes"

# Nothing else is visible. That must not stand in a node with names under old versions: it would
# hide those, which the node does not list.
last=$(tail -n 1 "$tmp/nodes")
previous=
while read -r node; do
    echo "$node {"
    echo "    global:"
    awk -v node="$node" '$2 == node && $3 == "default" { print "        " $1 ";" }' "$tmp/real"
    if [ "$node" = "$last" ]; then
        echo "    local:"
        echo "        *;"
    fi
    echo "} $previous;"
    previous=$node
done <"$tmp/nodes" >"$map.new"

# What an unsupported function returns.
shape() {
    case $1 in
    ibv_get_device_guid | __ioctl_final_num_attrs | ibv_register_driver | ibv_unimport_* | \
        ibv_ack_* | verbs_register_driver_* | verbs_init_cq | verbs_uninit_context | \
        verbs_set_ops | __verbs_log)
        echo NOTHING
        ;;
    ibv_get_device_list | ibv_get_device_name | ibv_open_device | ibv_alloc_pd | ibv_reg_* | \
        ibv_create_* | ibv_import_* | ibv_*_str | verbs_open_device | \
        _verbs_init_and_alloc_context)
        echo NULL
        ;;
    ibv_get_cq_event | ibv_get_async_event | ibv_query_gid | ibv_close_device | \
        ibv_query_pkey | ibv_read_ibdev_sysfs_file)
        echo MINUS
        ;;
    *)
        echo ERRNO
        ;;
    esac
}

{
    echo "/* Generated from $(basename "$real") by gen_exports.sh. */"
    echo "#include \"verbs-shim/shim/verbs/stub.h\""
    while read -r name version kind type size; do
        if [ "$kind" = old ]; then
            node=$(echo "$version" | tr . _)
            echo "STUB_OLD_$(shape "$name")(${name}__$node, \"$name@$version\")"
        elif grep -qx "$name" "$tmp/ours"; then
            continue
        elif [ "$type" = OBJECT ]; then
            echo "STUB_DATA($name, $size)"
        else
            echo "STUB_$(shape "$name")($name)"
        fi
    done <"$tmp/real"
} >"$stubs.new"
mv "$map.new" "$map"
mv "$stubs.new" "$stubs"
