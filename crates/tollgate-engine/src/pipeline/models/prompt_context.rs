//! The context that all prompts of a review share: description, guidance, instructions and earlier findings.

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;
use tollgate_core::answer::{self, Asks};
use tollgate_core::board::Criterion;
use tollgate_core::boundary::Boundary;
use tollgate_core::change::Change;
use tollgate_core::finding::Severity;
use tollgate_core::path::FilePath;
use tollgate_core::prompt::{self, ContextFile, PriorFinding};
use tollgate_rules::text::injection;
use tollgate_rules::text::mask::mask;

use super::prefetch::Prefetched;
use super::{ModelContext, PromptInputs};
use crate::config::{FILE_NAME, Instruction};
use crate::failure::Failure;
use crate::forge::local::{GUIDANCE, GUIDANCE_FOLDER, Local, PROJECT_PROMPTS};
use crate::pipeline::fetch::alters_settings;
use crate::pipeline::prior::PriorKey;
use crate::reviewer::prompts;
use crate::tree::{self, Entry};

/// Larger guidance files are not read.
const MAX_GUIDANCE: u64 = 1 << 20;
/// At most this many context files of a board are read.
const MAX_CONTEXT: usize = 50;

/// The context that all prompts of a review share.
pub(super) struct PromptContext {
    pub(super) prompts: prompts::Prompts,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) spec: String,
    pub(super) criteria: Vec<Criterion>,
    pub(super) context: Vec<ContextFile>,
    pub(super) effects: Vec<String>,
    pub(super) instructions: Vec<prompt::Instruction>,
    pub(super) applies: Vec<Instruction>,
    pub(super) prior: Vec<PriorFinding>,
    /// The findings of the last review in the same order, as the last review has them.
    pub(super) prior_keys: Vec<PriorKey>,
    /// Findings below it do not count.
    pub(super) floor: Severity,
    pub(super) unmet: Vec<(String, String)>,
    pub(super) skipped: Vec<prompt::Skipped>,
    pub(super) boundary: Boundary,
    pub(super) schema: Value,
}

/// The guidance files of the project as of the base, by path.
pub(super) fn guidance(forge: &Local, change: &Change) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let files: Vec<&str> = GUIDANCE.into_iter().chain([PROJECT_PROMPTS]).collect();
    forge.before(change, &files, &[GUIDANCE_FOLDER], MAX_GUIDANCE)
}

/// The prompts and the context of a board, by the paths they usually have.
fn of_board(board: &Path) -> Vec<(String, Vec<u8>)> {
    let prompts = read_own(board, "settings.json").map(|text| (PROJECT_PROMPTS.to_owned(), text));
    board_context(board).into_iter().chain(prompts).collect()
}

/// The context files of a board, by the paths they usually have.
pub(crate) fn board_context(board: &Path) -> Vec<(String, Vec<u8>)> {
    let names = std::fs::read_dir(board.join("context")).into_iter().flatten().flatten().take(MAX_CONTEXT);
    let mut names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| [".md", ".txt"].iter().any(|end| name.to_lowercase().ends_with(end)));
    names.sort();
    let read = |name: String| {
        let text = read_own(board, &format!("context/{name}"))?;
        Some((format!("{GUIDANCE_FOLDER}/{name}"), text))
    };
    names.into_iter().filter_map(read).collect()
}

fn read_own(board: &Path, place: &str) -> Option<Vec<u8>> {
    match tree::read(board, place.as_bytes(), MAX_GUIDANCE) {
        Ok(Entry::File { content, .. }) => Some(content),
        Ok(Entry::TooLarge(_) | Entry::Link(_) | Entry::Other) | Err(_) => None,
    }
}

