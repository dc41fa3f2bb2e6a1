//! Scanning children: started when needed, limited, replaced when they fail.
//!
//! Each child has a thread here that sends it one file after the other and
//! waits for the response, up to a timeout. A child that stalls, dies or
//! breaks the protocol is killed; its file is *not reviewed*, with the reason,
//! and the next file gets a new child.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tollgate_rules::hit::Hit;
use tollgate_rules::user::{RuleSource, UserRuleInfo};
use tollgate_rules::worker::{Request, Response};

use super::Remembered;
use super::job::{Job, Jobs, Next};
use super::parent::{Child, UNREADABLE};
use crate::config::Limits;
use crate::failure::{self, Failure};

/// This many files, or this much text, are worth another process.
const FILES_PER_CHILD: usize = 16;
const BYTES_PER_CHILD: usize = 128 * 1024;
/// After this many failures the change is taken for an attack, and the rest is not scanned.
const MAX_LOST: usize = 20;

/// The hits of a file, or why it was not scanned.
type Scanned = (usize, Result<Vec<Hit>, String>);

/// The children and how to get more.
#[derive(Debug)]
pub(super) struct Pool {
    starter: Starter,
    /// A child that already knows the user's rules.
    spare: Option<Child>,
}

/// The parameters for starting a child.
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

    /// Compiles the user's rules; an invalid rule is a failure of configuration.
    pub(super) fn use_rules(&mut self, sources: Vec<RuleSource>) -> Result<Vec<UserRuleInfo>, Failure> {
        if sources.is_empty() {
            return Ok(Vec::new());
        }
        let mut child = self.starter.start()?;
        let request = Request::UseRules(sources.clone());
        self.starter.sources = sources;
        let folder = ".tollgate/rules";
        match child.ask(request, Vec::new(), self.starter.limits) {
            Ok(Response::Rules { rules, bad }) => {
                if let Some(first) = bad.first() {
                    return Err(failure::bad_rule(&first.path, &first.problem));
                }
                self.spare = Some(child);
                Ok(rules)
            }
            Ok(Response::Scanned(_) | Response::Enclosed(_) | Response::Highlighted(_) | Response::Checked(_)) => {
                Err(failure::bad_rule(folder, "the rules were not understood"))
            }
            Err(reason) => Err(failure::bad_rule(folder, &format!("reading the rules failed: {reason}"))),
        }
    }

    /// Sends one request for each of `n_texts` texts; `None` where no response came.
    ///
    /// Failures are dropped, because these requests are optional. After `max_lost` lost children the rest is skipped.
    pub(super) fn ask_each(
        &self,
        (n_texts, n_bytes): (usize, usize),
        max_lost: usize,
        question: &(dyn Fn(usize) -> (Request, Vec<u8>) + Sync),
    ) -> Vec<Option<Response>> {
        let worth = 1 + n_texts / FILES_PER_CHILD + n_bytes / BYTES_PER_CHILD;
        let starter = &self.starter;
        let n_children = worth.min(starter.most_children()).min(n_texts);
        let (next, n_lost) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let (mut answers, mut slot) = (Vec::new(), None);
            while n_lost.load(Ordering::Relaxed) < max_lost {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= n_texts {
                    break;
                }
                match starter.ask(&mut slot, question(index)) {
                    Ok(answer) => answers.push((index, answer)),
                    Err(_) => drop(n_lost.fetch_add(1, Ordering::Relaxed)),
                }
            }
            answers
        };
        let mut all: Vec<Option<Response>> = (0..n_texts).map(|_| None).collect();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..n_children).map(|_| scope.spawn(work)).collect();
            for (index, answer) in threads.into_iter().filter_map(|thread| thread.join().ok()).flatten() {
                all[index] = Some(answer);
            }
        });
        all
    }

    /// Scans the files and returns the result of each, in their order.
    pub(super) fn run(
        &mut self,
        jobs: &mut Jobs<'_, '_>,
        remembered: &mut dyn Remembered,
        progress: &dyn Fn(usize, usize),
    ) -> Result<Vec<Scanned>, Failure> {
        let n_files = jobs.n_left();
        let mut scanned = Vec::with_capacity(n_files);
        let mut keys: HashMap<usize, Vec<u8>> = HashMap::new();
        let mut finish = |result: Scanned| {
            scanned.push(result);
            progress(scanned.len(), n_files);
        };
        let most = self.starter.most_children();
        let (mut n_children, mut n_asked, mut n_bytes) = (0, 0, 0);
        // A short queue, since each job holds the text of a file.
        let (asked, queue) = mpsc::sync_channel::<Job>(most);
        let (results, done) = mpsc::channel::<Scanned>();
        let (queue, n_lost) = (Mutex::new(queue), AtomicUsize::new(0));
        let (starter, spare) = (&self.starter, &mut self.spare);
        thread::scope(|scope| {
            // Moved in, so that the queue closes and the threads end, even on a failure.
            let (asked, results) = (asked, results);
            while let Some(next) = jobs.next()? {
                match next {
                    Next::Done(index, became) => finish((index, became.map(|()| Vec::new()))),
                    Next::Ask(job) => {
                        if let Some(key) = starter.key(&job, remembered) {
                            if let Some(hits) = remembered.recall(&key) {
                                finish((job.index, Ok(hits)));
                                continue;
                            }
                            keys.insert(job.index, key);
                        }
                        n_asked += 1;
                        n_bytes += job.parts.iter().map(|(_, text)| text.len()).sum::<usize>();
                        let worth = 1 + n_asked / FILES_PER_CHILD + n_bytes / BYTES_PER_CHILD;
                        if n_children < worth.min(most) {
                            // If the first child cannot be started the review fails; a later one costs only its file.
                            let first = if n_children == 0 { Some(starter.first(spare)?) } else { None };
                            let (results, queue, n_lost) = (results.clone(), &queue, &n_lost);
                            scope.spawn(move || starter.work(first, queue, &results, n_lost));
                            n_children += 1;
                        }
                        // Cannot fail: the threads take jobs until this end is dropped.
                        let _ = asked.send(job);
                    }
                }
                done.try_iter().for_each(&mut finish);
            }
            drop((asked, results));
            done.iter().for_each(&mut finish);
            Ok(())
        })?;
        scanned.sort_by_key(|(index, _)| *index);
        for (index, result) in &scanned {
            if let (Some(key), Ok(hits)) = (keys.remove(index), result) {
                remembered.remember(key, hits);
            }
        }
        Ok(scanned)
    }
}

