/* mq.h: MPI message matching. See docs/abi.md.
 *
 * Made by cbindgen from crates/mq-ffi; ci/headers.sh compares it. Do not edit.
 *
 * Functions of the caller's that the library calls have to return: a C++ exception that leaves one ends the process,
 * and after a longjmp out of one the engine answers MQ_ERR_REENTRANT for ever, with its lock held if it has one. */

#ifndef MQ_H
#define MQ_H

#include <stddef.h>
#include <stdint.h>

// Point-to-point traffic.
#define MQ_CLASS_POINT_TO_POINT 0

// Collective traffic without a name here.
#define MQ_CLASS_OTHER_COLLECTIVE 1

// Traffic of this collective.
#define MQ_CLASS_ALLGATHER 2

// Traffic of this collective.
#define MQ_CLASS_ALLGATHERV 3

// Traffic of this collective.
#define MQ_CLASS_ALLREDUCE 4

// Traffic of this collective.
#define MQ_CLASS_ALLTOALL 5

// Traffic of this collective.
#define MQ_CLASS_ALLTOALLV 6

// Traffic of this collective.
#define MQ_CLASS_ALLTOALLW 7

// Traffic of this collective.
#define MQ_CLASS_BARRIER 8

// Traffic of this collective.
#define MQ_CLASS_BROADCAST 9

// Traffic of this collective.
#define MQ_CLASS_EXSCAN 10

// Traffic of this collective.
#define MQ_CLASS_GATHER 11

// Traffic of this collective.
#define MQ_CLASS_GATHERV 12

// Traffic of this collective.
#define MQ_CLASS_REDUCE 13

// Traffic of this collective.
#define MQ_CLASS_REDUCE_SCATTER 14

// Traffic of this collective.
#define MQ_CLASS_REDUCE_SCATTER_BLOCK 15

// Traffic of this collective.
#define MQ_CLASS_SCAN 16

// Traffic of this collective.
#define MQ_CLASS_SCATTER 17

// Traffic of this collective.
#define MQ_CLASS_SCATTERV 18

// One more than the largest number of a message's class, in this version of the header.
#define MQ_CLASS_END 19

// A pattern that may match several classes, or whose class is in doubt. Never a message's.
#define MQ_CLASS_UNKNOWN UINT32_MAX

// The version of the library that this header belongs to. While the major one is 0, two minor ones
// are two interfaces, and the soname carries both.
#define MQ_VERSION_MAJOR 0

// The minor version.
#define MQ_VERSION_MINOR 1

// The patch: what differs in it alone works together.
#define MQ_VERSION_PATCH 0

// The layout of the front and what its words mean. A caller that was compiled with another one
// finds the front closed, and all its inline calls become calls: each compares the words that tell
// its state, `open`, `no_receives` and `no_messages`, with its own number, and those stay where
// they are in every layout.
//
// To be raised with any change to the structs here, to what a field holds, or to what
// `mq_inline.h` leaves in them. (1 and 2 had no number: their state is where `older` is.)
#define MQ_FRONT_LAYOUT 4

// How many receives, or messages, a call looks at in the front before it moves them into the
// queues. A call may look at all of them if, since the last that did, a sixteenth as many entries and
// twelve were queued in the front; and four receives with a wildcard may look at all messages besides.
#define MQ_FRONT_SCAN 48

// Of how many contexts the front of an engine knows what inline calls check.
#define MQ_FRONT_CONTEXTS 16

// `mq_handle.slot` and `mq_message_handle.slot` of an entry that was queued in the front.
#define MQ_FRONT_SLOT (UINT32_MAX - 1)

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

// The context has the promise `MQ_NO_ANY_SOURCE`.
#define MQ_ERR_ANY_SOURCE -5

// The context has the promise `MQ_NO_ANY_TAG`.
#define MQ_ERR_ANY_TAG -6

// The budget of unexpected messages is used up; the message was not queued.
#define MQ_ERR_ENTRY_BUDGET -7

// The budget of bytes does not cover the message; it was not queued.
#define MQ_ERR_BYTE_BUDGET -8

// There is no structure of that name.
#define MQ_ERR_STRUCTURE -9

// An argument has a value that it cannot have.
#define MQ_ERR_ARGUMENT -10

// The engine or session was freed or closed already.
#define MQ_ERR_ENGINE -11

