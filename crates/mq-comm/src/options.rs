//! How a process goes about sending and receiving.

use core::fmt;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use mq_core::structures::{Choice, ChoiceError};
use mq_shm::channel::{Channel, NoSuchChannel};
use mq_shm::wait::Patience;
use mq_shm::{CELL_PAYLOAD, Geometry, ShmError};

/// How a process sends and receives. Processes of one world may differ.
///
/// | field | variable | default | values |
/// | --- | --- | --- | --- |
/// | [`structure`](Self::structure) | `MQ_STRUCTURE` | `indexed` | that and the others that `mq structures` lists, with parameters: `bins:bins=64` |
/// | [`channel`](Self::channel) | `MQ_POLICY` | `adaptive+shared` | `per-peer`, `adaptive+per-peer`, `adaptive+shared`, `shared`, with [parameters](mq_shm::channel::Tuning): `per-peer:credits=8` |
/// | [`bypass`](Self::bypass) | `MQ_BYPASS` | 1 | 0, 1 |
/// | [`eager_limit`](Self::eager_limit) | `MQ_EAGER_LIMIT` | 20416 | bytes, with K, M or G |
/// | [`unexpected_limit`](Self::unexpected_limit) | `MQ_UNEXPECTED_LIMIT` | 1G | bytes, with K, M or G |
/// | [`ahead_limit`](Self::ahead_limit) | `MQ_AHEAD_LIMIT` | 64K | bytes, with K, M or G |
/// | [`single_copy`](Self::single_copy) | `MQ_SINGLE_COPY` | 1 | 0, 1 |
/// | [`single_copy_from`](Self::single_copy_from) | `MQ_SINGLE_COPY_FROM` | `auto` | bytes, with K, M or G, or `auto` |
/// | [`cooperative_copy`](Self::cooperative_copy) | `MQ_COOPERATIVE_COPY` | 1 | 0, 1 |
/// | [`shared_copy`](Self::shared_copy) | `MQ_SHARED_COPY` | 1 | 0, 1 |
/// | [`shared_buffers`](Self::shared_buffers) | `MQ_SHARED_BUFFERS` | 1G | bytes, with K, M or G |
/// | [`nontemporal_from`](Self::nontemporal_from) | `MQ_NONTEMPORAL_FROM` | found at run time | bytes, with K, M or G |
/// | [`fastbox`](Self::fastbox) | `MQ_FASTBOX` | 1 | 0, 1 |
/// | [`patience`](Self::patience) | `MQ_PATIENCE` | by processes and cores | looks before it yields and before it sleeps: `2,40` |
/// | [`statistics`](Self::statistics) | `MQ_STATS` | 0 | 0, 1 |
/// | [`start_within`](Self::start_within) | `MQ_START_SECONDS` | 120 | seconds |
///
/// ```
/// use mq_comm::{Options, Policy};
///
/// let options = Options::default().with(|o| {
///     o.eager_limit = 64 << 10;
///     o.channel = Policy::PerPeer.into();
/// });
/// assert!(options.bypass);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The structure of the matching engine, and its parameters: a [`Kind`](crate::Kind)`.into()`, or a parsed text.
    pub structure: Choice,
    /// Which buffers eager messages use: a [`Policy`](crate::Policy), and its parameters.
    pub channel: Channel,
    /// Whether a receive with no unexpected match first polls the transport and takes its message directly,
    /// bypassing the engine (Nemesis).
    pub bypass: bool,
    /// The longest message that is sent eagerly, with its bytes, whether or not its receive is posted; in bytes.
    /// Receivers with too many unexpected messages ask for [announcements](Self::unexpected_limit) instead.
    pub eager_limit: usize,
    /// Bytes of memory that unexpected messages may take in this process, all senders together, with 256 for each
    /// besides its own. Senders of further ones are asked to announce them, however short: a blocking send to this
    /// process then waits for its receive, until half of the memory is free. A sender may have sent some 300 messages
    /// more by the time it hears that. Announced messages are not counted, though each takes some 200 bytes; short ones
    /// of collective operations, and those of this process to itself, are never held back.
    pub unexpected_limit: usize,
    /// The longest message, in bytes (at most 256 KiB), that another process may put into a ring without waiting to be
    /// asked for it: once an earlier one has found its receive posted, and while the ring is the quicker way for its
    /// length. Such a message takes as much memory here until it is received.
    pub ahead_limit: usize,
    /// Whether large messages are read from the sender's memory (single copy), if the kernel permits it.
    pub single_copy: bool,
    /// The shortest message that is read from the sender's memory, in bytes; shorter ones that are not eager
    /// go through a ring. With `None` (`auto` in the variable), each message takes the way that was found to
    /// be quicker for its size. The kernel looks up every page, and one process copies where two could: which
    /// way is quicker depends on the processor, and on whether messages are rewritten each time.
    pub single_copy_from: Option<usize>,
    /// Whether this process, while it waits or looks for messages, copies a part of a message that its
    /// receiver is reading from this process's memory into the receiver's memory, and whether it asks the
    /// same of others. It does not ask if its own [`patience`](Self::patience) has it yield its core
    /// immediately, nor, for messages in shared buffers, where it finds itself faster alone, unless
    /// [`single_copy_from`](Self::single_copy_from) is set. Requires [`single_copy`](Self::single_copy), even
    /// for those.
    pub cooperative_copy: bool,
    /// Whether large messages in a [shared buffer](crate::SharedBuffer) are copied straight out of it, if
    /// that is quicker than a ring or [`single_copy_from`](Self::single_copy_from) is a number. The sender's
    /// setting counts.
    pub shared_copy: bool,
    /// Bytes of shared buffers that each process may have. It counts in the process that creates the world's
    /// memory: under `mq run`, the variable counts where `mq run` is called. Unused bytes cost nothing.
    pub shared_buffers: usize,
    /// The shortest message, in bytes, that is stored past the caches into a ring, or into a cell that a slot of a
    /// fastbox names; unless given, whatever is quicker at the moment. Cells in the queue are copied line by line.
    pub nontemporal_from: Option<usize>,
    /// Whether fastboxes are used, if the policy has them.
    pub fastbox: bool,
    /// What to do while nothing arrives; unless given, decided by the number of processes and cores. A program
    /// that only asks (`test`, `iprobe`, `progress`) gives up its core as often, but never sleeps.
    pub patience: Option<Patience>,
    /// Whether this process prints what it has sent and received, and how, on stderr when it leaves.
    pub statistics: bool,
    /// How long to wait for the others at the start, where no launcher reports that one will not come.
    pub start_within: Duration,
}

