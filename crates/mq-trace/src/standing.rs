//! [`Standing`]: which entries of a queue are there, and how many a list would search.

/// Which entries of a queue are there, by number in the order in which they came: a binary indexed tree of
/// counts, where node `i` counts as many entries before `i` as its lowest bit says.
///
/// Entries that never came, or have left already, are taken for such as are not there: a trace may say what it wants.
#[derive(Debug)]
pub(crate) struct Standing {
    nodes: Vec<u32>,
    length: u64,
}

impl Standing {
    /// For one entry fewer than there is room for, none of which is there.
    pub(crate) fn new(mut nodes: Vec<u32>) -> Self {
        nodes.resize(nodes.capacity(), 0);
        Self { nodes, length: 0 }
    }

    /// How many are there.
    pub(crate) const fn length(&self) -> u64 {
        self.length
    }

    /// The entries that a search of a list visits: all up to the one that it finds, or all.
    pub(crate) fn visited(&self, found: Option<u32>) -> u64 {
        match found {
            None => self.length,
            Some(found) => self.before(found as usize + 1),
        }
    }

    /// How many of the first entries are there.
    fn before(&self, entries: usize) -> u64 {
        let mut node = entries.min(self.nodes.len().saturating_sub(1));
        let mut there = 0;
        while node > 0 {
            there += u64::from(self.nodes[node]);
            node &= node - 1;
        }
        there
    }

    /// The next entry has come.
    pub(crate) fn add(&mut self, entry: u32) {
        self.length += 1;
        self.change(entry, |count| *count += 1);
    }

    /// An entry has left, if it was there.
    pub(crate) fn remove(&mut self, entry: u32) {
        let at = entry as usize;
        if self.before(at + 1) > self.before(at) {
            self.length -= 1;
            self.change(entry, |count| *count -= 1);
        }
    }

    fn change(&mut self, entry: u32, change: impl Fn(&mut u32)) {
        let mut node = entry as usize + 1;
        while let Some(count) = self.nodes.get_mut(node) {
            change(count);
            node += node & node.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_are_not_there_are_neither_found_nor_removed() {
        let mut standing = Standing::new(Vec::with_capacity(5));
        (0..3).for_each(|entry| standing.add(entry));
        standing.remove(1);
        for gone in [1, 3, 4, 7, u32::MAX] {
            standing.remove(gone);
        }
        assert_eq!(standing.length(), 2);
        let visited =
            [Some(0), Some(1), Some(2), Some(9), None].map(|found| standing.visited(found));
        assert_eq!(visited, [1, 1, 2, 2, 2]);
    }
}
