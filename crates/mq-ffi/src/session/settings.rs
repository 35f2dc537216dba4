//! What the user of an application asks for in environment variables.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use mq_core::structures::{Choice, ChoiceError, Kind};

/// What a session is to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    /// `MQ_STRUCTURE`.
    pub(crate) structure: Option<Choice>,
    /// `MQ_TRACE`.
    pub(crate) trace: Option<PathBuf>,
    /// Whether that folder is the library's own option, which no variable has replaced.
    pub(crate) trace_is_an_option: bool,
    /// `MQ_STATS`.
    pub(crate) statistics: bool,
    /// `MQ_BUDGET_ENTRIES`.
    pub(crate) entries: Option<u64>,
    /// `MQ_BUDGET_BYTES`.
    pub(crate) bytes: Option<u64>,
}

impl Settings {
    /// Whether anything has to be recorded about the engines.
    pub(crate) const fn watches(&self) -> bool {
        self.trace.is_some() || self.statistics || self.entries.is_some() || self.bytes.is_some()
    }

    /// What named the trace folder, for the user who has to correct it.
    pub(super) const fn trace_name(&self) -> &'static str {
        if self.trace_is_an_option {
            "mq_session_options.trace"
        } else {
            "MQ_TRACE"
        }
    }

    /// Reads the variables; each wrong value gives a complaint and changes nothing. A library whose
    /// queues do not know message lengths cannot use a budget of bytes. A structure that behaves
    /// differently here than elsewhere is accepted, and also gives a complaint.
    pub(crate) fn read(
        &mut self,
        knows_bytes: bool,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut each = |name: &str, take: &mut dyn FnMut(&OsStr) -> Result<(), String>| {
            if let Some(value) = variable(name).filter(|value| !value.is_empty())
                && let Err(allowed) = take(&value)
            {
                let value = value.to_string_lossy();
                // It goes to a terminal, and may come from anybody.
                let value = value.escape_debug();
                complaints.push(format!("{name}={value} is ignored; {allowed}"));
            }
        };
        each("MQ_STRUCTURE", &mut |value| {
            let expected = |wrong: ChoiceError| format!("expected {}", wrong.expected());
            self.structure = Some(value.to_string_lossy().parse().map_err(expected)?);
            Ok(())
        });
        each("MQ_TRACE", &mut |value| {
            self.trace = Some(PathBuf::from(value));
            self.trace_is_an_option = false;
            Ok(())
        });
        each("MQ_STATS", &mut |value| {
            self.statistics = match value.to_str() {
                Some("1") => true,
                Some("0") => false,
                _ => return Err("expected 0 or 1".into()),
            };
            Ok(())
        });
        each("MQ_BUDGET_ENTRIES", &mut |value| {
            self.entries = Some(amount(value)?);
            Ok(())
        });
        each("MQ_BUDGET_BYTES", &mut |value| {
            if !knows_bytes {
                return Err(NO_BYTES.into());
            }
            self.bytes = Some(amount(value)?);
            Ok(())
        });
        if self.structure.as_ref().map(Choice::kind) == Some(Kind::Clusters) {
            complaints.push(NO_PROFILE.into());
        }
        complaints
    }
}

/// A user who asks for it expects it to make a difference.
const NO_PROFILE: &str = "the structure clusters is a single list here: its groups come from a profile, \
     and none can be given";

const NO_BYTES: &str =
    "the queues of this library do not know message lengths; MQ_BUDGET_ENTRIES counts messages";

