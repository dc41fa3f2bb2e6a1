//! Pull requests from a delivery to the published posts, on a host in memory and a real git server.
//!
//! Nothing waits: the clock is set by hand, and the work is done step by step on the thread of the test.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use insta::assert_snapshot;
use tollgate_core::pull::Repo;
use tollgate_core::pull::command::Command;
use tollgate_core::pull::webhook_event::{Actor, CommentRef, PullEvent, WebhookEvent, WebhookEventKind};
use tollgate_core::sha::Sha;
use tollgate_engine::board::Home;
use tollgate_engine::config::Layer;
use tollgate_engine::forge::host::{FailedDelivery, HostErrorKind, Pull};
use tollgate_engine::pulls::{Pulls, Site, Stepped};
use tollgate_engine::store::Database;
use tollgate_engine::store::pulls::{ConcurrencyLimits, NewDelivery};

use crate::remote::server::Server;
use crate::scratch::Scratch;

mod hub;
mod killed;
mod posted;
mod trouble;

use hub::{Fault, Hub, Shared};

/// A change that a rule blocks.
const BAD: &str = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n";

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(1_000_000_000) };
}

fn now() -> u64 {
    NOW.get()
}

fn later(ms: u64) {
    NOW.set(NOW.get() + ms);
}

/// A repository on a host, with one pull request.
struct World {
    scratch: Scratch,
    _server: Server,
    hub: Arc<Hub>,
    pulls: Pulls,
    n_delivered: Cell<u32>,
}

impl World {
    fn new() -> Self {
        Self::with_settings("")
    }

    /// With these settings at the base.
    fn with_settings(settings: &str) -> Self {
        let scratch = Scratch::with_commit();
        if !settings.is_empty() {
            scratch.commit(".tollgate.toml", settings);
        }
        for setting in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
            scratch.git(&["config", setting, "true"]);
        }
        scratch.git(&["switch", "-q", "-c", "feature"]);
        let server = Server::start(&scratch.beside(""), None);
        let hub = Hub::new(format!("{}/repo", server.url));
        let pulls = open(&scratch, &hub);
        Self { scratch, _server: server, hub, pulls, n_delivered: Cell::new(0) }
    }

    fn sha(&self, name: &str) -> Sha {
        Sha::parse(&self.scratch.git(&["rev-parse", name])).unwrap()
    }

    /// The author pushes a new head, without a delivery.
    fn push(&self, title: &str) -> Sha {
        self.scratch.git(&["update-ref", "refs/pull/1/head", "HEAD"]);
        let (head, base) = (self.sha("HEAD"), self.sha("main"));
        let before = self.hub.state().pulls.get(&1).cloned();
        let pull = Pull {
            number: 1,
            title: title.to_owned(),
            body: String::new(),
            author: before.as_ref().map_or_else(|| "ann".to_owned(), |pull| pull.author.clone()),
            is_open: true,
            is_draft: before.is_some_and(|pull| pull.is_draft),
            head: head.clone(),
            base_branch: "main".to_owned(),
            base,
            from: Some(repo()),
            size: (1, 1),
        };
        self.hub.state().pulls.insert(1, pull);
        head
    }

    fn edit(&self, change: impl FnOnce(&mut Pull)) {
        change(self.hub.state().pulls.get_mut(&1).unwrap());
    }

    fn deliver(&self, about: PullEvent) {
        self.n_delivered.set(self.n_delivered.get() + 1);
        let what = WebhookEventKind::Pull { repo: repo(), number: 1, about };
        let ask = WebhookEvent { installation: Some(3), what };
        let guid = format!("guid-{}", self.n_delivered.get());
        let delivery = NewDelivery { guid, event: "pull_request".to_owned(), ask, at_ms: now() };
        self.pulls.database().accept(delivery).unwrap();
    }

    fn changed(&self) {
        self.deliver(PullEvent::Changed { head: None });
    }

    /// A person comments, with a delivery.
    fn say(&self, login: &str, command: Command) -> u64 {
        let comment = self.hub.state().say(login, "@gate …");
        let by = Actor { login: login.to_owned(), is_bot: false };
        self.deliver(PullEvent::Commanded { by, comment: CommentRef::Conversation(comment), command });
        comment
    }

    /// Commits a file, pushes it, and has all work done.
    fn push_file(&self, path: &str, text: &str) -> Sha {
        self.scratch.commit(path, text);
        let head = self.push("feat: a change");
        self.changed();
        self.settle();
        head
    }

    /// Runs all jobs, as time goes by.
    #[track_caller]
    fn settle(&self) {
        let mut problems = Vec::new();
        for _ in 0..60 {
            later(3_000);
            match self.pulls.step("me") {
                Ok(Stepped::Idle) if self.pulls.database().n_due_pulls(now() + 1_000_000).unwrap() == 0 => return,
                Ok(Stepped::Idle | Stepped::Worked(_)) => {}
                Err(failure) => problems.push(failure.message),
            }
        }
        panic!("it never ends: {problems:?}");
    }

    /// What a person sees, shortened.
    fn seen(&self) -> String {
        let state = self.hub.state();
        let first = |body: &str| {
            let line = |text: &&str| !text.is_empty() && !text.starts_with("<details") && !text.starts_with("</");
            let found = body.lines().find(line).unwrap_or_default();
            found.replace("<summary>", "").replace("</summary>", "")
        };
        let mut lines: Vec<String> = Vec::new();
        let ours = |login: &str| if login == "gate[bot]" { "" } else { "(another) " };
        for comment in &state.comments {
            lines.push(format!("comment: {}{}", ours(&comment.author.login), first(&comment.body)));
        }
        for (act, review) in &state.reviews {
            lines.push(format!("review {act:?} of {}", self.name(review.head.as_ref().unwrap())));
        }
        for (inline, comment) in &state.line_comments {
            let at = inline.at.map_or_else(|| "file".to_owned(), |at| at.line.to_string());
            let resolved = if state.resolved.contains(&comment.id) { ", resolved" } else { "" };
            lines.push(format!("at {}:{at}: {}{resolved}", inline.path, first(&comment.body)));
        }
        for shown in &state.checks {
            let how = shown.check.conclusion.as_deref().unwrap_or("goes on");
            let n = shown.annotations.len();
            lines.push(format!("check of {}: {how}, {} ({n} annotations)", self.name(&shown.head), shown.title));
        }
        lines.join("\n")
    }

    /// What a commit is called in tests.
    fn name(&self, sha: &Sha) -> String {
        self.scratch.git(&["log", "-1", "--format=%s", sha.as_str()])
    }

    /// How often the host was asked to change something.
    fn n_writes(&self) -> usize {
        let reads = ["pull", "open_pulls", "permission", "comments", "reviews", "line_comments", "threads", "checks"];
        self.hub.state().calls.iter().filter(|call| !reads.contains(call)).count()
    }
}

