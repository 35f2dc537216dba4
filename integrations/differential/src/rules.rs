//! [`Rules`]: what MPI defines, as plain code, and where it leaves a choice to the library.
//!
//! MPI 4.1 §3.5: of the posted receives that match a message, it takes the earliest; of the
//! messages of one sender that match a receive, it takes the earliest. Which sender a receive from
//! any source takes, if several have sent, is the library's choice.

use std::collections::BTreeMap;

use crate::event::{Event, Message, Receive, Wanted, Which};

/// Whether MPI left anything to choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Freedom {
    /// It had to be that pairing.
    Strict,
    /// Messages of several senders match: any one's earliest would do.
    Free,
}

/// The two queues of the receiving process, as the library's answers make them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    receives: Vec<(u32, Wanted)>,
    messages: Vec<Message>,
}

/// Whether a receive or probe is for a message.
pub(crate) fn admits(wanted: &Wanted, message: &Message) -> bool {
    wanted.comm == message.comm
        && wanted.sender.is_none_or(|sender| sender == message.sender)
        && wanted.tag.is_none_or(|tag| tag == message.tag)
}

impl Rules {
    /// Messages that a receive may take: of each sender, the earliest that matches. In order of
    /// arrival.
    pub(crate) fn candidates(&self, wanted: &Wanted) -> Vec<Message> {
        let mut candidates: Vec<Message> = Vec::new();
        for message in &self.messages {
            let overtaken = candidates.iter().any(|c| c.sender == message.sender);
            if admits(wanted, message) && !overtaken {
                candidates.push(*message);
            }
        }
        candidates
    }

    /// Finds an order in which messages can have arrived, several senders' parts in any order but
    /// each in its own, so that each took the receive which it is known to have taken, or none.
    /// Gives that order; else as much of it as there is, ended by a message that cannot have taken
    /// its receive, and `false`.
    ///
    /// Whichever message can be next may be next: the receive that it takes is wanted by no other,
    /// and one that takes none leaves the receives as they are. So there is nothing to try out.
    pub(crate) fn explain(
        &self,
        parts: &[&[Message]],
        took: &BTreeMap<u32, u32>,
    ) -> (Vec<Event>, bool) {
        let mut future = self.clone();
        let mut left: Vec<&[Message]> = parts.to_vec();
        let mut order = Vec::new();
        let mut turn = 0;
        let arrived = |message: &Message| Event::Arrived {
            message: *message,
            receive: took.get(&message.id).copied(),
        };
        loop {
            // By turns, so that the parts mix.
            let turns = (turn..).take(left.len()).map(|turn| turn % parts.len());
            let next = turns.into_iter().find(|part| {
                let head = left[*part].first();
                head.is_some_and(|m| future.receive_for(m) == took.get(&m.id).copied())
            });
            let Some(part) = next else {
                let stuck = left.iter().find_map(|part| part.first());
                order.extend(stuck.map(arrived));
                return (order, stuck.is_none());
            };
            let (head, rest) = left[part].split_first().expect("it has a head");
            future
                .receives
                .retain(|(posted, _)| Some(posted) != took.get(&head.id));
            order.push(arrived(head));
            left[part] = rest;
            turn = part + 1;
        }
    }

    /// Whether a receive waits for its message.
    pub(crate) fn is_posted(&self, receive: u32) -> bool {
        self.receives.iter().any(|(posted, _)| *posted == receive)
    }

    /// The message that has waited longest.
    pub(crate) fn first_message(&self) -> Option<&Message> {
        self.messages.first()
    }

    /// Receives and messages that wait.
    pub(crate) const fn lengths(&self) -> [usize; 2] {
        [self.receives.len(), self.messages.len()]
    }

    fn receive_for(&self, message: &Message) -> Option<u32> {
        let found = self.receives.iter().find(|(_, w)| admits(w, message));
        found.map(|(receive, _)| *receive)
    }

