//! [`MatchQueues`]: the operations every structure performs, and their contract.

mod outcomes;

pub use self::outcomes::{
    Arrive, ArriveOf, Entry, EntryOf, EnvelopeOf, FoundMessageOf, FoundReceiveOf, Matched, Post,
    PostOf, Removed, RemovedOf, SeenMessageOf, TakenMessageOf, TakenReceiveOf,
};
use crate::collective::CollectiveCall;
use crate::config::Config;
use crate::envelope::ContextId;
use crate::handle::{Handle, MessageHandle};
use crate::meter::{Meter, Unmetered};
use crate::pattern::Pattern;

/// The posted receive queue and the unexpected message queue, in one searchable object.
///
/// Every MPI operation searches one queue and, if nothing matches, inserts into the other. A structure
/// therefore holds both and does search and insertion as one step: the insertion starts where the
/// search failed (Zounmevo & Afsahi 2014, §3.4), and nothing comes in between.
///
/// A library that must act between search and insertion, for example to allocate the request only if it
/// is queued, takes the step in halves: [`extract`](Self::extract) or [`find`](Self::find) and
/// [`take`](Self::take), then [`queue_receive`](Self::queue_receive); [`deliver`](Self::deliver),
/// then [`queue_message`](Self::queue_message).
///
/// # Contract
/// With [`matches`](crate::matches) deciding, and contexts mixed freely:
/// 1. an arriving message takes the **earliest posted** receive that matches it;
/// 2. a posted receive takes the **earliest arrived** message that it matches (stronger than MPI 4.1
///    §3.5: the order holds across all senders);
/// 3. payloads are moved in and out, never copied, and none is lost;
/// 4. a handle names its receive until the receive leaves the queue, and nothing afterwards;
/// 5. the receives of a context are numbered in the order in which they are queued, and so are its messages, from
///    [`Config::first_sequence`] on: a `SharedEngine`, which has several queues for one context, tells by the
///    numbers which entry is older;
/// 6. no method panics, except where its description says so, or where a callback or a dropped payload does: an engine
///    may lose the entries of that operation otherwise, and the room that its budget counts for them.
///
/// The conformance suite of the `mq-trace` crate checks any implementation against these rules.
///
/// # For implementers
/// Required methods: making queues and saying what they serve (`with_config`, `scope`, `add_context`); the two
/// searches that leave the found entry in place; taking by handle; queueing without a search; counting, showing,
/// purging and clearing all entries; and numbering (`next_sequence`, `raise_sequence`). The MPI steps have
/// defaults made of these, which a structure may override. Methods added to this trait later will have
/// defaults too.
///
/// Compare a new structure with the oracle by `mq_trace::conformance::compare_all`: queues alone do not show how an
/// engine for many threads uses the numbers.
///
/// # Example
/// ```
/// use mq_core::mpi::{MpiEnvelope, MpiPattern};
/// use mq_core::structures::Indexed;
/// use mq_core::{Arrive, Config, MatchQueues, Post};
///
/// let mut queues = Indexed::<MpiPattern, &str, Vec<u8>>::with_config(&Config::default());
///
/// // A receive is posted first and waits; the message takes it.
/// let queued = queues.post(MpiPattern::new(0, 2, 99), "first");
/// assert!(matches!(queued, Post::Queued(_)));
/// let matched = queues.arrive(MpiEnvelope::new(0, 2, 99), vec![1, 2, 3]);
/// assert!(matches!(matched, Arrive::Matched { receive: "first", .. }));
///
/// // A message comes first and waits; the receive takes it.
/// let waits = queues.arrive(MpiEnvelope::new(0, 5, 7), vec![4]);
/// assert!(matches!(waits, Arrive::Unexpected));
/// let posted = queues.post(MpiPattern::new(0, 5, 7), "second");
/// assert_eq!(posted.matched().expect("it waits").message, [4]);
/// ```
pub trait MatchQueues: Sized {
    /// What receives ask for.
    type Pattern: Pattern;
    /// The caller's payload of a receive. Payloads are moved several times: box what is larger than some KiB. In a
    /// build without optimisations, the copies of one of 64 KiB overflow a thread's stack of 2 MiB.
    type Receive;
    /// The caller's payload of a message, moved as often.
    type Message;

