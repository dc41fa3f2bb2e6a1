//! `tollgate backup` and `tollgate restore`: the database as one file.

use std::path::{Path, PathBuf};

use tollgate_engine::board::machine_name;
use tollgate_engine::config::Layer;
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::store::Location;
use tollgate_engine::store::copy::{self, CopyResult};

use super::{CliContext, Exit, StoreArgs, output, store_args};

/// Write a backup of the database to a new file, also while servers run
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate backup /var/backups/tollgate-monday.db\n  \
    tollgate backup /var/backups/tollgate-monday.db --database postgres://tollgate@db.example/tollgate\n\n\
    The backup is a SQLite file with the state at the moment when it began, from SQLite and from PostgreSQL. It is\n\
    read again and compared before the command succeeds. Keys, secrets and the configuration are files of their own.")]
pub(crate) struct BackupArgs {
    /// The file to write; it must not exist
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

/// Copy a backup into an empty database
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate restore /var/backups/tollgate-monday.db\n  \
    tollgate restore /var/backups/tollgate-monday.db --database postgres://tollgate@db.example/tollgate\n\n\
    Stop servers and workers first. A database that holds anything is not changed: move it away.")]
pub(crate) struct RestoreArgs {
    /// The backup
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn backup(context: &CliContext, args: &BackupArgs) -> Result<Exit, Failure> {
    let file = context.resolve(&args.file);
    // A link counts as existing, wherever it leads.
    if file.symlink_metadata().is_ok() {
        return Err(exists(&file));
    }
    let settings = context.settings(None, Layer::default())?;
    let from = store_args::location(context, &settings, &args.store)?;
    let to = Location::File(file);
    let copied = copy::copy(&from, &to, &machine_name(&settings))?;
    output::say(&format!("wrote {} rows of {from} to {to}", n_rows(&copied)));
    Ok(Exit::Success)
}

pub(crate) fn restore(context: &CliContext, args: &RestoreArgs) -> Result<Exit, Failure> {
    let settings = context.settings(None, Layer::default())?;
    let from = Location::File(context.resolve(&args.file));
    let to = store_args::location(context, &settings, &args.store)?;
    let copied = copy::copy(&from, &to, &machine_name(&settings))?;
    output::say(&format!("restored {} rows from {from} to {to}", n_rows(&copied)));
    Ok(Exit::Success)
}

fn n_rows(copied: &CopyResult) -> u64 {
    copied.tables.iter().map(|table| table.target.rows).sum()
}

fn exists(file: &Path) -> Failure {
    Failure::new(Kind::User, format!("`{}` exists already", file.display()))
        .hint("Name another file; a backup never overwrites one.")
}
