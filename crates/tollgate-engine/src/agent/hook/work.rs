//! Runs single hooks and collects their output and messages.

use std::io;
use std::path::{Path, PathBuf};

use tollgate_core::visible::visible;

use super::{HookResult, HookRun};
use crate::agent::output::Reader;
use crate::agent::preset::{Form, Invocation};
use crate::agent::run::{self, Listening, Ran, Setup};
use crate::agent::scratch_folder::ScratchFolder;
use crate::agent::{Agent, Program, Role, confine, explain};
use crate::call::{CallFailure, FailureCause};
use crate::process::guard::AgentExit;
use crate::tree::{self, Entry};

/// The most a hook may print; most of it is dropped.
const MAX_PRINTED: usize = 50 << 20;
/// The longest text that a hook may append to a message.
const MAX_ADDED: usize = 16 * 1024;
/// The file with the message, beside the tree.
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
    // Failures name the hook instead of the agent.
    let agent = Agent { name: hook.to_owned(), program: Program::Command(vec!["git".to_owned()]), ..job.agent.clone() };
    let no_area = |error: io::Error| explain::no_area(&agent, &error);
    let git = agent.find(std::env::var_os("PATH").as_deref())?;
    let area = ScratchFolder::new().map_err(no_area)?;
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
    let redactor = prepared.redactor(job.agent);
    let refused = ran.and_then(|ran| judge(&agent, ran, job.limits.output_bytes));
    let refused = refused.map_err(|failure| run::without_keys(&redactor, failure))?;
    let after = match after {
        Ok(Entry::File { content, .. }) => String::from_utf8(content).unwrap_or_default(),
        // A hook that replaced the file by a link or a folder does not change the message.
        Ok(Entry::TooLarge(_) | Entry::Link(_) | Entry::Other) | Err(_) => String::new(),
    };
    Ok((refused.map(|output| visible(&redactor.redact(&output)).into_owned()), redactor.redact(&after).into_owned()))
}

fn setup(job: &HookRun<'_>, hook: &str, area: &ScratchFolder, git: PathBuf) -> io::Result<Setup> {
    let mut args = vec!["hook".into(), "run".into(), "--ignore-missing".into(), hook.into()];
    if hook == "commit-msg" {
        args.extend(["--".into(), area.root().join(MESSAGE).into()]);
    }
    let mut environment = vec![("GIT_PREFIX".to_owned(), String::new())];
    let mut set = |name: &str, path: &Path| environment.push((name.to_owned(), path.to_string_lossy().into_owned()));
    if confine::layers(job.agent).protect_files() {
        // A hook gets a copy of the index, and a git directory or objects that end with it.
        let own = area.root().join("index");
        std::fs::copy(job.index, &own)?;
        set("GIT_INDEX_FILE", &own);
        if let Some(common) = confine::common_git_dir(job.folder).filter(|_| job.binds.is_empty()) {
            let objects = area.root().join("objects");
            std::fs::create_dir(&objects)?;
            set("GIT_OBJECT_DIRECTORY", &objects);
            set("GIT_ALTERNATE_OBJECT_DIRECTORIES", &common.join("objects"));
        }
    } else {
        set("GIT_INDEX_FILE", &std::path::absolute(job.index)?);
    }
    Ok(Setup {
        program: git,
        invocation: Invocation { args, environment, ..Invocation::default() },
        prompt: String::new(),
        reads_stdin: false,
        folder: std::path::absolute(job.folder)?,
        readable: Vec::new(),
        binds: job.binds.to_vec(),
        state: job.state.map(Path::to_owned),
        file_bytes: None,
        grace: job.limits.grace,
        role: Role::Hook,
    })
}

/// The output of a hook that rejected the commit.
fn judge(agent: &Agent, ran: Ran, max_bytes: usize) -> Result<Option<String>, CallFailure> {
    let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
    let is_unknown = stderr.contains("'hook' is not a git command");
    match ran.ended {
        AgentExit::Code(0) => Ok(None),
        AgentExit::Code(_) if is_unknown => {
            Err(explain::failed(FailureCause::Setup, "this git cannot run hooks by name")
                .hint("Update git to 2.36 or newer."))
        }
        AgentExit::Code(_) if !stderr.starts_with("cannot start `") => {
            let printed = ran.reader.finish_work(None).map(|worked| worked.text).unwrap_or_default();
            let output = format!("{printed}\n{stderr}");
            let output = output.trim();
            Ok(Some(output[output.ceil_char_boundary(output.len().saturating_sub(max_bytes))..].to_owned()))
        }
        ended => Err(explain::ended_badly(agent, ended, None, &stderr)),
    }
}

/// Our message and the lines that a hook appended.
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
