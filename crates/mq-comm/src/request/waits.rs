//! How a process waits for requests of a set, and ends the set.

use super::lists::ListOf;
use super::{Completion, RequestId, Stage};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::protocol::{Awaited, Core, State};
use crate::transport::Transport;

/// Who has the handles of a set's requests, with which their buffers go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handles {
    InSet,
    WithUser,
}

impl<T: Transport> Core<T> {
    /// The first complete request of a set that has not been reported. Its buffer comes along if its handle is in the
    /// set.
    pub(crate) fn next_ready(&mut self, set: u32, handles: Handles) -> Option<Completion> {
        let slot = self.state.requests.first(set, ListOf::Ready)?;
        Some(self.report(slot, handles))
    }

    /// Reports a request that is complete and has not been reported, as [`next_ready`](Self::next_ready) does.
    fn report(&mut self, slot: u32, handles: Handles) -> Completion {
        let requests = &mut self.state.requests;
        let id = requests.id(requests.name(slot));
        let context = requests.at(slot).context;
        let result = requests.at(slot).result();
        let mut buffer = Buffer::EMPTY;
        if handles == Handles::InSet {
            buffer = requests.release(slot);
        } else if requests.at(slot).has_handle {
            requests.move_to(slot, ListOf::Reported);
        } else {
            requests.release(slot);
        }
        Completion {
            id,
            context,
            result,
            buffer,
        }
    }

    /// Waits for one request of a set, and reports it; `None` if the set does not have it, or no more.
    pub(crate) fn wait_one(
        &mut self,
        set: u32,
        request: RequestId,
    ) -> Result<Option<Completion>, Error> {
        if self.in_set(set, request).is_none() {
            return Ok(None);
        }
        self.wait_for(&[request])?;
        Ok(self.done_in_set(set, request))
    }

    /// Reports one request of a set if it is complete, after some progress if it is not.
    pub(crate) fn test_one(
        &mut self,
        set: u32,
        request: RequestId,
    ) -> Result<Option<Completion>, Error> {
        let done = self.done_in_set(set, request);
        if done.is_some() || self.in_set(set, request).is_none() {
            return Ok(done);
        }
        self.poll_for_set(set)?;
        Ok(self.done_in_set(set, request))
    }

    /// The slot of a request, if it is one of this set.
    fn in_set(&self, set: u32, request: RequestId) -> Option<u32> {
        let requests = &self.state.requests;
        let slot = requests.find_by_id(request)?;
        (requests.at(slot).set == set).then_some(slot)
    }

    fn done_in_set(&mut self, set: u32, request: RequestId) -> Option<Completion> {
        let slot = self.in_set(set, request)?;
        let is_done = self.state.requests.at(slot).stage == Stage::Done;
        is_done.then(|| self.report(slot, Handles::InSet))
    }

    /// Waits until a request of a set is ready, unless the set has none.
    fn wait_ready(&mut self, set: u32) -> Result<(), Error> {
        self.idle.reset();
        while self.state.requests.ready_len(set) == 0 && self.state.requests.pending_len(set) > 0 {
            self.progress_for(None, |state| state.requests.pending(set))?;
        }
        Ok(())
    }

    pub(crate) fn wait_any(
        &mut self,
        set: u32,
        handles: Handles,
    ) -> Result<Option<Completion>, Error> {
        self.wait_ready(set)?;
        Ok(self.next_ready(set, handles))
    }

    pub(crate) fn wait_some(
        &mut self,
        set: u32,
        handles: Handles,
        into: &mut Vec<Completion>,
    ) -> Result<usize, Error> {
        self.wait_ready(set)?;
        Ok(self.report_ready(set, handles, into))
    }

    /// A request of a set that is ready, if there is one after some progress.
    pub(crate) fn test_any(
        &mut self,
        set: u32,
        handles: Handles,
    ) -> Result<Option<Completion>, Error> {
        let completion = self.next_ready(set, handles);
        if completion.is_some() {
            return Ok(completion);
        }
        self.poll_for_set(set)?;
        Ok(self.next_ready(set, handles))
    }

    pub(crate) fn test_some(
        &mut self,
        set: u32,
        handles: Handles,
        into: &mut Vec<Completion>,
    ) -> Result<usize, Error> {
        if self.state.requests.ready_len(set) == 0 {
            self.poll_for_set(set)?;
        }
        Ok(self.report_ready(set, handles, into))
    }

    /// Whether no request of a set is pending, after some progress if one is.
    pub(crate) fn test_pending(&mut self, set: u32) -> Result<bool, Error> {
        if self.state.requests.pending_len(set) > 0 {
            self.poll_for_set(set)?;
        }
        Ok(self.state.requests.pending_len(set) == 0)
    }

    /// Goes round once for a program that asks for the requests of a set.
    fn poll_for_set(&mut self, set: u32) -> Result<(), Error> {
        let pending = |state: &State| state.requests.pending(set);
        let awaited = Awaited::Requests(&pending, None);
        self.progress_for_asker(awaited).map(drop)
    }

    /// Appends the requests of a set that are ready; returns how many.
    fn report_ready(&mut self, set: u32, handles: Handles, into: &mut Vec<Completion>) -> usize {
        let before = into.len();
        while let Some(completion) = self.next_ready(set, handles) {
            into.push(completion);
        }
        into.len() - before
    }

    /// Waits until no request of a set is pending.
    pub(crate) fn wait_pending(&mut self, set: u32) -> Result<(), Error> {
        self.state.requests.await_all(set);
        self.idle.reset();
        let mut went_well = Ok(());
        while went_well.is_ok() && self.state.requests.pending_len(set) > 0 {
            went_well = self.progress_for(None, |state| state.requests.pending(set));
        }
        self.state.requests.await_none();
        went_well
    }

    /// Waits until these requests are complete, or over.
    pub(crate) fn wait_for(&mut self, requests: &[RequestId]) -> Result<(), Error> {
        let pending = |core: &State, id: RequestId| {
            let slot = core.requests.find_by_id(id)?;
            (core.requests.at(slot).stage != Stage::Done).then_some(slot)
        };
        self.idle.reset();
        for (at, &id) in requests.iter().enumerate() {
            while pending(&self.state, id).is_some() {
                self.progress_for(None, |state| {
                    let left = requests[at..].iter();
                    left.filter_map(|&id| pending(state, id)).collect()
                })?;
            }
        }
        Ok(())
    }

    /// Ends a set: what is not complete is cancelled, withdrawn, or goes on with memory of its own.
    /// Afterwards no lent memory is in the pool, except in a child that has a copy of the process (`fork`):
    /// the child sends nothing in the process's name, and may only drop its copy, or end.
    pub(crate) fn end_set(&mut self, set: u32) {
        for list in [ListOf::Ready, ListOf::Reported] {
            while let Some(slot) = self.state.requests.first(set, list) {
                self.state.requests.release(slot);
            }
        }
        if self.state.requests.pending_len(set) > 0 {
            if self.is_a_copy() {
                return;
            }
            self.end_pending(set);
        }
        self.state.requests.remove_set(set);
    }

    #[cold]
    fn end_pending(&mut self, set: u32) {
        // The withdrawals go out before their answers are waited for; this process itself answers at once.
        let pending = self.state.requests.pending(set);
        for &slot in &pending {
            self.abandon(slot);
        }
        for slot in pending {
            self.see_off(slot);
        }
    }
}
