//! Where past reviews are kept on this machine.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_engine::config::{Layer, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::local::Local;
use tollgate_engine::store::Store;

use super::{Place, failure};

/// Which memory to use.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Flag {
    /// Keep past reviews in this file [default: tollgate/tollgate.db in your data folder]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) store: Option<PathBuf>,
}

/// Opens the memory for a command that is about nothing else.
pub(crate) fn open(place: &Place, forge: Option<&Local>, flag: &Flag) -> Result<Store, Failure> {
    let settings = place.settings(forge.and_then(Local::root), Layer::default())?;
    Store::look_up(&path(place, &settings, flag)?)
}

/// Where the memory is.
pub(crate) fn path(place: &Place, settings: &Settings, flag: &Flag) -> Result<PathBuf, Failure> {
    let named = flag.store.as_ref().map(|path| place.resolve(path)).or_else(|| settings.store.clone());
    named.or_else(data_folder).ok_or_else(failure::no_data_folder)
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