// The call came from within a callback of a call to the same engine.
#define MQ_ERR_REENTRANT -12

// The caller's allocator refused; nothing was queued.
#define MQ_ERR_MEMORY -13

// The engine was made without statistics.
#define MQ_ERR_NO_STATISTICS -14

// The budget of unexpected messages from one source is used up; the message was not queued.
#define MQ_ERR_SOURCE_ENTRY_BUDGET -15

// The budget of bytes from one source does not cover the message; it was not queued.
#define MQ_ERR_SOURCE_BYTE_BUDGET -16

// libmq holds memory already, which has to go back to where it came from.
#define MQ_ERR_TOO_LATE -17

// A fault inside libmq; the engine must not be used any more.
#define MQ_ERR_INTERNAL -99

// As `mq_pattern.source`: any sender.
#define MQ_ANY_SOURCE -1

// As `mq_pattern.tag`: every tag of 0 or above. Not -1, because libraries use negative tags.
#define MQ_ANY_TAG INT32_MIN

// As a bit of `mq_engine_options.flags`: count, for `mq_statistics_read`.
#define MQ_STATISTICS 1

// Every call takes a lock of the engine's own: for callers that have none.
#define MQ_LOCKED 2

// Keep no entries where `mq_inline.h` finds them: every inline call becomes a call.
#define MQ_NO_FRONT 4

// As a bit of `mq_context_options.promises`: no receive will be from any source
// (`mpi_assert_no_any_source`).
#define MQ_NO_ANY_SOURCE 1

// No receive will be of any or masked tag (`mpi_assert_no_any_tag`).
#define MQ_NO_ANY_TAG 2

// Messages may overtake (`mpi_assert_allow_overtaking`). A permission: no structure uses it so far, and
// matching stays in order.
#define MQ_ALLOW_OVERTAKING 4

// A matching engine. Opaque; made by `mq_engine_new`.
typedef struct mq_engine mq_engine;

// One process's trace, statistics and settings, over all its engines. Opaque; made by
// `mq_session_open`.
typedef struct mq_session mq_session;

// Returns `bytes` bytes at an address that is a multiple of `align`, or null. `align` is a power of two, and a
// multiple of a pointer's size, as `posix_memalign` wants it.
typedef void *(*mq_alloc_fn)(void *user,
                             size_t bytes,
                             size_t align);

// Takes back what the other function returned for the same `bytes` and `align`.
typedef void (*mq_release_fn)(void *user,
                              void *memory,
                              size_t bytes,
                              size_t align);

// Where libmq gets its memory. The functions must not call libmq, nor wait for a lock that somebody holds
// who does, and are called by any thread that does.
typedef struct mq_allocator {
  // Not null.
  mq_alloc_fn allocate;
  // Not null.
  mq_release_fn release;
  // Handed to both.
  void *user;
} mq_allocator;

// Is told that a high mark was reached: by how many unexpected messages, of how many bytes (0 if
// nothing limits or marks bytes).
typedef void (*mq_high_water_fn)(void *user,
                                 uint64_t entries,
                                 uint64_t bytes);

// What an engine is told when it is made. Zeroed, it asks for the defaults. Strings are copied.
typedef struct mq_engine_options {
  // The name of the structure, or null for the default.
  const char *structure;
  // The most unexpected messages; 0 for no limit.
  uint64_t max_unexpected;
  // The most bytes in unexpected messages, as `mq_arrive` is told; 0 for no limit.
  uint64_t max_unexpected_bytes;
  // `MQ_STATISTICS` and its like.
  uint32_t flags;
  // The session that the engine is part of, or null.
  const struct mq_session *session;
  // The most unexpected messages from each source of each context; 0 for no limit.
  uint64_t max_unexpected_per_source;
  // The most bytes in unexpected messages from each source of each context; 0 for no limit.
  uint64_t max_unexpected_bytes_per_source;
  // Is called when the unexpected messages reach a high mark, and again only after they have
  // come down to the low marks; null for no call. It must not call the engine. Where the allocator of
  // `mq_allocator_set` has no memory for a message, it may have been called for that message.
  mq_high_water_fn high_water;
  // What `high_water` is called with.
  void *high_water_user;
  // The high mark in messages; 0 for none.
  uint64_t high_unexpected;
  // The low mark in messages, below the high one.
  uint64_t low_unexpected;
  // The high mark in bytes, as `mq_arrive` is told; 0 for none.
  uint64_t high_unexpected_bytes;
  // The low mark in bytes, below the high one.
  uint64_t low_unexpected_bytes;
  // 0: for options of later versions.
  uint64_t reserved[4];
} mq_engine_options;

