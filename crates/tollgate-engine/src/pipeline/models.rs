//! What models and agents say of a change.
//!
//! The hunks they have not seen are planned into calls, asked about, and what comes back is held against the change.
//! A hunk whose call brought no whole answer is *not reviewed*: silence is never taken for consent. Everything that is
//! sent, kept or shown has its secrets masked first, by looking only at the masked change from here on.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tollgate_core::answer::Claim;
use tollgate_core::board::Criterion;
use tollgate_core::change::Change;
use tollgate_core::coverage::{Coverage, HunkStatus};
use tollgate_core::diff::{FileDiff, Hunk};
use tollgate_core::finding::{Finding, LineRange, Location, Side};
use tollgate_core::merge::PASS;
use tollgate_core::path::FilePath;
use tollgate_core::plan::{self, Plan};
use tollgate_core::policy::Policy;
use tollgate_core::prompt::ContextFile;
use tollgate_core::review::WithheldFinding;
use tollgate_core::verify::{self, CriteriaAnswers, Weight};

use super::Event;
use super::since::Last;
use crate::config::Settings;
use crate::failure::{self, Failure};
use crate::forge::local::Local;
use crate::held::Held;
use crate::reviewer::ask::{self, Done, Job, Member, NotSaid, Terms};
use crate::reviewer::call::Question;
use crate::reviewer::prompts::Prompts;
use crate::reviewer::provider::Net;
use crate::reviewer::tape::Tape;
use crate::reviewer::team::{self, Prepared};
use crate::reviewer::tokens;

mod ahead;
mod background;
mod fixes;
mod material;
mod run;
mod statements;
mod telling;

use ahead::Ahead;
use background::Background;
use material::{Material, Planned};
pub use run::Run;
pub use statements::Stated;
use statements::Statements;
use telling::Telling;

/// How models and agents are asked.
pub struct Asking<'a> {
    /// Whether exchanges are kept or played again.
    pub tape: Tape,
    /// What the boundary around untrusted text is made of; nobody can know it beforehand.
    pub boundary: u64,
    /// True to plan and write what would be sent, and to send nothing.
    pub only_print: bool,
    /// Why nobody is asked; what they would have been asked about is then *not reviewed*.
    pub unasked: Option<String>,
    /// The operator's file with prompts.
    pub prompts: Option<PathBuf>,
    /// Prompts to use instead of all that are stored, to see what would become of them.
    pub instead: Option<Prompts>,
    /// The folder of the project's board, when one asks: its prompts and its context go before those of the base.
    pub board: Option<PathBuf>,
    /// Looks up the environment, for keys.
    pub variable: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// Stops the asking.
    pub cancel: CancellationToken,
}

impl Asking<'static> {
    /// For reviews without models.
    #[must_use]
    pub fn nobody() -> Self {
        let cancel = CancellationToken::new();
        Self {
            tape: Tape::Off,
            boundary: 0,
            only_print: false,
            unasked: None,
            prompts: None,
            instead: None,
            board: None,
            variable: &|_| None,
            cancel,
        }
    }
}

/// What is sent in one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// To whom.
    pub reviewer: String,
    /// Which call it is, from 1.
    pub call: usize,
    /// How many there are.
    pub n_calls: usize,
    /// About how many tokens it is.
    pub n_tokens: usize,
    /// Who the model is to be.
    pub system: String,
    /// What all calls have in common.
    pub shared: String,
    /// What differs.
    pub part: String,
}

/// What models and agents said.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    pub(super) findings: Vec<Finding>,
    pub(super) withheld: Vec<WithheldFinding>,
    pub(super) notes: Vec<String>,
    /// Hunks that should have been looked at and were not, by file and hunk, and why.
    pub(super) missed: BTreeMap<(usize, usize), String>,
    /// What each of them looked at.
    pub(super) places: HashMap<String, Vec<Location>>,
    pub(super) runs: Vec<Run>,
    /// What they said of passing.
    pub(super) stated: Vec<Stated>,
    /// What they said of acceptance criteria.
    pub(super) testimony: Vec<CriteriaAnswers>,
    pub(super) sent: Vec<Sent>,
}

/// What they are told beside the change.
pub(super) struct Told<'a> {
    /// The first lines of the commits.
    pub(super) subjects: &'a [String],
    pub(super) policy: &'a Policy,
    pub(super) last: Option<&'a Last>,
    /// True when only what the last review has not seen is looked at.
    pub(super) only_fresh: bool,
}

