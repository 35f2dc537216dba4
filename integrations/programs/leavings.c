/* What programs leave in the queues: communicators of many sizes that are freed with a message waiting on each, and a
 * library that is finalized with receives and a message; a child process ends in between. Two ranks or more. */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { COMMUNICATORS = 100, RECEIVES = 50, TAG = 1000 };

static void free_with_a_message(int rank, int size)
{
    for (int i = 0; i < COMMUNICATORS; i++) {
        int part_rank, part_size;
        MPI_Comm part;
        MPI_Comm_split(MPI_COMM_WORLD, rank <= i % size, 0, &part);
        MPI_Comm_rank(part, &part_rank);
        MPI_Comm_size(part, &part_size);
        if (part_size > 1)
            MPI_Send(&i, 1, MPI_INT, (part_rank + 1) % part_size, i, part);
        MPI_Barrier(part);
        MPI_Comm_free(&part);
    }
}

/* Half of the receives are cancelled, the others stay. */
static void leave_receives(void)
{
    static int values[RECEIVES];
    for (int i = 0; i < RECEIVES; i++) {
        MPI_Request receive;
        MPI_Irecv(&values[i], 1, MPI_INT, i % 3 ? MPI_ANY_SOURCE : 0, TAG + i, MPI_COMM_WORLD, &receive);
        if (i % 2 == 0)
            cancel_receive(&receive);
        else
            MPI_Request_free(&receive);
    }
}

static void have_a_child(void)
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size >= 2);
    free_with_a_message(rank, size);
    leave_receives();
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, TAG - 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    have_a_child();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("leavings: nobody stumbled over them");
    MPI_Finalize();
    return 0;
}
