/* A communicator is revoked while receives are posted and messages wait on it: the receives fail, the
 * messages go, and a communicator shrunk from it works. Three ranks, with fault tolerance on.
 * usage: revoke [receives|short]: with receives only, or with short messages too, and nothing is shrunk; otherwise
 * with a long message as well. */
#include "check.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#ifdef MPIX_ERR_REVOKED
#define REVOKED MPIX_ERR_REVOKED
#else
#define REVOKED MPI_ERR_REVOKED
#endif

static int class_of(int error)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    return class;
}

int main(int argc, char **argv)
{
    enum { POSTED = 6, LARGE = 1 << 20 };
    static char large[LARGE];
    int rank, size, value[POSTED], flag, sum;
    MPI_Comm doomed, next;
    MPI_Request posted[POSTED], sending;
    int messages = argc < 2 || strcmp(argv[1], "receives") != 0;
    int all = argc < 2;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 20; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &doomed);
        MPI_Comm_set_errhandler(doomed, MPI_ERRORS_RETURN);
        MPI_Comm_rank(doomed, &rank);
        MPI_Comm_size(doomed, &size);
        CHECK(size == 3);
        sending = MPI_REQUEST_NULL;
        if (rank == 0)
            for (int i = 0; i < POSTED; i++)
                MPI_Irecv(&value[i], 1, MPI_INT, i % 2 ? 1 : MPI_ANY_SOURCE, 100 + i, doomed, &posted[i]);
        if (rank == 1 && messages) {
            for (int i = 0; i < 10; i++)
                MPI_Send(large, i % 2 ? 4 : 4000, MPI_CHAR, 0, i, doomed);
            MPI_Isend(large, all ? LARGE : 0, MPI_CHAR, 0, 10, doomed, &sending);
        }
        if (rank == 0 && messages)
            MPI_Probe(1, 10, doomed, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 2)
            CHECK(MPIX_Comm_revoke(doomed) == MPI_SUCCESS);
        if (rank == 0)
            for (int i = 0; i < POSTED; i++) {
                int error = MPI_Wait(&posted[i], MPI_STATUS_IGNORE);
                CHECK(class_of(error) == REVOKED);
            }
        if (rank == 1) {
            int error = MPI_Wait(&sending, MPI_STATUS_IGNORE);
            CHECK(error == MPI_SUCCESS || class_of(error) == REVOKED);
        }
        if (rank == 0) {
            int error = MPI_Iprobe(1, MPI_ANY_TAG, doomed, &flag, MPI_STATUS_IGNORE);
            CHECK(class_of(error) == REVOKED || !flag);
        }
        if (all) {
            CHECK(MPIX_Comm_shrink(doomed, &next) == MPI_SUCCESS);
            CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, next) == MPI_SUCCESS && sum == 3);
            MPI_Comm_free(&next);
        }
        /* Nobody frees it before all know of the revocation. */
        while (MPI_Iprobe(0, 0, doomed, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS)
            ;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_free(&doomed);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        puts("revoke: receives failed, messages went, the rest works");
    MPI_Finalize();
    return 0;
}
