//! `action.yml` and the workflow of `init --github`: their permissions, and a real run of their steps.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;

use crate::scratch::Scratch;

const PULL: &str = "https://github.com/o/r/pull/7";

fn action() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../action.yml");
    serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn workflow(args: &[&str]) -> (String, Value) {
    let scratch = Scratch::on_a_branch();
    let text = scratch.tollgate(&[&["init", "--github", "--print"], args].concat()).expect(0);
    let read = serde_saphyr::from_str(&text).unwrap();
    (text, read)
}

/// All steps, of the action and of both workflows.
fn steps() -> Vec<Value> {
    let pinned = format!("our-org/tollgate@{}", "a".repeat(40));
    let workflows = [workflow(&[]).1, workflow(&["--action", &pinned]).1];
    let mut steps = action()["runs"]["steps"].as_array().unwrap().clone();
    for workflow in workflows {
        steps.extend(workflow["jobs"]["review"]["steps"].as_array().unwrap().clone());
    }
    steps
}

/// Runs a step of the action as a runner does, with a `tollgate` that prints its arguments.
struct Runner {
    scratch: Scratch,
}

impl Runner {
    fn new() -> Self {
        let scratch = Scratch::folder();
        let told = scratch.path().join("told");
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'tollgate 1.2.3'; exit; fi\n\
             for each in \"$@\"; do echo \"<$each>\" >> {0}; done\necho \"token $GITHUB_TOKEN\" >> {0}\nexit 1\n",
            told.display()
        );
        scratch.write("bin/tollgate", &script).write("bin/cargo", "#!/bin/sh\necho cargo \"$@\"\n").write("out", "");
        for name in ["bin/tollgate", "bin/cargo"] {
            std::fs::set_permissions(scratch.path().join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { scratch }
    }

    /// The exit code, output and variables of the step.
    fn run(&self, step: usize, variables: &[(&str, &str)]) -> (i32, String) {
        let steps = action()["runs"]["steps"].clone();
        assert_eq!(steps[step]["shell"], "bash");
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", steps[step]["run"].as_str().unwrap()]);
        let bin = self.scratch.path().join("bin");
        command.env_clear().env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        command.env("GITHUB_OUTPUT", self.scratch.path().join("out"));
        for name in steps[step]["env"].as_object().unwrap().keys() {
            command.env(name, "");
        }
        let output = command.envs(variables.iter().copied()).current_dir(self.scratch.path()).output().unwrap();
        let printed = format!("{}{}", self.scratch.read("out"), String::from_utf8_lossy(&output.stdout));
        let here = self.scratch.path().display().to_string();
        (output.status.code().unwrap(), printed.replace(&here, "HERE"))
    }

    fn told(&self) -> String {
        self.scratch.read("told")
    }
}

#[test]
fn nothing_that_others_wrote_is_part_of_a_script() {
    for step in steps() {
        let script = step["run"].as_str().unwrap_or_default();
        assert!(!script.contains("${{"), "{script}");
    }
    assert!(!action().to_string().contains("secrets."));
}

#[test]
fn no_action_is_used_but_by_its_full_commit() {
    for step in steps() {
        let Some(used) = step["uses"].as_str() else { continue };
        let commit = used.split_once('@').unwrap().1;
        assert!(commit.len() == 40 && commit.bytes().all(|digit| digit.is_ascii_hexdigit()), "{used}");
    }
}

#[test]
fn the_workflow_may_do_what_it_needs_and_nothing_else() {
    let (text, workflow) = workflow(&[]);
    assert_eq!(workflow["permissions"], serde_json::json!({}));
    let allowed = serde_json::json!({"contents": "read", "pull-requests": "write", "checks": "write"});
    assert_eq!(workflow["jobs"]["review"]["permissions"], allowed);
    let events: Vec<&String> = workflow["on"].as_object().unwrap().keys().collect();
    assert_eq!(events, ["pull_request"]);
    let types = serde_json::json!(["opened", "reopened", "ready_for_review", "synchronize", "edited"]);
    assert_eq!(workflow["on"]["pull_request"]["types"], types);
    assert_eq!(workflow["concurrency"]["cancel-in-progress"], true);
    assert!(workflow["concurrency"]["group"].as_str().unwrap().contains("pull_request.number"));
    // A job that is skipped counts as passed at GitHub.
    assert!(workflow["jobs"]["review"].get("if").is_none());
    assert!(!text.contains("secrets."));
}

#[test]
fn init_writes_the_workflow_once() {
    let scratch = Scratch::on_a_branch();
    scratch.tollgate(&["init", "--github"]).expect(0);
    let file = ".github/workflows/tollgate.yml";
    assert!(scratch.read(file).contains("tollgate review --pr"));
    scratch.write(file, "mine");
    let stderr = scratch.tollgate(&["init", "--github"]).expect_refused(2);
    assert!(stderr.contains("already exists") && stderr.contains("init --github --force"), "{stderr}");
    assert_eq!(scratch.read(file), "mine");
    let pinned = format!("our-org/tollgate@{}", "a".repeat(40));
    scratch.tollgate(&["init", "--github", "--force", "--action", &pinned]).expect(0);
    assert!(scratch.read(file).contains(&format!("uses: {pinned}\n")));
    let stderr = scratch.tollgate(&["init", "--github", "--action", "our-org/tollgate@v1"]).expect_refused(2);
    assert_snapshot!(stderr, @"
    error: `our-org/tollgate@v1` is not an action pinned to a full commit hash
    hint: Write `OWNER/NAME@` and a 40-digit commit hash: tags and branches can be moved.
    ");
}

#[test]
fn the_action_finds_the_program_it_is_to_run() {
    let runner = Runner::new();
    assert_eq!(runner.run(0, &[]), (0, "binary=HERE/bin/tollgate\n".to_owned()));
    let runner = Runner::new();
    assert_eq!(runner.run(0, &[("VERSION", "1.2.3")]).1, "binary=HERE/bin/tollgate\n");
    let runner = Runner::new();
    assert_eq!(runner.run(0, &[("VERSION", "9.9.9")]).1, "binary=\n");
    let runner = Runner::new();
    assert_eq!(runner.run(0, &[("BINARY", "/bin/true")]).1, "binary=/bin/true\n");
    let runner = Runner::new();
    let (code, said) = runner.run(0, &[("BINARY", "/nowhere")]);
    assert_eq!(code, 2);
    assert_snapshot!(said, @"::error title=tollgate::the input binary names no program that can be run");
}

#[test]
fn the_action_builds_from_its_own_checkout() {
    let runner = Runner::new();
    let (code, said) = runner.run(1, &[("SOURCE", "/act ion"), ("TARGET", "/target")]);
    assert_eq!(code, 0);
    assert_snapshot!(said, @"
    binary=/target/release/tollgate
    cargo build --release --locked --package tollgate --manifest-path /act ion/Cargo.toml --target-dir /target
    ");
}

#[test]
fn the_action_reviews_and_ends_as_the_gate_does() {
    let runner = Runner::new();
    let variables = [
        ("PULL_REQUEST", PULL),
        ("PROGRAM", "tollgate"),
        ("GITHUB_TOKEN", "t0ken"),
        ("FAIL_ON", "medium"),
        ("PROFILE", "strict"),
        ("REVIEWERS", "claude, open ai\n$(touch planted)"),
        ("POST", "true"),
    ];
    assert_eq!(runner.run(2, &variables).0, 1);
    assert_snapshot!(runner.told(), @"
    <review>
    <--pr>
    <https://github.com/o/r/pull/7>
    <--fail-on>
    <medium>
    <--profile>
    <strict>
    <--reviewer>
    <claude>
    <--reviewer>
    <open>
    <--reviewer>
    <ai>
    <--reviewer>
    <$(touch>
    <--reviewer>
    <planted)>
    <--post>
    token t0ken
    ");
    assert!(!runner.scratch.path().join("planted").exists());
}

#[test]
fn the_action_without_posting_annotates() {
    let runner = Runner::new();
    assert_eq!(runner.run(2, &[("PULL_REQUEST", PULL), ("PROGRAM", "tollgate"), ("POST", "false")]).0, 1);
    assert_snapshot!(runner.told(), @"
    <review>
    <--pr>
    <https://github.com/o/r/pull/7>
    <--format>
    <github>
    token
    ");
}

#[test]
fn the_action_says_so_when_there_is_no_pull_request() {
    let runner = Runner::new();
    let (code, said) = runner.run(2, &[("PROGRAM", "tollgate"), ("POST", "true")]);
    assert_eq!(code, 2);
    assert_snapshot!(said, @"::error title=tollgate::there is no pull request here: run this on the event pull_request");
}
