//! `tollgate completions`: shell completion scripts.

use clap_complete::Shell;
use tollgate_engine::failure::Failure;

use super::{Exit, output};

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate completions bash > ~/.local/share/bash-completion/completions/tollgate\n  \
    tollgate completions zsh > ~/.zfunc/_tollgate\n  \
    tollgate completions fish > ~/.config/fish/completions/tollgate.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args, mut command: clap::Command) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "tollgate", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
