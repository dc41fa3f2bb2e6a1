//! Processes one leased pull request: answers bot commands, reviews the head, publishes the outbox.
//!
//! Every step is idempotent or stored before it takes effect, so the next worker can repeat it. The order is: bot
//! commands, the review, then the outbox, including entries of earlier jobs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_core::finding::Severity;
use tollgate_core::gate::FailOn;
use tollgate_core::pull::Repo;
use tollgate_core::pull::not_reviewed;
use tollgate_core::sha::Sha;

use super::post::{Post, PostContent};
use super::publish::{self, JobError, Outbox, Target};
use super::{Pulls, bot_commands, failure};
use crate::config::Settings;
use crate::failure::Failure;
use crate::forge::host::{BotIdentity, Host, HostError, HostErrorKind, Pull};
use crate::forge::remote::Remote;
use crate::process;
use crate::store::pulls::{Claim, Fenced, FencingToken, LeaseRequest, NextClaim, PostKind, PostState, PullRow};

mod review;

pub(super) use review::{commented, details_url};

/// The time limit of a review.
const LONGEST_REVIEW: Duration = Duration::from_secs(30 * 60);
/// A host's lists lag: a post with an unknown outcome is searched for only after this time.
const LAG_MS: u64 = 10_000;
/// A post is given up after this many rejections. Attempts to post count, too.
const MAX_REFUSED: u32 = 8;
/// The backoff after an error of the host, doubled each time.
const TROUBLE_MS: u64 = 5_000;
/// The maximum backoff.
const MAX_TROUBLE_MS: u64 = 5 * 60_000;

/// The result of one step of the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stepped {
    /// No job was due.
    Idle,
    /// A job of this pull request was processed.
    Worked(i64),
}

/// The state of a running job that its heartbeat watches.
#[derive(Debug)]
pub(super) struct Watch {
    /// Cancels the job: the lease was lost, or the program shuts down.
    pub(super) cancel: CancellationToken,
    /// The end of the lease, as far as known.
    until_ms: AtomicU64,
    /// The last request that the running review covers; 0 without a review.
    up_to: AtomicI64,
    /// Cancels the review, and its start.
    review: Mutex<Option<(CancellationToken, Instant)>>,
    timed_out: AtomicBool,
}

impl Watch {
    pub(super) fn new(cancel: CancellationToken, until_ms: u64) -> Arc<Self> {
        let (up_to, timed_out) = (AtomicI64::new(0), AtomicBool::new(false));
        Arc::new(Self { cancel, until_ms: until_ms.into(), up_to, review: Mutex::default(), timed_out })
    }

    /// Extends the lease after a heartbeat.
    pub(super) fn hold_until(&self, until_ms: u64) {
        self.until_ms.store(until_ms, Ordering::SeqCst);
    }

    /// True while the lease is valid by the clock alone: a worker that slept past its end notices without a query.
    fn is_ours(&self, now_ms: u64) -> bool {
        now_ms <= self.until_ms.load(Ordering::SeqCst)
    }

    /// Starts a review that covers all requests up to `up_to`.
    fn begin(&self, up_to: i64) -> CancellationToken {
        let cancel = self.cancel.child_token();
        self.up_to.store(up_to, Ordering::SeqCst);
        *self.review.lock().unwrap_or_else(PoisonError::into_inner) = Some((cancel.clone(), Instant::now()));
        cancel
    }

