//! Runs the calls to several reviewers in parallel, within a budget.
//!
//! Each [`CallJob`] is one question to one reviewer. Worker threads take jobs in order, keep the budget, parse the replies,
//! and ask for a repair once when a reply cannot be parsed. A job ends in a consistent [`Answer`], or in the reason why
//! there is none; the verdict is decided elsewhere.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_core::answer::{self, Answer, NoAnswer, PromptQuestions};
use tollgate_core::board::{Criterion, Met};
use tollgate_core::verify;
use tollgate_core::{prompt, tokens};

use super::call::{
    Backend, CallControl, CallFailure, CallProgress, FailureCause, Question, Repair, Reply, StopReason, Usage,
};
use super::provider::price::{self, Price};
use super::recording::{ExchangeId, Recording};
use crate::redaction::{Redactor, map_strings, publishable};

/// A reviewer with its backend.
pub struct Member {
    /// Its name.
    pub name: String,
    /// The transport to it.
    pub backend: Box<dyn Backend>,
    /// The price of its tokens, if known.
    pub price: Option<Price>,
}

/// One question to one reviewer.
#[derive(Debug)]
pub struct CallJob {
    /// The index of the reviewer.
    pub member: usize,
    /// The number of the pass, from 1.
    pub pass: u32,
    /// The part of the change it is about, from 0.
    pub call: usize,
    /// The question.
    pub question: Question,
    /// The estimated number of tokens of the question.
    pub n_tokens: usize,
    /// A file that it is about, for progress events.
    pub about: String,
}

/// The result of a job.
#[derive(Debug)]
pub struct CallResult {
    /// The answer, or why there is none.
    pub outcome: Result<ParsedAnswer, AskError>,
    /// The tokens it used.
    pub usage: Usage,
    /// The cost in US dollars, if known.
    pub cost: Option<f64>,
    /// The time of its end, since the start of all jobs.
    pub ended: Duration,
    /// The model that answered, if the provider reports it.
    pub model: Option<String>,
}

/// A parsed answer.
#[derive(Debug)]
pub struct ParsedAnswer {
    /// The answer.
    pub answer: Answer,
    /// Problems in it, for people.
    pub notes: Vec<String>,
}

/// Why a job has no usable answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskError {
    /// The call failed.
    Failed(CallFailure),
    /// The reply is not a review; why, for people.
    NoReview(String),
    /// The call would exceed the budget; why, for people.
    OverBudget(String),
}

/// The options that all jobs of a review share.
pub struct AskOptions<'a> {
    /// The reviewers.
    pub members: &'a [Member],
    /// Records exchanges, or replays them.
    pub recording: &'a Recording,
    /// Redacts our keys.
    pub redactor: &'a Redactor,
    /// The deadline of all jobs.
    pub deadline: Instant,
    /// The idle timeout of a call.
    pub idle: Duration,
    /// The number of parallel calls.
    pub parallel: usize,
    /// The budget in US dollars.
    pub usd: Option<f64>,
    /// The acceptance criteria that reviewers answer for.
    pub criteria: &'a [Criterion],
    /// How many findings of the last review the prompts ask about.
    pub n_prior: usize,
    /// Cancels all jobs.
    pub cancel: &'a CancellationToken,
}

/// A progress event of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEvent {
    /// A job has started.
    Begun {
        /// The index of the job.
        job: usize,
    },
    /// The call of a job made progress.
    CallProgress {
        /// The index of the job.
        job: usize,
        /// The progress event of the call.
        heard: CallProgress,
    },
    /// The reviewer wrote more of its answer.
    Output {
        /// The index of the job.
        job: usize,
        /// The text, redacted.
        text: String,
    },
    /// A job ended.
    Ended {
        /// The index of the job.
        job: usize,
        /// The tokens it used.
        usage: Usage,
    },
}

/// Runs all jobs. The results are in the order of the jobs. `signs` is called on this thread.
pub fn all(jobs: &[CallJob], terms: &AskOptions<'_>, signs: &mut dyn FnMut(JobEvent)) -> Vec<CallResult> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<CallResult>>> = Mutex::new(jobs.iter().map(|_| None).collect());
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
                    let _ = sender.send(JobEvent::Ended { job: index, usage: ended.usage });
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
    done.into_iter()
        .map(|done| done.unwrap_or_else(|| CallResult::never_begun("the review was stopped before")))
        .collect()
}

/// The part of the budget that is left for calls that have not begun.
struct Purse {
    left: Option<Mutex<f64>>,
}