/// What asking needs of the world, while the rules have the rest of it.
pub(super) struct Scene<'a> {
    pub(super) settings: &'a Settings,
    pub(super) forge: &'a Local,
    pub(super) executable: &'a Path,
    pub(super) title: Option<&'a str>,
    pub(super) body: Option<&'a str>,
    pub(super) spec: Option<&'a str>,
    pub(super) criteria: &'a [Criterion],
    /// What of an answer keeps the change from passing.
    pub(super) weight: Weight,
    pub(super) asking: &'a Asking<'a>,
    pub(super) events: &'a (dyn Fn(Event<'_>) + Sync),
}

/// Models and agents, asked or about to be.
pub(super) enum Begun {
    /// They answered.
    Heard(Box<Hearing>),
    /// What they are asked first depends on what the rules find.
    Waiting(Box<Ready>),
}

/// Makes everything ready and asks all models and agents that are chosen, unless that has to wait for the rules.
///
/// What rules find is looked at first. When all of the change fits into the budget the order is all the same.
pub(super) fn begin(scene: &Scene<'_>, change: &Change, told: &Told<'_>, at_once: bool) -> Result<Begun, Failure> {
    let ready = Ready::gather(scene, change, told)?;
    let plans = ready.plan(scene, told, &[]);
    if at_once && plans.iter().all(|planned| planned.plan.left_out.is_empty()) {
        return Ok(Begun::Heard(Box::new(ready.ask(scene, change, &plans))));
    }
    Ok(Begun::Waiting(Box::new(ready)))
}

/// What would be sent, as far as the rules do not say what is looked at first, with the files of the project in it.
pub(super) fn preview(
    scene: &Scene<'_>,
    change: &Change,
    told: &Told<'_>,
) -> Result<(Hearing, Vec<ContextFile>), Failure> {
    let mut ready = Ready::gather(scene, change, told)?;
    let plans = ready.plan(scene, told, &[]);
    let context = std::mem::take(&mut ready.background.context);
    Ok((ready.ask(scene, change, &plans), context))
}

impl Begun {
    /// Asks those who are not asked yet, by what the rules found.
    pub(super) fn finish(self, scene: &Scene<'_>, change: &Change, told: &Told<'_>, findings: &[Finding]) -> Hearing {
        match self {
            Self::Heard(heard) => *heard,
            Self::Waiting(ready) => {
                let plans = ready.plan(scene, told, findings);
                ready.ask(scene, change, &plans)
            }
        }
    }
}

/// Everything that models and agents are asked by.
pub(super) struct Ready {
    team: Vec<Prepared>,
    held: Held,
    background: Background,
    ahead: Ahead,
    notes: Vec<String>,
}

impl Ready {
    fn gather(scene: &Scene<'_>, change: &Change, told: &Told<'_>) -> Result<Self, Failure> {
        let settings = scene.settings;
        let team: Vec<Prepared> =
            settings.reviewers.iter().map(|chosen| team::prepare(chosen, scene.asking.variable)).collect();
        check_prices(&team, settings)?;
        let mut notes = Vec::new();
        let mut ahead = ahead::look_ahead(scene, change);
        let background = Background::gather(scene, change, told, &mut ahead, &mut notes);
        let held = Held::new(team.iter().flat_map(|member| member.keys.iter().cloned()).collect());
        Ok(Self { team, held, background, ahead, notes })
    }

    fn plan(&self, scene: &Scene<'_>, told: &Told<'_>, findings: &[Finding]) -> Vec<Planned> {
        let Ahead { files, analysis, skipped, known, .. } = &self.ahead;
        let settings = scene.settings;
        let material = Material { files, analysis, known, skipped, findings, told, settings };
        self.team.iter().map(|member| material.plan(member, &self.team, &self.background, &self.held)).collect()
    }

