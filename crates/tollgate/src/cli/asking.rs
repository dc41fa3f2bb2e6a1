//! Models and agents in `tollgate review`: the flags, how it goes, what it took.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tollgate_core::visible::grouped;
use tollgate_engine::config::{Settings, Shown};
use tollgate_engine::failure::Failure;
use tollgate_engine::pipeline::{Asking, Run, Sent};
use tollgate_engine::reviewer::tape::{self, Tape};

use super::{Place, memory, output};

/// What the command line says about models and agents.
pub(crate) struct Flags<'a> {
    pub(crate) print: bool,
    pub(crate) record: Option<&'a Path>,
    pub(crate) replay: Option<&'a Path>,
}

/// How models and agents are asked here.
pub(crate) fn prepare<'a>(
    place: &Place,
    flags: &Flags<'_>,
    variable: &'a (dyn Fn(&str) -> Option<String> + Sync),
) -> Result<Asking<'a>, Failure> {
    let (tape, boundary) = match (flags.record, flags.replay) {
        (_, Some(file)) => {
            let path = place.resolve(file);
            tape::read(&file.display().to_string(), &output::read_input(&path, tape::MAX_BYTES)?)?
        }
        (Some(_), None) => (Tape::recording(), boundary()),
        (None, None) => (Tape::Off, boundary()),
    };
    let cancel = CancellationToken::new();
    Ok(Asking {
        tape,
        boundary,
        only_print: flags.print,
        unasked: None,
        prompts: own_prompts(),
        instead: None,
        board: None,
        variable,
        cancel,
    })
}

/// Whom the configuration wants to be asked, and nobody asks.
pub(crate) fn left_out(settings: &Settings, offline: bool) -> Option<String> {
    let chosen = |shown: &&Shown| shown.key == "review.reviewers" && shown.value != "[]";
    settings.shown.iter().rfind(chosen).filter(|_| offline).map(|shown| shown.value.trim_matches(['[', ']']).to_owned())
}

/// A name that nobody can know beforehand, so that no text can pretend to end where it is quoted.
fn boundary() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The prompts in the user's data folder.
fn own_prompts() -> Option<PathBuf> {
    Some(memory::data_folder()?.with_file_name("settings.json"))
}

/// What a model or agent took, in one line.
pub(crate) fn took(run: &Run) -> String {
    let mut line = run.name.clone();
    if run.n_calls == 0 {
        return line + ": not asked, since nothing was to be sent or nothing fits the budget";
    }
    if let Some(model) = run.model.as_deref().filter(|model| *model != run.name) {
        let _ = write!(line, " ({model})");
    }
    let calls = if run.n_calls == 1 { "1 call".to_owned() } else { format!("{} calls", run.n_calls) };
    let _ = write!(line, ": {calls} in {:.1} s", run.time.as_secs_f64());
    let _ = write!(line, ", {} tokens read", grouped(run.usage.input));
    if run.usage.cached > 0 {
        let _ = write!(line, " ({} cached)", grouped(run.usage.cached));
    }
    let _ = write!(line, ", {} written", grouped(run.usage.output));
    match run.cost {
        Some(cost) if cost > 0.0 && cost < 0.01 => line.push_str(", less than $0.01"),
        Some(cost) => {
            let _ = write!(line, ", ${cost:.2}");
        }
        None => line.push_str(", cost unknown"),
    }
    if run.n_failed > 0 {
        let _ = write!(line, "; {} failed", run.n_failed);
    }
    line
}

/// What would be sent, for people to read.
pub(crate) fn prompt_text(sent: &[Sent]) -> String {
    let mut text = String::new();
    for one in sent {
        let Sent { reviewer, call, n_calls, n_tokens, .. } = one;
        let _ =
            writeln!(text, "===== {reviewer}, call {call} of {n_calls}, {} tokens =====", grouped(*n_tokens as u64));
        let parts = [("system", &one.system), ("shared by all calls", &one.shared), ("this call", &one.part)];
        for (name, part) in parts {
            let _ = write!(text, "----- {name} -----\n{part}{}", if part.ends_with('\n') { "" } else { "\n" });
        }
    }
    text
}

/// The same for programs.
pub(crate) fn prompt_json(sent: &[Sent]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tollgate_engine::reviewer::call::Usage;

    #[track_caller]
    fn check(run: Run, expected: &str) {
        assert_eq!(took(&run), expected);
    }

    fn run() -> Run {
        Run {
            name: "claude".to_owned(),
            model: Some("claude-opus-4-5".to_owned()),
            n_calls: 3,
            n_failed: 0,
            usage: Usage { input: 1_234_567, cached: 1_000, output: 678 },
            cost: Some(1.234),
            time: Duration::from_millis(12_345),
            failure: None,
        }
    }

    #[test]
    fn what_a_model_took_is_one_line() {
        check(
            run(),
            "claude (claude-opus-4-5): 3 calls in 12.3 s, 1,234,567 tokens read (1,000 cached), 678 written, $1.23",
        );
        let cheap = Run { cost: Some(0.001), n_calls: 1, n_failed: 1, model: None, ..run() };
        check(
            cheap,
            "claude: 1 call in 12.3 s, 1,234,567 tokens read (1,000 cached), 678 written, less than $0.01; 1 failed",
        );
        check(
            Run { n_calls: 0, ..run() },
            "claude: not asked, since nothing was to be sent or nothing fits the budget",
        );
        let plain = Run { cost: None, usage: Usage { input: 5, cached: 0, output: 0 }, ..run() };
        check(plain, "claude (claude-opus-4-5): 3 calls in 12.3 s, 5 tokens read, 0 written, cost unknown");
    }
}
