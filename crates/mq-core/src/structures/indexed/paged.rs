//! Arrays that grow a page at a time, so that no single step moves what is there.

use crate::memory::vec_bytes;

/// Elements of a page.
const PAGE: usize = 1024;

/// A growable array in pages of 1,024 elements.
#[derive(Debug)]
pub(super) struct Paged<T> {
    pages: Vec<Box<[T; PAGE]>>,
}

impl<T: Copy> Paged<T> {
    pub(super) const fn new() -> Self {
        Self { pages: Vec::new() }
    }

    #[inline(always)]
    pub(super) fn get(&self, i: u32) -> &T {
        &self.pages[i as usize / PAGE][i as usize % PAGE]
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, i: u32) -> &mut T {
        &mut self.pages[i as usize / PAGE][i as usize % PAGE]
    }

    /// Elements there are room for.
    pub(super) const fn capacity(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// Makes element `i` exist; those that come with it have the value `fill`.
    #[inline]
    pub(super) fn reach(&mut self, i: u32, fill: T) {
        while i as usize >= self.capacity() {
            self.add_page(fill);
        }
    }

    #[cold]
    fn add_page(&mut self, fill: T) {
        self.pages.push(Box::new([fill; PAGE]));
    }

    pub(super) const fn bytes(&self) -> usize {
        self.pages.len() * size_of::<[T; PAGE]>() + vec_bytes(&self.pages)
    }
}