// What a context is told when it is made, or updated. Zeroed, it asks for the defaults. The string
// is read during the call.
typedef struct mq_context_options {
  // Ranks that can send on the context; 0 if unknown.
  uint32_t size;
  // `MQ_NO_ANY_SOURCE` and its like.
  uint32_t promises;
  // This process's rank in it, which only a trace needs. One that is not below `size`, such as
  // `UINT32_MAX`, leaves the context's size and rank out of the trace: so for an intercommunicator, where
  // `size` is the remote group's and the rank one of the local group.
  uint32_t rank;
  // The name of a structure for this context alone, or null for the engine's.
  const char *structure;
  // 0: for options of later versions.
  uint64_t reserved[2];
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
  // The traffic class of every message that the pattern can match, as in `mq_envelope`, or
  // `MQ_CLASS_UNKNOWN`. The structures `col` and `col+pnp` look for a message, or a receive,
  // only where its class is kept: a pattern of another class than its message loses it, and
  // neither ever meets the other. When in doubt `MQ_CLASS_UNKNOWN`, which meets all classes and
  // costs a longer search. 0 everywhere, in envelopes too, is right. (With `ignore`, 0 stands
  // for `MQ_CLASS_UNKNOWN` where the pattern can match negative tags.)
  uint32_t traffic_class;
} mq_pattern;

// One queued entry, as shown to a visitor: it is there until that returns.
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

// What a message carries.
typedef struct mq_envelope {
  // The communicator.
  uint32_t context;
  // The sender's rank, from 0.
  int32_t source;
  // The tag; negative ones are the library's own. Not `MQ_ANY_TAG`: no receive could ask for
  // it.
  int32_t tag;
  // The traffic class: 0 for point-to-point, else an `MQ_CLASS_*` number. It follows from the
  // context, the source and the tag: messages alike in these are of one class. Not
  // `MQ_CLASS_UNKNOWN`: a message whose class is not known says 0.
  uint32_t traffic_class;
} mq_envelope;

// The name of an unexpected message, from `mq_find` or `mq_queue_message`; as lasting as `mq_handle`.
typedef struct mq_message_handle {
  // Opaque.
  uint64_t sequence;
  // Opaque.
  uint32_t slot;
  // Opaque.
  uint32_t context;
} mq_message_handle;

// The name of a queued receive. Using it after the receive has left is an ordinary "nothing", as long
// as it is the whole name: all three words are one.
typedef struct mq_handle {
  // Opaque.
  uint64_t sequence;
  // Opaque.
  uint32_t slot;
  // Opaque.
  uint32_t context;
} mq_handle;

// Is shown an entry and chooses it by returning other than 0.
typedef int (*mq_select_fn)(void *user,
                            const struct mq_entry *entry);

// Counts of one queue.
typedef struct mq_queue_statistics {
  // Searches.
  uint64_t searches;
  // Entries that all searches compared.
  uint64_t visited;
  // The most entries that one search compared.
  uint64_t longest_search;
  // Entries queued now.
  uint64_t length;
  // The most entries ever queued.
  uint64_t longest;
  // Bytes of the messages queued now, as told to `mq_arrive`.
  uint64_t bytes;
  // The most bytes ever queued.
  uint64_t most_bytes;
} mq_queue_statistics;

// Counts of an engine, since it was made. Later versions have more of them, at the end.
typedef struct mq_statistics {
  // Receives posted, and messages taken by name.
  uint64_t receives;
  // Of these, how many took an unexpected message.
  uint64_t receives_matched;
  // Messages that arrived.
  uint64_t messages;
  // Of these, how many took a posted receive.
  uint64_t messages_matched;
  // Probes: searches for a message that took none.
  uint64_t probes;
  // Receives cancelled or purged.
  uint64_t cancels;
  // The posted receive queue.
  struct mq_queue_statistics posted;
  // The unexpected message queue.
  struct mq_queue_statistics unexpected;
} mq_statistics;

