//! On standard input and output, with the real program.

use std::process::ExitStatus;

use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _};
use serde_json::json;
use tokio::process::{Child, Command};

use super::{Agent, BAD, GOOD, Listener, SUMMARY, answered, protocol_error, story};
use crate::fake_model::FakeModel;
use crate::scratch::Scratch;

/// The program, and a client that talks to it.
pub(super) struct Session {
    pub(super) agent: Agent,
    child: Child,
}

impl Session {
    pub(super) async fn start(scratch: &Scratch, more: &[&str]) -> Self {
        Self::start_with(scratch, more, &[]).await
    }

    /// The same with something in the environment.
    pub(super) async fn start_with(scratch: &Scratch, more: &[&str], env: &[(&str, &str)]) -> Self {
        let mut child = spawn(scratch, more, env);
        let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = Listener::default().serve(pipes).await.unwrap();
        Self { agent: Agent::new(client).await, child }
    }

    /// Closes the program's input and waits for its end.
    async fn end(mut self) -> ExitStatus {
        self.agent.client.cancel().await.unwrap();
        self.child.wait().await.unwrap()
    }
}

fn spawn(scratch: &Scratch, more: &[&str], env: &[(&str, &str)]) -> Child {
    let mut command = Command::from(scratch.command(&[&["mcp"], more].concat()));
    // What the tests run in may hold a token, which no test may use.
    command.env_remove("GITHUB_TOKEN").env_remove("GH_TOKEN").envs(env.iter().copied());
    command.stderr(std::process::Stdio::inherit()).kill_on_drop(true).spawn().unwrap()
}

#[test]
fn an_agent_reviews_fixes_and_passes() {
    story(async {
        let scratch = Scratch::on_a_branch();
        scratch.write("b.js", BAD);
        let session = Session::start(&scratch, &[]).await;
        let agent = &session.agent;
        let info = agent.client.peer_info().unwrap();
        assert_eq!(info.server_info.as_ref().unwrap().name, "tollgate");
        assert!(info.instructions.as_ref().unwrap().contains("review_change"));

        let first = agent.data("review_change", json!({})).await;
        assert_eq!((&first["may_pass"], &first["gate"]), (&json!(false), &json!("closed")), "{first:#}");
        let finding = &first["findings"][0];
        assert_eq!((&finding["file"], &finding["line"], &finding["id"]), (&json!("b.js"), &json!(1), &json!("F001")));
        assert!(finding["reason"].is_string() && finding["fingerprint"].as_str().unwrap().starts_with("fp-"));
        assert_eq!(first["coverage"]["not_reviewed"], 0);

        scratch.write("b.js", GOOD);
        let second = agent.data("review_change", json!({"since_last": true})).await;
        assert_eq!((&second["may_pass"], &second["gate"]), (&json!(true), &json!("open")), "{second:#}");
        assert_eq!(second["since_last"]["resolved"].as_array().unwrap().len(), 1);
        assert_eq!(second["since_last"]["review"], first["review"]);
        assert!(session.end().await.success());
    });
}

#[test]
fn every_kind_of_change_can_be_reviewed_and_only_one_at_a_time() {
    story(async {
        let scratch = Scratch::on_a_branch();
        scratch.write("a.js", BAD).commit("a");
        scratch.write("b.js", BAD);
        scratch.git(&["add", "b.js"]);
        scratch.write("c.js", BAD);
        let diff = "--- /dev/null\n+++ b/d.js\n@@ -0,0 +1 @@\n+export const f = (text) => eval(text);\n";
        let session = Session::start(&scratch, &[]).await;
        for (arguments, files) in [
            (json!({"scope": "branch"}), json!(["a.js", "b.js", "c.js"])),
            (json!({"scope": "staged"}), json!(["b.js"])),
            (json!({"scope": "worktree"}), json!(["b.js", "c.js"])),
            (json!({"range": "main..work"}), json!(["a.js"])),
            (json!({"diff": diff}), json!(["d.js"])),
        ] {
            let data = session.agent.data("review_change", arguments.clone()).await;
            let found: Vec<&str> =
                data["findings"].as_array().unwrap().iter().map(|f| f["file"].as_str().unwrap()).collect();
            assert_eq!(json!(found), files, "{arguments}");
        }
        let refusal = session.agent.refusal("review_change", json!({"range": "main..work", "scope": "staged"})).await;
        assert!(refusal.contains("only one can be reviewed"), "{refusal}");
        let refusal = session.agent.refusal("review_change", json!({"diff": "no diff"})).await;
        assert!(refusal.contains("holds no unified diff"), "{refusal}");
    });
}