    /// Empty queues. Allocates nothing whose size depends on the number of ranks.
    ///
    /// Engines also call this with `Config::default()`, for places that no context uses: it must succeed with any
    /// configuration.
    fn with_config(config: &Config) -> Self;

    /// Whether one object serves one context or all of them. Called by [`Engine`](crate::Engine).
    fn scope(config: &Config) -> Scope;

    // The steps of MPI.

    /// Posts a receive: takes the earliest unexpected message that `pattern` matches, or else
    /// queues the receive. `MPI_Recv`, `MPI_Irecv`, MPI 4.1 §3.2.4, §3.7.
    ///
    /// # Cost
    /// One search of the unexpected queue, and an insertion. The cost of a search, here and in the methods
    /// below, depends on the structure; its module states it ([`structures`](crate::structures) lists them).
    ///
    /// # Panics
    /// If a queue would hold more than 2^31 - 256 entries, as do `arrive`, `queue_receive` and `queue_message`.
    #[inline(always)]
    fn post(&mut self, pattern: Self::Pattern, receive: Self::Receive) -> PostOf<Self> {
        self.post_metered(pattern, receive, &mut Unmetered)
    }

    /// A message arrives: takes the earliest posted receive that matches it, or else queues the
    /// message.
    ///
    /// # Cost
    /// One search of the posted queue, and an insertion.
    #[inline(always)]
    fn arrive(&mut self, envelope: EnvelopeOf<Self>, message: Self::Message) -> ArriveOf<Self> {
        self.arrive_metered(envelope, message, &mut Unmetered)
    }

