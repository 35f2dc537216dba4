use super::*;

const ANY: Wanted = Wanted {
    comm: 1,
    sender: None,
    tag: None,
};

fn message(id: u32, sender: u32) -> Message {
    Message {
        id,
        comm: 1,
        sender,
        tag: 5,
        long: false,
    }
}

fn arrived(message: Message, receive: Option<u32>) -> Event {
    Event::Arrived { message, receive }
}

fn posted(receive: u32, message: Option<Message>) -> Event {
    Event::Posted {
        receive,
        wanted: ANY,
        message,
    }
}

/// How many subjects differ when told all this, the last event being the library's free choice.
fn differing(events: &[Event]) -> usize {
    let mut subjects = Subjects::new(4);
    let (last, earlier) = events.split_last().expect("not empty");
    for event in earlier {
        let differences = subjects.tell(event, Freedom::Strict);
        assert!(differences.is_empty(), "{event}: {differences:?}");
    }
    subjects.tell(last, Freedom::Free).len()
}

fn all() -> usize {
    2 * Kind::ALL.len()
}

#[test]
fn a_wrong_receive_is_noticed() {
    let queued = [posted(0, None), posted(1, None)];
    let events = |receive| [queued[0], queued[1], arrived(message(0, 2), receive)];
    assert_eq!(differing(&events(Some(0))), 0);
    assert_eq!(differing(&events(Some(1))), all());
    assert_eq!(differing(&events(None)), all());
}

#[test]
fn a_free_choice_is_followed_and_an_overtaken_message_noticed() {
    let messages = [message(0, 2), message(1, 3), message(2, 3)];
    let waiting = messages.map(|message| arrived(message, None));
    let events = |chosen: Option<Message>| {
        let mut events = waiting.to_vec();
        events.push(posted(0, chosen));
        events
    };
    assert_eq!(differing(&events(Some(messages[0]))), 0);
    assert_eq!(differing(&events(Some(messages[1]))), 0);
    assert_eq!(differing(&events(Some(messages[2]))), all());
    assert_eq!(differing(&events(None)), all());
}

#[test]
fn a_wrong_cancel_is_noticed() {
    let cancelled = |done| Event::Cancelled { receive: 0, done };
    assert_eq!(differing(&[posted(0, None), cancelled(true)]), 0);
    assert_eq!(differing(&[posted(0, None), cancelled(false)]), all());
    let taken = [posted(0, None), arrived(message(0, 1), Some(0))];
    assert_eq!(differing(&[taken[0], taken[1], cancelled(false)]), 0);
    assert_eq!(differing(&[taken[0], taken[1], cancelled(true)]), all());
}

#[test]
fn leftovers_are_noticed_and_collectives_pass() {
    let collective = Event::Collective { comm: 1 };
    assert_eq!(differing(&[posted(0, None), collective]), 0);
    assert_eq!(differing(&[Event::Empty]), 0);
    assert_eq!(differing(&[posted(0, None), Event::Empty]), all());
    assert_eq!(
        differing(&[arrived(message(0, 1), None), Event::Empty]),
        all()
    );
}

#[test]
fn a_structure_that_differs_fails_the_round_and_starts_anew() {
    let mut subjects = Subjects::new(4);
    assert_eq!(
        subjects
            .tell(&arrived(message(0, 2), Some(9)), Freedom::Strict)
            .len(),
        all()
    );
    assert!(subjects.tell(&Event::Empty, Freedom::Strict).is_empty());
    subjects.end_round();
    assert!(subjects.results().all(|(_, _, failed)| failed == 1));
    assert!(subjects.tell(&Event::Empty, Freedom::Strict).is_empty());
}
