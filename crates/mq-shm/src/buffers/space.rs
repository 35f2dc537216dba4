//! Which pages of a region are free. Allocation is first fit, from the beginning of the range.

use std::collections::BTreeMap;

use crate::layout::PAGE;

/// A run of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pages {
    /// Offset in the region, in bytes.
    pub(crate) at: u64,
    /// Length in bytes.
    pub(crate) bytes: u64,
}

/// The free ranges of a region: lengths by start. No range ends where another begins.
#[derive(Debug)]
pub(crate) struct Space {
    free: BTreeMap<u64, u64>,
}

impl Space {
    /// A region of whole pages, all free.
    pub(crate) fn new(bytes: u64) -> Self {
        let all = (bytes > 0).then_some((0, bytes));
        Self {
            free: all.into_iter().collect(),
        }
    }

    /// Pages for this many bytes, at least one.
    ///
    /// # Cost
    /// A look at each free range before the one that is long enough.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<Pages> {
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE as u64)?;
        let mut ranges = self.free.iter();
        let (&at, &length) = ranges.find(|&(_, &length)| length >= bytes)?;
        self.free.remove(&at);
        if length > bytes {
            self.free.insert(at + bytes, length - bytes);
        }
        Some(Pages { at, bytes })
    }

    /// Makes taken pages free again.
    pub(crate) fn give_back(&mut self, pages: Pages) {
        let Pages { mut at, mut bytes } = pages;
        if let Some(behind) = self.free.remove(&(at + bytes)) {
            bytes += behind;
        }
        if let Some((&before, length)) = self.free.range_mut(..at).next_back()
            && before + *length == at
        {
            at = before;
            bytes += *length;
        }
        self.free.insert(at, bytes);
    }

    /// The longest free range.
    pub(crate) fn longest(&self) -> u64 {
        self.free.values().copied().max().unwrap_or(0)
    }
}

#[cfg(all(test, not(mq_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: u64 = 64;
    const PAGE: u64 = super::PAGE as u64;

    #[derive(Debug, Clone)]
    enum Call {
        Take(u64),
        GiveBack(usize),
    }

    fn call() -> impl Strategy<Value = Call> {
        prop_oneof![
            3 => (0..PAGE * 20).prop_map(Call::Take),
            2 => any::<usize>().prop_map(Call::GiveBack),
        ]
    }

    /// What the list must do: a page is free, or not.
    fn first_run(free: &[bool], pages: usize) -> Option<usize> {
        (0..=free.len().checked_sub(pages)?).find(|&at| free[at..at + pages].iter().all(|&is| is))
    }

    fn longest_run(free: &[bool]) -> usize {
        let runs = free.split(|&is| !is);
        runs.map(<[bool]>::len).max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn it_does_what_a_row_of_pages_does(calls in prop::collection::vec(call(), 0..200)) {
            let mut space = Space::new(ALL * PAGE);
            let mut free = vec![true; ALL as usize];
            let mut taken: Vec<Pages> = Vec::new();
            for call in calls {
                match call {
                    Call::Take(bytes) => {
                        let pages = bytes.max(1).div_ceil(PAGE) as usize;
                        let expected = first_run(&free, pages).map(|at| Pages {
                            at: at as u64 * PAGE,
                            bytes: pages as u64 * PAGE,
                        });
                        let found = space.take(bytes);
                        prop_assert_eq!(found, expected);
                        if let Some(found) = found {
                            let at = (found.at / PAGE) as usize;
                            free[at..at + pages].fill(false);
                            taken.push(found);
                        }
                    }
                    Call::GiveBack(which) if !taken.is_empty() => {
                        let pages = taken.swap_remove(which % taken.len());
                        let (at, end) = (pages.at / PAGE, (pages.at + pages.bytes) / PAGE);
                        free[at as usize..end as usize].fill(true);
                        space.give_back(pages);
                    }
                    Call::GiveBack(_) => {}
                }
                prop_assert_eq!(space.longest(), longest_run(&free) as u64 * PAGE);
                // No two ranges are adjacent.
                let runs = free.split(|&is| !is).filter(|run| !run.is_empty()).count();
                prop_assert_eq!(space.free.len(), runs);
            }
            for pages in taken {
                space.give_back(pages);
            }
            prop_assert_eq!(space.longest(), ALL * PAGE);
        }
    }

    #[test]
    fn what_can_not_be_is_refused() {
        assert_eq!(Space::new(0).take(0), None);
        assert_eq!(Space::new(PAGE).take(u64::MAX), None);
        assert_eq!(Space::new(PAGE).take(PAGE + 1), None);
        assert_eq!(Space::new(0).longest(), 0);
    }
}