impl Purse {
    /// Reserves the estimated cost of a call; fails when the budget does not suffice.
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

/// The number of output tokens that a cost estimate assumes.
const EXPECTED_OUTPUT: u64 = 1_500;

/// The estimated cost of a call in US dollars; 0 when the price is not known.
pub(crate) fn expected_cost(n_tokens: usize, price: Option<&Price>) -> f64 {
    let expected = Usage { input: n_tokens as u64, output: EXPECTED_OUTPUT, cached: 0 };
    price.map_or(0.0, |price| price::cost(&expected, price))
}

fn one(
    index: usize,
    job: &CallJob,
    terms: &AskOptions<'_>,
    purse: &Purse,
    broken: &Mutex<HashSet<usize>>,
    signs: &Sender<JobEvent>,
) -> CallResult {
    let member = &terms.members[job.member];
    let expected = expected_cost(job.n_tokens, member.price.as_ref());
    if terms.cancel.is_cancelled() {
        return CallResult::never_begun("the review was stopped before");
    }
    // A wrong configuration fails every call of a reviewer, so its remaining jobs are not tried.
    if broken.lock().unwrap_or_else(PoisonError::into_inner).contains(&job.member) {
        return CallResult::never_begun("its first call showed that it cannot be");
    }
    if let Err(left) = purse.take(expected) {
        let total = terms.usd.unwrap_or_default();
        return CallResult::not(AskError::OverBudget(format!(
            "over the budget of ${total:.2}: ${:.2} are left, and the call costs about ${expected:.2}",
            left.max(0.0)
        )));
    }
    let _ = signs.send(JobEvent::Begun { job: index });
    let written = Mutex::new(LiveText::default());
    let tell = |text: String| drop(signs.send(JobEvent::Output { job: index, text }));
    let heard = |heard: CallProgress| {
        if let CallProgress::Answer(text) = &heard {
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(text) = written.add(text) {
                tell(without_secrets(&text, terms.redactor));
            }
        }
        drop(signs.send(JobEvent::CallProgress { job: index, heard }));
    };
    let watch = CallControl { deadline: terms.deadline, idle: terms.idle, cancel: terms.cancel, heard: &heard };
    let mut talk = Talk { job, member, terms, watch, usage: Usage::default(), cost: None, model: None };
    let outcome = talk.run();
    if let Err(AskError::Failed(CallFailure { why: FailureCause::Setup, .. })) = &outcome {
        broken.lock().unwrap_or_else(PoisonError::into_inner).insert(job.member);
    }
    let rest = written.lock().unwrap_or_else(PoisonError::into_inner).finish();
    if !rest.is_empty() {
        tell(without_secrets(&rest, terms.redactor));
    }
    purse.put_back(expected - talk.cost.unwrap_or(0.0));
    CallResult { outcome, usage: talk.usage, cost: talk.cost, ended: Duration::ZERO, model: talk.model }
}

/// Text that is being written, told in pieces between which no secret is cut: whole lines, or whole values of JSON.
#[derive(Default)]
struct LiveText {
    pending: String,
    n_told: usize,
}

impl LiveText {
    /// A longer text without a line feed is also cut after a value or a sentence.
    const LONG: usize = 200;
    /// The most bytes that are told of one answer.
    const MAX: usize = 256 * 1024;

    fn add(&mut self, text: &str) -> Option<String> {
        if self.n_told >= Self::MAX {
            return None;
        }
        self.pending.push_str(text);
        let line = self.pending.rfind('\n').map(|at| at + 1);
        let part = || ["\",", "},", ". "].iter().filter_map(|end| Some(self.pending.rfind(end)? + end.len())).max();
        let end = line.or_else(|| part().filter(|_| self.pending.len() > Self::LONG))?;
        let rest = self.pending.split_off(end);
        self.n_told += self.pending.len();
        Some(std::mem::replace(&mut self.pending, rest))
    }

    fn finish(&mut self) -> String {
        std::mem::take(&mut self.pending)
    }
}

impl CallResult {
    fn not(why: AskError) -> Self {
        Self { outcome: Err(why), usage: Usage::default(), cost: None, ended: Duration::ZERO, model: None }
    }

    fn never_begun(why: &str) -> Self {
        let message = format!("it was not asked, because {why}");
        Self::not(AskError::Failed(CallFailure { why: FailureCause::Cancelled, message, hint: None, n_tries: 0 }))
    }
}

/// One question, its answer, and at most one request for a repair.
struct Talk<'a> {
    job: &'a CallJob,
    member: &'a Member,
    terms: &'a AskOptions<'a>,
    watch: CallControl<'a>,
    usage: Usage,
    cost: Option<f64>,
    model: Option<String>,
}

