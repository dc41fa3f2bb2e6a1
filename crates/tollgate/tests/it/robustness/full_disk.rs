//! F4: the disk is full, and then it is not.
//!
//! The disk is a small one of the server's own, mounted where only the server sees it. A limit on the size of files,
//! lifted from outside, needs no rights and is tried everywhere. If mounting is not allowed, the test says so, and a project
//! is on a full disk as far as its folder takes nothing more.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::json;

use super::server::{Answer, Launch, Server};
use crate::desk::{Desk, learns, works};
use crate::wait::wait_until;

/// Bytes that can still be written when trouble begins, so that something is promised.
const ROOM: u64 = 300_000;

/// What keeps the server from writing.
enum Trouble {
    /// A small disk in this folder.
    Disk(PathBuf),
    /// No file may grow.
    Limit,
}

impl Trouble {
    fn begin(&self, desk: &Desk, server: &Server) {
        match self {
            Self::Disk(folder) => fill(&server.inside(folder), ROOM),
            Self::Limit => {
                let written = std::fs::metadata(desk.path("data/tollgate/tollgate.db-wal")).unwrap().len();
                limit(server, &(written + ROOM).to_string());
            }
        }
    }

    fn end(&self, server: &Server) {
        match self {
            Self::Disk(folder) => std::fs::remove_file(server.inside(folder).join("filler")).unwrap(),
            Self::Limit => limit(server, "unlimited"),
        }
    }
}

fn limit(server: &Server, bytes: &str) {
    let (pid, size) = (server.pid().to_string(), format!("--fsize={bytes}:unlimited"));
    assert!(Command::new("prlimit").args(["--pid", &pid, &size]).status().unwrap().success());
}

/// Takes every byte that is left but a few.
fn fill(folder: &Path, room: u64) {
    use std::io::Write as _;
    let mut filler = std::fs::File::create(folder.join("filler")).unwrap();
    for size in [65_536, 4_096, 1] {
        let part = vec![0; size];
        while filler.write_all(&part).is_ok() {}
    }
    let taken = filler.metadata().unwrap().len();
    filler.set_len(taken.saturating_sub(room)).unwrap();
}

