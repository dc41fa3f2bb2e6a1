//! `tollgate init`: a configuration to start from.

use tollgate_engine::config;
use tollgate_engine::failure::Failure;

use super::{Done, Place, failure, output};

/// Writes a commented `.tollgate.toml` to the root of this repository
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate init              write .tollgate.toml; every line of it is a default, commented out\n  \
    tollgate init --print      look at it first\n  \
    tollgate hook install      then review before every push")]
pub(crate) struct Args {
    /// Print the configuration instead of writing it
    #[arg(long)]
    print: bool,
    /// Replace a configuration that is already there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(place: &Place, args: &Args) -> Result<Done, Failure> {
    if args.print {
        output::print(config::TEMPLATE)?;
        return Ok(Done::Fine);
    }
    let root = place.repository()?.root().map_or_else(|| place.directory.clone(), ToOwned::to_owned);
    let path = root.join(config::FILE_NAME);
    if path.symlink_metadata().is_ok() && !args.force {
        return Err(failure::already_there(&path.display().to_string())
            .hint("Edit it, or run `tollgate init --force` to replace it."));
    }
    output::write_file(&path, config::TEMPLATE)?;
    output::say(&format!("wrote {}", path.display()));
    output::say("next: `tollgate review` reviews your branch; `tollgate hook install` reviews before every push");
    Ok(Done::Fine)
}