impl Talk<'_> {
    fn run(&mut self) -> Result<ParsedAnswer, AskError> {
        let shared = &self.job.question.shared;
        let reply = self.ask(1, &self.job.question)?;
        let problem = match read(&reply, shared, self.terms) {
            Ok(said) => return Ok(said),
            Err(Unread::Final(why)) => return Err(AskError::NoReview(why)),
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
                Err(AskError::NoReview(format!("neither its answer nor a second one could be read: {why}")))
            }
        }
    }

    fn ask(&mut self, round: u32, question: &Question) -> Result<Reply, AskError> {
        let place =
            ExchangeId { reviewer: self.member.name.clone(), pass: self.job.pass, call: self.job.call + 1, round };
        let ask = || {
            let reply = self.member.backend.ask(question, &self.watch);
            reply
                .map(|reply| hidden(reply, self.terms.redactor))
                .map_err(|failure| hidden_failure(failure, self.terms.redactor))
        };
        let reply = self.terms.recording.exchange(&place, question, ask).map_err(AskError::Failed)?;
        let usage = counted(question, &reply);
        self.usage.add(usage);
        // A negative cost would raise the budget.
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

/// The tokens of a reply; estimated when the provider does not report them.
fn counted(question: &Question, reply: &Reply) -> Usage {
    if reply.usage.input > 0 || reply.usage.output > 0 {
        return reply.usage;
    }
    let asked = [&question.system, &question.shared, &question.part];
    let input = asked.iter().map(|text| tokens::estimate(text.as_bytes())).sum::<usize>();
    Usage { input: input as u64, cached: 0, output: tokens::estimate(reply.text.as_bytes()) as u64 }
}

/// Why a reply is not an answer.
enum Unread {
    /// A repair would not help.
    Final(String),
    /// A repair may help.
    Repairable(String),
}

/// Parses a reply to a request that began with `shared`.
fn read(reply: &Reply, shared: &str, terms: &AskOptions<'_>) -> Result<ParsedAnswer, Unread> {
    if reply.stop == StopReason::Refused {
        return Err(Unread::Final("it would not answer".to_owned()));
    }
    if prompt::echoes_request(shared, &reply.text) {
        return Err(Unread::Repairable("it repeats the request".to_owned()));
    }
    let asked = PromptQuestions { criteria: terms.criteria, n_prior: Some(terms.n_prior) };
    let structured = reply.structured.as_ref().map(answer::read_structured);
    let read = match structured {
        // The text beside an unusable tool call may still be an answer.
        Some(Err(_)) if !reply.text.trim().is_empty() => answer::read_asked(&reply.text, asked),
        Some(read) => read,
        None => answer::read_asked(&reply.text, asked),
    };
    let mut answer = read.map_err(|problem: NoAnswer| {
        let why = problem.to_string();
        if problem.is_worth_repairing() { Unread::Repairable(why) } else { Unread::Final(why) }
    })?;
    answer.truncated |= reply.stop == StopReason::Length;
    // Again, because a secret may be cut or escaped in the text of the reply.
    redact(&mut answer, terms.redactor);
    let note = verify::check_consistency(&answer).map_err(Unread::Final)?;
    let notes = answer.problems.iter().cloned().chain(note).collect();
    Ok(ParsedAnswer { answer, notes })
}

/// Redacts the secrets in the words of an answer. Quotes are compared with the change first and redacted later.
fn redact(answer: &mut Answer, redactor: &Redactor) {
    let hide = |text: &mut String| *text = publishable(redactor, text).into_owned();
    answer.summary.iter_mut().for_each(hide);
    for claim in &mut answer.claims {
        hide(&mut claim.title);
        claim.reason.iter_mut().chain(&mut claim.suggestion).for_each(hide);
        // A redacted replacement would put the mask into the file.
        claim.replacement = claim.replacement.take().filter(|text| publishable(redactor, text) == *text);
    }
    for (_, met) in &mut answer.criteria {
        match met {
            Met::Yes { evidence } | Met::No { evidence } => hide(evidence),
            Met::Unclear { evidence } => evidence.iter_mut().for_each(hide),
        }
    }
    answer.prior.iter_mut().for_each(|prior| hide(&mut prior.evidence));
    answer.losses.iter_mut().chain(&mut answer.problems).for_each(hide);
}

/// The reply as text, to be quoted in the request for a repair.
fn text_of(reply: &Reply) -> String {
    match &reply.structured {
        Some(value) if reply.text.trim().is_empty() => value.to_string(),
        _ => reply.text.clone(),
    }
}

/// Redacts our keys and everything that looks like a secret.
fn without_secrets(text: &str, redactor: &Redactor) -> String {
    publishable(redactor, text).into_owned()
}

fn hidden(reply: Reply, redactor: &Redactor) -> Reply {
    let hide = |text: &str| without_secrets(text, redactor);
    let structured = reply.structured.map(|value| map_strings(value, &hide));
    Reply { text: hide(&reply.text), structured, model: reply.model.as_deref().map(hide), ..reply }
}

fn hidden_failure(failure: CallFailure, redactor: &Redactor) -> CallFailure {
    let hide = |text: &str| without_secrets(text, redactor);
    CallFailure { message: hide(&failure.message), hint: failure.hint.as_deref().map(hide), ..failure }
}

#[cfg(test)]
mod tests;
