//! Names that users write.

use crate::parse_error::ParseError;

/// Declares an enum whose values have names that users write.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum $type { $($(#[$variant_doc])* $variant,)* }

        impl $type {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name, as users write it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl core::str::FromStr for $type {
            type Err = crate::parse_error::ParseError;

            fn from_str(name: &str) -> Result<Self, crate::parse_error::ParseError> {
                let known = Self::ALL.iter().find(|value| value.name() == name);
                let names = Self::ALL.iter().map(|value| value.name());
                known.copied().ok_or_else(|| $crate::generate::names::unknown(name, names))
            }
        }
    };
}

pub(super) use named;

/// That a name is not one of these.
pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> ParseError {
    let known: Vec<&str> = known.collect();
    ParseError::new(format!("`{name}` is not one of {}", known.join(", ")))
}
