//! Rules of the pipeline through the binary: reviewers by default, requirements, overrides, models, budgets, and agents
//! that leave their work tree.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::desk::{BAD, Desk, GOOD, learns, works};
use crate::fake_model::{FakeModel, finding};
use crate::server_process::{Server, add, add_project, command, place, show, tollgate};
use crate::wait::wait_until;

const STEP: &str =
    r#"{"version":1,"steps":[{"id":"docs","name":"Documentation","order":0,"instructions":"write the docs"}]}"#;

fn read(desk: &Desk, id: &str, name: &str) -> String {
    std::fs::read_to_string(desk.path("project/.automaker/features").join(id).join(name)).unwrap()
}

fn feature_json(desk: &Desk, id: &str) -> Value {
    serde_json::from_str(&read(desk, id, "feature.json")).unwrap()
}

/// The file of a feature once its approval is projected into it, which follows the line in the log.
fn approved_json(desk: &Desk, id: &str) -> Value {
    let last = |feature: &Value| feature["codeReviewSpec"]["iterations"].as_array().and_then(|all| all.last().cloned());
    wait_until("the approval is in the file", || {
        last(&feature_json(desk, id)).is_some_and(|iteration| iteration["status"] == "approved")
    });
    feature_json(desk, id)
}

/// Adds lines to the table of the scripted agent, which ends the configuration.
fn configure_agent(desk: &Desk, lines: &str) {
    let path = desk.path("config/tollgate/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, format!("{text}{lines}\n")).unwrap();
}

/// Sets a key of a card that has not started.
fn edit(desk: &Desk, id: &str, key: &str, value: Value) {
    let mut feature = feature_json(desk, id);
    feature[key] = value;
    let path = desk.path("project/.automaker/features").join(id).join("feature.json");
    std::fs::write(path, feature.to_string()).unwrap();
}

fn answer(decision: &str, summary: &str, findings: &[Value], criteria: &Value) -> String {
    json!({ "decision": decision, "summary": summary, "findings": findings, "criteria": criteria }).to_string()
}

fn with_model(stub: &FakeModel) -> String {
    format!("[review]\nreviewers = ['m']\n{}", stub.table("m"))
}

#[test]
fn unclear_requirements_are_not_green_and_wait_for_a_person() {
    let desk = Desk::new(&works());
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Read JSON", &["--description", "Reads a text.\n- it must not run it", "--verify", "--start"]);
    server.hears("approves it, requirements not checked: nothing to report");
    server.hears("it passes the gate, to waiting_approval");
    assert_eq!(place(&desk, &id), "waiting_approval - [approved]");
    let iteration = &approved_json(&desk, &id)["codeReviewSpec"]["iterations"][0];
    assert_eq!((&iteration["status"], &iteration["unchecked"]), (&json!("approved"), &json!(true)));
    let summary = iteration["overallSummary"].as_str().unwrap();
    assert!(summary.starts_with("Approved, requirements not checked: no findings in 1 file."), "{summary}");
    assert!(read(&desk, &id, "code-review-iteration-1.md").contains("⚠️ APPROVED, REQUIREMENTS NOT CHECKED"));
    let shown = tollgate(&desk, &["feature", "show", &id]).expect(0);
    assert!(shown.contains("Iteration 1: approved, requirements not checked"), "{shown}");
    let listed = tollgate(&desk, &["feature", "list"]).expect(0);
    assert!(listed.contains("?  Read JSON  approved, requirements not checked"), "{listed}");
    let cards = server.json(&desk, "GET", "/api/projects/1/features", "", 200);
    assert!(cards.to_string().contains("\"unchecked\":true"), "{cards}");
}

#[test]
fn the_agent_of_a_feature_reviews_it_and_met_requirements_are_green() {
    let reply =
        answer("APPROVED", "It parses.", &[], &json!([{ "id": "C1", "met": "yes", "evidence": "b.js:1 parses" }]));
    let script = format!("case $TASK in '# Feature'*) {};; *) echo '{reply}';; esac", works());
    let desk = Desk::new(&script);
    configure_agent(&desk, "reviews = true");
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Read JSON", &["--description", "Reads a text.\n- it must not run it", "--verify", "--start"]);
    server.hears("it passes the gate, to verified");
    let feature = approved_json(&desk, &id);
    assert_eq!(feature["branchName"], format!("feature/{id}"));
    let iteration = &feature["codeReviewSpec"]["iterations"][0];
    assert_eq!((&iteration["reviewedByProvider"], &iteration["unchecked"]), (&json!("script"), &Value::Null));
    let expected = "Approved: no findings in 1 file. The acceptance criterion is met.\n\nscript: It parses.";
    assert_eq!(iteration["overallSummary"], expected);
}

#[test]
fn text_answers_fill_the_requirements() {
    let reply = "**[APPROVED]** - it does what is asked for\n\n### Compliance\n- C1: met - b.js:1 parses the text\n\n\
                 ### Issues Found\nNone\n\n### Summary\nIt parses.\n";
    let desk =
        Desk::new(&format!("case $TASK in '# Feature'*) {};; *) cat \"$(dirname \"$0\")/reply\";; esac", works()));
    std::fs::write(desk.path("reply"), reply).unwrap();
    configure_agent(&desk, "reviews = true");
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Read JSON", &["--description", "Reads a text.\n- it must not run it", "--verify", "--start"]);
    server.hears("it passes the gate, to verified");
    let iteration = &approved_json(&desk, &id)["codeReviewSpec"]["iterations"][0];
    assert_eq!(iteration["compliance"]["met"].as_array().map(Vec::len), Some(1), "{iteration}");
}

#[test]
fn findings_without_a_file_and_mild_ones_reach_files_and_the_fixing_agent() {
    let stub = FakeModel::answering(|question| {
        // Only the line that is new since the last review is marked.
        if question.contains("*2+// tested") && !question.contains("*1+") {
            let said = |id: &str| json!({ "id": id, "state": "fixed", "evidence": "b.js:2 // tested in full" });
            let prior = [said("P1"), said("P2")];
            return json!({ "criteria": [], "prior": prior, "decision": "APPROVED", "summary": "Good.", "findings": [] })
                .to_string();
        }
        let mut whole = finding("High", "", 1, "No tests at all", "");
        for key in ["file", "line_start", "line_end"] {
            whole[key] = Value::Null;
        }
        let mild = finding("Nit", "b.js", 1, "The name says little", GOOD);
        answer("REJECTED", "See there.", &[whole, mild], &json!([]))
    });
    let script = format!(
        "dir=$(dirname \"$0\"); case $TASK in *'No tests at all'*) printf '%s' \"$TASK\" > \"$dir/task\"; echo '// tested in full' >> b.js;; \
         *) echo '{GOOD}' > b.js;; esac"
    );
    let desk = Desk::configured(&script, &with_model(&stub));
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Read JSON", &["--start"]);
    server.hears("it goes back: Fix: No tests at all (whole change).");
    server.hears("it passes the gate");
    let findings = &approved_json(&desk, &id)["codeReviewSpec"]["iterations"][0]["findings"];
    assert_eq!((&findings[0]["title"], &findings[0]["file"]), (&json!("No tests at all"), &Value::Null));
    assert_eq!((&findings[1]["severity"], &findings[1]["line"]), (&json!("info"), &json!(1)));
    let text = read(&desk, &id, "code-review-iteration-1.md");
    assert!(text.contains("No tests at all (whole change)") && text.contains("The name says little"), "{text}");
    let task = std::fs::read_to_string(desk.path("task")).unwrap();
    assert!(task.contains("File: whole change") && task.contains("The name says little"), "{task}");
    for text in [text, task, findings.to_string()] {
        assert!(!text.contains("unknown"), "{text}");
    }
    // Issue 17: one page said that no finding could be verified, and that one rejects.
    let shown = tollgate(&desk, &["feature", "show", &id]).expect(0);
    assert!(shown.contains("Rejected: 1 error") && !shown.contains("verified"), "{shown}");
    let run = tollgate(&desk, &["history", "show", "1"]).expect(0);
    assert!(run.contains("Rejected -- 1 major finding") && !run.contains("verified"), "{run}");
}

// Issue 17: after an iteration without changes the findings before it were gone.
#[test]
fn a_blocking_claim_that_could_not_be_verified_is_not_approved_once_the_reviewer_is_silent() {
    let stub = FakeModel::answering(|question| {
        let claim = finding("Critical", "b.js", 1, "The text is run as code", "");
        let claims = if question.contains("P1 Critical/") { Vec::new() } else { vec![claim] };
        answer("APPROVED", "Fine.", &claims, &json!([]))
    });
    let desk = Desk::configured(&format!("echo '{GOOD}' > b.js"), &with_model(&stub));
    add_project(&desk);
    let _server = Server::start(&desk);
    let id = add(&desk, "Read JSON", &["--start"]);
    wait_until("the review ends", || {
        feature_json(&desk, &id)["codeReviewSpec"]["iterations"].as_array().is_some_and(|all| !all.is_empty())
    });
    assert_eq!(stub.asked().len(), 3, "the first answer, and two that are silent about the claim");
    assert!(!place(&desk, &id).contains("approved"), "{}", place(&desk, &id));
    let text = read(&desk, &id, "code-review-iteration-1.md");
    assert!(text.contains("not verified: it quotes no code: Critical The text is run as code (b.js:1)"), "{text}");
    let shown = tollgate(&desk, &["feature", "show", &id]).expect(0);
    assert!(shown.contains("1 blocking claim could not be verified"), "{shown}");
}

#[test]
fn findings_stay_open_when_the_agent_changes_nothing() {
    let desk = Desk::new(&format!("[ -f b.js ] || echo '{BAD}' > b.js"));
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Read JSON", &["--start"]);
    server.hears("it waits for a person");
    let shown = tollgate(&desk, &["feature", "show", &id]).expect(0);
    let last = shown.split("Iteration 2: rejected").nth(1).unwrap_or_else(|| panic!("{shown}"));
    assert!(last.contains("The agent changed nothing") && last.contains("b.js:1"), "{shown}");
    assert!(!last.contains(" by tollgate/offline"), "nobody reviewed it: {shown}");
    let text = read(&desk, &id, "code-review-iteration-2.md");
    assert!(text.contains("The agent changed nothing") && text.contains("b.js"), "{text}");
    let list = server.json(&desk, "GET", "/api/projects/1/features", "", 200);
    assert_eq!(list["features"][0]["sinceLastReview"], json!({ "new": 1, "resolved": 0 }), "{list}");
}

#[test]
fn a_persons_override_holds_through_later_steps_and_the_step_has_its_files() {
    let script = format!(
        "case $TASK in *'write the docs'*) echo docs > DOCS.md; echo wrote them;; *) echo '{BAD}' > b.js;; esac"
    );
    let desk = Desk::new(&script);
    add_project(&desk);
    std::fs::write(desk.path("project/.automaker/pipeline.json"), STEP).unwrap();
    let mut server = Server::start(&desk);
    let id = add(&desk, "Sandbox", &["--start"]);
    server.hears("it waits for a person: ");
    tollgate(&desk, &["feature", "approve", &id, "--reason", "it is a sandbox"]).expect(0);
    server.hears("it passes the gate, to waiting_approval");
    let shown = show(&desk, &id);
    let last = shown["iterations"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["status"], &last["afterStep"]), (&json!("approved"), &json!("docs")), "{last}");
    assert!(last["notes"].to_string().contains("ada approved against an earlier review"), "{last}");
    let number = last["iterationNumber"].as_u64().unwrap();
    assert!(read(&desk, &id, &format!("code-review-iteration-{number}.md")).contains("APPROVED"));
    assert_eq!(read(&desk, &id, &format!("agent-output-iteration-{number}.md")).trim(), "wrote them");
}