// What a session is told when it is opened. Zeroed, it asks for nothing. Strings are copied.
typedef struct mq_session_options {
  // The library's name and version, for the trace and the table; null for "libmq".
  const char *library;
  // This process's rank in the job.
  uint32_t rank;
  // The job's processes; 0 if unknown.
  uint32_t size;
  // A folder in which to record a trace, or null.
  const char *trace;
  // The name of the structure for engines that name none, or null for the default.
  const char *structure;
  // Other than 0: print a table of statistics when the session is closed.
  uint32_t statistics;
  // Other than 0: let the variables `MQ_STRUCTURE`, `MQ_TRACE`, `MQ_STATS`, `MQ_BUDGET_ENTRIES`
  // and `MQ_BUDGET_BYTES` decide, above what is said here.
  uint32_t environment;
  // Other than 0: messages are queued without their sizes, and `MQ_BUDGET_BYTES` is refused.
  uint32_t no_sizes;
  // 0: for options of later versions.
  uint64_t reserved[4];
} mq_session_options;

// An entry in the front of an engine. Not for callers: `mq_inline.h` uses it.
//
// All words are of one size, and are written and copied as such: a processor that loads what was
// stored in smaller pieces waits until all of them are in its cache, longer than a search takes.
typedef struct mq_parked {
  // The source in the upper half, as in `mq_pattern`, the tag in the lower: 0 for any.
  uint64_t bits;
  // Of a receive: the bits that a message must have alike. Of a message: what `mq_arrive` was
  // told of its bytes.
  uint64_t care;
  // The context in the lower half, the traffic class in the upper.
  uint64_t place;
  // What the entry's handle holds.
  uint64_t sequence;
  // The caller's receive or message.
  void *cookie;
} mq_parked;

// The receives, or the messages, in the front of an engine. Not for callers: `mq_inline.h` uses
// it.
typedef struct mq_front_queue {
  // The array.
  struct mq_parked *start;
  // The earliest entry; `start` if there is none.
  struct mq_parked *first;
  // Behind the latest entry.
  struct mq_parked *end;
  // Behind the room for entries.
  struct mq_parked *limit;
} mq_front_queue;

// What the front of an engine knows of a context. Not for callers: `mq_inline.h` uses it.
typedef struct mq_known {
  // The context; in a place that knows none, one that belongs elsewhere.
  uint32_t context;
  // The last rank of the context.
  uint32_t last_rank;
  // The promises of the context, as in `mq_context_options`.
  uint32_t promises;
} mq_known;

// The front of an engine, at its address. Not for callers: `mq_inline.h` uses it.
typedef struct mq_front {
  // Where layouts without a number had their state: says for ever that every inline call has to
  // call.
  uint32_t older[3];
  // `MQ_FRONT_LAYOUT` if nothing is queued but here, and calls for known contexts may be
  // answered here; else 0.
  uint32_t open;
  // `MQ_FRONT_LAYOUT` if no receives are in the queues behind the front; else 0.
  uint32_t no_receives;
  // `MQ_FRONT_LAYOUT` if no messages are in the queues behind the front; else 0.
  uint32_t no_messages;
  // The sequence number of the next entry.
  uint64_t sequence;
  // The receives.
  struct mq_front_queue receives;
  // The messages.
  struct mq_front_queue messages;
  // What is known of contexts; context `c` at `(c + (c >> 4) * 2) % MQ_FRONT_CONTEXTS`.
  struct mq_known known[MQ_FRONT_CONTEXTS];
} mq_front;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes libmq take all its memory from `allocator`, which is copied. Once, before any other call
// but `mq_version`, `mq_strerror` and `mq_structure_name`.
//
// When `allocate` returns null, the call in progress queues nothing and returns `MQ_ERR_MEMORY`;
// one that queues nothing anyway, as `mq_purge`, does its work. (The memory that either takes then
// is the system's.) Without such functions memory is the system's, and a process that gets none ends.
//
// They are called as long as anybody uses libmq in this process: a component that may be unloaded by itself,
// while others go on with the same libmq, must leave its own in no such place.
//
// Errors: `MQ_ERR_NULL`; `MQ_ERR_TOO_LATE` if libmq holds memory already; `MQ_ERR_MEMORY` if there is none for
// the copy.
//
// # Safety
// `allocator` is null or valid; its functions do what their types say.
int mq_allocator_set(const struct mq_allocator *allocator);

// The version of the library, as `major << 16 | minor << 8 | patch`.
uint32_t mq_version(void);

// The name of structure `index`, from 0; null behind the last one.
const char *mq_structure_name(uint32_t index);

