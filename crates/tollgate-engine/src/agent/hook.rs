//! The hooks of a project, run for a commit that is made without them.
//!
//! The commit itself is made by plumbing that runs nothing of the repository's. Its `pre-commit` and `commit-msg` hooks
//! are run before it, behind a guard, with the environment of an agent without its key: what an agent can change, it may
//! run as itself and nowhere else. They see the staged files through an index of their own.
//!
//! A hook that refuses is no failure: its output is for whoever has to mend it. `commit-msg` may put lines after the
//! message, as those do that give a change a name; whatever else it does to the message is ignored.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::call::CallFailure;
use crate::process::guard::ProcessMark;

/// The commit for which hooks are run.
#[derive(Clone, Copy)]
pub struct HookRun<'a> {
    /// Whose environment they get.
    pub agent: &'a Agent,
    /// The work tree.
    pub folder: &'a Path,
    /// The index of the commit, which hooks may change.
    pub index: &'a Path,
    /// The message of the commit.
    pub message: &'a str,
    /// What each hook may use up.
    pub limits: HookLimits,
    /// This program, which guards them.
    pub executable: &'a Path,
    /// Stops them.
    pub cancel: &'a CancellationToken,
    /// Is handed the mark of each run before it does anything. Who cannot store it cancels the run.
    pub started: &'a dyn Fn(&ProcessMark),
}

/// What a hook may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookLimits {
    /// How long it may take.
    pub wall: Duration,
    /// How much of its output is kept, from its end.
    pub output_bytes: usize,
    /// How long it is given after SIGINT, and again after SIGTERM, before the next signal.
    pub grace: Duration,
}

impl Default for HookLimits {
    fn default() -> Self {
        Self { wall: Duration::from_secs(120), output_bytes: 64 * 1024, grace: Duration::from_secs(1) }
    }
}

/// What hooks say of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookResult {
    /// They let it pass, or there are none.
    Passed {
        /// The message with the lines that a hook put after it.
        message: String,
    },
    /// One of them refused it.
    Refused {
        /// Which.
        hook: &'static str,
        /// What it printed, from its end, readable and harmless.
        output: String,
    },
}

/// Runs the hooks of a commit, one after the other, until one refuses.
#[cfg(unix)]
pub fn run_hooks(job: &HookRun<'_>) -> Result<HookResult, CallFailure> {
    work::run_hooks(job)
}

/// Runs the hooks of a commit, one after the other, until one refuses.
#[cfg(not(unix))]
pub fn run_hooks(_job: &HookRun<'_>) -> Result<HookResult, CallFailure> {
    Err(super::explain::not_here())
}

#[cfg(unix)]
mod work {
    use std::io;
    use std::path::PathBuf;

    use tollgate_core::visible::visible;

    use super::super::area::Area;
    use super::super::preset::{Form, Invocation};
    use super::super::read::Reader;
    use super::super::run::{self, Listening, Ran, Setup};
    use super::super::{Agent, Program, Role, explain};
    use super::{HookResult, HookRun};
    use crate::call::{CallFailure, Why};
    use crate::process::guard::Ended;
    use crate::tree::{self, Entry};

    /// How much a hook may print in all; most of it is dropped.
    const MAX_PRINTED: usize = 50 << 20;
    /// How much a hook may put after a message.
    const MAX_ADDED: usize = 16 * 1024;
    /// Where the message is, beside the tree.
    const MESSAGE: &str = "message";

    pub(super) fn run_hooks(job: &HookRun<'_>) -> Result<HookResult, CallFailure> {
        if let (Some(output), _) = run_hook(job, "pre-commit")? {
            return Ok(HookResult::Refused { hook: "pre-commit", output });
        }
        Ok(match run_hook(job, "commit-msg")? {
            (Some(output), _) => HookResult::Refused { hook: "commit-msg", output },
            (None, after) => HookResult::Passed { message: with_added(job.message, &after) },
        })
    }

