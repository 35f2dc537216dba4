//! The buckets of a log: a power of two, of which a table that grows has two, the smaller one being moved some buckets
//! at a time.

use core::ops::Range;

use crate::memory::{filled, vec_bytes};
use crate::slab::NIL;

/// Buckets of a page, which is made when a node is first put into one of them.
const PAGE: usize = 1024;

/// The most buckets that a table begins with because earlier fillings needed them: 512 KiB, if all are used.
const MOST_AT_ONCE: usize = 1 << 17;

/// Pages of which the places are kept in a table without nodes.
const PAGES_KEPT: usize = 256;

/// Buckets that are next to each other by the last bits of a hash. They are moved together: which of its group a bucket
/// is does not depend on how many buckets there are.
const GROUP: usize = 16;

type Page = Box<[u32; PAGE]>;

/// A power of two of buckets, each with the first node of its chain. The upper bits of a hash are its number.
#[derive(Debug)]
struct Pages {
    pages: Vec<Option<Page>>,
    /// Pages that are made.
    made: usize,
    /// The bits of a hash that do not count.
    shift: u32,
}

impl Pages {
    const NONE: Self = Self {
        pages: Vec::new(),
        made: 0,
        shift: 0,
    };

    /// Makes empty buckets where there are none: `buckets` of them, a power of two, at least a page.
    fn make(&mut self, buckets: usize) {
        self.pages.resize_with(buckets / PAGE, || None);
        self.shift = u64::BITS - buckets.trailing_zeros();
    }

    const fn len(&self) -> usize {
        self.pages.len() * PAGE
    }

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "less than there are buckets"
    )]
    const fn place(&self, hash: u64) -> usize {
        ((hash >> (self.shift % u64::BITS)) ^ (hash % GROUP as u64)) as usize
    }

    #[inline(always)]
    fn get(&self, place: usize) -> u32 {
        match self.pages.get(place / PAGE) {
            Some(Some(page)) => page[place % PAGE],
            _ => NIL,
        }
    }

    #[inline(always)]
    fn get_mut(&mut self, place: usize) -> Option<&mut u32> {
        let page = self.pages.get_mut(place / PAGE)?;
        Some(&mut page.as_mut()?[place % PAGE])
    }

    #[inline(always)]
    fn set(&mut self, place: usize, node: u32) {
        match self.get_mut(place) {
            Some(first) => *first = node,
            None => self.set_in_new_page(place, node),
        }
    }

    #[cold]
    #[inline(never)]
    fn set_in_new_page(&mut self, place: usize, node: u32) {
        if let Some(page) = self.pages.get_mut(place / PAGE) {
            let page = page.insert(filled(NIL));
            page[place % PAGE] = node;
            self.made += 1;
        }
    }

    /// Frees these pages, whose nodes have been moved or have left.
    fn drop_pages(&mut self, numbers: Range<usize>) {
        for page in self.pages.get_mut(numbers).unwrap_or_default() {
            self.made -= usize::from(page.take().is_some());
        }
    }

    /// Frees some pages, all of which are empty. Whether there are no more.
    fn free_some(&mut self, some: usize) -> bool {
        let end = self.pages.iter().rposition(Option::is_some);
        let end = end.map_or(0, |last| last + 1);
        self.drop_pages(end.saturating_sub(some)..end);
        self.made == 0
    }

    const fn bytes(&self) -> usize {
        vec_bytes(&self.pages) + self.made * size_of::<[u32; PAGE]>()
    }
}

/// The number of buckets for this many nodes: up to one in each but a thirty-second of them.
const fn wanted(nodes: u32) -> usize {
    let nodes = nodes as usize;
    let buckets = (nodes + nodes / 31).next_power_of_two();
    if buckets < PAGE { PAGE } else { buckets }
}

/// The buckets of a log.
#[derive(Debug)]
pub(super) struct Buckets {
    pages: Pages,
    /// Half as many, from which nodes are being moved.
    before: Pages,
    /// How many of those are moved.
    moved: usize,
    /// Whether there are more than the nodes needed at first, since earlier fillings needed them, and no more since.
    is_remembered: bool,
    /// The most nodes since the table was empty, and in the filling before.
    most: u32,
    most_before: u32,
}

