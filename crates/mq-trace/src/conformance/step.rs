//! [`Step`]: one operation of a conformance run, and its text form.

use core::fmt;
use core::str::FromStr;

use mq_core::mpi::TagSelector;
use mq_core::{Rank, Source, Tag, TrafficClass};

/// One operation. Receives and messages are numbered from 0 in the order of their steps.
///
/// | text | step |
/// | --- | --- |
/// | `p COMM SRC TAG` | post a receive; `*` for any; `TAG/0xMASK` ignores the bits of the mask |
/// | `a COMM SRC TAG` | a message arrives |
/// | `b COMM SRC TAG` | probe |
/// | `m COMM SRC TAG` | extract (matched probe) |
/// | `d COMM SRC TAG` | a message arrives that must not be queued |
/// | `P COMM SRC TAG` | post a receive in halves: extract, else queue it |
/// | `A COMM SRC TAG` | a message arrives in halves: deliver, else queue it |
/// | `t COMM SRC TAG` | find a message, then take it by its handle, twice |
/// | `x N` | cancel receive N, whether it is queued or not |
/// | `u COMM` | purge a context |
/// | `u COMM SRC` | purge what came from, or asks for, one rank of a context |
/// | `r COMM SIZE` | change the size of a context |
/// | `g COMM TAG BYTES` | announce the collective call that uses a (negative) tag |
/// | `z` | clear: drop everything |
///
/// The first three and `x` are lines of `mqtrace 1`, without outcomes.
///
/// There is a step for whatever [`MatchQueues`](mq_core::MatchQueues) can do, and that may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Step {
    /// Post a receive.
    Post(Wanted),
    /// A message arrives.
    Arrive(Carried),
    /// Probe.
    Probe(Wanted),
    /// Extract.
    Extract(Wanted),
    /// A message arrives that may match but must not be queued.
    Deliver(Carried),
    /// Post a receive in halves.
    PostHalves(Wanted),
    /// A message arrives, in halves.
    ArriveHalves(Carried),
    /// Find, then take.
    Take(Wanted),
    /// Cancel a receive by number.
    Cancel(u32),
    /// Purge a context.
    PurgeContext(u32),
    /// Purge one rank of a context, and every third of its receives from any source.
    PurgeSource(u32, u32),
    /// Change the size of a context.
    Resize(u32, u32),
    /// Announce a collective call: communicator, tag, bytes.
    Announce(u32, i32, u32),
    /// Drop everything.
    Clear,
}

/// What a receive or a probe asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The communicator.
    pub comm: u32,
    /// The source.
    pub source: Source,
    /// The tags.
    pub tag: TagSelector,
}

/// What a message carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carried {
    /// The communicator.
    pub comm: u32,
    /// The source.
    pub source: u32,
    /// The tag.
    pub tag: i32,
}

impl Step {
    /// Whether `mqtrace 1` has a line for the step.
    pub(super) fn is_trace_line(&self) -> bool {
        match self {
            Self::Post(wanted) | Self::Probe(wanted) => {
                !matches!(wanted.tag, TagSelector::Masked { .. })
            }
            Self::Arrive(_) | Self::Cancel(_) => true,
            _ => false,
        }
    }
}

impl Wanted {
    /// The class of all messages that can match, by Open MPI's tags of collectives.
    #[must_use]
    pub fn class(&self) -> TrafficClass {
        match self.tag {
            TagSelector::Exact(tag) => TrafficClass::from_open_mpi_tag(tag),
            TagSelector::Any => TrafficClass::PointToPoint,
            TagSelector::Masked { .. } => TrafficClass::Unknown,
        }
    }
}

impl Carried {
    /// The class of the message, by Open MPI's tags of collectives.
    #[must_use]
    pub fn class(&self) -> TrafficClass {
        TrafficClass::from_open_mpi_tag(Tag(self.tag))
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.comm, self.source)?;
        match self.tag {
            TagSelector::Exact(tag) => write!(f, "{tag}"),
            TagSelector::Any => f.write_str("*"),
            TagSelector::Masked { wanted, ignore } => write!(f, "{wanted}/{ignore:#x}"),
        }
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.comm, self.source, self.tag)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Post(wanted) => write!(f, "p {wanted}"),
            Self::Arrive(carried) => write!(f, "a {carried}"),
            Self::Probe(wanted) => write!(f, "b {wanted}"),
            Self::Extract(wanted) => write!(f, "m {wanted}"),
            Self::Deliver(carried) => write!(f, "d {carried}"),
            Self::PostHalves(wanted) => write!(f, "P {wanted}"),
            Self::ArriveHalves(carried) => write!(f, "A {carried}"),
            Self::Take(wanted) => write!(f, "t {wanted}"),
            Self::Cancel(receive) => write!(f, "x {receive}"),
            Self::PurgeContext(comm) => write!(f, "u {comm}"),
            Self::PurgeSource(comm, source) => write!(f, "u {comm} {source}"),
            Self::Resize(comm, size) => write!(f, "r {comm} {size}"),
            Self::Announce(comm, tag, bytes) => write!(f, "g {comm} {tag} {bytes}"),
            Self::Clear => f.write_str("z"),
        }
    }
}