// Makes an engine and writes it to `*engine`. `options` may be null.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_STRUCTURE`, `MQ_ERR_ARGUMENT` (unknown flag, a reserved word that is not 0, marks without
// `high_water` or the reverse, a low mark that is not below its high one), `MQ_ERR_ENGINE` (the
// session is closed), `MQ_ERR_MEMORY`.
//
// # Safety
// `options` is null or valid, `engine` null or valid for a write; `options->structure` is null or
// a C string, `options->session` null or from `mq_session_open`; `options->high_water` is null or
// a function of its type, which may be called with `options->high_water_user` by every thread that
// uses the engine.
int mq_engine_new(const struct mq_engine_options *options,
                  struct mq_engine **engine);

// Frees an engine; entries still queued are forgotten, their cookies remain the caller's. Null is
// allowed.
//
// Errors: `MQ_ERR_ENGINE` if it was freed already (and its memory is in use by no other engine
// since), `MQ_ERR_REENTRANT`.
//
// # Safety
// `engine` is null or was made by `mq_engine_new`.
int mq_engine_free(struct mq_engine *engine);

// Makes a context usable. `options` may be null; what is not known yet can be said later, by
// `mq_context_update`.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_CONTEXT_EXISTS`,
// `MQ_ERR_STRUCTURE`, `MQ_ERR_ARGUMENT` (unknown promise, a reserved word that is not 0), `MQ_ERR_MEMORY`.
//
// # Safety
// `engine` is null or was made by `mq_engine_new`; `options` is null or valid.
int mq_context_create(struct mq_engine *engine,
                      uint32_t context,
                      const struct mq_context_options *options);

// Gives a context that is in use another size and other promises: those that `options` say, and
// none that they leave out; null, or zeroed, takes all back. For a context that was made before
// these were known (`MPI_Comm_set_info`, or a message that came before its communicator). The
// structure remains the one that the context was created with. If something of the context is queued in
// it, behind the front, it may keep to the plan that it made for the size that it was told before: a
// size is best said when the context is created.
// `options->rank` is not heeded.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`,
// `MQ_ERR_ARGUMENT` (unknown promise, a structure, a reserved word that is not 0); `MQ_ERR_RANK`, `MQ_ERR_ANY_SOURCE` or
// `MQ_ERR_ANY_TAG` if a queued receive or message is not as `options` say. Nothing has changed
// then.
//
// # Safety
// `engine` is null or was made by `mq_engine_new`; `options` is null or valid.
int mq_context_update(struct mq_engine *engine,
                      uint32_t context,
                      const struct mq_context_options *options);

// Removes a context and hands every entry left in it to `back` (which may be null), receives
// first.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`.
//
// # Safety
// `engine` is null or was made by `mq_engine_new`; `back` is null or a function of its type.
int mq_context_free(struct mq_engine *engine,
                    uint32_t context,
                    mq_removed_fn back,
                    void *user);

// Takes the earliest unexpected message that `pattern` matches, and queues nothing otherwise
// (matched probe; first half of `mq_post`).
//
// Outcomes, outputs and errors as for `mq_probe`.
//
// # Safety
// As for `mq_post`.
int mq_extract(struct mq_engine *engine,
               const struct mq_pattern *pattern,
               void **message,
               struct mq_envelope *envelope);

// Shows the earliest unexpected message that `pattern` matches and names it, for `mq_take`.
//
// `MQ_MATCHED`: `*found`, `*message` and `*envelope` are written (unless null). `MQ_NONE`: there
// is none. Errors as for `mq_post`.
//
// # Safety
// As for `mq_post`.
int mq_find(struct mq_engine *engine,
            const struct mq_pattern *pattern,
            struct mq_message_handle *found,
            void **message,
            struct mq_envelope *envelope);

// Takes out the message that `mq_find` named, without a search.
//
// `MQ_MATCHED`: it was queued; `*message` and `*envelope` are written (unless null). `MQ_NONE`: it
// has left already. Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`.
//
// # Safety
// As for `mq_post`.
int mq_take(struct mq_engine *engine,
            struct mq_message_handle found,
            void **message,
            struct mq_envelope *envelope);

