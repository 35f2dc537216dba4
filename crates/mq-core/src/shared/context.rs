//! [`Context`]: the places of one context, their locks, and the context's life.

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use super::lock::Lock;
use super::numbers::{PlaceId, count_of};
use super::options::{Divide, Sharding};
use super::place::{Before, MeantLife, Mode, OPEN, Place, Reach, Standing, shard_of};
use super::pressure::Pressure;
use super::sync::{AtomicU8, Mutex, MutexGuard, Once, Ordering};
use crate::collective::CollectiveCall;
use crate::config::Config;
use crate::engine::{CommonBudget, Terms};
use crate::envelope::ContextId;
use crate::error::Error;
use crate::memory::{Footprint, Memory, arc_bytes};
use crate::queues::{EntryOf, MatchQueues, Removed, RemovedOf};

/// One context, for all of its lives: it is freed and created again in place, so that readers of the
/// directory may keep a reference.
///
/// The fields before the undivided queues are read by every operation and hardly ever written.
pub(super) struct Context<Q: MatchQueues> {
    pub(super) id: ContextId,
    /// Where to look first; the place itself tells whether that was right.
    mode: AtomicU8,
    sharding: Sharding,
    pub(super) budget: Option<Arc<CommonBudget<Q::Message>>>,
    shards: Once<Box<[CachePadded<Lock<Q>>]>>,
    /// For the queues of shards. Its lock is taken while other locks are held, never the other way
    /// round.
    pub(super) config: Mutex<Config>,
    whole: CachePadded<Lock<Q>>,
}

/// The locks that an operation holds.
pub(super) enum Held<'a, Q> {
    One(PlaceId, MutexGuard<'a, Place<Q>>),
    All(All<'a, Q>),
}

impl<Q> Held<'_, Q> {
    #[inline]
    pub(super) fn standing(&self) -> &Standing {
        match self {
            Self::One(_, place) => &place.standing,
            Self::All(all) => &all.whole.standing,
        }
    }
}

/// All locks of a context.
pub(super) struct All<'a, Q> {
    pub(super) shards: Vec<MutexGuard<'a, Place<Q>>>,
    pub(super) whole: MutexGuard<'a, Place<Q>>,
}

/// Locks.
impl<Q: MatchQueues> Context<Q> {
    pub(super) fn new(
        id: ContextId,
        sharding: Sharding,
        budget: Option<Arc<CommonBudget<Q::Message>>>,
    ) -> Self {
        Self {
            id,
            mode: AtomicU8::new(Mode::Absent as u8),
            sharding,
            budget,
            shards: Once::new(),
            config: Mutex::new(Config::default()),
            whole: CachePadded::new(Lock::new()),
        }
    }

    // Relaxed: a guess, which the place confirms under its lock. [MODE]
    #[inline(always)]
    fn guess(&self) -> Mode {
        Mode::from_u8(self.mode.load(Ordering::Relaxed))
    }

