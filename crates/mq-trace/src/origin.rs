//! Where a trace comes from: what its header says of the process that wrote it ([`Span`], [`Process`]), whether its
//! folder is one of a recording, and which file beside it says why it ended early.

use core::time::Duration;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::header::Header;

/// How the name begins that `mq record` gives to the folder into which processes record; one or two numbers follow.
pub const RECORDING: &str = "recording-";

/// Whether a folder has such a name.
#[must_use]
pub fn is_of_a_recording(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (name.strip_prefix(RECORDING)).is_some_and(|numbers| numbers.splitn(2, '-').all(is_number))
}

/// The file in which a trace's writer says why it ended the trace before its process, as text: `r0.ended` for
/// `r0.mqt`, and `r0.mqt.ended` for the `r0.mqt.gz` that `mq record` makes of it. An empty one says only that it did:
/// the disc may have been full.
#[must_use]
pub fn reason_file(trace: &Path) -> PathBuf {
    trace.with_extension("ended")
}

/// The time that a trace covers, as its header says.
///
/// A writer begins its trace with [`Unfinished`](Self::Unfinished), and replaces that in place when the trace is whole:
/// whatever ends the process before, even a SIGKILL, leaves a trace that says so, wherever it is copied.
///
/// ```
/// use std::time::Duration;
/// use mq_trace::{Header, Span};
///
/// let begun = Header::new().with(Span::KEY, Span::Unfinished);
/// assert_eq!(begun.to_string(), "# mqtrace 1 seconds=unfinished");
/// let whole = Header::new().with(Span::KEY, Span::Of(Duration::from_millis(1500)));
/// assert_eq!(whole.to_string(), "# mqtrace 1 seconds=000001.500");
/// assert_eq!(Span::of(&whole), Span::Of(Duration::from_millis(1500)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Span {
    /// The header has no such field, or one that means something else.
    Unknown,
    /// The writer has not come to its end, or not yet.
    Unfinished,
    /// The trace is whole, and covers this time, to the millisecond.
    Of(Duration),
}

/// As long as any number of milliseconds that takes a process less than eleven days.
const UNFINISHED: &str = "unfinished";

impl Span {
    /// The name of the field.
    pub const KEY: &'static str = "seconds";
    /// The bytes of every value.
    pub const WIDTH: usize = UNFINISHED.len();

    /// What a header says.
    #[must_use]
    pub fn of(header: &Header) -> Self {
        match header.get(Self::KEY) {
            Some(UNFINISHED) => Self::Unfinished,
            Some(seconds) => {
                let seconds = seconds.parse().ok();
                let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                time.map_or(Self::Unknown, Self::Of)
            }
            None => Self::Unknown,
        }
    }
}

/// The value of the field, of [`Span::WIDTH`] bytes; empty for [`Span::Unknown`].
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// With a fraction, more would be too long.
        const MOST: u64 = 999_999;
        match self {
            Self::Unknown => Ok(()),
            Self::Unfinished => f.write_str(UNFINISHED),
            Self::Of(time) if time.as_secs() > MOST => {
                write!(f, "{:0width$}", time.as_secs(), width = Self::WIDTH)
            }
            Self::Of(time) => write!(f, "{:06}.{:03}", time.as_secs(), time.subsec_millis()),
        }
    }
}

/// The process that writes a trace, so that whoever finds an unfinished one can tell whether it still runs: its number
/// means something only in its PID namespace, and that only on its machine, until that is booted anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    number: u32,
    /// Of the machine's start; empty if unknown, like the others.
    boot: String,
    namespace: String,
    node: String,
}

impl Process {
    /// The name of the field.
    pub const KEY: &'static str = "process";

    /// The calling process.
    #[must_use]
    pub fn this() -> Self {
        let line = |path: &str| {
            let text = fs::read_to_string(path).unwrap_or_default();
            text.trim().replace([':', ' '], "_")
        };
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let namespace = namespace.to_string_lossy();
        Self {
            number: std::process::id(),
            boot: line("/proc/sys/kernel/random/boot_id"),
            // The link reads `pid:[4026531836]`.
            namespace: namespace.chars().filter(char::is_ascii_digit).collect(),
            node: line("/proc/sys/kernel/hostname"),
        }
    }

    /// What a header says, if it does.
    #[must_use]
    pub fn of(header: &Header) -> Option<Self> {
        let mut parts = header.get(Self::KEY)?.split(':');
        let mut part = || parts.next();
        let process = Self {
            number: part()?.parse().ok()?,
            boot: part()?.into(),
            namespace: part()?.into(),
            node: part()?.into(),
        };
        part().is_none().then_some(process)
    }

    /// Its number, in its own PID namespace.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The host name of its machine; empty if unknown.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Whether their numbers name processes of the same PID namespace of the same machine; false if that is not known.
    #[must_use]
    pub fn shares_numbers_with(&self, other: &Self) -> bool {
        let known = !self.boot.is_empty() && !self.namespace.is_empty();
        known && self.boot == other.boot && self.namespace == other.namespace
    }
}

/// The value of the field.
impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            boot,
            namespace,
            node,
        } = self;
        write!(f, "{number}:{boot}:{namespace}:{node}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spans_fit_into_the_same_bytes_and_are_read_back() {
        let times = [0, 1, 999, 86_400_000, 999_999_999].map(Duration::from_millis);
        for time in times {
            let header = Header::new().with(Span::KEY, Span::Of(time));
            assert_eq!(Span::of(&header), Span::Of(time), "{header}");
            assert_eq!(Span::Of(time).to_string().len(), Span::WIDTH);
        }
        let years = Duration::from_millis(9_999_999_999_500);
        assert_eq!(Span::Of(years).to_string(), "9999999999");
    }

    #[test]
    fn a_field_of_that_name_with_another_meaning_says_nothing() {
        let of = |value: &str| Span::of(&Header::new().with(Span::KEY, value));
        for value in ["", "many", "-1", "nan", "inf", "1e300"] {
            assert_eq!(of(value), Span::Unknown, "{value}");
        }
        assert_eq!(of("2.5"), Span::Of(Duration::from_millis(2500)));
        assert_eq!(Span::of(&Header::new()), Span::Unknown);
    }

    #[test]
    fn a_process_is_read_back_and_known_where_it_is_numbered() {
        let this = Process::this();
        let header = Header::new().with(Process::KEY, &this);
        assert_eq!(Process::of(&header).as_ref(), Some(&this), "{header}");
        let of = |value: &str| Process::of(&Header::new().with(Process::KEY, value));
        let here = of("7:boot:4026531836:n1").expect("a process");
        assert_eq!((here.number(), here.node()), (7, "n1"));
        let shares = |value: &str| of(value).is_some_and(|other| here.shares_numbers_with(&other));
        assert!(shares("8:boot:4026531836:n2"), "a name is no machine");
        assert!(!shares("8:boot:4026532000:n1"));
        assert!(!shares("8:later:4026531836:n1"));
        let unknown = of("8:::").expect("a process");
        assert!(!unknown.shares_numbers_with(&unknown));
        for wrong in ["", "x:::", "1::", "1::::"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
