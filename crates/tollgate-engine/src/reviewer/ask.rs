//! Asking several reviewers about several parts of a change at once.
//!
//! Each [`Job`] is one question to one reviewer. Workers take jobs in their order, keep the budget, read what came
//! back, and ask once more when it cannot be read. A job ends in an [`Answer`] that holds together, or in the reason
//! why there is none; what it means for the verdict is not decided here.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_core::answer::{self, Answer, NoAnswer};
use tollgate_core::board::Criterion;
use tollgate_core::verify::{self, Weight};
use tollgate_core::{prompt, tokens};
use tollgate_rules::text::mask::mask;

use super::call::{Backend, CallFailure, Heard, Question, Repair, Reply, Stop, Usage, Watch, Why};
use super::provider::price::{self, Price};
use super::tape::{Place, Tape};
use crate::held::{Held, in_strings};

/// Somebody who can be asked.
pub struct Member {
    /// What it is called.
    pub name: String,
    /// How it is reached.
    pub backend: Box<dyn Backend>,
    /// What its tokens cost, where that is known.
    pub price: Option<Price>,
}

/// One question to one reviewer.
#[derive(Debug)]
pub struct Job {
    /// Who is asked, by index.
    pub member: usize,
    /// For which time, from 1.
    pub pass: u32,
    /// Which part of the change it is about, from 0.
    pub call: usize,
    /// What is asked.
    pub question: Question,
    /// About how many tokens that is.
    pub n_tokens: usize,
    /// A file that it is about, to tell people.
    pub about: String,
}

/// How a job ended.
#[derive(Debug)]
pub struct Done {
    /// What was said, or why nothing was.
    pub outcome: Result<Said, NotSaid>,
    /// What it took.
    pub usage: Usage,
    /// What it cost in US dollars, where that is known.
    pub cost: Option<f64>,
    /// When it ended, counted from when the asking began.
    pub ended: Duration,
    /// Which model answered, where the other side says so.
    pub model: Option<String>,
}

/// What was said.
#[derive(Debug)]
pub struct Said {
    /// What was said, read.
    pub answer: Answer,
    /// What is odd about it, for people.
    pub notes: Vec<String>,
}

/// Why nothing was said that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotSaid {
    /// The call failed.
    Failed(CallFailure),
    /// What came back is no review; why, for people.
    NoReview(String),
    /// It would have cost more than there is left, for people.
    OverBudget(String),
}

/// What all jobs of a review have in common.
pub struct Terms<'a> {
    /// Who can be asked.
    pub members: &'a [Member],
    /// Whether exchanges are kept or played again.
    pub tape: &'a Tape,
    /// Keys that must not be heard of.
    pub held: &'a Held,
    /// When all answers must be there.
    pub deadline: Instant,
    /// How long a call may be without a sign of life.
    pub idle: Duration,
    /// How many calls at a time.
    pub parallel: usize,
    /// How many US dollars there are.
    pub usd: Option<f64>,
    /// What of an answer keeps a change from passing, and so must hold together.
    pub weight: Weight,
    /// What was asked about beside findings.
    pub criteria: &'a [Criterion],
    /// Stops everything.
    pub cancel: &'a CancellationToken,
}

/// How the asking goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// A job was begun.
    Begun {
        /// Which one, by index.
        job: usize,
    },
    /// There is a sign of life from a job.
    Heard {
        /// Which one, by index.
        job: usize,
        /// What was heard.
        heard: Heard,
    },
    /// A job ended.
    Ended {
        /// Which one, by index.
        job: usize,
        /// What it took.
        usage: Usage,
    },
}

/// Asks all there is to ask. The results are in the order of the jobs. `signs` is called on this thread.
pub fn all(jobs: &[Job], terms: &Terms<'_>, signs: &mut dyn FnMut(Sign)) -> Vec<Done> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Done>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let purse = Purse { left: terms.usd.map(Mutex::new) };
    let broken = Mutex::new(HashSet::new());
    let (sender, receiver) = mpsc::channel();
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..terms.parallel.min(jobs.len()) {
            let (next, done, purse, broken, sender) = (&next, &done, &purse, &broken, sender.clone());
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    let mut ended = one(index, job, terms, purse, broken, &sender);
                    ended.ended = started.elapsed();
                    let _ = sender.send(Sign::Ended { job: index, usage: ended.usage });
                    done.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(ended);
                }
            });
        }
        drop(sender);
        for sign in receiver {
            signs(sign);
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().map(|done| done.unwrap_or_else(|| Done::never_begun("the review was stopped before"))).collect()
}

