//! What is owed to one pull request is done: people are answered, its head is reviewed, and what is to be seen is posted.
//!
//! Every step can be done again by whoever comes after us; those that must not happen twice are stored first. The order
//! is: what we were told, then the review, then what is to be posted, of this and of earlier work.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_core::finding::Severity;
use tollgate_core::gate::FailOn;
use tollgate_core::pull::Repo;
use tollgate_core::pull::note;
use tollgate_core::sha::Sha;

use super::post::{Post, What};
use super::publish::{self, Ledger, Stop, Target};
use super::{Pulls, failure, told};
use crate::config::Settings;
use crate::failure::Failure;
use crate::forge::host::{Host, HostError, Me, Pull, Trouble};
use crate::forge::remote::Remote;
use crate::process;
use crate::store::pulls::{Claim, Fenced, FencingToken, NextClaim, PostKind, PostState, PullRow};

mod review;

pub(super) use review::details_url;

/// How long one review may take.
const LONGEST_REVIEW: Duration = Duration::from_secs(30 * 60);
/// A host's lists lag: what may have been posted is looked for only this long after.
const LAG_MS: u64 = 10_000;
/// What a host refuses so often is given up. Being about to post counts, too.
const MAX_REFUSED: u32 = 8;
/// How long to wait when a host is in trouble; twice as long each time.
const TROUBLE_MS: u64 = 5_000;
/// And at most.
const MAX_TROUBLE_MS: u64 = 5 * 60_000;

/// What came of looking whether something is owed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stepped {
    /// Nothing is owed now.
    Idle,
    /// Something was done about this pull request.
    Worked(i64),
}

/// What those who watch over a piece of work know of it.
#[derive(Debug)]
pub(super) struct Watch {
    /// Ends all of it: the claim is gone, or the program ends.
    pub(super) cancel: CancellationToken,
    /// Until when the claim is good, as far as we heard.
    until_ms: AtomicU64,
    /// Up to what the review that is under way carries out; nothing is under way at 0.
    up_to: AtomicI64,
    /// Ends the review, and since when it goes on.
    review: Mutex<Option<(CancellationToken, Instant)>>,
    timed_out: AtomicBool,
}

impl Watch {
    pub(super) fn new(cancel: CancellationToken, until_ms: u64) -> Arc<Self> {
        let (up_to, timed_out) = (AtomicI64::new(0), AtomicBool::new(false));
        Arc::new(Self { cancel, until_ms: until_ms.into(), up_to, review: Mutex::default(), timed_out })
    }

    /// The claim is good until then.
    pub(super) fn hold_until(&self, until_ms: u64) {
        self.until_ms.store(until_ms, Ordering::SeqCst);
    }

    /// Whether the claim is good, as far as can be told without asking: whoever slept past its end finds out by this.
    fn is_ours(&self, now_ms: u64) -> bool {
        now_ms <= self.until_ms.load(Ordering::SeqCst)
    }

    /// A review begins that carries out what was asked up to here.
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

    /// Ends a review that is not wanted any more because something newer is, or that takes too long.
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
    /// Does what is owed to the pull request whose turn it is, on this thread.
    ///
    /// A server lets a [`Runner`](super::Runner) do this on many; tests take one step at a time.
    pub fn step(&self, owner: &str) -> Result<Stepped, Failure> {
        let Some(claim) = self.claim_next(owner, Vec::new())? else { return Ok(Stepped::Idle) };
        let pull = claim.pull.id;
        let watch = Watch::new(CancellationToken::new(), claim.until_ms);
        run(self, claim, &watch)?;
        Ok(Stepped::Worked(pull))
    }

    /// Claims the pull request whose turn it is, but for those that are still worked on here.
    pub(super) fn claim_next(&self, owner: &str, except: Vec<i64>) -> Result<Option<Claim>, Failure> {
        let lease_ms = u64::try_from(process::lease().as_millis()).unwrap_or(u64::MAX);
        let (owner, limits) = (owner.to_owned(), self.site().limits);
        self.database().claim_next(&NextClaim { owner, now_ms: self.now(), lease_ms, limits, except })
    }
}

