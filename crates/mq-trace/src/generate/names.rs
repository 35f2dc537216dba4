//! Names that users write.

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
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                let known = Self::ALL.iter().find(|value| value.name() == name);
                known.copied().ok_or_else(|| {
                    let names: Vec<&str> = Self::ALL.iter().map(|value| value.name()).collect();
                    format!("`{name}` is not one of {}", names.join(", "))
                })
            }
        }
    };
}

pub(super) use named;
