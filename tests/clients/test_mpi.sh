#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian's MPICH over UCX (packages mpich, libmpich-dev) on two and four Macs of a
# mesh. Each Mac is a rank; shared memory is switched off.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
command -v mpicc.mpich mpiexec.mpich >/dev/null || {
    echo "skipped: no MPICH (package mpich)"
    exit 77
}
macs=$root/scenarios/clusters/four-studios.yaml
export MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ucx UCX_TLS=ud_verbs,self
# Four Macs have a cable for each pair: the subnet of its two ports says which.
export UCX_NET_DEVICES=rdma_en2:1,rdma_en3:1,rdma_en4:1
export UCX_UD_VERBS_ROCE_LOCAL_SUBNET=y UCX_UD_VERBS_ROCE_SUBNET_PREFIX_LEN=30

mpicc.mpich -O1 -o check_mpich "$root/tests/clients/mpi/mpi_check.c" ||
    fail "MPICH does not compile"

# check RANKS MOST COMMAND...: an exchange of MOST bytes ends right.
check() {
    ranks=$1
    most=$2
    shift 2
    run "$1 with $ranks" 0 timeout 200 "$tbmesh" run --profile verbs --ranks "$ranks" "$macs" -- \
        "$@" -n "$ranks" ./check_mpich "$most"
    says "$1 with $ranks" stdout "^\[launcher\] $ranks ranks, 0 wrong"
    says "$1 with $ranks" stdout 'verdict ok'
}

check 2 4194304 mpiexec.mpich
check 4 262144 mpiexec.mpich

# A launcher that starts fewer than take part is found out.
run "too few" 3 timeout 100 "$tbmesh" run --patience 1 --profile verbs --ranks 3 "$macs" -- \
    mpiexec.mpich -n 2 ./check_mpich 4
says "too few" stderr 'fewer ranks than take part'
finish