/// A number above 0, with K, M or G for powers of 1,024.
fn amount(value: &OsStr) -> Result<u64, String> {
    let text = value.to_str().unwrap_or_default();
    let (digits, unit) = match text.chars().last() {
        Some('K' | 'k') => (&text[..text.len() - 1], 1 << 10),
        Some('M' | 'm') => (&text[..text.len() - 1], 1 << 20),
        Some('G' | 'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1_u64),
    };
    let number = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
    let positive = number.filter(|&number| number > 0);
    positive.ok_or_else(|| "expected a number above 0, optionally followed by K, M or G".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
        read_of(true, variables)
    }

    fn read_of(knows_bytes: bool, variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
        let mut settings = Settings::default();
        let complaints = settings.read(knows_bytes, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        });
        (settings, complaints)
    }

    #[test]
    fn every_variable_is_read() {
        let (settings, complaints) = read(&[
            ("MQ_STRUCTURE", "bins:bins=64"),
            ("MQ_TRACE", "traces"),
            ("MQ_STATS", "1"),
            ("MQ_BUDGET_ENTRIES", "10000"),
            ("MQ_BUDGET_BYTES", "64M"),
        ]);
        assert_eq!(complaints, [""; 0]);
        let expected = Settings {
            structure: "bins:bins=64".parse().ok(),
            trace: Some("traces".into()),
            trace_is_an_option: false,
            statistics: true,
            entries: Some(10_000),
            bytes: Some(64 << 20),
        };
        assert_eq!(settings, expected);
        assert!(settings.watches());
    }

    #[test]
    fn nothing_set_asks_for_nothing() {
        let (settings, complaints) = read(&[("MQ_STRUCTURE", ""), ("MQ_STATS", "0")]);
        assert_eq!((complaints.len(), settings.watches()), (0, false));
    }

    #[test]
    fn a_wrong_value_is_named_with_what_is_allowed_and_changes_nothing() {
        for (name, value, allowed) in [
            ("MQ_STRUCTURE", "lists", "expected one of list, array, 4d"),
            ("MQ_STRUCTURE", "bins:bin=64", "expected `bins:bins=VALUE`"),
            (
                "MQ_STRUCTURE",
                "bins:bins=0",
                "expected a whole number from 1",
            ),
            ("MQ_STATS", "yes", "0 or 1"),
            ("MQ_BUDGET_ENTRIES", "-1", "number above 0"),
            ("MQ_BUDGET_BYTES", "0", "number above 0"),
            ("MQ_BUDGET_BYTES", "99999999999G", "number above 0"),
        ] {
            let (settings, complaints) = read(&[(name, value)]);
            assert_eq!(settings, Settings::default());
            let [complaint] = &complaints[..] else {
                unreachable!("one complaint: {complaints:?}");
            };
            assert!(complaint.starts_with(&format!("{name}={value} is ignored")));
            assert!(complaint.contains(allowed), "{complaint}");
        }
    }

    #[test]
    fn a_structure_without_its_profile_is_taken_and_said_to_be_without() {
        let (settings, complaints) = read(&[("MQ_STRUCTURE", "clusters")]);
        assert_eq!(settings.structure, Some(Kind::Clusters.into()));
        assert_eq!(complaints, [NO_PROFILE]);
    }

    #[test]
    fn a_folder_is_named_after_who_asked_for_it() {
        let asked = Settings {
            trace: Some("the library's".into()),
            trace_is_an_option: true,
            ..Settings::default()
        };
        for (value, name) in [
            (None, "mq_session_options.trace"),
            (Some("the user's"), "MQ_TRACE"),
        ] {
            let mut settings = asked.clone();
            settings.read(true, |variable| {
                let value = value.map(OsString::from);
                value.filter(|_| variable == "MQ_TRACE")
            });
            assert_eq!(settings.trace_name(), name);
        }
    }

    #[test]
    fn a_budget_of_bytes_is_nothing_where_sizes_are_not_known() {
        for value in ["64M", "5X"] {
            let (settings, complaints) = read_of(false, &[("MQ_BUDGET_BYTES", value)]);
            assert!(!settings.watches());
            let expected = format!("MQ_BUDGET_BYTES={value} is ignored; {NO_BYTES}");
            assert_eq!(complaints, [expected]);
        }
    }
}
