//! `col+pnp`: collective traffic as in `col`, point-to-point traffic as in `pnp`.
//!
//! The unified engine of Ghazimirsaeed, Grant & Afsahi 2019, §4 and Fig. 2: the traffic class of
//! an element decides. Choose it for programs that use both heavily over many ranks.

use super::col::Collectives;
use super::layered::{Layered, ListId, Origin, Plan};
use super::pnp::Partners;
use crate::collective::CollectiveCall;
use crate::config::Config;
use crate::envelope::ContextId;

/// The `col+pnp` structure; see the [module](self).
pub type ColPnp<P, R, M> = Layered<Unified, P, R, M>;

/// Both plans of one queue: even lists are those of `col`, odd ones those of `pnp`.
#[derive(Debug)]
pub struct Unified {
    collective: Collectives,
    point_to_point: Partners,
}

const fn even(list: ListId) -> ListId {
    2 * list
}

const fn odd(list: ListId) -> ListId {
    2 * list + 1
}

impl Plan for Unified {
    fn from_config(config: &Config) -> Self {
        Self {
            collective: Collectives::from_config(config),
            point_to_point: Partners::from_config(config),
        }
    }

    fn lists(&self) -> usize {
        2 * self.collective.lists().max(self.point_to_point.lists())
    }

    #[inline]
    fn path(&self, origin: Origin, visitor: &mut impl FnMut(ListId) -> bool) {
        if origin.class.is_collective() {
            self.collective
                .path(origin, &mut |list| visitor(even(list)));
        } else {
            self.point_to_point
                .path(origin, &mut |list| visitor(odd(list)));
        }
    }

    fn is_ordered(&self, origin: Origin) -> bool {
        if origin.class.is_collective() {
            self.collective.is_ordered(origin)
        } else {
            self.point_to_point.is_ordered(origin)
        }
    }

    #[inline]
    fn home(&mut self, origin: Origin) -> ListId {
        if origin.class.is_collective() {
            even(self.collective.home(origin))
        } else {
            odd(self.point_to_point.home(origin))
        }
    }

    #[inline]
    fn linked(&mut self, origin: Origin, list: ListId) {
        if origin.class.is_collective() {
            self.collective.linked(origin, list / 2);
        } else {
            self.point_to_point.linked(origin, list / 2);
        }
    }

    #[inline]
    fn unlinked(&mut self, origin: Origin, list: ListId) {
        if origin.class.is_collective() {
            self.collective.unlinked(origin, list / 2);
        } else {
            self.point_to_point.unlinked(origin, list / 2);
        }
    }

    #[inline]
    fn searched(&mut self, origin: Origin, visited: u32) {
        if origin.class.is_collective() {
            self.collective.searched(origin, visited);
        }
    }

    fn grown(&mut self, size: u32) {
        self.collective.grown(size);
        self.point_to_point.grown(size);
    }

    fn shrunk(&mut self, context: ContextId, is_empty: &dyn Fn(ListId) -> bool) {
        self.point_to_point
            .shrunk(context, &|list| is_empty(odd(list)));
    }

    fn announced(&mut self, call: &CollectiveCall) {
        self.collective.announced(call);
    }

    fn reset(&mut self) {
        self.collective.reset();
        self.point_to_point.reset();
    }

    fn bytes(&self) -> usize {
        self.collective.bytes() + self.point_to_point.bytes()
    }
}