    /// Says whether the library was free in what it did and takes it over.
    ///
    /// # Errors
    /// MPI demands something else.
    pub(crate) fn judge(&mut self, event: &Event) -> Result<Freedom, String> {
        match *event {
            Event::Arrived { message, receive } => {
                let due = self.receive_for(&message);
                if due != receive {
                    let due = Receive(due);
                    return Err(format!("{event}; the earliest that matches is {due}"));
                }
                match receive {
                    Some(receive) => self.receives.retain(|(posted, _)| *posted != receive),
                    None => self.messages.push(message),
                }
                Ok(Freedom::Strict)
            }
            Event::Posted {
                receive,
                wanted,
                message,
            } => {
                let freedom = self.choice(event, &wanted, message)?;
                match message {
                    Some(message) => self.remove(&message),
                    None => self.receives.push((receive, wanted)),
                }
                Ok(freedom)
            }
            Event::Probed { wanted, message } => self.choice(event, &wanted, message),
            Event::Extracted { wanted, message } => {
                let freedom = self.choice(event, &wanted, message)?;
                if let Some(message) = message {
                    self.remove(&message);
                }
                Ok(freedom)
            }
            Event::Cancelled { receive, done } => {
                if self.is_posted(receive) != done {
                    let state = if done { "had its message" } else { "waited" };
                    return Err(format!("{event}, but it {state}"));
                }
                self.receives.retain(|(posted, _)| *posted != receive);
                Ok(Freedom::Strict)
            }
            Event::Collective { .. } => Ok(Freedom::Strict),
            Event::Empty => {
                let [receives, messages] = self.lengths();
                if receives + messages > 0 {
                    return Err(format!(
                        "{event}, but {receives} receives and {messages} messages must be left"
                    ));
                }
                Ok(Freedom::Strict)
            }
        }
    }

    fn choice(
        &self,
        event: &Event,
        wanted: &Wanted,
        chosen: Option<Message>,
    ) -> Result<Freedom, String> {
        let candidates = self.candidates(wanted);
        let legal = match chosen {
            Some(message) => candidates.contains(&message),
            None => candidates.is_empty(),
        };
        if !legal {
            let due: Vec<String> = candidates.iter().map(ToString::to_string).collect();
            let due = if due.is_empty() {
                Which(None).to_string()
            } else {
                due.join(" or ")
            };
            return Err(format!("{event}; MPI demands {due}"));
        }
        Ok(if candidates.len() > 1 {
            Freedom::Free
        } else {
            Freedom::Strict
        })
    }

