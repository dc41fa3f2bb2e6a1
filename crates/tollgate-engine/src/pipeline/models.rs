//! Reviews a change with models and agents.
//!
//! The hunks that they have not seen are planned into calls, and the claims in their answers are verified against the
//! change. A hunk whose call returned no complete answer is *not reviewed*: silence never counts as an approval. Secrets
//! are redacted before anything is sent, stored or shown: this module only ever reads the masked change.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tollgate_core::answer::{Claim, PriorState};
use tollgate_core::board::Criterion;
use tollgate_core::change::Change;
use tollgate_core::coverage::{Coverage, HunkStatus};
use tollgate_core::diff::{FileDiff, Hunk};
use tollgate_core::finding::{Finding, LineRange, Location, Severity, Side};
use tollgate_core::merge::PASS;
use tollgate_core::path::FilePath;
use tollgate_core::plan::{self, Plan};
use tollgate_core::policy::Policy;
use tollgate_core::prompt::ContextFile;
use tollgate_core::review::{Doubt, WithheldFinding};
use tollgate_core::verify::{self, CriteriaAnswers};

use super::ReviewProgress;
use super::prior::MappedPrior;
use crate::config::Settings;
use crate::failure::{self, Failure};
use crate::forge::local::Local;
use crate::redaction::Redactor;
use crate::reviewer::ask::{self, AskError, AskOptions, CallJob, CallResult, Member};
use crate::reviewer::call::Question;
use crate::reviewer::prepared::{self, PreparedReviewer, ReviewerTransport};
use crate::reviewer::prompts::Prompts;
use crate::reviewer::provider::Net;
use crate::reviewer::recording::Recording;
use crate::reviewer::tokens;

mod call_plan;
mod fixes;
mod prefetch;
mod progress;
mod prompt_context;
mod run;
mod statements;

use call_plan::{PlanInputs, PlannedCalls};
use prefetch::Prefetched;
use progress::ProgressTracker;
use prompt_context::PromptContext;
pub(crate) use prompt_context::board_context;
pub use run::ReviewerRun;
pub(super) use statements::PriorStatement;
pub use statements::ReviewerStatement;
use statements::{AnswerInDoubt, Statements};

/// How models and agents are asked.
pub struct ModelOptions<'a> {
    /// Records exchanges, or replays them.
    pub recording: Recording,
    /// The random number in the boundary around untrusted text, which the text therefore cannot forge.
    pub boundary: u64,
    /// True to write the prompts without sending them.
    pub only_print: bool,
    /// Why no model is asked; all hunks planned for models are then *not reviewed*.
    pub disabled: Option<String>,
    /// The operator's file with prompts.
    pub prompts: Option<PathBuf>,
    /// Draft prompts that replace the stored ones, for a preview.
    pub draft_prompts: Option<Prompts>,
    /// The folder of the project's board, for reviews by the board: its prompts and context precede those of the base.
    pub board: Option<PathBuf>,
    /// Looks up environment variables, for API keys.
    pub variable: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// Cancels the calls.
    pub cancel: CancellationToken,
}

impl<'a> ModelOptions<'a> {
    /// Options for a review that looks up API keys by `variable`, with a boundary that cannot be guessed.
    pub fn new(variable: &'a (dyn Fn(&str) -> Option<String> + Sync), cancel: CancellationToken) -> Self {
        let boundary = RandomState::new().build_hasher().finish();
        Self { boundary, variable, cancel, ..ModelOptions::without_models() }
    }

    /// Options for a review by the rules alone.
    pub fn without_models() -> Self {
        Self {
            recording: Recording::Off,
            boundary: 0,
            only_print: false,
            disabled: None,
            prompts: None,
            draft_prompts: None,
            board: None,
            variable: &|_| None,
            cancel: CancellationToken::new(),
        }
    }
}

/// The prompt of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentPrompt {
    /// The name of the model or agent.
    pub reviewer: String,
    /// The number of the call, from 1.
    pub call: usize,
    /// How many calls there are.
    pub n_calls: usize,
    /// About how many tokens it has.
    pub n_tokens: usize,
    /// The system prompt.
    pub system: String,
    /// The part that all calls share.
    pub shared: String,
    /// The part of this call alone.
    pub part: String,
}