impl PromptContext {
    pub(super) fn gather(
        context: &ModelContext<'_>,
        change: &Change,
        inputs: &PromptInputs<'_>,
        prefetched: &mut Prefetched,
        notes: &mut Vec<String>,
    ) -> Self {
        let mut found = std::mem::replace(&mut prefetched.guidance, Ok(Vec::new())).unwrap_or_else(|failure| {
            notes.push(format!("the project's own guidance was not read: {}", failure.message));
            Vec::new()
        });
        if let Some(board) = &context.options.board {
            for (path, text) in of_board(board) {
                found.retain(|(known, _)| *known != path);
                found.push((path, text));
            }
        }
        let project = found.iter().position(|(path, _)| path == PROJECT_PROMPTS).map(|index| found.remove(index));
        let own = context.options.prompts.as_ref().and_then(|path| {
            let name = path.display().to_string();
            let why = match tree::read_own(path, MAX_GUIDANCE) {
                Ok(Entry::File { content, .. }) => return Some((name, content)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
                Ok(Entry::TooLarge(_)) => "it is too large".to_owned(),
                Ok(Entry::Link(_) | Entry::Other) => "it is no file".to_owned(),
                Err(error) => error.to_string(),
            };
            notes.push(format!("the prompts in `{name}` are not used: {why}"));
            None
        });
        let sources: Vec<(&str, &[u8])> =
            own.iter().chain(&project).map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        let prompts = context.options.draft_prompts.clone().unwrap_or_else(|| prompts::read(&sources));
        notes.extend(prompts.notes.iter().cloned());

        let context_files = found
            .into_iter()
            .map(|(name, text)| ContextFile { name, text: mask(&String::from_utf8_lossy(&text)).into_owned() });
        let only = if let [only] = inputs.commit_subjects { Some(only.as_str()) } else { None };
        let title = context.title.or(only).or(change.title.as_deref()).unwrap_or_default();
        let commits = || inputs.commit_subjects.iter().map(|subject| format!("- {subject}\n")).collect::<String>();
        let description = match context.body {
            Some(body) => Cow::Borrowed(body),
            None if inputs.commit_subjects.len() > 1 => Cow::Owned(format!("Its commits:\n{}", commits())),
            None => Cow::Borrowed(""),
        };
        let spec = context.spec.unwrap_or_default();
        for (what, text) in [("title", title), ("description", &description), ("specification", spec)] {
            if let Some(phrase) = injection::find_prompt_injection(text) {
                notes.push(format!("the {what} tries to instruct the reviewer: `{phrase}`"));
            }
        }
        let skipped = change.files.iter().zip(&prefetched.skipped).filter_map(|(file, why)| {
            Some(prompt::Skipped { path: FilePath::of_repo_path(file.path()).to_string(), why: why.clone()? })
        });
        // Instructions stand outside of the boundary, so the reviewed change must not bring its own.
        let alters_settings = alters_settings(change);
        let is_trusted = |instruction: &&Instruction| !(alters_settings && instruction.of_repository);
        let applies: Vec<Instruction> = context.settings.instructions.iter().filter(is_trusted).cloned().collect();
        if applies.len() < context.settings.instructions.len() {
            notes
                .push(format!("the change alters `{FILE_NAME}`, so the instructions in it are not given to reviewers"));
        }
        let instructions = applies
            .iter()
            .map(|instruction| prompt::Instruction {
                files: instruction.paths.join(", "),
                text: instruction.text.clone(),
            })
            .collect();
        let priors = inputs.prior.into_iter().chain(inputs.here);
        let mut asked: Vec<_> = priors.flat_map(|prior| prior.questions(context.is_gate)).collect();
        asked.sort_by_key(|(_, prior)| std::cmp::Reverse(prior.finding.severity));
        let (prior_keys, prior): (Vec<PriorKey>, Vec<PriorFinding>) = asked.into_iter().unzip();
        Self {
            prompts,
            title: mask(title).into_owned(),
            description: mask(&description).into_owned(),
            spec: mask(spec).into_owned(),
            criteria: context.criteria.iter().map(masked).collect(),
            context: context_files.collect(),
            effects: inputs.policy.changes.iter().map(|effect| mask(effect).into_owned()).collect(),
            instructions,
            applies,
            unmet: context.unmet.iter().map(|(text, why)| (mask(text).into_owned(), mask(why).into_owned())).collect(),
            skipped: skipped.collect(),
            boundary: Boundary::new(context.options.boundary.to_be_bytes()),
            schema: answer::schema(Asks { criteria: !context.criteria.is_empty(), prior: !prior.is_empty() }),
            prior,
            prior_keys,
            floor: inputs.policy.floor,
        }
    }
}

fn masked(criterion: &Criterion) -> Criterion {
    Criterion { id: criterion.id.clone(), text: mask(&criterion.text).into_owned() }
}