/// An environment variable whose value is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ignored {
    /// Its name.
    pub variable: String,
    /// Its value.
    pub value: String,
    /// What is valid.
    pub expected: String,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            variable,
            value,
            expected,
        } = self;
        // It goes to a terminal, and may come from anybody.
        let value = value.escape_debug();
        write!(f, "{variable}={value} is ignored; expected {expected}")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            structure: Choice::default(),
            channel: Channel::default(),
            bypass: true,
            eager_limit: CELL_PAYLOAD,
            unexpected_limit: 1 << 30,
            ahead_limit: 64 << 10,
            single_copy: true,
            single_copy_from: None,
            cooperative_copy: true,
            shared_copy: true,
            shared_buffers: Geometry::BUFFERS as usize,
            nontemporal_from: None,
            fastbox: true,
            patience: None,
            statistics: false,
            start_within: Duration::from_secs(120),
        }
    }
}

impl Options {
    /// The same options with a change: `Options::default().with(|o| o.single_copy = false)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The defaults, changed by this process's environment, as [`World::init`](crate::World::init) uses them.
    /// Also returns the values that are not valid, which change nothing.
    #[must_use]
    pub fn from_environment() -> (Self, Vec<Ignored>) {
        Self::default().with_environment(|name| std::env::var_os(name))
    }