/// The results of all models and agents.
#[derive(Debug, Default)]
pub(super) struct ModelResults {
    pub(super) findings: Vec<Finding>,
    pub(super) withheld: Vec<WithheldFinding>,
    pub(super) notes: Vec<String>,
    /// Planned hunks that were not reviewed, by file and hunk, and why.
    pub(super) missed: BTreeMap<(usize, usize), String>,
    /// The lines that each of them reviewed.
    pub(super) places: HashMap<String, Vec<Location>>,
    pub(super) runs: Vec<ReviewerRun>,
    /// The answers that verified findings do not settle.
    pub(super) doubts: Vec<Doubt>,
    /// Their statements about passing.
    pub(super) stated: Vec<ReviewerStatement>,
    /// Their answers about acceptance criteria.
    pub(super) testimony: Vec<CriteriaAnswers>,
    /// Their answers about findings of the last review.
    pub(super) prior: Vec<PriorStatement>,
    pub(super) sent: Vec<SentPrompt>,
}

/// The inputs of prompts beside the change.
pub(super) struct PromptInputs<'a> {
    /// The first lines of the commit messages.
    pub(super) commit_subjects: &'a [String],
    pub(super) policy: &'a Policy,
    pub(super) prior: Option<&'a MappedPrior>,
    /// The last review of this very state, with what the prior review does not have.
    pub(super) here: Option<&'a MappedPrior>,
    /// True when only lines that the prior review has not seen are reviewed.
    pub(super) only_fresh: bool,
}

/// The part of a review request that models need, shared between threads while the rules use the rest.
pub(super) struct ModelContext<'a> {
    pub(super) settings: &'a Settings,
    pub(super) forge: &'a Local,
    pub(super) executable: &'a Path,
    pub(super) title: Option<&'a str>,
    pub(super) body: Option<&'a str>,
    pub(super) spec: Option<&'a str>,
    pub(super) criteria: &'a [Criterion],
    /// The criteria that the last review called not met, by their texts, each with the reason.
    pub(super) unmet: &'a [(String, String)],
    /// True at the gate of a feature.
    pub(super) is_gate: bool,
    pub(super) options: &'a ModelOptions<'a>,
    pub(super) events: &'a (dyn Fn(ReviewProgress<'_>) + Sync),
}

/// A review by models that has begun.
pub(super) enum ModelReview {
    /// All calls have returned.
    Finished(Box<ModelResults>),
    /// The change exceeds the budget, so the order of the calls depends on the findings of the rules.
    Pending(Box<PreparedModels>),
}

/// Prepares the calls and makes them, unless their order depends on the rules.
///
/// Hunks with findings of rules go first. When all of the change fits into the budget the order does not matter.
pub(super) fn begin(
    context: &ModelContext<'_>,
    change: &Change,
    inputs: &PromptInputs<'_>,
    at_once: bool,
) -> Result<ModelReview, Failure> {
    let ready = PreparedModels::gather(context, change, inputs)?;
    let plans = ready.plan(context, inputs, &[]);
    if context.is_gate && context.options.disabled.is_none() {
        ready.check_budget(context, inputs, &plans)?;
    }
    if at_once && plans.iter().all(|planned| planned.plan.left_out.is_empty()) {
        return Ok(ModelReview::Finished(Box::new(ready.ask(context, change, &plans))));
    }
    Ok(ModelReview::Pending(Box::new(ready)))
}

/// The prompts that would be sent, in the order without findings of rules, and the context files in them.
pub(super) fn preview(
    context: &ModelContext<'_>,
    change: &Change,
    inputs: &PromptInputs<'_>,
) -> Result<(ModelResults, Vec<ContextFile>), Failure> {
    let mut ready = PreparedModels::gather(context, change, inputs)?;
    let plans = ready.plan(context, inputs, &[]);
    let files = std::mem::take(&mut ready.shared.context);
    Ok((ready.ask(context, change, &plans), files))
}

impl ModelReview {
    /// Makes the calls that waited for the findings of the rules.
    pub(super) fn finish(
        self,
        context: &ModelContext<'_>,
        change: &Change,
        inputs: &PromptInputs<'_>,
        findings: &[Finding],
    ) -> ModelResults {
        match self {
            Self::Finished(results) => *results,
            Self::Pending(ready) => {
                let plans = ready.plan(context, inputs, findings);
                ready.ask(context, change, &plans)
            }
        }
    }
}