#[test]
fn findings_can_be_listed_shown_and_proposed_for_dismissal() {
    story(async {
        let scratch = Scratch::on_a_branch();
        scratch.write("b.js", BAD).write("src/c.js", BAD);
        let session = Session::start(&scratch, &[]).await;
        let agent = &session.agent;
        let refusal = agent.refusal("list_findings", json!({})).await;
        assert!(refusal.contains("no stored review") && refusal.contains("review_change"), "{refusal}");
        assert!(!scratch.store().exists(), "looking makes no memory");
        let review = agent.data("review_change", json!({})).await["review"].clone();

        let listed = agent.data("list_findings", json!({"branch": "work", "at_least": "High", "file": "src/"})).await;
        assert_eq!((&listed["total"], &listed["review"]), (&json!(1), &review), "{listed:#}");
        assert_eq!(agent.data("list_findings", json!({"at_least": "Critical"})).await["total"], 0);
        let past_the_end = agent.data("list_findings", json!({"offset": u64::MAX})).await;
        assert_eq!((&past_the_end["total"], &past_the_end["findings"]), (&json!(2), &json!([])));
        let shown = agent.data("get_review", json!({"review": review})).await;
        assert_eq!((&shown["subject"], &shown["gate"]), (&json!("branch work"), &json!("closed")));
        assert_eq!(shown["files"], json!(["b.js", "src/c.js"]));
        assert!(agent.refusal("get_review", json!({"review": 4711})).await.contains("has no review 4711"));
        assert!(agent.refusal("get_review", json!({"branch": "other"})).await.contains("no stored review of `other`"));

        let print = listed["findings"][0]["fingerprint"].clone();
        let dismissed = agent.data("dismiss_finding", json!({"finding": print, "reason": "the text is ours"})).await;
        assert_eq!((&dismissed["finding"]["file"], &dismissed["state"]), (&json!("src/c.js"), &json!("proposed")));
        let unknown = json!({"finding": "F999", "reason": "it is ours"});
        assert!(agent.refusal("dismiss_finding", unknown).await.contains("no finding `F999`"));
        let again = agent.data("review_change", json!({})).await;
        assert_eq!((&again["n_findings"], &again["may_pass"]), (&json!(2), &json!(false)), "{again:#}");
        let listed = agent.data("list_findings", json!({"file": "src/"})).await;
        assert_eq!(listed["findings"][0]["proposed_dismissal"], "an agent over MCP: the text is ours");
        scratch.tollgate(&["history", "confirm", print.as_str().unwrap()]).expect(0);
        let again = agent.data("review_change", json!({})).await;
        assert_eq!(again["n_findings"], 1, "{again:#}");
        let withheld = agent.data("list_findings", json!({"withheld": true, "file": "src/"})).await;
        let why = withheld["findings"][0]["withheld"].as_str().unwrap();
        assert!(why.contains("an agent over MCP") && why.contains("the text is ours"), "{why}");
    });
}

