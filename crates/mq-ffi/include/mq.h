/* mq.h: MPI message matching. See docs/abi.md.
 *
 * Made by cbindgen from crates/mq-ffi; ci/headers.sh compares it. Do not edit. */

#ifndef MQ_H
#define MQ_H

#include <stdint.h>

// Point-to-point traffic.
#define MQ_CLASS_POINT_TO_POINT 0

// Traffic of this collective.
#define MQ_CLASS_ALLGATHER 1

// Traffic of this collective.
#define MQ_CLASS_ALLGATHERV 2

// Traffic of this collective.
#define MQ_CLASS_ALLREDUCE 3

// Traffic of this collective.
#define MQ_CLASS_ALLTOALL 4

// Traffic of this collective.
#define MQ_CLASS_ALLTOALLV 5

// Traffic of this collective.
#define MQ_CLASS_ALLTOALLW 6

// Traffic of this collective.
#define MQ_CLASS_BARRIER 7

// Traffic of this collective.
#define MQ_CLASS_BROADCAST 8

// Traffic of this collective.
#define MQ_CLASS_EXSCAN 9

// Traffic of this collective.
#define MQ_CLASS_GATHER 10

// Traffic of this collective.
#define MQ_CLASS_GATHERV 11

// Traffic of this collective.
#define MQ_CLASS_REDUCE 12

// Traffic of this collective.
#define MQ_CLASS_REDUCE_SCATTER 13

// Traffic of this collective.
#define MQ_CLASS_REDUCE_SCATTER_BLOCK 14

// Traffic of this collective.
#define MQ_CLASS_SCAN 15

// Traffic of this collective.
#define MQ_CLASS_SCATTER 16

// Traffic of this collective.
#define MQ_CLASS_SCATTERV 17

// Collective traffic without a name here.
#define MQ_CLASS_OTHER_COLLECTIVE 18

// A pattern that may match several classes.
#define MQ_CLASS_UNKNOWN 19

// Nothing matched: a receive or message was queued, a probe saw nothing, a handle was stale.
#define MQ_NONE 0

// A match was found, or a receive was cancelled.
#define MQ_MATCHED 1

// A pointer that must not be null was.
#define MQ_ERR_NULL -1

// The context was never created, or was freed.
#define MQ_ERR_UNKNOWN_CONTEXT -2

// The context exists already.
#define MQ_ERR_CONTEXT_EXISTS -3

// The rank is outside the communicator, or a negative source is not `MQ_ANY_SOURCE`.
#define MQ_ERR_RANK -4

// The context was created with `MQ_NO_ANY_SOURCE`.
#define MQ_ERR_ANY_SOURCE -5

// The context was created with `MQ_NO_ANY_TAG`.
#define MQ_ERR_ANY_TAG -6

// The budget of unexpected messages is used up; the message was not queued.
#define MQ_ERR_ENTRY_BUDGET -7

// The budget of bytes does not cover the message; it was not queued.
#define MQ_ERR_BYTE_BUDGET -8

// There is no structure of that name.
#define MQ_ERR_STRUCTURE -9

// An argument has a value that it cannot have.
#define MQ_ERR_ARGUMENT -10

// A fault inside libmq; the engine must not be used any more.
#define MQ_ERR_INTERNAL -99

// As `mq_pattern.source`: any sender.
#define MQ_ANY_SOURCE -1

// As `mq_pattern.tag`: every tag of 0 or above. Not -1, because libraries use negative tags.
#define MQ_ANY_TAG INT32_MIN

// As a bit of `mq_context_options.promises`: no receive will be from any source
// (`mpi_assert_no_any_source`).
#define MQ_NO_ANY_SOURCE 1

// No receive will be of any or masked tag (`mpi_assert_no_any_tag`).
#define MQ_NO_ANY_TAG 2

// Messages may overtake (`mpi_assert_allow_overtaking`).
#define MQ_ALLOW_OVERTAKING 4

// A matching engine. Opaque; made by `mq_engine_new`.
typedef struct mq_engine mq_engine;

// What an engine is told when it is made. Zeroed, it asks for the defaults.
typedef struct mq_engine_options {
  // The name of the structure, or null for the default.
  const char *structure;
  // The most unexpected messages; 0 for no limit.
  uint64_t max_unexpected;
  // The most bytes in unexpected messages, as `mq_arrive` is told; 0 for no limit.
  uint64_t max_unexpected_bytes;
} mq_engine_options;

