//! New communicators out of old ones.
//!
//! Every rank tells rank 0 what it wants and which numbers it has free. Rank 0 chooses the lowest that is
//! free at all ranks, and tells each rank the number and who shares it. It does so itself, not along a tree:
//! a rank that gets no answer then knows that rank 0 has died. That happens once, so few numbers become
//! unusable because nobody dares to use them afterwards ([`Contexts`](crate::protocol)). If another rank has
//! ended, no rank gets a communicator.

use std::rc::Rc;

use mq_shm::Process;

use super::Communicator;
use crate::error::Error;
use crate::protocol::{Agreed, Number, Offer};
use crate::steps::{Step, step};
use crate::transport::Transport;

/// What a rank wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// A duplicate of the communicator.
    Dup,
    /// A part of it.
    Split { color: u32, key: i32 },
    /// To be in no part of it.
    Nothing,
}

/// What a rank says: its wish, as its kind, colour and key; and its [`Offer`], as two words of bits and the
/// number after them.
type WishAndOffer = [u32; 6];

impl Wish {
    fn said(self, offer: Offer) -> WishAndOffer {
        let (what, color, key) = match self {
            Self::Dup => (0, 0, 0),
            Self::Split { color, key } => (1, color, key),
            Self::Nothing => (2, 0, 0),
        };
        let [low, high, later] = offer.words();
        [what, color, key.cast_unsigned(), low, high, later]
    }

    fn of(&[what, color, key, ..]: &WishAndOffer) -> Option<Self> {
        Some(match what {
            0 => Self::Dup,
            1 => Self::Split {
                color,
                key: key.cast_signed(),
            },
            2 => Self::Nothing,
            _ => return None,
        })
    }
}

fn offer_of(&[.., low, high, later]: &WishAndOffer) -> Offer {
    Offer::of_words([low, high, later])
}

/// What rank 0 tells a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Verdict {
    agreed: Agreed,
    /// After a split: the ranks that share the number with it, in their new order.
    ranks: Rc<[u32]>,
}

/// What rank 0 tells each rank, given what all said of the numbers from `first` on.
fn verdicts(all: &[WishAndOffer], first: Number) -> Result<Vec<Verdict>, Error> {
    let disagree = || Error::Disagreement("some dup and others split");
    let wishes: Option<Vec<Wish>> = all.iter().map(Wish::of).collect();
    let wishes = wishes.ok_or(Error::Disagreement("dup or split"))?;
    let dups = wishes.iter().filter(|&&wish| wish == Wish::Dup).count();
    if dups > 0 && dups < wishes.len() {
        return Err(disagree());
    }
    let agreed = Offer::agreed(all.iter().map(offer_of), first);
    let ranks = Rc::default();
    let mut verdicts = vec![Verdict { agreed, ranks }; all.len()];
    if let Agreed::AskFrom(_) = agreed {
        return Ok(verdicts);
    }
    let mut parts: Vec<(u32, i32, u32)> = (0..)
        .zip(&wishes)
        .filter_map(|(rank, wish)| match *wish {
            Wish::Split { color, key } => Some((color, key, rank)),
            _ => None,
        })
        .collect();
    parts.sort_unstable();
    for part in parts.chunk_by(|one, other| one.0 == other.0) {
        let ranks: Rc<[u32]> = part.iter().map(|&(.., rank)| rank).collect();
        for &rank in &*ranks {
            verdicts[rank as usize].ranks = ranks.clone();
        }
    }
    Ok(verdicts)
}

impl<T: Transport> Communicator<T> {
    /// A communicator of the same ranks, whose messages are separate from this one's. All ranks have to call
    /// it. `MPI_Comm_dup`, MPI 4.1 §7.4.2.
    ///
    /// # Errors
    /// [`Error::Gone`] if a rank has ended: then nobody gets a communicator, unless rank 0 died while it told
    /// them. In that case, a rank that got one may wait on it forever for those that did not, and what it
    /// sends to them is lost; a program that is to survive this first finds out, by [`agree`](Self::agree) on
    /// this communicator, whether all got theirs. [`Error::Disagreement`] if others split;
    /// [`Error::Elsewhere`] if rank 0 could not go on; otherwise as [`send`](Self::send), and then the others may wait
    /// until this rank has ended. If others call something else, all may wait forever, as with any mixture of
    /// collective calls.
    ///
    /// # Cost
    /// A message to rank 0 and one from it; when the communicator is dropped, one to each rank. The number is
    /// reused when all ranks have dropped it.
    pub fn dup(&self) -> Result<Self, Error> {
        let (number, _) = self.number_for(Wish::Dup)?;
        let group = self.inner.group.clone();
        let core = self.inner.core.clone();
        Ok(Self::new(core, number, self.rank(), group))
    }

