//! `project` and `feature` beside a server, with agents that are scripts.

use insta::assert_snapshot;
use serde_json::Value;

use crate::desk::{BAD, Desk, GOOD, learns, works};
use crate::server_process::{Server, add, add_project, appears, command, first_line, place, show, tollgate};
use crate::wait::wait_until;

/// An agent that writes a file, prints a line, and waits for a file `go`.
fn waits(desk_file: &str) -> String {
    format!(
        "dir=$(dirname \"$0\"); echo half > half.txt; echo working; echo > \"$dir/{desk_file}\"\n\
         while [ ! -e \"$dir/go\" ]; do sleep 0.05; done\necho '{GOOD}' > b.js; echo done"
    )
}

#[track_caller]
fn started(script: &str) -> (Desk, Server) {
    let desk = Desk::new(script);
    add_project(&desk);
    let server = Server::start(&desk);
    (desk, server)
}

fn read(desk: &Desk, id: &str, name: &str) -> String {
    std::fs::read_to_string(desk.path("project/.automaker/features").join(id).join(name)).unwrap()
}

#[test]
fn a_feature_is_rejected_repaired_and_approved() {
    let (desk, mut server) = started(&learns());
    let id = add(&desk, "Read JSON", &["--description", "Reads a text.\n- it must not run it", "--start"]);
    server.hears("it goes back: ");
    server.hears("it passes the gate, to waiting_approval");
    assert_eq!(place(&desk, &id), "waiting_approval - [rejected approved]");
    let (code, _) = server.end();
    assert_eq!(code, Some(0));
    let feature: Value = serde_json::from_str(&read(&desk, &id, "feature.json")).unwrap();
    assert_eq!(feature["status"], "waiting_approval");
    assert_eq!(feature["codeReviewSpec"]["iterations"][0]["status"], "rejected");
    assert!(read(&desk, &id, "code-review-iteration-1.md").contains("**Status**: ❌ REJECTED"));
    assert!(read(&desk, &id, "code-review-iteration-2.md").contains("APPROVED"));
    assert_eq!(read(&desk, &id, "agent-output-iteration-1.md").trim(), "written");
    let log = desk.git(&["log", "--format=%s", &format!("main..feature/{id}")]);
    assert_eq!(log, "feat: Read JSON\nfeat: Read JSON");
    assert_eq!(desk.git(&["status", "--porcelain"]), "", "the main checkout is not touched");
    assert_eq!(tollgate(&desk, &["feature", "logs", &id]).expect(0), "fixed\n");
    assert_eq!(tollgate(&desk, &["feature", "logs", &id, "--iteration", "1"]).expect(0), "written\n");
}

// Issue 17: a list item was taken for an option.
#[test]
fn texts_may_begin_with_a_hyphen_and_options_are_no_texts() {
    let desk = Desk::new("exit 1");
    add_project(&desk);
    let id = add(&desk, "B", &["--description", "- b must exist"]);
    assert_eq!(show(&desk, &id)["description"], "- b must exist");
    tollgate(&desk, &["feature", "edit", &id, "--title", "-1 is refused", "--description", "-"]).expect(0);
    assert_eq!(show(&desk, &id)["title"], "-1 is refused");
    let refused = tollgate(&desk, &["feature", "add", "C", "--description", "--start"]).expect_refused(2);
    assert!(refused.contains("`--start` is an option, not a text"), "{refused}");
    let refused = tollgate(&desk, &["feature", "approve", &id, "--reason"]).expect_refused(2);
    assert!(refused.contains("a value is required"), "{refused}");
}

#[test]
fn a_list_by_an_unknown_status_is_an_error() {
    let desk = Desk::new("exit 1");
    add_project(&desk);
    add(&desk, "B", &[]);
    let refused = tollgate(&desk, &["feature", "list", "--status", "bogus"]).expect_refused(2);
    assert!(refused.contains("`bogus` is not a status") && refused.contains("`waiting_approval`"), "{refused}");
    assert!(tollgate(&desk, &["feature", "list", "--status", "backlog"]).expect(0).contains('B'));
}

