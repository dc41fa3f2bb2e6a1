//! Prepares and runs one task of an implementer, and reads its final report.

use std::cell::RefCell;
use std::io;
use std::path::{Component, Path, PathBuf};

use tollgate_core::visible::visible;

use super::{Implement, Implemented};
use crate::agent::output::Reader;
use crate::agent::preset::{Form, Given, implementer};
use crate::agent::run::{self, Disk, Listening, Prepared, Setup};
use crate::agent::scratch_folder::ScratchFolder;
use crate::agent::transcript::TranscriptWriter;
use crate::agent::{Agent, Key, Output, Preset, Program, PromptBy, Role, explain};
use crate::call::{CallFailure, FailureCause};

/// The longest last message; longer ones are truncated at the front.
const MAX_TEXT: usize = 64 * 1024;
/// The longest line of JSON.
const MAX_LINE: usize = 16 << 20;
/// The most files named to an agent that does not find them itself.
const MAX_FILES: usize = 50;
const MAX_WORDS: usize = 20_000;

pub(super) fn implement(job: &Implement<'_>) -> Result<Implemented, CallFailure> {
    let agent = job.agent;
    let no_area = |error: io::Error| explain::no_area(agent, &error);
    let program = agent.find(std::env::var_os("PATH").as_deref())?;
    let folder = std::path::absolute(job.folder).ok().filter(|folder| folder.is_dir());
    let folder = folder.ok_or_else(|| explain::no_folder(agent, job.folder))?;
    let area = ScratchFolder::new().map_err(no_area)?;
    let prepared = prepare(job, &area, program, &folder).map_err(no_area)?;
    let mut folders = vec![area.root(), &folder];
    folders.extend(job.binds.iter().filter(|bind| bind.is_writable).map(|bind| bind.source.as_path()));
    let disk = job.limits.disk_growth_bytes.map(|bytes| Disk::new(folders, bytes));
    let redactor = prepared.redactor(agent);
    let speech = RefCell::new(TranscriptWriter::new(&redactor, job.heard));
    let listening = Listening {
        agent,
        deadline: run::deadline(job.limits.wall),
        idle: Some(job.limits.idle),
        most_bytes: job.limits.output_bytes,
        most_stderr: run::MAX_STDERR,
        cancel: job.cancel,
        said: &|said| speech.borrow_mut().take(said),
    };
    let missing = agent.missing_layers();
    if !missing.is_empty() {
        (job.noted)(&format!("[tollgate: sandbox: {}]\n\n", missing.join("; ")));
    }
    let mut marked = run::start_marked(agent, job.executable, &prepared, job.cancel, job.started)?;
    let worked = run::listen(&listening, &mut marked.guarded, reader(agent), disk).and_then(|ran| {
        let last = prepared.read_last(MAX_LINE);
        run::judge(agent, ran.ended, &ran.stderr, ran.reader.finish_work(last.as_deref()))
    });
    marked.finish();
    let transcript_bytes = speech.into_inner().finish();
    if let Some(note) = prepared.network_note() {
        (job.noted)(&format!("\n[tollgate: network: {}]\n", visible(&note)));
    }
    let worked = worked.map_err(|failure| run::without_keys(&redactor, kept(agent, failure)))?;
    let text = redactor.redact(&worked.text);
    Ok(Implemented {
        text: text[text.ceil_char_boundary(text.len().saturating_sub(MAX_TEXT))..].to_owned(),
        transcript_bytes,
        usage: worked.usage,
        cost: worked.cost,
        model: worked.model.map(|model| redactor.redact(&model).into_owned()),
        session: worked.session.map(|session| redactor.redact(&session).into_owned()),
    })
}

