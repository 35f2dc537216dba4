//! The first line of a trace: the format version and the trace's origin.

use std::fmt;
use std::str::FromStr;

use crate::parse_error::{ParseError, quoted};

/// The only version.
const VERSION: &str = "1";

/// The header `# mqtrace 1 key=value ...`: named remarks on the origin of a trace, in the given order.
///
/// ```
/// use mq_trace::Header;
/// let header = Header::new().with("source", "LAMMPS melt").with("rank", 0);
/// assert_eq!(header.to_string(), "# mqtrace 1 source=LAMMPS_melt rank=0");
/// assert_eq!(header.get("rank"), Some("0"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    fields: Vec<(String, String)>,
}

impl Header {
    /// A header without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field, or replaces the value of the field of that name.
    ///
    /// The line has no way to quote, so each white-space character of the value becomes `_`, and so
    /// does each white-space character or `=` of the key; an empty key becomes `_` too.
    #[must_use]
    pub fn with(mut self, key: impl fmt::Display, value: impl fmt::Display) -> Self {
        let mut key = in_one_word(&key.to_string()).replace('=', "_");
        if key.is_empty() {
            key.push('_');
        }
        let value = in_one_word(&value.to_string());
        match self.fields.iter_mut().find(|(name, _)| *name == key) {
            Some(field) => field.1 = value,
            None => self.fields.push((key, value)),
        }
        self
    }

    /// The value of a field, if the header has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// Every field as (key, value), in the order of the line; no key comes twice.
    #[must_use]
    pub fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// Reads a header line without its line feed; one carriage return at its end is ignored. Fields are
    /// separated by a blank; other white space in them is read as `_`.
    ///
    /// # Errors
    /// The line is not a header, its version is not 1, or a field is not `key=value` or occurs twice.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let text = text.strip_suffix('\r').unwrap_or(text);
        let Some(rest) = text
            .strip_prefix(Self::MAGIC)
            .filter(|rest| !rest.is_empty())
        else {
            let found = quoted(text);
            return Err(ParseError::new(format!(
                "{}; found {found}",
                Self::EXPECTED
            )));
        };
        let mut words = rest.split(' ');
        let version = words.next().unwrap_or_default();
        if version != VERSION {
            return Err(ParseError::new(format!(
                "the trace has format version {}; only version 1 can be read",
                quoted(version)
            )));
        }
        let mut header = Self::new();
        for word in words {
            let word = in_one_word(word);
            match word.split_once('=') {
                Some((key, _)) if header.get(key).is_some() => {
                    let twice = format!("the header gives {} twice", quoted(key));
                    return Err(ParseError::new(twice));
                }
                Some((key, value)) if !key.is_empty() => {
                    header.fields.push((key.into(), value.into()));
                }
                _ => {
                    return Err(ParseError::new(format!(
                        "the header field {} is not of the form `key=value`",
                        quoted(&word)
                    )));
                }
            }
        }
        Ok(header)
    }

    /// The start of every header, before its version.
    pub(crate) const MAGIC: &'static str = "# mqtrace ";
    /// How messages describe the required first line.
    pub(crate) const EXPECTED: &'static str = "the first line must be `# mqtrace 1 key=value ...`";
}

/// As [`Header::parse`].
impl FromStr for Header {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The line has no quoting: white space would end a field, or the line.
fn in_one_word(text: &str) -> String {
    text.replace(char::is_whitespace, "_")
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{VERSION}", Self::MAGIC)?;
        self.fields
            .iter()
            .try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reason(text: &str) -> String {
        let refused = Header::parse(text).expect_err("the header is malformed");
        assert_eq!(text.parse::<Header>().as_ref(), Err(&refused));
        refused.to_string()
    }

    #[test]
    fn a_real_header_is_read_and_printed_back() {
        let text = "# mqtrace 1 source=lmp-melt16 rank=0 mpi=openmpi-5.0.7-ob1";
        let header = Header::parse(text).expect("a good header");
        assert_eq!(header.get("source"), Some("lmp-melt16"));
        assert_eq!(header.get("mpi"), Some("openmpi-5.0.7-ob1"));
        assert_eq!(header.get("size"), None);
        assert_eq!(header.fields().len(), 3);
        assert_eq!(header.to_string(), text);
        assert_eq!(Header::parse("# mqtrace 1\r"), Ok(Header::new()));
    }

    #[test]
    fn white_space_that_is_read_does_not_get_lost_when_it_is_written() {
        let header = Header::parse("# mqtrace 1 a\tb=1 c=2\r\r\r").expect("two fields");
        assert_eq!(header.to_string(), "# mqtrace 1 a_b=1 c=2__");
        assert_eq!(Header::parse(&header.to_string()), Ok(header));
        assert!(reason("# mqtrace 1 a\tb=1 a_b=2").contains("twice"));
    }

    #[test]
    fn white_space_cannot_break_the_line() {
        let header = Header::new()
            .with("a b=c", "x y\nz")
            .with("", "")
            .with("a b=c", 2);
        assert_eq!(header.to_string(), "# mqtrace 1 a_b_c=2 _=");
        assert_eq!(
            Header::new().with("k", "x y\n=z").to_string(),
            "# mqtrace 1 k=x_y_=z"
        );
    }

    #[test]
    fn another_version_is_named() {
        assert_eq!(
            reason("# mqtrace 2 rank=0"),
            "the trace has format version `2`; only version 1 can be read"
        );
        assert_eq!(
            reason("# mqtrace 1.0"),
            "the trace has format version `1.0`; only version 1 can be read"
        );
    }

    #[test]
    fn a_missing_header_shows_what_is_there_instead() {
        let expected = "the first line must be `# mqtrace 1 key=value ...`; found ";
        for text in [
            "a 1 2 -33",
            "",
            "# mqtrace",
            "# mqtrace ",
            "#mqtrace 1",
            " # mqtrace 1",
            "\u{feff}# mqtrace 1",
        ] {
            assert_eq!(reason(text), format!("{expected}{}", quoted(text)));
        }
        assert_eq!(
            reason(&"y".repeat(99)),
            format!("{expected}`{}...`", "y".repeat(40))
        );
    }

    #[test]
    fn odd_fields_are_refused() {
        assert_eq!(
            reason("# mqtrace 1 rank"),
            "the header field `rank` is not of the form `key=value`"
        );
        assert_eq!(
            reason("# mqtrace 1 =3"),
            "the header field `=3` is not of the form `key=value`"
        );
        assert_eq!(
            reason("# mqtrace 1 a=1  b=2"),
            "the header field `` is not of the form `key=value`"
        );
        assert_eq!(reason("# mqtrace 1 a=1 a=2"), "the header gives `a` twice");
    }

    proptest! {
        #[test]
        fn built_headers_are_read_back(fields in prop::collection::vec((".{0,9}", ".{0,9}"), 0..6)) {
            let header = fields.iter().fold(Header::new(), |header, (key, value)| header.with(key, value));
            prop_assert_eq!(Header::parse(&header.to_string()), Ok(header));
        }
    }
}
