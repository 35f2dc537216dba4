//! The shared engine under real threads: every message is received exactly once, and each sender's
//! in order, whatever the threads do in between.
#![cfg(all(feature = "shared", not(mq_loom)))]

mod common;

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::mpsc::{TryRecvError, channel};
use std::time::{Duration, Instant};

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::shared::{Divide, Sharding, SharedContext, SharedEngine};
use mq_core::structures::Indexed;
use mq_core::{Arrive, ContextOptions, EngineOptions, Post, Source};

const SENDERS: u32 = 8;
const SENDER_THREADS: u32 = 2;
const RECEIVER_THREADS: u32 = 2;
const MESSAGES: u32 = 60_000;
const CONTEXT: u32 = 5;
const TAG: i32 = 3;

/// A receive, by the thread that posted it; a message, by its place in its sender's order.
type Queues = Indexed<MpiPattern, (u32, u32), u32>;
type Engine = SharedEngine<Queues>;
type Context = SharedContext<Queues>;

/// One match: the sender, the number of the message, and the receive that got it.
type Match = (u32, u32, (u32, u32));

/// Does some work; fails if it is stuck.
fn watched(work: impl FnOnce() + Send + 'static) {
    common::watched(120, work);
}

/// Sends the messages of every n-th sender, interleaved.
fn send(context: &Context, thread: u32) -> Vec<Match> {
    let mut matches = Vec::new();
    for number in 0..MESSAGES {
        for sender in (thread..SENDERS).step_by(SENDER_THREADS as usize) {
            let envelope = MpiEnvelope::new(CONTEXT, sender, TAG);
            let arrival = context.arrive(envelope, number).expect("admitted");
            if let Arrive::Matched { receive, .. } = arrival {
                matches.push((sender, number, receive));
            }
        }
    }
    matches
}

/// Posts receives, of which one in `any_each` is for any source and one in five of those is
/// cancelled and posted again.
fn receive(context: &Context, thread: u32, any_each: u32) -> Vec<Match> {
    let mut matches = Vec::new();
    let share = SENDERS * MESSAGES / RECEIVER_THREADS;
    for count in 0..share {
        let source = Source::from(count % SENDERS);
        let wildcard = any_each > 0 && count % any_each == 0;
        let source = if wildcard { Source::Any } else { source };
        let tag = TagSelector::from(TAG);
        loop {
            let pattern = MpiPattern::new(CONTEXT, source, tag);
            match context.post(pattern, (thread, count)).expect("admitted") {
                Post::Matched {
                    envelope, message, ..
                } => matches.push((envelope.source().0, message, (thread, count))),
                Post::Queued(handle) if wildcard && count % 5 == 0 => {
                    if context.cancel(handle).is_some() {
                        std::thread::yield_now();
                        continue;
                    }
                }
                Post::Queued(_) => {}
            }
            break;
        }
    }
    matches
}

/// What is left after threads have sent and received at the same time, and all their matches.
fn exchange(divide: Divide, options: ContextOptions, any_each: u32) -> (Context, Vec<Match>) {
    let engine: Engine = SharedEngine::with_options(
        EngineOptions::new(),
        Sharding::new().shards(4).divide(divide),
    );
    let context = engine.create_context(CONTEXT, options).expect("new");
    let matches = std::thread::scope(|scope| {
        let context = &context;
        let sending = (0..SENDER_THREADS).map(|thread| scope.spawn(move || send(context, thread)));
        let receiving = (0..RECEIVER_THREADS)
            .map(|thread| scope.spawn(move || receive(context, thread, any_each)));
        let threads: Vec<_> = sending.chain(receiving).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        joined.flatten().collect()
    });
    (context, matches)
}

/// The messages that no receive asked for by name; wildcards can leave a sender's messages over
/// while another's receives wait.
fn leftovers(context: &Context) -> Vec<Match> {
    let of = |sender: u32| {
        let pattern = MpiPattern::new(CONTEXT, sender, TAG);
        let taken = std::iter::from_fn(move || context.extract(&pattern).expect("admitted"));
        taken.map(move |(_, number)| (sender, number, (u32::MAX, 0)))
    };
    (0..SENDERS).flat_map(of).collect()
}

/// Every message once; the receives of one thread for one sender in order of its messages.
fn check(matches: &[Match]) {
    let mut seen: Vec<(u32, u32)> = matches.iter().map(|&(s, n, _)| (s, n)).collect();
    seen.sort_unstable();
    let all = (0..SENDERS).flat_map(|s| (0..MESSAGES).map(move |n| (s, n)));
    assert!(
        seen.into_iter().eq(all),
        "a message was lost or taken twice"
    );
    let mut receives: Vec<_> = matches.iter().map(|&(_, _, receive)| receive).collect();
    receives.retain(|&(thread, _)| thread != u32::MAX);
    let count = receives.len();
    receives.sort_unstable();
    receives.dedup();
    assert_eq!(receives.len(), count, "a receive got two messages");
}

