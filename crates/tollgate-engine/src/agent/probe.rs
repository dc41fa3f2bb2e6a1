//! Checks whether an agent is installed, its version, and its prerequisites.
//!
//! No model is asked and no network is needed. Only presets are started, for their version: starting a command of the
//! user's could have side effects.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tollgate_core::visible::visible;

use super::preset::codex_provider::CodexProvider;
use super::scratch_folder::ScratchFolder;
use super::{Agent, Preset, Program};
use crate::process::{Group, guard, pipes};

/// The timeout for printing a version; some agents load for seconds.
const PATIENCE: Duration = Duration::from_secs(10);
const MAX_OUTPUT: usize = 64 * 1024;
const MAX_VERSION_CHARS: usize = 80;

/// The result of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The path of its program.
    pub found: Option<PathBuf>,
    /// The version it prints.
    pub version: Option<String>,
    /// Whether it will run in a PID namespace, where it sees no other process and none of its own outlives it.
    pub namespace: bool,
    /// Missing prerequisites with their remedies, in sentences.
    pub missing: Vec<String>,
}

/// Probes whether an agent can be used.
#[must_use]
pub fn probe(agent: &Agent) -> Probe {
    let look_up = |name: &str| std::env::var_os(name);
    let (mut missing, mut version) = (Vec::new(), None);
    let found = match agent.find(look_up("PATH").as_deref()) {
        Ok(found) => Some(found),
        Err(failure) => {
            missing.push(sentence(&failure.message, failure.hint.as_deref()));
            None
        }
    };
    if let (Program::Preset(preset), Some(program)) = (&agent.program, &found) {
        match ask_version(program) {
            Ok(said) => version = Some(said),
            Err(problem) => missing.push(format!("`{} --version` {problem}.", program.display())),
        }
        missing.extend(log_in(agent, *preset, &|name| look_up(name).map(PathBuf::from)));
    }
    Probe { found, version, namespace: agent.namespace && guard::has_namespace(), missing }
}

fn sentence(message: &str, hint: Option<&str>) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}. {}", characters.as_str(), hint.unwrap_or_default()).trim_end().to_owned()
}

/// The first line with a digit in the output of `--version`.
fn ask_version(program: &Path) -> Result<String, String> {
    let said = run_for_version(program).map_err(|error| format!("cannot be started: {error}"))?;
    let said = said.ok_or_else(|| format!("did not end within {} s", PATIENCE.as_secs()))?;
    let line = said.lines().find(|line| line.chars().any(|character| character.is_ascii_digit()));
    let line = line.map(|line| visible(line.trim()).chars().take(MAX_VERSION_CHARS).collect());
    line.ok_or_else(|| "says no version".to_owned())
}