/// How much money there is left for calls that have not begun.
struct Purse {
    left: Option<Mutex<f64>>,
}

impl Purse {
    /// Takes what a call will cost about; says so when there is not enough.
    fn take(&self, amount: f64) -> Result<(), f64> {
        let Some(left) = &self.left else { return Ok(()) };
        let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
        if *left < amount {
            return Err(*left);
        }
        *left -= amount;
        Ok(())
    }

    fn put_back(&self, amount: f64) {
        if let Some(left) = &self.left {
            *left.lock().unwrap_or_else(PoisonError::into_inner) += amount;
        }
    }
}

/// An answer is taken to be no longer than this before it is there.
const EXPECTED_OUTPUT: u64 = 1_500;

fn one(
    index: usize,
    job: &Job,
    terms: &Terms<'_>,
    purse: &Purse,
    broken: &Mutex<HashSet<usize>>,
    signs: &Sender<Sign>,
) -> Done {
    let member = &terms.members[job.member];
    let expected = Usage { input: job.n_tokens as u64, output: EXPECTED_OUTPUT, cached: 0 };
    let expected = member.price.as_ref().map_or(0.0, |price| price::cost(&expected, price));
    if terms.cancel.is_cancelled() {
        return Done::never_begun("the review was stopped before");
    }
    // Where the set-up is wrong for one call it is wrong for all, and each would take its time to find out.
    if broken.lock().unwrap_or_else(PoisonError::into_inner).contains(&job.member) {
        return Done::never_begun("its first call showed that it cannot be");
    }
    if let Err(left) = purse.take(expected) {
        let total = terms.usd.unwrap_or_default();
        return Done::not(NotSaid::OverBudget(format!(
            "over the budget of ${total:.2}: ${:.2} are left, and the call costs about ${expected:.2}",
            left.max(0.0)
        )));
    }
    let _ = signs.send(Sign::Begun { job: index });
    let heard = |heard: Heard| drop(signs.send(Sign::Heard { job: index, heard }));
    let watch = Watch { deadline: terms.deadline, idle: terms.idle, cancel: terms.cancel, heard: &heard };
    let mut talk = Talk { job, member, terms, watch, usage: Usage::default(), cost: None, model: None };
    let outcome = talk.run();
    if let Err(NotSaid::Failed(CallFailure { why: Why::Setup, .. })) = &outcome {
        broken.lock().unwrap_or_else(PoisonError::into_inner).insert(job.member);
    }
    purse.put_back(expected - talk.cost.unwrap_or(0.0));
    Done { outcome, usage: talk.usage, cost: talk.cost, ended: Duration::ZERO, model: talk.model }
}

impl Done {
    fn not(why: NotSaid) -> Self {
        Self { outcome: Err(why), usage: Usage::default(), cost: None, ended: Duration::ZERO, model: None }
    }

    fn never_begun(why: &str) -> Self {
        let message = format!("it was not asked, because {why}");
        Self::not(NotSaid::Failed(CallFailure { why: Why::Cancelled, message, hint: None, n_tries: 0 }))
    }
}

/// One question, its answer, and at most one more question about that.
struct Talk<'a> {
    job: &'a Job,
    member: &'a Member,
    terms: &'a Terms<'a>,
    watch: Watch<'a>,
    usage: Usage,
    cost: Option<f64>,
    model: Option<String>,
}