    fn ask(self, scene: &Scene<'_>, change: &Change, plans: &[Planned]) -> Hearing {
        let Self { team, held, notes, background, ahead: Ahead { files, .. } } = self;
        let mut heard = Hearing { notes, ..Hearing::default() };
        for (member, planned) in team.iter().zip(plans) {
            let problems = planned.prompt.problems.iter();
            heard.notes.extend(problems.map(|problem| format!("the prompt's template: {problem}")));
            heard.sent.extend(planned.sent(&member.name));
            for left in &planned.plan.left_out {
                heard.missed.entry((left.file, left.hunk)).or_insert_with(|| format!("{}: {}", member.name, left.why));
            }
        }
        heard.notes.sort();
        heard.notes.dedup();
        if scene.asking.only_print {
            for sent in &mut heard.sent {
                sent.n_tokens = [&sent.system, &sent.shared, &sent.part].map(|text| tokens::count(text)).iter().sum();
            }
            return heard;
        }
        if let Some(why) = &scene.asking.unasked {
            for (member, planned) in team.iter().zip(plans) {
                for hunk in planned.plan.calls.iter().flat_map(plan::Call::hunks) {
                    heard.missed.entry(hunk).or_insert_with(|| format!("{}: {why}", member.name));
                }
            }
            heard.sent.clear();
            return heard;
        }
        let names: Vec<String> = team.iter().map(|member| member.name.clone()).collect();
        let limit = scene.settings.budget.tokens;
        let (jobs, over) = within_budget(jobs(&team, plans, &files, &background.schema), limit);
        for job in over {
            for hunk in plans[job.member].plan.calls[job.call].hunks() {
                let why = || format!("{}: over the budget of {limit} tokens", names[job.member]);
                heard.missed.entry(hunk).or_insert_with(why);
            }
        }
        let done = put(scene, change, team, &jobs, &held);
        take(&mut heard, &files, plans, &jobs, done, &names);
        fixes::check(scene, change, &files, &mut heard.findings);
        heard
    }
}

/// Refuses to keep to a budget of money for somebody whose price is not known.
fn check_prices(team: &[Prepared], settings: &Settings) -> Result<(), Failure> {
    match team.iter().find(|member| member.price.is_none()) {
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

/// One job for each call and pass, calls with more risk first whoever is asked.
fn jobs(team: &[Prepared], plans: &[Planned], files: &[FileDiff], schema: &Value) -> Vec<Job> {
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
                jobs.push(Job { member, pass, call, question, n_tokens, about });
            }
        }
    }
    jobs.sort_by_key(|job| (job.call, job.pass, job.member));
    jobs
}

/// Leaves out the jobs that are over the budget of tokens. Plans keep to it by an estimate; near the limit it is counted.
fn within_budget(mut jobs: Vec<Job>, limit: usize) -> (Vec<Job>, Vec<Job>) {
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

/// Asks, and tells how it goes.
fn put(scene: &Scene<'_>, change: &Change, team: Vec<Prepared>, jobs: &[Job], held: &Held) -> Vec<Done> {
    let net = Net::new();
    let budget = &scene.settings.budget;
    let names: Vec<String> = team.iter().map(|member| member.name.clone()).collect();
    let mut members = Vec::new();
    for member in team {
        let (forge, head) = (scene.forge.clone(), change.head.clone());
        let tree = Box::new(move |into: &std::path::Path| forge.copy_after(&head, into));
        let (name, price) = (member.name.clone(), member.price);
        let backend = member.backend(&scene.asking.tape, &net, tree, scene.executable.to_owned());
        members.push(Member { name, backend, price });
    }
    let terms = Terms {
        members: &members,
        tape: &scene.asking.tape,
        held,
        deadline: Instant::now() + budget.time,
        idle: budget.idle,
        parallel: budget.parallel,
        usd: budget.usd,
        weight: scene.weight,
        criteria: scene.criteria,
        cancel: &scene.asking.cancel,
    };
    let mut telling = Telling::default();
    let events = scene.events;
    ask::all(jobs, &terms, &mut |sign| telling.tell(sign, jobs, &names, events))
}

/// Takes what was said, after holding it against the change.
fn take(heard: &mut Hearing, files: &[FileDiff], plans: &[Planned], jobs: &[Job], done: Vec<Done>, names: &[String]) {
    let mut runs: Vec<Run> = names.iter().map(|name| Run::new(name)).collect();
    let mut said: BTreeMap<(usize, u32), Remarks> = BTreeMap::new();
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
                statements.hear(name, (job.member, job.pass), &answered.answer);
                let remarks = said.entry((job.member, job.pass)).or_default();
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
                Some(message)
            }
        };
        match why {
            Some(why) => {
                for hunk in hunks {
                    heard.missed.entry(hunk).or_insert_with(|| format!("{name}: {why}"));
                }
            }
            None => seen.extend(hunks.into_iter().map(|hunk| (job.member, hunk))),
        }
    }
    (heard.stated, heard.testimony) = statements.finish();
    for (member, notes) in notes {
        heard.notes.extend(few(&names[member], notes));
    }
    for ((member, pass), remarks) in said {
        remarks.verify(heard, files, &names[member], pass);
    }
    // A hunk can be in several calls; it was looked at when all of them were answered.
    for (member, (file, hunk)) in seen.into_iter().filter(|(_, hunk)| !heard.missed.contains_key(hunk)) {
        let places = places(&files[file], &files[file].hunks[hunk]);
        heard.places.entry(names[member].clone()).or_default().extend(places);
    }
    for run in &mut runs {
        heard.places.entry(run.name.clone()).or_default();
        run.settle();
    }
    heard.runs = runs;
}

