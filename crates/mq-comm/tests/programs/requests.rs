//! Requests, alone and in a set, ended alike.

use mq_comm::{
    Communicator, Completion, Error, Request, RequestId, RequestSet, SharedBuffer, Status, World,
};

use crate::draw::Draw;

pub(crate) enum Pending {
    Alone(Request<Vec<u8>>),
    InSet(RequestId),
    /// A scope has it.
    Lent,
}

const IN_SCOPE: &str = "what a scope has ends there";

/// The buffer, and how the request ended.
pub(crate) type Ended = (Vec<u8>, Result<Status, Error>);

pub(crate) struct Requests {
    set: RequestSet,
    /// What the set has reported while another was looked for.
    reported: Vec<(RequestId, Ended)>,
}

impl Requests {
    pub(crate) fn new(world: &World) -> Self {
        Self {
            set: world.request_set(),
            reported: Vec::new(),
        }
    }

    pub(crate) fn keep(&mut self, request: Request<Vec<u8>>, draw: &mut Draw) -> Pending {
        match draw.chance(30) {
            true => Pending::InSet(self.set.add(request)),
            false => Pending::Alone(request),
        }
    }

    pub(crate) fn keep_shared(&mut self, request: Request<SharedBuffer<u8>>) -> Pending {
        Pending::InSet(self.set.add(request))
    }

    pub(crate) fn is_done(&mut self, pending: &Pending, draw: &mut Draw) -> bool {
        match pending {
            Pending::Alone(request) => request.test().unwrap(),
            Pending::InSet(id) => {
                let mut completed = Vec::new();
                match draw.below(3) {
                    0 => completed.extend(self.set.test_any().unwrap()),
                    1 => drop(self.set.test_some(&mut completed).unwrap()),
                    _ => completed.extend(self.set.test_all().unwrap().into_iter().flatten()),
                }
                self.report(completed);
                self.reported.iter().any(|(reported, _)| reported == id)
            }
            Pending::Lent => unreachable!("{IN_SCOPE}"),
        }
    }

    /// Whether it is in the set yet.
    pub(crate) fn is_in_set(&self, pending: &Pending) -> bool {
        let is_reported = |id| self.reported.iter().any(|(reported, _)| reported == id);
        matches!(pending, Pending::InSet(id) if !is_reported(id))
    }

    /// Drops the set, with all that is in it.
    pub(crate) fn drop_set(&mut self, world: &World) {
        self.set = world.request_set();
    }

    /// Waits for a request that will be complete.
    pub(crate) fn finish(&mut self, pending: Pending, draw: &mut Draw) -> Ended {
        let id = match pending {
            Pending::Alone(request) => return request.finish().unwrap(),
            Pending::InSet(id) => id,
            Pending::Lent => unreachable!("{IN_SCOPE}"),
        };
        loop {
            if let Some(at) = self.reported.iter().position(|(its, _)| *its == id) {
                return self.reported.swap_remove(at).1;
            }
            let mut completed = Vec::new();
            if draw.chance(50) {
                completed.extend(self.set.wait_any().unwrap());
            } else {
                self.set.wait_some(&mut completed).unwrap();
            }
            assert!(!completed.is_empty(), "{id:?} is in the set");
            self.report(completed);
        }
    }

    /// Returns the request if it has matched.
    pub(crate) fn cancel(&mut self, pending: Pending, draw: &mut Draw) -> Result<Vec<u8>, Pending> {
        match pending {
            Pending::Alone(request) => request.cancel().map_err(Pending::Alone),
            Pending::InSet(id) if self.set.cancel(id) => {
                let (buffer, result) = self.finish(pending, draw);
                assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
                Ok(buffer)
            }
            in_set => Err(in_set),
        }
    }

    pub(crate) fn assert_empty(&self) {
        assert!(self.set.is_empty() && self.reported.is_empty());
    }

    fn report(&mut self, completed: Vec<Completion>) {
        for completion in completed {
            let id = completion.id();
            let (result, buffer) = completion.into_parts().unwrap_or_else(|shared| {
                let (result, buffer) = shared.into_shared_parts::<u8>().expect("of bytes");
                (result, buffer.to_vec())
            });
            self.reported.push((id, (buffer, result)));
        }
    }
}

/// A shared buffer, if there is room for one.
pub(crate) fn shared(communicator: &Communicator, bytes: usize) -> Option<SharedBuffer<u8>> {
    match communicator.shared_buffer(bytes) {
        Err(Error::NoBuffer(_)) => None,
        made => Some(made.unwrap()),
    }
}
