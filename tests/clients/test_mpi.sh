#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian's MPIs on two and four Macs of a mesh: MPICH over UCX, Open MPI over UCX and over openib;
# NetPIPE. Each Mac is a rank; shared memory is switched off.
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
for program in mpicc.mpich mpiexec.mpich mpicc.openmpi mpirun.openmpi NPopenmpi; do
    command -v "$program" >/dev/null || {
        echo "skipped: no $program (packages mpich, openmpi-bin, libopenmpi-dev, netpipe-openmpi)"
        exit 77
    }
done
macs=$root/scenarios/clusters/four-studios.yaml
export MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ucx UCX_TLS=ud_verbs,self
# Four Macs have a cable for each pair: the subnet of its two ports says which.
export UCX_NET_DEVICES=rdma_en2:1,rdma_en3:1,rdma_en4:1
export UCX_UD_VERBS_ROCE_LOCAL_SUBNET=y UCX_UD_VERBS_ROCE_SUBNET_PREFIX_LEN=30
export UCX_RC_VERBS_ROCE_LOCAL_SUBNET=y UCX_RC_VERBS_ROCE_SUBNET_PREFIX_LEN=30

for mpi in mpich openmpi; do
    "mpicc.$mpi" -O1 -o "check_$mpi" "$root/tests/clients/mpi/mpi_check.c" ||
        fail "$mpi does not compile"
done

# mpi NAME PROFILE RANKS COMMAND...: ends well.
mpi() {
    name=$1
    profile=$2
    ranks=$3
    shift 3
    run "$name with $ranks" 0 timeout 200 "$tbmesh" run --profile "$profile" --ranks "$ranks" \
        "$macs" -- "$@"
    says "$name with $ranks" stdout 'verdict ok'
}

# check NAME PROFILE RANKS COMMAND...: and its values are right.
check() {
    mpi "$@"
    says "$1 with $3" stdout "^\[launcher\] $3 ranks, 0 wrong"
}

check "MPICH over UCX" verbs 2 mpiexec.mpich -n 2 ./check_mpich 4194304
check "MPICH over UCX" verbs 4 mpiexec.mpich -n 4 ./check_mpich 262144
export UCX_TLS=rc_verbs,ud_verbs,self
check "MPICH over UCX, RC" verbs 2 mpiexec.mpich -n 2 ./check_mpich 4194304
check "MPICH over UCX, RC" verbs 4 mpiexec.mpich -n 4 ./check_mpich 262144

# In MPI_Finalize each rank waits for a thread of its own by reading memory.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_pml=ucx OMPI_MCA_btl=self OMPI_MCA_osc=^ucx
check "Open MPI over UCX" verbs 2 mpirun.openmpi -np 2 --oversubscribe ./check_openmpi 4194304
check "Open MPI over UCX" verbs 4 mpirun.openmpi -np 4 --oversubscribe ./check_openmpi 262144

# Each cable is a subnet of its own. Flags 1: no one-sided operations.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=openib,self OMPI_MCA_osc=^ucx OMPI_MCA_btl_openib_flags=1
export OMPI_MCA_btl_openib_allow_ib=1 OMPI_MCA_btl_openib_warn_no_device_params_found=0
export OMPI_MCA_btl_openib_if_include=rdma_en2,rdma_en3,rdma_en4
check "Open MPI over openib" infiniband 4 mpirun.openmpi -np 4 --oversubscribe \
    ./check_openmpi 262144
unset OMPI_MCA_btl_openib_flags
check "Open MPI over openib with RDMA" infiniband 4 mpirun.openmpi -np 4 --oversubscribe \
    ./check_openmpi 262144
export OMPI_MCA_btl_openib_if_include=rdma_en2
check "Open MPI over openib with RDMA" infiniband 2 mpirun.openmpi -np 2 --oversubscribe \
    ./check_openmpi 4194304
export OMPI_MCA_btl_openib_flags=1
check "Open MPI over openib" infiniband 2 mpirun.openmpi -np 2 --oversubscribe \
    ./check_openmpi 4194304

# Half a round trip of a byte, and the rate of 4 MiB: latency and goodput of the cable.
mpi NetPIPE infiniband 2 mpirun.openmpi -np 2 --oversubscribe NPopenmpi -n 10 -u 4194304 -o np.out
awk '$1 == 1 { small = $3 * 1e6 } $1 == 4194304 { rate = $2 }
    END { exit !(small > 4 && small < 6 && rate > 65000 && rate < 75000) }' np.out ||
    fail "NetPIPE: $(sed -n '1p;$p' np.out)"

# A launcher that starts fewer than take part is found out.
run "too few" 3 timeout 100 "$tbmesh" run --patience 1 --profile verbs --ranks 3 "$macs" -- \
    mpiexec.mpich -n 2 ./check_mpich 4
says "too few" stderr 'fewer ranks than take part'
finish
