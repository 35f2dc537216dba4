//! The buckets of a table: the first are in one piece of memory, the others in pages.
//!
//! A page is allocated when a node is first put into one of its buckets. So a table can get as many
//! buckets as the previous one needed without paying for them before they are used.

use crate::memory::{filled, vec_bytes};
use crate::slab::NIL;

/// Buckets that lie in one piece, 32 KiB. It is as large as it has to be, and never shrinks.
pub(super) const NEAR_BUCKETS: u32 = 8192;

/// Buckets of a page, and the fewest of the piece, which grows by doubling: at most 16 KiB are
/// moved then.
pub(super) const PAGE: u32 = 1024;

/// Marks the buckets of the piece that are not in use yet; no node has this number. So a bucket can be
/// looked up by the number that it would have if all were in use, and itself shows that the answer is
/// elsewhere.
const UNUSED: u32 = NIL - 1;

type Page = Box<[u32; PAGE as usize]>;

/// The first node of each bucket, [`NIL`] in an empty one.
#[derive(Debug)]
pub(super) struct Heads {
    near: Vec<u32>,
    far: Vec<Option<Page>>,
    /// Pages that are made.
    pages: u32,
}

/// Page and place of a bucket that is not near.
#[inline(always)]
const fn split(bucket: u32) -> (usize, usize) {
    let i = (bucket - NEAR_BUCKETS) as usize;
    (i / PAGE as usize, i % PAGE as usize)
}

impl Heads {
    /// No buckets yet: [`make`](Self::make) comes before anything else.
    pub(super) const fn new() -> Self {
        Self {
            near: Vec::new(),
            far: Vec::new(),
            pages: 0,
        }
    }

    /// Makes a page of empty buckets, if there are none yet.
    pub(super) fn make(&mut self) {
        if self.near.is_empty() {
            self.near = vec![NIL; PAGE as usize];
        }
    }

    /// The first node of a bucket.
    #[inline(always)]
    pub(super) fn get(&self, bucket: u32) -> u32 {
        if let Some(head) = self.get_near(bucket) {
            return head;
        }
        let (page, i) = split(bucket);
        self.far[page].as_ref().map_or(NIL, |page| page[i])
    }

    /// The first node of a bucket, to be changed; `None` if its page is not made yet.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, bucket: u32) -> Option<&mut u32> {
        if (bucket as usize) < self.near.len() {
            return self.near.get_mut(bucket as usize);
        }
        let (page, i) = split(bucket);
        Some(&mut self.far.get_mut(page)?.as_mut()?[i])
    }

    /// The first node of a bucket in the first piece; `None` of others, and no node of one that is
    /// not in use.
    #[inline(always)]
    pub(super) fn get_near(&self, bucket: u32) -> Option<u32> {
        self.near.get(bucket as usize).copied()
    }

    /// Changes the first node of a bucket if it is in the first piece.
    #[inline(always)]
    pub(super) fn set_near(&mut self, bucket: u32, node: u32) -> bool {
        let Some(head) = self.near.get_mut(bucket as usize) else {
            return false;
        };
        *head = node;
        true
    }

    /// Changes the first node of a bucket.
    #[inline(always)]
    pub(super) fn set(&mut self, bucket: u32, node: u32) {
        if self.set_near(bucket, node) {
            return;
        }
        let (page, i) = split(bucket);
        match &mut self.far[page] {
            Some(page) => page[i] = node,
            None => self.set_in_new_page(bucket, node),
        }
    }

    #[cold]
    #[inline(never)]
    fn set_in_new_page(&mut self, bucket: u32, node: u32) {
        if node == NIL {
            return;
        }
        let (page, i) = split(bucket);
        let mut heads: Page = filled(NIL);
        heads[i] = node;
        self.far[page] = Some(heads);
        self.pages += 1;
    }

    /// Takes the buckets from `from` to `to` into use, which are empty.
    #[inline]
    pub(super) fn reach(&mut self, from: u32, to: u32) {
        let near = to.min(NEAR_BUCKETS).next_power_of_two() as usize;
        if self.near.len() < near {
            self.near.reserve_exact(near - self.near.len());
            self.near.resize(near, UNUSED);
        }
        if from < NEAR_BUCKETS {
            self.near[from as usize..to.min(NEAR_BUCKETS) as usize].fill(NIL);
        }
        let pages = to.saturating_sub(NEAR_BUCKETS).div_ceil(PAGE) as usize;
        if self.far.len() < pages {
            self.far.resize_with(pages, || None);
        }
    }

    /// Forgets the buckets behind the first `buckets`, which must be empty.
    pub(super) fn truncate(&mut self, buckets: u32) {
        let pages = buckets.saturating_sub(NEAR_BUCKETS).div_ceil(PAGE) as usize;
        let gone = self.far.iter().skip(pages).flatten().count();
        self.pages -= u32::try_from(gone).unwrap_or(self.pages);
        self.far.truncate(pages);
        if self.far.capacity() > 4 * pages {
            self.far.shrink_to(2 * pages);
        }
    }

    /// Frees the pages. All buckets must be empty.
    pub(super) fn clear_pages(&mut self) {
        self.far.fill_with(|| None);
        self.pages = 0;
    }

    /// Whether there is no more than one page.
    pub(super) const fn is_small(&self) -> bool {
        self.near.len() == PAGE as usize
    }

    pub(super) fn bytes(&self) -> usize {
        let pages = self.pages as usize * size_of::<[u32; PAGE as usize]>();
        vec_bytes(&self.near) + vec_bytes(&self.far) + pages
    }
}
