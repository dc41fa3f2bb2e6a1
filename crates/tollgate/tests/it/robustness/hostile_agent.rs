//! T29 and T23: an agent that exhausts resources, and prints terminal escape sequences.

use std::process::Command;

use super::rounds;
use super::server::{Server, nothing_is_left, processes_of};
use crate::desk::{Desk, GOOD};

/// Runs a `feature` command and returns its output.
pub(super) fn told(desk: &Desk, args: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    let project = desk.path("project");
    let folder = if project.is_dir() { project } else { desk.path("") };
    command.args(args).current_dir(folder).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", desk.path("home"));
    command.env("XDG_CONFIG_HOME", desk.path("config")).env("XDG_DATA_HOME", desk.path("data"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    [output.stdout, output.stderr].concat()
}

#[track_caller]
fn is_harmless(text: &[u8], what: &str) {
    let text = String::from_utf8_lossy(text);
    let bad = |c: &char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(text.chars().find(bad), None, "{what}: {:?}", &text[..text.len().min(500)]);
}

fn check(title: &str, script: &str) -> serde_json::Value {
    let desk = Desk::new(script);
    let mut server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    let id = server.begin(project, title);
    let end = server.settled(project, &id);
    let left: Vec<String> =
        processes_of(&desk.path("project")).into_iter().filter(|line| line.contains("sleep 7")).collect();
    assert_eq!(left, Vec::<String>::new(), "{title}");
    for args in [&["feature", "show", &id][..], &["feature", "logs", &id], &["feature", "list"]] {
        let text = told(&desk, args);
        is_harmless(&text, &format!("{title}: {args:?}"));
        assert!(text.len() < 80 << 20, "{title}: {args:?} prints {} bytes", text.len());
    }
    is_harmless(server.log().as_bytes(), title);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    let n_kib: u64 = most.split_whitespace().next().unwrap().parse().unwrap();
    assert!(n_kib < 256 * 1024, "{title}: {most}");
    assert!(server.is_running() && server.get("/healthz").status == 200);
    println!("T29: {title:?}: {} {}, the server took at most {most}", end["status"], end["error"]);
    server.end();
    nothing_is_left(&desk, title);
    end
}

#[test]
fn an_agent_that_starts_many_processes_leaves_none() {
    let end = check("forks", &format!("for i in $(seq 200); do sleep 7777 & done; echo '{GOOD}' > b.js"));
    assert_eq!(end["status"], "waiting_approval", "{end}");
}

#[test]
fn an_agent_that_says_too_much_is_bounded() {
    let n_mib = rounds(24, 200);
    check("floods", &format!("echo '{GOOD}' > b.js; head -c {n_mib}M /dev/zero | tr '\\0' 'x' | fold -w 100"));
    check("floods with one line", &format!("echo '{GOOD}' > b.js; head -c {n_mib}M /dev/zero | tr '\\0' 'x'"));
}

#[test]
fn terminal_escape_sequences_are_shown_and_not_executed() {
    let script = "printf '\\033]0;owned\\007\\033[2J\\033[31mred\\233 \\342\\200\\256bidi\\342\\201\\246 \\r over\\n'\n\
                  printf 'x' > \"$(printf 'a\\nb\\033[31mc.js')\"; printf 'eval(x)\\n' > \"$(printf 'e\\033]0;t\\007.js')\"\n\
                  printf '\\033[2Jwarning\\n' >&2";
    let end = check("escapes \u{1b}[31m\u{202e}", &format!("{script}; echo '{GOOD}' > b.js"));
    assert_ne!(end["status"], "backlog", "{end}");
}

#[test]
fn an_agent_that_makes_very_many_files_is_reviewed_or_told() {
    let n_files = rounds(1_000, 10_000);
    let script = format!(
        "for i in $(seq {n_files}); do d=d$((i % 97)); mkdir -p $d; echo \"export const a = $i;\" > $d/f$i.js; done"
    );
    let end = check("many files", &script);
    assert!(end["status"] == "waiting_approval" || end["error"].is_string(), "{end}");
}