    fn end(&self) {
        self.up_to.store(0, Ordering::SeqCst);
        *self.review.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Cancels a review that is superseded by a newer request, or exceeds its time limit.
    pub(super) fn look(&self, wanted: i64) {
        let up_to = self.up_to.load(Ordering::SeqCst);
        let review = self.review.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((cancel, since)) = review.as_ref().filter(|_| up_to > 0) else { return };
        if since.elapsed() > LONGEST_REVIEW {
            self.timed_out.store(true, Ordering::SeqCst);
            cancel.cancel();
        } else if wanted > up_to {
            cancel.cancel();
        }
    }
}

impl Pulls {
    /// Processes the next due pull request on this thread.
    ///
    /// A server runs this on many threads by a [`Runner`](super::Runner); tests take single steps.
    pub fn step(&self, owner: &str) -> Result<Stepped, Failure> {
        let lease_ms = u64::try_from(process::lease().as_millis()).unwrap_or(u64::MAX);
        let lease = LeaseRequest { owner: owner.to_owned(), now_ms: self.now(), lease_ms };
        let next = NextClaim { lease, limits: self.site().limits, except: Vec::new() };
        let Some(claim) = self.database().claim_next(&next)? else { return Ok(Stepped::Idle) };
        let pull = claim.pull.id;
        let watch = Watch::new(CancellationToken::new(), claim.until_ms);
        run(self, claim, &watch, &|| None).0?;
        Ok(Stepped::Worked(pull))
    }
}

/// Builds the request for the next job, when it is to be claimed with the end of this one.
pub(super) type NextJob<'a> = dyn Fn() -> Option<NextClaim> + 'a;

/// Processes a leased pull request and releases the lease; returns the next job that was claimed with it.
pub(super) fn run(
    pulls: &Pulls,
    claim: Claim,
    watch: &Arc<Watch>,
    next: &NextJob<'_>,
) -> (Result<(), Failure>, Option<Claim>) {
    process::crash_point("pull-claimed");
    let (token, troubles) = (claim.token, claim.pull.troubles);
    let mut claimed = None;
    let worked = begin(pulls, claim, watch, next).and_then(|job| {
        let after = job.all();
        claimed = job.claimed.take();
        after
    });
    let released = release(pulls, (token, troubles), worked, next, &mut claimed);
    (released, claimed)
}

/// Releases the lease after a job, unless the job has done so.
fn release(
    pulls: &Pulls,
    (token, troubles): (FencingToken, u32),
    worked: Result<AfterJob, JobError>,
    next: &NextJob<'_>,
    claimed: &mut Option<Claim>,
) -> Result<(), Failure> {
    let database = pulls.database();
    match worked {
        Ok(AfterJob::Release { not_before_ms }) => {
            process::crash_point("pull-before-release");
            match next() {
                Some(next) => *claimed = database.release_and_claim(token, not_before_ms, next)?.ok().flatten(),
                None => database.release_pull(token, not_before_ms).map(drop)?,
            }
            process::crash_point("pull-released");
            Ok(())
        }
        // Another worker holds the lease; nothing to release.
        Ok(AfterJob::Released) | Err(JobError::LeaseLost) => Ok(()),
        Err(JobError::Host(error)) => {
            let later = pulls.now().saturating_add(wait_ms(&error, troubles));
            database.release_after_failure(token, &error.message, later).map(drop)?;
            Err(error.into_failure())
        }
        Err(JobError::Failure(failure)) => {
            let later = pulls.now().saturating_add(TROUBLE_MS);
            database.release_after_failure(token, &failure.message, later).map(drop)?;
            Err(failure)
        }
    }
}

/// The backoff after an error of the host.
fn wait_ms(error: &HostError, troubles: u32) -> u64 {
    let usual = (TROUBLE_MS << troubles.min(8)).min(MAX_TROUBLE_MS);
    match error.kind {
        HostErrorKind::Limited { wait_ms } => wait_ms.clamp(1_000, 60 * 60_000),
        HostErrorKind::Unclear => LAG_MS.max(usual),
        _ => usual,
    }
}

/// The lease after a job.
enum AfterJob {
    /// It is to be released.
    Release { not_before_ms: u64 },
    /// It was released already.
    Released,
}

/// A job: a leased pull request.
pub(super) struct PullJob<'a> {
    pub(super) pulls: &'a Pulls,
    pub(super) token: FencingToken,
    pub(super) id: i64,
    pub(super) repo: Repo,
    pub(super) number: u64,
    pub(super) host: Arc<dyn Host>,
    pub(super) me: BotIdentity,
    pub(super) installation: Option<u64>,
    watch: &'a Watch,
    next: &'a NextJob<'a>,
    /// The next job, if it was claimed with the end of this one.
    claimed: RefCell<Option<Claim>>,
}

