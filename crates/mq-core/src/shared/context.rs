//! [`Context`]: the places of one context, and their locks.

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use super::all::{All, Held};
use super::lock::Lock;
use super::numbers::PlaceId;
use super::options::{Divide, Sharding};
use super::place::{MeantLife, Mode, Place, Reach, Standing, shard_of};
use super::sync::{AtomicU8, Mutex, MutexGuard, Once, Ordering};
use crate::config::Config;
use crate::engine::CommonBudget;
use crate::envelope::ContextId;
use crate::error::Error;
use crate::queues::MatchQueues;

/// One context, for all of its lives: it is freed and created again in place, so that readers of the
/// directory may keep a reference.
///
/// The fields before the undivided queues are read by every operation and hardly ever written.
pub(super) struct Context<Q: MatchQueues> {
    pub(super) id: ContextId,
    /// Where to look first; the place itself tells whether that was right.
    mode: AtomicU8,
    pub(super) sharding: Sharding,
    pub(super) budget: Option<Arc<CommonBudget<Q::Message>>>,
    shards: Once<Box<[CachePadded<Lock<Q>>]>>,
    /// For the queues of shards. Its lock is taken while other locks are held, never the other way
    /// round.
    pub(super) config: Mutex<Config>,
    undivided: CachePadded<Lock<Q>>,
}

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
            undivided: CachePadded::new(Lock::new()),
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
            Reach::Undivided => &self.undivided,
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
                _ => match self.lock_undivided(life) {
                    Ok(undivided) => Held::One(PlaceId::UNDIVIDED, undivided),
                    Err(contended) => {
                        self.divide(contended);
                        continue;
                    }
                },
            };
            let found = held.standing().mode;
            let right = match held {
                Held::One(PlaceId::UNDIVIDED, _) => !found.is_divided(),
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
    pub(super) fn lock_undivided(
        &self,
        life: MeantLife,
    ) -> Result<MutexGuard<'_, Place<Q>>, MeantLife> {
        let can_divide = self.sharding.divide == Divide::WhenContended;
        let (undivided, divide) = self.undivided.lock_alone(life, can_divide);
        if divide {
            return Err(undivided.standing.life_now());
        }
        Ok(undivided)
    }

    /// Locks the undivided queues, whatever they hold, for a caller that may hold other locks.
    pub(super) fn undivided(&self) -> MutexGuard<'_, Place<Q>> {
        self.undivided.lock()
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
        let undivided = self.lock_undivided(life).unwrap_or_else(|contended| {
            self.divide(contended);
            self.undivided()
        });
        Some(undivided)
    }

    /// Locks everything: the shards in ascending order, then the undivided queues. [ORDER]
    pub(super) fn lock_all(&self) -> All<'_, Q> {
        loop {
            let shards: Vec<_> = match self.shards.get() {
                Some(shards) => shards.iter().map(|shard| shard.lock()).collect(),
                None => Vec::new(),
            };
            let undivided = self.undivided.lock();
            // The context may have been divided in between; then its shards are visible now.
            if !shards.is_empty() || !undivided.standing.mode.is_divided() {
                return All { shards, undivided };
            }
        }
    }

    /// [`lock_all`](Self::lock_all), of a life that must be present.
    ///
    /// # Errors
    /// [`Error::UnknownContext`].
    pub(super) fn lock_alive(&self, life: MeantLife) -> Result<All<'_, Q>, Error> {
        let all = self.lock_all();
        all.undivided.standing.check_alive(self.id, life)?;
        Ok(all)
    }

    /// Makes the shards, if there are none yet.
    pub(super) fn make_shards(&self) {
        if self.shards.get().is_none() {
            let undivided = self.undivided.lock();
            if self.shards.get().is_none() {
                let absent = || CachePadded::new(Lock::new());
                let shards = (0..self.sharding.count()).map(|_| absent()).collect();
                // Nobody else sets it: setting it requires this lock.
                let _ = self.shards.set(shards);
            }
            drop(undivided);
        }
    }

    /// Gives every place, and then later operations, the new standing of the context. [STAND]
    pub(super) fn all_stand(&self, all: &mut All<'_, Q>, standing: Standing) {
        all.undivided.standing = standing;
        for shard in &mut all.shards {
            shard.standing = standing;
        }
        // Relaxed: the places say the same under their locks, and they decide. [MODE]
        self.mode.store(standing.mode as u8, Ordering::Relaxed);
    }
}