#[test]
fn the_model_of_a_feature_is_used_or_refused_on_the_card() {
    let stub = FakeModel::answering(|_| answer("APPROVED", "Good.", &[], &json!([])));
    let desk = Desk::configured(&works(), &with_model(&stub));
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Plain", &["--model", "house-9", "--start"]);
    server.hears("it waits for a person: `script` takes no model, and the feature asks for `house-9`");
    assert_eq!(place(&desk, &id), "in_progress agent-failed []");
    drop(server);
    let config = desk.path("config/tollgate/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("agent.sh']", "agent.sh', '{model}']")).unwrap();
    let mut server = Server::start(&desk);
    tollgate(&desk, &["feature", "retry", &id]).expect(0);
    server.hears("it passes the gate");
    assert_eq!(stub.asked()[0]["model"], "house-9");
}

#[test]
fn the_review_model_of_the_pipeline_is_used_as_it_is_or_refused_on_the_card() {
    for (named, said) in [
        ("judge-3", "it passes the gate"),
        ("--yolo", "the model `--yolo` cannot be used: it is not the name of a model"),
    ] {
        let stub = FakeModel::answering(|_| answer("APPROVED", "Good.", &[], &json!([])));
        let desk = Desk::configured(&works(), &with_model(&stub));
        let config = desk.path("config/tollgate/config.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        let with_review_model = format!("[pipeline]\nreview_model = '{named}'\n");
        std::fs::write(&config, text.replace("[pipeline]\n", &with_review_model)).unwrap();
        add_project(&desk);
        let mut server = Server::start(&desk);
        let id = add(&desk, "Plain", &["--start"]);
        server.hears(said);
        let asked: Vec<Value> = stub.asked().iter().map(|question| question["model"].clone()).collect();
        if named == "judge-3" {
            assert_eq!(asked, ["judge-3"], "{asked:?}");
        } else {
            let shown = tollgate(&desk, &["feature", "show", &id]).expect(0);
            assert!(asked.is_empty() && shown.contains("the model `--yolo` cannot be used"), "{shown}");
        }
    }
}

#[test]
fn an_over_budget_review_fails_once_with_the_figure_and_asks_no_model() {
    let stub = FakeModel::answering(|_| answer("APPROVED", "Good.", &[], &json!([])));
    let settings = format!("{}\n[budget]\ntokens = 6000\n", with_model(&stub));
    let script = "for n in $(seq 1 4000); do echo \"export const value_$n = $n * 2;\"; done > b.js";
    let desk = Desk::configured(script, &settings);
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Huge", &["--start"]);
    let told = server.hears("it waits for a person: the review needs about ");
    assert!(told.contains("tokens, and its budget is 6,000. Raise `budget.tokens` to "), "{told}");
    assert_eq!(place(&desk, &id), "code_review review-failed [failed]");
    assert_eq!(stub.asked().len(), 0);
    // The figure is enough.
    let figure = told.split("Raise `budget.tokens` to ").nth(1).unwrap().split(' ').next().unwrap().replace(',', "");
    drop(server);
    let config = desk.path("config/tollgate/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("tokens = 6000", &format!("tokens = {figure}"))).unwrap();
    let mut server = Server::start(&desk);
    tollgate(&desk, &["feature", "retry", &id]).expect(0);
    server.hears("it passes the gate");
}

#[test]
fn project_context_and_images_reach_the_implementer() {
    let desk = Desk::new(&format!("printf '%s' \"$TASK\" > \"$(dirname \"$0\")/task\"; {}", works()));
    std::fs::write(desk.path("project/CLAUDE.md"), "We never use tabs.\n").unwrap();
    desk.git(&["add", "CLAUDE.md"]);
    desk.git(&["commit", "-q", "-m", "guidance"]);
    add_project(&desk);
    std::fs::create_dir_all(desk.path("project/.automaker/context")).unwrap();
    std::fs::write(desk.path("project/.automaker/context/style.md"), "Names are short.\n").unwrap();
    let image = desk.path("project/form.png").canonicalize().unwrap_or(desk.path("project/.automaker/form.png"));
    std::fs::write(&image, "png").unwrap();
    let id = add(&desk, "Form", &[]);
    edit(&desk, &id, "imagePaths", json!([{ "id": "1", "path": image, "filename": "form.png" }]));
    let mut server = Server::start(&desk);
    tollgate(&desk, &["feature", "start", &id]).expect(0);
    server.hears("it passes the gate");
    let task = std::fs::read_to_string(desk.path("task")).unwrap();
    for part in ["### CLAUDE.md\nWe never use tabs.", "### .automaker/context/style.md\nNames are short.", "form.png"] {
        assert!(task.contains(part), "{task}");
    }
}

/// A program `claude` that works as the script says and tells its session; `$SESSION` is the one it continues.
fn write_claude(desk: &Desk, script: &str) -> String {
    let bin = desk.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let text = format!(
        "#!/bin/sh\nTASK=$(cat); SESSION=; while [ $# -gt 0 ]; do [ \"$1\" = --resume ] && SESSION=$2; shift; done\n\
         echo \"session '$SESSION'\" >> '{}'\n\
         [ -n \"$SESSION\" ] || echo '{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-1\"}}'\n{script}\n\
         echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"ok\",\"session_id\":\"s-1\"}}'\n",
        desk.path("sessions").display()
    );
    std::fs::write(bin.join("claude"), text).unwrap();
    std::fs::set_permissions(bin.join("claude"), std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

fn serve_claude(desk: &Desk, path: &str) -> Server {
    let mut serve: Command = command(desk, &["serve", "--listen", "127.0.0.1:0", "--agent", "claude"]);
    serve.env("PATH", path);
    Server::of(serve)
}

#[test]
fn fix_rounds_continue_the_session_and_begin_anew_when_it_is_gone() {
    let settings = "[review]\nreviewers = ['rules']\n";
    let desk = Desk::configured(&works(), settings);
    let path = write_claude(&desk, &learns());
    add_project(&desk);
    let mut server = serve_claude(&desk, &path);
    add(&desk, "Read JSON", &["--start"]);
    server.hears("it passes the gate");
    assert_eq!(std::fs::read_to_string(desk.path("sessions")).unwrap(), "session ''\nsession 's-1'\n");
    drop(server);
    let desk = Desk::configured(&works(), settings);
    let gone = "if [ -n \"$SESSION\" ]; then echo 'No conversation found' >&2; exit 1; fi\n";
    let path = write_claude(&desk, &format!("{gone}{}", learns()));
    add_project(&desk);
    let mut server = serve_claude(&desk, &path);
    add(&desk, "Read JSON", &["--start"]);
    server.hears("it passes the gate");
    assert_eq!(std::fs::read_to_string(desk.path("sessions")).unwrap(), "session ''\nsession 's-1'\nsession ''\n");
}

#[test]
fn an_agent_that_writes_into_the_main_checkout_is_noticed() {
    let script =
        format!("echo run >> \"$(dirname \"$0\")/runs\"; echo x > ../../stray.txt; echo y >> ../../a.js; {}", works());
    let desk = Desk::new(&script);
    add_project(&desk);
    // A change of a person that was there before is not the agent's.
    std::fs::write(desk.path("project/mine.txt"), "mine").unwrap();
    let mut server = Server::start(&desk);
    let id = add(&desk, "Strays", &["--start"]);
    server.hears("it waits for a person: the main checkout changed while the agent ran: `a.js`, `stray.txt`.");
    assert_eq!(place(&desk, &id), "in_progress main-changed []");
    assert!(desk.path("project/stray.txt").exists(), "nothing is reverted: it could be a person's");
    desk.git(&["checkout", "-q", "a.js"]);
    std::fs::remove_file(desk.path("project/stray.txt")).unwrap();
    tollgate(&desk, &["feature", "retry", &id]).expect(0);
    server.hears("it passes the gate");
    assert_eq!(place(&desk, &id), "waiting_approval - [approved]");
    assert_eq!(std::fs::read_to_string(desk.path("runs")).unwrap(), "run\n");
}

#[test]
fn a_reviewing_agent_that_writes_into_the_main_checkout_is_noticed() {
    let reply = answer("APPROVED", "Good.", &[], &json!([]));
    let script =
        format!("case $TASK in '# Feature'*) {};; *) echo x >> \"$MAIN/a.js\"; echo '{reply}';; esac", works());
    let desk = Desk::new(&script.replace("$MAIN", "$(dirname \"$0\")/project"));
    configure_agent(&desk, "reviews = true");
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Strays", &["--start"]);
    server.hears("it waits for a person: the main checkout changed while the reviewer ran: `a.js`.");
    assert_eq!(place(&desk, &id), "code_review review-failed [failed]");
}

#[test]
fn history_and_reviews_show_the_state_that_the_board_shows() {
    let desk = Desk::new(&works());
    add_project(&desk);
    let mut server = Server::start(&desk);
    add(&desk, "Read JSON", &["--description", "Reads a text.\n- it must not run it", "--start"]);
    server.hears("it passes the gate");
    let runs = |desk: &Desk| -> Value {
        let listed = tollgate(desk, &["history", "list", "--all", "--format", "json"]).expect(0);
        serde_json::from_str(&listed).unwrap()
    };
    let state = &runs(&desk)[0]["state_of_head"];
    assert_eq!((&state["colour"], &state["label"]), (&json!("yellow"), &json!("Approved, requirements not checked")));
    assert!(state["explanation"].as_str().unwrap().contains("acceptance criterion is unclear"), "{state}");

    let script = format!("echo '{BAD}' > b$(git rev-list --count HEAD).js");
    let desk = Desk::new(&script);
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Bad", &["--start"]);
    server.hears("it waits for a person");
    let state = &runs(&desk)[0]["state_of_head"];
    assert_eq!((&state["colour"], &state["label"]), (&json!("red"), &json!("Rejected")), "{state}");
    let reviewed = || server.json(&desk, "GET", "/api/reviews?limit=1", "", 200)["reviews"][0]["state"].clone();
    assert_eq!(reviewed()["label"], "Rejected");
    tollgate(&desk, &["feature", "approve", &id, "--reason", "it is a toy"]).expect(0);
    let state = reviewed();
    assert_eq!((&state["colour"], &state["label"]), (&json!("green"), &json!("Approved by hand")), "{state}");
    assert!(state["explanation"].as_str().unwrap().contains("it is a toy; Rejected before: "), "{state}");
}

#[test]
fn an_agent_that_switches_the_branch_of_the_main_checkout_is_noticed() {
    // In a sandbox it cannot.
    let desk = Desk::configured(&format!("git -C ../.. checkout -q -b mine; {}", works()), "sandbox = 'off'");
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Switches", &["--start"]);
    server.hears("the main checkout changed while the agent ran: it was on `main` and is on `mine`.");
    assert_eq!(place(&desk, &id), "in_progress main-changed []");
}

#[test]
fn commits_of_others_in_the_main_checkout_are_not_blamed_on_the_agent() {
    let desk = Desk::configured(&format!("git -C ../.. merge -q --ff-only other; {}", works()), "sandbox = 'off'");
    desk.git(&["checkout", "-q", "-b", "other"]);
    std::fs::write(desk.path("project/other.txt"), "other").unwrap();
    desk.git(&["add", "other.txt"]);
    desk.git(&["commit", "-q", "-m", "other"]);
    desk.git(&["checkout", "-q", "main"]);
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Beside others", &["--start"]);
    server.hears("it passes the gate");
    assert_eq!(place(&desk, &id), "waiting_approval - [approved]");
}

#[test]
fn an_agent_on_another_branch_of_its_work_tree_is_put_back_or_named_as_the_cause() {
    let commit = "git add b.js; git -c user.name=a -c user.email=a@example.com commit -q -m mine";
    let desk = Desk::configured(&format!("git checkout -q -b mine; {}; {commit}", works()), "sandbox = 'off'");
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Own branch", &["--start"]);
    server.hears("it passes the gate");
    assert_eq!(place(&desk, &id), "waiting_approval - [approved]");
    assert_eq!(desk.git(&["log", "-1", "--format=%s", &format!("feature/{id}")]), "mine");
    assert!(read(&desk, &id, "agent-output-iteration-1.md").contains("the work tree was on the branch `mine`"));
    drop(server);
    let script = format!("git checkout -q --orphan lost; git commit -q --allow-empty -m lost; {}", works());
    let desk = Desk::configured(&script, "sandbox = 'off'");
    desk.git(&["config", "user.name", "a"]);
    desk.git(&["config", "user.email", "a@example.com"]);
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Lost", &["--start"]);
    server.hears("it waits for a person: the agent switched its work tree from the branch `feature/");
    assert_eq!(place(&desk, &id), "in_progress agent-failed []");
}