fn begin<'a>(
    pulls: &'a Pulls,
    claim: Claim,
    watch: &'a Arc<Watch>,
    next: &'a NextJob<'a>,
) -> Result<PullJob<'a>, JobError> {
    let PullRow { id, repo, number, installation, .. } = claim.pull;
    let me = pulls.hosts().me()?;
    // The fence uses the clock of the lease, which may be the database's.
    let (clock, claimed) = (pulls.clone(), Arc::clone(watch));
    let host = match pulls.hosts().host(installation, &repo, Arc::new(move || claimed.is_ours(clock.now()))) {
        // The app was removed from the repository; a new installation sends new deliveries.
        Err(error) if !error.may_pass() => {
            let finished = review::nothing(claim.pull.wanted, Some(error.message.clone()), pulls.now());
            let _ = pulls.database().finish_review(claim.token, finished)?;
            return Err(JobError::Host(error));
        }
        host => host?,
    };
    let claimed = RefCell::default();
    Ok(PullJob { pulls, token: claim.token, id, repo, number, host, me, installation, watch, next, claimed })
}

impl PullJob<'_> {
    fn all(&self) -> Result<AfterJob, JobError> {
        bot_commands::answer_all(self)?;
        let row = self.row()?;
        let is_due = row.review_at_ms <= self.pulls.now();
        if row.is_owed() && is_due {
            let reviewed = review::review(self, &row);
            self.watch.end();
            match reviewed? {
                review::ReviewResult::Stored => process::crash_point("review-stored"),
                review::ReviewResult::Released => return Ok(AfterJob::Released),
                review::ReviewResult::NotWanted => return Ok(AfterJob::Release { not_before_ms: 0 }),
            }
        }
        if self.watch.cancel.is_cancelled() {
            return Ok(AfterJob::Release { not_before_ms: 0 });
        }
        self.publish()
    }

    /// The stored state of the pull request.
    pub(super) fn row(&self) -> Result<PullRow, JobError> {
        self.pulls.database().pull(self.id)?.ok_or(JobError::LeaseLost)
    }

    /// The host's state of the pull request.
    pub(super) fn pull(&self) -> Result<Pull, JobError> {
        Ok(self.host.pull(&self.repo, self.number)?)
    }

    pub(super) fn target(&self) -> Target<'_> {
        let check_name = &self.pulls.site().check_name;
        Target { host: self.host.as_ref(), me: &self.me, repo: &self.repo, number: self.number, check_name }
    }

    /// Publishes the due outbox entries, unless the head has moved.
    fn publish(&self) -> Result<AfterJob, JobError> {
        let due = self.pulls.database().posts_due(self.id)?;
        // The outcome of these entries is unknown after a crash or timeout, and the host's lists may lag.
        let begun = due.iter().filter(|row| row.state == PostState::Posting).map(|row| row.since_ms + LAG_MS).max();
        if let Some(settled) = begun.filter(|settled| *settled > self.pulls.now()) {
            return Ok(AfterJob::Release { not_before_ms: settled.min(self.pulls.now() + LAG_MS) });
        }
        let of_head = |kind| matches!(kind, PostKind::Review | PostKind::Inline | PostKind::Summary);
        if let Some(head) = due.iter().find(|row| of_head(row.post.kind)).map(|row| row.post.head.clone()) {
            if !self.is_still_head(&head)? {
                return Ok(AfterJob::Release { not_before_ms: 0 });
            }
            process::crash_point("post-head-checked");
        } else if due.iter().any(|row| matches!(row.post.kind, PostKind::Note | PostKind::Resolve))
            && !self.pull()?.is_open
        {
            // The check ends as usual, and commands are answered; notes on a closed pull request are dropped.
            self.pulls.database().request_pull(&self.repo, self.number, self.installation, self.pulls.now())?;
            return Ok(AfterJob::Release { not_before_ms: 0 });
        }
        let (mut posts, mut ids) = (Vec::new(), HashMap::new());
        for row in due {
            match Post::read(&row.post) {
                Ok(post) => {
                    ids.insert((row.post.kind, row.post.key), (row.id, row.remote_id));
                    posts.push(post);
                }
                Err(why) => {
                    let why = failure::unreadable_post(&why).message;
                    fenced(self.pulls.database().cancel_post(self.token, row.id, &why))?;
                }
            }
        }
        let outbox = DatabaseOutbox { pulls: self.pulls, token: self.token, ids };
        let published = publish::publish(&self.target(), &posts, &outbox)?;
        let later = if published.n_later > 0 { self.pulls.now().saturating_add(LAG_MS) } else { 0 };
        Ok(AfterJob::Release { not_before_ms: later })
    }

    /// Verifies that a commit is still the head of an open pull request, before anything is published about it.
    fn is_still_head(&self, head: &Sha) -> Result<bool, JobError> {
        let pull = self.pull()?;
        if pull.head == *head && pull.is_open {
            return Ok(true);
        }
        // The delivery of the change may have been lost.
        self.pulls.database().request_pull(&self.repo, self.number, self.installation, self.pulls.now())?;
        self.take_up(&pull)?;
        Ok(false)
    }

    /// Records the current head; posts about other commits are superseded.
    fn take_up(&self, pull: &Pull) -> Result<(), JobError> {
        let note = not_reviewed::superseded(&pull.head);
        let superseded = Post::check(&pull.head, Some(note.conclusion), note.check, None).stored().body;
        fenced(self.pulls.database().take_up_head(self.token, &pull.head, &pull.base_branch, &superseded))
    }

    /// Stores one post and publishes it at once.
    fn post_now(&self, post: &Post) -> Result<(), JobError> {
        let stored = post.stored();
        let (kind, key) = (stored.kind, stored.key.clone());
        fenced(self.pulls.database().put_posts(self.token, vec![stored]))?;
        let rows = self.pulls.database().posts_due(self.id)?;
        let Some(row) = rows.into_iter().find(|row| row.post.kind == kind && row.post.key == key) else {
            return Ok(());
        };
        let outbox = DatabaseOutbox {
            pulls: self.pulls,
            token: self.token,
            ids: HashMap::from([((kind, key), (row.id, row.remote_id))]),
        };
        publish::publish(&self.target(), std::slice::from_ref(post), &outbox)?;
        Ok(())
    }
}