    /// Shows the earliest unexpected message that `pattern` matches, and removes nothing.
    /// `MPI_Probe`, `MPI_Iprobe`, MPI 4.1 §3.8.1.
    ///
    /// Takes `&mut self` so that a structure may index what is repeatedly asked for.
    #[inline(always)]
    fn probe(&mut self, pattern: &Self::Pattern) -> Option<SeenMessageOf<'_, Self>> {
        self.probe_metered(pattern, &mut Unmetered)
    }

    /// Takes the earliest unexpected message that `pattern` matches; otherwise queues nothing.
    /// `MPI_Mprobe`, `MPI_Improbe`, MPI 4.1 §3.8.2.
    ///
    /// # Cost
    /// One search of the unexpected queue, as for `find` and `probe`.
    #[inline(always)]
    #[must_use = "this is the message"]
    fn extract(&mut self, pattern: &Self::Pattern) -> Option<TakenMessageOf<Self>> {
        self.extract_metered(pattern, &mut Unmetered)
    }

    /// Takes a receive out of the posted queue by its handle (`MPI_Cancel`, MPI 4.1 §3.8.4).
    ///
    /// `None` if it has already left the queue: matched, cancelled or purged.
    ///
    /// # Cost
    /// Constant. With `indexed`, for a handle given before the entries of a short queue last moved: the
    /// logarithm of their number, or a look at up to 4,096 slots if the queues have become deep since.
    #[must_use = "`None` means that the receive has matched; otherwise this is the receive"]
    fn cancel(&mut self, handle: Handle) -> Option<Self::Receive>;

    // Their halves, for callers that do something between a search and what follows it.

    /// Shows the earliest unexpected message that `pattern` matches, and its handle, by which
    /// [`take`](Self::take) removes it without another search.
    #[inline(always)]
    fn find(&mut self, pattern: &Self::Pattern) -> Option<FoundMessageOf<'_, Self>> {
        self.find_metered(pattern, &mut Unmetered)
    }

    /// Shows the earliest posted receive that matches a message, and its handle, by which
    /// [`cancel`](Self::cancel) removes it without another search: the mirror image of
    /// [`find`](Self::find), for a caller that compares the first matches of several objects.
    #[inline(always)]
    fn find_receive(&mut self, envelope: &EnvelopeOf<Self>) -> Option<FoundReceiveOf<'_, Self>> {
        self.find_receive_metered(envelope, &mut Unmetered)
    }

    /// Takes out the message whose handle [`find`](Self::find) or [`visit`](Self::visit) has shown; `None` if it has
    /// already left the queue.
    ///
    /// # Cost
    /// Constant. With `indexed`, for a handle given before the entries of a short queue last moved: the
    /// logarithm of their number, or a look at up to 4,096 slots if the queues have become deep since.
    #[must_use = "this is the message"]
    fn take(&mut self, message: MessageHandle) -> Option<TakenMessageOf<Self>>;

    /// Takes the earliest posted receive that matches a message; otherwise queues nothing. For a
    /// caller that has no room for an unexpected message, or must prepare the message before queueing it.
    ///
    /// # Cost
    /// One search of the posted queue, as for `find_receive`.
    #[inline(always)]
    #[must_use = "this is the receive"]
    fn deliver(&mut self, envelope: &EnvelopeOf<Self>) -> Option<TakenReceiveOf<Self>> {
        self.deliver_metered(envelope, &mut Unmetered)
    }

    /// Queues a receive without a search: the second half of [`post`](Self::post), for a caller
    /// whose [`extract`](Self::extract) or [`find`](Self::find) with the same pattern found nothing,
    /// with no other operation in between but [`raise_sequence`](Self::raise_sequence). Otherwise the contract may
    /// break: if a message that the receive matches is queued, later messages may pass the receive over until that
    /// message is taken. Later receives and messages of the same key may be passed over too, until none of one
    /// kind is left.
    fn queue_receive(&mut self, pattern: Self::Pattern, receive: Self::Receive) -> Handle;

    /// Queues a message without a search: the second half of [`arrive`](Self::arrive), for a caller
    /// whose [`deliver`](Self::deliver) or [`find_receive`](Self::find_receive) of the same envelope
    /// found nothing, with no other operation in between; otherwise as for
    /// [`queue_receive`](Self::queue_receive).
    fn queue_message(
        &mut self,
        envelope: EnvelopeOf<Self>,
        message: Self::Message,
    ) -> MessageHandle;

    // What is queued.

    /// Number of posted receives.
    fn posted_len(&self) -> usize;

    /// Number of unexpected messages.
    fn unexpected_len(&self) -> usize;

    /// Shows all entries with their handles: posted receives in posting order, then messages in order of arrival.
    ///
    /// # Cost
    /// Visits and sorts all entries; allocates.
    fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Self>));

    /// Removes the entries that `select` chooses from both queues and hands each to `back`: posted
    /// receives in posting order, then messages in order of arrival (communicator free, revoke, peer
    /// failure). `select` is asked about every entry, in the order of [`visit`](Self::visit), before any
    /// is removed. A structure that keeps contexts apart may purge and visit one context after another.
    ///
    /// # Cost
    /// Visits and sorts all entries; allocates.
    fn purge(
        &mut self,
        select: &mut dyn FnMut(EntryOf<'_, Self>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Self>),
    );

    /// Drops all entries and forgets what was learned about senders, calls and lengths; memory may be
    /// kept for reuse.
    ///
    /// # Panics
    /// If dropping a payload panics. Another call drops the rest; until it has, nothing else may be done with the
    /// queues, except dropping them.
    fn clear(&mut self);

    // The numbers of handles.

    /// A number greater than those of all handles given so far, for receives and messages, and at least
    /// [`Config::first_sequence`] and every number that the queues were [raised](Self::raise_sequence) to.
    fn next_sequence(&self) -> u64;

    /// How many entries have been queued so far, receives and messages together, wrapping at 2^32: the
    /// difference of two results is the number queued in between.
    ///
    /// A structure that does not count returns 0. A `SharedEngine` uses the count to judge how much
    /// threads wait for each other; without it, the engine never divides a context of its own accord.
    fn queued_total(&self) -> u32 {
        0
    }

    /// Numbers the receives and messages queued from now on from at least `sequence`, or from
    /// 2^64 - 2^48 if that is less: for a caller that compares the numbers of several objects.
    fn raise_sequence(&mut self, sequence: u64);

    // What a structure may learn.

    /// One more context will use these queues, which serve several. Entries queued from now on are numbered from at
    /// least `config.first_sequence`, as if [raised](Self::raise_sequence) to it: a smaller number than they have
    /// reached changes nothing. `config.size` may exceed all sizes known so far.
    ///
    /// [`Engine`](crate::Engine) calls this for structures of process scope.
    fn add_context(&mut self, config: &Config);

    /// The size or the promises of a context that these queues serve have changed. `config` has the new ones; its
    /// kind and tuning are the engine's defaults, not this context's. Plans made from the number of ranks may be
    /// remade, as far as no entry depends on them; handles keep their meaning. A permission that is withdrawn, such
    /// as relaxed matching order, must not be used any longer.
    ///
    /// [`Engine`](crate::Engine) calls this when it updates a context, after checking that every queued
    /// entry fits the new size. A structure that uses no permission matches correctly without it.
    fn update_context(&mut self, _context: ContextId, _config: &Config) {}

    /// One of the contexts that these queues serve no longer exists, and all its entries have left:
    /// what was learned about its senders is useless.
    ///
    /// [`Engine`](crate::Engine) calls this when a context is freed. Never required for correct matching.
    fn remove_context(&mut self, _context: ContextId) {}

    /// Announces that this process is about to take part in a collective call.
    ///
    /// Structures that plan their queues by the program's collectives use it; the others ignore it.
    /// Never required for correct matching.
    fn announce(&mut self, _call: &CollectiveCall) {}

    // The searches again, with a count of what they visit.

    /// [`post`](Self::post), reporting the cost of its search.
    fn post_metered(
        &mut self,
        pattern: Self::Pattern,
        receive: Self::Receive,
        meter: &mut impl Meter,
    ) -> PostOf<Self> {
        match self.extract_metered(&pattern, meter) {
            Some((envelope, message)) => Post::Matched {
                envelope,
                message,
                receive,
            },
            None => Post::Queued(self.queue_receive(pattern, receive)),
        }
    }

    /// [`arrive`](Self::arrive), reporting the cost of its search.
    fn arrive_metered(
        &mut self,
        envelope: EnvelopeOf<Self>,
        message: Self::Message,
        meter: &mut impl Meter,
    ) -> ArriveOf<Self> {
        match self.deliver_metered(&envelope, meter) {
            Some((pattern, receive)) => Arrive::Matched {
                pattern,
                receive,
                message,
            },
            None => {
                self.queue_message(envelope, message);
                Arrive::Unexpected
            }
        }
    }

    /// [`probe`](Self::probe), reporting the cost of its search.
    fn probe_metered(
        &mut self,
        pattern: &Self::Pattern,
        meter: &mut impl Meter,
    ) -> Option<SeenMessageOf<'_, Self>> {
        let (_, envelope, message) = self.find_metered(pattern, meter)?;
        Some((envelope, message))
    }

    /// [`extract`](Self::extract), reporting the cost of its search.
    fn extract_metered(
        &mut self,
        pattern: &Self::Pattern,
        meter: &mut impl Meter,
    ) -> Option<TakenMessageOf<Self>> {
        let (message, ..) = self.find_metered(pattern, meter)?;
        self.take(message)
    }

    /// [`find`](Self::find), reporting the cost of its search.
    fn find_metered(
        &mut self,
        pattern: &Self::Pattern,
        meter: &mut impl Meter,
    ) -> Option<FoundMessageOf<'_, Self>>;

    /// [`find_receive`](Self::find_receive), reporting the cost of its search.
    fn find_receive_metered(
        &mut self,
        envelope: &EnvelopeOf<Self>,
        meter: &mut impl Meter,
    ) -> Option<FoundReceiveOf<'_, Self>>;

    /// [`deliver`](Self::deliver), reporting the cost of its search.
    fn deliver_metered(
        &mut self,
        envelope: &EnvelopeOf<Self>,
        meter: &mut impl Meter,
    ) -> Option<TakenReceiveOf<Self>> {
        let (handle, pattern, _) = self.find_receive_metered(envelope, meter)?;
        let receive = self.cancel(handle)?;
        Some((pattern, receive))
    }
}

/// Whether one object of a structure serves one context or all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Scope {
    /// One object for the whole process, contexts mixed, as the published design has it.
    Process,
    /// One object for each context: the cost in one context does not depend on the others.
    Context,
}
