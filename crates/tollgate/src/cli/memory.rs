//! Where past reviews are kept: in a file on this machine, or in a database that several machines share.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_engine::config::{Layer, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::local::Local;
use tollgate_engine::store::{Location, Store};

use super::{Place, failure};

/// Which memory to use.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Flag {
    /// Keep past reviews in this file [default: tollgate/tollgate.db in your data folder]
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "database")]
    pub(crate) store: Option<PathBuf>,
    /// Keep everything in this database, which several machines may share: postgres://user@host/database
    ///
    /// Whoever lists the processes of this machine sees it; `TOLLGATE_STORE_DATABASE` or `store.database` in your
    /// configuration is the place for a password.
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) database: Option<String>,
}

/// Opens the memory for a command that is about nothing else.
pub(crate) fn open(place: &Place, forge: Option<&Local>, flag: &Flag) -> Result<Store, Failure> {
    let settings = place.settings(forge.and_then(Local::root), Layer::default())?;
    Store::look_up_at(&location(place, &settings, flag)?)
}

/// Where the memory is.
pub(crate) fn location(place: &Place, settings: &Settings, flag: &Flag) -> Result<Location, Failure> {
    if let Some(named) = named(place, flag)? {
        return Ok(named);
    }
    if let Some(url) = &settings.database {
        return parse(place, url.expose());
    }
    let file = settings.store.clone().or_else(data_folder).ok_or_else(failure::no_data_folder)?;
    Ok(Location::File(file))
}

/// Where the command line says that the memory is.
pub(crate) fn named(place: &Place, flag: &Flag) -> Result<Option<Location>, Failure> {
    match (&flag.database, &flag.store) {
        (Some(url), _) => parse(place, url).map(Some),
        (None, Some(path)) => Ok(Some(Location::File(place.resolve(path)))),
        (None, None) => Ok(None),
    }
}

/// Reads an address; a file is looked for where the command works.
pub(crate) fn parse(place: &Place, text: &str) -> Result<Location, Failure> {
    match Location::parse(text)? {
        // It may be a mistyped address, whose password would then be part of the name of a file.
        Location::File(_) if !text.starts_with("sqlite:") => Err(failure::not_a_database()),
        Location::File(path) => Ok(Location::File(place.resolve(&path))),
        database @ Location::Postgres(_) => Ok(database),
    }
}

/// False when the memory is a file that is not there yet; to look something up is no reason to make one.
pub(crate) fn may_be_there(location: &Location) -> bool {
    location.file().is_none_or(Path::exists)
}

/// The file in the user's data folder.
pub(crate) fn data_folder() -> Option<PathBuf> {
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

/// The time, in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
