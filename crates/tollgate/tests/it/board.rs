//! Features on their way through the gate, with scripted agents and a runner in this very process.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use tollgate_core::board::machine::{Pause, Review, Status};
use tollgate_core::board::{Document, FeatureId, Met, Outcome};
use tollgate_core::gate::Gate;
use tollgate_engine::board::runner::Runner;
use tollgate_engine::board::{Board, NewFeature, Refused};
use tollgate_engine::store::board::{CardFilter, FeatureRow, ProjectRow};

use crate::desk::{BAD, Desk, GOOD, learns, settled, works};
use crate::fake_model::{FakeModel, finding};
use crate::rewordings;
use crate::wait::wait_until;

/// The names of all events in order, without progress events.
fn kinds(board: &Board) -> String {
    let events = board.database().events_after(0, 10_000, None).unwrap();
    let is_progress = |kind: &str| kind.ends_with("-progress") || kind.ends_with("-output");
    let kinds = events.into_iter().map(|row| row.event.kind).filter(|kind| !is_progress(kind));
    kinds.collect::<Vec<_>>().join("\n")
}

/// What became of a feature that was started, and the board that it is on.
struct Ended {
    board: Board,
    project: ProjectRow,
    id: FeatureId,
    row: FeatureRow,
    runner: Runner,
}

impl Ended {
    /// Adds a feature, starts it and waits until it has no queued work.
    #[track_caller]
    fn of(desk: &Desk, title: &str, description: &str) -> Self {
        let board = desk.board();
        let project = board.add_project(&desk.path("project"), None).unwrap();
        let new = NewFeature { title: title.to_owned(), description: description.to_owned(), ..NewFeature::default() };
        let id = board.create(project.id, &new).unwrap().id;
        // Before there is a runner: one that reads the file while it is being written takes it for an edit.
        board.start(project.id, &id, "me").unwrap();
        let runner = run(&board);
        let row = settled(&board, project.id, &id);
        Self { board, project, id, row, runner }
    }

    #[track_caller]
    fn is(&self, status: Status, pause: Option<Pause>, iteration: u32) -> &Self {
        let state = &self.row.state;
        let (found, wanted) = ((&state.status, state.pause, state.iteration), (&status, pause, iteration));
        assert_eq!(found, wanted, "{:?}", self.row.problem);
        self
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let rows = self.board.iterations(self.project.id, &self.id).unwrap();
        rows.iter().map(|row| row.iteration.outcome).collect()
    }

    fn again(self) -> Self {
        let row = settled(&self.board, self.project.id, &self.id);
        Self { row, ..self }
    }

    #[track_caller]
    fn stop(self) {
        assert!(self.runner.stop(Duration::from_secs(20)));
    }
}

fn run(board: &Board) -> Runner {
    Runner::start(board, Arc::new(|_: &str| {})).unwrap()
}

