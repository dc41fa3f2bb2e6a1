//! The queue, inbox and outbox of pull requests, on real databases.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tollgate_core::pull::command::Command;
use tollgate_core::pull::webhook_event::{Actor, CommentRef, PullEvent, WebhookEvent, WebhookEventKind};

use super::*;
use crate::config::Retention;
use crate::store::sql::Connection;
use crate::store::{self, place};
use crate::store::{Forgotten, Location, RunRecord, Subject};

mod failing;
mod fair;
mod jobs;
mod queue;
mod quota;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

struct Queue {
    place: place::Place,
    database: Database,
    n_deliveries: std::cell::Cell<u32>,
}

impl Queue {
    fn new() -> Self {
        Self::at(place::Place::new())
    }

    /// For tests of files alone.
    fn in_file() -> Self {
        Self::at(place::Place::file())
    }

    fn at(place: place::Place) -> Self {
        let database = Database::open_at(&Location::parse(&place.address()).unwrap()).unwrap();
        Self { place, database, n_deliveries: std::cell::Cell::new(0) }
    }

    /// Forgets deliveries and posts from before a time.
    fn forget_before(&self, before_ms: u64) -> Forgotten {
        let kept = Retention { deliveries: 3, events: 0, ..Retention::default() };
        self.database.forget(&kept, 3 * 24 * 60 * 60 * 1_000 + before_ms, || true).unwrap()
    }

    fn deliver(&self, installation: u64, what: WebhookEventKind, at_ms: u64) -> Accepted {
        self.n_deliveries.set(self.n_deliveries.get() + 1);
        let ask = WebhookEvent { installation: Some(installation), what };
        let guid = format!("guid-{}", self.n_deliveries.get());
        self.database.accept(NewDelivery { guid, event: "pull_request".to_owned(), ask, at_ms }).unwrap()
    }

    fn about(&self, repo: &str, number: u64, about: PullEvent, at_ms: u64) {
        assert_eq!(
            self.deliver(1, WebhookEventKind::Pull { repo: repo_of(repo), number, about }, at_ms),
            Accepted::New
        );
    }

    fn push(&self, repo: &str, number: u64, at_ms: u64) {
        self.about(repo, number, PullEvent::Changed { head: None }, at_ms);
    }

    fn candidates(&self, now_ms: u64) -> Vec<String> {
        let sql = format!(
            "SELECT p.repo, p.number FROM pull p WHERE p.ready_ms <= ?1 AND {} ORDER BY {}, p.id",
            store::queue::free("p"),
            claim::RANK
        );
        let name = |row: &Row<'_>| Ok(format!("{}#{}", repo(row)?, row.get::<_, u64>("number")?));
        let read = |connection: &Connection| {
            connection.prepare(&sql)?.query_map(store::queue::validity(now_ms), name)?.collect()
        };
        self.database.read(read).unwrap()
    }

    fn row(&self, repo: &str, number: u64) -> PullRow {
        self.database.pull_at(&repo_of(repo), number).unwrap().unwrap()
    }

    fn bid(&self, pull: i64, now_ms: u64) -> Option<Claim> {
        let lease = LeaseRequest { owner: "me".to_owned(), now_ms, lease_ms: 100 };
        let claim = move |connection: &Connection| {
            let job = format!("pull.id = ?5 AND pull.ready_ms <= ?1 AND {}", store::queue::free("pull"));
            store::queue::Queue::Pulls.claim(connection, &lease, (&job, COLUMNS), params![pull], |row, token| {
                Ok(Claim { token, pull: of_row(row)?, until_ms: lease.until_ms() })
            })
        };
        self.database.write_concurrent(claim).unwrap()
    }

    fn next(&self, now_ms: u64, limits: ConcurrencyLimits) -> Option<Claim> {
        let lease = LeaseRequest { owner: "me".to_owned(), now_ms, lease_ms: 100 };
        self.database.claim_next(&NextClaim { lease, limits, except: Vec::new() }).unwrap()
    }

