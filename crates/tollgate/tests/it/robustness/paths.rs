//! T13 and T14: path traversal by an authenticated client.
//!
//! Files that must not be opened are in a folder called `elsewhere`. If `strace` is installed, no file of that name may have
//! been opened; everywhere, nothing in it may have changed and none of its text may have been answered.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::server::{Answer, Launch, Server};
use crate::desk::{Desk, works};
use crate::wait::wait_until;

const CANARY: &str = "canary-text-of-elsewhere";

/// Names of features that are none, as they are before they are put into an address.
const NAMES: [&str; 35] = [
    "..",
    ".",
    "../x",
    "../../elsewhere",
    "..\\x",
    "a/../b",
    "a/b",
    "/etc/passwd",
    "//",
    "a//b",
    "a\0b",
    "\0",
    "%2e%2e",
    "%2e%2e%2felsewhere",
    "..%2f",
    "..%252f",
    "..%c0%af",
    "%00",
    "a%00",
    "-",
    "-x",
    "--output=x",
    ".hidden",
    "a b",
    "a\nb",
    "a\rb",
    "a\tb",
    "\u{202e}a",
    "\u{feff}a",
    "é",
    "a;b",
    "a`b`",
    "$(x)",
    "*",
    "a?b",
];

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// A desk with a folder outside the project that must not be opened.
fn desk_with_elsewhere() -> Desk {
    let desk = Desk::new(&works());
    let elsewhere = desk.path("elsewhere");
    for folder in ["features/login", ".automaker/features/login", "worktree"] {
        std::fs::create_dir_all(elsewhere.join(folder)).unwrap();
        let text = format!("{{\"id\":\"login\",\"title\":\"{CANARY}\",\"description\":\"{CANARY}\"}}");
        std::fs::write(elsewhere.join(folder).join("feature.json"), text).unwrap();
    }
    desk
}

fn files_below(folder: &Path) -> String {
    let output = Command::new("find").arg(folder).args(["-printf", "%p %s %T@\n"]).output().unwrap();
    let mut lines: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort();
    lines.join("\n")
}

#[track_caller]
fn is_refused(answer: &Answer, what: &str) {
    assert!((400..500).contains(&answer.status), "{what}: {answer:?}");
    assert!(!answer.body.contains(CANARY), "{what}: {answer:?}");
}