#[test]
fn an_agent_gives_a_reason_and_only_proposes_to_dismiss_a_critical_finding() {
    story(async {
        let scratch = Scratch::on_a_branch();
        let said = r#"{"decision":"REJECTED","summary":"s","findings":[{"severity":"critical","category":"security",
            "title":"Anybody can run code","description":"The text is run.","file":"b.js","line":1,
            "evidence":"export const f = (text) => eval(text);"}]}"#;
        let stub = FakeModel::saying(said);
        scratch.configure(&format!("[review]\nreviewers = ['stub']\n{}", stub.table("stub")));
        scratch.write("b.js", BAD);
        let session = Session::start(&scratch, &[]).await;
        let reviewed = session.agent.data("review_change", json!({})).await;
        let critical = &reviewed["findings"][0];
        assert_eq!(critical["severity"], "Critical", "{reviewed:#}");
        assert_eq!(reviewed["reviewers"][0]["name"], "stub");
        for reason in ["", " \n", "...", "\u{200b}"] {
            let arguments = json!({"finding": critical["id"], "reason": reason});
            let refusal = session.agent.refusal("dismiss_finding", arguments).await;
            assert!(refusal.contains("is not dismissed without a reason"), "{refusal}");
        }
        let refusal = session.agent.refusal("dismiss_finding", json!({"finding": critical["id"]})).await;
        assert!(refusal.contains("missing field `reason`"), "{refusal}");
        let reason = json!({"finding": critical["id"], "reason": "f is never called"});
        let proposed = session.agent.data("dismiss_finding", reason).await;
        assert_eq!((&proposed["state"], &proposed["dismissed"]), (&json!("proposed"), &json!(false)));
        let again = session.agent.data("review_change", json!({})).await;
        assert_eq!((&again["may_pass"], &again["findings"][0]["severity"]), (&json!(false), &json!("Critical")));
    });
}

#[test]
fn a_caller_cannot_open_the_gate_that_the_operator_closed() {
    story(async {
        let scratch = Scratch::on_a_branch();
        scratch.write("b.js", BAD);
        let session = Session::start(&scratch, &[]).await;
        let mild = session.agent.data("review_change", json!({"fail_on": "critical"})).await;
        assert_eq!(mild["gate"], "closed", "{mild:#}");
        let refusal = session.agent.refusal("review_change", json!({"fail_on": "never"})).await;
        assert!(refusal.contains("unknown variant `never`"), "{refusal}");
    });
}

#[test]
fn a_summary_is_checked_refused_and_repaired() {
    let broken = SUMMARY.replacen("</summary>\n\n", "</summary>\n", 1);
    story(async {
        let scratch = Scratch::folder();
        let session = Session::start(&scratch, &[]).await;
        let agent = &session.agent;
        let checked = agent.data("check_comment", json!({"body": broken})).await;
        assert_eq!((&checked["kind"], &checked["valid"]), (&json!("review"), &json!(false)), "{checked:#}");
        assert_eq!(agent.data("check_comment", json!({"body": "hello"})).await["kind"], "other");
        let refusal = agent.refusal("create_comment", json!({"body": broken})).await;
        assert!(refusal.contains("breaks its rules") && refusal.contains("fix: true"), "{refusal}");
        let made = agent.data("create_comment", json!({"body": broken, "fix": true})).await;
        assert_eq!((&made["posted"], &made["action"]), (&json!(false), &json!("none")), "{made:#}");
        assert_eq!(made["why_not"], "no pull request was named");
        assert_eq!(agent.data("check_comment", json!({"body": made["body"]})).await["valid"], true);
        assert!(!made["repaired"].as_array().unwrap().is_empty());
    });
}

#[test]
fn features_are_those_of_the_board_around_the_folder() {
    story(async {
        let scratch = Scratch::on_a_branch();
        let session = Session::start(&scratch, &[]).await;
        let refusal = session.agent.refusal("list_features", json!({})).await;
        assert!(refusal.contains("no project of the board"), "{refusal}");
        assert!(!scratch.store().exists(), "looking makes no board");
        scratch.tollgate(&["project", "add", ".", "--ignore"]).expect(0);
        let added = scratch.tollgate(&["feature", "add", "Read JSON", "--format", "json"]).expect(0);
        let id = serde_json::from_str::<serde_json::Value>(&added).unwrap()["id"].clone();
        let listed = session.agent.data("list_features", json!({"status": "backlog"})).await;
        assert_eq!((&listed["total"], &listed["features"][0]["id"]), (&json!(1), &id), "{listed:#}");
        assert_eq!(session.agent.data("list_features", json!({"needs_person": true})).await["total"], 0);
        let feature = session.agent.data("get_feature", json!({"feature": id})).await;
        assert_eq!((&feature["status"], &feature["reviews"]), (&json!("backlog"), &json!([])), "{feature:#}");
        assert!(session.agent.refusal("get_feature", json!({"feature": "nope"})).await.contains("no feature `nope`"));
    });
}

