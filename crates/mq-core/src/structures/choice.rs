//! [`Choice`]: a structure and its parameters, in the form in which users write them.

use core::fmt;
use core::str::FromStr;

use super::{Kind, Parameter};
use crate::config::Tuning;
use crate::error::UnknownKind;

/// A structure and its parameters, as users write them: the name, then any of its parameters, each as
/// `:NAME=VALUE`.
///
/// Options, environment variables and the C interface read structures in this form, and tables print it. Parameters
/// that are not named have their defaults, and those that have are not printed.
///
/// ```
/// use mq_core::structures::{Choice, Kind};
///
/// let choice: Choice = "adaptive:bins=64:adaptive_search=64".parse()?;
/// assert_eq!((choice.kind(), choice.tuning().bins), (Kind::Adaptive, 64));
/// assert_eq!(choice.to_string(), "adaptive:bins=64", "64 is the default of the other");
///
/// let wrong = "bins:bins=0".parse::<Choice>().expect_err("none would be left");
/// assert!(wrong.to_string().ends_with("expected a whole number from 1 to 16777216"));
/// # Ok::<(), mq_core::structures::ChoiceError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Choice {
    kind: Kind,
    tuning: Tuning,
}

impl Choice {
    /// A structure with these parameters. Those of other structures have no effect, and do not take part in how the
    /// choice is printed.
    #[must_use]
    pub const fn new(kind: Kind, tuning: Tuning) -> Self {
        Self { kind, tuning }
    }

    /// The structure.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Its parameters.
    #[must_use]
    pub const fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    /// Sets the parameter that `text` names, `NAME=VALUE`; returns its name.
    fn set(&mut self, text: &str) -> Result<&'static str, ChoiceError> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let known = self.kind.parameters().find(|known| known.name() == name);
        let Some(parameter) = known else {
            let (kind, name) = (self.kind, name.into());
            return Err(ChoiceError::Parameter { kind, name });
        };
        let wrong = || ChoiceError::Value {
            parameter: parameter.name(),
            value: value.into(),
            allowed: parameter.allowed(),
        };
        parameter.set(&mut self.tuning, value).ok_or_else(wrong)?;
        Ok(parameter.name())
    }
}

impl From<Kind> for Choice {
    fn from(kind: Kind) -> Self {
        Self::new(kind, Tuning::default())
    }
}

impl FromStr for Choice {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let kind: Kind = name.parse().map_err(ChoiceError::Structure)?;
        let mut choice = Self::from(kind);
        let mut set: Vec<&str> = Vec::new();
        for part in parts {
            let name = choice.set(part)?;
            if set.contains(&name) {
                return Err(ChoiceError::Twice { parameter: name });
            }
            set.push(name);
        }
        Ok(choice)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        let defaults = Tuning::default();
        let mut parameters = self.kind.parameters();
        parameters.try_for_each(|parameter| {
            if parameter.is_same(&self.tuning, &defaults) {
                return Ok(());
            }
            write!(f, ":{}={}", parameter.name(), parameter.value(&self.tuning))
        })
    }
}

/// Why a text is no [`Choice`].
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChoiceError {
    /// No structure has this name.
    Structure(UnknownKind),
    /// The structure has no such parameter.
    Parameter {
        /// The structure.
        kind: Kind,
        /// The name that it does not know.
        name: String,
    },
    /// A parameter was named more than once.
    Twice {
        /// Its name.
        parameter: &'static str,
    },
    /// The parameter cannot have this value.
    Value {
        /// The parameter's name.
        parameter: &'static str,
        /// The value, empty if there was none.
        value: String,
        /// In words, the values that it may have.
        allowed: String,
    },
}

impl ChoiceError {
    /// What would have been right, for a sentence that begins with "expected".
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Structure(_) => {
                let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
                format!("one of {}", names.join(", "))
            }
            Self::Parameter { kind, .. } => {
                let form = |known: &Parameter| format!("{}=VALUE", known.name());
                let forms: Vec<String> = kind.parameters().map(form).collect();
                match &forms[..] {
                    [] => format!("`{kind}` without parameters"),
                    [one] => format!("`{kind}:{one}`"),
                    several => format!("one of {} after `{kind}:`", several.join(", ")),
                }
            }
            Self::Twice { parameter } => format!("{parameter} once"),
            Self::Value {
                parameter, allowed, ..
            } => format!("{allowed} for {parameter}"),
        }
    }
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structure(unknown) => unknown.fmt(f),
            Self::Parameter { kind, name } => {
                let expected = self.expected();
                write!(f, "`{kind}` has no parameter `{name}`; expected {expected}")
            }
            Self::Twice { parameter } => write!(f, "`{parameter}` is named twice"),
            Self::Value {
                parameter,
                value,
                allowed,
            } => write!(f, "`{parameter}` cannot be `{value}`; expected {allowed}"),
        }
    }
}