    /// Claims the next job so often; the names of the jobs.
    fn turns(&self, now_ms: u64, n_turns: usize, limits: ConcurrencyLimits) -> Vec<String> {
        let next = |_| self.next(now_ms, limits).map(|claim| format!("{}#{}", claim.pull.repo, claim.pull.number));
        (0..n_turns).map_while(next).collect()
    }

    #[track_caller]
    fn claim(&self, repo: &str, number: u64, now_ms: u64) -> Claim {
        self.bid(self.row(repo, number).id, now_ms).unwrap()
    }

    #[track_caller]
    fn finish(&self, claim: &Claim, posts: Vec<NewPost>) {
        let finished = Finished { posts, ..finished(claim.pull.wanted) };
        self.database.finish_review(claim.token, finished).unwrap().unwrap();
    }

    fn posts(&self, pull: i64) -> Vec<String> {
        let words = |row: PostRow| {
            let (state, final_) = (row.state, if row.post.is_final { "" } else { ", going on" });
            format!("{} {}: {} ({state:?}{final_})", row.post.kind.as_str(), row.post.key, row.post.body)
        };
        self.database.posts(pull).unwrap().into_iter().map(words).collect()
    }
}

fn repo_of(name: &str) -> Repo {
    Repo::parse(name).unwrap()
}

fn finished(up_to: i64) -> Finished {
    let (record, reviewed, posts, problem) = (None, None, Vec::new(), None);
    Finished { up_to, record, reviewed, posts, is_closed: false, problem, at_ms: 1 }
}

fn post(head: &str, kind: PostKind, key: &str, body: &str) -> NewPost {
    let head = Sha::parse(head).unwrap();
    NewPost { head, kind, key: key.to_owned(), body: body.to_owned(), is_final: true }
}

fn person() -> Actor {
    Actor { login: "ann".to_owned(), is_bot: false }
}

fn failed_run() -> Box<RunRecord> {
    let subject = Subject { repository: "r".to_owned(), name: "pr 1".to_owned(), scope: "pull".to_owned() };
    Box::new(RunRecord { subject, time: (1, 2), version: "0".to_owned(), outcome: Err("no".to_owned()) })
}

#[test]
fn a_pull_request_is_where_the_last_delivery_says_and_is_still_the_same() {
    let queue = Queue::new();
    let changed = |repo: &str| WebhookEventKind::Pull {
        repo: repo_of(repo),
        number: 1,
        about: PullEvent::Changed { head: None },
    };
    queue.deliver(7, changed("o/r"), 5);
    let id = queue.row("o/r", 1).id;
    // The app was installed anew; the repository is spelled otherwise now.
    queue.deliver(8, changed("o/r"), 6);
    queue.deliver(8, changed("O/r"), 7);
    // Found out by ourselves, which says nothing of the installation.
    assert!(!queue.database.request_pull(&repo_of("O/r"), 1, None, 8).unwrap());
    let row = queue.row("o/r", 1);
    assert_eq!((row.id, row.repo.to_string().as_str(), row.installation, row.wanted), (id, "O/r", Some(8), 3));
    let one = ConcurrencyLimits { of_installation: Some(1), ..ConcurrencyLimits::default() };
    queue.deliver(
        8,
        WebhookEventKind::Pull { repo: repo_of("o/other"), number: 1, about: PullEvent::Changed { head: None } },
        9,
    );
    assert_eq!(queue.turns(100_000, 2, one).len(), 1, "both are of one installation");
}