#[test]
fn progress_is_told_in_steps_that_grow() {
    story(async {
        let scratch = Scratch::on_a_branch();
        scratch.write("b.js", BAD);
        let session = Session::start(&scratch, &[]).await;
        let handle = session.agent.begin("review_change", json!({})).await;
        assert_eq!(answered(handle.await_response().await).is_error, Some(false));
        let steps = session.agent.steps();
        assert!(steps.iter().any(|(_, message)| message.contains("of 1 files")), "{steps:?}");
        assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0), "{steps:?}");
    });
}

#[test]
fn a_cancelled_review_ends_and_gives_its_turn_back() {
    let (stub, was_asked, free) = FakeModel::hanging(2);
    story(async move {
        let scratch = Scratch::on_a_branch();
        scratch.configure(&format!("[review]\nreviewers = ['stub']\n{}", stub.table("stub")));
        scratch.write("b.js", GOOD);
        let session = Session::start(&scratch, &[]).await;
        let agent = &session.agent;
        // The limit of concurrent calls.
        let hanging = [agent.begin("review_change", json!({})).await, agent.begin("review_change", json!({})).await];
        let was_asked = tokio::task::spawn_blocking(move || {
            was_asked.recv().unwrap();
            was_asked.recv().unwrap();
        });
        was_asked.await.unwrap();
        // Others are not held up.
        assert_eq!(agent.data("check_comment", json!({"body": "x"})).await["valid"], true);
        for handle in hanging {
            handle.cancel(Some("not wanted any more".to_owned())).await.unwrap();
        }
        // Both turns are free again, or this would wait for ever.
        let done = agent.data("review_change", json!({})).await;
        assert_eq!(done["review"], 1, "what was cancelled is not stored: {done:#}");
        drop(free);
    });
}

#[test]
fn a_signal_ends_it_and_what_it_started() {
    let (stub, was_asked, free) = FakeModel::hanging(1);
    story(async move {
        let scratch = Scratch::on_a_branch();
        scratch.configure(&format!("[review]\nreviewers = ['stub']\n{}", stub.table("stub")));
        scratch.write("b.js", GOOD);
        let mut session = Session::start(&scratch, &[]).await;
        let _hanging = session.agent.begin("review_change", json!({})).await;
        tokio::task::spawn_blocking(move || was_asked.recv().unwrap()).await.unwrap();
        let id = session.child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        assert_eq!(session.child.wait().await.unwrap().code(), Some(130));
        drop(free);
    });
}

#[test]
fn a_client_of_the_newest_revision_needs_no_handshake() {
    story(async {
        let scratch = Scratch::on_a_branch();
        scratch.write("b.js", BAD);
        let mut child = spawn(&scratch, &[], &[]);
        let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let newest = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        let client = Listener::default().serve_with_lifecycle(pipes, newest).await.unwrap();
        let agent = Agent::new(client).await;
        assert_eq!(agent.tools.len(), 8);
        assert_eq!(agent.data("review_change", json!({})).await["gate"], "closed");
    });
}

#[test]
fn a_mistake_in_the_protocol_is_an_error_of_the_protocol() {
    story(async {
        let scratch = Scratch::folder();
        let session = Session::start(&scratch, &[]).await;
        let unknown = session.agent.client.call_tool(CallToolRequestParams::new("rm_rf")).await;
        assert_eq!(protocol_error(unknown).message, "there is no tool `rm_rf`");
        // Invalid arguments are reported to the agent.
        let refusal = session.agent.refusal("check_comment", json!({"body": 1, "more": 2})).await;
        assert!(refusal.contains("the arguments of `check_comment` are wrong"), "{refusal}");
        let refusal = session.agent.refusal("review_change", json!({})).await;
        assert!(refusal.contains("is not in a git repository"), "{refusal}");
    });
}