impl Buckets {
    pub(super) const fn new() -> Self {
        Self {
            pages: Pages::NONE,
            before: Pages::NONE,
            moved: 0,
            is_remembered: false,
            most: 0,
            most_before: 0,
        }
    }

    /// Begins with empty buckets, for this many nodes, or as many as the last two fillings both had.
    pub(super) fn begin(&mut self, nodes: u32) {
        let again = wanted(self.most.min(self.most_before)).min(MOST_AT_ONCE);
        self.most_before = core::mem::replace(&mut self.most, nodes);
        let wanted = wanted(nodes);
        self.is_remembered = again > wanted;
        self.pages.make(wanted.max(again));
    }

    /// Gives some pages of buckets back, all of which are empty. Whether there are no more.
    pub(super) fn free_some(&mut self, some: usize) -> bool {
        // Both, since a table may grow when it comes to its end.
        let before = self.before.free_some(some);
        self.pages.free_some(some) && before
    }

    /// Gives memory back, but for the places of some pages.
    pub(super) fn release(&mut self) {
        self.pages.pages.clear();
        self.pages.pages.shrink_to(PAGES_KEPT);
        self.pages.made = 0;
        self.before = Pages::NONE;
    }

    /// Whether nodes are being moved to more buckets.
    #[inline(always)]
    pub(super) const fn is_growing(&self) -> bool {
        !self.before.pages.is_empty()
    }

    /// The number of buckets.
    pub(super) const fn len(&self) -> usize {
        self.pages.len()
    }

    pub(super) const fn is_remembered(&self) -> bool {
        self.is_remembered
    }

    /// The first node of a hash's bucket, to be changed; `None` where no bucket of the page was ever used. In a table
    /// that grows, that of the larger one, which is empty until the whole group is moved: newcomers go to the other.
    #[inline(always)]
    pub(super) fn first_mut(&mut self, hash: u64) -> Option<&mut u32> {
        self.pages.get_mut(self.pages.place(hash))
    }

    /// The first node of a hash's bucket.
    #[inline(always)]
    pub(super) fn first(&self, hash: u64) -> u32 {
        let pages = match self.is_before(hash) {
            true => &self.before,
            false => &self.pages,
        };
        pages.get(pages.place(hash))
    }

    /// Whether the bucket of a hash is one of those that are yet to be moved.
    #[inline(always)]
    fn is_before(&self, hash: u64) -> bool {
        self.is_growing() && self.before.place(hash) >= self.moved
    }

    /// Makes a node the first of a hash's bucket.
    #[inline(always)]
    pub(super) fn set_first(&mut self, hash: u64, node: u32) {
        let pages = match self.is_before(hash) {
            true => &mut self.before,
            false => &mut self.pages,
        };
        pages.set(pages.place(hash), node);
    }

    /// There are to be buckets for this many nodes: begins to move them to twice as many, if they are too few.
    pub(super) fn serve(&mut self, nodes: u32) {
        self.most = self.most.max(nodes);
        if wanted(nodes) > self.pages.len() && !self.is_growing() {
            let buckets = 2 * self.pages.len();
            self.before = core::mem::replace(&mut self.pages, Pages::NONE);
            self.pages.make(buckets);
            self.is_remembered = false;
            self.moved = 0;
        }
    }

    /// Moves the nodes of some groups of buckets: `next` takes the first off a chain, and returns its hash and the one
    /// behind it; `link` puts it before another.
    pub(super) fn move_some<N>(
        &mut self,
        groups: usize,
        nodes: &mut N,
        next: impl Fn(&N, u32) -> (u64, u32),
        link: impl Fn(&mut N, u32, u32),
    ) {
        let end = (self.moved + groups * GROUP).min(self.before.len());
        for place in self.moved..end {
            let mut node = self.before.get(place);
            while node != NIL {
                let (hash, after) = next(nodes, node);
                let to = self.pages.place(hash);
                link(nodes, node, self.pages.get(to));
                self.pages.set(to, node);
                node = after;
            }
        }
        self.before.drop_pages(self.moved / PAGE..end / PAGE);
        self.moved = end;
        if end == self.before.len() {
            self.before = Pages::NONE;
        }
    }

    pub(super) const fn bytes(&self) -> usize {
        self.pages.bytes() + self.before.bytes()
    }
}
