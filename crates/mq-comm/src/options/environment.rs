//! The options that environment variables set.

use core::fmt;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use mq_core::structures::ChoiceError;
use mq_shm::channel::NoSuchChannel;
use mq_shm::wait::Patience;

use super::Options;

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

impl Options {
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
        each("MQ_CELLS", &mut |value| {
            self.cells = cells(value)?;
            Ok(())
        });
        each("MQ_FASTBOX", &mut |value| switch(value, &mut self.fastbox));
        each("MQ_PATIENCE", &mut |value| {
            self.patience = Some(patience(value)?);
            Ok(())
        });
        each("MQ_STATS", &mut |value| switch(value, &mut self.statistics));
        each("MQ_START_SECONDS", &mut |value| {
            self.start_within = seconds(value)?;
            Ok(())
        });
        each("MQ_SAY_WAITS", &mut |value| {
            self.say_waits = Some(seconds(value)?);
            Ok(())
        });
        (self, ignored)
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

fn cells(value: &OsStr) -> Result<u32, String> {
    let cells = parsed(value).filter(|cells| (2..=1 << 16).contains(cells));
    cells.ok_or_else(|| "a number from 2 to 65536".into())
}

fn seconds(value: &OsStr) -> Result<Duration, String> {
    let seconds = parsed(value).filter(|&seconds| seconds > 0);
    let seconds = seconds.ok_or("a number of seconds, at least 1")?;
    Ok(Duration::from_secs(seconds))
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
            ("MQ_CELLS", "99"),
            ("MQ_NONTEMPORAL_FROM", "2M"),
            ("MQ_FASTBOX", "0"),
            ("MQ_PATIENCE", "5,7"),
            ("MQ_STATS", "1"),
            ("MQ_SAY_WAITS", "7"),
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
            cells: 99,
            nontemporal_from: Some(2 << 20),
            fastbox: false,
            patience: Some(Patience::YIELDING.with(|p| (p.spins, p.yields) = (5, 7))),
            statistics: true,
            say_waits: Some(Duration::from_secs(7)),
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
            ("MQ_CELLS", "1"),
        ]);
        assert_eq!(options, Options::default());
        let said: Vec<String> = ignored.iter().map(Ignored::to_string).collect();
        assert_eq!(said.len(), 8);
        assert_eq!(
            said[5],
            "MQ_CELLS=1 is ignored; expected a number from 2 to 65536"
        );
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
        assert_eq!(names.len(), 18);
        let here = include_str!("../options.rs");
        for name in names {
            assert!(here.contains(&format!("| `{name}` |")), "{name}");
        }
    }
}
