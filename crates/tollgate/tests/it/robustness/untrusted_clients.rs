//! T15 to T17 and T31: pages of other sites, other users of the machine, and agents that look for secrets.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::server::{Launch, Server};
use crate::desk::{Desk, GOOD};

#[test]
fn pages_of_other_sites_get_nothing_and_change_nothing() {
    let desk = Desk::new("true");
    let server = Server::start(&desk);
    let own = server.address;
    let other_port = format!("http://127.0.0.1:{}", own.port() ^ 1);
    let evil_local = format!("http://localhost.evil.example:{}", own.port());
    let body = json!({"path": desk.path("project")}).to_string();
    let foreign: [&[(&str, &str)]; 9] = [
        &[("host", "evil.example")],
        &[("host", &format!("evil.example:{}", own.port()))],
        &[("host", "evil.example"), ("origin", "http://evil.example")],
        &[("host", &format!("localhost.evil.example:{}", own.port())), ("origin", &evil_local)],
        &[("origin", "null")],
        &[("origin", &other_port)],
        &[("origin", &evil_local)],
        &[("origin", "http://127.0.0.1")],
        &[("sec-fetch-site", "cross-site")],
    ];
    let socket = [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13")];
    for headers in foreign {
        for (method, body) in [("GET", ""), ("POST", &*body)] {
            let answer = server.exchange(&server.bytes(method, "/api/projects", headers, body)).unwrap();
            assert!(matches!(answer.status, 403 | 421) && answer.is_problem(), "{method} {headers:?}: {answer:?}");
        }
        let mut upgrade = [headers, &socket].concat();
        upgrade.push(("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="));
        let answer = server.exchange(&server.bytes("GET", "/api/events", &upgrade, "")).unwrap();
        assert!(matches!(answer.status, 403 | 421), "a socket of {headers:?}: {answer:?}");
    }
    // What a form of any page can send.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""] {
        let headers = [("content-type", kind)];
        let answer = server.exchange(&server.bytes("POST", "/api/projects", &headers, &body)).unwrap();
        assert!((400..500).contains(&answer.status), "{kind}: {answer:?}");
    }
    assert_eq!(server.get("/api/projects").json()["projects"], json!([]));
}

#[test]
fn every_route_but_those_to_come_in_by_needs_the_token() {
    let desk = Desk::new("true");
    let server = Server::start(&desk);
    let api = server.get("/api/openapi.json").json();
    let (mut n_closed, mut open) = (0, Vec::new());
    for (path, methods) in api["paths"].as_object().unwrap() {
        let real = path.replace("{project}", "1").replace("{feature}", "login").replace("{number}", "1");
        for method in methods.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            for authorization in ["", "Bearer x", "Bearer ", "Basic eDp4"] {
                let headers = [("authorization", authorization)];
                let bytes = server.bytes(&method.to_uppercase(), &real, &headers, "");
                let answer = server.exchange(&bytes).unwrap();
                if answer.status == 401 && answer.is_problem() {
                    n_closed += 1;
                } else if authorization.is_empty() {
                    open.push(format!("{method} {path}"));
                }
                assert!(!answer.body.contains(&server.token) && !answer.head.contains(&server.token));
            }
        }
    }
    open.sort();
    assert_eq!(open, ["get /healthz", "get /readyz", "post /api/auth/login"]);
    println!("T17: {n_closed} requests without the token refused, open: {open:?}");
}