#[test]
fn a_delivery_counts_once_however_often_it_comes() {
    let queue = Queue::new();
    let what = WebhookEventKind::Pull { repo: repo_of("o/r"), number: 1, about: PullEvent::Changed { head: None } };
    let ask = WebhookEvent { installation: Some(7), what };
    let delivery = NewDelivery { guid: "g".to_owned(), event: "pull_request".to_owned(), ask, at_ms: 5 };
    let mut came: Vec<Accepted> = (0..3).map(|_| queue.database.accept(delivery.clone()).unwrap()).collect();
    let (done, is_done) = std::sync::mpsc::channel();
    queue.database.accept_then(delivery, move |accepted| done.send(accepted).unwrap());
    came.push(is_done.recv().unwrap().unwrap());
    assert_eq!(came, [Accepted::New, Accepted::Known, Accepted::Known, Accepted::Known]);
    let row = queue.row("O/R", 1);
    assert_eq!((row.wanted, row.done, row.installation), (1, 0, Some(7)));
    assert!(queue.database.knows_delivery("g").unwrap());
    assert_eq!(queue.forget_before(5).n_deliveries, 0);
    assert!(queue.database.knows_delivery("g").unwrap());
    assert_eq!(queue.forget_before(6).n_deliveries, 1);
    assert!(!queue.database.knows_delivery("g").unwrap());
}

#[test]
fn a_review_waits_until_the_pushes_have_settled_but_not_for_ever() {
    let queue = Queue::new();
    queue.push("o/r", 1, 1_000);
    queue.push("o/r", 1, 2_000);
    assert_eq!(queue.candidates(3_999), Vec::<String>::new());
    assert_eq!(queue.candidates(4_000), ["o/r#1"]);
    for at in 2..50 {
        queue.push("o/r", 1, at * 1_000);
    }
    assert_eq!(queue.candidates(30_999), Vec::<String>::new());
    assert_eq!(queue.candidates(31_000), ["o/r#1"]);
}

#[test]
fn one_piece_of_work_carries_out_all_that_was_asked_until_it_began() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    queue.push("o/r", 1, 10_000);
    assert_eq!(queue.database.heartbeat_pull(claim.token, 10_100).unwrap(), Ok(Heartbeat { wanted: 3 }));
    queue.finish(&claim, Vec::new());
    let row = queue.row("o/r", 1);
    assert_eq!((row.wanted, row.done), (3, 2));
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    assert_eq!(queue.candidates(20_000), ["o/r#1"]);
    let claim = queue.claim("o/r", 1, 20_000);
    queue.finish(&claim, Vec::new());
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    assert_eq!(queue.candidates(30_000), Vec::<String>::new());
    assert_eq!(queue.database.n_due_pulls(30_000).unwrap(), 0);
}

#[test]
fn a_lost_lease_changes_nothing() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let late = queue.claim("o/r", 1, 10_000);
    assert_eq!(queue.bid(late.pull.id, 10_100), None);
    let now = queue.claim("o/r", 1, 10_101);
    let database = &queue.database;
    assert_eq!(database.finish_review(late.token, finished(1)).unwrap(), Err(LeaseLost));
    assert_eq!(database.heartbeat_pull(late.token, 99_999).unwrap(), Err(LeaseLost));
    assert_eq!(database.release_pull(late.token, 0).unwrap(), Err(LeaseLost));
    assert_eq!(database.put_posts(late.token, vec![post(A, PostKind::Note, "a", "b")]).unwrap(), Err(LeaseLost));
    assert_eq!(database.fail_review(late.token, "no", 0).unwrap(), Err(LeaseLost));
    assert_eq!(database.take_quota(late.token, quota::by("ada", (None, None), 0)).unwrap(), Err(LeaseLost));
    assert!(!database.holds_pull(late.token, 10_101).unwrap());
    assert!(database.holds_pull(now.token, 10_201).unwrap() && !database.holds_pull(now.token, 10_202).unwrap());
    assert_eq!(database.pull(now.pull.id).unwrap().unwrap(), now.pull);
    assert_eq!(queue.posts(now.pull.id), Vec::<String>::new());
}

#[test]
fn repositories_and_installations_take_turns() {
    let queue = Queue::new();
    for number in 1..=50 {
        queue.push("big/one", number, 0);
    }
    queue.push("big/two", 1, 5);
    let what = WebhookEventKind::Pull { repo: repo_of("small/x"), number: 1, about: PullEvent::Changed { head: None } };
    queue.deliver(2, what, 9);
    let served = queue.turns(20_000, 4, ConcurrencyLimits::default());
    assert_eq!(served, ["big/one#1", "small/x#1", "big/two#1", "big/one#2"]);
}

