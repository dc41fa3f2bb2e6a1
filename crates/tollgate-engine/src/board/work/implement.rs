//! Runs an agent that implements a feature, fixes findings, or does a pipeline step.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_core::board::agent_prompt::{self, History, PriorWork, Task};
use tollgate_core::board::feature_event::FeatureEvent;
use tollgate_core::board::machine::{Event, Status};
use tollgate_core::board::{Iteration, document};
use tollgate_core::boundary::Boundary;
use tollgate_core::prompt::ContextFile;
use tollgate_core::sha::Sha;
use tollgate_rules::text::mask::mask;

use super::super::folder::Attachment;
use super::super::{Change, Refused, announce, failure};
use super::{Feature, FeatureJob, branch, model};
use crate::agent::{self, Agent, Implement, ImplementLimits, Implemented};
use crate::call::{CallFailure, FailureCause};
use crate::failure::{Failure, Kind};
use crate::forge::git::Blob;
use crate::forge::local::GUIDANCE;
use crate::forge::project::Project as Repository;
use crate::forge::worktree::{LentGit, MainCheckout, PutBack, Worktree};
use crate::pipeline;
use crate::process;
use crate::process::guard::ProcessMark;
use crate::process::handles;
use crate::reviewer::prepared::{self, ReviewerTransport};
use crate::store::board::{FeatureRow, Field, LeaseAfter};

/// The maximum size of the previous transcript in a prompt.
const MAX_OUTPUT: usize = 16 * 1024;
/// The largest guidance file that is read.
const MAX_GUIDANCE: u64 = 1 << 20;
/// How often output is announced.
const TELL_EVERY: Duration = Duration::from_millis(250);
/// The maximum size of one announcement.
const TELL_BYTES: usize = 8 * 1024;
/// How often a short transcript is written to its file.
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// A longer transcript is written when it has grown by a quarter.
const LONG: usize = 256 * 1024;
/// The maximum size of a transcript.
const MAX_TRANSCRIPT: usize = 50_000_000;

/// Separates the sessions of one iteration in a transcript.
pub(super) const FOLLOW_UP: &str = "\n\n---\n\n## Follow-up Session\n\n";

/// The preparations for an agent.
struct AgentSetup {
    agent: Agent,
    worktree: Worktree,
    target: String,
    base: String,
    /// The guidance files of the project, as of the base.
    context: Vec<ContextFile>,
    /// The images of the description.
    images: Vec<PathBuf>,
    /// Its git directory, in a sandbox that can have one.
    git: Option<LentGit>,
    /// The main checkout before the agent starts; `None` when it cannot be read.
    main: Option<MainCheckout>,
}

/// How an agent left its work tree.
enum Strayed {
    /// The main checkout changed.
    Main(Failure),
    /// The work tree is on another branch.
    Branch(Failure),
}