impl Talk<'_> {
    fn run(&mut self) -> Result<Said, NotSaid> {
        let shared = &self.job.question.shared;
        let reply = self.ask(1, &self.job.question)?;
        let problem = match read(&reply, shared, self.terms) {
            Ok(said) => return Ok(said),
            Err(Unread::Final(why)) => return Err(NotSaid::NoReview(why)),
            Err(Unread::Repairable(problem)) => problem,
        };
        let repair = Repair { answer: text_of(&reply), request: prompt::repair(&problem) };
        let question = Question { repair: Some(repair), ..self.job.question.clone() };
        let reply = self.ask(2, &question)?;
        match read(&reply, shared, self.terms) {
            Ok(mut said) => {
                said.notes.insert(0, format!("its first answer could not be read ({problem}), its second could"));
                Ok(said)
            }
            Err(Unread::Final(why) | Unread::Repairable(why)) => {
                Err(NotSaid::NoReview(format!("neither its answer nor a second one could be read: {why}")))
            }
        }
    }

    fn ask(&mut self, round: u32, question: &Question) -> Result<Reply, NotSaid> {
        let place = Place { reviewer: self.member.name.clone(), pass: self.job.pass, call: self.job.call + 1, round };
        let ask = || {
            let reply = self.member.backend.ask(question, &self.watch);
            reply
                .map(|reply| hidden(reply, self.terms.held))
                .map_err(|failure| hidden_failure(failure, self.terms.held))
        };
        let reply = self.terms.tape.exchange(&place, question, ask).map_err(NotSaid::Failed)?;
        let usage = counted(question, &reply);
        self.usage.add(usage);
        // Nobody pays us for a review: such a cost would raise the budget.
        let told = reply.cost.filter(|cost| cost.is_finite() && *cost >= 0.0);
        let cost = told.or_else(|| self.member.price.as_ref().map(|price| price::cost(&usage, price)));
        self.cost = match (self.cost, cost) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
        };
        self.model = reply.model.clone().or(self.model.take());
        Ok(reply)
    }
}

/// What a reply took; estimated where the other side does not say.
fn counted(question: &Question, reply: &Reply) -> Usage {
    if reply.usage.input > 0 || reply.usage.output > 0 {
        return reply.usage;
    }
    let asked = [&question.system, &question.shared, &question.part];
    let input = asked.iter().map(|text| tokens::estimate(text.as_bytes())).sum::<usize>();
    Usage { input: input as u64, cached: 0, output: tokens::estimate(reply.text.as_bytes()) as u64 }
}

/// Why a reply is no answer.
enum Unread {
    /// Asking again would not help.
    Final(String),
    /// It may have been a slip.
    Repairable(String),
}

/// Reads a reply to a request that began with `shared`.
fn read(reply: &Reply, shared: &str, terms: &Terms<'_>) -> Result<Said, Unread> {
    if reply.stop == Stop::Refused {
        return Err(Unread::Final("it would not answer".to_owned()));
    }
    if prompt::echoes_request(shared, &reply.text) {
        return Err(Unread::Repairable("it repeats the request".to_owned()));
    }
    let structured = reply.structured.as_ref().map(answer::read_structured);
    let read = match structured {
        // What came beside a tool call that cannot be used may be an answer after all.
        Some(Err(_)) if !reply.text.trim().is_empty() => answer::read_with_criteria(&reply.text, terms.criteria),
        Some(read) => read,
        None => answer::read_with_criteria(&reply.text, terms.criteria),
    };
    let mut answer = read.map_err(|problem: NoAnswer| {
        let why = problem.to_string();
        if problem.is_worth_repairing() { Unread::Repairable(why) } else { Unread::Final(why) }
    })?;
    answer.truncated |= reply.stop == Stop::Length;
    let note = verify::check_consistency(&answer, terms.weight).map_err(Unread::Final)?;
    let notes = answer.problems.iter().cloned().chain(note).collect();
    Ok(Said { answer, notes })
}

/// What was said, as text to be shown to the model again.
fn text_of(reply: &Reply) -> String {
    match &reply.structured {
        Some(value) if reply.text.trim().is_empty() => value.to_string(),
        _ => reply.text.clone(),
    }
}

/// A text without the secrets it may hold: neither our keys nor what looks like anybody's.
fn without_secrets(text: &str, held: &Held) -> String {
    mask(&held.hide(text)).into_owned()
}

fn hidden(reply: Reply, held: &Held) -> Reply {
    let hide = |text: &str| without_secrets(text, held);
    let structured = reply.structured.map(|value| in_strings(value, &hide));
    Reply { text: hide(&reply.text), structured, model: reply.model.as_deref().map(hide), ..reply }
}

fn hidden_failure(failure: CallFailure, held: &Held) -> CallFailure {
    let hide = |text: &str| without_secrets(text, held);
    CallFailure { message: hide(&failure.message), hint: failure.hint.as_deref().map(hide), ..failure }
}

#[cfg(test)]
mod tests;
