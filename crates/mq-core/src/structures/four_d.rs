//! `4d`: for each context, ranks split into four coordinates, three of which a search jumps over.
//!
//! Zounmevo & Afsahi 2014, §4. A rank is read as four digits of base `span`. The first selects a
//! Plane (ordered list), the second an entry of the Plane's X array, the third a Segment (ordered
//! list of Y coordinates); a Segment holds the queues of the `span` ranks that differ in the last
//! digit. Choose it for very large communicators in which few ranks talk to this one.
//!
//! Search: at most `span + 1 + span` objects, then the entries of `span` ranks, as long as ranks stay below the
//! size that was planned for (2^20 if none was given); from any source, all Segments. Memory: Planes and
//! Segments are created on demand and used again when empty; it is given back when the context's last entry
//! leaves.

use super::lane::{Lane, LaneId};
use super::leads::Leads;
use super::pool::Pool;
use super::routed::{Route, Routed, Sender};
use crate::config::Config;
use crate::envelope::Rank;
use crate::memory::vec_bytes;
use crate::meter::Meter;
use crate::queues::Scope;
use crate::slab::{KEEP_BYTES, NIL};

/// The `4d` structure; see the [module](self).
pub type FourD<P, R, M> = Leads<Routed<Cube, P, R, M>>;

/// Binary digits of a coordinate in a communicator of `size` ranks: 2 up to 256 ranks, then one
/// more for every sixteen-fold.
pub(crate) const fn span_bits(size: u32) -> u32 {
    let bits = u32::BITS - size.saturating_sub(1).leading_zeros();
    let quarter = bits.div_ceil(4);
    if quarter < 2 { 2 } else { quarter }
}

/// Assumed for a communicator of unknown size: the largest size that the paper evaluates.
pub(crate) const UNKNOWN_SIZE: u32 = 1 << 20;

/// A place in an ordered, doubly linked list of coordinates.
#[derive(Clone, Copy, Debug)]
struct Link {
    coordinate: u32,
    prev: u32,
    next: u32,
}

#[derive(Debug)]
struct Plane {
    link: Link,
    /// X coordinates in use; the plane is freed when there is none.
    used: u32,
}

#[derive(Debug)]
struct Segment {
    link: Link,
    plane: u32,
    x: u32,
    lane: Lane,
}

trait Linked {
    fn link(&self) -> &Link;
    fn link_mut(&mut self) -> &mut Link;
}

impl Linked for Plane {
    fn link(&self) -> &Link {
        &self.link
    }
    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

impl Linked for Segment {
    fn link(&self) -> &Link {
        &self.link
    }
    fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

/// Where a search of an ordered list ended.
struct Stop {
    /// The object at the wanted coordinate.
    found: Option<u32>,
    /// The last object before it: the place of insertion.
    before: u32,
    /// The first object after it.
    behind: u32,
    /// Objects looked at.
    passed: u32,
}

/// Walks the ordered list from `head` and stops as soon as `coordinate` is found or passed.
#[inline]
fn walk<T: Linked>(pool: &Pool<T>, head: u32, coordinate: u32) -> Stop {
    let mut stop = Stop {
        found: None,
        before: NIL,
        behind: head,
        passed: 0,
    };
    while stop.behind != NIL {
        let link = pool.get(stop.behind).link();
        stop.passed += 1;
        if link.coordinate >= coordinate {
            stop.found = (link.coordinate == coordinate).then_some(stop.behind);
            break;
        }
        stop.before = stop.behind;
        stop.behind = link.next;
    }
    stop
}

/// Links `id` between its neighbours; true if it is the new head.
fn link_between<T: Linked>(pool: &mut Pool<T>, id: u32) -> bool {
    let Link { prev, next, .. } = *pool.get(id).link();
    if next != NIL {
        pool.get_mut(next).link_mut().prev = id;
    }
    if prev != NIL {
        pool.get_mut(prev).link_mut().next = id;
    }
    prev == NIL
}

/// Takes `id` out; the new head, if it was the head.
fn unlink<T: Linked>(pool: &mut Pool<T>, id: u32) -> Option<u32> {
    let Link { prev, next, .. } = *pool.get(id).link();
    if next != NIL {
        pool.get_mut(next).link_mut().prev = prev;
    }
    if prev != NIL {
        pool.get_mut(prev).link_mut().next = next;
        return None;
    }
    Some(next)
}

/// The Planes and Segments of one context.
#[derive(Debug)]
pub struct Cube {
    bits: u32,
    first_plane: u32,
    planes: Pool<Plane>,
    /// First Segment of each X coordinate of each Plane: `plane * span + x`.
    columns: Vec<u32>,
    segments: Pool<Segment>,
}

impl Cube {
    /// Positions on each dimension.
    #[must_use]
    pub const fn span(&self) -> u32 {
        1 << self.bits
    }

    /// Planes in use.
    #[must_use]
    pub fn planes(&self) -> usize {
        self.planes.len()
    }

    /// Segments in use.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// The coordinates Plane, X and Y; the fourth is not jumped over. Ranks beyond the stated size
    /// get Planes beyond `span`, which the ordered list can hold.
    #[inline(always)]
    const fn coordinates(&self, Rank(rank): Rank) -> (u32, u32, u32) {
        let mask = self.span() - 1;
        (
            rank >> (3 * self.bits),
            (rank >> (2 * self.bits)) & mask,
            (rank >> self.bits) & mask,
        )
    }

    #[inline(always)]
    const fn column(&self, plane: u32, x: u32) -> usize {
        ((plane as usize) << self.bits) + x as usize
    }