/// The settings of the target branch at the last review. If they are unavailable, the server's settings with the
/// strictest gate: nothing may pass that the project would reject.
pub(super) fn settings_of(job: &PullJob<'_>, row: &PullRow) -> Settings {
    let at = || {
        let (pulls, key) = (job.pulls, job.pulls.cache_key(job.installation, &job.repo));
        let url = job.host.clone_url(&job.repo);
        let remote = Remote::open(&pulls.cache(), &key, &url, None, pulls.home().git.clone())?;
        let base = row.base_branch.as_deref().map(|branch| remote.last_base(branch)).transpose()?.flatten();
        base.map(|base| review::settings_at(job, &remote, &base)).transpose()
    };
    at().ok().flatten().unwrap_or_else(|| {
        let fail_on = FailOn::Severity(Severity::Nit);
        Settings { fail_on, ..job.pulls.settings().clone() }
    })
}

/// Converts a fencing error: the job stops when the lease was lost.
pub(super) fn fenced<T>(done: Fenced<T>) -> Result<T, JobError> {
    done?.map_err(|_| JobError::LeaseLost)
}

struct DatabaseOutbox<'a> {
    pulls: &'a Pulls,
    token: FencingToken,
    /// The row of each post and, once published, its number at the host.
    ids: HashMap<(PostKind, String), (i64, Option<u64>)>,
}