/// How to have mounts of one's own here, if that can be had.
fn way_to_mount() -> Option<&'static [&'static str]> {
    let ways: [&[&str]; 2] = [&["unshare", "-m"], &["unshare", "-rm"]];
    let works = |way: &&&[&str]| {
        let mut command = Command::new(way[0]);
        command.args(&way[1..]).args(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/mnt"]);
        command.output().is_ok_and(|output| output.status.success())
    };
    let way = ways.iter().find(works).copied();
    if way.is_none() {
        println!("NOT TRIED: nothing can be mounted here, so no disk was full; the other ways were tried");
    }
    way
}

/// An agent that waits until it is let go.
fn waits(desk: &Path) -> String {
    format!("while [ ! -e '{}/go' ]; do sleep 0.05; done\n{}", desk.display(), learns())
}

fn desk_that_waits() -> Desk {
    let desk = Desk::new("");
    let script = format!("#!/bin/sh\nset -e\nTASK=$(cat)\n{}\n", waits(&desk.path("")));
    std::fs::write(desk.path("agent.sh"), script).unwrap();
    desk
}

#[track_caller]
fn is_told(answer: &Answer) {
    assert!(matches!(answer.status, 503 | 507) && answer.is_problem(), "{answer:?}");
    assert!(answer.json()["hint"].is_string(), "{answer:?}");
}

/// No write succeeds for a while; acknowledged writes are kept, and work continues afterwards.
fn check(desk: &Desk, server: &mut Server, trouble: &Trouble) -> String {
    let project = server.add_project(&desk.path("project"));
    let features = format!("/api/projects/{project}/features");
    let worked_on = server.begin(project, "Worked on");
    wait_until("the agent runs", || server.feature(project, &worked_on)["work"] == "implementing");
    trouble.begin(desk, server);

    let (mut promised, mut n_refused) = (Vec::new(), 0);
    for number in 0..2_000 {
        let answer = server.post(&features, &json!({"title": format!("F{number}"), "description": "x".repeat(2_000)}));
        if answer.status == 201 {
            promised.push(answer.json()["id"].as_str().unwrap().to_owned());
        } else {
            is_told(&answer);
            n_refused += 1;
        }
        if n_refused >= 20 {
            break;
        }
    }
    assert!(n_refused >= 20, "{} were stored on a full disk", promised.len());
    // The agent ends now, which cannot be stored.
    std::fs::write(desk.path("go"), "").unwrap();
    for path in [&features, "/api/projects", "/healthz", &format!("{features}/{worked_on}")] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    // Something that needs less room may still find it; then it is a promise, too.
    let answer = server.post(&features, &json!({"description": "x"}));
    if answer.status == 201 {
        promised.push(answer.json()["id"].as_str().unwrap().to_owned());
    } else {
        is_told(&answer);
    }

    trouble.end(server);
    let freed = Instant::now();
    wait_until("it stores again", || {
        let answer = server.post(&features, &json!({"description": "after"}));
        answer.status == 201
    });
    let took = freed.elapsed();
    let end = server.settled(project, &worked_on);
    assert_eq!((&end["status"], &end["codeReviewSpec"]["currentIteration"]), (&json!("waiting_approval"), &json!(2)));
    for id in &promised {
        assert_eq!(server.feature(project, id)["id"], **id);
    }
    wait_until("files are up to date", || {
        let file = desk.path("project/.automaker/features").join(&worked_on).join("feature.json");
        let text = std::fs::read(file).unwrap();
        serde_json::from_slice::<serde_json::Value>(&text).unwrap()["status"] == "waiting_approval"
    });
    for entry in std::fs::read_dir(desk.path("project/.automaker/features")).unwrap() {
        let file = entry.unwrap().path().join("feature.json");
        if let Ok(text) = std::fs::read(&file) {
            assert!(serde_json::from_slice::<serde_json::Value>(&text).is_ok(), "{}", file.display());
        }
    }
    assert!(server.is_running());
    format!("{} promised and kept, {n_refused} refused, {} ms until it stored again", promised.len(), took.as_millis())
}

#[test]
fn a_full_disk_costs_nothing_that_was_promised() {
    let desk = desk_that_waits();
    // Exceeding the limit is an error instead of a signal.
    let mut server = Server::launch(&desk, &Launch { before: "trap '' XFSZ", ..Launch::default() });
    println!("F4, no file may grow: {}", check(&desk, &mut server, &Trouble::Limit));
    if let Some(through) = way_to_mount() {
        let desk = desk_that_waits();
        let data = desk.path("data/tollgate");
        let before = format!("mount -t tmpfs -o size=4m tmpfs '{}'", data.display());
        let mut server = Server::launch(&desk, &Launch { before: &before, through, ..Launch::default() });
        println!("F4, data folder full: {}", check(&desk, &mut server, &Trouble::Disk(data)));
    }
}

/// A project whose folder takes nothing more, for want of a disk that can be filled.
fn check_closed_project() {
    let desk = Desk::new(&works());
    let server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    let id = server.begin(project, "Before");
    server.settled(project, &id);
    let (features, folder) = (format!("/api/projects/{project}/features"), desk.path("project/.automaker/features"));
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    is_told(&server.post(&features, &json!({"description": "x"})));
    assert_eq!(server.get(&features).status, 200);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(server.post(&features, &json!({"description": "x"})).status, 201);
}

#[test]
fn a_full_project_folder_is_told_and_afterwards_the_work_goes_on() {
    let Some(through) = way_to_mount() else { return check_closed_project() };
    let desk = desk_that_waits();
    let disk = desk.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let (from, to) = (desk.path("project"), disk.display());
    let before = format!("mount -t tmpfs -o size=8m tmpfs '{to}'; cp -a '{}/.' '{to}'", from.display());
    let mut server = Server::launch(&desk, &Launch { before: &before, through, ..Launch::default() });
    let project = server.add_project(&disk);
    let id = server.begin(project, "Worked on");
    let file = server.inside(&disk).join(".automaker/features").join(&id).join("feature.json");
    wait_until("the agent runs", || server.feature(project, &id)["work"] == "implementing");
    fill(&server.inside(&disk), 0);

    let features = format!("/api/projects/{project}/features");
    is_told(&server.post(&features, &json!({"description": "x"})));
    std::fs::write(desk.path("go"), "").unwrap();
    let stuck = server.settled(project, &id);
    let why = stuck["error"].as_str().unwrap_or_default();
    assert!(stuck["paused"].is_object() && !why.is_empty(), "{stuck}");
    assert!(serde_json::from_slice::<serde_json::Value>(&std::fs::read(&file).unwrap()).is_ok());
    assert_eq!(server.get(&features).status, 200);

    std::fs::remove_file(server.inside(&disk).join("filler")).unwrap();
    let freed = Instant::now();
    assert_eq!(server.post(&features, &json!({"description": "x"})).status, 201);
    let act = if stuck["paused"]["reason"] == "agent-failed" { "resume" } else { "retry" };
    let answer = server.post(&format!("{features}/{id}/{act}"), &json!({}));
    assert_eq!(answer.status, 200, "{answer:?}");
    let end = server.settled(project, &id);
    assert_eq!(end["status"], "waiting_approval", "{end}");
    assert!(server.is_running());
    println!("F4, project folder full: `{why}`; done {} ms after there was room", freed.elapsed().as_millis());
}
