//! The table of structures, and the choice among them at run time.
//!
//! Each structure is one file; this file lists them. [`Indexed`] is the default. All of them implement
//! [`MatchQueues`](crate::MatchQueues) and pass the same conformance suite.

pub mod adaptive;
mod any;
pub mod array;
mod best;
pub mod bins;
mod choice;
pub mod clusters;
pub mod col;
pub mod col_pnp;
pub mod four_d;
pub mod indexed;
pub mod lane;
pub mod layered;
pub mod leads;
pub mod list;
mod parameters;
pub mod pnp;
mod pool;
pub mod rbtree;
pub mod routed;
pub mod threshold;

use core::fmt;
use core::str::FromStr;

pub use self::adaptive::{Adaptive, ListThenBins};
pub use self::any::{AnyQueues, KindVisitor, QueuesVisitor, SendKindVisitor};
pub use self::array::{Array, RankHeads};
pub use self::bins::{Bins, HashedBins};
pub use self::choice::{Choice, ChoiceError};
pub use self::clusters::{ClusteredLists, Groups};
pub use self::col::{Col, Collectives};
pub use self::col_pnp::{ColPnp, Unified};
pub use self::four_d::{Cube, FourD};
pub use self::indexed::Indexed;
pub use self::lane::{Lane, LaneId};
pub use self::layered::{Layered, ListId, Origin, Plan};
pub use self::leads::Leads;
pub use self::list::List;
pub use self::parameters::Parameter;
pub use self::pnp::{Partners, Pnp};
pub use self::rbtree::{RankTree, RbTree};
pub use self::routed::{Route, Routed, Sender};
pub use self::threshold::{ListOrCube, Threshold, size_threshold};

use crate::error::UnknownKind;

/// Calls a macro with the table of structures: variant, type, name, source, when to choose it.
///
/// A new structure is one line here.
macro_rules! for_each_structure {
    ($call:ident) => {
        $call! {
            List, List, "list", "MPICH, MVAPICH",
                "for comparison; queues of a few entries where every byte counts";
            Array, Array, "array", "Open MPI; Zounmevo & Afsahi 2014 §5",
                "communicators of a few hundred ranks that talk to most peers";
            FourD, FourD, "4d", "Zounmevo & Afsahi 2014 §4",
                "very large communicators in which few ranks talk to this one";
            Threshold, Threshold, "threshold", "Zounmevo & Afsahi 2014 §4.3",
                "like 4d, if most communicators are small";
            RbTree, RbTree, "rbtree", "Zounmevo & Afsahi 2014 §6",
                "for comparison";
            Bins, Bins, "bins", "Flajslik, Dinan & Underwood, ISC 2016",
                "a known number of busy peers, memory paid once";
            Adaptive, Adaptive, "adaptive", "Bayatpour et al., Cluster 2016",
                "mostly short queues, sometimes long ones";
            Pnp, Pnp, "pnp", "Ghazimirsaeed et al., ExaMPI 2017",
                "few busy peers among very many";
            Col, Col, "col", "Ghazimirsaeed, Grant & Afsahi 2019 §4.1",
                "collectives over many ranks fill the queues";
            ColPnp, ColPnp, "col+pnp", "Ghazimirsaeed, Grant & Afsahi 2019 §4",
                "heavy collective and point-to-point traffic over many ranks";
            Clusters, ClusteredLists, "clusters", "Ghazimirsaeed & Afsahi 2017",
                "for comparison; a program profiled once and run often";
            Indexed, Indexed, "indexed", "this project",
                "anything: short queues are scanned, long ones hashed, wildcards included";
        }
    };
}
pub(crate) use for_each_structure;

macro_rules! kinds {
    ($($variant:ident, $type:ident, $name:literal, $source:literal, $choose:literal;)*) => {
        /// The name of a structure, for choosing at run time.
        ///
        /// ```
        /// use mq_core::structures::Kind;
        ///
        /// let kind: Kind = "4d".parse()?;
        /// assert_eq!(kind, Kind::FourD);
        /// assert_eq!(kind.to_string(), "4d");
        /// assert!("5d".parse::<Kind>().is_err());
        /// # Ok::<(), mq_core::UnknownKind>(())
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Kind {
            $(
                #[doc = concat!("`", $name, "`: see [`", stringify!($type), "`].")]
                $variant,
            )*
        }

        impl Kind {
            /// All structures, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name, as users write it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Who published or uses it.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source,)* }
            }

            /// When to choose it.
            pub const fn when_to_choose(self) -> &'static str {
                match self { $(Self::$variant => $choose,)* }
            }
        }
    };
}
for_each_structure!(kinds);

impl Default for Kind {
    fn default() -> Self {
        Self::Indexed
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        let known = Self::ALL.iter().find(|kind| kind.name() == name);
        known.copied().ok_or_else(|| UnknownKind::new(name))
    }
}
