//! [`Process`]: one process of many, and whom it talks to.

use super::halo::Neighbors;

/// The side of the largest cube of processes that is looked for.
const LARGEST_SIDE: u32 = 1024;

/// One process of many.
#[derive(Clone, Copy)]
pub(super) struct Process {
    /// How many there are, at least 2.
    pub(super) ranks: u32,
    /// Which one it is.
    pub(super) rank: u32,
}

impl Process {
    /// How many others there are.
    pub(super) const fn peers(self) -> u32 {
        self.ranks - 1
    }

    /// The other ranks, from the next one on.
    pub(super) fn others(self) -> impl DoubleEndedIterator<Item = u32> {
        let Self { ranks, rank } = self;
        (1..ranks).map(move |distance| (rank + distance) % ranks)
    }

    /// The rank before it.
    pub(super) const fn previous(self) -> u32 {
        (self.rank + self.ranks - 1) % self.ranks
    }

    /// Its partners in an exchange whose distance doubles from step to step.
    pub(super) fn partners(self) -> impl Iterator<Item = u32> {
        let Self { ranks, rank } = self;
        (0..u32::BITS)
            .map(|step| 1_u32 << step)
            .take_while(move |&distance| distance < ranks)
            .map(move |distance| rank ^ distance)
            .filter(move |&partner| partner < ranks)
    }

    /// Its neighbours in a grid that is closed around its ends, in the order of their place in it. In a
    /// small grid some are the same process, or itself.
    pub(super) fn neighbors(self, shape: Neighbors) -> Vec<u32> {
        let mut found = Vec::new();
        for offset in self.offsets(shape) {
            let place = (i64::from(self.rank) + offset).rem_euclid(i64::from(self.ranks));
            let neighbor = u32::try_from(place).unwrap_or(self.rank);
            if neighbor != self.rank && !found.contains(&neighbor) {
                found.push(neighbor);
            }
        }
        found
    }

    /// The distances, in ranks, of the neighbours.
    fn offsets(self, shape: Neighbors) -> Vec<i64> {
        let side = match shape {
            Neighbors::Four => self.ranks.isqrt(),
            Neighbors::Six | Neighbors::All => (1..=LARGEST_SIDE)
                .rev()
                .find(|side| side.pow(3) <= self.ranks)
                .unwrap_or(1),
        };
        let row = i64::from(side);
        let plane = row * row;
        match shape {
            Neighbors::Four => vec![-row, -1, 1, row],
            Neighbors::Six => vec![-plane, -row, -1, 1, row, plane],
            Neighbors::All => (-1..=1)
                .flat_map(|z| (-1..=1).map(move |y| z * plane + y * row))
                .flat_map(|line| (-1..=1).map(move |x| line + x))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_as_many_neighbors_as_its_grid_is_wide_enough_for() {
        let neighbors = |ranks, rank, shape| Process { ranks, rank }.neighbors(shape);
        assert_eq!(neighbors(512, 100, Neighbors::Four), [78, 99, 101, 122]);
        assert_eq!(
            neighbors(512, 0, Neighbors::Six),
            [448, 504, 511, 1, 8, 64],
            "the grid is closed"
        );
        assert_eq!(neighbors(512, 7, Neighbors::All).len(), 26);
        assert_eq!(neighbors(1 << 20, 5, Neighbors::All).len(), 26);
        assert_eq!(neighbors(2, 1, Neighbors::All), [0]);
    }

    #[test]
    fn all_others_are_met_once() {
        let process = Process { ranks: 5, rank: 3 };
        assert_eq!(process.others().collect::<Vec<_>>(), [4, 0, 1, 2]);
        assert_eq!(process.previous(), 2);
        assert_eq!(process.partners().collect::<Vec<_>>(), [2, 1]);
        let first = Process { ranks: 5, rank: 0 };
        assert_eq!(first.partners().collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(first.previous(), 4);
    }
}
