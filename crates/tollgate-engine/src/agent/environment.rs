//! The environment an agent gets, built from an empty one.
//!
//! ```text
//! PATH LANG LC_*           as they are here
//! HOME                     an empty one for a reviewer with a key, else the user's, where the agent is logged in
//! TMPDIR TERM NO_COLOR     ours
//! TOLLGATE_AGENT           ours: the commands of an agent may only propose dismissals
//! HTTPS_PROXY, SSL_CERT_FILE …
//! CARGO_HOME, GOPATH …     tool locations, for implementers
//! ANTHROPIC_API_KEY        the one key
//! ANTHROPIC_BASE_URL       the address of its service
//! variables of the preset, and variables that the user lists
//! ```
//!
//! In a sandbox that protects files, every agent has a home of its own, and variables that name the operator's tools.
//! Without one, an implementer gets the user's home even when it has a key of its own: it has to build and test, and
//! compilers, package managers and their caches are there. An empty home would protect nothing, because the agent can then
//! read every file of the user by path. Hooks get the same environment without the key.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::scratch_folder::ScratchFolder;
use super::{Agent, Program};
use crate::process::guard::AGENT_VARIABLE;

/// Variables that are passed on when they are set.
const HANDED_ON: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// Variables about the person, which lead nowhere.
const OF_PERSON: &[&str] = &["LOGNAME", "SHELL", "TZ", "USER"];

/// Non-default locations of build tools, passed on to implementers.
const OF_TOOLS: &[&str] = &[
    "ANDROID_HOME",
    "BUN_INSTALL",
    "CARGO_HOME",
    "DENO_DIR",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "LOGNAME",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "SHELL",
    "TZ",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// The role that an environment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// An agent that only reads.
    Reviewer,
    /// An agent that writes.
    Implementer,
    /// A hook of the project's.
    Hook,
}

/// The home of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HomeOf<'a> {
    /// A home of its own, and variables that name the operator's tools.
    Run(&'a [(&'static str, OsString)]),
    /// The operator's, unless a reviewer has a key.
    Operator,
}

/// Parts of names of variables that hold secrets.
const SECRET_WORDS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// The environment of one run, by name; `look_up` reads our own environment.
pub(super) fn build(
    role: Role,
    agent: &Agent,
    (area, home): (&ScratchFolder, HomeOf<'_>),
    of_preset: Vec<(String, String)>,
    look_up: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<(OsString, OsString)> {
    let mut built: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &str, value: OsString| {
        built.retain(|(known, _)| known != name);
        built.push((name.into(), value));
    };
    if let Some(path) = look_up("PATH").and_then(|path| std::env::join_paths(absolute_folders(&path)).ok()) {
        set("PATH", path);
    }
    for name in HANDED_ON {
        if let Some(value) = look_up(name) {
            set(name, value);
        }
    }
    let writes = role != Role::Reviewer;
    if let HomeOf::Run(tools) = home {
        set("HOME", area.home().into());
        let tools = tools.iter().filter(|_| writes);
        for (name, value) in tools {
            set(name, value.clone());
        }
        for name in OF_PERSON.iter().filter(|_| writes) {
            if let Some(value) = look_up(name) {
                set(name, value);
            }
        }
    } else if agent.key.is_some() && !writes {
        // A reviewer with a key does not need the user's home, so it does not learn its path.
        set("HOME", area.home().into());
    } else {
        let tools = if writes { OF_TOOLS } else { &[] };
        for name in ["HOME", "USER"].iter().chain(tools).chain(homes(agent)) {
            if let Some(value) = look_up(name) {
                set(name, value);
            }
        }
    }
    for name in address_variables(agent) {
        if let Some(value) = look_up(name).filter(|_| role != Role::Hook) {
            set(name, value);
        }
    }
    for (name, value) in of_preset {
        set(&name, value.into());
    }
    for name in &agent.environment {
        if let Some(value) = look_up(name) {
            set(name, value);
        }
    }
    if let Some(key) = agent.key.as_ref().filter(|_| role != Role::Hook) {
        set(&key.variable, key.secret.clone().into());
    }
    set("TMPDIR", area.tmp().into());
    set("TERM", "dumb".into());
    set("NO_COLOR", "1".into());
    set(AGENT_VARIABLE, "1".into());
    if writes {
        // There is no terminal to type a password or a commit message.
        set("GIT_TERMINAL_PROMPT", "0".into());
        set("GIT_EDITOR", "true".into());
    }
    built
}

/// Variables with the location of the agent's credentials.
fn homes(agent: &Agent) -> &'static [&'static str] {
    match &agent.program {
        Program::Preset(preset) => preset.homes(),
        Program::Command(_) => &[],
    }
}

/// Variables with the address of the agent's service.
fn address_variables(agent: &Agent) -> &'static [&'static str] {
    match &agent.program {
        Program::Preset(preset) => preset.address_variables(),
        Program::Command(_) => &[],
    }
}