impl FeatureJob<'_> {
    /// Implements the feature, or fixes its findings.
    pub(super) fn implement(&self) -> Result<(), Refused> {
        let feature = self.feature()?;
        if self.is_over_budget(&feature.row) {
            return self.failed(&feature.row, Event::OverBudget, &over_budget(&feature.row));
        }
        let ready = match self.ready(&feature) {
            Ok(ready) => ready,
            Err(failure) => return self.failed(&feature.row, Event::AgentFailed, &failure),
        };
        let iteration = feature.row.state.iteration;
        let mut change = Change::of(Event::AgentStarted);
        let (name, model) = (ready.agent.name.as_str(), ready.agent.model.as_deref());
        change.first.push(FeatureEvent::AgentStarted { iteration, step: None, agent: name, model });
        change.set.branch = Field::Set(ready.worktree.branch().as_str().to_owned());
        change.set.target = Field::Set(ready.target.clone());
        change.set.base = Field::Set(ready.base.clone());
        change.set.worktree = Field::Set(ready.worktree.path().to_owned());
        change.set.problem = Field::Clear;
        let row = self.happened(&feature.row, LeaseAfter::Keep, change)?.feature;
        let feature = Feature { row, ..feature };
        let (full, short) = self.prompt(&feature, &ready)?;
        let session = short.and_then(|short| Some((self.session(&ready.agent, ready.worktree.path())?, short)));
        let done = self.run_in_session(&feature.row, &ready, &full, session);
        if let Some(session) = done.as_ref().ok().and_then(|done| done.session.as_deref()) {
            self.keep_session(&ready.agent, ready.worktree.path(), session);
        }
        self.agent_ended(&feature.row, &ready, done, (Event::AgentDone, Event::AgentFailed))
    }

    /// Runs a pipeline step after the gate.
    pub(super) fn step(&self) -> Result<(), Refused> {
        let feature = self.feature()?;
        let Status::Step(id) = &feature.row.state.status else { return Ok(()) };
        let Some(step) = self.folder.steps().0.into_iter().find(|step| step.id == *id) else {
            // The step was removed from the configuration.
            return self.happened(&feature.row, LeaseAfter::Release, Change::of(Event::StepDone)).map(drop);
        };
        let ready = match self.ready(&feature) {
            Ok(ready) => ready,
            Err(failure) => return self.failed(&feature.row, Event::StepFailed, &failure),
        };
        let iteration = feature.row.state.iteration;
        let (name, model) = (ready.agent.name.as_str(), ready.agent.model.as_deref());
        let started = FeatureEvent::AgentStarted { iteration, step: Some(id.as_str()), agent: name, model };
        self.announce(&started)?;
        let prompt = self.step_prompt(&feature, &ready, &step)?;
        let (done, _) = self.run_agent(&feature.row, &ready, &prompt, None);
        self.agent_ended(&feature.row, &ready, done, (Event::StepDone, Event::StepFailed))
    }

    fn agent_ended(
        &self,
        row: &FeatureRow,
        ready: &AgentSetup,
        done: Result<Implemented, CallFailure>,
        (event, failed): (Event, Event),
    ) -> Result<(), Refused> {
        process::crash_point("implement-before-transition");
        let iteration = row.state.iteration;
        let strayed = match &done {
            Err(failure) if failure.why == FailureCause::Cancelled => None,
            Ok(_) | Err(_) => self.strayed(row, ready),
        };
        match done {
            Ok(done) if strayed.is_some() => {
                let (event, problem) = match strayed {
                    Some(Strayed::Main(problem)) => (Event::MainChanged, problem),
                    Some(Strayed::Branch(problem)) => (failed, problem),
                    None => return Ok(()),
                };
                let mut change = Change::of(event);
                let error = Some(problem.message.as_str());
                change.first.push(FeatureEvent::AgentFinished { iteration, result: "failed", error });
                change.set.problem = Field::Set(super::in_words(&problem));
                change.set.add_cost_usd = done.cost.unwrap_or_default();
                change.set.add_tokens = done.usage.input.saturating_add(done.usage.output);
                self.happened(row, LeaseAfter::Release, change).map(drop)
            }
            Ok(done) => {
                let mut change = Change::of(event);
                change.first.push(FeatureEvent::AgentFinished { iteration, result: "done", error: None });
                change.set.note = Field::Clear;
                change.set.hook_output = Field::Clear;
                change.set.add_cost_usd = done.cost.unwrap_or_default();
                change.set.add_tokens = done.usage.input.saturating_add(done.usage.output);
                self.happened(row, LeaseAfter::Keep, change)?;
                self.commit()
            }
            Err(failure) if failure.why == FailureCause::Cancelled => {
                // Stopped by a person, in which case this transition is illegal; or by a shutdown.
                let mut change = Change::of(Event::Interrupted);
                change.first.push(FeatureEvent::AgentFinished { iteration, result: "interrupted", error: None });
                self.happened(row, LeaseAfter::Release, change).map(drop)
            }
            // The agent did not start for want of file handles: a person cannot fix it, and a retry may succeed.
            Err(failure) if failure.why == FailureCause::Setup && handles::were_missing(&call_failure(&failure)) => {
                Err(Refused::Failure(call_failure(&failure)))
            }
            Err(failure) => {
                let mut problem = call_failure(&failure);
                if let Some(Strayed::Main(other) | Strayed::Branch(other)) = &strayed {
                    problem.message = format!("{}; and {}", problem.message, other.message);
                }
                let mut change = Change::of(failed);
                let error = Some(problem.message.as_str());
                change.first.push(FeatureEvent::AgentFinished { iteration, result: "failed", error });
                change.set.problem = Field::Set(super::in_words(&problem));
                self.happened(row, LeaseAfter::Release, change).map(drop)
            }
        }
    }

    /// Where the agent left its work tree: it wrote into the main checkout, or switched the branch for another one.
    fn strayed(&self, row: &FeatureRow, ready: &AgentSetup) -> Option<Strayed> {
        let put_back = ready.worktree.put_back(&self.lent());
        let changes = ready.main.as_ref().and_then(|main| main.changes().ok()).unwrap_or_default();
        if !changes.is_empty() {
            return Some(Strayed::Main(failure::main_changed(&self.project.path, &changes)));
        }
        match put_back {
            Ok(PutBack::NotNeeded) => None,
            Ok(PutBack::Done { from }) => {
                let branch = ready.worktree.branch().as_str();
                let note = format!("\n\n[tollgate: the work tree was on {from}; it is on `{branch}` again]\n");
                // The work is complete without the note.
                let _ = self.folder.append(self.id(), Attachment::Output(row.state.iteration), note.as_bytes());
                None
            }
            Err(problem) => Some(Strayed::Branch(problem)),
        }
    }

    /// Prepares the agent and the worktree.
    fn ready(&self, feature: &Feature) -> Result<AgentSetup, Failure> {
        let board = self.board;
        let mut chosen = board.implementer(&self.project)?.ok_or_else(failure::no_agent)?;
        if let Some(wanted) = feature.document.model() {
            model::pass_on(&mut chosen, &wanted)?;
        }
        let variable = |name: &str| std::env::var(name).ok();
        let agent = match prepared::prepare(&chosen, &variable).way {
            ReviewerTransport::Agent(agent) => *agent,
            ReviewerTransport::Service(_) => return Err(failure::not_an_agent(&chosen.name)),
            ReviewerTransport::Unusable(why) => return Err(call_failure(&why)),
        };
        let repository = self.repository()?;
        let row = &feature.row;
        let wanted = board.settings().base.clone().or_else(|| row.target.clone());
        let target = wanted.clone().or_else(|| repository.head_branch());
        let target = target.ok_or_else(|| failure::no_target(&self.project.path, None))?;
        let base = match &row.base {
            Some(base) => base.clone(),
            None => match repository.resolve(&target)? {
                Some(commit) => commit.as_str().to_owned(),
                // The repository has no commits: the feature is the first.
                None if wanted.is_none() => String::new(),
                None => return Err(failure::no_target(&self.project.path, Some(&target))),
            },
        };
        let branch = branch(row)?;
        let worktree = repository.ensure_worktree(&branch, &base, self.id())?;
        worktree.verify()?;
        self.recover_commits(&worktree)?;
        let git = if agent.has_mounts() { Some(worktree.lend(&self.lent())?) } else { None };
        // The check enriches; an agent works also where it cannot be made.
        let main = MainCheckout::look(&repository, &board.settings().pipeline.dir).ok();
        let context = self.context(&repository, &base);
        let images = feature.document.image_paths();
        let images = images.iter().map(|path| self.project.path.join(path)).filter(|path| path.is_file()).collect();
        Ok(AgentSetup { agent, worktree, target, base, context, images, git, main })
    }

    /// The guidance files of the project, as reviewers get them: of the base, so that a feature cannot change them.
    fn context(&self, repository: &Repository, base: &str) -> Vec<ContextFile> {
        let base = Sha::parse(base).ok();
        let guidance = GUIDANCE.iter().filter_map(|name| {
            // Without its guidance the agent still has its task.
            match repository.blob(base.as_ref()?, name, MAX_GUIDANCE) {
                Ok(Blob::Whole(text)) => Some(((*name).to_owned(), text)),
                Ok(Blob::Missing | Blob::TooLarge(_)) | Err(_) => None,
            }
        });
        let board = self.project.path.join(&self.board.settings().pipeline.dir);
        let files = guidance.chain(pipeline::board_context(&board));
        files
            .map(|(name, text)| ContextFile { name, text: mask(&String::from_utf8_lossy(&text)).into_owned() })
            .collect()
    }

    /// The prompt for a new session, and a shorter one for the session of the last iteration.
    fn prompt(&self, feature: &Feature, ready: &AgentSetup) -> Result<(String, Option<String>), Refused> {
        let images: Vec<String> = ready.images.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let row = &feature.row;
        let criteria = feature.criteria();
        let boundary = boundary();
        let (title, description) = (feature.title(), feature.document.description());
        let spec = feature.document.spec().unwrap_or_default();
        let task = Task {
            title: &title,
            description: &description,
            spec: &spec,
            criteria: &criteria,
            context: &ready.context,
            images: &images,
            note: row.note.as_deref(),
            hook: row.hook_output.as_deref(),
            prior_work: if row.state.restarts > 0 { PriorWork::Interrupted } else { PriorWork::Nothing },
            boundary: &boundary,
        };
        let reviews: Vec<Iteration> =
            self.board.standing_iterations(self.project.id, self.id())?.into_iter().map(|row| row.iteration).collect();
        if reviews.is_empty() {
            return Ok((agent_prompt::implement(&task), None));
        }
        let output = self.last_output(row.state.iteration.saturating_sub(1))?;
        let full = agent_prompt::fix(&task, &History { reviews: &reviews, agent_output: &output });
        // Its session holds the guidance and its own output.
        let known = Task { context: &[], ..task };
        let short = agent_prompt::fix(&known, &History { reviews: &reviews, agent_output: "" });
        Ok((full, Some(short)))
    }

    fn step_prompt(&self, feature: &Feature, ready: &AgentSetup, step: &document::Step) -> Result<String, Refused> {
        let boundary = boundary();
        let images: Vec<String> = ready.images.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let (title, description) = (feature.title(), feature.document.description());
        let task = Task {
            title: &title,
            description: &description,
            spec: &feature.document.spec().unwrap_or_default(),
            criteria: &[],
            context: &ready.context,
            images: &images,
            note: feature.row.note.as_deref(),
            hook: None,
            prior_work: if feature.row.state.restarts > 0 { PriorWork::Interrupted } else { PriorWork::Nothing },
            boundary: &boundary,
        };
        let output = self.last_output(feature.row.state.iteration)?;
        Ok(agent_prompt::step(&task, &step.name, &step.instructions, &output))
    }

    /// The end of the transcript of an iteration.
    fn last_output(&self, iteration: u32) -> Result<String, Refused> {
        let bytes = self.folder.tail(self.id(), Attachment::Output(iteration), MAX_OUTPUT)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Continues the agent's session with the shorter prompt. An agent that cannot and says nothing starts a new one.
    fn run_in_session(
        &self,
        row: &FeatureRow,
        ready: &AgentSetup,
        full: &str,
        session: Option<(String, String)>,
    ) -> Result<Implemented, CallFailure> {
        if let Some((session, short)) = session {
            let (done, has_spoken) = self.run_agent(row, ready, &short, Some(&session));
            let is_over = done.as_ref().is_err_and(|failure| failure.why == FailureCause::Cancelled);
            if done.is_ok() || has_spoken || is_over {
                return done;
            }
            self.forget_session();
        }
        self.run_agent(row, ready, full, None).0
    }

    /// Runs the agent, and announces and stores its output. Also returns whether there was any.
    fn run_agent(
        &self,
        row: &FeatureRow,
        ready: &AgentSetup,
        prompt: &str,
        session: Option<&str>,
    ) -> (Result<Implemented, CallFailure>, bool) {
        let has_spoken = AtomicBool::new(false);
        let pipeline = &self.board.settings().pipeline;
        let transcript = Mutex::new(Transcript::new(self, row.state.iteration));
        let cancel = self.cancel.child_token();
        let state = self.agent_state();
        let job = Implement {
            agent: &ready.agent,
            folder: ready.worktree.path(),
            prompt,
            session,
            images: &ready.images,
            binds: ready.git.as_ref().map(LentGit::binds).unwrap_or_default(),
            state: Some(&state),
            limits: ImplementLimits {
                wall: pipeline.time,
                idle: pipeline.idle,
                output_bytes: MAX_TRANSCRIPT,
                ..ImplementLimits::default()
            },
            executable: &self.board.home().executable,
            cancel: &cancel,
            started: &|mark| self.record(mark, &cancel),
            heard: &|spoken| {
                has_spoken.store(true, Ordering::Relaxed);
                lock(&transcript).take(spoken.text());
            },
            noted: &|note| lock(&transcript).take(note),
        };
        let (over, ended) = mpsc::channel::<()>();
        let done = std::thread::scope(|scope| {
            // The last output is announced even if the agent stays silent afterwards.
            let heard = &transcript;
            let tell = move || {
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(TELL_EVERY) {
                    lock(heard).look();
                }
            };
            let _ = std::thread::Builder::new().name("board-transcript".to_owned()).spawn_scoped(scope, tell);
            let done = agent::implement(&job);
            drop(over);
            done
        });
        lock(&transcript).finish();
        self.forget();
        (done, has_spoken.load(Ordering::Relaxed))
    }

    /// The folder of the git directory that the agent works with. Each lease has its own, so that a worker that lost its
    /// lease does not touch that of its successor.
    fn lent(&self) -> PathBuf {
        self.board.scratch(self.project.id, self.id()).join("lent").join(self.claim.token.0.to_string())
    }

    /// Takes over the commits of runs that were killed; their processes have ended.
    fn recover_commits(&self, worktree: &Worktree) -> Result<(), Failure> {
        let folder = self.board.scratch(self.project.id, self.id()).join("lent");
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            worktree.put_back(&entry.path())?;
            // One that is not empty is lent again by this attempt, or is harmless.
            let _ = std::fs::remove_dir(entry.path());
        }
        Ok(())
    }

    /// The folder in which the agents of the project keep their sessions and caches between runs.
    pub(super) fn agent_state(&self) -> PathBuf {
        self.board.home().data.join("agents").join(self.project.id.to_string())
    }

    /// Stores the identity of a process before it starts. If that fails, the process is cancelled.
    pub(super) fn record(&self, mark: &ProcessMark, cancel: &CancellationToken) {
        let stored = self.board.database().record_process(self.claim.token, &mark.to_json().to_string());
        if !stored.is_ok_and(|is_ours| is_ours) {
            cancel.cancel();
        }
    }

    /// Clears the identity of a process that has ended.
    pub(super) fn forget(&self) {
        // A stale identity does no harm.
        let _ = self.board.database().forget_process(self.claim.token);
    }

    pub(super) fn announce(&self, announced: &FeatureEvent<'_>) -> Result<(), Failure> {
        let path = self.project.path.to_string_lossy();
        let event = announce::event(self.project.id, &path, self.id(), announced);
        self.board.database().announce(event, self.board.now()).map(drop)
    }

    pub(super) fn is_over_budget(&self, row: &FeatureRow) -> bool {
        self.board.settings().pipeline.usd.is_some_and(|most| row.cost_usd >= most)
    }
}