/// The figures of a budget are rounded up to this, and raised by it until the plan fits.
const BUDGET_STEP: usize = 1_000;
/// The most plans that are tried to find a budget that is enough.
const MAX_BUDGETS: usize = 16;

/// A token budget with which the whole change is reviewed: a plan divides the change by its budget, so a smaller budget
/// needs more calls than the plan without one.
fn enough_tokens(n_needed: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
    let rounded = |n_tokens: usize| n_tokens.div_ceil(BUDGET_STEP).saturating_mul(BUDGET_STEP);
    let mut n_tokens = rounded(n_needed);
    for _ in 0..MAX_BUDGETS {
        if fits(n_tokens) {
            break;
        }
        n_tokens = rounded(n_tokens.saturating_add((n_tokens / 10).max(1)));
    }
    n_tokens
}

/// Models and agents, with everything that their prompts are made of.
pub(super) struct PreparedModels {
    team: Vec<PreparedReviewer>,
    redactor: Redactor,
    shared: PromptContext,
    prefetched: Prefetched,
    notes: Vec<String>,
}

impl PreparedModels {
    fn gather(context: &ModelContext<'_>, change: &Change, inputs: &PromptInputs<'_>) -> Result<Self, Failure> {
        let settings = context.settings;
        let team: Vec<PreparedReviewer> =
            settings.reviewers.iter().map(|chosen| prepared::prepare(chosen, context.options.variable)).collect();
        check_prices(&team, settings)?;
        let mut notes = Vec::new();
        let mut prefetched = prefetch::prefetch(context, change);
        let shared = PromptContext::gather(context, change, inputs, &mut prefetched, &mut notes);
        let redactor = Redactor::new(team.iter().flat_map(|member| member.keys.iter().cloned()).collect());
        Ok(Self { team, redactor, shared, prefetched, notes })
    }

    fn plan(&self, context: &ModelContext<'_>, inputs: &PromptInputs<'_>, findings: &[Finding]) -> Vec<PlannedCalls> {
        let Prefetched { files, analysis, skipped, known, .. } = &self.prefetched;
        let settings = context.settings;
        let inputs = PlanInputs { files, analysis, known, skipped, findings, inputs, settings };
        self.team.iter().map(|member| inputs.plan(member, &self.team, &self.shared, &self.redactor)).collect()
    }

    /// Fails before any call when the change does not fit into the budget: at a gate, a part of a review decides nothing.
    fn check_budget(
        &self,
        context: &ModelContext<'_>,
        inputs: &PromptInputs<'_>,
        plans: &[PlannedCalls],
    ) -> Result<(), Failure> {
        let Settings { budget, .. } = context.settings;
        let jobs_of = |plans: &[PlannedCalls]| jobs(&self.team, plans, &self.prefetched.files, &self.shared.schema);
        let is_left_out = plans.iter().any(|planned| !planned.plan.left_out.is_empty());
        let (fitting, over) = within_budget(jobs_of(plans), budget.tokens);
        if is_left_out || !over.is_empty() {
            let mut unlimited = context.settings.clone();
            unlimited.budget.tokens = usize::MAX;
            let plans = self.plan(&ModelContext { settings: &unlimited, ..*context }, inputs, &[]);
            let n_needed = jobs_of(&plans).iter().fold(0, |sum: usize, job| sum.saturating_add(job.n_tokens));
            let n_exact = fitting.iter().chain(&over).fold(0, |sum: usize, job| sum.saturating_add(job.n_tokens));
            let n_needed = if is_left_out { n_needed } else { n_exact };
            if n_needed > budget.tokens {
                let n_enough = enough_tokens(n_needed, |n_tokens| {
                    unlimited.budget.tokens = n_tokens;
                    let plans = self.plan(&ModelContext { settings: &unlimited, ..*context }, inputs, &[]);
                    let is_whole = plans.iter().all(|planned| planned.plan.left_out.is_empty());
                    is_whole && within_budget(jobs_of(&plans), n_tokens).1.is_empty()
                });
                return Err(failure::over_token_budget(n_enough, budget.tokens));
            }
        }
        if let Some((member, left)) = self
            .team
            .iter()
            .zip(plans)
            .find_map(|(member, planned)| planned.plan.left_out.first().map(|left| (member, left)))
        {
            let file = FilePath::of_repo_path(self.prefetched.files[left.file].path());
            return Err(failure::not_all_sent(&format!("{file} ({}: {})", member.name, left.why)));
        }
        let cost = |job: &CallJob| ask::expected_cost(job.n_tokens, self.team[job.member].price.as_ref());
        let needed: f64 = fitting.iter().map(cost).sum();
        match budget.usd {
            Some(usd) if needed > usd => Err(failure::over_money_budget(needed, usd)),
            _ => Ok(()),
        }
    }

