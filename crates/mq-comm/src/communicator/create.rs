//! New communicators out of old ones.

use std::rc::Rc;

use mq_shm::Process;

use super::Communicator;
use crate::error::Error;
use crate::transport::Transport;

/// What a rank says when a communicator is split: whether it takes part, its colour, its key, and the lowest
/// number that is free with it.
type Said = [u32; 4];

impl<T: Transport> Communicator<T> {
    /// A communicator of the same ranks, whose messages are apart from this one's. All ranks have to call it.
    /// `MPI_Comm_dup`, MPI 4.1 §7.4.2.
    ///
    /// # Errors
    /// [`Error::Gone`] if one of them has ended.
    pub fn dup(&self) -> Result<Self, Error> {
        let said = self.agree(Some(0), 0)?;
        let group = self.inner.group.clone();
        let number = number_of(&said);
        Ok(Self::new(
            self.inner.core.clone(),
            number,
            self.rank(),
            group,
        ))
    }

    /// A communicator of the ranks that give the same colour, in the order of their keys, and of their ranks here
    /// where keys are equal; none for a rank without a colour. All ranks have to call it. `MPI_Comm_split`,
    /// MPI 4.1 §7.4.2.
    ///
    /// ```
    /// use mq_comm::{Error, World};
    ///
    /// let sizes = World::threads(3, |world| {
    ///     let parity = world.rank() % 2;
    ///     let half = world.split(Some(parity), 0)?.expect("it has a colour");
    ///     Ok(half.size())
    /// })?;
    /// assert_eq!(sizes, [2, 1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Gone`] if one of them has ended.
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>, Error> {
        let said = self.agree(color, key)?;
        let number = number_of(&said);
        let Some(color) = color else {
            let mut core = self.inner.core();
            core.state.add_communicator(number, None);
            return Ok(None);
        };
        let mut members: Vec<(i32, u32)> = (0..)
            .zip(&said)
            .filter(|(_, [takes_part, its_color, ..])| *takes_part == 1 && *its_color == color)
            .map(|(rank, [_, _, key, _])| (key.cast_signed(), rank))
            .collect();
        members.sort_unstable();
        let rank = members.iter().position(|&(_, rank)| rank == self.rank());
        let group: Rc<[Process]> = members
            .iter()
            .map(|&(_, rank)| self.inner.group[rank as usize])
            .collect();
        let rank = rank.ok_or(Error::Disagreement("split"))? as u32;
        let core = self.inner.core.clone();
        Ok(Some(Self::new(core, number, rank, group)))
    }

    fn agree(&self, color: Option<u32>, key: i32) -> Result<Vec<Said>, Error> {
        let next = self.inner.core().state.contexts.next();
        self.exchange([
            u32::from(color.is_some()),
            color.unwrap_or(0),
            key.cast_unsigned(),
            next,
        ])
    }
}

/// A number that is free with all ranks.
fn number_of(said: &[Said]) -> u32 {
    said.iter().map(|&[.., next]| next).max().unwrap_or(0)
}