    #[cold]
    fn make_plane(&mut self, coordinate: u32, stop: &Stop) -> u32 {
        let link = Link {
            coordinate,
            prev: stop.before,
            next: stop.behind,
        };
        let plane = self.planes.make(Plane { link, used: 0 });
        if link_between(&mut self.planes, plane) {
            self.first_plane = plane;
        }
        let columns = self.column(plane + 1, 0);
        if self.columns.len() < columns {
            self.columns.resize(columns, NIL);
        }
        plane
    }

    fn make_segment(&mut self, plane: u32, x: u32, y: u32, stop: &Stop) -> u32 {
        let column = self.column(plane, x);
        if self.columns[column] == NIL {
            self.planes.get_mut(plane).used += 1;
        }
        let link = Link {
            coordinate: y,
            prev: stop.before,
            next: stop.behind,
        };
        let segment = self.segments.make(Segment {
            link,
            plane,
            x,
            lane: Lane::EMPTY,
        });
        if link_between(&mut self.segments, segment) {
            self.columns[column] = segment;
        }
        segment
    }

    fn free_plane(&mut self, plane: u32) {
        if let Some(head) = unlink(&mut self.planes, plane) {
            self.first_plane = head;
        }
        self.planes.free(plane);
        if self.planes.len() == 0 && vec_bytes(&self.columns) > KEEP_BYTES {
            self.columns = Vec::new();
        }
    }
}

impl Route for Cube {
    fn from_config(config: &Config) -> Self {
        Self {
            bits: span_bits(config.size.unwrap_or(UNKNOWN_SIZE)),
            first_plane: NIL,
            planes: Pool::new(),
            columns: Vec::new(),
            segments: Pool::new(),
        }
    }

    fn scope() -> Scope {
        Scope::Context
    }

    #[inline]
    fn find(&self, sender: Sender, meter: &mut impl Meter) -> Option<LaneId> {
        let (z, x, y) = self.coordinates(sender.rank);
        let stop = walk(&self.planes, self.first_plane, z);
        meter.passed(stop.passed);
        let plane = stop.found?;
        let stop = walk(&self.segments, self.columns[self.column(plane, x)], y);
        meter.passed(1 + stop.passed);
        stop.found
    }

    #[inline]
    fn find_or_make(&mut self, sender: Sender, meter: &mut impl Meter) -> LaneId {
        let (z, x, y) = self.coordinates(sender.rank);
        let stop = walk(&self.planes, self.first_plane, z);
        meter.passed(stop.passed);
        let plane = match stop.found {
            Some(plane) => plane,
            None => self.make_plane(z, &stop),
        };
        let stop = walk(&self.segments, self.columns[self.column(plane, x)], y);
        meter.passed(1 + stop.passed);
        match stop.found {
            Some(segment) => segment,
            None => self.make_segment(plane, x, y, &stop),
        }
    }

    #[inline(always)]
    fn lane(&self, id: LaneId) -> &Lane {
        &self.segments.get(id).lane
    }

    #[inline(always)]
    fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        &mut self.segments.get_mut(id).lane
    }

    fn each(&self, visitor: &mut impl FnMut(&Lane)) {
        let mut plane = self.first_plane;
        while plane != NIL {
            for x in 0..self.span() {
                let mut segment = self.columns[self.column(plane, x)];
                while segment != NIL {
                    visitor(self.lane(segment));
                    segment = self.segments.get(segment).link.next;
                }
            }
            plane = self.planes.get(plane).link.next;
        }
    }

    fn emptied(&mut self, id: LaneId) {
        let Segment { plane, x, .. } = *self.segments.get(id);
        if let Some(head) = unlink(&mut self.segments, id) {
            let column = self.column(plane, x);
            self.columns[column] = head;
            if head == NIL {
                self.planes.get_mut(plane).used -= 1;
                if self.planes.get(plane).used == 0 {
                    self.free_plane(plane);
                }
            }
        }
        self.segments.free(id);
    }

    fn reset(&mut self) {
        self.first_plane = NIL;
        self.planes.clear();
        self.columns.clear();
        self.segments.clear();
    }

    fn bytes(&self) -> usize {
        self.planes.bytes() + vec_bytes(&self.columns) + self.segments.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContextId, Unmetered};

    #[test]
    fn spans_are_those_of_the_paper() {
        for (size, span) in [
            (1, 4),
            (256, 4),
            (257, 8),
            (4_096, 8),
            (4_097, 16),
            (65_536, 16),
            (65_537, 32),
            (1 << 20, 32),
        ] {
            assert_eq!(1 << span_bits(size), span, "{size} ranks");
        }
    }

    #[test]
    fn the_paper_s_example_rank_decomposes_as_printed() {
        let cube = Cube::from_config(&Config::default().with_size(1 << 20));
        assert_eq!(cube.coordinates(Rank(80_000)), (2, 14, 4));
    }

    #[test]
    fn empty_segments_and_planes_go() {
        let mut cube = Cube::from_config(&Config::default().with_size(1 << 20));
        let sender = |rank| Sender {
            context: ContextId(0),
            rank: Rank(rank),
        };
        let lanes: Vec<u32> = [5, 40_000, 40_031, 40_032, 1_000_000, 3]
            .iter()
            .map(|&rank| cube.find_or_make(sender(rank), &mut Unmetered))
            .collect();
        assert_eq!((cube.planes(), cube.segments()), (3, 4));
        assert_eq!(lanes[0], lanes[5], "ranks 3 and 5 differ in the last digit");
        let mut distinct = lanes;
        distinct.sort_unstable();
        distinct.dedup();
        for lane in distinct {
            cube.emptied(lane);
        }
        assert_eq!((cube.planes(), cube.segments()), (0, 0));
        assert_eq!(cube.find(sender(5), &mut Unmetered), None);
    }
}