// Takes the earliest posted receive that a message matches, and queues nothing otherwise (first
// half of `mq_arrive`).
//
// `MQ_MATCHED`: `*receive` is written (unless null). `MQ_NONE`: there is none. Errors:
// `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_RANK`,
// `MQ_ERR_ARGUMENT`.
//
// # Safety
// As for `mq_post`.
int mq_deliver(struct mq_engine *engine,
               const struct mq_envelope *envelope,
               void **receive);

// Queues a receive without a search: only when `mq_extract` or `mq_find` with the same pattern was
// the last operation on the engine, and found nothing. Its context may be created or updated in between.
//
// `MQ_NONE`: it is queued, `*handle` is written (unless null). Errors as for `mq_post`.
//
// # Safety
// As for `mq_post`.
int mq_queue_receive(struct mq_engine *engine,
                     const struct mq_pattern *pattern,
                     void *receive,
                     struct mq_handle *handle);

// Queues a probe that waits for its message, like a receive: `mq_deliver` hands it back, and the
// caller completes it and delivers the same message again. (A trace has it as a probe that saw
// nothing, where it was queued, and statistics count it as one.)
//
// Outcomes, outputs and errors as for `mq_queue_receive`.
//
// # Safety
// As for `mq_post`.
int mq_queue_probe(struct mq_engine *engine,
                   const struct mq_pattern *pattern,
                   void *probe,
                   struct mq_handle *handle);

// Queues a message of `bytes` bytes without a search: only when `mq_deliver` of the same envelope
// was the last operation on the engine, and found nothing. Its context may be created or updated in between.
//
// `MQ_NONE`: it is queued, `*queued` is written (unless null). Errors as for `mq_arrive`.
//
// # Safety
// As for `mq_post`.
int mq_queue_message(struct mq_engine *engine,
                     const struct mq_envelope *envelope,
                     uint64_t bytes,
                     void *message,
                     struct mq_message_handle *queued);

// Removes every entry of all contexts that `select` chooses and hands it to `back` (which may be
// null): posted receives in posting order, then messages in order of arrival, context by context;
// of all contexts together with a structure that has one pair of queues for all (`list`, `bins`,
// `adaptive`, `pnp`, `col`, `col+pnp`, `clusters`). `select` may be asked about several entries, or all, before
// `back` gets the first: what that does follows from the entry, not from what `select` noted last.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`.
//
// # Safety
// `engine` is null or was made by `mq_engine_new`; the functions are null or of their types.
int mq_purge(struct mq_engine *engine,
             mq_select_fn select,
             mq_removed_fn back,
             void *user);

// Shows every entry: of each context its posted receives in posting order, and then its messages in
// order of arrival. Entries of several contexts may stand between each other.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`.
//
// # Safety
// `engine` is null or was made by `mq_engine_new`; the function is null or of its type.
int mq_visit(struct mq_engine *engine,
             mq_entry_fn visitor,
             void *user);

// Writes how many receives are posted and how many messages are unexpected, in all contexts.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`.
//
// # Safety
// `engine` is null or was made by `mq_engine_new`; the outputs are null or valid for a write.
int mq_lengths(struct mq_engine *engine,
               uint64_t *posted,
               uint64_t *unexpected);

// Writes how many receives are posted and how many messages are unexpected in one context. Visits entries only
// where they are in the front, or of a structure that has one pair of queues for all contexts (those that
// `mq_purge` names).
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`.
//
// # Safety
// As for `mq_lengths`.
int mq_context_lengths(struct mq_engine *engine,
                       uint32_t context,
                       uint64_t *posted,
                       uint64_t *unexpected);

// Writes, for each rank below `ranks`, how many receives of a context ask for it by name, and how
// many of the context's messages came from it. Visits all entries.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`.
//
// # Safety
// As for `mq_lengths`; each output is null or has room for `ranks` numbers, and the two do not overlap.
int mq_lengths_by_source(struct mq_engine *engine,
                         uint32_t context,
                         uint32_t ranks,
                         uint64_t *posted,
                         uint64_t *unexpected);

// Writes the heap bytes that the queues and the front hold, in use or kept for reuse; the engine
// itself is not among them.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`.
//
// # Safety
// As for `mq_lengths`.
int mq_memory(struct mq_engine *engine,
              uint64_t *bytes);