#[test]
fn a_feature_goes_back_with_the_findings_and_passes_when_they_are_dealt_with() {
    let desk = Desk::new(&learns());
    let ended = Ended::of(&desk, "Read JSON", "Reads a text.\n- it must not run it");
    ended.is(Status::WaitingApproval, None, 2);
    assert_eq!(ended.row.state.review, Review::Approved);
    assert_eq!(ended.outcomes(), [Outcome::Rejected, Outcome::Approved]);
    let id = &ended.id;
    let log = desk.git(&["log", "--format=%B", "--reverse", &format!("main..feature/{id}")]).replace(id.as_str(), "ID");
    assert_snapshot!(log, @"
    feat: Read JSON

    Implemented by Automaker auto-mode - Code Review Iteration 1

    Tollgate-Feature: ID
    Tollgate-Iteration: 1
    Tollgate-Attempt: ID-1

    feat: Read JSON

    Implemented by Automaker auto-mode - Code Review Iteration 2
    Fixes from review iteration 1

    Tollgate-Feature: ID
    Tollgate-Iteration: 2
    Tollgate-Attempt: ID-5
    ");
    assert_snapshot!(kinds(&ended.board), @"
    feature:changed
    feature:status-changed
    feature:agent-started
    feature:agent-finished
    feature:code-review-started
    feature:status-changed
    feature:code-review-completed
    feature:code-review-rejected
    feature:status-changed
    feature:agent-started
    feature:agent-finished
    feature:code-review-started
    feature:status-changed
    feature:code-review-completed
    feature:code-review-approved
    feature:status-changed
    ");
    let written = std::fs::read_to_string(desk.features(id).join("feature.json")).unwrap();
    let document = Document::parse(written.as_bytes()).unwrap();
    assert_eq!(document.status(), Status::WaitingApproval);
    assert!(!written.ends_with('\n'));
    let reviews: serde_json::Value = serde_json::from_str(document.raw("codeReviewSpec").unwrap()).unwrap();
    assert_eq!((&reviews["status"], &reviews["currentIteration"]), (&"approved".into(), &2.into()));
    assert_eq!(reviews["iterations"][0]["gitCommitHash"], desk.git(&["rev-parse", &format!("feature/{id}~1")]));
    assert_eq!(reviews["iterations"][1]["gitCommitHash"], desk.git(&["rev-parse", &format!("feature/{id}")]));
    let read = |name: &str| std::fs::read_to_string(desk.features(id).join(name)).unwrap();
    assert!(read("code-review-iteration-1.md").contains("**Status**: ❌ REJECTED"));
    // Rules alone do not answer the criterion.
    assert!(read("code-review-iteration-2.md").contains("**Status**: ⚠️ APPROVED, REQUIREMENTS NOT CHECKED"));
    assert_eq!(
        (&*read("agent-output-iteration-1.md"), &*read("agent-output-iteration-2.md")),
        ("written\n", "fixed\n")
    );
    assert_eq!(read("agent-output.md"), "fixed\n");
    assert_eq!(desk.git(&["status", "--porcelain"]), "?? .automaker/\n?? .worktrees/");
    ended.stop();
}

#[test]
fn after_three_rejections_a_person_decides_and_that_is_recorded() {
    // Each round brings the fault to another file, so that it is another one.
    let script = format!("rm -f b*.js; echo '{BAD}' > b$(git rev-list --count HEAD).js");
    let desk = Desk::new(&script);
    let ended = Ended::of(&desk, "Bad", "");
    ended.is(Status::InProgress, Some(Pause::MaxIterations), 3);
    let last: Vec<String> = kinds(&ended.board).lines().rev().take(4).map(str::to_owned).collect();
    let expected = ["status-changed", "paused", "code-review-max-iterations", "code-review-rejected"];
    assert_eq!(last, expected.map(|name| format!("feature:{name}")));
    let (board, project, id) = (&ended.board, ended.project.id, &ended.id);
    assert!(board.approve(project, id, "me", " ").is_err());
    let row = board.approve(project, id, "me", "it is a sandbox").unwrap();
    assert_eq!(row.state.status, Status::WaitingApproval);
    let rows = board.iterations(project, id).unwrap();
    let overridden = rows.last().unwrap().iteration.overridden.clone().unwrap();
    assert_eq!((overridden.who.as_str(), overridden.reason.as_str()), ("me", "it is a sandbox"));
    assert_eq!(rows.last().unwrap().iteration.outcome, Outcome::Rejected);
    let history = board.history(project, id).unwrap();
    assert_eq!(
        (&*history.last().unwrap().event, history.last().unwrap().note.as_deref()),
        ("approve", Some("it is a sandbox"))
    );
    ended.stop();
}

#[test]
fn the_same_findings_twice_are_no_progress() {
    let desk = Desk::new(&format!("echo '{BAD}' > b.js; git rev-parse HEAD > c.txt"));
    let ended = Ended::of(&desk, "Bad", "");
    ended.is(Status::InProgress, Some(Pause::NoProgress), 2);
    assert_eq!(ended.outcomes(), [Outcome::Rejected, Outcome::Rejected]);
    ended.stop();
}

#[test]
fn the_same_findings_in_other_words_are_no_progress() {
    let n_asked = std::sync::atomic::AtomicUsize::new(0);
    let stub = FakeModel::answering(move |_| {
        let is_first = n_asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        let title = if is_first { "Unknown id crashes the handler" } else { "Undefined entry is dereferenced" };
        answer("REJECTED", "No.", &[finding("High", "b.txt", 2, title, "users[id].profile.load();")], &[])
    });
    // The hunk changes in each round, so that the model is asked about it again.
    let script = "git rev-parse HEAD > b.txt; echo 'users[id].profile.load();' >> b.txt";
    let desk = Desk::configured(script, &with_model(&stub));
    let ended = Ended::of(&desk, "Bad", "");
    ended.is(Status::InProgress, Some(Pause::NoProgress), 2);
    let rows = ended.board.iterations(ended.project.id, &ended.id).unwrap();
    let n_blockers: Vec<usize> = rows.iter().map(|row| row.iteration.findings.len()).collect();
    assert_eq!(n_blockers, [1, 1]);
    assert_eq!(rows[1].iteration.progress_since(&rows[0].iteration), (0, 0));
    ended.stop();
}

#[test]
fn reworded_findings_on_moved_lines_are_no_progress() {
    let stub = rewordings::model();
    let script =
        "dir=$(dirname \"$0\"); mkdir -p src; n=1; [ ! -e src/table.txt ] || n=2; cp \"$dir/$n\" src/table.txt";
    let desk = Desk::configured(script, &with_model(&stub));
    std::fs::write(desk.path("1"), rewordings::code("")).unwrap();
    std::fs::write(desk.path("2"), rewordings::code(rewordings::BETWEEN)).unwrap();
    let ended = Ended::of(&desk, "Table", "");
    let rows = ended.board.iterations(ended.project.id, &ended.id).unwrap();
    let n_blockers: Vec<usize> = rows.iter().map(|row| row.iteration.findings.len()).collect();
    assert_eq!(n_blockers, [60, 60]);
    assert_eq!(rows[1].iteration.progress_since(&rows[0].iteration), (0, 0));
    ended.is(Status::InProgress, Some(Pause::NoProgress), 2);
    ended.stop();
}

#[test]
fn an_agent_that_changes_nothing_is_told_so_once() {
    let desk = Desk::new("echo \"$TASK\" > /dev/null; echo looked around");
    let ended = Ended::of(&desk, "Do nothing", "");
    ended.is(Status::InProgress, Some(Pause::NoProgress), 2);
    assert_eq!(ended.outcomes(), [Outcome::Rejected, Outcome::Rejected]);
    let rows = ended.board.iterations(ended.project.id, &ended.id).unwrap();
    assert_eq!((rows[0].iteration.commit.as_ref(), rows[0].run), (None, None));
    assert_eq!(desk.git(&["rev-list", "--count", "--all"]), "1");
    ended.stop();
}

#[test]
fn an_agent_that_fails_leaves_its_work_and_says_why() {
    let desk = Desk::new("echo half > b.txt; echo 'the disk is on fire' >&2; exit 7");
    let ended = Ended::of(&desk, "Fail", "");
    ended.is(Status::InProgress, Some(Pause::AgentFailed), 1);
    let problem = ended.row.problem.clone().unwrap();
    assert!(problem.contains('7') && problem.contains("the disk is on fire"), "{problem}");
    assert_eq!(std::fs::read_to_string(ended.row.worktree.as_ref().unwrap().join("b.txt")).unwrap(), "half\n");
    assert_eq!(desk.git(&["rev-list", "--count", "--all"]), "1");
    ended.stop();
}

#[test]
fn a_hook_that_refuses_is_told_to_the_agent_and_has_the_last_word() {
    let script =
        "if echo \"$TASK\" | grep -q 'no tabs here'; then printf 'a b\\n' > b.txt; else printf 'a\\tb\\n' > b.txt; fi";
    let desk = Desk::new(script);
    let hook = "#!/bin/sh\nif git diff --cached | grep -q \"$(printf '\\t')b\"; then echo 'no tabs here'; exit 1; fi\n";
    write_hook(&desk, hook);
    let ended = Ended::of(&desk, "Tabs", "");
    ended.is(Status::WaitingApproval, None, 1);
    assert_eq!(desk.git(&["show", &format!("feature/{}:b.txt", ended.id)]), "a b");
    ended.stop();

    let desk = Desk::new("date +%s%N > b.txt");
    write_hook(&desk, "#!/bin/sh\necho never; exit 1\n");
    let ended = Ended::of(&desk, "Never", "");
    ended.is(Status::InProgress, Some(Pause::CommitFailed), 1);
    assert_eq!(desk.git(&["rev-list", "--count", "--all"]), "1");
    ended.stop();
}

fn write_hook(desk: &Desk, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let hook = desk.path("project/.git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, text).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    hook
}

/// An answer in the schema that asks for criteria.
fn answer(decision: &str, summary: &str, findings: &[serde_json::Value], criteria: &[(&str, &str, &str)]) -> String {
    let criteria: Vec<_> = criteria
        .iter()
        .map(|(id, met, evidence)| serde_json::json!({ "id": id, "met": met, "evidence": evidence }))
        .collect();
    serde_json::json!({ "decision": decision, "summary": summary, "findings": findings, "criteria": criteria })
        .to_string()
}

fn with_model(stub: &FakeModel) -> String {
    format!("[review]\nreviewers = ['m']\n{}", stub.table("m"))
}

#[test]
fn criteria_are_checked_against_the_code_one_by_one() {
    let stub = FakeModel::answering(|question| {
        let is_there = question.contains("+export const g");
        let second = if is_there { ("C2", "yes", "b.js:2") } else { ("C2", "no", "there is no `g` in the change") };
        answer("APPROVED", "Looks fine.", &[], &[("C1", "yes", "b.js:1"), second])
    });
    let script = format!(
        "if echo \"$TASK\" | grep -q 'Not met'; then echo 'export const g = 1;' >> b.js; else echo '{GOOD}' > b.js; fi"
    );
    let desk = Desk::configured(&script, &with_model(&stub));
    let ended = Ended::of(&desk, "Two", "Make\n- a function f\n- a number g\n- nobody answers this");
    ended.is(Status::WaitingApproval, None, 2);
    let rows = ended.board.iterations(ended.project.id, &ended.id).unwrap();
    let met = |index: usize| -> Vec<&str> {
        let word = |met: &Met| match met {
            Met::Yes { .. } => "yes",
            Met::No { .. } => "no",
            Met::Unclear { .. } => "unclear",
        };
        rows[index].iteration.compliance.criteria.iter().map(|(_, met)| word(met)).collect()
    };
    assert_eq!((met(0), met(1)), (vec!["yes", "no", "unclear"], vec!["yes", "yes", "unclear"]));
    let first = &rows[0].iteration;
    assert_eq!((first.outcome, &*first.findings[0].title), (Outcome::Rejected, "Not met: a number g"));
    assert!(first.notes.iter().any(|note| note.contains("APPROVED")), "{:?}", first.notes);
    // Nothing that is stored says that the first one passed.
    let run = |index: usize| ended.board.database().review_run(rows[index].run.unwrap()).unwrap().unwrap();
    let words = [0, 1].map(|index| run(index).gate.unwrap());
    assert_eq!(words, [Gate::Closed, Gate::Open].map(|gate| gate.as_str().to_owned()));
    let text = std::fs::read_to_string(desk.features(&ended.id).join("code-review-iteration-1.md")).unwrap();
    for part in [
        "### ✓ Compliant\n- a function f",
        "### ❌ Non-Compliant / Incomplete\n- a number g",
        "### ? Unclear\n- nobody answers this",
    ] {
        assert!(text.contains(part), "{text}");
    }
    ended.stop();
}

#[test]
fn a_later_reviewer_is_asked_about_all_that_the_last_review_left_open() {
    let stub = FakeModel::answering(|question| {
        let is_second = question.contains("P1 High/");
        let met = if is_second { ("C2", "yes", "b.js:2") } else { ("C2", "no", "there is no `g`") };
        let criteria = [("C1", "yes", "b.js:1"), met]
            .map(|(id, met, evidence)| serde_json::json!({ "id": id, "met": met, "evidence": evidence }));
        let mut untested = finding("Medium", "", 1, "Nothing tests the function", "");
        untested["category"] = "Test".into();
        let wrong = finding("High", "b.js", 1, "The text is not checked", "JSON.parse(text)");
        let fixed = ["P1", "P2"]
            .map(|id| serde_json::json!({ "id": id, "state": "fixed", "evidence": "b.js:2 export const g = 1;" }));
        serde_json::json!({
            "criteria": criteria,
            "prior": if is_second { fixed.to_vec() } else { Vec::new() },
            "decision": if is_second { "approved" } else { "rejected" },
            "summary": "what I think",
            "findings": if is_second { Vec::new() } else { vec![untested, wrong] },
        })
        .to_string()
    });
    let script = format!(
        "if echo \"$TASK\" | grep -q 'Not met'; then echo 'export const g = 1;' >> b.js; else echo '{GOOD}' > b.js; fi"
    );
    let desk = Desk::configured(&script, &with_model(&stub));
    let ended = Ended::of(&desk, "Two", "Make\n- a function f\n- a number g");
    ended.is(Status::WaitingApproval, None, 2);
    let asked = crate::fake_model::question(stub.asked().last().unwrap());
    for part in [
        "P1 High/Logic b.js:1: The text is not checked\n  reason: it matters\n  quote: JSON.parse(text)\n",
        "P2 Medium/Test whole change: Nothing tests the function\n  reason: it matters\n",
        "C2: a number g [the last review: not met – there is no `g`]\n",
        &format!("\n1+{GOOD}\n*2+export const g = 1;\n"),
        "- A `*` in front of a number marks a line that changed since the last review",
    ] {
        assert!(asked.contains(part), "{part}\n{asked}");
    }
    ended.stop();
}

#[test]
fn findings_about_the_whole_change_are_one_only_in_equal_or_nearly_equal_words() {
    let whole = |severity: &str, category: &str, title: &str| {
        let mut finding = finding(severity, "", 1, title, "");
        finding["category"] = category.into();
        finding
    };
    let stub = FakeModel::answering(move |question| {
        let open = ["P1", "P2", "P3"].map(|id| serde_json::json!({ "id": id, "state": "open", "evidence": "" }));
        let (findings, prior) = if question.contains("P1 High/") {
            let repeated = whole("Medium", "Doc", "The changelog has no entry");
            (vec![whole("High", "Test", "The public interface was removed"), repeated], open.to_vec())
        } else {
            let untested = whole("High", "Test", "There are no tests");
            let migration = whole("High", "Test", "The migration cannot be undone");
            (vec![untested, migration, whole("Medium", "Doc", "The changelog has no entry.")], Vec::new())
        };
        let (decision, summary) = ("rejected", "what I think");
        serde_json::json!({ "prior": prior, "decision": decision, "summary": summary, "findings": findings })
            .to_string()
    });
    let script = format!("echo '{GOOD}' > b$(git rev-list --count HEAD).js");
    let desk = Desk::configured(&script, &with_model(&stub));
    let ended = Ended::of(&desk, "Whole", "");
    let rows = ended.board.iterations(ended.project.id, &ended.id).unwrap();
    let titles = |index: usize| -> Vec<String> {
        let mut titles: Vec<String> = rows[index].iteration.findings.iter().map(|it| it.title.clone()).collect();
        titles.sort();
        titles
    };
    assert_eq!(titles(0).len(), 3);
    assert_eq!(
        titles(1).iter().map(|title| title.trim_end_matches('.')).collect::<Vec<_>>(),
        [
            "The changelog has no entry",
            "The migration cannot be undone",
            "The public interface was removed",
            "There are no tests"
        ]
    );
    ended.stop();
}

#[test]
fn a_reviewer_that_rejects_needs_a_reason_and_then_has_its_way() {
    let stub = FakeModel::answering(|question| {
        let fixed = question.contains("checked");
        let (decision, summary) = if fixed { ("APPROVED", "Good.") } else { ("REJECTED", "The input is not checked.") };
        answer(decision, summary, &[], &[])
    });
    let script = format!(
        "if echo \"$TASK\" | grep -q 'not checked'; then echo '// checked' >> b.js; else echo '{GOOD}' > b.js; fi"
    );
    let desk = Desk::configured(&script, &with_model(&stub));
    let ended = Ended::of(&desk, "Check", "");
    ended.is(Status::WaitingApproval, None, 2);
    let rows = ended.board.iterations(ended.project.id, &ended.id).unwrap();
    assert_eq!(rows[0].iteration.reason.as_deref(), Some("The input is not checked."));
    ended.stop();
}

#[test]
fn the_answer_of_a_reviewer_is_announced_as_it_is_written() {
    let stub = FakeModel::answering(|_| answer("APPROVED", "The text is parsed, not run.", &[], &[]));
    let desk = Desk::configured(&works(), &with_model(&stub));
    let ended = Ended::of(&desk, "Live", "");
    ended.is(Status::WaitingApproval, None, 1);
    let events = ended.board.database().events_after(0, 10_000, None).unwrap();
    let progress = events.iter().filter(|row| row.event.kind == "feature:code-review-progress");
    let payloads = progress.map(|row| serde_json::from_str::<serde_json::Value>(&row.event.payload).unwrap());
    let written: String = payloads
        .filter(|payload| payload["reviewer"] == "m")
        .filter_map(|it| Some(it["message"].as_str()?.to_owned()))
        .collect();
    assert!(written.contains("The text is parsed, not run."), "{written}");
    ended.stop();
}

#[test]
fn a_review_without_an_answer_never_approves_and_can_be_tried_again() {
    let broken = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let switch = Arc::clone(&broken);
    let stub = FakeModel::answering(move |_| match switch.load(std::sync::atomic::Ordering::SeqCst) {
        true => "I would rather not say.".to_owned(),
        false => answer("APPROVED", "Good.", &[], &[]),
    });
    let desk = Desk::configured(&works(), &with_model(&stub));
    let ended = Ended::of(&desk, "Silent", "");
    ended.is(Status::CodeReview, Some(Pause::ReviewFailed), 1);
    assert_eq!(ended.outcomes(), [Outcome::Failed]);
    assert_eq!(ended.row.state.tries, 3);
    assert_eq!(desk.git(&["rev-list", "--count", "--all"]), "2");
    broken.store(false, std::sync::atomic::Ordering::SeqCst);
    ended.board.retry(ended.project.id, &ended.id, "me").unwrap();
    let ended = ended.again();
    ended.is(Status::WaitingApproval, None, 1);
    assert_eq!(ended.outcomes(), [Outcome::Failed, Outcome::Approved]);
    assert_eq!(desk.git(&["rev-list", "--count", "--all"]), "2");
    ended.stop();
}

#[test]
fn a_commit_during_the_review_is_reviewed_too() {
    let place = Arc::new(std::sync::OnceLock::<PathBuf>::new());
    let moved = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (tree, once) = (Arc::clone(&place), Arc::clone(&moved));
    let stub = FakeModel::answering(move |_| {
        if !once.swap(true, std::sync::atomic::Ordering::SeqCst) {
            let folder = std::fs::read_dir(tree.get().unwrap()).unwrap().next().unwrap().unwrap().path();
            std::fs::write(folder.join("late.txt"), "late\n").unwrap();
            let git = |args: &[&str]| {
                let ran = Command::new("git")
                    .current_dir(&folder)
                    .args(["-c", "user.name=p", "-c", "user.email=p@example.com"])
                    .args(args)
                    .output();
                assert!(ran.unwrap().status.success());
            };
            git(&["add", "late.txt"]);
            git(&["commit", "-q", "-m", "by a person"]);
        }
        answer("APPROVED", "Good.", &[], &[])
    });
    let desk = Desk::configured(&works(), &with_model(&stub));
    place.set(desk.path("project/.worktrees")).unwrap();
    let ended = Ended::of(&desk, "Moves", "");
    ended.is(Status::WaitingApproval, None, 1);
    let rows = ended.board.iterations(ended.project.id, &ended.id).unwrap();
    let outdated: Vec<bool> = rows.iter().map(|row| row.iteration.outdated).collect();
    assert_eq!(outdated, [true, false]);
    let head = desk.git(&["rev-parse", &format!("feature/{}", ended.id)]);
    assert_eq!(rows[1].iteration.commit.as_deref(), Some(&*head));
    assert_eq!(ended.row.state.commit.as_deref(), Some(&*head));
    ended.stop();
}

#[test]
fn an_agent_cannot_weaken_its_own_review() {
    let script = format!(
        "mkdir -p .tollgate/rules; printf '[rules]\\ndisable = [\"*\"]\\n[review]\\nfail_on = \"never\"\\n' > .tollgate.toml\n\
         echo '{BAD} // tollgate:ignore * trust me' > b.js; git rev-parse HEAD > c.txt"
    );
    let desk = Desk::new(&script);
    let ended = Ended::of(&desk, "Sly", "");
    ended.is(Status::InProgress, Some(Pause::NoProgress), 2);
    ended.stop();
}

#[test]
fn a_finding_of_a_model_rejects_and_what_it_invents_does_not() {
    let stub = FakeModel::answering(|question| {
        let findings = match question.contains("+export const f = (text) => JSON.parse(text);") {
            true => vec![
                finding("High", "b.js", 1, "No check", "export const f = (text) => JSON.parse(text);"),
                finding("Critical", "nowhere.js", 3, "Invented", "there is no such line"),
            ],
            false => Vec::new(),
        };
        answer(if findings.is_empty() { "APPROVED" } else { "REJECTED" }, "See there.", &findings, &[])
    });
    let script = format!(
        "if echo \"$TASK\" | grep -q 'No check'; then echo 'export const f = String;' > b.js; else echo '{GOOD}' > b.js; fi"
    );
    let desk = Desk::configured(&script, &with_model(&stub));
    let ended = Ended::of(&desk, "Model", "");
    ended.is(Status::WaitingApproval, None, 2);
    let rows = ended.board.iterations(ended.project.id, &ended.id).unwrap();
    let titles: Vec<&str> = rows[0].iteration.findings.iter().map(|finding| finding.title.as_str()).collect();
    assert_eq!(titles, ["No check"]);
    assert_eq!((rows[0].iteration.model.as_str(), rows[0].iteration.provider.as_str()), ("stub-1", "m"));
    ended.stop();
}

#[test]
fn other_programs_edit_the_card_and_cannot_open_the_gate() {
    let desk = Desk::new(&works());
    let ended = Ended::of(&desk, "Edited", "");
    let file = desk.features(&ended.id).join("feature.json");
    let read = || Document::parse(&std::fs::read(&file).unwrap()).unwrap();
    let (board, project, id) = (&ended.board, ended.project.id, &ended.id);
    board.reject(project, id, "me", "once more").unwrap();
    let row = settled(board, project, id);
    assert_eq!((row.state.pause, row.state.iteration), (Some(Pause::NoProgress), 2));

    let mut document = read();
    document.set_text("status", "verified").unwrap();
    document.set_raw("theirs", "1e+21").unwrap();
    document.set_text("title", "Theirs").unwrap();
    std::fs::write(&file, document.to_bytes()).unwrap();
    wait_until("the edited file is imported and its status corrected", || {
        board.feature(project, id).unwrap().facts.title == "Theirs" && read().status() == Status::InProgress
    });
    assert_eq!(read().raw("theirs"), Some("1e+21"));
    assert_eq!(board.feature(project, id).unwrap().state.status, Status::InProgress);

    std::fs::write(&file, "{ broken").unwrap();
    wait_until("the broken file is noticed", || board.feature(project, id).unwrap().broken.is_some());
    assert!(board.resume(project, id, "me", None).is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ broken");
    ended.stop();
}

#[test]
fn programs_planted_in_git_do_not_run() {
    let script = format!(
        "git config core.fsmonitor \"$PWD/../../evil.sh\"; git config core.hooksPath \"$PWD/../../hooks\"\n\
         git config filter.x.clean \"$PWD/../../evil.sh\"; git config filter.x.smudge \"$PWD/../../evil.sh\"\n\
         git config diff.external \"$PWD/../../evil.sh\"; git config diff.y.command \"$PWD/../../evil.sh\"\n\
         git config diff.y.textconv \"$PWD/../../evil.sh\"; git config gpg.program \"$PWD/../../evil.sh\"\n\
         git config commit.gpgSign true; git config core.editor \"$PWD/../../evil.sh\"\n\
         printf '* diff=y\\n' > .gitattributes; echo '{GOOD}' > b.js"
    );
    let desk = Desk::configured(&script, "sandbox = 'off'");
    let evil = desk.path("project/evil.sh");
    std::fs::create_dir_all(desk.path("project/hooks")).unwrap();
    let text = format!("#!/bin/sh\ntouch '{}'\ncat\n", desk.path("ran").display());
    for path in [
        evil,
        desk.path("project/hooks/post-commit"),
        desk.path("project/hooks/reference-transaction"),
        desk.path("project/hooks/post-index-change"),
    ] {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(&path, &text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let ended = Ended::of(&desk, "Plants", "");
    let config = std::fs::read_to_string(desk.path("project/.git/config")).unwrap();
    assert!(config.contains("fsmonitor"), "{config}");
    assert!(!desk.path("ran").exists());
    assert!(ended.row.state.commit.is_some(), "{:?}", ended.row.problem);
    ended.stop();
    // Plain git runs them, so they were well planted.
    let _ = Command::new("git").current_dir(desk.path("project")).args(["status"]).output();
    assert!(desk.path("ran").exists());
}

#[test]
fn a_teams_prompt_and_context_reach_the_reviewer() {
    let stub = FakeModel::answering(|_| answer("APPROVED", "Good.", &[], &[]));
    let desk = Desk::configured(&works(), &with_model(&stub));
    let folder = desk.path("project/.automaker");
    std::fs::create_dir_all(folder.join("context")).unwrap();
    std::fs::write(folder.join("context/style.md"), "We never use tabs.\n").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.join("context/link.md")).unwrap();
    let prompt = r#"{"enabled":true,"value":"You are the reviewer of our team."}"#;
    let settings = format!(r#"{{"promptCustomization":{{"codeReview":{{"reviewSystemPrompt":{prompt}}}}}}}"#);
    std::fs::write(folder.join("settings.json"), settings).unwrap();
    let ended = Ended::of(&desk, "Prompted", "");
    ended.is(Status::WaitingApproval, None, 1);
    let heard = stub.heard();
    assert!(heard.contains("You are the reviewer of our team."), "{heard}");
    assert!(heard.contains("We never use tabs."), "{heard}");
    assert!(!heard.contains("link.md"), "{heard}");
    // The prompt and the answer are stored.
    let records = ended.board.records(ended.project.id, &ended.id);
    let record = std::fs::read_dir(records).unwrap().next().unwrap().unwrap().path();
    let record = std::fs::read_to_string(record).unwrap();
    assert!(record.contains("We never use tabs.") && record.contains("APPROVED"), "{record}");
    ended.stop();
}

#[test]
fn hostile_names_are_refused_before_anything_is_written() {
    let desk = Desk::new(&works());
    let board = desk.board();
    let project = board.add_project(&desk.path("project"), None).unwrap();
    let long = "x".repeat(300);
    let branches =
        ["-d", "--upload-pack=x", "a..b", "a b", "a\nb", "a\u{1b}[2J", "HEAD", "a.lock", "@{-1}", "/a", "a//b", &long];
    for branch in branches {
        let new = NewFeature { title: "x".to_owned(), branch: Some(branch.to_owned()), ..NewFeature::default() };
        assert!(board.create(project.id, &new).is_err(), "{branch:?}");
    }
    for name in ["../a", "-x", "a b", "", &long] {
        let new = NewFeature { title: "x".to_owned(), dependencies: vec![name.to_owned()], ..NewFeature::default() };
        assert!(board.create(project.id, &new).is_err(), "{name:?}");
    }
    assert_eq!(std::fs::read_dir(desk.path("project/.automaker/features")).unwrap().count(), 0);
}

#[test]
fn a_feature_that_could_not_be_stored_does_not_come_later_beside_the_second_try() {
    let desk = Desk::in_file(&works());
    let board = desk.board();
    let project = board.add_project(&desk.path("project"), None).unwrap();
    let behind = rusqlite::Connection::open(desk.path("data/tollgate/tollgate.db")).unwrap();
    let create = |title: &str| {
        let new = NewFeature { title: title.to_owned(), ..NewFeature::default() };
        board.create(project.id, &new).map(|made| made.facts.title).map_err(Refused::into_failure)
    };
    let titles = || {
        board.import_all(&project).unwrap();
        let cards = board.features(project.id, &CardFilter { limit: 10, ..CardFilter::default() }).unwrap();
        cards.into_iter().map(|card| card.facts.title).collect::<Vec<_>>()
    };
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON feature BEGIN SELECT RAISE(ABORT, 'no room'); END";
    behind.execute_batch(refuse).unwrap();
    let failure = create("Log in").unwrap_err();
    assert!(failure.message.contains("no room"), "{failure}");
    behind.execute_batch("DROP TRIGGER refuse").unwrap();
    assert_eq!(titles(), [""; 0]);
    assert_eq!(create("Log in").unwrap(), "Log in");
    assert_eq!(titles(), ["Log in"]);
    // Nothing that was written is lost.
    assert_eq!(std::fs::read_dir(desk.path("project/.automaker/.trash")).unwrap().count(), 1);
    // A write with an unknown outcome shows up later, and the message says so.
    behind.execute_batch("ALTER TABLE feature RENAME TO away").unwrap();
    let failure = create("Log out").unwrap_err();
    assert!(failure.hint.as_ref().is_some_and(|hint| hint.contains("before you add it again")), "{failure:?}");
    behind.execute_batch("ALTER TABLE away RENAME TO feature").unwrap();
    assert_eq!(titles(), ["Log in", "Log out"]);
}

/// Reviews a feature whose second review remarks, in this category, on a line that the first one passed.
fn second_thoughts(category: &'static str) -> Ended {
    let stub = FakeModel::answering(move |question| {
        let is_first = question.contains("+const one = 1;");
        let remark = match is_first {
            true => finding("High", "b.js", 1, "One is not enough", "const one = 1;"),
            false => finding("High", "c.js", 1, "Three is too many", "const three = 3;"),
        };
        let mut remark = remark;
        remark["category"] = category.into();
        answer(if is_first { "REJECTED" } else { "APPROVED" }, "See there.", &[remark], &[])
    });
    let script = "if echo \"$TASK\" | grep -q 'One is not enough'; then echo 'const two = 2;' > b.js; \
                  else echo 'const one = 1;' > b.js; echo 'const three = 3;' > c.js; fi";
    let desk = Desk::configured(script, &with_model(&stub));
    Ended::of(&desk, "Second thoughts", "")
}

#[test]
fn second_thoughts_about_lines_that_passed_do_not_reject_unless_they_are_grave() {
    let ended = second_thoughts("Logic");
    ended.is(Status::WaitingApproval, None, 2);
    let rows = ended.board.iterations(ended.project.id, &ended.id).unwrap();
    let late: Vec<&str> = rows[1].iteration.late.iter().map(|remark| remark.title.as_str()).collect();
    assert_eq!(late, ["Three is too many"]);
    ended.stop();
    let ended = second_thoughts("Security");
    assert_eq!(ended.outcomes()[..2], [Outcome::Rejected, Outcome::Rejected]);
    ended.stop();
}

#[test]
fn hooks_are_found_wherever_git_looks_for_them() {
    let desk = Desk::new("echo x > b.txt");
    desk.git(&["config", "core.hooksPath", "elsewhere"]);
    let place = desk.path("project/elsewhere");
    std::fs::create_dir(&place).unwrap();
    std::fs::rename(write_hook(&desk, "#!/bin/sh\necho never; exit 1\n"), place.join("pre-commit")).unwrap();
    let ended = Ended::of(&desk, "Elsewhere", "");
    // Relative to the work tree there is none, as git has it.
    ended.is(Status::WaitingApproval, None, 1);
    ended.stop();
    let desk = Desk::new("echo x > b.txt");
    desk.git(&["config", "core.hooksPath", &desk.path("elsewhere").display().to_string()]);
    std::fs::create_dir(desk.path("elsewhere")).unwrap();
    std::fs::rename(write_hook(&desk, "#!/bin/sh\necho never; exit 1\n"), desk.path("elsewhere/pre-commit")).unwrap();
    let ended = Ended::of(&desk, "Elsewhere", "");
    ended.is(Status::InProgress, Some(Pause::CommitFailed), 1);
    ended.stop();
}