#[test]
fn a_review_its_posts_and_the_counter_are_stored_together() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    let head = Sha::parse(A).unwrap();
    let finished = Finished {
        record: Some(failed_run()),
        reviewed: Some(ReviewKey { head: head.clone(), key: "k".to_owned() }),
        posts: vec![post(A, PostKind::Check, A, "failed"), post(A, PostKind::Summary, "", "hello")],
        ..finished(1)
    };
    let run = queue.database.finish_review(claim.token, finished).unwrap().unwrap().unwrap();
    let row = queue.row("o/r", 1);
    assert_eq!(
        (row.done, row.run, row.reviewed_head, row.reviewed_as.as_deref()),
        (1, None, Some(head), Some("k")),
        "a failed run is not the one that people speak of"
    );
    assert_eq!(run, 1);
    let due = queue.database.posts_due(row.id).unwrap();
    assert_eq!(due.iter().map(|row| row.post.kind).collect::<Vec<_>>(), [PostKind::Summary, PostKind::Check]);
    // On a server they have their numbers a moment later.
    assert!(queue.database.wait_for_events(1, std::time::Duration::from_secs(60)).unwrap());
    let events = queue.database.events_after(0, 9, None).unwrap();
    let events: Vec<String> =
        events.into_iter().map(|row| format!("{} {}", row.event.kind, row.event.payload)).collect();
    insta::assert_snapshot!(events.join("\n"), @r#"
    review:stored {"run":1,"repository":"r","subject":"pr 1"}
    pull:reviewed {"repository":"o/r","number":1,"run":1}
    "#);
}

#[test]
fn a_post_goes_from_due_to_done_and_keeps_its_number_when_it_is_said_anew() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    queue.finish(&claim, vec![post(A, PostKind::Summary, "", "one")]);
    let (database, pull) = (&queue.database, claim.pull.id);
    let id = database.posts_due(pull).unwrap()[0].id;
    database.begin_post(claim.token, id, 77).unwrap().unwrap();
    let row = database.posts_due(pull).unwrap().remove(0);
    assert_eq!((row.state, row.since_ms, row.attempt, row.remote_id), (PostState::Posting, 77, 1, None));
    database.end_post(claim.token, id, Some(5)).unwrap().unwrap();
    assert_eq!(database.posts_due(pull).unwrap(), []);
    database.put_posts(claim.token, vec![post(B, PostKind::Summary, "", "two")]).unwrap().unwrap();
    let row = database.posts_due(pull).unwrap().remove(0);
    assert_eq!((row.id, row.post.body.as_str(), row.remote_id, row.attempt), (id, "two", Some(5), 0));
    database.end_post(claim.token, id, None).unwrap().unwrap();
    database.put_posts(claim.token, vec![post(B, PostKind::Summary, "", "two")]).unwrap().unwrap();
    assert_eq!(database.posts_due(pull).unwrap(), [], "it says so already");
    assert_eq!(database.posts(pull).unwrap()[0].remote_id, Some(5));
    database.cancel_post(claim.token, id, "gone").unwrap().unwrap();
    assert_eq!(queue.posts(pull), ["summary : two (Cancelled)"]);
}

#[test]
fn a_refused_post_is_retried_and_then_given_up() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    queue.finish(&claim, vec![post(A, PostKind::Note, "", "x")]);
    let id = queue.database.posts_due(claim.pull.id).unwrap()[0].id;
    let tries: Vec<bool> =
        (0..3).map(|_| queue.database.refuse_post(claim.token, id, "no", 3).unwrap().unwrap()).collect();
    assert_eq!(tries, [true, true, false]);
    assert_eq!(queue.posts(claim.pull.id), ["note : x (Cancelled)"]);
}