    fn ask(self, context: &ModelContext<'_>, change: &Change, plans: &[PlannedCalls]) -> ModelResults {
        let Self { team, redactor, notes, shared, prefetched: Prefetched { files, known, .. } } = self;
        let mut results = ModelResults { notes, ..ModelResults::default() };
        for (member, planned) in team.iter().zip(plans) {
            let problems = planned.prompt.problems.iter();
            results.notes.extend(problems.map(|problem| format!("the prompt's template: {problem}")));
            if let ReviewerTransport::Agent(agent) = &member.way
                && matches!(context.options.recording, Recording::Off | Recording::On(_))
                && !context.options.only_print
            {
                let missing = agent.missing_layers().into_iter();
                results.notes.extend(missing.map(|what| format!("the sandbox of `{}`: {what}", member.name)));
            }
            results.sent.extend(planned.sent(&member.name));
            for left in &planned.plan.left_out {
                results
                    .missed
                    .entry((left.file, left.hunk))
                    .or_insert_with(|| format!("{}: {}", member.name, left.why));
            }
        }
        results.notes.sort();
        results.notes.dedup();
        if context.options.only_print {
            for sent in &mut results.sent {
                sent.n_tokens = [&sent.system, &sent.shared, &sent.part].map(|text| tokens::count(text)).iter().sum();
            }
            return results;
        }
        if let Some(why) = &context.options.disabled {
            for (member, planned) in team.iter().zip(plans) {
                for hunk in planned.plan.calls.iter().flat_map(plan::Call::hunks) {
                    results.missed.entry(hunk).or_insert_with(|| format!("{}: {why}", member.name));
                }
            }
            results.sent.clear();
            return results;
        }
        let names: Vec<String> = team.iter().map(|member| member.name.clone()).collect();
        let limit = context.settings.budget.tokens;
        let (jobs, over) = within_budget(jobs(&team, plans, &files, &shared.schema), limit);
        for job in over {
            for hunk in plans[job.member].plan.calls[job.call].hunks() {
                let why = || format!("{}: over the budget of {limit} tokens", names[job.member]);
                results.missed.entry(hunk).or_insert_with(why);
            }
        }
        let done = call_all(context, change, team, &jobs, (&redactor, shared.prior.len()));
        let sent = SentChange { files: &files, known: &known };
        collect(&mut results, sent, plans, &jobs, done, (&names, &shared));
        fixes::check(context, change, &files, &mut results.findings);
        results
    }
}

/// Fails when there is a budget in money and the price of a reviewer is not known.
fn check_prices(team: &[PreparedReviewer], settings: &Settings) -> Result<(), Failure> {
    // An agent tells the cost of a call when it is over; the calls that follow keep to the rest of the budget.
    let is_service = |member: &&PreparedReviewer| !matches!(member.way, ReviewerTransport::Agent(_));
    match team.iter().filter(is_service).find(|member| member.price.is_none()) {
        Some(member) if settings.budget.usd.is_some() => Err(failure::no_price(&member.name)),
        _ => Ok(()),
    }
}

/// The lines of a hunk on both sides.
fn places(file: &FileDiff, hunk: &Hunk) -> Vec<Location> {
    let range = |start: u32, len: u32| LineRange::new(start, start.saturating_add(len.checked_sub(1)?));
    let new =
        file.new_path.as_ref().zip(range(hunk.new_start, hunk.new_len)).map(|(path, lines)| (path, lines, Side::Right));
    let old =
        file.old_path.as_ref().zip(range(hunk.old_start, hunk.old_len)).map(|(path, lines)| (path, lines, Side::Left));
    let located = [new, old].into_iter().flatten();
    located.map(|(path, lines, side)| Location { file: FilePath::of_repo_path(path), lines, side }).collect()
}

