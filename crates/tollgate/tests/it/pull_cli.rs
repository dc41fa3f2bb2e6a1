//! `tollgate review --pr`: pull requests of the fake GitHub, from the command line and from a workflow.

use serde_json::Value;

use crate::fake_github::{FakeGithub, Opening};
use crate::pulls::flow::LOOKS_AROUND;
use crate::scratch::{Ran, Scratch};

/// One High finding of the embedded rules.
const LOOP: &str = "items.forEach(async (item) => save(item));\n";

/// The app in whose name workflows act.
const WORKFLOWS: Option<u64> = Some(15_368);

/// A repository at the fake GitHub, and a folder in which the program is run.
struct World {
    github: FakeGithub,
    scratch: Scratch,
}

impl World {
    fn new() -> Self {
        Self::with(&[("README.md", "# x\n")])
    }

    fn with(files: &[(&str, &str)]) -> Self {
        let github = FakeGithub::start();
        github.repository("o/r", files);
        Self { github, scratch: Scratch::folder() }
    }

    fn url(&self, number: u64) -> String {
        format!("{}/o/r/pull/{number}", self.github.url())
    }

    /// Reviews pull request 1 outside a workflow, with the fake GitHub as the configured host.
    fn review(&self, args: &[&str], token: Option<&str>) -> Ran {
        self.scratch.configure(&format!("[github]\nurl = \"{}\"\n", self.github.url()));
        self.run(args, &[("GITHUB_TOKEN", token.unwrap_or_default())])
    }

    fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let url = self.url(1);
        let args = [&["review", "--pr", &url], args].concat();
        let none = [("GH_TOKEN", ""), ("GITHUB_TOKEN", ""), ("GITHUB_SERVER_URL", ""), ("GITHUB_ACTIONS", "")];
        self.scratch.tollgate_with(&args, b"", &[&none, env].concat())
    }

    fn json(&self, token: Option<&str>, code: i32) -> Value {
        serde_json::from_str(&self.review(&["--format", "json"], token).expect(code)).unwrap()
    }
}

fn summaries(review: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = review["findings"].as_array().unwrap().iter();
    findings.map(|it| format!("{} {}", text(&it["severity"]), text(&it["location"]["file"]))).collect()
}

#[test]
fn a_public_pull_request_is_reviewed_without_a_token_or_a_checkout() {
    let world = World::new();
    let pull =
        world.github.open("o/r", &Opening { title: "Add a loop", files: &[("a.js", LOOP)], ..Opening::default() });
    let review = world.json(None, 1);
    assert_eq!(review["reviewed_sha"], pull.head());
    assert_eq!(review["x_title"], "Add a loop");
    assert_eq!(summaries(&review), ["High a.js"]);
    for (format, sign) in [
        ("pretty", "a.js:1"),
        ("markdown", "# "),
        ("sarif", "\"2.1.0\""),
        ("github", "::error"),
        ("summary", "<details>"),
    ] {
        let text = world.review(&["--format", format], None).expect(1);
        assert!(text.contains(sign), "{format}: {text}");
    }
    let names: Vec<&str> = world.github.requests("").into_iter().map(|entry| entry.name).collect();
    assert!(names.iter().all(|name| !name.contains("create") && !name.contains("update")), "{names:?}");
}

#[test]
fn a_pull_request_has_no_say_in_its_own_review() {
    let base = "[rules]\n[review]\nfail_on = \"critical\"\n";
    let world = World::with(&[("README.md", "# x\n"), (".tollgate.toml", base)]);
    let hostile = "[review]\nfail_on = \"never\"\n[[suppress]]\npaths = [\"**\"]\nreason = \"mine\"\n";
    let files = [
        (".tollgate.toml", hostile),
        (".tollgate/rules/broken.yml", "this is no rule: ["),
        ("a.js", "// tollgate:ignore all of it is fine\nitems.forEach(async (item) => save(item));\n"),
        ("b.js", "items.forEach(async (item) => save(item)); // tollgate:ignore no-async-foreach mine\n"),
    ];
    world.github.open("o/r", &Opening { author: "eve", files: &files, ..Opening::default() });
    let review = world.json(None, 0);
    // A change to its own review settings is itself a finding.
    let own = "Medium .tollgate.toml";
    assert_eq!(summaries(&review), ["High a.js", "High b.js", own, own, "Medium a.js", "Medium b.js"]);
    let ran = world.review(&["--fail-on", "high"], None);
    assert!(ran.stderr.contains("the change alters `.tollgate.toml`"), "{}", ran.stderr);
    ran.expect(1);
}