// What a context is told when it is made. Zeroed, it asks for the defaults.
typedef struct mq_context_options {
  // Ranks that can send on the context; 0 if unknown.
  uint32_t size;
  // `MQ_NO_ANY_SOURCE` and its like.
  uint32_t promises;
  // The name of a structure for this context alone, or null for the engine's.
  const char *structure;
} mq_context_options;

// What a receive or a probe asks for.
typedef struct mq_pattern {
  // The communicator.
  uint32_t context;
  // The sender's rank, or `MQ_ANY_SOURCE`.
  int32_t source;
  // The tag, or `MQ_ANY_TAG`.
  int32_t tag;
  // Bits of the tag that may differ; 0 for an exact tag. Must be 0 with `MQ_ANY_TAG`.
  uint32_t ignore;
  // The traffic class, as in `mq_envelope`.
  uint32_t traffic_class;
} mq_pattern;

// One queued entry, as shown to a visitor.
typedef struct mq_entry {
  // 1 for a posted receive, 0 for an unexpected message.
  int posted;
  // What a receive asks for; of a message, what it carries.
  struct mq_pattern pattern;
  // The caller's receive or message.
  void *cookie;
} mq_entry;

// Is shown an entry.
typedef void (*mq_entry_fn)(void *user,
                            const struct mq_entry *entry);

// Is handed an entry that was removed.
typedef mq_entry_fn mq_removed_fn;

// Is shown an entry and chooses it by returning other than 0.
typedef int (*mq_select_fn)(void *user,
                            const struct mq_entry *entry);

// The name of a queued receive. Using it after the receive has left is an ordinary "nothing".
typedef struct mq_handle {
  // Opaque.
  uint64_t sequence;
  // Opaque.
  uint32_t slot;
  // Opaque.
  uint32_t context;
} mq_handle;

// What a message carries.
typedef struct mq_envelope {
  // The communicator.
  uint32_t context;
  // The sender's rank, from 0.
  int32_t source;
  // The tag; negative ones are the library's own.
  int32_t tag;
  // The traffic class: 0 for point-to-point, else an `MQ_CLASS_*` number.
  uint32_t traffic_class;
} mq_envelope;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, as `major << 16 | minor << 8 | patch`.
uint32_t mq_version(void);

// The name of structure `index`, from 0; null behind the last one.
const char *mq_structure_name(uint32_t index);

// Makes an engine and writes it to `*engine`. `options` may be null.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_STRUCTURE`.
//
// # Safety
// `options` is null or valid, `engine` valid for a write; `options->structure` is null or a C string.
int mq_engine_new(const struct mq_engine_options *options,
                  struct mq_engine **engine);

// Frees an engine; entries still queued are forgotten, their cookies remain the caller's. Null is
// allowed.
//
// # Safety
// `engine` is null or was made by `mq_engine_new` and not freed since.
void mq_engine_free(struct mq_engine *engine);

// Makes a context usable. `options` may be null.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_CONTEXT_EXISTS`, `MQ_ERR_STRUCTURE`, `MQ_ERR_ARGUMENT` (unknown promise).
//
// # Safety
// `engine` was made by `mq_engine_new`; `options` is null or valid.
int mq_context_create(struct mq_engine *engine,
                      uint32_t context,
                      const struct mq_context_options *options);

// Removes a context and hands every entry left in it to `back` (which may be null), receives first.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_UNKNOWN_CONTEXT`.
//
// # Safety
// `engine` was made by `mq_engine_new`; `back` does not use it.
int mq_context_free(struct mq_engine *engine,
                    uint32_t context,
                    mq_removed_fn back,
                    void *user);

// Removes every entry of all contexts that `select` chooses and hands it to `back` (which may be
// null): posted receives in posting order, then messages in order of arrival, context by context.
//
// Errors: `MQ_ERR_NULL`.
//
// # Safety
// `engine` was made by `mq_engine_new`; the functions do not use it.
int mq_purge(struct mq_engine *engine,
             mq_select_fn select,
             mq_removed_fn back,
             void *user);