fn prepare(job: &Implement<'_>, area: &ScratchFolder, program: PathBuf, folder: &Path) -> io::Result<Prepared> {
    let agent = job.agent;
    let prompt_path = run::prompt_path(area);
    let key = agent.key.as_ref().map(Key::variable);
    let given = Given { model: agent.model.as_deref(), key, beside: area.root(), prompt: &prompt_path };
    let (invocation, reads_stdin) = match &agent.program {
        Program::Preset(preset) => {
            let files = if *preset == Preset::Aider { named_files(job.prompt, folder) } else { Vec::new() };
            let task = implementer::Assignment { files: &files, session: job.session, images: job.images };
            (implementer::invoke(*preset, &given, &task), preset.reads_stdin())
        }
        Program::Command(command) => (given.fill(command, &[]), agent.prompt == PromptBy::Stdin),
    };
    let setup = Setup {
        program,
        invocation,
        prompt: job.prompt.to_owned(),
        reads_stdin,
        folder: folder.to_owned(),
        readable: job.images.to_vec(),
        binds: job.binds.to_vec(),
        state: job.state.map(Path::to_owned),
        file_bytes: None,
        grace: job.limits.grace,
        role: Role::Implementer,
    };
    run::prepare(agent, area, setup)
}

fn reader(agent: &Agent) -> Reader {
    let form = match (&agent.program, agent.output) {
        (Program::Preset(preset), Output::OfPreset) => implementer::form(*preset),
        _ => agent.form(),
    };
    // Of plain text the end suffices; JSON must be complete to be parsed.
    Reader::of_work(form, if matches!(form, Form::Text | Form::Aider) { MAX_TEXT } else { MAX_LINE })
}

/// Adds to the error of a stopped agent that its edits are kept.
fn kept(agent: &Agent, failure: CallFailure) -> CallFailure {
    let was_stopped = matches!(failure.why, FailureCause::TooSlow | FailureCause::Garbled | FailureCause::Misbehaved);
    // For a preset without output, the hint on how to log in matters more.
    let is_told = failure.hint.is_some() && matches!(agent.program, Program::Preset(_));
    if is_told || !was_stopped {
        return failure;
    }
    failure.hint("What it wrote is kept. Give it more room in the settings, or ask for less at once.")
}

/// The files of a folder that a prompt names, for an agent that does not find them itself.
fn named_files(text: &str, folder: &Path) -> Vec<PathBuf> {
    let is_part = |character: char| character.is_alphanumeric() || "._-/+@".contains(character);
    let words = text.split(|character| !is_part(character)).filter(|word| word.len() > 1).take(MAX_WORDS);
    let mut files: Vec<PathBuf> = Vec::new();
    for word in words.map(|word| word.trim_start_matches("./").trim_end_matches(['.', '/'])) {
        let path = Path::new(word);
        if files.len() < MAX_FILES && !files.iter().any(|known| known == path) && is_own_file(path, folder) {
            files.push(path.to_owned());
        }
    }
    files
}

/// True for a regular file below the folder, without symbolic links on the way.
fn is_own_file(path: &Path, folder: &Path) -> bool {
    let mut steps = path.components();
    let is_plain = !path.as_os_str().is_empty()
        && !path.as_os_str().as_encoded_bytes().starts_with(b"-")
        && steps.all(|step| matches!(step, Component::Normal(name) if name != ".git" && name != ".automaker"));
    let reached = folder.join(path);
    is_plain
        && reached.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
        && folder.canonicalize().is_ok_and(|folder| reached.canonicalize().is_ok_and(|it| it == folder.join(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_a_task_names_are_found_and_no_others() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("tree");
        for name in ["src", ".git", "out"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        for name in ["src/a.rs", "README.md", ".git/config", "-o", "../secret"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("../secret", folder.join("link")).unwrap();
        std::os::unix::fs::symlink("..", folder.join("up")).unwrap();
        let text = "Fix `src/a.rs:3` (see ./README.md), not src/b.rs, src, src/, -o, .git/config, ../secret, \
            link, up/secret or /etc/passwd. Again src/a.rs.";
        let found = named_files(text, &folder.canonicalize().unwrap());
        assert_eq!(found, ["src/a.rs", "README.md"].map(PathBuf::from));
    }
}