/// The transcript of an agent: announced as it grows, and written into the feature's folder.
struct Transcript<'a> {
    job: &'a FeatureJob<'a>,
    iteration: u32,
    text: String,
    told: usize,
    told_at: Instant,
    /// The size at the last write: the file is rewritten each time it has grown by a quarter.
    written: usize,
    written_at: Instant,
}

impl<'a> Transcript<'a> {
    fn new(job: &'a FeatureJob<'a>, iteration: u32) -> Self {
        // Output before an interruption is kept.
        let before = job.folder.head(job.id(), Attachment::Output(iteration), MAX_TRANSCRIPT);
        let mut text =
            before.ok().flatten().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        if !text.is_empty() {
            text.push_str(FOLLOW_UP);
        }
        let told = text.len();
        Self { job, iteration, text, told, told_at: Instant::now(), written: 0, written_at: Instant::now() }
    }

    fn take(&mut self, said: &str) {
        let said = mask(said);
        if self.text.len() + said.len() <= MAX_TRANSCRIPT {
            self.text.push_str(&said);
        }
        if self.told_at.elapsed() >= TELL_EVERY {
            self.tell();
        }
        if self.text.len() > self.written + self.written / 4 + 4096 {
            self.write();
        }
    }

    /// Announces and writes pending output.
    fn look(&mut self) {
        self.tell();
        let is_due = self.text.len() <= LONG && self.written_at.elapsed() >= WRITE_EVERY;
        if is_due && self.text.len() > self.written {
            self.write();
        }
    }

