/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives and exchanges of MPI from 4 B to 4 MiB, with every value checked, and a look at the
 * clock. The test compiles it with an MPI's own compiler. `mpi_check [MOST]`: bytes, 4 MiB unless
 * given. Rank 0 prints what it found; the exit code is 0 if all was right.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST  (4L << 20)
#define EPOCH 1767225600L /* when virtual time begins: 2026-01-01 */

static int rank, ranks;
static long wrong;

static int value(int from, int to, long i)
{
    return (int)((from * 31 + to * 17 + i * 7) & 0xffff);
}

static void check_allreduce(int *in, int *out, long count)
{
    for (long i = 0; i < count; i++)
        in[i] = value(rank, 0, i);
    MPI_Allreduce(in, out, (int)count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (long i = 0; i < count; i++) {
        int sum = 0;

        for (int r = 0; r < ranks; r++)
            sum += value(r, 0, i);
        wrong += out[i] != sum;
    }
}

/* `count` in all; each rank gets its part. */
static void check_alltoall(int *in, int *out, long count)
{
    long part = count / ranks > 0 ? count / ranks : 1;

    for (int r = 0; r < ranks; r++) {
        for (long i = 0; i < part; i++)
            in[r * part + i] = value(rank, r, i);
    }
    MPI_Alltoall(in, (int)part, MPI_INT, out, (int)part, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        for (long i = 0; i < part; i++)
            wrong += out[r * part + i] != value(r, rank, i);
    }
}

/* Around the ring; returns the seconds that it took. */
static double check_sendrecv(int *in, int *out, long count)
{
    int right = (rank + 1) % ranks;
    int left = (rank + ranks - 1) % ranks;
    double start;

    for (long i = 0; i < count; i++)
        in[i] = value(rank, right, i);
    start = MPI_Wtime();
    MPI_Sendrecv(in, (int)count, MPI_INT, right, 1, out, (int)count, MPI_INT, left, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    start = MPI_Wtime() - start;
    for (long i = 0; i < count; i++)
        wrong += out[i] != value(left, rank, i);
    return start;
}

int main(int argc, char **argv)
{
    long most = argc > 1 ? atol(argv[1]) : MOST;
    long total = 0;
    double took = 0;
    int *in, *out;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    in = malloc((size_t)most + 64 * sizeof(int));
    out = malloc((size_t)most + 64 * sizeof(int));
    if (!in || !out)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (long bytes = 4; bytes <= most; bytes *= 4) {
        check_allreduce(in, out, bytes / 4);
        check_alltoall(in, out, bytes / 4);
        took = check_sendrecv(in, out, bytes / 4);
    }
    /* Real time would be another day. */
    if (time(NULL) < EPOCH || time(NULL) > EPOCH + 86400 || took <= 0 ||
        took > (double)most / 1e9 + 1e-3)
        wrong++;
    MPI_Reduce(&wrong, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %ld wrong, the last exchange took %.1f us\n", ranks, total, took * 1e6);
    MPI_Finalize();
    return wrong != 0;
}
