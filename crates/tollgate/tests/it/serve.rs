//! `tollgate serve`: how it begins and ends, its API, and the demonstration.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::desk::{Desk, learns, works};
use crate::server_process::{Server, add, add_project, appears, tollgate};

#[test]
fn the_demonstration_ends_approved_without_a_network() {
    let desk = Desk::new("exit 1");
    let folder = desk.path("demo");
    let mut server = Server::start_with(&desk, &["--demo", "--demo-dir", &folder.display().to_string()]);
    server.hears("the review of iteration 1 rejects it: 1 error");
    server.hears("SQL query built by string concatenation");
    server.hears("the review of iteration 2 approves it");
    server.hears("That was the loop");
    let (code, said) = server.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("  | Added find_customers to shop.py"), "{said}");
    assert!(!desk.path("data/tollgate").join("tollgate.db").exists(), "it keeps to its own folder");
    let refused = tollgate(&desk, &["serve", "--demo", "--demo-dir", &folder.display().to_string()]).expect_refused(2);
    assert!(refused.contains("is not empty") && refused.contains("--demo-dir"), "{refused}");
}

/// The status and the body of a request that names the server as a proxy passes it on.
fn ask_by_name(server: &Server, host: &str, more: &str) -> (u16, String) {
    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{more}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

// Issue 17: links on checks led to a server that did not know its own public name.
#[test]
fn the_server_answers_by_the_name_of_its_public_url() {
    let desk = Desk::configured("exit 1", "[github]\npublic_url = 'https://gate.example'\n");
    let server = Server::start(&desk);
    let not_421 = |(status, body): (u16, String)| assert!(status < 400, "{status}: {body}");
    not_421(ask_by_name(&server, "gate.example", ""));
    not_421(ask_by_name(&server, "gate.example", "origin: https://gate.example\r\n"));
    assert_eq!(ask_by_name(&server, "gate.example", "origin: https://evil.example\r\n").0, 403);
    let (status, body) = ask_by_name(&server, "evil.example", "");
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 421);
    let hint = problem["hint"].as_str().unwrap();
    assert!(hint.contains("`github.public_url`") && hint.contains("--allow-host NAME"), "{hint}");
}

#[test]
fn a_list_by_an_unknown_status_is_refused() {
    let desk = Desk::new("exit 1");
    add_project(&desk);
    let server = Server::start(&desk);
    let problem = server.json(&desk, "GET", "/api/projects/1/features?status=nonsense", "", 400);
    assert_eq!(problem["detail"], "`status`: `nonsense` is not a status");
    assert!(problem["hint"].as_str().unwrap().contains("`waiting_approval`"), "{problem}");
    for status in ["backlog", "code_review", "pipeline_lint"] {
        server.json(&desk, "GET", &format!("/api/projects/1/features?status={status}"), "", 200);
    }
}