/// Does what is owed to a pull request that was claimed, and gives the claim back.
pub(super) fn run(pulls: &Pulls, claim: Claim, watch: &Arc<Watch>) -> Result<(), Failure> {
    process::crash_point("pull-claimed");
    let (database, token, troubles) = (pulls.database(), claim.token, claim.pull.troubles);
    let worked = begin(pulls, claim, watch).and_then(|job| job.all());
    let late = |fenced: Fenced<()>| fenced.map(|_| ());
    match worked {
        Ok(Then::LetGo { not_before_ms }) => {
            process::crash_point("pull-before-release");
            late(database.release_pull(token, not_before_ms))?;
            process::crash_point("pull-released");
            Ok(())
        }
        // Whoever has it now does it; what was given back is not ours to give.
        Ok(Then::Gone) | Err(Stop::LeaseLost) => Ok(()),
        Err(Stop::Host(error)) => {
            late(database.release_after_failure(
                token,
                &error.message,
                pulls.now().saturating_add(wait_ms(&error, troubles)),
            ))?;
            Err(error.into_failure())
        }
        Err(Stop::Failure(failure)) => {
            let later = pulls.now().saturating_add(TROUBLE_MS);
            late(database.release_after_failure(token, &failure.message, later))?;
            Err(failure)
        }
    }
}

/// How long to wait after trouble with a host.
fn wait_ms(error: &HostError, troubles: u32) -> u64 {
    let usual = (TROUBLE_MS << troubles.min(8)).min(MAX_TROUBLE_MS);
    match error.trouble {
        Trouble::Limited { wait_ms } => wait_ms.clamp(1_000, 60 * 60_000),
        Trouble::Unclear => LAG_MS.max(usual),
        _ => usual,
    }
}

/// What becomes of the claim.
enum Then {
    /// It is given back.
    LetGo { not_before_ms: u64 },
    /// It was given back already.
    Gone,
}

/// A piece of work.
pub(super) struct Job<'a> {
    pub(super) pulls: &'a Pulls,
    pub(super) token: FencingToken,
    pub(super) id: i64,
    pub(super) repo: Repo,
    pub(super) number: u64,
    pub(super) host: Arc<dyn Host>,
    pub(super) me: Me,
    pub(super) installation: Option<u64>,
    watch: &'a Watch,
}

fn begin<'a>(pulls: &'a Pulls, claim: Claim, watch: &'a Arc<Watch>) -> Result<Job<'a>, Stop> {
    let PullRow { id, repo, number, installation, .. } = claim.pull;
    let me = pulls.hosts().me()?;
    // By the clock that the claim was made by, which need not be this machine's.
    let (clock, claimed) = (pulls.clone(), Arc::clone(watch));
    let host = match pulls.hosts().host(installation, &repo, Arc::new(move || claimed.is_ours(clock.now()))) {
        // Nobody lets us in any more; whoever does again delivers again.
        Err(error) if !error.may_pass() => {
            let finished = review::nothing(claim.pull.wanted, Some(error.message.clone()), pulls.now());
            let _ = pulls.database().finish_review(claim.token, finished)?;
            return Err(Stop::Host(error));
        }
        host => host?,
    };
    Ok(Job { pulls, token: claim.token, id, repo, number, host, me, installation, watch })
}