impl Starter {
    /// Scans files of the queue, with one child after the other.
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
            match self.ask(slot, (Request::Scan(scan), text))? {
                Response::Scanned(found) => hits.extend(found),
                Response::Rules { .. } | Response::Enclosed(_) | Response::Highlighted(_) | Response::Checked(_) => {
                    // A child that broke the protocol is not reused.
                    drop(slot.take());
                    return Err(UNREADABLE.to_owned());
                }
            }
        }
        Ok(hits)
    }

    /// Sends a request to the child in the slot, or to a new one; a child without a response is dropped.
    fn ask(&self, slot: &mut Option<Child>, (request, text): (Request, Vec<u8>)) -> Result<Response, String> {
        let mut child = match slot.take() {
            Some(child) => child,
            None => self.start_with_rules()?,
        };
        let answer = child.ask(request, text, self.limits)?;
        *slot = Some(child);
        Ok(answer)
    }

    /// The cache key of a request: everything that the response depends on, beside this program.
    fn key(&self, job: &Job, remembered: &dyn Remembered) -> Option<Vec<u8>> {
        let scans: Vec<_> = job.parts.iter().map(|(scan, _)| scan).collect();
        let asked = serde_json::to_vec(&(&self.sources, scans)).ok()?;
        let texts = job.parts.iter().map(|(_, text)| text.as_slice());
        remembered.key(&[asked.as_slice()].into_iter().chain(texts).collect::<Vec<_>>())
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

    /// The child that already knows the user's rules, or a new one.
    fn first(&self, spare: &mut Option<Child>) -> Result<Child, Failure> {
        spare.take().map_or_else(|| self.start(), Ok)
    }

    /// Not more children than cores.
    fn most_children(&self) -> usize {
        let most = self.limits.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
        most.max(1)
    }
}