    /// The one place that an operation reaches, if that is clear immediately, the lock is free, and
    /// the place `is_enough`: nothing needs to be looked up elsewhere. Otherwise use [`hold`](Self::hold).
    #[inline(always)]
    pub(super) fn quick(
        &self,
        reach: impl Fn(Mode) -> Reach,
        is_enough: impl Fn(&Place<Q>) -> bool,
    ) -> Option<MutexGuard<'_, Place<Q>>> {
        let mode = self.guess();
        let lock = match reach(mode) {
            Reach::Whole => &self.whole,
            Reach::Shard(hash) => {
                let shards = self.shards.get()?;
                &shards[shard_of(hash, shards.len())]
            }
            Reach::All => return None,
        };
        let place = lock.try_lock()?;
        // What holds is what the place says, whose lock is held. [STAND]
        let right = place.standing.mode == mode && is_enough(&place);
        right.then_some(place)
    }

    /// Locks exactly the places that an operation on `life` reaches.
    #[inline(never)]
    pub(super) fn hold(&self, life: MeantLife, reach: impl Fn(Mode) -> Reach) -> Held<'_, Q> {
        let mut mode = self.guess();
        loop {
            let held = match (reach(mode), self.shards.get()) {
                (Reach::Shard(hash), Some(shards)) => {
                    let index = shard_of(hash, shards.len());
                    Held::One(
                        PlaceId::shard(index),
                        shards[index].lock_alone(life, false).0,
                    )
                }
                (Reach::All, Some(_)) => Held::All(self.lock_all()),
                // Shards may exist without being visible here yet; the undivided queues know.
                _ => match self.lock_whole(life) {
                    Ok(whole) => Held::One(PlaceId::WHOLE, whole),
                    Err(contended) => {
                        self.divide(contended);
                        continue;
                    }
                },
            };
            let found = held.standing().mode;
            let right = match held {
                Held::One(PlaceId::WHOLE, _) => !found.is_divided(),
                Held::One(..) | Held::All(_) => found == mode,
            };
            if right {
                return held;
            }
            mode = found;
        }
    }

    /// Locks the undivided queues; or says in which life they should be divided first, since the context may have
    /// begun another when the caller comes to it.
    fn lock_whole(&self, life: MeantLife) -> Result<MutexGuard<'_, Place<Q>>, MeantLife> {
        let can_divide = self.sharding.divide == Divide::WhenContended;
        let (whole, divide) = self.whole.lock_alone(life, can_divide);
        if divide {
            return Err(whole.standing.life_now());
        }
        Ok(whole)
    }

    /// Locks the undivided queues, whatever they hold, for a caller that may hold other locks.
    pub(super) fn whole(&self) -> MutexGuard<'_, Place<Q>> {
        self.whole.lock()
    }

    /// Locks the undivided queues, or one shard if there are shards, for a caller that holds no lock.
    pub(super) fn alone(
        &self,
        life: MeantLife,
        place: PlaceId,
    ) -> Option<MutexGuard<'_, Place<Q>>> {
        if let Some(index) = place.index() {
            return Some(self.shards.get()?.get(index)?.lock_alone(life, false).0);
        }
        let whole = self.lock_whole(life).unwrap_or_else(|contended| {
            self.divide(contended);
            self.whole()
        });
        Some(whole)
    }

    /// Locks everything: the shards in ascending order, then the undivided queues. [ORDER]
    pub(super) fn lock_all(&self) -> All<'_, Q> {
        loop {
            let shards: Vec<_> = match self.shards.get() {
                Some(shards) => shards.iter().map(|shard| shard.lock()).collect(),
                None => Vec::new(),
            };
            let whole = self.whole.lock();
            // The context may have been divided in between; then its shards are visible now.
            if !shards.is_empty() || !whole.standing.mode.is_divided() {
                return All { shards, whole };
            }
        }
    }

    /// [`lock_all`](Self::lock_all), of a life that must be present.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub(super) fn lock_alive(&self, life: MeantLife) -> Result<All<'_, Q>, Error> {
        let all = self.lock_all();
        all.whole.standing.check_alive(self.id, life)?;
        Ok(all)
    }
}

impl Standing {
    /// How a context on these terms is divided.
    pub(super) fn divided_mode(&self) -> Mode {
        let limits = self.terms.limits();
        if limits.no_any_source && limits.no_any_tag {
            Mode::ByBits
        } else {
            Mode::BySource
        }
    }
}

/// Lives.
impl<Q: MatchQueues> Context<Q> {
    /// Begins a life with queues made from `config`, and returns the life's number.
    ///
    /// # Errors
    /// [`Error::ContextExists`], or an error in the terms.
    pub(super) fn begin(&self, terms: Result<Terms, Error>, config: Config) -> Result<u64, Error> {
        let divide_at_once = self.sharding.divide == Divide::AtOnce;
        if divide_at_once {
            self.make_shards();
        }
        let mut all = self.lock_all();
        let whole = &mut *all.whole;
        if whole.standing.mode != Mode::Absent {
            return Err(Error::ContextExists(self.id));
        }
        let terms = terms?;
        let life = whole.standing.life + 1;
        whole.queues = Q::with_config(&config);
        whole.pressure = Pressure::default();
        *self.config.lock() = config;
        self.all_stand(
            &mut all,
            Standing {
                mode: Mode::Whole,
                life,
                terms,
            },
        );
        if divide_at_once {
            self.divide_held(&mut all);
        }
        Ok(life)
    }

    /// Divides the undivided queues, unless another thread did, or the context was freed or is in
    /// a life other than the one the caller means.
    #[cold]
    pub(super) fn divide(&self, life: MeantLife) {
        self.make_shards();
        let mut all = self.lock_all();
        let standing = &all.whole.standing;
        if standing.mode == Mode::Whole && standing.is_alive(life) {
            self.divide_held(&mut all);
        }
    }

    fn make_shards(&self) {
        if self.shards.get().is_none() {
            let whole = self.whole.lock();
            if self.shards.get().is_none() {
                let absent = || CachePadded::new(Lock::new());
                let shards = (0..self.sharding.count()).map(|_| absent()).collect();
                // Nobody else sets it: setting it requires this lock.
                let _ = self.shards.set(shards);
            }
            drop(whole);
        }
    }

