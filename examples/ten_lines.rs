//! Matching in ten lines: a receive waits for its message, then a message waits for its receive.
//!
//! Run it: `cargo run -p mq-examples --example ten_lines`

use mq_core::mpi::{MpiEnvelope, MpiPattern};
use mq_core::structures::Indexed;
use mq_core::{ContextOptions, Engine, Source};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Here receives carry a buffer's name, and messages their text; any two types work.
    let mut engine: Engine<Indexed<MpiPattern, &str, &str>> = Engine::new();
    engine.create_context(0, ContextOptions::new())?;

    let waits = engine.post(MpiPattern::new(0, Source::Any, 7), "buffer a")?;
    let taken = engine.arrive(MpiEnvelope::new(0, 3, 7), "hello")?;
    println!("receive from anyone: {waits:?}\nmessage from rank 3: {taken:?}\n");

    let waits = engine.arrive(MpiEnvelope::new(0, 5, 9), "early")?;
    let taken = engine.post(MpiPattern::new(0, 5, 9), "buffer b")?;
    println!("message from rank 5: {waits:?}\nreceive from rank 5: {taken:?}\n");

    assert_eq!(engine.posted_len() + engine.unexpected_len(), 0);
    Ok(())
}
