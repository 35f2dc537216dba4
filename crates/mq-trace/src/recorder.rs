//! [`Recorder`]: records an engine's operations and their outcomes as a trace.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use mq_core::mpi::{MpiEnvelope, MpiPattern, TagSelector};
use mq_core::{Rank, Source};

use crate::header::Header;
use crate::line::{Line, SourceField, TagField};
use crate::writer::TraceWriter;

/// Records operations with their outcomes.
///
/// Receives and messages are numbered as the format requires. The caller keeps each number beside its
/// payload and passes it back when the payload is matched. Contexts become communicators with small
/// numbers; one that is freed and created again gets a new number.
///
/// ```
/// use mq_core::mpi::{MpiEnvelope, MpiPattern};
/// use mq_trace::{Header, Recorder};
///
/// let mut recorder = Recorder::new(Vec::new(), &Header::new())?;
/// recorder.context_created(70, Some((4, 0)))?;
/// let receive = recorder.posted(&MpiPattern::new(70, 3, 5), None)?;
/// recorder.arrived(&MpiEnvelope::new(70, 3, 5), Some(receive))?;
/// let text = String::from_utf8(recorder.finish()?)?;
/// assert_eq!(text, "# mqtrace 1\nc 1 4 0\np 1 3 5\na 1 3 5 =0\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// All methods fail if the stream fails. [`io::ErrorKind::Unsupported`] is returned for what the format
/// cannot hold: a pattern with a masked tag, a rank above 2^31 - 1, or the receive or message after
/// 2^32 - 1 others.
#[derive(Debug)]
pub struct Recorder<W: Write> {
    writer: TraceWriter<W>,
    communicators: HashMap<u32, Communicator>,
    last_communicator: u32,
    receives: u32,
    messages: u32,
}

/// What a context is in the trace.
#[derive(Debug)]
struct Communicator {
    number: u32,
    /// Its size and this process's rank, once they are written.
    group: Option<(u32, u32)>,
}

impl Recorder<File> {
    /// Records into a file, gzip-compressed if its name ends in `.gz`.
    ///
    /// # Errors
    /// The file cannot be created or written.
    pub fn create(path: impl AsRef<Path>, header: &Header) -> io::Result<Self> {
        Ok(Self::with_writer(TraceWriter::create(path, header)?))
    }
}

impl<W: Write> Recorder<W> {
    /// Records into a stream, as plain text.
    ///
    /// # Errors
    /// The stream fails.
    pub fn new(stream: W, header: &Header) -> io::Result<Self> {
        Ok(Self::with_writer(TraceWriter::new(stream, header)?))
    }

    /// Records by a writer, on which nothing but the header was written.
    pub fn with_writer(writer: TraceWriter<W>) -> Self {
        Self {
            writer,
            communicators: HashMap::new(),
            last_communicator: 0,
            receives: 0,
            messages: 0,
        }
    }

