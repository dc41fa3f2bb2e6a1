//! Scanning children: started when needed, limited, replaced when they fail.
//!
//! Each child has a thread here that gives it one file after the other and
//! waits for the answer, at most so long. A child that stalls, dies or talks
//! nonsense is killed; its file is *not reviewed*, with the reason, and the
//! next file gets a new child.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tollgate_core::change::{Change, Content};
use tollgate_rules::hit::Hit;
use tollgate_rules::user::{RuleSource, UserRuleInfo};
use tollgate_rules::worker::{Answer, Request};

use super::ReadContent;
use super::job::{Job, Planned};
use super::parent::{Child, UNREADABLE};
use crate::config::Limits;
use crate::failure::{self, Failure};

/// So many files, or added lines, are worth another process.
const FILES_PER_CHILD: usize = 16;
const LINES_PER_CHILD: usize = 4_000;
/// When so many files were lost, the change is made to be slow, and the rest is not tried.
const MAX_LOST: usize = 20;

/// What became of a file: what the rules said, or why they could not.
type Scanned = (usize, Result<Vec<Hit>, String>);

/// The children and how to get more.
#[derive(Debug)]
pub(super) struct Pool {
    starter: Starter,
    /// A child that already knows the user's rules.
    spare: Option<Child>,
}

/// What it takes to start a child.
#[derive(Debug)]
struct Starter {
    executable: PathBuf,
    limits: Limits,
    sources: Vec<RuleSource>,
}

impl Pool {
    pub(super) fn new(executable: &Path, limits: Limits) -> Self {
        let starter = Starter { executable: executable.to_owned(), limits, sources: Vec::new() };
        Self { starter, spare: None }
    }

    /// Takes the user's rules; a rule that cannot be used is the user's to mend.
    pub(super) fn use_rules(&mut self, sources: Vec<RuleSource>) -> Result<Vec<UserRuleInfo>, Failure> {
        if sources.is_empty() {
            return Ok(Vec::new());
        }
        let mut child = self.starter.start()?;
        let request = Request::UseRules(sources.clone());
        self.starter.sources = sources;
        let folder = ".tollgate/rules";
        match child.ask(request, Vec::new(), self.starter.limits) {
            Ok(Answer::Rules { rules, bad }) => {
                if let Some(first) = bad.first() {
                    return Err(failure::bad_rule(&first.path, &first.problem));
                }
                self.spare = Some(child);
                Ok(rules)
            }
            Ok(Answer::Scanned(_)) => Err(failure::bad_rule(folder, "the rules were not understood")),
            Err(reason) => Err(failure::bad_rule(folder, &format!("reading the rules failed: {reason}"))),
        }
    }

    /// Scans the files and gives back what became of each, in their order.
    pub(super) fn run(
        &mut self,
        change: &Change,
        planned: &[Planned],
        read: &mut ReadContent<'_>,
        progress: &dyn Fn(usize, usize),
    ) -> Result<Vec<Scanned>, Failure> {
        if planned.is_empty() {
            return Ok(Vec::new());
        }
        let mut first = match self.spare.take() {
            Some(child) => Some(child),
            None => Some(self.starter.start()?),
        };
        let n_children = self.starter.n_children(change, planned);
        // A short queue, since each job holds the text of a file.
        let (jobs, queue) = mpsc::sync_channel::<Job>(n_children);
        let (results, done) = mpsc::channel::<Scanned>();
        let (queue, n_lost) = (Mutex::new(queue), AtomicUsize::new(0));
        let starter = &self.starter;
        let mut scanned = Vec::with_capacity(planned.len());
        let mut finish = |result: Scanned| {
            scanned.push(result);
            progress(scanned.len(), planned.len());
        };
        thread::scope(|scope| {
            for _ in 0..n_children {
                let (results, child, queue, n_lost) = (results.clone(), first.take(), &queue, &n_lost);
                scope.spawn(move || starter.work(child, queue, &results, n_lost));
            }
            drop(results);
            // Moved in, so that the queue ends and with it the threads, also on a failure.
            starter.hand_out(change, planned, read, jobs, &mut |result| finish(result), &done)?;
            done.iter().for_each(&mut finish);
            Ok(())
        })?;
        scanned.sort_by_key(|(index, _)| *index);
        Ok(scanned)
    }
}

impl Starter {
    /// Reads file after file and hands it out.
    fn hand_out(
        &self,
        change: &Change,
        planned: &[Planned],
        read: &mut ReadContent<'_>,
        jobs: SyncSender<Job>,
        finish: &mut dyn FnMut(Scanned),
        done: &Receiver<Scanned>,
    ) -> Result<(), Failure> {
        for plan in planned {
            let file = &change.files[plan.index];
            match read(file, self.limits.file_bytes)? {
                Content::TooLarge(_) => {
                    finish((plan.index, Err(format!("larger than {}", bytes(self.limits.file_bytes)))));
                }
                content => {
                    // Cannot fail: the threads take jobs until this end is dropped.
                    let _ = jobs.send(plan.with_content(file, content));
                }
            }
            done.try_iter().for_each(&mut *finish);
        }
        Ok(())
    }

    /// Gives one child after the other the files of the queue.
    fn work(
        &self,
        first: Option<Child>,
        queue: &Mutex<Receiver<Job>>,
        results: &Sender<Scanned>,
        n_lost: &AtomicUsize,
    ) {
        let mut child = first;
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = next else {
                return;
            };
            let index = job.index;
            let scanned = if n_lost.load(Ordering::Relaxed) < MAX_LOST {
                self.scan(&mut child, job)
            } else {
                Err(format!("{MAX_LOST} other files stalled or crashed the scanner"))
            };
            if scanned.is_err() {
                n_lost.fetch_add(1, Ordering::Relaxed);
            }
            if results.send((index, scanned)).is_err() {
                return;
            }
        }
    }

    /// Scans one file; a child that fails is gone afterwards.
    fn scan(&self, slot: &mut Option<Child>, job: Job) -> Result<Vec<Hit>, String> {
        let mut hits = Vec::new();
        for (scan, text) in job.parts {
            let mut child = match slot.take() {
                Some(child) => child,
                None => self.start_with_rules()?,
            };
            match child.ask(Request::Scan(scan), text, self.limits)? {
                Answer::Scanned(found) => hits.extend(found),
                Answer::Rules { .. } => return Err(UNREADABLE.to_owned()),
            }
            *slot = Some(child);
        }
        Ok(hits)
    }

    fn start(&self) -> Result<Child, Failure> {
        Child::start(&self.executable, self.limits).map_err(|error| failure::no_scanner(&self.executable, &error))
    }

    fn start_with_rules(&self) -> Result<Child, String> {
        let mut child = self.start().map_err(|failure| failure.message)?;
        if !self.sources.is_empty() {
            child.ask(Request::UseRules(self.sources.clone()), Vec::new(), self.limits)?;
        }
        Ok(child)
    }

    /// Not more children than cores, nor than the work is worth.
    fn n_children(&self, change: &Change, planned: &[Planned]) -> usize {
        let most = self.limits.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
        let n_lines: u32 = planned.iter().map(|plan| change.files[plan.index].n_added).fold(0, u32::saturating_add);
        // What is added tells the order of the files' sizes, without reading them first.
        let worth = planned.len() / FILES_PER_CHILD + n_lines as usize / LINES_PER_CHILD;
        worth.clamp(1, most.max(1)).min(planned.len())
    }
}

fn bytes(count: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    if count.is_multiple_of(MIB) { format!("{} MiB", count / MIB) } else { format!("{count} bytes") }
}
