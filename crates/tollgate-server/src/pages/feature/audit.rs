//! The prompts sent to reviewers and their answers, verbatim.

use tollgate_core::visible::grouped;
use tollgate_engine::board::{Audit, ReviewAttempt};
use tollgate_engine::reviewer::recording::RecordedExchange;

use crate::pages::words::{self, count};

/// The audit of one review.
pub(super) struct AuditView {
    pub(super) number: u32,
    pub(super) tries: Vec<TryView>,
    pub(super) n_older: usize,
}

pub(super) struct TryView {
    /// Which one, when there are several.
    pub(super) title: String,
    pub(super) file: String,
    pub(super) exchanges: Vec<Exchange>,
    pub(super) more: String,
    pub(super) problem: Option<String>,
}

/// A prompt and its outcome.
pub(super) struct Exchange {
    /// `claude, call 2`.
    pub(super) title: String,
    /// Its cost.
    pub(super) figures: String,
    pub(super) system: String,
    pub(super) question: String,
    pub(super) reply: Option<String>,
    pub(super) problem: Option<String>,
    pub(super) is_cut: bool,
}

impl AuditView {
    pub(super) fn new(number: u32, audit: Audit) -> Self {
        let n_tries = audit.tries.len();
        let tries = audit.tries.into_iter().enumerate();
        let tries = tries.map(|(index, one)| TryView::new(one, (n_tries > 1).then_some(index + 1 + audit.n_older)));
        Self { number, tries: tries.collect(), n_older: audit.n_older }
    }
}

impl TryView {
    fn new(one: ReviewAttempt, number: Option<usize>) -> Self {
        let more = (one.n_more > 0).then(|| format!("{} not shown here", count(one.n_more as u64, "more exchange")));
        Self {
            title: number.map(|number| format!("Try {number}")).unwrap_or_default(),
            file: one.file.to_string_lossy().into_owned(),
            exchanges: one.told.into_iter().map(Exchange::from).collect(),
            more: more.unwrap_or_default(),
            problem: one.problem,
        }
    }
}

impl From<RecordedExchange> for Exchange {
    fn from(RecordedExchange { place, system, question, reply }: RecordedExchange) -> Self {
        let mut title = format!("{}, call {}", place.reviewer, place.call);
        if place.pass > 1 {
            title.push_str(&format!(" of pass {}", place.pass));
        }
        if place.round > 1 {
            title.push_str(", asked again because the answer could not be read");
        }
        let (reply, problem, figures, is_cut) = match reply {
            Ok(reply) => {
                let (asked, said) = reply.tokens;
                let cost = reply.cost.map(|cost| format!(", {}", words::cost(cost))).unwrap_or_default();
                let model = reply.model.map(|model| format!("{model}, ")).unwrap_or_default();
                let figures = format!("{model}{} tokens in, {} out{cost}", grouped(asked), grouped(said));
                (Some(reply.text), None, figures, reply.is_cut)
            }
            Err(problem) => (None, Some(problem), "no answer".to_owned(), false),
        };
        Self { title, figures, system, question, reply, problem, is_cut }
    }
}