#[test]
fn posts_of_long_ago_are_forgotten_but_for_the_summary() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    let kinds = [PostKind::Summary, PostKind::Check, PostKind::Note, PostKind::Reply];
    queue.finish(&claim, kinds.map(|kind| post(A, kind, "", "x")).to_vec());
    for row in queue.database.posts_due(claim.pull.id).unwrap() {
        let at = if row.post.kind == PostKind::Note { 900 } else { 100 };
        queue.database.begin_post(claim.token, row.id, at).unwrap().unwrap();
        if row.post.kind != PostKind::Reply {
            queue.database.end_post(claim.token, row.id, None).unwrap().unwrap();
        }
    }
    assert_eq!(queue.forget_before(500).n_posts, 0, "somebody is at work");
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    assert_eq!(queue.forget_before(500).n_posts, 1);
    let left = ["summary : x (Done)", "note : x (Done)", "reply : x (Posting)"];
    assert_eq!(queue.posts(claim.pull.id), left);
}

#[test]
fn a_newer_head_cancels_what_was_not_posted_and_ends_the_checks_of_others() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    let begun = NewPost { is_final: false, ..post(A, PostKind::Check, A, "begun") };
    let reply = post(A, PostKind::Reply, "c1", "yes");
    let posts = vec![post(A, PostKind::Review, A, "old"), begun, reply];
    queue.database.put_posts(claim.token, posts).unwrap().unwrap();
    let head = Sha::parse(B).unwrap();
    queue.database.take_up_head(claim.token, &head, "main", "superseded").unwrap().unwrap();
    insta::assert_snapshot!(queue.posts(claim.pull.id).join("\n"), @r"
    review aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: old (Cancelled)
    check aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: superseded (Due)
    reply c1: yes (Due)
    ");
    assert_eq!(queue.row("o/r", 1).head, Some(head));
}