impl fmt::Debug for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for ChoiceError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Choice, String> {
        text.parse().map_err(|wrong: ChoiceError| wrong.to_string())
    }

    #[test]
    fn every_parameter_is_read_and_printed_for_each_of_its_structures() {
        for parameter in Parameter::ALL {
            for &kind in parameter.kinds() {
                let text = format!("{kind}:{}=7", parameter.name());
                let choice = parse(&text).expect("7 is allowed for all");
                assert_eq!(choice.to_string(), text);
                assert_ne!(choice.tuning(), &Tuning::default(), "{text}");
                assert_eq!(choice, parse(&choice.to_string()).expect("as printed"));
            }
        }
    }

    #[test]
    fn every_field_of_the_tuning_that_is_a_number_has_a_name() {
        let fields = format!("{:#?}", Tuning::default());
        let fields = fields.lines().filter_map(|line| line.strip_prefix("    "));
        let names = fields.filter_map(|field| field.split_once(": "));
        let mut names: Vec<&str> = names.map(|(name, _)| name).collect();
        names.retain(|&name| name != "clusters" && name != "own");
        names.sort_unstable();
        let mut known: Vec<&str> = Parameter::ALL.iter().map(Parameter::name).collect();
        known.sort_unstable();
        assert_eq!(names, known);
    }

    #[test]
    fn a_name_alone_has_the_defaults_and_so_have_defaults_that_are_named() {
        for &kind in Kind::ALL {
            assert_eq!(parse(kind.name()), Ok(Choice::from(kind)));
            let defaults = Tuning::default();
            let named = kind.parameters().fold(kind.to_string(), |text, parameter| {
                format!("{text}:{}={}", parameter.name(), parameter.value(&defaults))
            });
            assert_eq!(parse(&named), Ok(Choice::from(kind)), "{named}");
        }
    }

    #[test]
    fn the_limits_of_every_parameter_are_those_that_its_sentence_names() {
        for parameter in Parameter::ALL {
            let kind = parameter.kinds()[0];
            let allowed = parameter.allowed();
            let words: Vec<&str> = allowed.split(' ').collect();
            let set = |value: &str| parse(&format!("{kind}:{}={value}", parameter.name()));
            let (least, most) = match &words[..] {
                ["a", "whole", "number", "from", least, "to", most] => (*least, Some(*most)),
                ["a", "number", "from", least, "on"] => (*least, None),
                _ => unreachable!("{}", parameter.allowed()),
            };
            assert!(set(least).is_ok());
            let below = least.parse::<i64>().expect("a whole number") - 1;
            assert!(set(&below.to_string()).is_err(), "{}", parameter.name());
            if let Some(most) = most {
                assert!(set(most).is_ok());
                let above = most.parse::<i64>().expect("a whole number") + 1;
                assert!(set(&above.to_string()).is_err(), "{}", parameter.name());
            }
            for wrong in ["", "x", "NaN", "inf", "1 ", "0x10", "-1"] {
                assert!(set(wrong).is_err(), "{}={wrong}", parameter.name());
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_was_expected() {
        for (text, sentence) in [
            (
                "tree",
                "unknown structure `tree`; choose one of list, array",
            ),
            ("", "unknown structure ``; choose one of list"),
            (
                "list:bins=4",
                "`list` has no parameter `bins`; expected `list` without parameters",
            ),
            (
                "bins:64",
                "`bins` has no parameter `64`; expected `bins:bins=VALUE`",
            ),
            (
                "col+pnp:",
                "`col+pnp` has no parameter ``; expected one of partner_threshold=VALUE, point_to_point_k=VALUE, \
                 collective_k=VALUE after `col+pnp:`",
            ),
            (
                "adaptive:bins",
                "`bins` cannot be ``; expected a whole number from 1 to 16777216",
            ),
            ("bins:bins=4:bins=4", "`bins` is named twice"),
            (
                "pnp:point_to_point_k=-1",
                "`point_to_point_k` cannot be `-1`; expected a number from 0 on",
            ),
        ] {
            let wrong = parse(text).expect_err(text);
            assert!(wrong.starts_with(sentence), "{text}: {wrong}");
        }
    }
}