#[test]
fn authors_with_write_access_can_skip_the_review_and_others_cannot() {
    let world = World::new();
    let opening = Opening { title: "[no-review] x", files: &[("a.js", LOOP)], ..Opening::default() };
    let pull = world.github.open("o/r", &opening);
    let (url, token) = (world.github.url(), world.github.workflow_token(true));
    let env = [("GITHUB_TOKEN", token.as_str()), ("GITHUB_SERVER_URL", &url)];
    for _ in 0..2 {
        let ran = world.run(&["--post"], &env);
        assert!(ran.stderr.contains("note: Review skipped per `[no-review]` in PR title."), "{}", ran.stderr);
        ran.expect(0);
    }
    let seen = pull.seen_by(WORKFLOWS);
    assert_eq!((seen.conclusion(), seen.others.len(), seen.problems()), (Some("neutral"), 1, Vec::new()));

    let world = World::new();
    world.github.open("o/r", &Opening { author: "eve", ..opening });
    let ran = world.review(&[], Some(&world.github.token_of("ada")));
    assert!(ran.stderr.contains("the author's tags were ignored"), "{}", ran.stderr);
    ran.expect(1);
}

#[test]
fn a_private_pull_request_needs_a_token_of_somebody_who_may_read_it() {
    let world = World::new();
    world.github.make_private("o/r");
    world.github.open("o/r", &Opening { files: &[("a.js", LOOP)], ..Opening::default() });
    let stderr = world.review(&[], None).expect_refused(3);
    assert!(stderr.contains("hint: Check the address, and that the token can read the repository."), "{stderr}");
    assert_eq!(summaries(&world.json(Some(&world.github.token_of("ada")), 1)), ["High a.js"]);
}

#[test]
fn a_token_is_shown_to_the_host_that_it_is_for_and_to_no_other() {
    let world = World::new();
    world.github.make_private("o/r");
    world.github.open("o/r", &Opening { files: &[("a.js", LOOP)], ..Opening::default() });
    let token = world.github.token_of("ada");
    let stderr = world.run(&[], &[("GITHUB_TOKEN", &token)]).expect_refused(3);
    assert!(stderr.contains("note: `GITHUB_TOKEN` is for https://github.com and is not sent to"), "{stderr}");
    let stderr = world.run(&["--post"], &[("GH_TOKEN", &token)]).expect_refused(2);
    assert!(stderr.contains("no token for posting to"), "{stderr}");
    world.run(&[], &[("GH_TOKEN", &token), ("GITHUB_SERVER_URL", &world.github.url())]).expect(1);
}

#[test]
fn a_second_review_tells_what_is_new_and_what_is_resolved() {
    let world = World::new();
    let pull = world.github.open("o/r", &Opening { files: &[("a.js", LOOP)], ..Opening::default() });
    world.review(&[], None).expect(1);
    pull.push("fixed", &[("a.js", "for (const item of items) await save(item);\n"), ("b.js", LOOP)]);
    let text = world.review(&["--format", "summary"], None).expect(1);
    assert!(text.contains(":white_check_mark: [MAJOR] a.js") && text.contains(":new: [MAJOR] b.js"), "{text}");
}

#[test]
fn contradictory_arguments_are_rejected_before_any_request() {
    let world = World::new();
    for args in [&["--staged"][..], &["--worktree"], &["--diff", "-"], &["main..x"], &["--title", "x"]] {
        assert_eq!(world.review(args, None).code, 2, "{args:?}");
    }
    assert_eq!(world.scratch.tollgate(&["review", "--post"]).code, 2);
    for bad in ["12", "https://github.com/o/r/issues/1", "https://me:secret@github.com/o/r/pull/1"] {
        let stderr = world.scratch.tollgate(&["review", "--pr", bad]).expect_refused(2);
        assert!(stderr.contains("is not the URL of a pull request"), "{stderr}");
    }
    let stderr = world.review(&["--post"], None).expect_refused(2);
    assert!(stderr.contains("GITHUB_TOKEN"), "{stderr}");
    assert_eq!(world.github.requests("").len(), 0);
}

#[test]
fn repeated_runs_post_the_findings_once() {
    let world = World::new();
    let pull = world.github.open("o/r", &Opening { files: &[("a.js", LOOP)], ..Opening::default() });
    let token = world.github.token_of("ada");
    let first = world.review(&["--post"], Some(&token));
    assert!(first.stderr.contains("posted to "), "{}", first.stderr);
    first.expect(1);
    let seen = pull.seen_by(None);
    assert_eq!((seen.summaries.len(), seen.inline.len()), (1, 1));
    world.review(&["--post", "--no-store"], Some(&token)).expect(1);
    pull.push("more", &[("b.js", LOOP)]);
    world.review(&["--post"], Some(&token)).expect(1);
    let seen = pull.seen_by(None);
    assert_eq!(seen.problems(), Vec::<String>::new());
    assert_eq!((seen.summaries.len(), seen.inline.len()), (1, 2));
    assert!(seen.summaries[0].body.contains("b.js"));
}

