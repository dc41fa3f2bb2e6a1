//! T10: programs that an agent plants in git run when plain git is used, and never because of the server.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::hostile_agent::told;
use super::server::Server;
use crate::desk::{Desk, GOOD, learns};

/// A program that is planted: its name, how, and what of plain git runs it. `$EVIL` is the program.
type Plant = (&'static str, &'static str, &'static str);

/// Harmless files.
const PLANTS: [Plant; 11] = [
    ("fsmonitor", "git config core.fsmonitor $EVIL", "git status"),
    ("post-commit", "cp $EVIL $HOOKS/post-commit", "git commit --allow-empty --no-gpg-sign -m x"),
    ("reference-transaction", "cp $EVIL $HOOKS/reference-transaction", "git update-ref refs/x HEAD"),
    ("post-index-change", "cp $EVIL $HOOKS/post-index-change", "echo 1 >> b.js; git add b.js"),
    ("prepare-commit-msg", "cp $EVIL $HOOKS/prepare-commit-msg", "git commit --allow-empty --no-gpg-sign -m x"),
    ("external", "git config diff.external $EVIL", "git diff HEAD~1 HEAD"),
    ("textconv", "git config diff.t.textconv $EVIL; attr '*.js diff=t'", "git diff --no-ext-diff HEAD~1 HEAD"),
    ("driver", "git config diff.d.command $EVIL; attr '*.d diff=d'; echo 1 > a.d", "git diff main HEAD -- a.d"),
    ("gpg", "git config gpg.program $EVIL; git config commit.gpgSign true", "git commit --allow-empty -m x"),
    ("editor", "git config core.editor $EVIL", "git commit --allow-empty --no-gpg-sign"),
    (
        "bare",
        "if [ ! -e sub ]; then git init -q --bare --template= sub; git -C sub config core.bare false; \
         git -C sub config core.worktree ..; git -C sub config core.fsmonitor $EVIL; fi",
        "cd sub && git status",
    ),
];

/// Those without which a file cannot be stored as the repository wants it, so that nothing is committed.
const FILTERS: [Plant; 4] = [
    ("clean", "git config filter.c.clean $EVIL; attr '*.c filter=c'; echo 1 > a.c", "git add a.c"),
    ("process", "git config filter.p.process $EVIL; attr '*.p filter=p'; echo 1 > a.p", "git add a.p"),
    ("smudge", "git config filter.s.smudge $EVIL; attr 'a.js filter=s'", "rm a.js; git checkout HEAD -- a.js"),
    (
        "included",
        "printf '[filter \"i\"]\nclean = %s\n' $EVIL > $HOOKS/../more; git config include.path $HOOKS/../more; \
         attr '*.i filter=i'; echo 1 > a.i",
        "git add a.i",
    ),
];

/// The programs, one for each plant, and a folder in which they leave a trace.
fn sow(desk: &Desk, plants: &[Plant]) {
    for folder in ["evil", "ran"] {
        std::fs::create_dir(desk.path(folder)).unwrap();
    }
    for (name, ..) in plants {
        let program = desk.path("evil").join(name);
        let text = format!("#!/bin/sh\ntouch '{}'\ncat 2>/dev/null\n", desk.path("ran").join(name).display());
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn ran(desk: &Desk) -> Vec<String> {
    let entries = std::fs::read_dir(desk.path("ran")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What an agent does to plant all of them.
fn planting(desk: &Desk, plants: &[Plant]) -> String {
    let mut script = "HOOKS=$(git rev-parse --git-common-dir)/hooks; mkdir -p \"$HOOKS\"; : > .gitattributes\n\
                      attr() { echo \"$1\" >> .gitattributes; }\n"
        .to_owned();
    for (name, how, _) in plants {
        let evil = desk.path("evil").join(name);
        script.push_str(&format!("EVIL='{}'; {how}\n", evil.display()));
    }
    script
}

fn plain_git(desk: &Desk, dir: &Path, line: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(dir).env("HOME", desk.path("home")).stdin(std::process::Stdio::null());
    command.envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.com")]);
    command.envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@example.com")]);
    // Most of them fail, because the planted programs confuse git.
    let _ = command.output().unwrap();
}

/// An agent plants, the server works, the board is looked at in every way: nothing runs until plain git is used.
#[track_caller]
fn check(plants: &[Plant], status: &str) -> (Desk, serde_json::Value) {
    // In a sandbox an agent cannot write there.
    let desk = Desk::configured("", "sandbox = 'off'");
    sow(&desk, plants);
    let script = format!("#!/bin/sh\nset -e\nTASK=$(cat)\n{}{}\n", planting(&desk, plants), learns());
    std::fs::write(desk.path("agent.sh"), script).unwrap();
    let mut server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    let id = server.begin(project, "Plants");
    let end = server.settled(project, &id);
    assert_eq!(end["status"], status, "{end}");
    let feature = format!("/api/projects/{project}/features/{id}");
    for path in [&*feature, &format!("{feature}/iterations"), &format!("/api/projects/{project}/features")] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    for args in [&["feature", "list"][..], &["feature", "show", &id], &["project", "list"]] {
        told(&desk, args);
    }
    server.end();
    assert_eq!(ran(&desk), Vec::<String>::new());
    let worktree = desk.path("project/.worktrees").join(&id);
    for (_, _, line) in plants {
        plain_git(&desk, &worktree, line);
    }
    let mut names: Vec<&str> = plants.iter().map(|(name, ..)| *name).collect();
    names.sort_unstable();
    assert_eq!(ran(&desk), names, "each was well planted");
    println!("T10: {} planted, none ran for the server, all for plain git: {}", names.len(), names.join(", "));
    (desk, end)
}

#[test]
fn planted_programs_run_for_plain_git_and_never_for_the_server() {
    let (desk, end) = check(&PLANTS, "waiting_approval");
    let commit = end["commit"].as_str().unwrap();
    assert_eq!(desk.git(&["cat-file", "-p", &format!("{commit}:b.js")]), GOOD);
}

#[test]
fn filters_that_an_agent_plants_do_not_run_and_nothing_is_committed_without_them() {
    let (_desk, end) = check(&FILTERS, "in_progress");
    let error = end["error"].as_str().unwrap_or_default();
    assert!(error.contains("would be stored through the filter"), "{end}");
}

#[test]
fn a_git_file_that_an_agent_turns_elsewhere_is_refused() {
    // In a sandbox an agent cannot write there.
    let desk = Desk::configured("", "sandbox = 'off'");
    sow(&desk, &PLANTS[..1]);
    let other = desk.path("other");
    let evil = desk.path("evil/fsmonitor");
    desk.git_in(&desk.path(""), &["init", "-q", other.to_str().unwrap()]);
    desk.git_in(&other, &["config", "core.fsmonitor", evil.to_str().unwrap()]);
    let turn = format!("echo 'gitdir: {}/.git' > .git; echo '{GOOD}' > b.js", other.display());
    std::fs::write(desk.path("agent.sh"), format!("#!/bin/sh\nTASK=$(cat)\n{turn}\n")).unwrap();
    let server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    let id = server.begin(project, "Turns");
    let end = server.settled(project, &id);
    assert_eq!((&end["status"], &end["paused"]["reason"]), (&json!("in_progress"), &json!("commit-failed")), "{end}");
    assert!(end["error"].as_str().is_some_and(|why| !why.is_empty()), "{end}");
    assert_eq!(ran(&desk), Vec::<String>::new());
    plain_git(&desk, &desk.path("project/.worktrees").join(&id), "git status");
    assert_eq!(ran(&desk), ["fsmonitor"]);
}
