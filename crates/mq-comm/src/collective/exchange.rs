//! What communicators are made with: every rank hears what each has to say.

use super::EXCHANGE;
use super::failure::unless_gone;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::steps::{Step, step};
use crate::transport::Transport;

impl<T: Transport> Communicator<T> {
    /// Some words of each rank, by rank, at all ranks.
    pub(crate) fn exchange<const WORDS: usize>(
        &self,
        mine: [u32; WORDS],
    ) -> Result<Vec<[u32; WORDS]>, Error> {
        let mut all = vec![[0; WORDS]; self.size() as usize];
        let mut said = Ok(());
        if self.rank() == 0 {
            all[0] = mine;
            for (rank, theirs) in (0..).zip(&mut all).skip(1) {
                // What the others say is heard even if one is gone.
                let heard = self.get(EXCHANGE, core::slice::from_mut(theirs), rank);
                said = said.and(heard.map(|_| ()));
            }
        } else {
            said = unless_gone(self.put(EXCHANGE, &[mine], 0))?;
            step(Step::NumberSaid);
        }
        self.broadcast_after(said, &mut all, 0)?;
        step(Step::NumberAgreed);
        Ok(all)
    }
}