#[test]
fn a_command_is_heard_once_and_only_from_people() {
    let queue = Queue::new();
    let said = |by: Actor, place: CommentRef, command: Command| PullEvent::Commanded { by, comment: place, command };
    let dismiss = Command::Dismiss { finding: Some("F001".to_owned()), reason: "ours".to_owned(), everywhere: false };
    for _ in 0..2 {
        queue.about("o/r", 1, said(person(), CommentRef::Conversation(5), Command::Help), 1);
        queue.about("o/r", 1, said(person(), CommentRef::Thread { comment: 5, root: 4 }, dismiss.clone()), 2);
        let bot = Actor { login: "dependabot[bot]".to_owned(), is_bot: true };
        queue.about("o/r", 1, said(bot, CommentRef::Conversation(6), Command::Review), 3);
    }
    let row = queue.row("o/r", 1);
    let told = queue.database.due_bot_commands(row.id).unwrap();
    let place = CommentRef::Thread { comment: 5, root: 4 };
    let expected = [
        BotCommand::Comment { place: CommentRef::Conversation(5), command: Command::Help },
        BotCommand::Comment { place, command: dismiss },
    ];
    assert_eq!(told.iter().map(|row| row.told.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(row.wanted, 0);

    let claim = queue.claim("o/r", 1, 10);
    let answered = BotReply {
        told: told[0].id,
        told_ms: told[0].at_ms,
        who: "ann".to_owned(),
        effect: BotEffect::Review { whole: true },
        posts: vec![post(A, PostKind::Reply, "c5", "yes")],
        at_ms: 11,
    };
    for _ in 0..2 {
        queue.database.store_bot_reply(claim.token, answered.clone()).unwrap().unwrap();
    }
    let row = queue.row("o/r", 1);
    assert!(row.is_asked_again() && row.is_asked_whole());
    assert_eq!((row.wanted, queue.posts(row.id).len()), (1, 1));
    assert_eq!(queue.database.due_bot_commands(row.id).unwrap().len(), 1);
}

#[test]
fn a_thread_that_is_resolved_again_while_the_worker_answers_is_answered_again() {
    let queue = Queue::new();
    let resolve = |login: &str, at_ms| {
        let by = Actor { login: login.to_owned(), is_bot: false };
        queue.about("o/r", 1, PullEvent::Thread { by, comment: 4, resolved: true }, at_ms);
    };
    resolve("mallory", 1);
    let claim = queue.claim("o/r", 1, 10);
    let told = queue.database.due_bot_commands(claim.pull.id).unwrap().remove(0);
    resolve("ada", 2);
    let (told_ms, who) = (told.at_ms, told.who);
    let reply = BotReply { told: told.id, told_ms, who, effect: BotEffect::Nothing, posts: Vec::new(), at_ms: 11 };
    queue.database.store_bot_reply(claim.token, reply).unwrap().unwrap();
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    let due = queue.database.due_bot_commands(claim.pull.id).unwrap();
    assert_eq!(due.iter().map(|row| row.who.as_str()).collect::<Vec<_>>(), ["ada"]);
    assert_eq!(queue.candidates(20), ["o/r#1"]);
}

#[test]
fn a_thread_is_as_it_was_said_last() {
    let queue = Queue::new();
    for resolved in [true, false] {
        queue.about("o/r", 1, PullEvent::Thread { by: person(), comment: 9, resolved }, 1);
    }
    let told = queue.database.due_bot_commands(queue.row("o/r", 1).id).unwrap();
    assert_eq!(
        told.iter().map(|row| row.told.clone()).collect::<Vec<_>>(),
        [BotCommand::ThreadResolved { root: 9, resolved: false }]
    );
}

#[test]
fn a_push_to_the_base_is_looked_at_once_for_each_open_pull_request_of_it() {
    let queue = Queue::new();
    for number in 1..=2 {
        queue.push("o/r", number, 0);
        let claim = queue.claim("o/r", number, 10_000);
        let branch = if number == 1 { "main" } else { "next" };
        queue.database.take_up_head(claim.token, &Sha::parse(A).unwrap(), branch, "").unwrap().unwrap();
        queue.finish(&claim, Vec::new());
        queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    }
    for at in [20_000, 40_000] {
        queue.deliver(1, WebhookEventKind::Pushed { repo: repo_of("o/r"), branch: "main".to_owned() }, at);
    }
    assert_eq!(queue.candidates(79_999), Vec::<String>::new());
    assert_eq!(queue.candidates(80_000), ["o/r#1"]);
}

#[test]
fn nothing_is_owed_where_the_app_was_removed() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    queue.push("o/s", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    queue.database.put_posts(claim.token, vec![post(A, PostKind::Note, "", "x")]).unwrap().unwrap();
    queue.deliver(1, WebhookEventKind::Removed { repos: vec![repo_of("o/r")] }, 1);
    assert_eq!(queue.candidates(20_000), ["o/s#1"]);
    assert_eq!(queue.database.heartbeat_pull(claim.token, 1).unwrap(), Err(LeaseLost));
    queue.deliver(1, WebhookEventKind::Removed { repos: Vec::new() }, 1);
    assert_eq!(queue.candidates(20_000), Vec::<String>::new());
    // It may come back.
    queue.push("o/r", 1, 0);
    assert_eq!(queue.candidates(20_000), ["o/r#1"]);
}

#[test]
fn a_failed_review_backs_off_and_a_push_resets_it() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    queue.database.fail_review(claim.token, "no answer", 30_000).unwrap().unwrap();
    assert_eq!(queue.row("o/r", 1).attempt, 1);
    assert_eq!(queue.candidates(29_999), Vec::<String>::new());
    queue.push("o/r", 1, 11_000);
    assert_eq!(queue.row("o/r", 1).attempt, 0);
    assert_eq!(queue.candidates(13_000), ["o/r#1"]);
    let claim = queue.claim("o/r", 1, 13_000);
    queue.database.put_off_review(claim.token, 20_000).unwrap().unwrap();
    assert_eq!((queue.candidates(19_999).len(), queue.candidates(20_000).len()), (0, 1));
    assert!(queue.row("o/r", 1).problem.is_some());
    let claim = queue.claim("o/r", 1, 20_000);
    queue.database.release_after_failure(claim.token, "down", 25_000).unwrap().unwrap();
    assert_eq!((queue.candidates(24_999).len(), queue.candidates(25_000).len()), (0, 1));
    assert_eq!((queue.row("o/r", 1).troubles, queue.row("o/r", 1).attempt), (1, 0));
}

#[test]
fn the_claims_of_who_is_gone_are_given_back() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    assert_eq!(queue.database.lease_owners(store::queue::Queue::Pulls).unwrap(), ["me"]);
    assert_eq!(queue.database.release_owner(store::queue::Queue::Pulls, "me").unwrap(), 1);
    assert_eq!(queue.database.heartbeat_pull(claim.token, 1).unwrap(), Err(LeaseLost));
    assert_eq!(queue.candidates(10_000), ["o/r#1"]);
}