/// The secrets in an agent's environment, which are redacted from its output.
pub(super) fn secrets(environment: &[(OsString, OsString)], key: Option<&str>) -> Vec<String> {
    let is_secret = |name: &OsStr| {
        let name = name.to_string_lossy().to_uppercase();
        SECRET_WORDS.iter().any(|word| name.contains(word))
    };
    let found = environment.iter().filter(|(name, _)| is_secret(name)).filter_map(|(_, value)| value.to_str());
    key.into_iter().chain(found).map(str::to_owned).collect()
}

/// The path of a program that is given as a path or as a name on the PATH.
pub(super) fn find(program: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    if program.components().count() > 1 {
        // Relative to our working directory, not to the reviewed tree.
        return std::path::absolute(program).ok().filter(|program| is_program(program));
    }
    absolute_folders(path?).map(|folder| folder.join(program)).find(|candidate| is_program(candidate))
}

/// Drops empty and relative folders from the PATH, which would find programs in the reviewed tree.
fn absolute_folders(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(path).filter(|folder| folder.is_absolute())
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::super::{Key, Preset};
    use super::*;

    fn ours(name: &str) -> Option<OsString> {
        let value = match name {
            "PATH" => ".:/bin::/usr/bin",
            "HOME" => "/srv/me",
            "LANG" => "C.UTF-8",
            "HTTPS_PROXY" => "http://proxy",
            "CARGO_HOME" => "/srv/me/cargo",
            "TOLLGATE_TOKEN" => "canary-4",
            "CODEX_HOME" => "/srv/me/codex",
            "GITHUB_TOKEN" => "canary-1",
            "AWS_SECRET_ACCESS_KEY" => "canary-2",
            "OPENAI_API_KEY" => "canary-3",
            "SSH_AUTH_SOCK" => "/run/agent",
            "MY_TOKEN" => "mine-and-wanted",
            "ANTHROPIC_BASE_URL" => "https://gateway.example",
            _ => return None,
        };
        Some(value.into())
    }

    fn names(agent: &Agent) -> String {
        names_for(Role::Reviewer, agent)
    }

    fn names_for(role: Role, agent: &Agent) -> String {
        let area = ScratchFolder::new().unwrap();
        let root = area.root().to_string_lossy().into_owned();
        let built =
            build(role, agent, (&area, HomeOf::Operator), vec![("OF_PRESET".to_owned(), "1".to_owned())], &ours);
        let shown = built.iter().map(|(name, value)| {
            let value = value.to_string_lossy().replace(&root, "AREA");
            format!("{}={value}", name.to_string_lossy())
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn without_a_key_the_agent_gets_the_home_it_is_logged_in_at_and_no_key_of_others() {
        insta::assert_snapshot!(
            names(&Agent::preset(Preset::Codex)),
            @"PATH=/bin:/usr/bin LANG=C.UTF-8 HTTPS_PROXY=http://proxy HOME=/srv/me CODEX_HOME=/srv/me/codex OF_PRESET=1 TMPDIR=AREA/tmp TERM=dumb NO_COLOR=1 TOLLGATE_AGENT=1"
        );
    }

    #[test]
    fn with_a_key_it_gets_an_empty_home_and_what_the_user_lists() {
        let mut agent = Agent::preset(Preset::Codex);
        agent.key = Some(Key::new("CODEX_API_KEY", "sk-given"));
        agent.environment = vec!["MY_TOKEN".to_owned(), "NOT_SET".to_owned()];
        insta::assert_snapshot!(
            names(&agent),
            @"PATH=/bin:/usr/bin LANG=C.UTF-8 HTTPS_PROXY=http://proxy HOME=AREA/home OF_PRESET=1 MY_TOKEN=mine-and-wanted CODEX_API_KEY=sk-given TMPDIR=AREA/tmp TERM=dumb NO_COLOR=1 TOLLGATE_AGENT=1"
        );
    }

    // Issue 17: an agent asked the public service although the user has a gateway.
    #[test]
    fn the_address_of_the_service_is_passed_on_to_the_agents_that_read_it() {
        for (preset, expected) in [(Preset::Claude, true), (Preset::Aider, true), (Preset::Codex, false)] {
            let agent = Agent::preset(preset);
            let has = |role| names_for(role, &agent).contains(" ANTHROPIC_BASE_URL=https://gateway.example ");
            assert_eq!(
                [Role::Reviewer, Role::Implementer, Role::Hook].map(has),
                [expected, expected, false],
                "{preset:?}"
            );
        }
    }

    #[test]
    fn an_implementer_gets_the_users_home_and_tools_even_with_a_key() {
        let mut agent = Agent::preset(Preset::Codex);
        agent.key = Some(Key::new("CODEX_API_KEY", "sk-given"));
        agent.environment = vec!["MY_TOKEN".to_owned()];
        insta::assert_snapshot!(
            names_for(Role::Implementer, &agent),
            @"PATH=/bin:/usr/bin LANG=C.UTF-8 HTTPS_PROXY=http://proxy HOME=/srv/me CARGO_HOME=/srv/me/cargo CODEX_HOME=/srv/me/codex OF_PRESET=1 MY_TOKEN=mine-and-wanted CODEX_API_KEY=sk-given TMPDIR=AREA/tmp TERM=dumb NO_COLOR=1 TOLLGATE_AGENT=1 GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true"
        );
        insta::assert_snapshot!(
            names_for(Role::Hook, &agent),
            @"PATH=/bin:/usr/bin LANG=C.UTF-8 HTTPS_PROXY=http://proxy HOME=/srv/me CARGO_HOME=/srv/me/cargo CODEX_HOME=/srv/me/codex OF_PRESET=1 MY_TOKEN=mine-and-wanted TMPDIR=AREA/tmp TERM=dumb NO_COLOR=1 TOLLGATE_AGENT=1 GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true"
        );
    }

    #[test]
    fn in_a_sandbox_the_home_is_its_own_and_the_tools_are_named() {
        let mut agent = Agent::preset(Preset::Codex);
        agent.key = Some(Key::new("CODEX_API_KEY", "sk-given"));
        let (area, tools) = (ScratchFolder::new().unwrap(), [("RUSTUP_HOME", "/srv/me/.rustup".into())]);
        let names = |role| {
            let built = build(role, &agent, (&area, HomeOf::Run(&tools)), Vec::new(), &ours);
            let shown = built.iter().map(|(name, value)| format!("{}={}", name.display(), value.display()));
            shown.collect::<Vec<_>>().join(" ").replace(&*area.root().to_string_lossy(), "AREA")
        };
        insta::assert_snapshot!(
            names(Role::Implementer),
            @"PATH=/bin:/usr/bin LANG=C.UTF-8 HTTPS_PROXY=http://proxy HOME=AREA/home RUSTUP_HOME=/srv/me/.rustup CODEX_API_KEY=sk-given TMPDIR=AREA/tmp TERM=dumb NO_COLOR=1 TOLLGATE_AGENT=1 GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true"
        );
        insta::assert_snapshot!(
            names(Role::Reviewer),
            @"PATH=/bin:/usr/bin LANG=C.UTF-8 HTTPS_PROXY=http://proxy HOME=AREA/home CODEX_API_KEY=sk-given TMPDIR=AREA/tmp TERM=dumb NO_COLOR=1 TOLLGATE_AGENT=1"
        );
    }

    #[test]
    fn secret_variables_are_recognized_by_name() {
        let environment = [("MY_TOKEN", "a"), ("db_password", "b"), ("PATH", "c")].map(|(a, b)| (a.into(), b.into()));
        assert_eq!(secrets(&environment, Some("k")), ["k", "a", "b"]);
    }

    #[test]
    #[cfg(unix)]
    fn programs_are_found_on_absolute_folders_of_the_path_only() {
        let found = |program: &str, path: &str| find(Path::new(program), Some(OsStr::new(path)));
        assert_eq!(found("sh", "/nonexistent:/bin"), Some("/bin/sh".into()));
        assert_eq!(found("sh", ".:bin:"), None);
        assert_eq!(found("no-such-program", "/bin"), None);
        assert_eq!(found("/bin/sh", ""), Some("/bin/sh".into()));
        assert_eq!(found("/etc/passwd", ""), None, "not executable");
        assert_eq!(found("/bin", ""), None, "a folder");
    }
}
