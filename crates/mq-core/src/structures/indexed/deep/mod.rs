//! The deep form of `indexed`: its [index](index::Index), and steps [of receives](post) and [of messages](arrive), and
//! [halves](halves) of them.
//!
//! Each whole step returns the node where it ended: that of an unlinked entry of the searched queue, or
//! that of a slot of the other queue, reserved for the newcomer and linked, which the caller fills. So
//! only words pass between them.
//!
//! Buckets are added where storage adds slots, so that common steps count nothing. Steps that find two
//! other keys in their bucket check whether there are too many keys, since slots may have been those of
//! receives with wildcards, which need no bucket. A step that finds no free slot returns, and is repeated.

mod arrive;
mod chains;
mod classes;
mod filling;
mod halves;
mod heads;
mod index;
mod marked;
mod nodes;
mod paged;
mod post;
mod turning;
mod view;

pub(super) use self::index::Index;
pub(super) use self::nodes::{is_slot, slot_in};
pub(super) use self::turning::SHORT;
