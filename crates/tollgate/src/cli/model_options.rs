//! Options of `tollgate review` for models and agents: recording, replaying and printing prompts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tollgate_core::visible::grouped;
use tollgate_engine::config::{Settings, SourcedValue};
use tollgate_engine::failure::Failure;
use tollgate_engine::pipeline::{ModelOptions, SentPrompt};
use tollgate_engine::reviewer::recording::{self, Recording};

use super::{CliContext, output, store_args};

/// The command-line flags for models and agents.
pub(crate) struct Flags<'a> {
    pub(crate) print: bool,
    pub(crate) record: Option<&'a Path>,
    pub(crate) replay: Option<&'a Path>,
}

/// Prepares the requests to models and agents from the flags.
pub(crate) fn prepare<'a>(
    context: &CliContext,
    flags: &Flags<'_>,
    variable: &'a (dyn Fn(&str) -> Option<String> + Sync),
) -> Result<ModelOptions<'a>, Failure> {
    let options = ModelOptions::new(variable, CancellationToken::new());
    let (recording, boundary) = match (flags.record, flags.replay) {
        (_, Some(file)) => {
            let path = context.resolve(file);
            recording::read(&file.display().to_string(), &output::read_input(&path, recording::MAX_BYTES)?)?
        }
        (Some(_), None) => (Recording::start(), options.boundary),
        (None, None) => (Recording::Off, options.boundary),
    };
    Ok(ModelOptions { recording, boundary, only_print: flags.print, prompts: own_prompts(), ..options })
}

/// The configured reviewers that `--offline` disables, if any.
pub(crate) fn left_out(settings: &Settings, offline: bool) -> Option<String> {
    let chosen = |shown: &&SourcedValue| shown.key == "review.reviewers" && shown.value != "[]";
    settings.shown.iter().rfind(chosen).filter(|_| offline).map(|shown| shown.value.trim_matches(['[', ']']).to_owned())
}

/// The file with the user's own prompts.
fn own_prompts() -> Option<PathBuf> {
    Some(store_args::default_file()?.with_file_name("settings.json"))
}

/// Renders prompts for people.
pub(crate) fn prompt_text(sent: &[SentPrompt]) -> String {
    let mut text = String::new();
    for one in sent {
        let SentPrompt { reviewer, call, n_calls, n_tokens, .. } = one;
        let _ =
            writeln!(text, "===== {reviewer}, call {call} of {n_calls}, {} tokens =====", grouped(*n_tokens as u64));
        let parts = [("system", &one.system), ("shared by all calls", &one.shared), ("this call", &one.part)];
        for (name, part) in parts {
            let _ = write!(text, "----- {name} -----\n{part}{}", if part.ends_with('\n') { "" } else { "\n" });
        }
    }
    text
}

/// Renders prompts as JSON.
pub(crate) fn prompt_json(sent: &[SentPrompt]) -> String {
    let calls: Vec<_> = sent
        .iter()
        .map(|one| {
            json!({
                "reviewer": one.reviewer, "call": one.call, "calls": one.n_calls, "tokens": one.n_tokens,
                "system": one.system, "shared": one.shared, "part": one.part,
            })
        })
        .collect();
    format!("{:#}\n", json!({ "prompts": calls }))
}