impl Job<'_> {
    fn all(&self) -> Result<Then, Stop> {
        told::answer_all(self)?;
        let row = self.row()?;
        let is_due = row.review_at_ms <= self.pulls.now();
        if row.is_owed() && is_due {
            let reviewed = review::review(self, &row);
            self.watch.end();
            match reviewed? {
                review::Ended::Stored => process::crash_point("review-stored"),
                review::Ended::PutOff => return Ok(Then::Gone),
                review::Ended::NotWanted => return Ok(Then::LetGo { not_before_ms: 0 }),
            }
        }
        if self.watch.cancel.is_cancelled() {
            return Ok(Then::LetGo { not_before_ms: 0 });
        }
        self.publish()
    }

    /// The pull request as it is stored now.
    pub(super) fn row(&self) -> Result<PullRow, Stop> {
        self.pulls.database().pull(self.id)?.ok_or(Stop::LeaseLost)
    }

    /// The pull request as the host has it.
    fn pull(&self) -> Result<Pull, Stop> {
        Ok(self.host.pull(&self.repo, self.number)?)
    }

    pub(super) fn target(&self) -> Target<'_> {
        let check_name = &self.pulls.site().check_name;
        Target { host: self.host.as_ref(), me: &self.me, repo: &self.repo, number: self.number, check_name }
    }

    /// Posts what is due, unless the pull request has moved on.
    fn publish(&self) -> Result<Then, Stop> {
        let due = self.pulls.database().posts_due(self.id)?;
        // Somebody was about to post it and was killed, or never heard how it went. The host may show it only later.
        let begun = due.iter().filter(|row| row.state == PostState::Posting).map(|row| row.since_ms + LAG_MS).max();
        if let Some(settled) = begun.filter(|settled| *settled > self.pulls.now()) {
            return Ok(Then::LetGo { not_before_ms: settled.min(self.pulls.now() + LAG_MS) });
        }
        let of_head = |kind| matches!(kind, PostKind::Review | PostKind::Inline | PostKind::Summary);
        if let Some(head) = due.iter().find(|row| of_head(row.post.kind)).map(|row| row.post.head.clone()) {
            if !self.is_still_head(&head)? {
                return Ok(Then::LetGo { not_before_ms: 0 });
            }
            process::crash_point("post-head-checked");
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
        let ledger = InDatabase { pulls: self.pulls, token: self.token, ids };
        let published = publish::publish(&self.target(), &posts, &ledger)?;
        let later = if published.n_later > 0 { self.pulls.now().saturating_add(LAG_MS) } else { 0 };
        Ok(Then::LetGo { not_before_ms: later })
    }

    /// Sees to it that nothing is said of a commit that is not the head any more, nor of what is closed.
    fn is_still_head(&self, head: &Sha) -> Result<bool, Stop> {
        let pull = self.pull()?;
        if pull.head == *head && pull.is_open {
            return Ok(true);
        }
        // What made it so may never have been delivered.
        self.pulls.database().request_pull(&self.repo, self.number, self.installation, self.pulls.now())?;
        self.take_up(&pull)?;
        Ok(false)
    }

    /// Takes up the commit at the head; what is said of others ends.
    fn take_up(&self, pull: &Pull) -> Result<(), Stop> {
        let note = note::superseded(&pull.head);
        let superseded = Post::check(&pull.head, Some(note.conclusion), note.check, None).stored().body;
        fenced(self.pulls.database().take_up_head(self.token, &pull.head, &pull.base_branch, &superseded))
    }

    /// Posts one thing now. It is stored first.
    fn post_now(&self, post: &Post) -> Result<(), Stop> {
        let stored = post.stored();
        let (kind, key) = (stored.kind, stored.key.clone());
        fenced(self.pulls.database().put_posts(self.token, vec![stored]))?;
        let rows = self.pulls.database().posts_due(self.id)?;
        let Some(row) = rows.into_iter().find(|row| row.post.kind == kind && row.post.key == key) else {
            return Ok(());
        };
        let ledger = InDatabase {
            pulls: self.pulls,
            token: self.token,
            ids: HashMap::from([((kind, key), (row.id, row.remote_id))]),
        };
        publish::publish(&self.target(), std::slice::from_ref(post), &ledger)?;
        Ok(())
    }
}