/// A text that is not a step.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a conformance step; see `mq_trace::conformance::Step` for the forms")]
pub struct StepError(String);

impl FromStr for Step {
    type Err = StepError;

    fn from_str(text: &str) -> Result<Self, StepError> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        parse(&fields).ok_or_else(|| StepError(text.into()))
    }
}

fn parse(fields: &[&str]) -> Option<Step> {
    match *fields {
        ["z"] => Some(Step::Clear),
        ["x", receive] => Some(Step::Cancel(receive.parse().ok()?)),
        ["u", comm] => Some(Step::PurgeContext(comm.parse().ok()?)),
        ["u", comm, source] => Some(Step::PurgeSource(comm.parse().ok()?, source.parse().ok()?)),
        ["r", comm, size] => Some(Step::Resize(comm.parse().ok()?, size.parse().ok()?)),
        ["g", comm, tag, bytes] => Some(Step::Announce(
            comm.parse().ok()?,
            tag.parse().ok()?,
            bytes.parse().ok()?,
        )),
        [letter @ ("a" | "d" | "A"), comm, source, tag] => {
            let carried = Carried {
                comm: comm.parse().ok()?,
                source: source.parse().ok()?,
                tag: tag.parse().ok()?,
            };
            Some(match letter {
                "a" => Step::Arrive(carried),
                "d" => Step::Deliver(carried),
                _ => Step::ArriveHalves(carried),
            })
        }
        [letter @ ("p" | "b" | "m" | "P" | "t"), comm, source, tag] => {
            let wanted = Wanted {
                comm: comm.parse().ok()?,
                source: parse_source(source)?,
                tag: parse_tag(tag)?,
            };
            Some(match letter {
                "p" => Step::Post(wanted),
                "b" => Step::Probe(wanted),
                "m" => Step::Extract(wanted),
                "P" => Step::PostHalves(wanted),
                _ => Step::Take(wanted),
            })
        }
        _ => None,
    }
}

fn parse_source(text: &str) -> Option<Source> {
    if text == "*" {
        Some(Source::Any)
    } else {
        Some(Source::Rank(Rank(text.parse().ok()?)))
    }
}

fn parse_tag(text: &str) -> Option<TagSelector> {
    if text == "*" {
        return Some(TagSelector::Any);
    }
    match text.split_once("/0x") {
        None => Some(TagSelector::Exact(Tag(text.parse().ok()?))),
        Some((wanted, ignore)) => Some(TagSelector::Masked {
            wanted: Tag(wanted.parse().ok()?),
            ignore: u32::from_str_radix(ignore, 16).ok()?,
        }),
    }
}

/// Reads steps, one per line; lines beginning with `#` are comments.
///
/// # Errors
/// The first line that is not a step.
pub fn parse_steps(text: &str) -> Result<Vec<Step>, StepError> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::parse)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_survive_their_text_form() {
        let text = "p 1 * 5\np 0 3 *\np 0 3 -5/0xff\na 1 2 -12\nb 1 2 7\nm 1 * *\nd 0 0 0\nP 1 3 -5\nA 0 2 4\nt 1 * 6\n\
                    x 3\nu 4\nu 4 5\nr 4 1000\ng 0 -12 4096\nz\n";
        let steps = parse_steps(text).expect("valid");
        let printed: String = steps.iter().map(|step| format!("{step}\n")).collect();
        assert_eq!(printed, text);
    }

    #[test]
    fn other_text_is_refused_by_name() {
        for text in ["q 1 2 3", "p 1 2", "a 1 * 3", "x -1", "p 1 2 3 =4"] {
            let error = text.parse::<Step>().expect_err(text);
            assert!(error.to_string().contains(text));
        }
    }
}
