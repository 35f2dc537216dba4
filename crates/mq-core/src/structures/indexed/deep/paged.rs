//! Arrays of which only the pages with elements in use are in memory.

use crate::memory::{filled, vec_bytes};

/// Elements of a page.
const PAGE: usize = 1024;

/// Pages of which the places are kept in an array without elements.
const FEW_PAGES: usize = 64;

type Elements<T> = Box<[T; PAGE]>;

#[derive(Debug)]
struct Page<T> {
    elements: Elements<T>,
    /// Elements in use.
    used: u32,
}

/// An array in pages of 1,024 elements. A page is allocated when one of its elements is first used, and
/// freed with the last: so no operation allocates or frees more than one.
#[derive(Debug)]
pub(super) struct Paged<T> {
    pages: Vec<Option<Page<T>>>,
    /// The elements of a freed page, kept for the next: one element may come and go repeatedly.
    spare: Option<Elements<T>>,
}

/// Page and place of an element.
const fn split(i: u32) -> (usize, usize) {
    (i as usize / PAGE, i as usize % PAGE)
}

impl<T: Copy + Default> Paged<T> {
    pub(super) const fn new() -> Self {
        Self {
            pages: Vec::new(),
            spare: None,
        }
    }

    /// An element in use.
    #[inline(always)]
    pub(super) fn get(&self, i: u32) -> &T {
        let (page, i) = split(i);
        match &self.pages[page] {
            Some(page) => &page.elements[i],
            None => unreachable!("a page with elements in use is there"),
        }
    }

    /// An element in use, to be changed.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, i: u32) -> &mut T {
        let (page, i) = split(i);
        match &mut self.pages[page] {
            Some(page) => &mut page.elements[i],
            None => unreachable!("a page with elements in use is there"),
        }
    }

    /// Whether there is memory for an element.
    pub(super) fn has_page_of(&self, i: u32) -> bool {
        let (page, _) = split(i);
        matches!(self.pages.get(page), Some(Some(_)))
    }

    /// Takes an element into use, whose value may be any.
    #[inline(always)]
    pub(super) fn take(&mut self, i: u32) -> &mut T {
        let (page, i) = split(i);
        if !matches!(self.pages.get(page), Some(Some(_))) {
            self.add_page(page);
        }
        match &mut self.pages[page] {
            Some(page) => {
                page.used += 1;
                &mut page.elements[i]
            }
            None => unreachable!("it was added"),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_page(&mut self, page: usize) {
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let spare = self.spare.take();
        let elements = spare.unwrap_or_else(|| filled(T::default()));
        self.pages[page] = Some(Page { elements, used: 0 });
    }

    /// An element is no longer in use.
    #[inline(always)]
    pub(super) fn let_go(&mut self, i: u32) {
        let (page, _) = split(i);
        if let Some(page) = &mut self.pages[page]
            && page.used > 1
        {
            page.used -= 1;
            return;
        }
        self.drop_page(page);
    }

    #[cold]
    #[inline(never)]
    fn drop_page(&mut self, page: usize) {
        let gone = self.pages[page].take();
        self.spare = gone.map(|page| page.elements);
    }

    /// No element is in use: gives back what tells where the pages were, as long as the greatest
    /// element that ever was in use.
    pub(super) fn rest(&mut self) {
        self.pages.clear();
        self.pages.shrink_to(FEW_PAGES);
    }

    pub(super) fn bytes(&self) -> usize {
        let made = self.pages.iter().flatten().count() + usize::from(self.spare.is_some());
        made * size_of::<[T; PAGE]>() + vec_bytes(&self.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_with_their_first_element_and_go_with_their_last() {
        let mut array = Paged::new();
        let page = size_of::<[u32; PAGE]>();
        let pages = |array: &Paged<u32>| array.bytes() / page;
        for i in 0..5000 {
            array.take(i);
            *array.get_mut(i) = i;
        }
        assert_eq!(pages(&array), 5);
        for i in (0..5000).filter(|i| i % 1024 != 7) {
            array.let_go(i);
        }
        assert_eq!(pages(&array), 5);
        assert!((0..5).all(|n| *array.get(n * 1024 + 7) == n * 1024 + 7));
        (0..5).for_each(|n| array.let_go(n * 1024 + 7));
        assert_eq!(pages(&array), 1, "one is kept");
        // The same memory, wherever it is needed.
        for i in [9000, 1, 9000] {
            *array.take(i) = i;
            assert_eq!(pages(&array), 1);
            array.let_go(i);
        }
    }

    #[test]
    fn one_that_rests_does_not_remember_how_long_it_was() {
        let mut array = Paged::new();
        *array.take(1 << 24) = 0_u32;
        array.let_go(1 << 24);
        array.rest();
        assert!(array.bytes() <= size_of::<[u32; PAGE]>() + FEW_PAGES * 16);
        *array.take(1 << 12) = 7;
        assert_eq!(*array.get(1 << 12), 7);
    }
}
