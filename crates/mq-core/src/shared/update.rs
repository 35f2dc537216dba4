//! Changing the terms of a context in use by threads.

use super::context::Context;
use super::engine::SharedEngine;
use super::place::{MeantLife, Mode, Standing};
use super::shared_context::SharedContext;
use crate::engine::{ContextOptions, Terms};
use crate::envelope::ContextId;
use crate::error::Error;
use crate::queues::MatchQueues;

impl<Q: MatchQueues> Context<Q> {
    fn update(&self, life: MeantLife, options: &ContextOptions) -> Result<(), Error> {
        let mut all = self.lock_alive(life)?;
        let terms = Terms::new(self.id, options)?;
        if terms.are_stricter_than(&all.undivided.standing.terms) {
            let mut checked = Ok(());
            all.visit(&mut |entry| {
                if checked.is_ok() {
                    checked = terms.check_entry::<Q>(self.id, &entry);
                }
            });
            checked?;
        }
        let mut standing = Standing {
            terms,
            ..all.undivided.standing
        };
        if standing.mode == Mode::ByBits {
            standing.mode = standing.divided_mode();
            // Two shards do not know which of one sender's messages came first.
            if standing.mode != Mode::ByBits && !all.shards_are_empty() {
                return Err(Error::PromisesInUse(self.id));
            }
            // Entries left from before the division may belong to other shards now.
            all.tell_what_was_before(standing.mode);
        }
        let mut config = self.config.lock();
        config.size = options.size;
        config.allow_overtaking = options.allow_overtaking;
        all.update(self.id, &config);
        drop(config);
        self.all_stand(&mut all, standing);
        Ok(())
    }
}

impl<Q: MatchQueues> SharedEngine<Q> {
    /// Sets the size and promises of a context: see
    /// [`Engine::update_context`](crate::Engine::update_context). Each shard redoes its plan as soon as nothing
    /// is queued in it.
    ///
    /// In a context divided by everything that is matched, as the two promises allow, they can be
    /// withdrawn only while its shards are empty: shards do not know the order between one sender's
    /// messages with different tags.
    ///
    /// # Cost
    /// Takes all locks of the context, and visits its entries if something that was admitted no longer is.
    ///
    /// # Errors
    /// As for [`Engine::update_context`](crate::Engine::update_context), and [`Error::PromisesInUse`]. Nothing has
    /// changed then.
    ///
    /// # Example
    /// ```
    /// use mq_core::mpi::MpiPattern;
    /// use mq_core::shared::SharedEngine;
    /// use mq_core::structures::Indexed;
    /// use mq_core::{ContextId, ContextOptions, Error, Source};
    ///
    /// let engine: SharedEngine<Indexed<MpiPattern, u64, &str>> = SharedEngine::new();
    /// engine.create_context(0, ContextOptions::new())?;
    /// engine.update_context(0, ContextOptions::new().size(4).no_any_source())?;
    /// let refused = engine.post(MpiPattern::new(0, Source::Any, 5), 1).unwrap_err();
    /// assert_eq!(refused.error, Error::AnySourceForbidden(ContextId(0)));
    /// # Ok::<(), Error>(())
    /// ```
    #[expect(
        clippy::needless_pass_by_value,
        reason = "options are made for one call, as those that create"
    )]
    pub fn update_context(
        &self,
        context: impl Into<ContextId>,
        options: ContextOptions,
    ) -> Result<(), Error> {
        self.find(context.into())?.update(None, &options)
    }
}

impl<Q: MatchQueues> SharedContext<Q> {
    /// Sets the size and promises of the context: see [`SharedEngine::update_context`].
    ///
    /// # Errors
    /// As for [`SharedEngine::update_context`](super::SharedEngine::update_context).
    #[expect(
        clippy::needless_pass_by_value,
        reason = "options are made for one call, as those that create"
    )]
    pub fn update(&self, options: ContextOptions) -> Result<(), Error> {
        self.context.update(Some(self.life), &options)
    }
}
