//! The lives of a context: begun, divided, ended.

use super::all::All;
use super::context::Context;
use super::numbers::{PlaceId, count_of};
use super::options::Divide;
use super::place::{Before, MeantLife, Mode, OPEN, Place, Standing};
use super::pressure::Pressure;
use crate::config::Config;
use crate::engine::Terms;
use crate::error::Error;
use crate::queues::{MatchQueues, RemovedOf};

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
        let undivided = &mut *all.undivided;
        if undivided.standing.mode != Mode::Absent {
            return Err(Error::ContextExists(self.id));
        }
        let terms = terms?;
        let life = undivided.standing.life + 1;
        undivided.queues = Q::with_config(&config);
        undivided.pressure = Pressure::default();
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
        let standing = &all.undivided.standing;
        if standing.mode == Mode::Whole && standing.is_alive(life) {
            self.divide_held(&mut all);
        }
    }

    fn divide_held(&self, all: &mut All<'_, Q>) {
        let undivided = &mut *all.undivided;
        let mode = undivided.standing.divided_mode();
        let config = self.config.lock().clone();
        let count = count_of(undivided.queues.next_sequence());
        undivided.gate = OPEN;
        undivided.before = Before {
            count,
            receives: undivided.queues.posted_len(),
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
            ..undivided.standing
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
        // First, since a panic in here would lose what has been removed.
        let shards: Vec<_> = all.shards.iter().map(|_| Place::absent()).collect();
        let undivided = Place::absent();
        let removed = self.purge(&mut all, &mut |_| true);
        let retired = all.next_count();
        let standing = Standing {
            life: all.undivided.standing.life,
            ..Standing::ABSENT
        };
        *all.undivided = undivided;
        for (shard, absent) in all.shards.iter_mut().zip(shards) {
            **shard = absent;
        }
        // A profile of senders may be large.
        *self.config.lock() = Config::default();
        self.all_stand(&mut all, standing);
        Ok((removed, retired))
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests;