// Writes what was counted since the engine was made: the first `size` bytes of it, where `size` is
// `sizeof(mq_statistics)` as the caller knows it. Later versions count more, behind what earlier
// ones do; a caller that knows more than the library is given 0 there.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_NO_STATISTICS`.
//
// # Safety
// As for `mq_lengths`; `statistics` is null or valid for writes of `size` bytes.
int mq_statistics_read(struct mq_engine *engine,
                       struct mq_statistics *statistics,
                       size_t size);

// Posts a receive, or takes the earliest unexpected message that it matches.
//
// `MQ_MATCHED`: `*message` and `*envelope` are written. `MQ_NONE`: the receive is queued,
// `*handle` is written. Any of the three may be null. Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`,
// `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_RANK`, `MQ_ERR_ANY_SOURCE`,
// `MQ_ERR_ANY_TAG`, `MQ_ERR_ARGUMENT`, `MQ_ERR_MEMORY`; the receive is not queued then.
//
// # Safety
// `engine` is null or was made by `mq_engine_new`, and unless it is locked no other thread uses
// it; `pattern` is null or valid; the outputs are null or valid for a write.
int mq_post(struct mq_engine *engine,
            const struct mq_pattern *pattern,
            void *receive,
            struct mq_handle *handle,
            void **message,
            struct mq_envelope *envelope);

// Delivers a message of `bytes` bytes to the earliest posted receive that matches it, or queues
// it.
//
// `MQ_MATCHED`: `*receive` is written (unless null). `MQ_NONE`: the message is queued as
// unexpected. Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`,
// `MQ_ERR_UNKNOWN_CONTEXT`, `MQ_ERR_RANK`, `MQ_ERR_ARGUMENT`, `MQ_ERR_ENTRY_BUDGET`,
// `MQ_ERR_BYTE_BUDGET`, `MQ_ERR_SOURCE_ENTRY_BUDGET`, `MQ_ERR_SOURCE_BYTE_BUDGET`,
// `MQ_ERR_MEMORY`; the message is not queued then and remains the caller's.
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
// `MQ_MATCHED`: `*message` and `*envelope` are written (unless null). `MQ_NONE`: there is none.
// Errors as for `mq_post`.
//
// # Safety
// As for `mq_post`.
int mq_probe(struct mq_engine *engine,
             const struct mq_pattern *pattern,
             void **message,
             struct mq_envelope *envelope);

// Takes a posted receive out by name.
//
// `MQ_MATCHED`: it was queued; `*receive` is written (unless null). `MQ_NONE`: it has left
// already: matched, cancelled or purged. Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`,
// `MQ_ERR_REENTRANT`.
//
// # Safety
// As for `mq_post`.
int mq_cancel(struct mq_engine *engine,
              struct mq_handle handle,
              void **receive);

// Announces that this process takes part in a collective call of `traffic_class` with messages of
// `bytes` bytes over `size` ranks. Only some structures listen.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_ENGINE`, `MQ_ERR_REENTRANT`, `MQ_ERR_UNKNOWN_CONTEXT`,
// `MQ_ERR_ARGUMENT` (no collective class).
//
// # Safety
// As for `mq_post`.
int mq_announce(struct mq_engine *engine,
                uint32_t context,
                uint32_t traffic_class,
                uint64_t bytes,
                uint32_t size);

// Opens a session and writes it to `*session`; engines join it by `mq_engine_options.session`.
//
// A variable with a wrong value gives one line on stderr, from rank 0, and counts as not set. So
// does a folder for traces that cannot be written, from each rank that can not: it may be another
// folder on each node. The line names the variable, or the option if it was that.
// The structure `clusters` gives one from rank 0 where variables are read: without a profile, which
// cannot be named here, it is one list.
//
// Errors: `MQ_ERR_NULL`, `MQ_ERR_STRUCTURE`, `MQ_ERR_ARGUMENT` (a reserved word is not 0).
//
// # Safety
// `options` is null or valid, its strings null or C strings; `session` is null or valid for a
// write.
int mq_session_open(const struct mq_session_options *options,
                    struct mq_session **session);

// Completes the trace and prints the table, on stderr. Engines of the session can be used on; what
// they do is no longer recorded. Null is allowed. In a child of `fork` it does and prints nothing
// of that: the trace and the table are the parent's.
//
// Errors: `MQ_ERR_ENGINE` if it is closed already.
//
// # Safety
// `session` is null or was made by `mq_session_open`.
int mq_session_close(struct mq_session *session);

// A sentence in English for any status; never null, valid for ever.
const char *mq_strerror(int status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MQ_H */
