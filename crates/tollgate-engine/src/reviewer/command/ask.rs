//! One question to an agent, from the copy of the code to the answer.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::tree_digest::{self, DigestLimits, TreeDigest};
use super::{Agent, Program, PromptBy, Tree, explain, prompt, strip};
use crate::agent::preset::{Given, Invocation, reviewer};
use crate::agent::run::{self, Disk, Listening, Prepared, Ran, Setup};
use crate::agent::scratch_folder::ScratchFolder;
use crate::agent::{self, Reader, Role};
use crate::process::guard::GuardedProcess;
use crate::reviewer::call::{CallControl, CallFailure, CallProgress, FailureCause, Question, Reply};

/// The most that an agent with JSON lines may print, as a multiple of the kept output.
const LINES_FACTOR: usize = 8;

/// Asks an agent and waits for its answer.
pub(super) fn ask(
    agent: &Agent,
    tree: &dyn Tree,
    executable: &Path,
    question: &Question,
    watch: &CallControl<'_>,
) -> Result<Reply, CallFailure> {
    let no_area = |error: io::Error| agent::explain::no_area(agent, &error);
    let program = agent.find(std::env::var_os("PATH").as_deref())?;
    let area = ScratchFolder::new().map_err(no_area)?;
    tree.write(&area.tree()).map_err(|failure| explain::no_tree(agent, &failure))?;
    strip::strip(&area.tree()).map_err(no_area)?;
    let before =
        TreeDigest::of(&area.tree(), DigestLimits::MAX).map_err(no_area)?.ok_or_else(|| explain::too_large(agent))?;
    let write_prompt = |schema: Option<&Value>| prompt::write(question, schema);
    let prepared = prepare(agent, &area, program, &question.schema, &write_prompt).map_err(no_area)?;
    let mut guarded = start(agent, executable, &prepared, watch)?;
    let asked = listen(agent, &area, &mut guarded, watch).and_then(|ran| {
        unchanged(agent, &area, &before)?;
        judge(agent, ran, &prepared)
    });
    guarded.finish();
    prepared.without_keys(agent, asked)
}

/// Writes the input files of the agent.
pub(super) fn prepare(
    agent: &Agent,
    area: &ScratchFolder,
    program: PathBuf,
    schema: &Value,
    write_prompt: &dyn Fn(Option<&Value>) -> String,
) -> io::Result<Prepared> {
    let prompt_path = run::prompt_path(area);
    let key = agent.key.as_ref().map(agent::Key::variable);
    let given = Given { model: agent.model.as_deref(), key, beside: area.root(), prompt: &prompt_path };
    let (invocation, reads_stdin) = match &agent.program {
        Program::Preset(preset) => (reviewer::invoke(*preset, &given, schema), preset.reads_stdin()),
        Program::Command(command) => (of_command(command, &given, schema), agent.prompt == PromptBy::Stdin),
    };
    let setup = Setup {
        program,
        prompt: write_prompt((!invocation.knows_schema).then_some(schema)),
        invocation,
        reads_stdin,
        folder: area.tree(),
        readable: Vec::new(),
        binds: Vec::new(),
        state: None,
        // Without a key the agent uses the user's home, where its own files may be larger.
        file_bytes: agent.key.as_ref().map(|_| agent.limits.disk_bytes),
        grace: agent.limits.grace,
        role: Role::Reviewer,
    };
    run::prepare(agent, area, setup)
}

/// The user's own command with its placeholders filled in.
fn of_command(command: &[String], given: &Given<'_>, schema: &Value) -> Invocation {
    let schema_path = given.beside.join("schema.json");
    let mut invocation = given.fill(command, &[("{schema}", &schema_path.to_string_lossy())]);
    invocation.files.push(("schema.json", schema.to_string()));
    invocation
}

/// Starts the agent behind its guard.
pub(super) fn start(
    agent: &Agent,
    executable: &Path,
    prepared: &Prepared,
    watch: &CallControl<'_>,
) -> Result<GuardedProcess, CallFailure> {
    let guarded = run::start(agent, executable, prepared, watch.cancel)?;
    (watch.heard)(CallProgress::Sent);
    Ok(guarded)
}

/// Reads the output of the agent until it exits; fails when it has to be stopped.
pub(super) fn listen(
    agent: &Agent,
    area: &ScratchFolder,
    guarded: &mut GuardedProcess,
    watch: &CallControl<'_>,
) -> Result<Ran, CallFailure> {
    let (form, limit) = (agent.form(), agent.limits.output_bytes);
    let listening = Listening {
        agent,
        deadline: watch.deadline,
        // No idle timeout for an agent that is silent while its model thinks.
        idle: form.is_live().then_some(watch.idle),
        most_bytes: if form.streams() { limit.saturating_mul(LINES_FACTOR) } else { limit },
        most_stderr: run::MAX_STDERR,
        cancel: watch.cancel,
        said: &|said| {
            if let Some(heard) = said.heard() {
                (watch.heard)(heard);
            }
        },
    };
    let disk = Disk::new(vec![area.root()], agent.limits.disk_bytes);
    run::listen(&listening, guarded, Reader::new(form, limit), Some(disk)).map_err(|failure| match failure.hint {
        None if failure.why == FailureCause::TooSlow => failure.hint("Give it more time, or review a smaller change."),
        _ => failure,
    })
}

/// An answer counts when the agent exited successfully and reports no error.
pub(super) fn judge(agent: &Agent, ran: Ran, prepared: &Prepared) -> Result<Reply, CallFailure> {
    let last = prepared.read_last(agent.limits.output_bytes);
    run::judge(agent, ran.ended, &ran.stderr, ran.reader.finish(last.as_deref()))
}

/// Fails when the agent changed the tree.
fn unchanged(agent: &Agent, area: &ScratchFolder, before: &TreeDigest) -> Result<(), CallFailure> {
    match TreeDigest::of(&area.tree(), DigestLimits::MAX) {
        Ok(Some(after)) => {
            let changes = before.changes(&after);
            if changes.is_empty() { Ok(()) } else { Err(explain::misbehaved(agent, &tree_digest::describe(&changes))) }
        }
        Ok(None) => Err(explain::misbehaved(agent, "filled its folder")),
        Err(error) => Err(explain::misbehaved(agent, &format!("left its folder unreadable ({error})"))),
    }
}
