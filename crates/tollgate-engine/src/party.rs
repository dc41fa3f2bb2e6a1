//! The party behind a request: a person, or an agent that may only propose.
//!
//! An agent that wrote a change must not wave it through its own gate. On one machine an agent runs as the same user as
//! the person who started it, so it is told by its traces: tollgate marks the environment of each agent and hook that it
//! starts, coding agents mark the environment of the commands they run, an agent of the board runs below its guard, and it
//! works inside the work tree of a feature. This stops an agent that calls the program as people do. It does not stop one
//! that hides its traces or uses the credentials of the user; that needs a sandbox.

use std::ffi::OsString;
use std::path::Path;

use crate::process::guard::{self, AGENT_VARIABLE, RUN_VARIABLE};

/// Variables that coding agents set for the commands they run, and the names of the agents. Variables by which people
/// configure an agent, such as `AIDER_MODEL`, are no trace: they stand in the profile of a shell.
const OF_AGENTS: [(&str, &str); 17] = [
    ("AI_AGENT", "a coding agent"),
    ("AUGMENT_AGENT", "auggie"),
    ("CLAUDECODE", "claude"),
    ("CLAUDE_CODE_CHILD_SESSION", "claude"),
    ("CLAUDE_CODE_ENTRYPOINT", "claude"),
    ("CLINE_ACTIVE", "cline"),
    ("CODEX_CI", "codex"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex"),
    ("CODEX_THREAD_ID", "codex"),
    ("COPILOT_CLI", "copilot"),
    ("CRUSH", "crush"),
    ("CURSOR_AGENT", "cursor-agent"),
    ("GEMINI_CLI", "gemini"),
    ("GOOSE_TERMINAL", "goose"),
    ("OPENCODE", "opencode"),
    ("QWEN_CODE", "qwen"),
];

/// The variable by which `aider` names itself to model services. Other programs set it too, to their own names.
const OF_AIDER: (&str, &str) = ("OR_APP_NAME", "Aider");

/// The party behind a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Party {
    /// A person, by name.
    Person(String),
    /// An agent or another program, by a description: it may only propose.
    Agent(String),
}

impl Party {
    /// The name or description.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Person(name) | Self::Agent(name) => name,
        }
    }

    /// The party that runs this process in a directory: `person`, unless there are traces of an agent. `board_dir` is
    /// the name of the folder with the features of a project.
    #[must_use]
    pub fn of_process(person: String, directory: &Path, board_dir: &str) -> Self {
        let look_up = |name: &str| std::env::var_os(name);
        let trace = |directory: &Path| trace(&look_up, (directory, board_dir), guard::is_below_guard());
        // The directory may be another one than that of the process, chosen by a flag.
        match trace(directory).or_else(|| trace(&std::env::current_dir().ok()?)) {
            Some(agent) => Self::Agent(agent),
            None => Self::Person(person),
        }
    }
}

/// The description of the agent whose traces there are.
fn trace(
    look_up: &dyn Fn(&str) -> Option<OsString>,
    (directory, board_dir): (&Path, &str),
    is_guarded: bool,
) -> Option<String> {
    let is_set = |name: &str| look_up(name).is_some_and(|value| !value.is_empty() && value != "0");
    if is_guarded || is_set(AGENT_VARIABLE) || is_set(RUN_VARIABLE) {
        return Some("an agent of the board".to_owned());
    }
    if directory.ancestors().any(|folder| is_worktree(folder, board_dir)) {
        return Some("a process in the work tree of a feature".to_owned());
    }
    let known = OF_AGENTS.iter().find(|(variable, _)| is_set(variable)).copied();
    let is_aider = look_up(OF_AIDER.0).is_some_and(|value| value == OF_AIDER.1);
    known
        .or_else(|| is_aider.then_some((OF_AIDER.0, "aider")))
        .map(|(variable, name)| format!("{name} (`{variable}` is set)"))
}

/// True for the work tree of a feature. People have work trees in folders of this name too, without a feature.
fn is_worktree(folder: &Path, board_dir: &str) -> bool {
    let of_feature = || {
        let (name, worktrees) = (folder.file_name()?, folder.parent()?);
        let project = worktrees.parent().filter(|_| worktrees.file_name().is_some_and(|name| name == ".worktrees"))?;
        Some(project.join(board_dir).join("features").join(name))
    };
    of_feature().is_some_and(|feature| feature.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], directory: &Path, is_guarded: bool, expected: Option<&str>) {
        let look_up = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        assert_eq!(trace(&look_up, (directory, ".automaker"), is_guarded).as_deref(), expected);
    }

    #[test]
    fn an_agent_is_told_by_its_environment_its_guard_or_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        check(&[], here, false, None);
        check(&[("TERM", "xterm"), ("CLAUDECODE", "0"), ("GEMINI_CLI", "")], here, false, None);
        check(&[("TOLLGATE_AGENT", "1")], here, false, Some("an agent of the board"));
        check(&[("TOLLGATE_RUN", "Xk29")], here, false, Some("an agent of the board"));
        check(&[], here, true, Some("an agent of the board"));
        check(&[("CLAUDECODE", "1")], here, false, Some("claude (`CLAUDECODE` is set)"));
        let entrypoint = [("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")];
        check(&entrypoint, here, false, Some("claude (`CLAUDE_CODE_ENTRYPOINT` is set)"));
        check(&[("CODEX_THREAD_ID", "019a")], here, false, Some("codex (`CODEX_THREAD_ID` is set)"));
        check(&[("OR_APP_NAME", "Aider")], here, false, Some("aider (`OR_APP_NAME` is set)"));
        check(&[("OR_APP_NAME", "MyApp"), ("AIDER_MODEL", "gpt-5")], here, false, None);
        let inner = here.join("p/.worktrees/feature-1/src");
        std::fs::create_dir_all(&inner).unwrap();
        check(&[], &inner, false, None);
        std::fs::create_dir_all(here.join("p/.automaker/features/feature-1")).unwrap();
        check(&[], &inner, false, Some("a process in the work tree of a feature"));
    }
}
