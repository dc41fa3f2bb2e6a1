//! One question to an agent, from the copy of the code to the answer.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::seal::{self, Bounds, Seal};
use super::{Agent, Program, PromptBy, Tree, explain, prompt, strip};
use crate::agent::area::Area;
use crate::agent::preset::{Given, Invocation, reviewer};
use crate::agent::run::{self, Disk, Listening, Prepared, Ran, Setup};
use crate::agent::{self, Reader, Role};
use crate::process::guard::Guarded;
use crate::reviewer::call::{CallFailure, Heard, Question, Reply, Watch, Why};

/// How much an agent that prints lines may print in all, in units of what is kept.
const LINES_FACTOR: usize = 8;

/// Asks an agent and waits for its answer.
pub(super) fn ask(
    agent: &Agent,
    tree: &dyn Tree,
    executable: &Path,
    question: &Question,
    watch: &Watch<'_>,
) -> Result<Reply, CallFailure> {
    let no_area = |error: io::Error| agent::explain::no_area(agent, &error);
    let program = agent.find(std::env::var_os("PATH").as_deref())?;
    let area = Area::new().map_err(no_area)?;
    tree.write(&area.tree()).map_err(|failure| explain::no_tree(agent, &failure))?;
    strip::strip(&area.tree()).map_err(no_area)?;
    let before = Seal::of(&area.tree(), Bounds::MAX).map_err(no_area)?.ok_or_else(|| explain::too_large(agent))?;
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

/// Writes everything the agent is given.
pub(super) fn prepare(
    agent: &Agent,
    area: &Area,
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
        // In the user's home there may be larger files that the agent keeps for itself.
        file_bytes: agent.key.as_ref().map(|_| agent.limits.disk_bytes),
        grace: agent.limits.grace,
        role: Role::Reviewer,
    };
    run::prepare(agent, area, setup)
}

/// The user's own command with its blanks filled in.
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
    watch: &Watch<'_>,
) -> Result<Guarded, CallFailure> {
    let guarded = run::start(agent, executable, prepared, watch.cancel)?;
    (watch.heard)(Heard::Sent);
    Ok(guarded)
}

/// Listens to the agent until it ends, or fails when it has to be stopped.
pub(super) fn listen(agent: &Agent, area: &Area, guarded: &mut Guarded, watch: &Watch<'_>) -> Result<Ran, CallFailure> {
    let (form, limit) = (agent.form(), agent.limits.output_bytes);
    let listening = Listening {
        agent,
        deadline: watch.deadline,
        // An agent that is silent while its model thinks cannot give signs of life.
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
        None if failure.why == Why::TooSlow => failure.hint("Give it more time, or review a smaller change."),
        _ => failure,
    })
}

/// An answer counts when the agent ended well and says nothing of an error.
pub(super) fn judge(agent: &Agent, ran: Ran, prepared: &Prepared) -> Result<Reply, CallFailure> {
    let last = prepared.read_last(agent.limits.output_bytes);
    run::judge(agent, ran.ended, &ran.stderr, ran.reader.finish(last.as_deref()))
}

/// Fails when the agent changed the tree.
fn unchanged(agent: &Agent, area: &Area, before: &Seal) -> Result<(), CallFailure> {
    match Seal::of(&area.tree(), Bounds::MAX) {
        Ok(Some(after)) => {
            let changes = before.changes(&after);
            if changes.is_empty() { Ok(()) } else { Err(explain::misbehaved(agent, &seal::describe(&changes))) }
        }
        Ok(None) => Err(explain::misbehaved(agent, "filled its folder")),
        Err(error) => Err(explain::misbehaved(agent, &format!("left its folder unreadable ({error})"))),
    }
}
