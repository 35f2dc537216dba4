/* Processes that are started during the run, and groups that connect by a port: messages across the two groups by
 * wildcards and matched probes, cancels, and both groups merged into one, several times. Two ranks or more. */
#include "check.h"

enum { STARTED = 2, ROUNDS = 2, CONNECTIONS = 5, MESSAGES = 100, TAG = 1000 };

static int rank_in(MPI_Comm communicator)
{
    int rank;
    MPI_Comm_rank(communicator, &rank);
    return rank;
}

static int remote_size_of(MPI_Comm across)
{
    int size;
    MPI_Comm_remote_size(across, &size);
    return size;
}

/* Both groups become one, whose members count themselves; a receive on it is cancelled. Then they part. */
static void merge_and_part(MPI_Comm *across, int is_second)
{
    MPI_Comm both;
    MPI_Request receive;
    int one = 1, all, size, nothing;
    MPI_Intercomm_merge(*across, is_second, &both);
    MPI_Comm_size(both, &size);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, both);
    CHECK(all == size);
    MPI_Irecv(&nothing, 1, MPI_INT, 0, TAG, both, &receive);
    cancel_receive(&receive);
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(across);
}

/* Sends each of the other group its own rank, and receives theirs. */
static void greet(MPI_Comm across, MPI_Comm own)
{
    int rank = rank_in(own);
    for (int to = 0; to < remote_size_of(across); to++)
        MPI_Send(&rank, 1, MPI_INT, to, TAG, across);
    for (int i = 0; i < remote_size_of(across); i++) {
        MPI_Status status;
        int from;
        MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, TAG, across, &status);
        CHECK(from == status.MPI_SOURCE);
    }
}

/* Every message has a tag of its own, and waits before it is received. */
static void send_to_started(MPI_Comm across)
{
    for (int i = 0; i < MESSAGES; i++) {
        int value = i + MESSAGES * rank_in(MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, i % STARTED, i, across);
    }
}

static void receive_from_starters(MPI_Comm across)
{
    for (int i = MESSAGES - STARTED + rank_in(MPI_COMM_WORLD); i >= 0; i -= STARTED)
        for (int each = 0; each < remote_size_of(across); each++) {
            MPI_Message message;
            MPI_Status status;
            int value;
            MPI_Mprobe(MPI_ANY_SOURCE, i, across, &message, &status);
            MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
            CHECK(value == i + MESSAGES * status.MPI_SOURCE);
        }
}

/* Ranks of even and of odd number are two groups, of which the first opens a port. */
static void connect_halves(void)
{
    const int rank = rank_in(MPI_COMM_WORLD), is_odd = rank % 2;
    MPI_Comm half, across;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size >= 2);
    MPI_Comm_split(MPI_COMM_WORLD, is_odd, 0, &half);
    for (int i = 0; i < CONNECTIONS; i++) {
        char port[MPI_MAX_PORT_NAME] = "";
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
        } else if (rank == 1) {
            MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (is_odd)
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &across);
        else
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &across);
        greet(across, half);
        merge_and_part(&across, is_odd);
        if (rank == 0)
            MPI_Close_port(port);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Comm across;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&across);
    if (across != MPI_COMM_NULL) {
        receive_from_starters(across);
        greet(across, MPI_COMM_WORLD);
        merge_and_part(&across, 1);
        MPI_Finalize();
        return 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, STARTED, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &across,
                       MPI_ERRCODES_IGNORE);
        send_to_started(across);
        greet(across, MPI_COMM_WORLD);
        merge_and_part(&across, 0);
    }
    connect_halves();
    if (rank_in(MPI_COMM_WORLD) == 0)
        puts("dynamic: all messages went across");
    MPI_Finalize();
    return 0;
}
