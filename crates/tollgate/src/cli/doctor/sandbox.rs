//! Checks the sandbox of agents and hooks: which layers hold, and whether attempts to break out fail.

use std::path::Path;

use tollgate_engine::config::Settings;

use super::{Check, CliContext};

/// Checks the layers, and attempts to break out of them.
#[cfg(unix)]
pub(super) fn check_all(context: &CliContext, settings: &Settings, data: Option<&Path>) -> Vec<Check> {
    use tollgate_engine::agent::sandbox_layers;
    use tollgate_engine::config::SandboxMode;
    use tollgate_engine::failure::{Failure, Kind};

    use super::Found;

    let sandbox = &settings.sandbox;
    let found = |name: &str, found: Found| Check { name: name.to_owned(), found };
    if sandbox.mode == SandboxMode::Off {
        let why = "off; agents run as you, with all your files and the whole network".to_owned();
        return vec![found("layers", Found::Missing(why))];
    }
    let layers = sandbox_layers(sandbox);
    let missing = layers.missing().join("; ");
    let names = if layers.names().is_empty() { "none".to_owned() } else { layers.names().join(", ") };
    let hint = "Install bubblewrap (Debian: `apt-get install bubblewrap`), and let users make user namespaces.";
    let layer_check = if missing.is_empty() {
        Found::Ok(format!("{names}; mode `{}`", sandbox.mode.as_str()))
    } else if sandbox.mode == SandboxMode::Require {
        Found::Wrong(Failure::new(Kind::Config, format!("{names}; {missing}; no agent is started")).hint(hint))
    } else {
        Found::Missing(format!("{names}; {missing}. {hint}"))
    };
    vec![found("layers", layer_check), found("break-out", break_out(context, settings, data))]
}

#[cfg(unix)]
fn break_out(context: &CliContext, settings: &Settings, data: Option<&Path>) -> super::Found {
    use tollgate_engine::agent::{attempt_to_break_out, sandbox_layers};
    use tollgate_engine::failure::{Failure, Kind};

    use super::Found;

    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let ssh = home.map(|home| ("your ~/.ssh".to_owned(), home.join(".ssh")));
    let data = data.map(|data| ("the data folder".to_owned(), data.to_owned()));
    let own: Vec<_> = ssh.into_iter().chain(data).collect();
    let attempts = match context.program() {
        Ok(program) => attempt_to_break_out(&settings.sandbox, &program, &own),
        Err(failure) => return Found::Wrong(failure),
    };
    let attempts = match attempts {
        Ok(attempts) => attempts,
        Err(problem) => {
            let failure = Failure::new(Kind::External, format!("the self-test did not run: {}", problem.message));
            return Found::Wrong(match problem.hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            });
        }
    };
    let broken: Vec<&str> = attempts.iter().filter(|it| !it.held).map(|it| it.name.as_str()).collect();
    let n_held = attempts.len() - broken.len();
    if attempts.is_empty() {
        return Found::Wrong(Failure::new(Kind::Internal, "the self-test printed nothing"));
    }
    if broken.is_empty() {
        return Found::Ok(format!("{n_held} attempts to break out, none succeeded"));
    }
    let text = format!("{n_held} of {} attempts were held; an agent could {}", attempts.len(), broken.join(", "));
    // A known gap of a lesser layer is said; a hole in a complete sandbox is a failure.
    if sandbox_layers(&settings.sandbox).are_complete() {
        Found::Wrong(Failure::new(Kind::Internal, text))
    } else {
        Found::Missing(text)
    }
}

/// There is no sandbox on this system.
#[cfg(not(unix))]
pub(super) fn check_all(_context: &CliContext, _settings: &Settings, _data: Option<&Path>) -> Vec<Check> {
    Vec::new()
}
