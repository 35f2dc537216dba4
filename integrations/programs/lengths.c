/* Prints the values of the performance variables of pml/ob1 (Open MPI) or ch3 (MPICH) for rank 0's queues while
 * known numbers of receives and messages wait in them. Three ranks. */
#include <string.h>

#include "check.h"

static MPI_T_pvar_session session;

/* The values of a variable of this name: one for each rank of `comm` if it is bound to one. */
static int read_values(const char *wanted, MPI_Comm comm, unsigned *values, int most)
{
    int variables;
    MPI_T_pvar_get_num(&variables);
    for (int i = 0; i < variables; i++) {
        char name[256], about[256];
        int name_length = sizeof name, about_length = sizeof about;
        int verbosity, class, bind, readonly, continuous, atomic, count;
        MPI_Datatype type;
        MPI_T_enum enumeration;
        MPI_T_pvar_handle handle;
        if (MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type, &enumeration, about,
                                &about_length, &bind, &readonly, &continuous, &atomic) != MPI_SUCCESS
            || strcmp(name, wanted) != 0)
            continue;
        MPI_T_pvar_handle_alloc(session, i, bind == MPI_T_BIND_MPI_COMM ? &comm : NULL, &handle, &count);
        CHECK(count <= most);
        if (!continuous)
            MPI_T_pvar_start(session, handle);
        CHECK(MPI_T_pvar_read(session, handle, values) == MPI_SUCCESS);
        MPI_T_pvar_handle_free(session, &handle);
        return count;
    }
    return 0;
}

static void print(const char *name)
{
    unsigned values[64];
    int count = read_values(name, MPI_COMM_WORLD, values, 64);
    if (count > 0) {
        printf("%s:", name);
        for (int i = 0; i < count; i++)
            printf(" %u", values[i]);
        puts("");
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
        "pml_ob1_posted_recvq_length",
        "pml_ob1_unexpected_msgq_length",
        "posted_recvq_length",
        "unexpected_recvq_length",
    };
    int provided, rank, value, sent = 7;
    MPI_Request receives[5];
    MPI_Comm control;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    MPI_T_pvar_session_create(&session);
    if (rank == 0) {
        for (int i = 0; i < 5; i++)
            MPI_Irecv(&value, 1, MPI_INT, i < 3 ? 1 : 2, 50 + i, MPI_COMM_WORLD, &receives[i]);
        print(names[0]);
        print(names[2]);
        MPI_Barrier(control);
        /* After the last message of each sender, the others have arrived too. */
        MPI_Probe(1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Probe(2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        print(names[1]);
        print(names[3]);
        for (int to = 1; to < 3; to++)
            MPI_Send(&sent, 1, MPI_INT, to, 0, control);
    } else {
        MPI_Barrier(control);
        for (int i = 0; i < (rank == 1 ? 4 : 2); i++)
            MPI_Send(&sent, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        for (int i = 0; i < 5; i++)
            if ((i < 3 ? 1 : 2) == rank)
                MPI_Send(&sent, 1, MPI_INT, 0, 50 + i, MPI_COMM_WORLD);
        /* Nothing more, such as the last barrier's message, until the queues have been read. */
        MPI_Recv(&value, 1, MPI_INT, 0, 0, control, MPI_STATUS_IGNORE);
    }
    if (rank == 0) {
        MPI_Waitall(5, receives, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 6; i++)
            MPI_Recv(&value, 1, MPI_INT, i < 4 ? 1 : 2, i % 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        puts("lengths: read");
    }
    MPI_Barrier(control);
    MPI_T_pvar_session_free(&session);
    MPI_Comm_free(&control);
    /* In this order: Open MPI 4.1 does not survive the reverse. */
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