    /// Runs one hook: its output when it refuses, and the message as it left it.
    fn run_hook(job: &HookRun<'_>, hook: &'static str) -> Result<(Option<String>, String), CallFailure> {
        // What is told of failures is told of the hook.
        let agent =
            Agent { name: hook.to_owned(), program: Program::Command(vec!["git".to_owned()]), ..job.agent.clone() };
        let no_area = |error: io::Error| explain::no_area(&agent, &error);
        let git = agent.find(std::env::var_os("PATH").as_deref())?;
        let area = Area::new().map_err(no_area)?;
        area.write(MESSAGE, job.message).map_err(no_area)?;
        let prepared = run::prepare(&agent, &area, setup(job, hook, &area, git).map_err(no_area)?).map_err(no_area)?;
        let listening = Listening {
            agent: &agent,
            deadline: run::deadline(job.limits.wall),
            idle: None,
            most_bytes: MAX_PRINTED,
            most_stderr: job.limits.output_bytes,
            cancel: job.cancel,
            said: &|_| {},
        };
        let mut marked = run::start_marked(&agent, job.executable, &prepared, job.cancel, job.started)?;
        let reader = Reader::of_work(Form::Text, job.limits.output_bytes);
        let ran = run::listen(&listening, &mut marked.guarded, reader, None);
        let after = tree::read(area.root(), MESSAGE.as_bytes(), (job.message.len() + MAX_ADDED) as u64);
        marked.finish();
        let held = prepared.held(job.agent);
        let refused = ran.and_then(|ran| judge(&agent, ran, job.limits.output_bytes));
        let refused = refused.map_err(|failure| run::without_keys(&held, failure))?;
        let after = match after {
            Ok(Entry::File { content, .. }) => String::from_utf8(content).unwrap_or_default(),
            // A hook that put something else in its place has no say in the message.
            Ok(Entry::TooLarge(_) | Entry::Link(_) | Entry::Other) | Err(_) => String::new(),
        };
        Ok((refused.map(|output| visible(&held.hide(&output)).into_owned()), held.hide(&after).into_owned()))
    }

    fn setup(job: &HookRun<'_>, hook: &str, area: &Area, git: PathBuf) -> io::Result<Setup> {
        let mut args = vec!["hook".into(), "run".into(), "--ignore-missing".into(), hook.into()];
        if hook == "commit-msg" {
            args.extend(["--".into(), area.root().join(MESSAGE).into()]);
        }
        let index = std::path::absolute(job.index)?.to_string_lossy().into_owned();
        Ok(Setup {
            program: git,
            invocation: Invocation {
                args,
                environment: vec![("GIT_INDEX_FILE".to_owned(), index), ("GIT_PREFIX".to_owned(), String::new())],
                ..Invocation::default()
            },
            prompt: String::new(),
            reads_stdin: false,
            folder: std::path::absolute(job.folder)?,
            file_bytes: None,
            grace: job.limits.grace,
            role: Role::Hook,
        })
    }

    /// The output of a hook that refused.
    fn judge(agent: &Agent, ran: Ran, max_bytes: usize) -> Result<Option<String>, CallFailure> {
        let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
        let is_unknown = stderr.contains("'hook' is not a git command");
        match ran.ended {
            Ended::Code(0) => Ok(None),
            Ended::Code(_) if is_unknown => {
                Err(explain::failed(Why::Setup, "this git cannot run hooks by name")
                    .hint("Update git to 2.36 or newer."))
            }
            Ended::Code(_) if !stderr.starts_with("cannot start `") => {
                let printed = ran.reader.finish_work(None).map(|worked| worked.text).unwrap_or_default();
                let output = format!("{printed}\n{stderr}");
                let output = output.trim();
                Ok(Some(output[output.ceil_char_boundary(output.len().saturating_sub(max_bytes))..].to_owned()))
            }
            ended => Err(explain::ended_badly(agent, ended, None, &stderr)),
        }
    }

    /// Our message and the lines that a hook put after it.
    fn with_added(message: &str, after: &str) -> String {
        let ours = message.trim_end();
        let Some(added) = after.strip_prefix(ours).filter(|added| added.is_empty() || added.starts_with('\n')) else {
            return message.to_owned();
        };
        let kept: Vec<&str> = added.lines().map(str::trim_end).filter(|line| !line.starts_with('#')).collect();
        let added = kept.join("\n");
        if added.trim().is_empty() {
            return message.to_owned();
        }
        format!("{ours}{}\n", visible(added.trim_end()))
    }

    #[cfg(test)]
    mod tests {
        use super::with_added;

        #[track_caller]
        fn check(after: &str, expected: &str) {
            assert_eq!(with_added("feat: a\n\nBody\n", after), expected);
        }

        #[test]
        fn lines_after_the_message_are_taken_and_nothing_else() {
            check("feat: a\n\nBody\n", "feat: a\n\nBody\n");
            check("feat: a\n\nBody\n\nChange-Id: I1\n", "feat: a\n\nBody\n\nChange-Id: I1\n");
            check("feat: a\n\nBody\nChange-Id: I1", "feat: a\n\nBody\nChange-Id: I1\n");
            check("feat: a\n\nBody\n# a remark\n\n", "feat: a\n\nBody\n");
            check("feat: a\n\nBody, bent\nChange-Id: I1\n", "feat: a\n\nBody\n");
            check("fix: b\n\nChange-Id: I1\n", "feat: a\n\nBody\n");
            check("", "feat: a\n\nBody\n");
            check("feat: a\n\nBody\nx: \u{1b}[2J\n", "feat: a\n\nBody\nx: \\u{1b}[2J\n");
        }
    }
}