/// The output of the program; `None` after a timeout.
fn run_for_version(program: &Path) -> std::io::Result<Option<String>> {
    // Some agents write to the home folder on their first start.
    let area = ScratchFolder::new()?;
    let mut command = Command::new(program);
    command.arg("--version").current_dir(area.tmp()).env_clear();
    command.envs(["PATH", "LANG"].iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.env("HOME", area.home()).env("TMPDIR", area.tmp()).env("TERM", "dumb").env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::spawn(&mut command)?;
    let pipes = (group.child().stdout.take(), group.child().stderr.take());
    let (Some(stdout), Some(stderr)) = pipes else {
        return Err(std::io::ErrorKind::BrokenPipe.into());
    };
    let mut said = Vec::new();
    let ended = pipes::read_both(stdout, stderr, Instant::now() + PATIENCE, MAX_OUTPUT, &mut |bytes| {
        said.extend(bytes);
        said.len() <= MAX_OUTPUT
    })?;
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok(match ended {
        pipes::ReadEnd::Whole(errors) => Some(format!("{said}\n{errors}")),
        pipes::ReadEnd::Enough => Some(said),
        pipes::ReadEnd::TooLate => None,
    })
}

/// How to log in, when the agent has no key and no credentials.
fn log_in(agent: &Agent, preset: Preset, look_up: &dyn Fn(&str) -> Option<PathBuf>) -> Option<String> {
    let has_key = agent.key.is_some() || preset.key_variables().iter().any(|name| hands_on(agent, name));
    let variable = |name: &str| look_up(name).map(PathBuf::into_os_string);
    let has_provider = || preset == Preset::Codex && CodexProvider::read(&variable).has_key(&variable);
    if has_key || has_provider() {
        return None;
    }
    let home = look_up("HOME")?;
    let place = |variable: &str, usual: &str| look_up(variable).unwrap_or_else(|| home.join(usual));
    let file = match preset {
        // On other systems the credentials are in a keyring.
        Preset::Claude if cfg!(target_os = "linux") => place("CLAUDE_CONFIG_DIR", ".claude").join(".credentials.json"),
        Preset::Codex => place("CODEX_HOME", ".codex").join("auth.json"),
        Preset::Gemini => home.join(".gemini/oauth_creds.json"),
        Preset::OpenCode => place("XDG_DATA_HOME", ".local/share").join("opencode/auth.json"),
        Preset::Aider => return Some(format!("It has no key. {}", preset.how_to_log_in())),
        Preset::Claude | Preset::CursorAgent => return None,
    };
    let not_there = format!("It has no key, and no log-in at `{}`. {}", file.display(), preset.how_to_log_in());
    (!file.exists()).then_some(not_there)
}

fn hands_on(agent: &Agent, name: &str) -> bool {
    agent.environment.iter().any(|handed| handed == name) && std::env::var_os(name).is_some()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::Key;
    use super::*;

    /// Probes a script that plays a preset.
    fn probed(preset: Preset, script: &str) -> Probe {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut agent = Agent::preset(preset);
        agent.path = Some(path);
        agent.key = Some(Key::new("A_KEY", "0123456789"));
        probe(&agent)
    }

    #[track_caller]
    fn check(script: &str, version: Option<&str>, missing: &str) {
        let probe = probed(Preset::Codex, script);
        assert_eq!(probe.version.as_deref(), version, "{script}");
        let missing_now: Vec<_> = probe.missing.iter().map(|text| text.split("` ").last().unwrap()).collect();
        assert_eq!(missing_now.join("\n"), missing, "{script}");
    }

    #[test]
    fn the_version_is_the_first_line_with_a_number() {
        check("test \"$1\" = --version && echo codex-cli 0.166.0", Some("codex-cli 0.166.0"), "");
        check("echo Hello; echo; printf 'v1\\033[0m\\n' >&2", Some("v1\\u{1b}[0m"), "");
        check("yes 1", Some("1"), "");
        check("echo Hello", None, "says no version.");
    }

    #[test]
    fn a_probed_agent_does_not_write_to_the_users_home() {
        check("echo \"2 $HOME\" | grep -c tollgate-agent-", Some("1"), "");
    }

    #[test]
    fn a_missing_prerequisite_is_named_with_its_remedy() {
        let mut agent = Agent::preset(Preset::OpenCode);
        agent.path = Some("/nonexistent/opencode".into());
        let probe = probe(&agent);
        assert_eq!((probe.found, probe.version), (None, None));
        let expected = "There is no program `/nonexistent/opencode` that can be run. \
            Install it with `npm install -g opencode-ai`.";
        assert_eq!(probe.missing, [expected]);
    }

    #[test]
    fn a_missing_log_in_is_named_unless_there_is_a_key() {
        let home = tempfile::tempdir().unwrap();
        let look_up = |name: &str| (name == "HOME").then(|| home.path().to_owned());
        let mut agent = Agent::preset(Preset::Codex);
        let said = log_in(&agent, Preset::Codex, &look_up).unwrap();
        assert!(
            said.ends_with(
                "/.codex/auth.json`. Run `codex login`, or set `key_env` to a variable that holds an API key."
            )
        );
        std::fs::create_dir(home.path().join(".codex")).unwrap();
        std::fs::write(home.path().join(".codex/auth.json"), "{}").unwrap();
        assert_eq!(log_in(&agent, Preset::Codex, &look_up), None);
        assert!(log_in(&agent, Preset::Aider, &look_up).is_some());
        agent.key = Some(Key::new("A_KEY", "0123456789"));
        assert_eq!(log_in(&agent, Preset::Aider, &look_up), None);
    }
}