#[test]
fn a_workflow_makes_the_check_too() {
    let world = World::new();
    let pull = world.github.open("o/r", &Opening { files: &[("a.js", LOOP)], ..Opening::default() });
    let url = world.github.url();
    let token = world.github.workflow_token(true);
    let env = [("GITHUB_TOKEN", token.as_str()), ("GITHUB_SERVER_URL", &url), ("GITHUB_ACTIONS", "true")];
    let ran = world.run(&["--post"], &env);
    let (first, last) = (ran.stdout.lines().next().unwrap(), ran.stdout.lines().last().unwrap());
    let mark = first.strip_prefix("::stop-commands::").unwrap();
    assert_eq!(last, format!("::{mark}::"));
    ran.expect(1);
    assert_eq!(pull.seen_by(WORKFLOWS).conclusion(), Some("failure"));
}

#[test]
fn on_a_fork_whose_token_may_only_read_the_findings_are_annotations() {
    let world = World::new();
    let fork = world.github.fork("o/r", "eve");
    let opening = Opening { author: "eve", from: Some(&fork), files: &[("a.js", LOOP)], ..Opening::default() };
    let pull = world.github.open("o/r", &opening);
    let (url, token) = (world.github.url(), world.github.workflow_token(false));
    let summary = world.scratch.path().join("step-summary.md");
    std::fs::write(&summary, "before\n").unwrap();
    let env = [
        ("GITHUB_TOKEN", token.as_str()),
        ("GITHUB_SERVER_URL", &url),
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
    ];
    let ran = world.run(&["--post"], &env);
    assert!(ran.stderr.contains("note: the token is read-only"), "{}", ran.stderr);
    let stdout = ran.expect(1);
    assert!(stdout.lines().any(|line| line.starts_with("::error file=a.js,line=1")), "{stdout}");
    let summary = world.scratch.read("step-summary.md");
    assert!(summary.starts_with("before\n") && summary.contains("Review Summary"), "{summary}");
    assert_eq!(pull.seen_by(WORKFLOWS).summaries.len(), 0);
    // Outside a workflow the failure is reported instead.
    let stderr = world.run(&["--post"], &env[..2]).stderr;
    assert!(stderr.contains("hint: Check the permissions of the token or app in this repository."), "{stderr}");
}

#[test]
fn a_clean_pull_request_is_passed_in_silence() {
    let world = World::new();
    let pull = world.github.open("o/r", &Opening { files: &[("a.txt", "fine\n")], ..Opening::default() });
    let (url, token) = (world.github.url(), world.github.workflow_token(true));
    world.run(&["--post"], &[("GITHUB_TOKEN", &token), ("GITHUB_SERVER_URL", &url)]).expect(0);
    let seen = pull.seen_by(WORKFLOWS);
    assert_eq!((seen.summaries.len(), seen.inline.len(), seen.conclusion()), (0, 0, Some("success")));
}

#[test]
fn nothing_is_posted_to_a_pull_request_that_is_closed() {
    let world = World::new();
    let pull = world.github.open("o/r", &Opening { files: &[("a.js", LOOP)], ..Opening::default() });
    pull.close();
    let ran = world.review(&["--post"], Some(&world.github.token_of("ada")));
    assert!(ran.stderr.contains("nothing was posted: the pull request is closed"), "{}", ran.stderr);
    ran.expect(1);
    assert_eq!(pull.seen_by(None).summaries.len(), 0);
}

#[test]
fn an_agent_sees_the_files_that_the_change_leaves_alone() {
    let good = "export const f = (text) => JSON.parse(text);\n";
    let world = World::with(&[("far/away.js", good)]);
    world.github.open("o/r", &Opening { files: &[("a.js", good)], ..Opening::default() });
    world.scratch.write("agent.sh", LOOKS_AROUND);
    let command =
        format!("[reviewer.looker]\ncommand = ['sh', '{}']\n", world.scratch.path().join("agent.sh").display());
    world.scratch.configure(&format!("[github]\nurl = '{}'\n{command}", world.github.url()));
    let ran = world.run(&["--reviewer", "looker", "--format", "json"], &[]);
    let review: Value = serde_json::from_str(&ran.expect(0)).unwrap();
    assert_eq!(review["x_coverage"]["complete"], true, "{review:#}");
}