    /// These options, changed by variables from any source. Also returns the values that are not valid, which
    /// change nothing.
    #[must_use]
    pub fn with_environment(
        mut self,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> (Self, Vec<Ignored>) {
        let mut ignored = Vec::new();
        let mut each = |name: &str, take: &mut dyn FnMut(&OsStr) -> Result<(), String>| {
            if let Some(value) = variable(name).filter(|value| !value.is_empty())
                && let Err(expected) = take(&value)
            {
                ignored.push(Ignored {
                    variable: name.to_owned(),
                    value: value.to_string_lossy().into_owned(),
                    expected,
                });
            }
        };
        each("MQ_STRUCTURE", &mut |value| {
            let expected = |wrong: ChoiceError| wrong.expected();
            self.structure = value.to_string_lossy().parse().map_err(expected)?;
            Ok(())
        });
        each("MQ_POLICY", &mut |value| {
            let expected = |wrong: NoSuchChannel| wrong.expected();
            self.channel = value.to_string_lossy().parse().map_err(expected)?;
            Ok(())
        });
        each("MQ_EAGER_LIMIT", &mut |value| {
            self.eager_limit = bytes(value)?;
            Ok(())
        });
        each("MQ_UNEXPECTED_LIMIT", &mut |value| {
            self.unexpected_limit = bytes(value)?;
            Ok(())
        });
        each("MQ_AHEAD_LIMIT", &mut |value| {
            self.ahead_limit = bytes(value)?;
            Ok(())
        });
        each("MQ_SINGLE_COPY_FROM", &mut |value| {
            self.single_copy_from = match value.to_str() {
                Some("auto") => None,
                _ => Some(bytes(value).map_err(|expected| format!("{expected}, or auto"))?),
            };
            Ok(())
        });
        each("MQ_NONTEMPORAL_FROM", &mut |value| {
            self.nontemporal_from = Some(bytes(value)?);
            Ok(())
        });
        each("MQ_BYPASS", &mut |value| switch(value, &mut self.bypass));
        each("MQ_SINGLE_COPY", &mut |value| {
            switch(value, &mut self.single_copy)
        });
        each("MQ_COOPERATIVE_COPY", &mut |value| {
            switch(value, &mut self.cooperative_copy)
        });
        each("MQ_SHARED_COPY", &mut |value| {
            switch(value, &mut self.shared_copy)
        });
        each("MQ_SHARED_BUFFERS", &mut |value| {
            self.shared_buffers = bytes(value)?;
            Ok(())
        });
        each("MQ_FASTBOX", &mut |value| switch(value, &mut self.fastbox));
        each("MQ_PATIENCE", &mut |value| {
            self.patience = Some(patience(value)?);
            Ok(())
        });
        each("MQ_STATS", &mut |value| switch(value, &mut self.statistics));
        each("MQ_START_SECONDS", &mut |value| {
            let seconds = parsed(value).filter(|&seconds| seconds > 0);
            let seconds = seconds.ok_or("a number of seconds, at least 1")?;
            self.start_within = Duration::from_secs(seconds);
            Ok(())
        });
        (self, ignored)
    }

    /// The sizes of a segment for `processes` processes.
    ///
    /// # Errors
    /// [`ShmError::Processes`] for none or too many; [`ShmError::Buffers`] if their shared buffers
    /// are more than 16 TiB.
    pub fn geometry(&self, processes: u32) -> Result<Geometry, ShmError> {
        Geometry::new(processes)?.with_buffers(self.shared_buffers as u64)
    }

    /// The options of the transport.
    pub(crate) fn of_transport(&self) -> mq_shm::Options {
        mq_shm::Options::default().with(|told| {
            told.policy = self.channel.policy;
            told.tuning = self.channel.tuning;
            told.fastbox = self.fastbox;
            told.single_copy = self.single_copy;
            told.cooperative_copy = self.cooperative_copy;
            told.shared_copy = self.shared_copy;
            told.nontemporal_from = self.nontemporal_from;
            told.patience = self.patience;
        })
    }
}

fn parsed<V: core::str::FromStr>(value: &OsStr) -> Option<V> {
    value.to_str()?.parse().ok()
}

fn switch(value: &OsStr, to: &mut bool) -> Result<(), String> {
    *to = match value.to_str() {
        Some("1") => true,
        Some("0") => false,
        _ => return Err("0 or 1".into()),
    };
    Ok(())
}

/// Two numbers: looks with the processor kept, and looks after each of which others may run.
fn patience(value: &OsStr) -> Result<Patience, String> {
    let numbers = value.to_str().and_then(|text| text.split_once(','));
    let number = |text: &str| text.parse().ok();
    numbers
        .and_then(|(spins, yields)| {
            let (spins, yields) = (number(spins)?, number(yields)?);
            Some(Patience::YIELDING.with(|p| (p.spins, p.yields) = (spins, yields)))
        })
        .ok_or_else(|| "two numbers below 2^32 separated by a comma, such as 2,40".into())
}

fn bytes(value: &OsStr) -> Result<usize, String> {
    value
        .to_str()
        .and_then(parse_bytes)
        .ok_or_else(|| "a number of bytes, such as 4096, 64K, 2M or 1G".into())
}

/// Parses a number of bytes as in the environment variables: K, M or G after it stands for a power of 1,024.
/// For programs whose options take the same notation.
///
/// ```
/// assert_eq!(mq_comm::parse_bytes("64K"), Some(65_536));
/// assert_eq!(mq_comm::parse_bytes("much"), None);
/// ```
#[must_use]
pub fn parse_bytes(text: &str) -> Option<usize> {
    let (digits, unit) = match text.chars().last() {
        Some('K' | 'k') => (&text[..text.len() - 1], 1 << 10),
        Some('M' | 'm') => (&text[..text.len() - 1], 1 << 20),
        Some('G' | 'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1_usize),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (Options, Vec<Ignored>) {
        Options::default().with_environment(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn every_variable_is_read() {
        let (options, ignored) = read(&[
            ("MQ_STRUCTURE", "pnp:partner_threshold=9"),
            ("MQ_POLICY", "shared:grow=3"),
            ("MQ_BYPASS", "0"),
            ("MQ_EAGER_LIMIT", "64K"),
            ("MQ_UNEXPECTED_LIMIT", "96M"),
            ("MQ_AHEAD_LIMIT", "32K"),
            ("MQ_SINGLE_COPY", "0"),
            ("MQ_SINGLE_COPY_FROM", "1M"),
            ("MQ_COOPERATIVE_COPY", "0"),
            ("MQ_SHARED_COPY", "0"),
            ("MQ_SHARED_BUFFERS", "3M"),
            ("MQ_NONTEMPORAL_FROM", "2M"),
            ("MQ_FASTBOX", "0"),
            ("MQ_PATIENCE", "5,7"),
            ("MQ_STATS", "1"),
            ("MQ_START_SECONDS", "9"),
        ]);
        assert_eq!(ignored, []);
        let expected = Options {
            structure: "pnp:partner_threshold=9".parse().expect("a structure"),
            channel: "shared:grow=3".parse().expect("a channel"),
            bypass: false,
            eager_limit: 64 << 10,
            unexpected_limit: 96 << 20,
            ahead_limit: 32 << 10,
            single_copy: false,
            single_copy_from: Some(1 << 20),
            cooperative_copy: false,
            shared_copy: false,
            shared_buffers: 3 << 20,
            nontemporal_from: Some(2 << 20),
            fastbox: false,
            patience: Some(Patience::YIELDING.with(|p| (p.spins, p.yields) = (5, 7))),
            statistics: true,
            start_within: Duration::from_secs(9),
        };
        assert_eq!(options, expected);
        assert_eq!(read(&[("MQ_BYPASS", "")]), (Options::default(), vec![]));
        let (options, _) = read(&[("MQ_SINGLE_COPY_FROM", "auto")]);
        assert_eq!(options.single_copy_from, None);
    }

    #[test]
    fn wrong_values_change_nothing_and_are_reported() {
        let (options, ignored) = read(&[
            ("MQ_STRUCTURE", "tree"),
            ("MQ_POLICY", "srq"),
            ("MQ_EAGER_LIMIT", "much"),
            ("MQ_BYPASS", "yes"),
            ("MQ_PATIENCE", "5"),
            ("MQ_START_SECONDS", "0"),
            ("MQ_SINGLE_COPY_FROM", "some"),
        ]);
        assert_eq!(options, Options::default());
        let said: Vec<String> = ignored.iter().map(Ignored::to_string).collect();
        assert_eq!(said.len(), 7);
        assert!(said[0].starts_with("MQ_STRUCTURE=tree is ignored; expected one of list, array"));
        assert!(said[3].starts_with("MQ_SINGLE_COPY_FROM=some is ignored"));
        assert!(said[3].ends_with(", or auto"));
        assert_eq!(said[4], "MQ_BYPASS=yes is ignored; expected 0 or 1");
    }

    #[test]
    fn every_variable_is_in_the_table() {
        let names = core::cell::RefCell::new(Vec::new());
        let _ = Options::default().with_environment(|name| {
            names.borrow_mut().push(name.to_owned());
            None
        });
        let names = names.into_inner();
        assert_eq!(names.len(), 16);
        let here = include_str!("options.rs");
        for name in names {
            assert!(here.contains(&format!("| `{name}` |")), "{name}");
        }
    }
}
