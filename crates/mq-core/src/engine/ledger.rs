//! [`Ledger`]: how much of a budget the unexpected messages use.

mod sources;

use core::fmt;

use self::sources::Sources;
use super::budget::{Budget, HighWater, Used};
use crate::envelope::Envelope;
use crate::error::Error;

/// What is called when a high mark is reached.
pub(crate) type HighWaterCall = Box<dyn FnMut(Used) + Send + Sync>;

/// The use of a budget; present only in an engine with a budget or a high-water mark.
pub(crate) struct Ledger<M> {
    budget: Budget<M>,
    /// Messages, and their total weight, which may exceed what a [`Used`] can hold if weights are counted
    /// but not limited.
    entries: usize,
    bytes: u128,
    /// If the budget limits sources.
    sources: Sources,
    alarm: Option<Alarm>,
}

struct Alarm {
    marks: HighWater,
    armed: bool,
    /// The use when a mark was reached, if the call has not been made yet.
    due: Option<Used>,
    /// `None` if the ledger's holder makes the call itself.
    call: Option<HighWaterCall>,
}

impl<M> Ledger<M> {
    pub(super) fn new(
        budget: Budget<M>,
        high_water: Option<(HighWater, HighWaterCall)>,
    ) -> Option<Box<Self>> {
        let needed = budget.is_limited() || high_water.is_some();
        needed.then(|| {
            Box::new(Self {
                budget,
                entries: 0,
                bytes: 0,
                sources: Sources::default(),
                alarm: high_water.map(|(marks, call)| Alarm {
                    marks,
                    armed: true,
                    due: None,
                    call: Some(call),
                }),
            })
        })
    }

    pub(super) const fn used(&self) -> Used {
        let most = u64::MAX;
        Used {
            entries: self.entries,
            bytes: if self.bytes > most as u128 {
                most
            } else {
                self.bytes as u64
            },
        }
    }

    /// The weight of a message, if there is room for it.
    pub(super) fn room_for<E: Envelope>(&self, envelope: &E, message: &M) -> Result<u64, Error> {
        let (used, limit) = (self.used(), self.budget.entries);
        if used.entries >= limit {
            return Err(Error::EntryBudget { limit });
        }
        let wanted = self.weight(message);
        let limit = self.budget.bytes;
        if limit != u64::MAX && wanted > limit.saturating_sub(used.bytes) {
            return Err(Error::ByteBudget {
                limit,
                used: used.bytes,
                wanted,
            });
        }
        if self.budget.limits_sources() {
            self.room_at_source(envelope, wanted)?;
        }
        Ok(wanted)
    }

    fn room_at_source<E: Envelope>(&self, envelope: &E, wanted: u64) -> Result<(), Error> {
        let (context, rank) = (envelope.context(), envelope.source());
        let used = self.sources.get(key(envelope));
        let limit = self.budget.source_entries;
        if used.entries >= limit {
            return Err(Error::SourceEntryBudget {
                context,
                rank,
                limit,
            });
        }
        let limit = self.budget.source_bytes;
        if limit != u64::MAX && wanted > limit.saturating_sub(used.bytes) {
            return Err(Error::SourceByteBudget {
                context,
                rank,
                limit,
                used: used.bytes,
                wanted,
            });
        }
        Ok(())
    }

    fn weight(&self, message: &M) -> u64 {
        self.budget.weigh.map_or(0, |weigh| weigh(message))
    }

    /// A message was queued, after [`room_for`](Self::room_for) found room.
    pub(super) fn take<E: Envelope>(&mut self, envelope: &E, weight: u64) {
        if self.count(envelope, weight) {
            self.ring();
        }
    }

    /// [`take`](Self::take) without the call; returns whether [`ring`](Self::ring) must follow.
    /// Others may take messages out before that.
    pub(super) fn count<E: Envelope>(&mut self, envelope: &E, weight: u64) -> bool {
        self.entries += 1;
        self.bytes += u128::from(weight);
        let used = self.used();
        if self.budget.limits_sources() {
            self.sources.add(key(envelope), weight);
        }
        if let Some(alarm) = &mut self.alarm
            && alarm.armed
            && alarm.marks.is_reached(used)
        {
            alarm.armed = false;
            alarm.due = Some(used);
        }
        self.alarm.as_ref().is_some_and(|alarm| alarm.due.is_some())
    }

    /// Makes the call if a high mark has been reached.
    fn ring(&mut self) {
        // Cleared before the call, which may panic.
        if let Some(used) = self.take_due()
            && let Some(alarm) = &mut self.alarm
            && let Some(call) = &mut alarm.call
        {
            call(used);
        }
    }

    /// What the call is to be told, if a high mark has been reached.
    pub(super) fn take_due(&mut self) -> Option<Used> {
        self.alarm.as_mut()?.due.take()
    }

    /// The call, for a holder that makes it itself.
    #[cfg(feature = "shared")]
    pub(super) fn take_call(&mut self) -> Option<HighWaterCall> {
        self.alarm.as_mut()?.call.take()
    }

    /// A message has left.
    pub(super) fn release<E: Envelope>(&mut self, envelope: &E, message: &M) {
        self.give_back(envelope, self.weight(message));
    }

    /// Some messages have left together.
    #[cfg(feature = "shared")]
    pub(super) fn release_all<'a, E: Envelope + 'a>(
        &mut self,
        messages: impl Iterator<Item = (&'a E, &'a M)>,
    ) where
        M: 'a,
    {
        for (envelope, message) in messages {
            self.subtract(envelope, self.weight(message));
        }
        self.rearm();
    }

    /// The room of a message of this weight is free again.
    pub(super) fn give_back<E: Envelope>(&mut self, envelope: &E, weight: u64) {
        self.subtract(envelope, weight);
        self.rearm();
    }

    fn subtract<E: Envelope>(&mut self, envelope: &E, weight: u64) {
        // Saturating, for a `weigh` that returns different values, and for messages that were queued
        // past the budget.
        self.entries = self.entries.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(u128::from(weight));
        if self.budget.limits_sources() {
            self.sources.subtract(key(envelope), weight);
        }
    }

    fn rearm(&mut self) {
        let used = self.used();
        if let Some(alarm) = &mut self.alarm {
            alarm.armed |= alarm.marks.is_left(used);
        }
    }

    /// All messages have left.
    pub(super) fn clear(&mut self) {
        (self.entries, self.bytes) = (0, 0);
        self.sources.clear();
        self.rearm();
    }

    /// Bytes of the tables of sources, and of what the caller's function has captured.
    pub(super) fn heap_bytes(&self) -> usize {
        let call = self.alarm.as_ref().and_then(|alarm| alarm.call.as_deref());
        self.sources.heap_bytes() + call.map_or(0, size_of_val)
    }
}

impl<M> fmt::Debug for Ledger<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("budget", &self.budget)
            .field("used", &self.used())
            .field("marks", &self.alarm.as_ref().map(|alarm| alarm.marks))
            .finish_non_exhaustive()
    }
}

fn key<E: Envelope>(envelope: &E) -> u64 {
    u64::from(envelope.context().0) << 32 | u64::from(envelope.source().0)
}

#[cfg(test)]
mod tests;