/// One job for each call and pass, riskier calls first across all reviewers.
fn jobs(team: &[PreparedReviewer], plans: &[PlannedCalls], files: &[FileDiff], schema: &Value) -> Vec<CallJob> {
    let mut jobs = Vec::new();
    for (member, planned) in plans.iter().enumerate() {
        for pass in 1..=team[member].passes {
            for (call, (planned_call, part)) in planned.plan.calls.iter().zip(&planned.prompt.parts).enumerate() {
                let first = planned_call.units.first().map(|unit| FilePath::of_repo_path(files[unit.file].path()));
                let question = Question {
                    system: planned.prompt.system.clone(),
                    shared: planned.prompt.shared.clone(),
                    part: part.clone(),
                    schema: schema.clone(),
                    repair: None,
                };
                let n_tokens = planned_call.tokens + planned.overhead;
                let about = first.map(|path| path.to_string()).unwrap_or_default();
                jobs.push(CallJob { member, pass, call, question, n_tokens, about });
            }
        }
    }
    jobs.sort_by_key(|job| (job.call, job.pass, job.member));
    jobs
}

/// Splits off the jobs beyond the token budget. Plans keep to it by an estimate; near the limit the tokens are counted.
fn within_budget(mut jobs: Vec<CallJob>, limit: usize) -> (Vec<CallJob>, Vec<CallJob>) {
    let estimated: usize = jobs.iter().map(|job| job.n_tokens).sum();
    if estimated < limit / 10 * 9 {
        return (jobs, Vec::new());
    }
    let mut n_tokens = 0;
    for job in &mut jobs {
        let Question { system, shared, part, .. } = &job.question;
        job.n_tokens = [system, shared, part].map(|text| tokens::count(text)).iter().sum();
    }
    jobs.into_iter().partition(|job| {
        let fits = n_tokens + job.n_tokens <= limit;
        n_tokens += if fits { job.n_tokens } else { 0 };
        fits
    })
}

/// Makes all calls and reports their progress.
fn call_all(
    context: &ModelContext<'_>,
    change: &Change,
    team: Vec<PreparedReviewer>,
    jobs: &[CallJob],
    (redactor, n_prior): (&Redactor, usize),
) -> Vec<CallResult> {
    let net = Net::new();
    let budget = &context.settings.budget;
    let names: Vec<String> = team.iter().map(|member| member.name.clone()).collect();
    let mut members = Vec::new();
    for member in team {
        let (forge, head) = (context.forge.clone(), change.head.clone());
        let tree = Box::new(move |into: &std::path::Path| forge.export_after(&head, into));
        let (name, price) = (member.name.clone(), member.price);
        let backend = member.backend(&context.options.recording, &net, tree, context.executable.to_owned());
        members.push(Member { name, backend, price });
    }
    let terms = AskOptions {
        members: &members,
        recording: &context.options.recording,
        redactor,
        deadline: Instant::now() + budget.time,
        idle: budget.idle,
        parallel: budget.parallel,
        usd: budget.usd,
        criteria: context.criteria,
        n_prior,
        cancel: &context.options.cancel,
    };
    let mut tracker = ProgressTracker::default();
    let events = context.events;
    ask::all(jobs, &terms, &mut |sign| tracker.report(sign, jobs, &names, events))
}

/// The change as models saw it, secrets masked.
#[derive(Clone, Copy)]
struct SentChange<'a> {
    files: &'a [FileDiff],
    /// The text and the enclosing definitions of each file.
    known: &'a [Option<plan::FileContext>],
}

