//! Stored reviews, from the database of the board.

use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::history::{self, StoredReview};
use tollgate_engine::store::{Listed, Names, Range, RunQuery, Trends};

use super::BoardDesk;
use crate::desk::reviews::Reviews;
use crate::desk::{Answer, Page, Refusal};

impl Reviews for BoardDesk {
    fn reviews(&self, query: &RunQuery) -> Answer<Page<Listed>> {
        // One more, to know whether there is one.
        let wanted = RunQuery { limit: query.limit.saturating_add(1), ..query.clone() };
        let (mut items, total) = self.board.database().runs(&wanted)?;
        let has_more = items.len() > query.limit;
        items.truncate(query.limit);
        let next = items.last().filter(|_| has_more).map(|run| run.id.to_string());
        Ok(Page { items, next, total })
    }

    fn review(&self, run: u64) -> Answer<StoredReview> {
        let found = match i64::try_from(run) {
            Ok(id) => history::recall(self.board.database(), id)?,
            Err(_) => None,
        };
        match found {
            Some(found) => Ok(found),
            None if self.board.database().forgot_run(i64::try_from(run).unwrap_or(i64::MAX))? => Err(forgotten(run)),
            None => Err(no_review(run)),
        }
    }

    fn newest_review(&self) -> Answer<u64> {
        Ok(u64::try_from(self.board.database().newest_run()?).unwrap_or_default())
    }

    fn review_names(&self) -> Answer<Names> {
        Ok(self.board.database().run_names()?)
    }

    fn trends(&self, range: &Range) -> Answer<Trends> {
        Ok(self.board.database().trends(range)?)
    }
}

fn forgotten(run: u64) -> Refusal {
    let failure = Failure::new(Kind::User, format!("review {run} is not kept any more"));
    Refusal::NotFound(
        failure.hint("`retention.reviews` in the configuration of the server says for how long they are."),
    )
}

fn no_review(run: u64) -> Refusal {
    let failure = Failure::new(Kind::User, format!("there is no review {run}"));
    Refusal::NotFound(failure.hint("List them with `GET /api/reviews` or `tollgate history --all`."))
}