#[test]
fn the_token_is_for_its_owner_alone() {
    let desk = Desk::new("true");
    let server = Server::start(&desk);
    let file = desk.path("data/tollgate/token");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for folder in ["", "data", "data/tollgate"] {
        std::fs::set_permissions(desk.path(folder), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(args).output().unwrap()
    };
    if as_nobody(&["true"]).status.success() {
        assert!(as_nobody(&["ls", file.to_str().unwrap()]).status.success(), "the folder can be seen");
        for path in [file.to_str().unwrap(), &format!("/proc/{}/environ", server.pid())] {
            let output = as_nobody(&["cat", path]);
            assert!(!output.status.success() && output.stdout.is_empty(), "{path}: {output:?}");
        }
        let database = as_nobody(&["cat", desk.path("data/tollgate/tollgate.db").to_str().unwrap()]);
        assert!(!database.status.success(), "what was reviewed is nobody else's to read");
    } else {
        println!("NOT TRIED: nobody else's rights can be taken here; only the mode of the file was looked at");
    }
}

/// All that is in files below a folder, names included.
fn everything_in(folder: &Path, except: &Path, found: &mut Vec<u8>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        found.extend_from_slice(path.as_os_str().as_encoded_bytes());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            everything_in(&path, except, found);
        } else if kind.is_file() && path != except {
            found.extend(std::fs::read(&path).unwrap_or_default());
        }
    }
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}

/// Everything that was announced so far.
fn announced(server: &Server) -> String {
    use std::io::{BufRead as _, BufReader, Write as _};
    let last = server.last_seq();
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    stream.write_all(&server.bytes("GET", "/api/events?since=0", &[], "")).unwrap();
    let mut text = String::new();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        text.push_str(&line);
        if line.contains(&format!("\"seq\":{last},")) {
            break;
        }
    }
    text
}

#[test]
fn secrets_of_the_server_reach_nobody() {
    let secrets = [
        ("ANTHROPIC_API_KEY", "sk-ant-api03-canaryanthropic0000000000000000000000"),
        ("OPENAI_API_KEY", "sk-proj-canaryopenai00000000000000000000000000000"),
        ("GEMINI_API_KEY", "canarygemini000000000000000000000000"),
        ("GITHUB_TOKEN", "ghp_canarygithub0000000000000000000000000"),
        ("AWS_SECRET_ACCESS_KEY", "canaryaws00000000000000000000000000000000"),
        ("DATABASE_URL", "postgres://me:canarydatabase@db/x"),
    ];
    let script = format!(
        "look() {{ env; cat /proc/self/environ /proc/[0-9]*/environ /proc/[0-9]*/cmdline; }}\n\
         look 2>/dev/null | tr '\\0' '\\n' > ../../../looked || true\n\
         cat ../../../looked; env | sort; echo '{GOOD}' > b.js"
    );
    let desk = Desk::new(&script);
    let mut server = Server::launch(&desk, &Launch { variables: &secrets, ..Launch::default() });
    let project = server.add_project(&desk.path("project"));
    let id = server.begin(project, "Looks around");
    let end = server.settled(project, &id);
    assert_eq!(end["status"], "waiting_approval", "{end}");

    let environment = std::fs::read(format!("/proc/{}/environ", server.pid()));
    let looked = std::fs::read(desk.path("looked")).unwrap();
    assert!(contains(&looked, "PATH="), "the agent has looked");
    let (mut files, mut processes) = (Vec::new(), Vec::new());
    everything_in(&desk.path(""), &desk.path("data/tollgate/token"), &mut files);
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        processes.extend(std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
    }
    let mut answers = String::new();
    let base = format!("/api/projects/{project}");
    for path in ["", "/features", &format!("/features/{id}"), &format!("/features/{id}/iterations"), "/none"] {
        answers.push_str(&format!("{:?}", server.get(&format!("{base}{path}"))));
    }
    answers.push_str(&format!("{:?}{:?}", server.get("/api/settings"), server.get("/metrics")));
    let surfaces = [
        ("what the agent saw", looked),
        ("a file", files),
        ("the list of processes", processes),
        ("an event", announced(&server).into_bytes()),
        ("an answer", answers.into_bytes()),
        ("the log", server.log().into_bytes()),
    ];
    let token = server.token.clone();
    for (name, secret) in secrets.into_iter().chain([("the token", &*token)]) {
        if name != "the token"
            && let Ok(environment) = &environment
        {
            assert!(contains(environment, secret), "the server has it");
        }
        for (surface, bytes) in &surfaces {
            assert!(!contains(bytes, secret), "{name} is in {surface}");
        }
    }
    let status = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let cores = status.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(cores.split_whitespace().nth(4), Some("0"), "no core dumps: {cores}");
    assert!(server.is_running());
    let _: Value = end;
}