/// Collects the answers and verifies their claims against the change.
fn collect(
    results: &mut ModelResults,
    change: SentChange<'_>,
    plans: &[PlannedCalls],
    jobs: &[CallJob],
    done: Vec<CallResult>,
    (names, asking): (&[String], &PromptContext),
) {
    let mut runs: Vec<ReviewerRun> = names.iter().map(|name| ReviewerRun::new(name)).collect();
    let mut said: BTreeMap<(usize, u32), PassClaims> = BTreeMap::new();
    let mut notes: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let mut statements = Statements::default();
    let mut seen = Vec::new();
    for (job, done) in jobs.iter().zip(done) {
        let (name, plan) = (&names[job.member], &plans[job.member].plan);
        let hunks = plan.calls[job.call].hunks();
        let run = &mut runs[job.member];
        run.add(&done);
        let why = match done.outcome {
            Ok(answered) => {
                notes.entry(job.member).or_default().extend(answered.notes);
                statements.add(name, (job.member, job.pass), &answered.answer);
                let asked = &plans[job.member].prompt.asked[job.call];
                let about = statements::about_prior(name, &answered.answer, asked, &asking.prior_keys);
                let is_open = |index: &&usize| {
                    let key = asking.prior_keys.get(**index);
                    about.iter().any(|said| Some(&said.about) == key && said.state == PriorState::Open)
                };
                let open = asked.iter().filter(is_open).filter_map(|index| asking.prior.get(*index));
                let open = open.map(|prior| prior.finding.severity).max();
                results.prior.extend(about);
                let remarks = said.entry((job.member, job.pass)).or_default();
                remarks.answers.push(AnswerInDoubt::of(&answered.answer, open));
                remarks.claims.extend(answered.answer.claims);
                remarks.hunks.extend(&hunks);
                add_around(&mut remarks.around, plan, job.call);
                answered
                    .answer
                    .truncated
                    .then(|| "its answer was cut off; `max_output_tokens` allows longer ones".to_owned())
            }
            Err(why) => {
                let (message, hint) = why.words();
                run.fail(&message, hint);
                run.over_budget |= matches!(why, AskError::OverBudget(_));
                Some(message)
            }
        };
        match why {
            Some(why) => {
                for hunk in hunks {
                    results.missed.entry(hunk).or_insert_with(|| format!("{name}: {why}"));
                }
            }
            None => seen.extend(hunks.into_iter().map(|hunk| (job.member, hunk))),
        }
    }
    (results.stated, results.testimony) = statements.finish();
    for (member, notes) in notes {
        results.notes.extend(cap_notes(&names[member], notes));
    }
    for ((member, pass), remarks) in said {
        remarks.verify(results, change, (&names[member], pass), asking.floor);
    }
    // A hunk can be in several calls; it counts as reviewed when all of them were answered.
    for (member, (file, hunk)) in seen.into_iter().filter(|(_, hunk)| !results.missed.contains_key(hunk)) {
        let places = places(&change.files[file], &change.files[file].hunks[hunk]);
        results.places.entry(names[member].clone()).or_default().extend(places);
    }
    for run in &mut runs {
        results.places.entry(run.name.clone()).or_default();
        run.settle();
    }
    results.runs = runs;
}

/// How many notes on one reviewer's answers are shown; each of its findings can cause one, so the rest is only counted.
const MAX_NOTES: usize = 5;

fn cap_notes(reviewer: &str, notes: BTreeSet<String>) -> Vec<String> {
    let n_more = notes.len().saturating_sub(MAX_NOTES);
    let shown = notes.into_iter().take(MAX_NOTES).map(|note| format!("{reviewer}: {note}"));
    let rest = (n_more > 0).then(|| format!("{reviewer}: {n_more} more of the kind"));
    shown.chain(rest).collect()
}

/// The claims of a reviewer in all calls of a pass, and the lines in its prompts. They are verified together, because a
/// large hunk is in many calls, and indexing it takes longer than searching it.
#[derive(Default)]
struct PassClaims {
    claims: Vec<Claim>,
    /// The rest of each answer; their claims follow one another in `claims`.
    answers: Vec<AnswerInDoubt>,
    hunks: BTreeSet<(usize, usize)>,
    around: HashMap<usize, Vec<(u32, String)>>,
}