/// Which calls go wrong, and how: every other one by turns, or with `TOLLGATE_CHAOS` each in every way.
fn wrong(n_calls: usize, faults: &[Fault]) -> Vec<(usize, Fault)> {
    let all = (0..n_calls).flat_map(|call| faults.iter().map(move |fault| (call, fault.clone())));
    if std::env::var_os("TOLLGATE_CHAOS").is_some() {
        return all.collect();
    }
    (0..n_calls).step_by(2).map(|call| (call, faults[call / 2 % faults.len()].clone())).collect()
}

fn repo() -> Repo {
    Repo::parse("o/r").unwrap()
}

fn open(scratch: &Scratch, hub: &Arc<Hub>) -> Pulls {
    let home = Home {
        executable: "/nonexistent".into(),
        config_dir: None,
        variables: Vec::new(),
        flags: Layer::default(),
        data: scratch.beside("data"),
        git: scratch.environment(),
        clock: now,
    };
    let database = Database::open(&scratch.beside("data").join("tollgate.db")).unwrap();
    let (url, check_name) = ("https://github.example".to_owned(), "gate".to_owned());
    let site = Site { url, check_name, public_url: None, concurrency: 2, limits: ConcurrencyLimits::default() };
    Pulls::open(database, home, Arc::new(Shared(Arc::clone(hub))), site).unwrap()
}

fn dismiss(finding: &str, reason: &str) -> Command {
    Command::Dismiss { finding: Some(finding.to_owned()), reason: reason.to_owned(), everywhere: false }
}