// Shows every entry: posted receives in posting order, then messages in order of arrival, context by
// context.
//
// Errors: `MQ_ERR_NULL`.
//
// # Safety
// `engine` was made by `mq_engine_new`; the function does not use it.
int mq_visit(const struct mq_engine *engine,
             mq_entry_fn visitor,
             void *user);

// Writes how many receives are posted and how many messages are unexpected, in all contexts.
//
// Errors: `MQ_ERR_NULL`.
//
// # Safety
// `engine` was made by `mq_engine_new`; the outputs are null or valid for a write.
int mq_lengths(const struct mq_engine *engine,
               uint64_t *posted,
               uint64_t *unexpected);

// Writes how many receives of a context ask for rank `source` by name, and how many of its messages
// came from it. Visits all entries.
//
// Errors: `MQ_ERR_NULL`.
//
// # Safety
// As for `mq_lengths`.
int mq_lengths_by_source(const struct mq_engine *engine,
                         uint32_t context,
                         uint32_t source,
                         uint64_t *posted,
                         uint64_t *unexpected);

// Writes the heap bytes that the queues hold, in use or kept for reuse.
//
// Errors: `MQ_ERR_NULL`.
//
// # Safety
// As for `mq_lengths`.
int mq_memory(const struct mq_engine *engine,
              uint64_t *bytes);

// Posts a receive, or takes the earliest unexpected message that it matches.
//
// `MQ_MATCHED`: `*message` and `*envelope` are written. `MQ_NONE`: the receive is queued, `*handle`
// is written. Any of the three may be null. Errors: `MQ_ERR_NULL`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_RANK`,
// `MQ_ERR_ANY_SOURCE`, `MQ_ERR_ANY_TAG`, `MQ_ERR_ARGUMENT`; the receive is not queued then.
//
// # Safety
// `engine` was made by `mq_engine_new` and is used by no other thread; `pattern` is valid; the outputs
// are null or valid for a write.
int mq_post(struct mq_engine *engine,
            const struct mq_pattern *pattern,
            void *receive,
            struct mq_handle *handle,
            void **message,
            struct mq_envelope *envelope);

// Delivers a message of `bytes` bytes to the earliest posted receive that matches it, or queues it.
//
// `MQ_MATCHED`: `*receive` is written (unless null). `MQ_NONE`: the message is queued as unexpected.
// Errors: `MQ_ERR_NULL`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_RANK`, `MQ_ERR_ARGUMENT`, `MQ_ERR_ENTRY_BUDGET`,
// `MQ_ERR_BYTE_BUDGET`; the message is not queued then and remains the caller's.
//
// # Safety
// As for `mq_post`.
int mq_arrive(struct mq_engine *engine,
              const struct mq_envelope *envelope,
              uint64_t bytes,
              void *message,
              void **receive);

// Shows the earliest unexpected message that `pattern` matches, and removes nothing.
//
// `MQ_MATCHED`: `*message` and `*envelope` are written (unless null). `MQ_NONE`: there is none. Errors as
// for `mq_post`.
//
// # Safety
// As for `mq_post`.
int mq_probe(struct mq_engine *engine,
             const struct mq_pattern *pattern,
             void **message,
             struct mq_envelope *envelope);

// Takes the earliest unexpected message that `pattern` matches, and queues nothing otherwise
// (matched probe).
//
// Outcomes, outputs and errors as for `mq_probe`.
//
// # Safety
// As for `mq_post`.
int mq_extract(struct mq_engine *engine,
               const struct mq_pattern *pattern,
               void **message,
               struct mq_envelope *envelope);

// Takes a posted receive out by name.
//
// `MQ_MATCHED`: it was queued; `*receive` is written (unless null). `MQ_NONE`: it has left already:
// matched, cancelled or purged. Errors: `MQ_ERR_NULL`.
//
// # Safety
// As for `mq_post`.
int mq_cancel(struct mq_engine *engine,
              struct mq_handle handle,
              void **receive);

// Announces that this process takes part in a collective call of `traffic_class` with messages of
// `bytes` bytes over `size` ranks. Only some structures listen.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_ARGUMENT` (no collective class).
//
// # Safety
// As for `mq_post`.
int mq_announce(struct mq_engine *engine,
                uint32_t context,
                uint32_t traffic_class,
                uint64_t bytes,
                uint32_t size);

// A sentence in English for any status; never null, valid for ever.
const char *mq_strerror(int status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MQ_H */