impl DatabaseOutbox<'_> {
    fn id(&self, post: &Post) -> i64 {
        // An unknown post has no row, so nothing is updated.
        self.ids.get(&(kind_of(&post.what), post.key.clone())).map_or(-1, |(id, _)| *id)
    }
}

impl Outbox for DatabaseOutbox<'_> {
    fn is_ours(&self) -> Result<bool, Failure> {
        self.pulls.database().holds_pull(self.token, self.pulls.now())
    }

    fn known(&self, post: &Post) -> Option<u64> {
        self.ids.get(&(kind_of(&post.what), post.key.clone()))?.1
    }

    fn posting(&self, post: &Post) -> Result<(), JobError> {
        fenced(self.pulls.database().begin_post(self.token, self.id(post), self.pulls.now()))
    }

    fn done(&self, post: &Post, remote: Option<u64>) -> Result<(), JobError> {
        fenced(self.pulls.database().end_post(self.token, self.id(post), remote))
    }

    fn put_back(&self, post: &Post, problem: &str) -> Result<(), JobError> {
        fenced(self.pulls.database().put_back_post(self.token, self.id(post), problem))
    }

    fn refused(&self, post: &Post, problem: &str) -> Result<bool, JobError> {
        fenced(self.pulls.database().refuse_post(self.token, self.id(post), problem, MAX_REFUSED))
    }
}

fn kind_of(what: &PostContent) -> PostKind {
    match what {
        PostContent::Summary(_) => PostKind::Summary,
        PostContent::Review { .. } => PostKind::Review,
        PostContent::Inline(_) => PostKind::Inline,
        PostContent::Note(_) => PostKind::Note,
        PostContent::Reply { .. } => PostKind::Reply,
        PostContent::Resolve | PostContent::Reopen => PostKind::Resolve,
        PostContent::Check { .. } => PostKind::Check,
    }
}

/// Releases the lease of a job that panicked; it counts as a failed attempt.
pub(super) fn gave_up(pulls: &Pulls, token: FencingToken) -> Result<(), Failure> {
    let mistake = crate::failure::internal_error();
    let later = pulls.now().saturating_add(MAX_TROUBLE_MS);
    let _ = pulls.database().release_after_failure(token, &mistake.message, later)?;
    Err(mistake)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_request_cancels_the_review() {
        let watch = Watch::new(CancellationToken::new(), 0);
        watch.look(9);
        let review = watch.begin(3);
        watch.look(3);
        assert!(!review.is_cancelled());
        watch.look(4);
        assert!(review.is_cancelled() && !watch.cancel.is_cancelled());
        watch.end();
        let review = watch.begin(4);
        watch.cancel.cancel();
        assert!(review.is_cancelled(), "who lost the claim reviews no more");
    }

    #[test]
    fn a_worker_that_slept_past_its_lease_notices_without_a_query() {
        let watch = Watch::new(CancellationToken::new(), 30_000);
        assert!(watch.is_ours(30_000) && !watch.is_ours(30_001));
        watch.hold_until(60_000);
        assert!(watch.is_ours(60_000) && !watch.is_ours(60_001));
    }

    #[test]
    fn backoff_doubles_with_each_error_of_the_host() {
        let wait = |kind: HostErrorKind, troubles| wait_ms(&HostError::new(kind, ""), troubles);
        assert_eq!([0, 1, 2, 99].map(|n| wait(HostErrorKind::Unavailable, n)), [5_000, 10_000, 20_000, 300_000]);
        assert_eq!([0, 1, 2].map(|n| wait(HostErrorKind::Unclear, n)), [10_000, 10_000, 20_000]);
        assert_eq!(
            [0, 90_000, u64::MAX].map(|ms| wait(HostErrorKind::Limited { wait_ms: ms }, 3)),
            [1_000, 90_000, 3_600_000]
        );
    }
}