#[test]
fn a_pull_request_is_reviewed_and_its_second_push_as_a_delta() {
    let world = World::new();
    world.push_file("a.conf", BAD);
    assert_snapshot!(world.seen(), @"
    comment: Kodiai Review Summary
    review Comment of a.conf
    at a.conf:1: **Major: merge conflict marker**
    check of a.conf: failure, Needs changes -- 1 major finding must be fixed before merging (0 annotations)
    ");
    world.push_file("a.conf", "a\n");
    let head = world.scratch.git(&["rev-parse", "HEAD"]);
    assert_snapshot!(world.seen().replace(&head[..7], "HEAD"), @"
    comment: Kodiai Re-Review Summary
    review Comment of a.conf
    at a.conf:1: **Major: merge conflict marker**, resolved
    at a.conf:1: Resolved in HEAD
    check of a.conf: failure, Needs changes -- 1 major finding must be fixed before merging (0 annotations)
    check of a.conf: success, Blockers resolved -- Ready to merge (0 annotations)
    ");
}

#[test]
fn a_clean_pull_request_gets_a_check_and_nothing_else() {
    let world = World::new();
    world.push_file("a.conf", "a\n");
    assert_snapshot!(world.seen(), @"check of a.conf: success, Approve -- no findings (0 annotations)");
}

#[test]
fn nothing_is_done_twice_for_a_head_that_is_reviewed() {
    let world = World::new();
    world.push_file("a.conf", BAD);
    let (seen, n_writes) = (world.seen(), world.n_writes());
    for _ in 0..3 {
        world.changed();
        world.settle();
    }
    assert_eq!((world.seen(), world.n_writes()), (seen, n_writes));
}

#[test]
fn a_review_that_somebody_asks_for_again_says_nothing_twice() {
    let world = World::new();
    world.push_file("a.conf", BAD);
    world.say("ann", Command::Review);
    world.settle();
    world.say("ann", Command::FullReview);
    world.settle();
    assert_snapshot!(world.seen(), @"
    comment: Kodiai Review Summary
    comment: (another) @gate …
    comment: A review is queued. The check shows its result.
    comment: (another) @gate …
    comment: A full review is queued. The check shows its result.
    review Comment of a.conf
    at a.conf:1: **Major: merge conflict marker**
    check of a.conf: failure, Needs changes -- 1 major finding must be fixed before merging (0 annotations)
    ");
}

#[test]
fn a_newer_push_ends_the_check_of_the_older_head() {
    let world = World::new();
    world.scratch.commit("a.conf", BAD);
    world.push("feat: a");
    world.changed();
    // The check has begun; then the comments cannot be read.
    world.hub.state().faults.insert(5, Fault::Refuse(HostErrorKind::Unavailable));
    later(3_000);
    world.pulls.step("me").unwrap_err();
    assert_eq!(world.hub.state().calls.last(), Some(&"line_comments"));
    world.push_file("b.conf", "b\n");
    assert_snapshot!(world.seen(), @"
    comment: Kodiai Review Summary
    review Comment of b.conf
    at a.conf:1: **Major: merge conflict marker**
    check of a.conf: action_required, Not reviewed: superseded by a newer push (0 annotations)
    check of b.conf: failure, Needs changes -- 1 major finding must be fixed before merging (0 annotations)
    ");
}

#[test]
fn a_head_that_moved_before_anything_was_said_is_not_spoken_of() {
    let world = World::new();
    world.scratch.commit("a.conf", BAD);
    world.push("feat: a");
    world.changed();
    later(3_000);
    // The review is stored, and nothing of it is posted.
    let n_calls = world.hub.state().calls.len();
    for call in n_calls + 5..n_calls + 12 {
        world.hub.state().faults.insert(call, Fault::Refuse(HostErrorKind::Unavailable));
    }
    let _ = world.pulls.step("me");
    world.hub.state().faults.clear();
    world.scratch.commit("a.conf", "a\n");
    // No delivery tells of this push.
    world.push("feat: a");
    world.settle();
    assert_snapshot!(world.seen(), @"
    check of a.conf: action_required, Not reviewed: superseded by a newer push (0 annotations)
    check of a.conf: success, Approve -- no findings (0 annotations)
    ");
}

#[test]
fn a_title_skips_the_review_once_per_head_and_passes_only_for_who_may_write() {
    let world = World::new();
    for (author, text) in [("ann", "a\n"), ("eve", "b\n")] {
        world.scratch.commit("a.conf", text);
        world.push("[no-review] a");
        world.edit(|pull| pull.author = author.to_owned());
        for _ in 0..2 {
            world.changed();
            world.settle();
        }
    }
    assert_snapshot!(world.seen(), @"
    comment: Review skipped per `[no-review]` in PR title.
    comment: The title says `[no-review]`, but its author has no write access to this repository and cannot skip the review. Remove `[no-review]` from the title, or ask a maintainer to write `@gate review`.
    check of a.conf: neutral, Skipped by author (0 annotations)
    check of a.conf: action_required, Not reviewed: the author cannot skip the review (0 annotations)
    ");
}

#[test]
fn a_project_may_say_that_no_title_skips_a_review() {
    let world = World::with_settings("[review]\nallow_no_review = false\n");
    world.scratch.commit("a.conf", BAD);
    world.push("[no-review] a");
    world.changed();
    world.settle();
    assert_snapshot!(world.seen(), @"
    comment: Kodiai Review Summary
    review Comment of a.conf
    at a.conf:1: **Major: merge conflict marker**
    check of a.conf: failure, Needs changes -- 1 major finding must be fixed before merging (0 annotations)
    ");
}

#[test]
fn a_draft_waits_until_it_is_ready() {
    let world = World::new();
    world.scratch.commit("a.conf", "a\n");
    world.push("feat: a");
    world.edit(|pull| pull.is_draft = true);
    world.changed();
    world.settle();
    assert_snapshot!(world.seen(), @"check of a.conf: action_required, Not reviewed: this is a draft (0 annotations)");
    world.edit(|pull| pull.is_draft = false);
    world.changed();
    world.settle();
    assert_snapshot!(world.seen(), @"check of a.conf: success, Approve -- no findings (0 annotations)");
}

#[test]
fn a_paused_pull_request_is_not_reviewed_until_it_is_resumed() {
    let world = World::new();
    world.push_file("a.conf", "a\n");
    world.say("ann", Command::Pause);
    world.settle();
    world.push_file("a.conf", "b\n");
    world.say("eve", Command::Resume);
    world.settle();
    assert_snapshot!(world.seen(), @"
    comment: (another) @gate …
    comment: Paused: pushes are not reviewed until you write `@gate resume`. Write `@gate review` for a single review.
    comment: (another) @gate …
    check of a.conf: success, Approve -- no findings (0 annotations)
    check of a.conf: action_required, Not reviewed: reviews are paused (0 annotations)
    ");
    world.say("ann", Command::Resume);
    world.settle();
    assert_snapshot!(world.seen(), @"
    comment: (another) @gate …
    comment: Paused: pushes are not reviewed until you write `@gate resume`. Write `@gate review` for a single review.
    comment: (another) @gate …
    comment: (another) @gate …
    comment: Resumed: every push is reviewed again, starting with the current head.
    check of a.conf: success, Approve -- no findings (0 annotations)
    check of a.conf: success, Approve -- no findings (0 annotations)
    ");
}

#[test]
fn a_dismissed_finding_opens_the_gate_without_another_review() {
    let world = World::new();
    world.push_file("a.conf", BAD);
    world.say("eve", dismiss("F001", "mine"));
    world.say("ann", dismiss("F009", "mine"));
    world.say("ann", dismiss("F001", ""));
    world.settle();
    world.say("ann", dismiss("F001", "it shows what markers look like"));
    world.settle();
    assert_snapshot!(world.seen(), @"
    comment: :green_circle: **Approve** -- no findings; 1 blocking finding suppressed by a dismissal by ann: it shows what markers look like
    comment: (another) @gate …
    comment: (another) @gate …
    comment: (another) @gate …
    comment: No finding matches `F009`. Findings:
    comment: A finding needs a reason to be dismissed: `@gate dismiss f-f458d0ee <reason>`
    comment: (another) @gate …
    comment: Dismissed: **merge conflict marker** at a.conf (1). It stays dismissed while its code is unchanged. Reason: `it shows what markers look like`
    review Comment of a.conf
    at a.conf:1: **Major: merge conflict marker**
    check of a.conf: success, Approve -- no findings; 1 blocking finding suppressed by a dismissal by ann: it shows what markers look like (0 annotations)
    ");
    // It stays so.
    world.push_file("b.conf", "b\n");
    assert_snapshot!(world.seen(), @"
    comment: :green_circle: **Approve** -- no findings; 1 blocking finding suppressed by a dismissal by ann: it shows what markers look like
    comment: (another) @gate …
    comment: (another) @gate …
    comment: (another) @gate …
    comment: No finding matches `F009`. Findings:
    comment: A finding needs a reason to be dismissed: `@gate dismiss f-f458d0ee <reason>`
    comment: (another) @gate …
    comment: Dismissed: **merge conflict marker** at a.conf (1). It stays dismissed while its code is unchanged. Reason: `it shows what markers look like`
    review Comment of a.conf
    at a.conf:1: **Major: merge conflict marker**
    check of a.conf: success, Approve -- no findings; 1 blocking finding suppressed by a dismissal by ann: it shows what markers look like (0 annotations)
    check of b.conf: success, Approve -- no findings; 1 blocking finding suppressed by a dismissal by ann: it shows what markers look like (0 annotations)
    ");
}

#[test]
fn a_thread_that_is_resolved_with_words_is_a_dismissal_and_reopening_it_withdraws_that() {
    let world = World::new();
    world.push_file("a.conf", BAD);
    let root = world.hub.state().line_comments[0].1.id;
    let by = |login: &str| Actor { login: login.to_owned(), is_bot: false };
    world.deliver(PullEvent::Thread { by: by("eve"), comment: root, resolved: true });
    world.settle();
    assert!(world.seen().contains("failure"), "a stranger decides nothing: {}", world.seen());
    // A blocker is not dismissed by a click, which gives no reason.
    world.deliver(PullEvent::Thread { by: by("ann"), comment: root, resolved: true });
    world.settle();
    let seen = world.seen();
    assert!(
        seen.contains("failure") && seen.contains("a blocking finding is not dismissed without a reason"),
        "{seen}"
    );
    let mut state = world.hub.state();
    let (inline, mut reply) = state.line_comments[0].clone();
    reply.id += 5000;
    (reply.author.login, reply.author.app, reply.author.is_bot) = ("ann".to_owned(), None, false);
    (reply.body, reply.answers) = ("It shows what markers look like.".to_owned(), Some(root));
    state.line_comments.push((inline, reply));
    drop(state);
    world.deliver(PullEvent::Thread { by: by("ann"), comment: root, resolved: true });
    world.settle();
    let seen = world.seen();
    assert!(seen.contains("check of a.conf: success"), "{seen}");
    world.deliver(PullEvent::Thread { by: by("ann"), comment: root, resolved: false });
    world.settle();
    let seen = world.seen();
    assert!(seen.contains("check of a.conf: failure"), "{seen}");
}

#[test]
fn help_and_explanations_need_no_permission() {
    let world = World::new();
    world.push_file("a.conf", BAD);
    world.say("eve", Command::Help);
    world.say("eve", Command::Explain { finding: Some("F001".to_owned()) });
    world.say("eve", Command::Unknown { words: "reveiw".to_owned() });
    world.settle();
    assert_snapshot!(world.seen(), @"
    comment: Kodiai Review Summary
    comment: (another) @gate …
    comment: (another) @gate …
    comment: (another) @gate …
    comment: | command, at the beginning of a line | effect |
    comment: **Major: merge conflict marker**
    comment: Unknown command `reveiw`. Did you mean `@gate review`?
    review Comment of a.conf
    at a.conf:1: **Major: merge conflict marker**
    check of a.conf: failure, Needs changes -- 1 major finding must be fixed before merging (0 annotations)
    ");
}

#[test]
fn a_pull_request_cannot_change_how_it_is_reviewed() {
    let world = World::with_settings("[review]\nfail_on = 'high'\n");
    world.scratch.commit(".tollgate.toml", "[review]\nfail_on = 'never'\n[rules]\ndisable = ['*']\n");
    world.push_file("a.conf", &format!("# tollgate:ignore conflict-marker mine\n{BAD}"));
    let seen = world.seen();
    assert!(seen.contains("check of a.conf: failure"), "{seen}");
}

#[test]
fn a_pull_request_cannot_choose_the_rules_by_where_it_begins() {
    let world = World::with_settings("[review]\nfail_on = 'never'\n[rules]\ndisable = ['*']\n");
    world.scratch.git(&["switch", "-q", "main"]);
    world.scratch.commit(".tollgate.toml", "[review]\nfail_on = 'low'\n");
    world.scratch.git(&["switch", "-q", "feature"]);
    world.push_file("a.conf", BAD);
    assert!(world.seen().contains("check of a.conf: failure, Needs changes -- 1 major finding"), "{}", world.seen());
}

#[test]
fn a_review_that_cannot_be_made_is_tried_again_and_then_said_to_have_failed() {
    let world = World::new();
    // This one is scanned by the program, which is not there.
    world.push_file("a.js", "eval(input);\n");
    assert_snapshot!(world.seen(), @"check of a.js: failure, The review failed (0 annotations)");
    let problem = world.pulls.database().pull(1).unwrap().unwrap().problem.unwrap();
    assert!(problem.contains("/nonexistent"), "{problem}");
}

#[test]
fn a_mark_that_somebody_else_wrote_means_nothing() {
    let world = World::new();
    world.scratch.commit("a.conf", BAD);
    let head = world.push("feat: a");
    let forged = format!("<!-- tollgate:summary head={head} -->\n\n<!-- tollgate:review head={head} -->");
    world.hub.state().say("eve", &forged);
    world.changed();
    world.settle();
    assert_snapshot!(world.seen(), @"
    comment: (another) <!-- tollgate:summary head=a74d9290fd12608a07e090850293d2221e779c05 -->
    comment: Kodiai Review Summary
    review Comment of a.conf
    at a.conf:1: **Major: merge conflict marker**
    check of a.conf: failure, Needs changes -- 1 major finding must be fixed before merging (0 annotations)
    ");
}

#[test]
fn a_closed_pull_request_is_left_alone() {
    let world = World::new();
    world.scratch.commit("a.conf", BAD);
    world.push("feat: a");
    world.edit(|pull| pull.is_open = false);
    world.deliver(PullEvent::Closed);
    world.settle();
    assert_eq!((world.seen().as_str(), world.n_writes()), ("", 0));
}

#[test]
fn a_reopened_pull_request_gets_the_review_that_its_closing_cancelled() {
    let world = World::new();
    world.scratch.commit("a.conf", BAD);
    world.push("feat: a");
    world.changed();
    later(3_000);
    // The review is stored; then the host does not answer.
    world.hub.state().faults = (6..60).map(|call| (call, Fault::Refuse(HostErrorKind::Unavailable))).collect();
    world.pulls.step("me").unwrap_err();
    world.hub.state().faults.clear();
    world.edit(|pull| pull.is_open = false);
    world.deliver(PullEvent::Closed);
    world.settle();
    assert!(!world.seen().contains("at a.conf"), "{}", world.seen());
    world.edit(|pull| pull.is_open = true);
    world.changed();
    world.settle();
    assert_snapshot!(world.seen(), @"
    comment: Kodiai Review Summary
    review Comment of a.conf
    at a.conf:1: **Major: merge conflict marker**
    check of a.conf: failure, Needs changes -- 1 major finding must be fixed before merging (0 annotations)
    ");
}

#[test]
fn a_draft_that_becomes_ready_has_its_annotations() {
    let world = World::new();
    world.scratch.commit("a.conf", BAD);
    world.push("feat: a");
    for is_draft in [true, false] {
        world.edit(|pull| pull.is_draft = is_draft);
        world.changed();
        world.settle();
    }
    assert!(
        world
            .seen()
            .ends_with("failure, Needs changes -- 1 major finding must be fixed before merging (0 annotations)"),
        "{}",
        world.seen()
    );
}

#[test]
fn reconciliation_finds_heads_without_a_delivery() {
    let world = World::new();
    world.push_file("a.conf", "a\n");
    world.scratch.commit("a.conf", BAD);
    world.push("feat: a");
    world.hub.state().failed =
        vec![FailedDelivery { id: 8, guid: "new".to_owned() }, FailedDelivery { id: 9, guid: "guid-1".to_owned() }];
    let found = world.pulls.reconcile(None).unwrap();
    assert_eq!((found.n_redelivered, found.n_wanted, found.problems), (1, 1, Vec::new()));
    assert_eq!(world.hub.state().redelivered, [8]);
    assert_eq!(world.pulls.reconcile(None).unwrap().n_wanted, 0, "it is wanted already");
    world.settle();
    assert!(world.seen().contains("failure"), "{}", world.seen());
    assert_eq!(world.pulls.reconcile(None).unwrap().n_wanted, 0, "it is reviewed");
}