    fn divide_held(&self, all: &mut All<'_, Q>) {
        let whole = &mut *all.whole;
        let mode = whole.standing.divided_mode();
        let config = self.config.lock().clone();
        let count = count_of(whole.queues.next_sequence());
        whole.gate = OPEN;
        whole.before = Before {
            count,
            receives: whole.queues.posted_len(),
        };
        for (index, shard) in all.shards.iter_mut().enumerate() {
            shard.queues = Q::with_config(&Config {
                first_sequence: PlaceId::shard(index).number(count),
                ..config.clone()
            });
            shard.pressure = Pressure::default();
        }
        let standing = Standing {
            mode,
            ..whole.standing
        };
        all.tell_what_was_before(mode);
        self.all_stand(all, standing);
    }

    /// Ends the present life. Returns the entries left, receives first, and the number from which the
    /// next life must count.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub(super) fn end(&self) -> Result<(Vec<RemovedOf<Q>>, u64), Error> {
        let mut all = self.lock_alive(None)?;
        let removed = self.purge(&mut all, &mut |_| true);
        let retired = all.next_count();
        let standing = Standing {
            life: all.whole.standing.life,
            ..Standing::ABSENT
        };
        *all.whole = Place::absent();
        for shard in &mut all.shards {
            **shard = Place::absent();
        }
        // A profile of senders may be large.
        *self.config.lock() = Config::default();
        self.all_stand(&mut all, standing);
        Ok((removed, retired))
    }

    /// Gives every place, and then later operations, the new standing of the context. [STAND]
    pub(super) fn all_stand(&self, all: &mut All<'_, Q>, standing: Standing) {
        all.whole.standing = standing;
        for shard in &mut all.shards {
            shard.standing = standing;
        }
        // Relaxed: the places say the same under their locks, and they decide. [MODE]
        self.mode.store(standing.mode as u8, Ordering::Relaxed);
    }
}

impl<Q: MatchQueues> All<'_, Q> {
    /// A count greater than that of any entry so far.
    pub(super) fn next_count(&self) -> u64 {
        let places = self.shards.iter().chain([&self.whole]);
        let counts = places.map(|place| count_of(place.queues.next_sequence()));
        counts.fold(0, u64::max)
    }

    /// Shows the entries of every place.
    pub(super) fn visit(&self, visitor: &mut dyn FnMut(EntryOf<'_, Q>)) {
        self.whole.queues.visit(visitor);
        for shard in &self.shards {
            shard.queues.visit(visitor);
        }
    }

    pub(super) fn posted_len(&self) -> usize {
        let shards = self.shards.iter().map(|shard| shard.queues.posted_len());
        self.whole.queues.posted_len() + shards.sum::<usize>()
    }

    pub(super) fn unexpected_len(&self) -> usize {
        let shards = self
            .shards
            .iter()
            .map(|shard| shard.queues.unexpected_len());
        self.whole.queues.unexpected_len() + shards.sum::<usize>()
    }
}

/// All entries.
impl<Q: MatchQueues> Context<Q> {
    /// Takes out the entries that `select` chooses: all receives, then all messages. `select` is asked
    /// about all entries before any is taken, so if it panics, all stay where they are.
    pub(super) fn purge(
        &self,
        all: &mut All<'_, Q>,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
    ) -> Vec<RemovedOf<Q>> {
        let mut chosen = Vec::new();
        all.visit(&mut |entry| chosen.push(select(entry)));
        // The early ones are shown before all others.
        let early = chosen.iter().take(all.whole.before.receives);
        let early = early.filter(|&&is_chosen| is_chosen).count();
        // Queues are purged in the order in which they are shown.
        let mut chosen = chosen.into_iter();
        let select = &mut |_: EntryOf<'_, Q>| chosen.next() == Some(true);
        let mut receives = Vec::new();
        let mut messages = Vec::new();
        let mut back = |removed: RemovedOf<Q>| match removed {
            Removed::Posted(..) => receives.push(removed),
            Removed::Unexpected(..) => messages.push(removed),
        };
        all.whole.queues.purge(select, &mut back);
        all.whole.after_receives_left(early);
        for shard in &mut all.shards {
            shard.queues.purge(select, &mut back);
        }
        if all.whole.standing.mode.is_divided() {
            all.tell_what_was_before(all.whole.standing.mode);
        }
        if let Some(budget) = &self.budget {
            budget.release_all(messages.iter().filter_map(|removed| match removed {
                Removed::Posted(..) => None,
                Removed::Unexpected(envelope, message) => Some((envelope, message)),
            }));
        }
        receives.append(&mut messages);
        receives
    }
}