/// An event in the life of two leases.
#[derive(Debug, Clone)]
enum Step {
    Push(u64),
    Claim(u64),
    Heartbeat(usize),
    Finish(usize),
    LetGo(usize),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..=2_u64).prop_map(Step::Push),
        (1..=2_u64).prop_map(Step::Claim),
        (0..8_usize).prop_map(Step::Heartbeat),
        (0..8_usize).prop_map(Step::Finish),
        (0..8_usize).prop_map(Step::LetGo),
        prop_oneof![Just(10_u64), Just(101), Just(3_000)].prop_map(Step::Wait),
    ]
}

/// What a pull request must look like, in a few lines.
#[derive(Debug, Default, Clone)]
struct Model {
    wanted: i64,
    done: i64,
    since: u64,
    review_at: u64,
    /// The index of the claim that holds it, and until when.
    held: Option<(usize, u64)>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_claim_is_held_by_one_and_nothing_asked_is_forgotten(steps in prop::collection::vec(step(), 1..40)) {
        let queue = Queue::new();
        let mut now = 1_000_000;
        let mut model: BTreeMap<u64, Model> = BTreeMap::new();
        let mut claims: Vec<(u64, Claim)> = Vec::new();
        for step in steps {
            match step {
                Step::Wait(ms) => now += ms,
                Step::Push(number) => {
                    queue.push("o/r", number, now);
                    let pull = model.entry(number).or_default();
                    if pull.wanted == pull.done {
                        pull.since = now;
                    }
                    pull.wanted += 1;
                    pull.review_at = (now + 2_000).min(pull.since + 30_000);
                }
                Step::Claim(number) => {
                    let Some(pull) = model.get_mut(&number) else { continue };
                    let is_free = pull.held.is_none_or(|(_, until)| until < now);
                    let expected = is_free && pull.wanted > pull.done && pull.review_at <= now;
                    let claim = queue.bid(queue.row("o/r", number).id, now);
                    prop_assert_eq!(claim.is_some(), expected);
                    if let Some(claim) = claim {
                        prop_assert!(claims.iter().all(|(_, other)| other.token < claim.token));
                        pull.held = Some((claims.len(), now + 100));
                        claims.push((number, claim));
                    }
                }
                Step::Heartbeat(which) | Step::Finish(which) | Step::LetGo(which) if which < claims.len() => {
                    let (number, claim) = &claims[which];
                    let pull = model.get_mut(number).unwrap();
                    let is_mine = pull.held.is_some_and(|(holder, _)| holder == which);
                    let went = match step {
                        Step::Heartbeat(_) => queue.database.heartbeat_pull(claim.token, now + 100).unwrap().map(drop),
                        Step::Finish(_) => {
                            let finished = finished(claim.pull.wanted);
                            queue.database.finish_review(claim.token, finished).unwrap().map(drop)
                        }
                        _ => queue.database.release_pull(claim.token, 0).unwrap(),
                    };
                    prop_assert_eq!(went.is_ok(), is_mine);
                    match (is_mine, &step) {
                        (true, Step::Heartbeat(_)) => pull.held = Some((which, now + 100)),
                        (true, Step::Finish(_)) => pull.done = pull.done.max(claim.pull.wanted),
                        (true, _) => pull.held = None,
                        (false, _) => {}
                    }
                }
                Step::Heartbeat(_) | Step::Finish(_) | Step::LetGo(_) => {}
            }
            for (number, pull) in &model {
                let row = queue.row("o/r", *number);
                prop_assert_eq!((row.wanted, row.done), (pull.wanted, pull.done));
            }
        }
    }
}