    fn remove(&mut self, message: &Message) {
        self.messages.retain(|waiting| waiting.id != message.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: u32, sender: u32, tag: i32) -> Message {
        Message {
            id,
            comm: 0,
            sender,
            tag,
            long: false,
        }
    }

    fn wanted(sender: Option<u32>, tag: Option<i32>) -> Wanted {
        Wanted {
            comm: 0,
            sender,
            tag,
        }
    }

    fn waiting(messages: &[Message]) -> Rules {
        let mut rules = Rules::default();
        for &message in messages {
            let arrived = Event::Arrived {
                message,
                receive: None,
            };
            assert_eq!(rules.judge(&arrived), Ok(Freedom::Strict));
        }
        rules
    }

    #[test]
    fn a_message_takes_the_earliest_receive_and_no_other() {
        let mut rules = Rules::default();
        for (receive, wanted) in [
            (0, wanted(Some(2), None)),
            (1, wanted(None, Some(5))),
            (2, wanted(Some(1), Some(5))),
        ] {
            let posted = Event::Posted {
                receive,
                wanted,
                message: None,
            };
            assert_eq!(rules.judge(&posted), Ok(Freedom::Strict));
        }
        let arriving = [message(0, 1, 5), message(1, 1, 5), message(2, 1, 5)];
        let explained = |took: &[(u32, u32)]| {
            let took = took.iter().copied().collect();
            rules.explain(&[&arriving], &took).1
        };
        assert!(explained(&[(0, 1), (1, 2)]));
        assert!(!explained(&[(0, 2), (1, 1)]));
        assert!(!explained(&[(0, 1)]));
        assert!(!explained(&[(0, 1), (1, 2), (2, 0)]));
        let overtakes = Event::Arrived {
            message: arriving[0],
            receive: Some(2),
        };
        assert!(rules.judge(&overtakes).is_err());
    }

    #[test]
    fn messages_of_several_senders_may_have_come_in_any_order() {
        let mut rules = Rules::default();
        for receive in 0..3 {
            let posted = Event::Posted {
                receive,
                wanted: wanted(None, Some(5)),
                message: None,
            };
            assert!(rules.judge(&posted).is_ok());
        }
        let one = [message(0, 1, 5), message(1, 1, 5)];
        let other = [message(2, 2, 5), message(3, 2, 5)];
        let explain = |took: &[(u32, u32)]| {
            let took = took.iter().copied().collect();
            rules.explain(&[&one, &other], &took)
        };
        for took in [
            [(0, 0), (1, 1), (2, 2)],
            [(0, 1), (2, 0), (3, 2)],
            [(0, 2), (2, 0), (3, 1)],
        ] {
            let (order, complete) = explain(&took);
            assert!(complete, "{took:?}");
            let mut judge = rules.clone();
            assert!(order.iter().all(|event| judge.judge(event).is_ok()));
            assert_eq!(judge.lengths(), [0, 1]);
        }
        for took in [
            // A sender's messages in the wrong order; one that overtakes; one that waits beside a
            // receive.
            &[(0, 1), (1, 0), (2, 2)][..],
            &[(1, 0), (2, 1), (3, 2)],
            &[(0, 0), (2, 1)],
        ] {
            let (order, complete) = explain(took);
            assert!(!complete, "{took:?}");
            let mut judge = rules.clone();
            let (stuck, before) = order.split_last().expect("a message is stuck");
            assert!(before.iter().all(|event| judge.judge(event).is_ok()));
            assert!(judge.judge(stuck).is_err());
        }
    }

    #[test]
    fn any_source_may_take_each_sender_s_earliest() {
        let messages = [message(0, 1, 5), message(1, 1, 5), message(2, 2, 5)];
        for (chosen, legal) in [(0, true), (1, false), (2, true)] {
            let mut rules = waiting(&messages);
            let posted = Event::Posted {
                receive: 0,
                wanted: wanted(None, Some(5)),
                message: Some(messages[chosen]),
            };
            let judged = rules.judge(&posted);
            assert_eq!(judged.is_ok(), legal, "{judged:?}");
            assert!(judged.is_err() || judged == Ok(Freedom::Free));
        }
    }

    #[test]
    fn a_named_source_leaves_no_choice() {
        let messages = [message(0, 1, 5), message(1, 2, 6), message(2, 2, 5)];
        let mut rules = waiting(&messages);
        for (chosen, freedom) in [
            (None, None),
            (Some(2), None),
            (Some(1), Some(Freedom::Strict)),
        ] {
            let probed = Event::Probed {
                wanted: wanted(Some(2), None),
                message: chosen.map(|at: usize| messages[at]),
            };
            assert_eq!(rules.judge(&probed).ok(), freedom);
        }
    }

    #[test]
    fn a_receive_is_cancelled_only_while_it_waits() {
        let mut rules = Rules::default();
        let posted = Event::Posted {
            receive: 0,
            wanted: wanted(None, None),
            message: None,
        };
        assert!(rules.judge(&posted).is_ok());
        let (done, late) = (true, false);
        let cancelled = |done| Event::Cancelled { receive: 0, done };
        assert!(rules.judge(&cancelled(late)).is_err());
        assert!(rules.judge(&cancelled(done)).is_ok());
        assert!(rules.judge(&cancelled(done)).is_err());
        assert!(rules.judge(&cancelled(late)).is_ok());
        assert!(rules.judge(&Event::Empty).is_ok());
    }
}