    fn tell(&mut self) {
        self.told_at = Instant::now();
        while self.told < self.text.len() {
            let end = self.text.floor_char_boundary(self.told + TELL_BYTES);
            let text = &self.text[self.told..end];
            let offset = self.told as u64;
            // A client that misses an event finds the output in the file.
            let _ = self.job.announce(&FeatureEvent::AgentOutput { iteration: self.iteration, offset, text });
            self.told = end;
        }
    }

    fn write(&mut self) {
        self.written = self.text.len();
        self.written_at = Instant::now();
        process::crash_point("implement-before-output");
        for what in [Attachment::Output(self.iteration), Attachment::LastOutput] {
            // A later write may succeed.
            let _ = self.job.folder.write(self.job.id(), what, self.text.as_bytes());
        }
    }

    fn finish(&mut self) {
        self.tell();
        self.write();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(in crate::board) fn boundary() -> Boundary {
    Boundary::new(RandomState::new().build_hasher().finish().to_be_bytes())
}

/// Converts a failed call.
pub(super) fn call_failure(call: &CallFailure) -> Failure {
    let kind = if call.why == FailureCause::Setup { Kind::Config } else { Kind::External };
    Failure { kind, message: call.message.clone(), hint: call.hint.clone() }
}

pub(super) fn over_budget(row: &FeatureRow) -> Failure {
    Failure::new(Kind::User, format!("it has cost ${:.2}, which is what it may", row.cost_usd))
        .hint("Raise `pipeline.usd` and resume it, or approve it by hand.")
}