#[test]
fn names_that_lead_elsewhere_are_refused_and_nothing_is_opened() {
    let desk = desk_with_elsewhere();
    let before = files_below(&desk.path("elsewhere"));
    let trace = desk.path("trace");
    let strace = ["strace", "-D", "-f", "-qq", "-e", "trace=open,openat,openat2,creat", "-o", trace.to_str().unwrap()];
    let has_strace = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
    let has_strace = has_strace.is_ok_and(|status| status.success());
    if !has_strace {
        println!("NOT TRIED: strace does not work here; what is opened and not shown was not seen");
    }
    let through: &[&str] = if has_strace { &strace } else { &[] };
    let server = Server::launch(&desk, &Launch { through, ..Launch::default() });
    let project = server.add_project(&desk.path("project"));
    let mut n_refused = 0;
    let long = "a".repeat(300);
    for name in NAMES.into_iter().chain([&*long]) {
        let place = format!("/api/projects/{project}/features/{}", encoded(name));
        for (method, path, body) in [
            ("GET", place.clone(), ""),
            ("PATCH", place.clone(), r#"{"title":"x"}"#),
            ("DELETE", place.clone(), ""),
            ("POST", format!("{place}/start"), "{}"),
            ("GET", format!("{place}/iterations/1/review"), ""),
        ] {
            let answer = server.exchange(&server.bytes(method, &path, &[], body)).unwrap();
            is_refused(&answer, &format!("{method} {name:?}"));
            n_refused += 1;
        }
        let body = json!({"projectPath": desk.path("project"), "featureId": name, "iterationNumber": 1});
        is_refused(&server.post("/api/code-review/generate-review", &body), &format!("feature {name:?}"));
        let new = json!({"description": "x", "dependencies": [name]});
        is_refused(&server.post(&format!("/api/projects/{project}/features"), &new), &format!("before it {name:?}"));
        n_refused += 2;
    }
    // As they are, for servers that take a path apart before they look at it.
    for raw in ["../../../elsewhere", "..%2f..%2felsewhere", "%2e%2e/%2e%2e/elsewhere", "login/../../x", "..;/x"] {
        let path = format!("/api/projects/{project}/features/{raw}");
        is_refused(&server.exchange(&server.bytes("GET", &path, &[], "")).unwrap(), raw);
        n_refused += 1;
    }
    let id = server.begin(project, "Real");
    server.settled(project, &id);
    let link = desk.path("link");
    symlink(desk.path("elsewhere"), &link).unwrap();
    let own = desk.path("project").display().to_string();
    let folders = [
        desk.path("elsewhere").display().to_string(),
        link.display().to_string(),
        format!("{own}/../elsewhere"),
        format!("{own}/../link"),
        format!("{own}/.automaker/../../elsewhere"),
        "elsewhere".to_owned(),
        "../elsewhere".to_owned(),
        "~/elsewhere".to_owned(),
        "/".to_owned(),
        "/etc".to_owned(),
        "/proc/self/root".to_owned(),
        String::new(),
        "\0".to_owned(),
        format!("{own}\0/../elsewhere"),
        "-x".to_owned(),
        "file:///etc/passwd".to_owned(),
        "a".repeat(5_000),
    ];
    for folder in &folders {
        let review = |project: &str, worktree: &str| {
            let body =
                json!({"projectPath": project, "featureId": &id, "iterationNumber": 2, "worktreePath": worktree});
            server.post("/api/code-review/generate-review", &body)
        };
        is_refused(&review(folder, &format!("{own}/.worktrees/{id}")), &format!("project {folder:?}"));
        is_refused(&review(&own, folder), &format!("work tree {folder:?}"));
        n_refused += 2;
    }
    assert_eq!(files_below(&desk.path("elsewhere")), before);
    let traced = std::fs::read_to_string(&trace).unwrap_or_default();
    assert_eq!(has_strace, traced.contains("feature.json"));
    let opened: Vec<&str> = traced.lines().filter(|line| line.contains("elsewhere")).collect();
    assert_eq!(opened, Vec::<&str>::new());
    let n_values = NAMES.len() + 1 + 5 + folders.len();
    println!("T14: {n_values} values in {n_refused} requests refused, {} opens traced", traced.lines().count());
}

#[test]
fn links_in_a_project_are_not_followed() {
    let desk = desk_with_elsewhere();
    let before = files_below(&desk.path("elsewhere"));
    // The folder of one feature, the file of another.
    let features = desk.path("project/.automaker/features");
    std::fs::create_dir_all(features.join("file")).unwrap();
    symlink(desk.path("elsewhere/features/login"), features.join("login")).unwrap();
    symlink(desk.path("elsewhere/features/login/feature.json"), features.join("file/feature.json")).unwrap();
    let server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    let base = format!("/api/projects/{project}");
    for path in ["", "/features", "/features/login", "/features/file", "/features/login/output"] {
        let answer = server.get(&format!("{base}{path}"));
        assert!(!answer.body.contains(CANARY), "{path}: {answer:?}");
    }
    for id in ["login", "file"] {
        is_refused(&server.post(&format!("{base}/features/{id}/start"), &json!({})), id);
    }
    // A known feature, whose folder is replaced while the server runs.
    let answer = server.post(&format!("{base}/features"), &json!({"description": "x"}));
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    std::fs::rename(features.join(&id), desk.path("moved")).unwrap();
    symlink(desk.path("elsewhere/features/login"), features.join(&id)).unwrap();
    let edit =
        server.exchange(&server.bytes("PATCH", &format!("{base}/features/{id}"), &[], r#"{"title":"y"}"#)).unwrap();
    assert!(edit.status >= 400 && edit.is_problem() && !edit.body.contains(CANARY), "{edit:?}");
    let other = Desk::new("true");
    symlink(desk.path("elsewhere/.automaker"), other.path("project/.automaker")).unwrap();
    let added = server.post("/api/projects", &json!({"path": other.path("project")}));
    assert!(!added.body.contains(CANARY), "{added:?}");
    if added.status == 201 {
        let number = added.json()["id"].clone();
        let new = server.post(&format!("/api/projects/{number}/features"), &json!({"description": "x"}));
        assert!(new.status >= 400 && new.is_problem(), "{new:?}");
    } else {
        assert!(added.is_problem(), "{added:?}");
    }
    assert_eq!(files_below(&desk.path("elsewhere")), before);
}

#[test]
fn a_project_is_one_whatever_way_leads_to_it() {
    let desk = desk_with_elsewhere();
    let server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    symlink(desk.path("project"), desk.path("way")).unwrap();
    let inner = desk.path("project/inner");
    std::fs::create_dir_all(&inner).unwrap();
    for way in [desk.path("way"), desk.path("project/."), inner] {
        let answer = server.post("/api/projects", &json!({"path": way}));
        let same = answer.status == 201 && answer.json()["id"] == project;
        assert!(same || (answer.status < 500 && answer.is_problem()), "{}: {answer:?}", way.display());
    }
    wait_until("there is one project", || {
        server.get("/api/projects").json()["projects"].as_array().is_some_and(|list| list.len() == 1)
    });
}