impl PassClaims {
    fn verify(
        mut self,
        results: &mut ModelResults,
        change: SentChange<'_>,
        (reviewer, pass): (&str, u32),
        floor: Severity,
    ) {
        for lines in self.around.values_mut() {
            lines.sort();
            lines.dedup();
        }
        let definitions = |file: usize| change.known.get(file)?.as_ref().map(plan::FileContext::definitions);
        let shown = verify::ShownChange {
            files: change.files,
            sent: &|file, hunk| self.hunks.contains(&(file, hunk)),
            around: &|file| self.around.get(&file).map_or(&[][..], Vec::as_slice),
            functions: &|file| definitions(file).unwrap_or_default(),
            reviewer,
        };
        let severities: Vec<Severity> = self.claims.iter().map(|claim| claim.severity).collect();
        let verified = verify::verify(self.claims, &shown);
        let claims: Vec<(Severity, bool)> = severities.into_iter().zip(verified.counts).collect();
        let mut rest = claims.as_slice();
        for answer in self.answers {
            let (own, others) = rest.split_at(answer.n_claims().min(rest.len()));
            results.doubts.extend(answer.doubts(reviewer, own, floor));
            rest = others;
        }
        let passed = |mut finding: Finding| {
            if pass > 1 {
                finding.extra.insert(PASS.to_owned(), pass.into());
            }
            finding
        };
        results.findings.extend(verified.findings.into_iter().map(passed));
        let withheld = verified.withheld.into_iter();
        results
            .withheld
            .extend(withheld.map(|withheld| WithheldFinding { finding: passed(withheld.finding), ..withheld }));
    }
}

/// Adds the context lines around the hunks of a call, by file.
fn add_around(around: &mut HashMap<usize, Vec<(u32, String)>>, plan: &Plan, call: usize) {
    for unit in &plan.calls[call].units {
        for piece in &unit.pieces {
            if let plan::Piece::Around { first_line, text } = piece {
                let number = |index: usize| first_line.saturating_add(u32::try_from(index).unwrap_or(u32::MAX));
                let lines = text.lines().enumerate().map(|(index, line)| (number(index), line.to_owned()));
                around.entry(unit.file).or_default().extend(lines);
            }
        }
    }
}

impl AskError {
    fn words(&self) -> (String, Option<String>) {
        match self {
            Self::Failed(failure) => (failure.message.clone(), failure.hint.clone()),
            Self::NoReview(why) => (format!("it gave no review: {why}"), None),
            Self::OverBudget(why) => (why.clone(), Some("Raise `budget.usd`, or review less at once.".to_owned())),
        }
    }
}

/// Marks the hunks that models missed as not reviewed.
pub(super) fn mark_missed(coverage: &mut Coverage, change: &Change, missed: &BTreeMap<(usize, usize), String>) {
    let mut at = 0;
    for (file_index, file) in change.files.iter().enumerate() {
        for hunk_index in 0..file.hunks.len() {
            let entry = coverage.hunks.get_mut(at + hunk_index);
            if let (Some(covered), Some(why)) = (entry, missed.get(&(file_index, hunk_index)))
                && !matches!(covered.status, HunkStatus::NotReviewed(_))
            {
                covered.status = HunkStatus::NotReviewed(why.clone());
            }
        }
        at += file.hunks.len().max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(call: usize, part: &str, n_tokens: usize) -> CallJob {
        let question = Question {
            system: "s".to_owned(),
            shared: "t".to_owned(),
            part: part.to_owned(),
            schema: serde_json::Value::Null,
            repair: None,
        };
        CallJob { member: 0, pass: 1, call, question, n_tokens, about: String::new() }
    }

    #[test]
    fn notes_on_one_reviewer_are_capped() {
        let notes = |n_notes: usize| (0..n_notes).map(|note| format!("odd {note}")).collect::<BTreeSet<_>>();
        assert_eq!(cap_notes("m", notes(2)), ["m: odd 0", "m: odd 1"]);
        let many = cap_notes("m", notes(2_000));
        assert_eq!((many.len(), many[5].as_str()), (6, "m: 1995 more of the kind"));
    }

    #[test]
    fn jobs_over_the_token_budget_are_left_out_by_exact_count() {
        // Rare characters take far more tokens than the estimate says.
        let odd: String = ('\u{4e00}'..'\u{5200}').collect();
        let jobs = || (0..4).map(|call| job(call, &odd, 300)).collect::<Vec<_>>();
        let exact = tokens::count(&odd) + 2;
        let limit = 3 * exact + exact / 2;
        let (kept, over) = within_budget((0..4).map(|call| job(call, &odd, limit / 4)).collect(), limit);
        assert_eq!((kept.len(), over.len()), (3, 1));
        assert_eq!((kept[0].n_tokens, over[0].call), (exact, 3));
        // Far from the limit tokens are not counted: loading a tokenizer takes longer than planning.
        let (kept, over) = within_budget(jobs(), 100 * exact);
        assert_eq!((kept.len(), over.len(), kept[0].n_tokens), (4, 0, 300));
    }
}
