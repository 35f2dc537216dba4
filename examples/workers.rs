//! Tasks for workers that may die: rank 0 hands them out, waits for whichever result comes first, and
//! gives a dead worker's task to another.
//!
//! Run it: `cargo build --release -p mq-examples --examples`, then `mq run -n 4 -- target/release/examples/workers`; as
//! a single process, rank 0 works itself. To see worker 2 fail with its first task: `mq run -n 4 --keep-going --
//! target/release/examples/workers 2`

use std::collections::HashMap;

use mq_comm::{Communicator, Error, TagSelector, World};

const TASKS: u32 = 20;

/// Tags: numbers to work on, the result, and the end of the work.
const TASK: i32 = 1;
const RESULT: i32 = 2;
const DONE: i32 = 3;

/// Tasks are of several lengths.
fn task(number: u32) -> Vec<f64> {
    (0..=number).map(f64::from).collect()
}

fn work(numbers: &[f64]) -> f64 {
    numbers.iter().map(|x| x * x).sum()
}

type AnyError = Box<dyn std::error::Error>;

fn main() -> Result<(), AnyError> {
    // A rank that fails tells the others instead of leaving them waiting.
    World::run(|world| match world.rank() {
        0 => Ok(lead(world)?),
        rank => serve(world, std::env::args().nth(1) == Some(rank.to_string())),
    })
}

fn lead(ranks: &Communicator) -> Result<(), Error> {
    let mut open: Vec<u32> = (0..TASKS).collect();
    let mut idle: Vec<u32> = (1..ranks.size()).collect();
    let mut busy = HashMap::new();
    let mut set = ranks.request_set();
    let (mut sum, mut lost) = (0.0, 0);
    loop {
        while !idle.is_empty()
            && let Some(number) = open.pop()
        {
            let worker = idle.pop().expect("one is idle");
            match ranks.send(&task(number), worker, TASK) {
                Ok(()) => {
                    let receive = ranks.irecv(vec![0.0_f64], worker, RESULT)?;
                    busy.insert(set.add(receive), (worker, number));
                }
                Err(Error::Gone { .. }) => open.push(number),
                Err(error) => return Err(error),
            }
        }
        let Some(completion) = set.wait_any()? else {
            break;
        };
        let Some((worker, number)) = busy.remove(&completion.id()) else {
            continue;
        };
        match completion.into_parts::<f64>().expect("as begun") {
            (Ok(_), result) => {
                sum += result[0];
                idle.push(worker);
            }
            (Err(Error::Gone { .. }), _) => {
                open.push(number);
                lost += 1;
            }
            (Err(error), _) => return Err(error),
        }
    }
    // No worker is left, or there was none.
    sum += open.iter().map(|&number| work(&task(number))).sum::<f64>();
    for worker in 1..ranks.size() {
        // A worker that has already ended need not be told.
        let _ = ranks.send::<u8>(&[], worker, DONE);
    }
    let expected: f64 = (0..TASKS).map(|number| work(&task(number))).sum();
    assert_eq!(sum, expected);
    println!("{TASKS} tasks done, {lost} of them twice: {sum}");
    Ok(())
}

fn serve(ranks: &Communicator, fails: bool) -> Result<(), AnyError> {
    loop {
        // A task may have any length.
        let (numbers, status) = ranks.recv_vec::<f64>(0, TagSelector::Any)?;
        if status.tag() == DONE {
            return Ok(());
        }
        if fails {
            return Err("this worker was asked to fail".into());
        }
        ranks.send(&[work(&numbers)], 0, RESULT)?;
    }
}