#[test]
fn the_api_adds_starts_and_tells_in_order() {
    let desk = Desk::new(&learns());
    let server = Server::start(&desk);
    let path = desk.path("project").display().to_string();
    let project = server.json(&desk, "POST", "/api/projects", &json!({ "path": path }).to_string(), 201);
    assert_eq!(project["features"], 0);
    server.json(&desk, "POST", "/api/projects", &json!({ "path": path }).to_string(), 409);
    let events = server.connect(&desk, "GET", "/api/events?since=0", "");
    let new = json!({ "title": "Read JSON", "description": "Reads a text.", "start": true });
    let feature = server.json(&desk, "POST", "/api/projects/1/features", &new.to_string(), 201);
    assert_eq!((feature["status"].as_str(), feature["work"].as_str()), (Some("in_progress"), Some("queued")));
    let id = feature["id"].as_str().unwrap();
    let (mut kinds, mut last) = (Vec::new(), 0);
    for line in BufReader::new(events).lines().map_while(Result::ok) {
        let Some(frame) = line.strip_prefix("data:").and_then(|data| serde_json::from_str::<Value>(data).ok()) else {
            continue;
        };
        let kind = frame["type"].as_str().unwrap().to_owned();
        if !kind.starts_with("feature:") || kind.ends_with("-progress") || kind.ends_with("-output") {
            continue;
        }
        assert!(frame["seq"].as_u64().unwrap() > last, "{frame}");
        assert_eq!(frame["payload"]["featureId"], id);
        last = frame["seq"].as_u64().unwrap();
        let is_last = frame["payload"]["status"] == "waiting_approval";
        kinds.push(kind);
        if is_last {
            break;
        }
    }
    assert_snapshot!(kinds.join("\n"), @"
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
    let base = format!("/api/projects/1/features/{id}");
    let cards = server.json(&desk, "GET", "/api/projects/1/features", "", 200);
    assert_eq!(cards["total"], 1);
    assert_eq!(cards["features"][0]["outcomes"], json!(["rejected", "approved"]));
    let (_, diff) = server.ask(&desk, "GET", &format!("{base}/iterations/2/diff?part=delta"), "");
    assert!(diff.contains("-export const f = (text) => eval(text);"), "{diff}");
    let (_, review) = server.ask(&desk, "GET", &format!("{base}/iterations/1/review"), "");
    assert!(review.contains("REJECTED"), "{review}");
    let (_, output) = server.ask(&desk, "GET", &format!("{base}/iterations/1/output?from=3"), "");
    assert_eq!(output.trim(), "tten");
    server.json(&desk, "GET", &format!("{base}/iterations/3"), "", 404);
    server.json(&desk, "POST", &format!("{base}/resume"), "", 409);
    let history = server.json(&desk, "GET", &format!("{base}/history"), "", 200);
    assert_eq!(history["history"][1]["by"], "operator");
}

#[test]
fn a_review_is_asked_for_by_its_folder_and_counted_by_the_server() {
    let desk = Desk::new(&works());
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Read JSON", &["--start"]);
    server.hears("it passes the gate");
    let path = desk.path("project").canonicalize().unwrap().display().to_string();
    let ask = |project: &str, iteration: u32, status: u16| {
        let body = json!({ "projectPath": project, "featureId": id, "iterationNumber": iteration });
        server.json(&desk, "POST", "/api/code-review/generate-review", &body.to_string(), status)
    };
    let gone = ask(&path, 1, 409);
    assert_eq!(gone["success"], false);
    assert!(gone["detail"].as_str().unwrap().contains("it is not at the gate"), "{gone}");
    ask("/etc", 1, 404);
    ask("relative", 1, 404);
}

#[test]
fn a_review_that_failed_is_made_when_it_is_asked_for() {
    // The reviewer cannot be reached, so the review fails; then the operator takes it away.
    let settings = "[review]\nreviewers = ['gone']\n[reviewer.gone]\nprovider = 'openai'\nmodel = 'm'\n\
                    base_url = 'http://127.0.0.1:9'\nkey_env = 'HOME'\n";
    let desk = Desk::configured(&works(), settings);
    add_project(&desk);
    let mut server = Server::start(&desk);
    let id = add(&desk, "Read JSON", &["--start"]);
    server.hears("it waits for a person: ");
    server.end();
    let config = std::fs::read_to_string(desk.path("config/tollgate/config.toml")).unwrap();
    std::fs::write(desk.path("config/tollgate/config.toml"), config.replace("reviewers = ['gone']", "")).unwrap();
    let server = Server::start(&desk);
    let path = desk.path("project").display().to_string();
    let ask = |iteration: u32, worktree: &str, status: u16| {
        let body = json!({
            "projectPath": path, "featureId": id, "iterationNumber": iteration, "worktreePath": worktree,
        });
        server.json(&desk, "POST", "/api/code-review/generate-review?wait=true", &body.to_string(), status)
    };
    let feature = server.json(&desk, "GET", &format!("/api/projects/1/features/{id}"), "", 200);
    let worktree = feature["worktreePath"].as_str().unwrap();
    ask(2, worktree, 409);
    ask(1, "/tmp", 409);
    let ended = ask(1, worktree, 200);
    assert_eq!(ended, json!({"success": true, "featureId": id, "iterationNumber": 1, "status": "approved"}));
}

#[test]
fn prompts_are_stored_where_boards_keep_them() {
    let desk = Desk::new(&works());
    add_project(&desk);
    std::fs::write(desk.path("project/.automaker/settings.json"), "{\n  \"theme\": \"dark\"\n}\n").unwrap();
    let server = Server::start(&desk);
    let mine = json!({ "reviewPromptTemplate": { "enabled": true, "value": "See {gitDiff} of {featureTitel}" } });
    for (path, file) in [
        ("/api/settings/prompts", "data/tollgate/settings.json"),
        ("/api/projects/1/settings/prompts", "project/.automaker/settings.json"),
    ] {
        let before = server.json(&desk, "GET", path, "", 200);
        assert_eq!(before["codeReview"], json!({}));
        let stored = server.json(&desk, "PUT", path, &mine.to_string(), 200);
        assert_eq!(stored["codeReview"], mine);
        assert!(stored["notes"][0].as_str().unwrap().contains("did you mean `{featureTitle}`"), "{stored}");
        let written: Value = serde_json::from_str(&std::fs::read_to_string(desk.path(file)).unwrap()).unwrap();
        assert_eq!(written["promptCustomization"]["codeReview"], mine);
        server.json(&desk, "PUT", path, r#"{"reviewSystemPrompt":{"enabled":true,"value":" "}}"#, 422);
        server.json(&desk, "PUT", path, r#"{"reviewPromptTemplate":{"enabled":true,"value":"{{gitDiff}}"}}"#, 422);
        assert_eq!(server.json(&desk, "PUT", path, "{}", 200)["codeReview"], json!({}));
    }
    let kept = std::fs::read_to_string(desk.path("project/.automaker/settings.json")).unwrap();
    assert!(kept.starts_with("{\n  \"theme\": \"dark\""), "{kept}");
}

#[test]
fn cards_are_edited_if_nobody_was_faster() {
    let desk = Desk::new(&works());
    add_project(&desk);
    let server = Server::start(&desk);
    let id = add(&desk, "Read JSON", &["--description", "Reads a text."]);
    let path = format!("/api/projects/1/features/{id}");
    let edited = server.json(&desk, "PATCH", &path, r#"{"title":"Read text","priority":1}"#, 200);
    assert_eq!((edited["title"].as_str(), edited["priority"].as_u64()), (Some("Read text"), Some(1)));
    let file = desk.path("project/.automaker/features").join(&id).join("feature.json");
    assert!(std::fs::read_to_string(file).unwrap().contains("\"title\": \"Read text\""));
    let found = server.json(&desk, "GET", "/api/projects/1/features?q=TEXT&status=backlog&limit=1", "", 200);
    assert_eq!(found["features"][0]["id"], id.as_str());
    server.json(&desk, "GET", "/api/projects/1/features?after=-", "", 422);
    assert_eq!(server.ask(&desk, "DELETE", &path, "").0, 204);
    server.json(&desk, "GET", &path, "", 404);
    let (_, figures) = server.ask(&desk, "GET", "/metrics", "");
    assert!(figures.contains("tollgate_"), "{figures}");
    let settings = server.json(&desk, "GET", "/api/settings", "", 200);
    assert_eq!((settings["implementer"].as_str(), settings["maxConcurrency"].as_u64()), (Some("script"), Some(2)));
}

#[test]
fn a_project_says_which_of_its_features_cannot_be_read() {
    let desk = Desk::new(&works());
    let server = Server::start(&desk);
    let folder = desk.path("project/.automaker/features/half");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("feature.json"), "{\"id\": \"half\"").unwrap();
    let path = desk.path("project").display().to_string();
    let project = server.json(&desk, "POST", "/api/projects", &json!({ "path": path }).to_string(), 201);
    let broken = &project["broken"][0];
    assert_eq!(broken["folder"], "half");
    assert!(broken["problem"].as_str().unwrap().contains("`feature.json`"), "{broken}");
    let removed = server.ask(&desk, "DELETE", "/api/projects/1", "");
    assert_eq!(removed.0, 204, "{}", removed.1);
    server.json(&desk, "POST", "/api/projects", r#"{"path":"/"}"#, 422);
}

#[test]
fn a_project_with_work_under_way_is_not_removed() {
    let desk = Desk::new("while :; do sleep 1; done");
    add_project(&desk);
    let mut server = Server::start(&desk);
    add(&desk, "Never ends", &["--start"]);
    server.hears("starts on iteration 1");
    let refused = server.json(&desk, "DELETE", "/api/projects/1", "", 409);
    assert!(refused["detail"].as_str().unwrap().contains("is still worked on; stop it first"), "{refused}");
}

#[test]
fn agents_are_listed_with_what_they_lack() {
    let desk = Desk::new(&works());
    let server = Server::start(&desk);
    let agents = server.json(&desk, "GET", "/api/agents", "", 200);
    let agents = agents["agents"].as_array().unwrap();
    let own: Vec<&Value> = agents.iter().filter(|agent| agent["name"] == "script").collect();
    assert_eq!(
        own.iter().map(|agent| agent["role"].as_str().unwrap()).collect::<Vec<_>>(),
        ["implementer", "reviewer"]
    );
    assert!(own.iter().all(|agent| agent["available"] == true), "{own:?}");
    assert!(agents.iter().any(|agent| agent["name"] == "anthropic" && agent["available"] == false), "{agents:?}");
}

#[test]
fn the_token_is_kept_from_others_and_from_logs() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = Desk::new(&works());
    let server = Server::start(&desk);
    let file = desk.path("data/tollgate/token");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let token = std::fs::read_to_string(&file).unwrap();
    let (_, said) = server.end();
    assert!(said.contains("the token for the API is in ") && !said.contains(token.trim()), "{said}");
}

#[test]
fn two_servers_share_a_board_and_one_does_the_work() {
    let desk = Desk::new(&works());
    add_project(&desk);
    let mut first = Server::start(&desk);
    add(&desk, "One", &["--start"]);
    first.hears("it passes the gate");
    let mut second = Server::start(&desk);
    second.hears(&format!("process {} already works on the features of", first.pid()));
    let cards = second.json(&desk, "GET", "/api/projects/1/features", "", 200);
    assert_eq!(cards["total"], 1);
    let id = add(&desk, "Two", &[]);
    second.json(&desk, "POST", &format!("/api/projects/1/features/{id}/start"), "", 200);
    first.hears("it passes the gate");
    second.hears("it passes the gate");
}

// Issue 17: a project that was added just now was said to have no server.
#[test]
fn a_project_added_beside_a_running_server_has_one() {
    let desk = Desk::new(&works());
    let mut server = Server::start(&desk);
    server.hears("there is no project yet");
    add_project(&desk);
    let ran = tollgate(&desk, &["feature", "add", "Begins", "--start"]);
    assert!(!ran.stderr.contains("no server is running"), "{}", ran.stderr);
    server.hears("it passes the gate");
    assert_eq!(server.end().0, Some(0));
    let ran = tollgate(&desk, &["feature", "add", "Waits", "--start"]);
    assert!(ran.stderr.contains("no server is running for this project"), "{}", ran.stderr);
}

#[test]
fn a_server_without_work_leaves_it_to_others() {
    let desk = Desk::new(&works());
    add_project(&desk);
    let mut server = Server::start_with(&desk, &["--no-work"]);
    server.hears("left to another process");
    let ran = tollgate(&desk, &["feature", "add", "Waits", "--start"]);
    assert!(ran.stderr.contains("no server is running for this project"), "{}", ran.stderr);
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn where_a_server_cannot_or_must_not_listen_it_says_so() {
    let desk = Desk::new(&works());
    let server = Server::start(&desk);
    let said = tollgate(&desk, &["serve", "--listen", &server.address]).expect_refused(3);
    assert!(said.contains("cannot listen on") && said.contains("choose another port with `--listen`"), "{said}");
    let said = tollgate(&desk, &["serve", "--listen", "0.0.0.0:0"]).expect_refused(2);
    assert!(said.contains("is reachable from other machines") && said.contains("--allow-host"), "{said}");
    let said = tollgate(&desk, &["serve", "--listen", "7420"]).expect_refused(2);
    assert!(said.contains("is not a listen address"), "{said}");
    let said = tollgate(&desk, &["serve", "--at-once", "0"]).expect_refused(2);
    assert!(said.contains("0 is not in 1..=64"), "{said}");
    let said = tollgate(&desk, &["serve", "--agent", "nobody-knows"]).expect_refused(2);
    assert!(said.contains("nobody-knows"), "{said}");
}

#[test]
fn ctrl_c_ends_in_time_although_an_agent_and_a_client_hang_on() {
    let desk = Desk::new("trap '' INT TERM; echo $$ > \"$(dirname \"$0\")/pid\"; while :; do sleep 1; done");
    add_project(&desk);
    let mut server = Server::start(&desk);
    add(&desk, "Never ends", &["--start"]);
    server.hears("starts on iteration 1");
    appears(&desk.path("pid"));
    let _listener = server.connect(&desk, "GET", "/api/events", "");
    server.signal("INT");
    assert_eq!(server.wait(), Some(0));
    assert_eq!(crate::crash::processes_of(&desk.path("project")), Vec::<String>::new());
}
