//! How communicators are made: rank 0 hears what each rank has to say, and answers each.

use super::EXCHANGE;
use super::failure::{self, Notice, unless_gone};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::steps::{Step, step};
use crate::transport::Transport;

/// What became of a question.
#[derive(Debug)]
pub(crate) enum Answered {
    With(Vec<u32>),
    /// It was asked, and there is no answer. Others may have theirs.
    Never(Error),
}

impl<T: Transport> Communicator<T> {
    /// Sends `mine` to rank 0, which calls `decide` with the words of all ranks, and sends each rank its answer, as
    /// `words` writes it; returns this rank's.
    ///
    /// # Errors
    /// If rank 0 cannot decide, since a rank has ended or for its own reasons, the same at all ranks; if rank
    /// 0 was gone before the question was asked, and nobody will get an answer.
    pub(crate) fn ask<const WORDS: usize, A>(
        &self,
        mine: [u32; WORDS],
        decide: impl FnOnce(&[[u32; WORDS]]) -> Result<Vec<A>, Error>,
        words: impl Fn(&A) -> Vec<u32>,
    ) -> Result<Answered, Error> {
        let _operation = self.begin_collective();
        if self.rank() == 0 {
            return self.answer_all(mine, decide, words);
        }
        match self.send_or_owe(EXCHANGE, &[mine], 0) {
            Err(error @ (Error::Gone { .. } | Error::Revoked)) => return Err(error),
            // It may go out all the same.
            Err(error) => return Ok(Answered::Never(error)),
            Ok(()) => {}
        }
        step(Step::NumberSaid);
        // The decision, or a notice.
        let mut words =
            vec![0; (self.size() as usize + 2).max(failure::LONG_NOTICE_BYTES / size_of::<u32>())];
        let heard = self.receive_as_part(EXCHANGE, &mut words, 0);
        match heard.and_then(|status| status.count::<u32>()) {
            Ok(count) => words.truncate(count),
            Err(error) => return Ok(Answered::Never(error)),
        }
        let bytes = crate::plain::bytes(&words);
        match failure::read(bytes) {
            Some(failure) if failure::is_of_untold(bytes) => Ok(Answered::Never(failure)),
            Some(failure) => Err(failure),
            None => Ok(Answered::With(words)),
        }
    }

    /// The part of rank 0.
    fn answer_all<const WORDS: usize, A>(
        &self,
        mine: [u32; WORDS],
        decide: impl FnOnce(&[[u32; WORDS]]) -> Result<Vec<A>, Error>,
        words: impl Fn(&A) -> Vec<u32>,
    ) -> Result<Answered, Error> {
        let mut all = vec![mine; self.size() as usize];
        let mut said = Ok(());
        for (rank, theirs) in (0..).zip(&mut all).skip(1) {
            // What the others say is received even if one is gone.
            let heard = self.receive_as_part(EXCHANGE, core::slice::from_mut(theirs), rank);
            said = said.and(heard.map(|_| ()));
        }
        let answers = match said.and_then(|()| decide(&all)) {
            Ok(answers) => answers,
            Err(error) => {
                let notice = Notice::of(&error, 0, self.member(0));
                for rank in 1..self.size() {
                    // A rank that is gone needs no notice, and one that cannot be told yet holds nobody else up.
                    self.send_notice(EXCHANGE, notice.bytes(), rank);
                }
                return Err(error);
            }
        };
        let mut told = Ok(());
        for (rank, answer) in (0..).zip(&answers).skip(1) {
            // A rank that has died since has said what it wanted, and whoever communicates with it finds that
            // it is gone.
            let words = words(answer);
            let is_eager = self.is_eager(EXCHANGE, size_of_val(&*words), rank);
            let said = self.send_or_owe(EXCHANGE, &words, rank);
            if said.as_ref().is_err_and(Error::is_out_of_memory) && is_eager {
                let notice = Notice::of_untold(self.member(0));
                self.send_notice(EXCHANGE, notice.bytes(), rank);
            }
            step(Step::NumberTold);
            told = told.and(unless_gone(said).map(|_| ()));
        }
        Ok(match told {
            Ok(()) => Answered::With(answers.first().map_or_else(Vec::new, words)),
            Err(error) => Answered::Never(error),
        })
    }
}