/// What is odd about a reviewer's answers is said so often, and then only counted: each of its findings can be odd.
const MAX_NOTES: usize = 5;

fn few(reviewer: &str, notes: BTreeSet<String>) -> Vec<String> {
    let n_more = notes.len().saturating_sub(MAX_NOTES);
    let shown = notes.into_iter().take(MAX_NOTES).map(|note| format!("{reviewer}: {note}"));
    let rest = (n_more > 0).then(|| format!("{reviewer}: {n_more} more of the kind"));
    shown.chain(rest).collect()
}

/// What a reviewer remarked in all calls of a pass, and what it was shown. All at once, because a large hunk is in many
/// calls, and making it ready to be searched takes longer than searching it.
#[derive(Default)]
struct Remarks {
    claims: Vec<Claim>,
    hunks: BTreeSet<(usize, usize)>,
    around: HashMap<usize, Vec<(u32, String)>>,
}

impl Remarks {
    fn verify(mut self, heard: &mut Hearing, files: &[FileDiff], reviewer: &str, pass: u32) {
        for lines in self.around.values_mut() {
            lines.sort();
            lines.dedup();
        }
        let shown = verify::ShownChange {
            files,
            sent: &|file, hunk| self.hunks.contains(&(file, hunk)),
            around: &|file| self.around.get(&file).map_or(&[][..], Vec::as_slice),
            reviewer,
        };
        let verified = verify::verify(self.claims, &shown);
        let passed = |mut finding: Finding| {
            if pass > 1 {
                finding.extra.insert(PASS.to_owned(), pass.into());
            }
            finding
        };
        heard.findings.extend(verified.findings.into_iter().map(passed));
        let withheld = verified.withheld.into_iter();
        heard.withheld.extend(withheld.map(|held| WithheldFinding { finding: passed(held.finding), ..held }));
    }
}

/// Adds the lines that were shown around the hunks of a call, by file.
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

impl NotSaid {
    fn words(&self) -> (String, Option<String>) {
        match self {
            Self::Failed(failure) => (failure.message.clone(), failure.hint.clone()),
            Self::NoReview(why) => (format!("it gave no review: {why}"), None),
            Self::OverBudget(why) => (why.clone(), Some("Raise `budget.usd`, or review less at once.".to_owned())),
        }
    }
}

/// Enters what models missed into what was looked at.
pub(super) fn enter(coverage: &mut Coverage, change: &Change, missed: &BTreeMap<(usize, usize), String>) {
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

    fn job(call: usize, part: &str, n_tokens: usize) -> Job {
        let question = Question {
            system: "s".to_owned(),
            shared: "t".to_owned(),
            part: part.to_owned(),
            schema: serde_json::Value::Null,
            repair: None,
        };
        Job { member: 0, pass: 1, call, question, n_tokens, about: String::new() }
    }

    #[test]
    fn a_reviewer_whose_every_finding_is_odd_is_heard_of_in_a_few_lines() {
        let notes = |n_notes: usize| (0..n_notes).map(|note| format!("odd {note}")).collect::<BTreeSet<_>>();
        assert_eq!(few("m", notes(2)), ["m: odd 0", "m: odd 1"]);
        let many = few("m", notes(2_000));
        assert_eq!((many.len(), many[5].as_str()), (6, "m: 1995 more of the kind"));
    }

    #[test]
    fn near_the_budget_tokens_are_counted_and_what_is_over_it_is_left_out() {
        // Estimated far too low, which happens with text that nobody writes.
        let odd: String = ('\u{4e00}'..'\u{5200}').collect();
        let jobs = || (0..4).map(|call| job(call, &odd, 300)).collect::<Vec<_>>();
        let exact = tokens::count(&odd) + 2;
        let limit = 3 * exact + exact / 2;
        let (kept, over) = within_budget((0..4).map(|call| job(call, &odd, limit / 4)).collect(), limit);
        assert_eq!((kept.len(), over.len()), (3, 1));
        assert_eq!((kept[0].n_tokens, over[0].call), (exact, 3));
        // Far from it nobody counts: loading a tokenizer takes longer than planning.
        let (kept, over) = within_budget(jobs(), 100 * exact);
        assert_eq!((kept.len(), over.len(), kept[0].n_tokens), (4, 0, 300));
    }
}