/// All queues.
impl<Q: MatchQueues> Context<Q> {
    /// [`purge`](Self::purge), which calls `back` with no lock held.
    pub(super) fn purge_alive(
        &self,
        life: MeantLife,
        select: &mut dyn FnMut(EntryOf<'_, Q>) -> bool,
        back: &mut dyn FnMut(RemovedOf<Q>),
    ) -> Result<(), Error> {
        let mut all = self.lock_alive(life)?;
        let removed = self.purge(&mut all, select);
        drop(all);
        removed.into_iter().for_each(back);
        Ok(())
    }

    /// Posted receives and unexpected messages at one moment.
    pub(super) fn lengths(&self, life: MeantLife) -> Result<(usize, usize), Error> {
        let all = self.lock_alive(life)?;
        Ok((all.posted_len(), all.unexpected_len()))
    }

    /// Announces a collective call to every place, since it is unknown which of them its messages will
    /// reach.
    pub(super) fn announce(&self, life: MeantLife, call: &CollectiveCall) -> Result<(), Error> {
        let mut all = self.lock_alive(life)?;
        all.whole.queues.announce(call);
        for shard in &mut all.shards {
            shard.queues.announce(call);
        }
        Ok(())
    }

    /// Empties all places, which forget what they learned. The caller drops the returned entries when it
    /// holds no lock.
    pub(super) fn clear(&self) -> Vec<RemovedOf<Q>> {
        let mut all = self.lock_all();
        let removed = self.purge(&mut all, &mut |_| true);
        all.whole.queues.clear();
        for shard in &mut all.shards {
            shard.queues.clear();
        }
        removed
    }
}

impl<Q: MatchQueues + Footprint> Context<Q> {
    pub(super) fn memory(&self) -> Memory {
        let all = self.lock_all();
        let own = Memory {
            entries: 0,
            index: arc_bytes::<Self>() + all.shards.len() * size_of::<CachePadded<Lock<Q>>>(),
        };
        let shards = all.shards.iter().map(|shard| shard.queues.memory());
        shards.fold(own + all.whole.queues.memory(), |a, b| a + b)
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::ContextOptions;
    use crate::mpi::MpiPattern;
    use crate::structures::Indexed;

    #[test]
    fn waits_of_another_life_or_before_the_division_do_not_count() {
        let id = ContextId(0);
        let context: Context<Indexed<MpiPattern, u32, u32>> =
            Context::new(id, Sharding::new().shards(2), None);
        for life in 1..=2 {
            // Threads that meet at a context that does not exist wait for each other too.
            context.whole().pressure.waited(0, false);
            let terms = Terms::new(id, &ContextOptions::new());
            assert_eq!(context.begin(terms, Config::default()), Ok(life));
            assert_eq!(context.whole().pressure.waits(), 0);
            context.make_shards();
            for shard in &mut context.lock_all().shards {
                shard.pressure.waited(0, false);
            }
            context.divide(None);
            for shard in &context.lock_all().shards {
                assert_eq!(shard.pressure.waits(), 0);
            }
            assert!(context.end().is_ok());
        }
    }

    #[test]
    fn a_life_is_not_divided_for_what_was_waited_in_the_last_one() {
        let id = ContextId(0);
        let context: Context<Indexed<MpiPattern, u32, u32>> =
            Context::new(id, Sharding::new().shards(2), None);
        let begin = || context.begin(Terms::new(id, &ContextOptions::new()), Config::default());
        assert_eq!(begin(), Ok(1));
        for _ in 0..1024 {
            let mut whole = context.whole();
            let handle = whole.queues.queue_receive(MpiPattern::new(0, 1, 7), 0);
            assert!(whole.queues.cancel(handle).is_some());
            let come = whole.queues.queued_total();
            if come > 992 && come < 1024 {
                assert!(!whole.pressure.waited(come, true));
            }
        }
        // The next one that has to wait finds that it is time to divide the context.
        let contended = (0..1000).find_map(|_| {
            let turn = Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let whole = context.whole();
                    turn.wait();
                    thread::sleep(Duration::from_millis(1));
                    drop(whole);
                });
                turn.wait();
                context.lock_whole(None).err()
            })
        });
        assert_eq!(contended, Some(Some(1)));
        // The life is over when it comes to that.
        assert!(context.end().is_ok());
        assert_eq!(begin(), Ok(2));
        context.divide(contended.flatten());
        assert_eq!(context.whole().standing.mode, Mode::Whole);
        context.divide(Some(2));
        assert_eq!(context.whole().standing.mode, Mode::BySource);
    }
}