    /// A communicator of the ranks that give the same colour, in the order of their keys, and of their ranks
    /// here where keys are equal; `None` for a rank without a colour. All ranks have to call it.
    /// `MPI_Comm_split`, MPI 4.1 §7.4.2.
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
    /// As [`dup`](Self::dup).
    ///
    /// # Cost
    /// As `dup`, with the ranks of each part.
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>, Error> {
        let wish = color.map_or(Wish::Nothing, |color| Wish::Split { color, key });
        let (number, ranks) = self.number_for(wish)?;
        if wish == Wish::Nothing {
            return Ok(None);
        }
        let mine = self.rank();
        let rank = ranks.iter().position(|&rank| rank == mine);
        let rank = rank.ok_or(Error::Disagreement("split"))? as u32;
        let group: Option<Rc<[Process]>> = ranks
            .iter()
            .map(|&rank| self.inner.group.get(rank as usize).copied())
            .collect();
        let group = group.ok_or(Error::Disagreement("split"))?;
        let core = self.inner.core.clone();
        Ok(Some(Self::new(core, number, rank, group)))
    }

    /// A number that is free at all ranks, and the ranks that this one is to share it with.
    fn number_for(&self, wish: Wish) -> Result<(Number, Vec<u32>), Error> {
        if self.size() == 1 {
            self.unless_revoked()?;
        }
        let agreed = self.agree_on_number("dup or split", |first, offer| {
            let words = |verdict: &Verdict| [&verdict.agreed.words()[..], &verdict.ranks].concat();
            self.ask(wish.said(offer), |all| verdicts(all, first), words)
        })?;
        step(Step::NumberAgreed);
        Ok(agreed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict<const RANKS: usize>(agreed: Agreed, ranks: [u32; RANKS]) -> Verdict {
        let ranks = Rc::from(ranks);
        Verdict { agreed, ranks }
    }

    fn said(wish: Wish, free: u64, later: u32) -> WishAndOffer {
        let later = Number(later);
        wish.said(Offer { free, later })
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        let offer = Offer {
            free: 0x8000_0001_0000_0002,
            later: Number(77),
        };
        for wish in [
            Wish::Dup,
            Wish::Nothing,
            Wish::Split {
                color: u32::MAX,
                key: -1,
            },
        ] {
            let words = wish.said(offer);
            assert_eq!((Wish::of(&words), offer_of(&words)), (Some(wish), offer));
        }
    }

    #[test]
    fn the_lowest_number_that_is_free_with_all_is_chosen() {
        let all = [said(Wish::Dup, 0b0110, 64), said(Wish::Dup, 0b1100, 70)];
        assert_eq!(
            verdicts(&all, Number(128)).unwrap(),
            [0, 1].map(|_| verdict(Agreed::Free(Number(130)), []))
        );
        let all = [said(Wish::Dup, 0b01, 64), said(Wish::Dup, 0b10, 70)];
        assert_eq!(
            verdicts(&all, Number(0)).unwrap(),
            [0, 1].map(|_| verdict(Agreed::AskFrom(Number(70)), []))
        );
    }

    #[test]
    fn parts_are_in_the_order_of_keys_and_then_of_ranks() {
        let split = |color, key| said(Wish::Split { color, key }, 1, 64);
        let all = [
            split(7, 1),
            split(9, 0),
            said(Wish::Nothing, 1, 64),
            split(7, -1),
            split(7, 1),
        ];
        let free = Agreed::Free(Number(0));
        let sevens = || verdict(free, [3, 0, 4]);
        let expected = [
            sevens(),
            verdict(free, [1]),
            verdict(free, []),
            sevens(),
            sevens(),
        ];
        assert_eq!(verdicts(&all, Number(0)).unwrap(), expected);
        let mixed = [split(7, 1), said(Wish::Dup, 1, 64)];
        assert!(matches!(
            verdicts(&mixed, Number(0)),
            Err(Error::Disagreement(_))
        ));
    }
}