/// One thread's receives are posted in order, and so messages of one sender take them in order.
fn check_order(matches: &[Match]) {
    let mut by_poster: HashMap<(u32, u32), Vec<(u32, u32)>> = HashMap::new();
    for &(sender, number, (thread, count)) in matches {
        if thread != u32::MAX {
            let list = by_poster.entry((thread, sender)).or_default();
            list.push((count, number));
        }
    }
    for ((thread, sender), mut list) in by_poster {
        list.sort_unstable();
        assert!(
            list.is_sorted_by_key(|&(_, number)| number),
            "thread {thread} received from {sender} out of order"
        );
    }
}

fn run(divide: Divide, options: ContextOptions, any_each: u32) {
    watched(move || {
        run_once(divide, options, any_each);
    });
}

/// Whether the context was divided in the end.
fn run_once(divide: Divide, options: ContextOptions, any_each: u32) -> bool {
    let (context, mut matches) = exchange(divide, options, any_each);
    check_order(&matches);
    matches.extend(leftovers(&context));
    check(&matches);
    context.shards().expect("it exists").is_some()
}

#[test]
fn named_receives_of_a_divided_context_lose_nothing() {
    run(Divide::AtOnce, ContextOptions::new(), 0);
}

#[test]
fn wildcards_in_a_divided_context_lose_nothing_and_keep_order() {
    run(Divide::AtOnce, ContextOptions::new().size(SENDERS), 10);
}

#[test]
fn only_wildcards_in_a_divided_context_lose_nothing_and_keep_order() {
    run(Divide::AtOnce, ContextOptions::new(), 1);
}

#[test]
fn promised_contexts_lose_nothing_and_keep_order() {
    let promised = ContextOptions::new().no_any_source().no_any_tag();
    run(Divide::AtOnce, promised, 0);
}

#[test]
fn a_context_that_is_divided_on_the_way_loses_nothing_and_keeps_order() {
    watched(|| {
        // How often threads wait for each other is up to the machine; on one core they hardly do.
        if std::thread::available_parallelism().is_ok_and(|cores| cores.get() == 1) {
            run_once(Divide::WhenContended, ContextOptions::new(), 100);
            let why = "a division on the way was not tried: it takes two cores, and there is one";
            // Not by a macro, whose words a test that passes keeps to itself.
            let _ = writeln!(std::io::stderr(), "{why}");
            assert!(std::env::var_os("MQ_ALL_CHECKS").is_none(), "{why}");
            return;
        }
        // Where other programs take the cores, threads rarely meet: then it takes more runs, as long as there is time.
        let begun = Instant::now();
        let divided = (1..)
            .take_while(|&run| run <= 100 || begun.elapsed() < Duration::from_secs(60))
            .find(|_| run_once(Divide::WhenContended, ContextOptions::new(), 100));
        eprintln!("divided in run {divided:?}");
        assert!(divided.is_some(), "no context was divided in any run");
    });
}

#[test]
fn an_undivided_context_loses_nothing_and_keeps_order() {
    run(Divide::Never, ContextOptions::new(), 10);
}

#[test]
fn contexts_come_and_go_under_operations() {
    watched(|| {
        let engine: Engine = SharedEngine::new();
        let (stop, stopped) = channel::<()>();
        let (mut sent, mut back, mut lives) = (0, 0, 0);
        std::thread::scope(|scope| {
            let engine = &engine;
            let sender = scope.spawn(move || {
                let numbers = (0..).take_while(|_| stopped.try_recv() == Err(TryRecvError::Empty));
                let arrivals = numbers.filter(|&number| {
                    let envelope = MpiEnvelope::new(CONTEXT, number % SENDERS, TAG);
                    engine.arrive(envelope, number).is_ok()
                });
                arrivals.count()
            });
            // Until some have had messages, however the two threads take turns.
            while lives < 5_000 || back < 1_000 {
                let created = engine.create_context(CONTEXT, ContextOptions::new());
                let context = created.expect("it was freed");
                let mut count = |_| back += 1;
                engine.free_context(CONTEXT, &mut count).expect("it exists");
                assert!(context.posted_len().is_err());
                lives += 1;
            }
            drop(stop);
            sent = sender.join().expect("no panic");
        });
        assert_eq!(sent, back);
    });
}