/// The settings of the branch that a pull request is for, as they were at the last review. When they are not to be had any
/// more, those that hold everywhere, and every finding closes the gate: nothing may pass that the project would not let.
pub(super) fn settings_of(job: &Job<'_>, row: &PullRow) -> Settings {
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

/// What only whoever holds the claim may do: who does not, stops.
pub(super) fn fenced<T>(done: Fenced<T>) -> Result<T, Stop> {
    done?.map_err(|_| Stop::LeaseLost)
}

/// Notes in the database how far posting has come.
struct InDatabase<'a> {
    pulls: &'a Pulls,
    token: FencingToken,
    /// The number of each post here and, once it was posted, at the host.
    ids: HashMap<(PostKind, String), (i64, Option<u64>)>,
}

impl InDatabase<'_> {
    fn id(&self, post: &Post) -> i64 {
        // One that is not among them is no row, and changes none.
        self.ids.get(&(kind_of(&post.what), post.key.clone())).map_or(-1, |(id, _)| *id)
    }
}

impl Ledger for InDatabase<'_> {
    fn is_ours(&self) -> Result<bool, Failure> {
        self.pulls.database().holds_pull(self.token, self.pulls.now())
    }

    fn known(&self, post: &Post) -> Option<u64> {
        self.ids.get(&(kind_of(&post.what), post.key.clone()))?.1
    }

    fn posting(&self, post: &Post) -> Result<(), Stop> {
        fenced(self.pulls.database().begin_post(self.token, self.id(post), self.pulls.now()))
    }

    fn done(&self, post: &Post, remote: Option<u64>) -> Result<(), Stop> {
        fenced(self.pulls.database().end_post(self.token, self.id(post), remote))
    }

    fn put_back(&self, post: &Post, problem: &str) -> Result<(), Stop> {
        fenced(self.pulls.database().put_back_post(self.token, self.id(post), problem))
    }

    fn refused(&self, post: &Post, problem: &str) -> Result<bool, Stop> {
        fenced(self.pulls.database().refuse_post(self.token, self.id(post), problem, MAX_REFUSED))
    }
}

fn kind_of(what: &What) -> PostKind {
    match what {
        What::Summary(_) => PostKind::Summary,
        What::Review { .. } => PostKind::Review,
        What::Inline(_) => PostKind::Inline,
        What::Note(_) => PostKind::Note,
        What::Reply { .. } => PostKind::Reply,
        What::Resolve => PostKind::Resolve,
        What::Check { .. } => PostKind::Check,
    }
}

/// A mistake of ours ended a piece of work: the claim is given back, and it counts as a failure.
pub(super) fn gave_up(pulls: &Pulls, token: FencingToken) -> Result<(), Failure> {
    let mistake = failure::mistake();
    let later = pulls.now().saturating_add(MAX_TROUBLE_MS);
    let _ = pulls.database().release_after_failure(token, &mistake.message, later)?;
    Err(mistake)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_ends_when_something_newer_is_wanted_and_not_before() {
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
    fn who_slept_past_the_end_of_a_claim_knows_it_without_asking() {
        let watch = Watch::new(CancellationToken::new(), 30_000);
        assert!(watch.is_ours(30_000) && !watch.is_ours(30_001));
        watch.hold_until(60_000);
        assert!(watch.is_ours(60_000) && !watch.is_ours(60_001));
    }

    #[test]
    fn a_host_in_trouble_is_left_alone_for_longer_and_longer() {
        let wait = |trouble: Trouble, troubles| wait_ms(&HostError::new(trouble, ""), troubles);
        assert_eq!([0, 1, 2, 99].map(|n| wait(Trouble::Unavailable, n)), [5_000, 10_000, 20_000, 300_000]);
        assert_eq!([0, 1, 2].map(|n| wait(Trouble::Unclear, n)), [10_000, 10_000, 20_000]);
        assert_eq!(
            [0, 90_000, u64::MAX].map(|ms| wait(Trouble::Limited { wait_ms: ms }, 3)),
            [1_000, 90_000, 3_600_000]
        );
    }
}