    /// A context was created; its size and this process's rank in it are written if both are known. If they are known
    /// later, call this again.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the context has been recorded with another size or rank: to a trace that is
    /// another communicator, which begins when the context is [freed](Self::context_freed) and created again, without
    /// entries. Nothing is written then. Otherwise see [`Recorder`].
    pub fn context_created(&mut self, context: u32, group: Option<(u32, u32)>) -> io::Result<()> {
        let communicator = self.communicator(context);
        let Some((size, my_rank)) = group.filter(|(size, my_rank)| my_rank < size) else {
            return Ok(());
        };
        match communicator.group {
            Some(known) if known == (size, my_rank) => return Ok(()),
            Some((known_size, known_rank)) => {
                let reason = format!(
                    "context {context} has been recorded with size {known_size} and own rank {known_rank}, and cannot \
                     have size {size} and own rank {my_rank} in the same trace unless it is freed before"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
            }
            None => communicator.group = Some((size, my_rank)),
        }
        let comm = communicator.number;
        self.writer.write(&Line::Communicator {
            comm,
            size,
            my_rank,
        })
    }

    /// A context was freed; its number may be used again for another communicator.
    pub fn context_freed(&mut self, context: u32) {
        self.communicators.remove(&context);
    }

    /// A receive was posted; `matched` is the number of the message that it took. Returns its own number.
    ///
    /// # Errors
    /// See [`Recorder`].
    pub fn posted(&mut self, pattern: &MpiPattern, matched: Option<u32>) -> io::Result<u32> {
        let (comm, source, tag) = self.fields(pattern)?;
        let next = after(self.receives)?;
        self.writer.write(&Line::Post {
            comm,
            source,
            tag,
            matched,
        })?;
        Ok(core::mem::replace(&mut self.receives, next))
    }

    /// A message arrived; `matched` is the number of the receive that it took. Returns its own number.
    ///
    /// # Errors
    /// See [`Recorder`].
    pub fn arrived(&mut self, envelope: &MpiEnvelope, matched: Option<u32>) -> io::Result<u32> {
        let source = held(envelope.source())?;
        let comm = self.communicator(envelope.context().0).number;
        let next = after(self.messages)?;
        self.writer.write(&Line::Arrive {
            comm,
            source,
            tag: envelope.tag().0,
            matched,
        })?;
        Ok(core::mem::replace(&mut self.messages, next))
    }

    /// A probe saw the message with number `seen`, or none.
    ///
    /// # Errors
    /// See [`Recorder`].
    pub fn probed(&mut self, pattern: &MpiPattern, seen: Option<u32>) -> io::Result<()> {
        let (comm, source, tag) = self.fields(pattern)?;
        self.writer.write(&Line::Probe {
            comm,
            source,
            tag,
            matched: seen,
        })
    }

    /// A queued receive was cancelled, or purged.
    ///
    /// # Errors
    /// See [`Recorder`].
    pub fn cancelled(&mut self, receive: u32) -> io::Result<()> {
        self.writer.write(&Line::Cancel { receive })
    }

    /// Writes buffered data to the stream.
    ///
    /// # Errors
    /// The stream fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Completes the trace and returns the stream.
    ///
    /// # Errors
    /// The stream fails; the trace is incomplete.
    pub fn finish(self) -> io::Result<W> {
        self.writer.finish()
    }

    fn communicator(&mut self, context: u32) -> &mut Communicator {
        self.communicators.entry(context).or_insert_with(|| {
            self.last_communicator += 1;
            Communicator {
                number: self.last_communicator,
                group: None,
            }
        })
    }

    fn fields(&mut self, pattern: &MpiPattern) -> io::Result<(u32, SourceField, TagField)> {
        let source = match pattern.source() {
            Source::Any => SourceField::Any,
            Source::Rank(rank) => SourceField::Rank(held(rank)?),
        };
        let tag = match pattern.tag() {
            TagSelector::Any => TagField::Any,
            TagSelector::Exact(tag) => TagField::Tag(tag.0),
            TagSelector::Masked { .. } => {
                let reason = "a trace cannot hold a receive with a masked tag";
                return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
            }
        };
        let comm = self.communicator(pattern.context().0).number;
        Ok((comm, source, tag))
    }
}

/// A rank that a trace can hold.
fn held(rank: Rank) -> io::Result<u32> {
    if i32::try_from(rank.0).is_err() {
        let reason = format!("a trace cannot hold rank {}", rank.0);
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    Ok(rank.0)
}

/// The number after that of a receive or message.
fn after(number: u32) -> io::Result<u32> {
    number.checked_add(1).ok_or_else(|| {
        let reason = "a trace cannot hold more than 2^32 - 1 receives or messages";
        io::Error::new(io::ErrorKind::Unsupported, reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::TraceReader;
    use crate::trace::Trace;
    use crate::{Report, check};
    use mq_core::Tag;
    use mq_core::structures::Kind;

    #[test]
    fn a_recorded_run_is_a_trace_that_every_structure_reproduces() {
        let mut recorder = Recorder::new(Vec::new(), &Header::new()).expect("a vector");
        recorder.context_created(9, Some((8, 2))).expect("a vector");
        recorder.context_created(4, None).expect("a vector");
        let any = MpiPattern::new(9, Source::Any, TagSelector::Any);
        let waits = recorder.posted(&any, None).expect("a vector");
        let early = recorder
            .arrived(&MpiEnvelope::new(4, 1, -5), None)
            .expect("a vector");
        let exact = MpiPattern::new(4, 1, -5);
        recorder.probed(&exact, Some(early)).expect("a vector");
        recorder.posted(&exact, Some(early)).expect("a vector");
        recorder.cancelled(waits).expect("a vector");
        recorder.context_freed(9);
        recorder.context_created(9, None).expect("a vector");
        recorder.posted(&any, None).expect("a vector");
        let text = recorder.finish().expect("a vector");
        let reader = TraceReader::new("recorded", &text[..]).expect("valid");
        let trace = Trace::read(reader).expect("valid");
        assert_eq!(
            trace.communicators().len(),
            3,
            "the second 9 is another communicator"
        );
        let Report { mismatches, .. } = check(&trace, Kind::Indexed);
        assert_eq!((trace.operations().len(), mismatches), (6, 0));
    }

    #[test]
    fn a_group_without_this_process_is_not_recorded() {
        let mut recorder = Recorder::new(Vec::new(), &Header::new()).expect("a vector");
        recorder.context_created(1, Some((4, 4))).expect("a vector");
        recorder.context_created(2, Some((4, 3))).expect("a vector");
        let text = recorder.finish().expect("a vector");
        assert_eq!(String::from_utf8_lossy(&text), "# mqtrace 1\nc 2 4 3\n");
    }

    #[test]
    fn a_context_has_one_size_until_it_is_freed() {
        let mut recorder = Recorder::new(Vec::new(), &Header::new()).expect("a vector");
        recorder.context_created(7, None).expect("a vector");
        let receive = recorder.posted(&MpiPattern::new(7, 0, 5), None);
        recorder
            .context_created(7, Some((4, 0)))
            .expect("known later");
        recorder.context_created(7, Some((4, 0))).expect("the same");
        recorder.context_created(7, None).expect("nothing new");
        let refused = recorder.context_created(7, Some((8, 1)));
        let refused = refused.expect_err("a trace has one size for it");
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(
            refused.to_string(),
            "context 7 has been recorded with size 4 and own rank 0, and cannot have size 8 and own rank 1 in the same \
             trace unless it is freed before"
        );
        recorder
            .cancelled(receive.expect("a vector"))
            .expect("a vector");
        recorder.context_freed(7);
        recorder.context_created(7, Some((8, 1))).expect("another");
        let text = recorder.finish().expect("a vector");
        let reader = TraceReader::new("recorded", &text[..]).expect("valid");
        let trace = Trace::read(reader).expect("valid");
        let sizes: Vec<u32> = trace.communicators().map(|one| one.size).collect();
        assert_eq!(sizes, [4, 8]);
    }

    #[test]
    fn a_masked_tag_cannot_be_recorded() {
        let mut recorder = Recorder::new(Vec::new(), &Header::new()).expect("a vector");
        let tag = TagSelector::Masked {
            wanted: Tag(4),
            ignore: 3,
        };
        let error = recorder.posted(&MpiPattern::new(0, 0, tag), None);
        assert_eq!(
            error.expect_err("masked").kind(),
            io::ErrorKind::Unsupported
        );
    }

    #[test]
    fn entries_beyond_the_last_number_are_refused() {
        let mut recorder = Recorder::new(Vec::new(), &Header::new()).expect("a vector");
        let last = u32::MAX - 1;
        (recorder.receives, recorder.messages) = (last, last);
        let pattern = MpiPattern::new(0, 0, Tag(4));
        let envelope = MpiEnvelope::new(0, 0, 4);
        assert_eq!(recorder.posted(&pattern, None).expect("room"), last);
        assert_eq!(recorder.arrived(&envelope, None).expect("room"), last);
        for refused in [
            recorder.posted(&pattern, None),
            recorder.arrived(&envelope, None),
        ] {
            let error = refused.expect_err("there are no more");
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        }
    }

    #[test]
    fn a_rank_that_no_trace_has_cannot_be_recorded() {
        let mut recorder = Recorder::new(Vec::new(), &Header::new()).expect("a vector");
        let most = u32::MAX >> 1;
        let arrived = recorder.arrived(&MpiEnvelope::new(0, most, 5), None);
        assert!(arrived.is_ok());
        let beyond = recorder.arrived(&MpiEnvelope::new(0, most + 1, 5), None);
        let posted = recorder.posted(&MpiPattern::new(0, most + 1, 5), None);
        for refused in [beyond, posted] {
            let error = refused.expect_err("no trace has it");
            assert_eq!(error.to_string(), "a trace cannot hold rank 2147483648");
        }
    }
}