#[test]
fn show_tells_a_person_all_there_is() {
    let (desk, mut server) = started(&learns());
    let id = add(&desk, "Read JSON", &["--description", "Reads a text.\n- it must not run it", "--start"]);
    server.hears("it passes the gate");
    server.end();
    let text = tollgate(&desk, &["feature", "show", &id]).expect(0);
    let commits = desk.git(&["log", "--format=%h", "--abbrev=7", &format!("feature/{id}")]);
    let folder = desk.path("project").canonicalize().unwrap().display().to_string();
    let mut text = text.replace(&id, "ID").replace(&folder, "PROJECT");
    for commit in commits.lines() {
        text = text.replace(commit, "COMMIT");
    }
    let times: Vec<String> =
        text.split_whitespace().filter(|word| word.ends_with('Z') && word.len() == 24).map(str::to_owned).collect();
    for time in times {
        text = text.replace(&time, "TIME");
    }
    assert_snapshot!(text, @"
    Read JSON
    ID of project

    status      awaiting approval
    priority    2
    branch      feature/ID, for main
    work tree   PROJECT/.worktrees/ID

      Reads a text.
      - it must not run it

    Iteration 1: rejected, TIME by tollgate/offline, commit COMMIT
      Rejected: 1 error in 1 file. The acceptance criterion is unclear: no reviewer answered it.
      Fix: dynamic code execution (b.js:1).
      Findings: 1 High
        High      b.js:1  dynamic code execution
      Criteria:
        unclear  C1  it must not run it

    Iteration 2: approved, requirements not checked, TIME by tollgate/offline, commit COMMIT
      Approved, requirements not checked: no findings in 1 file. The acceptance criterion is unclear: no reviewer answered it.
      Criteria:
        unclear  C1  it must not run it

    Files in PROJECT/.automaker/features/ID
      feature.json
      agent-output-iteration-1.md
      code-review-iteration-1.md
      agent-output-iteration-2.md
      code-review-iteration-2.md
    ");
}

#[test]
fn after_three_rejections_a_person_has_it_go_on_or_lets_it_pass() {
    let script = format!(
        "case $TASK in *'no eval please'*) rm -f b?.js; echo '{GOOD}' > b.js;; \
         *) n=$(ls b?.js 2>/dev/null | wc -l); echo '{BAD}' > b$((n)).js;; esac; echo done"
    );
    let (desk, mut server) = started(&script);
    let id = add(&desk, "Stubborn", &["--start"]);
    server.hears("it waits for a person: ");
    assert_eq!(place(&desk, &id), "in_progress max-iterations [rejected rejected rejected]");
    // Reviewed again, the same commit is as bad as it was.
    tollgate(&desk, &["feature", "retry", &id]).expect(0);
    server.hears("the review of iteration 3 begins");
    server.hears("it waits for a person: ");
    assert_eq!(place(&desk, &id), "in_progress max-iterations [rejected rejected rejected rejected]");
    let listed = tollgate(&desk, &["feature", "list"]).expect(0);
    assert!(listed.contains("✗✗✗  Stubborn  the iteration limit was reached"), "{listed}");
    tollgate(&desk, &["feature", "resume", &id, "--note", "no eval please"]).expect(0);
    server.hears("it passes the gate");
    assert_eq!(place(&desk, &id), "waiting_approval - [rejected rejected rejected rejected approved]");

    let id = add(&desk, "Let pass", &["--start", "--verify"]);
    server.hears("it waits for a person: ");
    let refused = tollgate(&desk, &["feature", "approve", &id, "--reason", " "]).expect_refused(2);
    assert!(refused.contains("`--reason` is empty"), "{refused}");
    tollgate(&desk, &["feature", "approve", &id, "--reason", "it is a toy"]).expect(0);
    assert_eq!(place(&desk, &id), "verified - [rejected rejected rejected]");
    let person = &show(&desk, &id)["iterations"][2]["override"];
    assert_eq!((person["who"].as_str(), person["reason"].as_str()), (Some("ada"), Some("it is a toy")));
}

#[test]
fn an_agent_that_changes_nothing_stops_after_being_told() {
    let (desk, mut server) = started("echo thinking");
    let id = add(&desk, "Nothing", &["--start"]);
    server.hears("it waits for a person: ");
    assert_eq!(place(&desk, &id), "in_progress no-progress [rejected rejected]");
    assert_eq!(desk.git(&["rev-list", "--count", &format!("main..feature/{id}")]), "0");
}

#[test]
fn a_failed_feature_is_retried_after_the_fix() {
    let (desk, mut server) = started("echo oh no; exit 3");
    let id = add(&desk, "Broken agent", &["--start"]);
    server.hears("it waits for a person: ");
    assert_eq!(place(&desk, &id), "in_progress agent-failed []");
    let problem = show(&desk, &id)["error"].as_str().unwrap().to_owned();
    assert!(problem.contains('3'), "{problem}");
    std::fs::write(desk.path("agent.sh"), format!("cat > /dev/null\n{}\n", works())).unwrap();
    tollgate(&desk, &["feature", "retry", &id]).expect(0);
    server.hears("it passes the gate");
    assert_eq!(place(&desk, &id), "waiting_approval - [approved]");
}

#[test]
fn stopping_leaves_the_work_where_it_is() {
    let (desk, mut server) = started(&waits("began"));
    let id = add(&desk, "Slow", &["--start"]);
    let mut logs = command(&desk, &["feature", "logs", "-f", &id]).spawn().unwrap();
    // The agent prints nothing more; its output must still arrive.
    assert_eq!(first_line(&mut logs), "working");
    tollgate(&desk, &["feature", "stop", &id]).expect(0);
    assert!(logs.wait().unwrap().success());
    server.hears("it is in backlog now");
    assert_eq!(place(&desk, &id), "backlog - []");
    let worktree = show(&desk, &id)["worktreePath"].as_str().unwrap().to_owned();
    server.end();
    assert_eq!(std::fs::read_to_string(format!("{worktree}/half.txt")).unwrap(), "half\n");
}

#[test]
fn two_features_are_worked_on_at_once() {
    let script = format!(
        "dir=$(dirname \"$0\"); touch \"$dir/here-$(basename \"$PWD\")\"\n\
         while [ $(ls \"$dir\"/here-* | wc -l) -lt 2 ]; do sleep 0.05; done\necho '{GOOD}' > b.js"
    );
    let (desk, mut server) = started(&script);
    let ids = [add(&desk, "One", &["--start"]), add(&desk, "Two", &["--start"])];
    server.hears("it passes the gate");
    server.hears("it passes the gate");
    assert_eq!(ids.map(|id| place(&desk, &id)), ["waiting_approval - [approved]"; 2]);
}

#[test]
fn a_feature_waits_for_what_it_depends_on() {
    let script = format!(
        "dir=$(dirname \"$0\"); case $TASK in *First*) name=first;; *) name=second;; esac; echo $name >> \"$dir/order\"\n\
         echo '{GOOD}' > $name.js"
    );
    let desk = Desk::new(&script);
    add_project(&desk);
    let first = add(&desk, "First", &["--verify", "--priority", "3"]);
    let short = first.rsplit('-').next().unwrap();
    let second = add(&desk, "Second", &["--depends-on", short, "--priority", "1"]);
    for id in [&second, &first] {
        let ran = tollgate(&desk, &["feature", "start", id]);
        assert!(ran.stderr.contains("no server is running for this project; start one with `tollgate serve`"));
        assert!(ran.expect(0).contains("an agent is queued for it"));
    }
    let listed = tollgate(&desk, &["feature", "list"]).expect(0);
    assert!(listed.contains("blocked by its dependencies"), "{listed}");
    let mut server = Server::start(&desk);
    server.hears("Second");
    server.hears("it passes the gate");
    assert_eq!(std::fs::read_to_string(desk.path("order")).unwrap(), "first\nsecond\n");
    assert_eq!(place(&desk, &first), "verified - [approved]");
}

#[test]
fn a_step_behind_the_gate_is_done_and_reviewed_again() {
    let script =
        format!("case $TASK in *'write the docs'*) echo docs > DOCS.md;; *) echo '{GOOD}' > b.js;; esac; echo ok");
    let desk = Desk::new(&script);
    add_project(&desk);
    let steps = r#"{"version":1,"steps":[{"id":"docs","name":"Documentation","order":0,"instructions":"write the docs","colorClass":"x","createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z"}]}"#;
    std::fs::write(desk.path("project/.automaker/pipeline.json"), steps).unwrap();
    let mut server = Server::start(&desk);
    let id = add(&desk, "With docs", &["--start"]);
    server.hears("it passes the gate, to pipeline_docs");
    server.hears("step docs");
    server.hears("it passes the gate, to waiting_approval");
    assert_eq!(place(&desk, &id), "waiting_approval - [approved approved]");
    let files = desk.git(&["diff", "--name-only", "main", &format!("feature/{id}")]);
    assert_eq!(files, "DOCS.md\nb.js");
}

#[test]
fn a_server_that_ends_in_the_middle_goes_on_at_the_next_start() {
    for signal in ["TERM", "KILL"] {
        let (desk, mut server) = started(&waits("began"));
        let id = add(&desk, "Slow", &["--start"]);
        server.hears("starts on iteration 1");
        appears(&desk.path("began"));
        if signal == "TERM" {
            let (code, said) = server.end();
            assert_eq!(code, Some(0), "{said}");
            assert!(said.contains("goes on at the next start"), "{said}");
        } else {
            server.kill();
        }
        std::fs::write(desk.path("go"), "").unwrap();
        let mut server = Server::start(&desk);
        server.hears("it passes the gate");
        assert_eq!(place(&desk, &id), "waiting_approval - [approved]", "after {signal}");
        let (_, said) = server.end();
        assert_eq!(desk.git(&["rev-list", "--count", &format!("main..feature/{id}")]), "1", "{said}");
    }
}

#[test]
fn a_person_sends_back_completes_shelves_and_deletes() {
    let (desk, mut server) =
        started(&works().replace("echo done", "printf '%s' \"$TASK\" > \"$(dirname \"$0\")/task\""));
    let id = add(&desk, "Read JSON", &["--start"]);
    server.hears("it passes the gate");
    tollgate(&desk, &["feature", "reject", &id, "--note", "name it better"]).expect(0);
    // It makes the same file again, so nothing changes, and a person is asked.
    server.hears("it waits for a person: ");
    assert!(std::fs::read_to_string(desk.path("task")).unwrap().contains("name it better"));
    tollgate(&desk, &["feature", "move", &id, "backlog"]).expect(0);
    let refused = tollgate(&desk, &["feature", "move", &id, "completed"]).expect_refused(2);
    assert!(refused.contains("cannot complete it: it is in the backlog"), "{refused}");
    tollgate(&desk, &["feature", "delete", &id]).expect(0);
    assert_eq!(tollgate(&desk, &["feature", "list"]).expect(0), "");
    tollgate(&desk, &["feature", "show", &id]).expect_refused(2);
    let other = add(&desk, "Another", &["--start", "--branch", "own/name"]);
    server.hears("it passes the gate");
    tollgate(&desk, &["feature", "move", &other, "completed"]).expect(0);
    assert_eq!(place(&desk, &other), "completed - [approved]");
    assert!(!desk.git(&["branch", "--list", "own/name"]).is_empty());
}

#[test]
fn wrong_use_is_refused_with_what_to_do() {
    let desk = Desk::new(&works());
    #[track_caller]
    fn check(desk: &Desk, args: &[&str], expected: &[&str]) {
        let said = tollgate(desk, args).expect_refused(2);
        for text in expected {
            assert!(said.contains(text), "{args:?}: {said}");
        }
    }
    check(&desk, &["feature", "list"], &["is not in a project of the board", "tollgate project add PATH"]);
    assert!(!desk.path("data/tollgate/tollgate.db").exists(), "looking makes no board");
    check(&desk, &["project", "add", "../home"], &["home"]);
    check(&desk, &["project", "add", "nowhere"], &["nowhere"]);
    add_project(&desk);
    check(&desk, &["feature", "list", "--project", "77"], &["there is no project 77", "tollgate project list"]);
    check(&desk, &["feature", "list", "--project", "../home"], &["is not in a project of the board"]);
    check(&desk, &["feature", "show", "nothing"], &["there is no feature `nothing`"]);
    check(&desk, &["feature", "add", " "], &["a feature needs a title or a description"]);
    check(&desk, &["feature", "add", "x", "--priority", "4"], &["4 is not in 1..=3"]);
    check(&desk, &["feature", "add", "x", "--depends-on", "y"], &["there is no feature `y`"]);
    check(&desk, &["feature", "add", "x", "--description-file", "-", "--spec-file", "-"], &["standard input"]);
    check(&desk, &["feature", "approve", "x"], &["--reason"]);
    check(&desk, &["feature", "reject", "x"], &["--note"]);
    let ids = [add(&desk, "One", &[]), add(&desk, "Two", &[])];
    check(&desk, &["feature", "show", "feature-"], &["is ambiguous", &ids[0]]);
    check(&desk, &["feature", "stop", &ids[0]], &["cannot stop it: it is in the backlog"]);
    check(&desk, &["project", "remove", "77"], &["there is no project 77"]);
}

#[test]
fn projects_come_and_go_with_their_features() {
    let desk = Desk::new(&works());
    add_project(&desk);
    let id = add(&desk, "Stays", &[]);
    let ran = tollgate(&desk, &["project", "add", "."]);
    assert!(ran.stderr.contains("the project is already on the board"), "{}", ran.stderr);
    let listed = tollgate(&desk, &["-C", "../home", "project", "list"]).expect(0);
    assert!(listed.starts_with("  1  project      1 feature "), "{listed}");
    tollgate(&desk, &["project", "remove", "."]).expect(0);
    assert_eq!(tollgate(&desk, &["project", "list"]).expect(0), "");
    tollgate(&desk, &["project", "add", "."]).expect(0);
    assert_eq!(place(&desk, &id), "backlog - []");
    let json: Value =
        serde_json::from_str(&tollgate(&desk, &["project", "list", "--format", "json"]).expect(0)).unwrap();
    assert_eq!(
        (json["projects"][0]["name"].as_str(), json["projects"][0]["features"].as_u64()),
        (Some("project"), Some(1))
    );
}

#[test]
fn a_file_that_cannot_be_read_is_said_and_left_as_it_is() {
    let desk = Desk::new(&works());
    add_project(&desk);
    let id = add(&desk, "Broken soon", &[]);
    let file = desk.path("project/.automaker/features").join(&id).join("feature.json");
    std::fs::write(&file, "{\"id\": ").unwrap();
    let ran = tollgate(&desk, &["feature", "list"]);
    assert!(ran.stderr.contains("cannot read"), "{}", ran.stderr);
    assert!(ran.expect(0).contains("cannot be read"));
    let refused = tollgate(&desk, &["feature", "start", &id]).expect_refused(2);
    assert!(refused.contains("its file cannot be read"), "{refused}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{\"id\": ");
}

/// An agent that tries to wave its own defect through the gate: as it is, without the marks in its environment, and by
/// approving the feature.
fn cheats() -> String {
    let program = crate::scratch::program().display().to_string();
    format!(
        "dir=$(dirname \"$0\"); id=$(basename \"$PWD\"); project=$(cd ../..; pwd)\n\
         if [ -e \"$dir/address\" ]; then export TOLLGATE_STORE_DATABASE=\"$(cat \"$dir/address\")\"; fi\n\
         echo '{BAD}' > b.js; date +%s%N > notes.txt\n\
         {program} feature dismiss \"$id\" F001 --reason 'not real' 2>> \"$dir/said\" || true\n\
         cd /; env -u TOLLGATE_AGENT -u TOLLGATE_RUN {program} feature --project \"$project\" dismiss \"$id\" F001 \
         --reason 'not real' 2>> \"$dir/said\" || true\n\
         {program} feature --project \"$project\" approve \"$id\" --reason 'it is fine' 2>> \"$dir/said\" || true\n\
         exit 0"
    )
}

#[test]
fn an_agent_cannot_wave_its_own_defect_through_the_gate_and_a_person_can() {
    // In a sandbox it would find neither the program's data nor its server.
    let desk = Desk::configured(&cheats(), "sandbox = 'off'");
    add_project(&desk);
    let mut server = Server::start(&desk);
    // Agents are not told the address of a database; this one found it.
    desk.address().inspect(|address| std::fs::write(desk.path("address"), address).unwrap());
    let id = add(&desk, "Read JSON", &["--description", "Reads a text.", "--start"]);
    server.hears("it waits for a person");
    let said = std::fs::read_to_string(desk.path("said")).unwrap();
    // Each way from the second iteration on, when there is a finding.
    let n_proposals = said.matches("the finding counts until a person confirms").count();
    assert!(n_proposals >= 2 && n_proposals.is_multiple_of(2), "{said}");
    assert!(said.contains("an agent cannot approve a feature") && !said.contains("\ndismissed"), "{said}");
    let run = |args: &[&str]| tollgate(&desk, &[&["feature"], args].concat());
    let listed: Value = serde_json::from_str(&run(&["dismissals", &id, "--format", "json"]).expect(0)).unwrap();
    let all = listed["dismissals"].as_array().unwrap();
    assert_eq!((all.len(), &all[0]["state"], &all[0]["by"]), (1, &"proposed".into(), &"an agent of the board".into()));
    let print = all[0]["fingerprint"].as_str().unwrap().to_owned();
    assert!(print.starts_with("fp-"), "{print}");
    run(&["confirm", &id, "F001"]).expect(0);
    run(&["retry", &id]).expect(0);
    server.hears("it passes the gate");
    let is_written = || read(&desk, &id, "feature.json").contains("\"status\": \"approved\"");
    wait_until("the approval is in the file", is_written);
    // Every record of the approval says why it is one.
    let why = "1 blocker does not count: dynamic code execution (b.js:1), suppressed by a dismissal by ada, \
               proposed by an agent of the board: not real.";
    let feature: Value = serde_json::from_str(&read(&desk, &id, "feature.json")).unwrap();
    let iterations = feature["codeReviewSpec"]["iterations"].as_array().unwrap();
    let last = iterations.last().unwrap();
    assert!(last["overallSummary"].as_str().unwrap().ends_with(why), "{last:#}");
    assert!(last["notes"][0].as_str().unwrap().starts_with("does not count: dynamic code execution"), "{last:#}");
    let file = read(&desk, &id, &format!("code-review-iteration-{}.md", iterations.len()));
    assert!(file.contains("does not count: dynamic code execution"), "{file}");
    let listed = run(&["list"]).expect(0);
    assert!(listed.contains("a blocker is dismissed"), "{listed}");
    server.end();
}

#[test]
fn every_action_of_the_page_exists_as_a_command() {
    let (desk, mut server) = started(&format!("echo '{BAD}' > b.js; date +%s%N > notes.txt"));
    let id = add(&desk, "Read JSON", &["--description", "Reads a text.", "--start"]);
    server.hears("it waits for a person");
    let run = |args: &[&str]| tollgate(&desk, &[&["feature"], args].concat());
    run(&["dismiss", &id, "F001", "--reason", " "]).expect_refused(2);
    assert!(
        run(&["dismiss", &id, "F009", "--reason", "it is ours"]).expect_refused(2).contains("has no finding `F009`")
    );
    run(&["dismiss", &id, "F001", "--reason", "the text is ours"]).expect(0);
    assert!(!run(&["prompt", &id]).expect(0).contains("eval"));
    assert!(run(&["prompt", &id, "F001"]).expect(0).contains("eval"));
    let review: Value = serde_json::from_str(&run(&["export", &id, "json"]).expect(0)).unwrap();
    let print = review["findings"][0]["x_fingerprint"].as_str().unwrap().to_owned();
    run(&["undismiss", &id, &print]).expect(0);
    assert!(run(&["undismiss", &id, &print]).expect_refused(2).contains("you have not dismissed"));
    assert!(run(&["prompt", &id]).expect(0).contains("eval"));
    run(&["dismiss", &id, "F001", "--reason", "the text is ours"]).expect(0);
    run(&["retry", &id]).expect(0);
    server.hears("it passes the gate");
    assert!(run(&["edit", &id]).expect_refused(2).contains("no field to change was given"));
    assert!(run(&["edit", &id, "--title", "Read it"]).expect(0).contains("Read it"));
    run(&["clean", &id]).expect(0);
    assert!(!desk.path("project/.worktrees").join(&id).exists());
    server.end();
}
