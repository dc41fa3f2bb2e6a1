//! `--store` and `--database`: the location of the store, a SQLite file or a shared PostgreSQL database.

use std::path::{Path, PathBuf};

use tollgate_engine::config::{Layer, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::local::Local;
use tollgate_engine::store::{Location, Store};

use super::{CliContext, failure};

/// Flags that select the store.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct StoreArgs {
    /// Keep past reviews in this SQLite file [default: tollgate/tollgate.db in your data directory]
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "database")]
    pub(crate) store: Option<PathBuf>,
    /// Keep everything in this PostgreSQL database, which several machines may share: postgres://user@host/database
    ///
    /// Command lines are visible in the process list: put a password into `TOLLGATE_STORE_DATABASE` or
    /// `store.database` of your configuration instead.
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) database: Option<String>,
}

/// Opens the store for reading, without creating or migrating it.
pub(crate) fn open(context: &CliContext, forge: Option<&Local>, flag: &StoreArgs) -> Result<Store, Failure> {
    let settings = context.settings(forge.and_then(Local::root), Layer::default())?;
    Store::look_up_at(&location(context, &settings, flag)?)
}

/// The location of the store: from the flags, the settings, or the default file.
pub(crate) fn location(context: &CliContext, settings: &Settings, flag: &StoreArgs) -> Result<Location, Failure> {
    if let Some(named) = from_flags(context, flag)? {
        return Ok(named);
    }
    if let Some(url) = &settings.database {
        return parse_location(context, url.expose());
    }
    let file = settings.store.clone().or_else(default_file).ok_or_else(failure::no_data_folder)?;
    Ok(Location::File(file))
}

/// The location of the store that the flags name, if any.
pub(crate) fn from_flags(context: &CliContext, flag: &StoreArgs) -> Result<Option<Location>, Failure> {
    match (&flag.database, &flag.store) {
        (Some(url), _) => parse_location(context, url).map(Some),
        (None, Some(path)) => Ok(Some(Location::File(context.resolve(path)))),
        (None, None) => Ok(None),
    }
}

/// Parses a database URL; a relative SQLite file is resolved against the working directory.
pub(crate) fn parse_location(context: &CliContext, text: &str) -> Result<Location, Failure> {
    match Location::parse(text)? {
        // This may be a mistyped URL, and its password would become part of a file name.
        Location::File(_) if !text.starts_with("sqlite:") => Err(failure::not_a_database()),
        Location::File(path) => Ok(Location::File(context.resolve(&path))),
        database @ Location::Postgres(_) => Ok(database),
    }
}

/// False if the store is a file that does not exist yet. Read-only commands do not create it.
pub(crate) fn may_exist(location: &Location) -> bool {
    location.file().is_none_or(Path::exists)
}

/// The default SQLite file in the user's data directory.
pub(crate) fn default_file() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("XDG_DATA_HOME").or_else(|| Some(home()?.join("Library/Application Support")))
    } else {
        absolute("XDG_DATA_HOME").or_else(|| Some(home()?.join(".local/share")))
    };
    folder.map(|folder| folder.join(Path::new("tollgate/tollgate.db")))
}
