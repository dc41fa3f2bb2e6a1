//! The board for a command: where it is, which project and feature are meant, and who asks.

use std::path::PathBuf;

use tollgate_core::board::FeatureId;
use tollgate_core::visible::visible;
use tollgate_engine::board::{Board, Home, Refused};
use tollgate_engine::config::{Layer, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::store::Database;
use tollgate_engine::store::board::{CardFilter, FeatureRow, ProjectRow};

use super::{Place, failure, memory, output};

/// The longest name of a person that is kept.
const MAX_WHO: usize = 100;
/// Where nobody works on a project, this is what to do.
pub(crate) const NO_SERVER: &str = "no server works on this project; start one with `tollgate serve`";

/// The variable that names the file of the API's token.
const TOKEN_FILE: &str = "TOLLGATE_TOKEN_FILE";

/// Which project is meant.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Which {
    /// The project, by its number or its folder [default: the project around the current folder]
    #[arg(long, value_name = "ID|PATH", global = true)]
    project: Option<String>,
    #[command(flatten)]
    pub(crate) store: memory::Flag,
}

/// Opens the board with what the command line says about settings.
pub(crate) fn open(place: &Place, flag: &memory::Flag, flags: Layer) -> Result<Board, Failure> {
    let settings = place.settings(None, flags.clone())?;
    let (location, data) = (memory::location(place, &settings, flag)?, data(place, &settings, flag)?);
    std::fs::create_dir_all(&data).map_err(|error| failure::cannot_write(&data.display().to_string(), &error))?;
    Board::open(Database::open_at(&location)?, home(place, data, flags)?)
}

/// The folder of what is kept beside the database: keys, the token, clones. It is this machine's, wherever that one is.
pub(crate) fn data(place: &Place, settings: &Settings, flag: &memory::Flag) -> Result<PathBuf, Failure> {
    let location = memory::location(place, settings, flag)?;
    // Without a home there is only the folder of the database, if it is a file.
    let own = memory::data_folder().or_else(|| location.file().map(ToOwned::to_owned));
    Ok(own.ok_or_else(failure::no_data_folder)?.parent().map(ToOwned::to_owned).unwrap_or_default())
}

/// Where the token of the API is: in the file that the environment names, so that several servers have the same, or in
/// the data folder.
pub(crate) fn token_file(place: &Place, board: &Board) -> PathBuf {
    let named = std::env::var_os(TOKEN_FILE).filter(|path| !path.is_empty());
    named.map_or_else(|| board.home().data.join("token"), |path| place.resolve(path.as_ref()))
}

/// What the board needs from outside.
pub(crate) fn home(place: &Place, data: PathBuf, flags: Layer) -> Result<Home, Failure> {
    let mut git = Environment::of_process();
    // Which repository is meant is said by the board, not by a hook in which this may run.
    git.repository.clear();
    Ok(Home {
        executable: place.program()?,
        config_dir: Place::config_dir(),
        variables: Place::variables(),
        flags,
        data,
        git,
        clock: memory::now,
    })
}

impl Which {
    /// Opens the board and finds the project that is meant.
    pub(crate) fn open(&self, place: &Place) -> Result<(Board, ProjectRow), Failure> {
        let settings = place.settings(None, Layer::default())?;
        if !memory::may_be_there(&memory::location(place, &settings, &self.store)?) {
            // Nothing was ever put on a board, and looking for it does not make one.
            return Err(failure::no_project_here(&place.directory));
        }
        let board = open(place, &self.store, Layer::default())?;
        let project = self.find(place, &board)?;
        if !board.is_kept(&project)? {
            // Nobody watches the files, so what was edited meanwhile is taken in now.
            for broken in board.take_in_all(&project)? {
                output::say(&format!("`{}` cannot be read: {}", broken.name, broken.why));
            }
        }
        Ok((board, project))
    }

    fn find(&self, place: &Place, board: &Board) -> Result<ProjectRow, Failure> {
        match &self.project {
            Some(named) => named_project(place, board, named),
            None => board.project_at(&place.directory)?.ok_or_else(|| failure::no_project_here(&place.directory)),
        }
    }
}

/// The project with this number or this folder.
pub(crate) fn named_project(place: &Place, board: &Board, named: &str) -> Result<ProjectRow, Failure> {
    match named.parse() {
        Ok(id) => board.project(id).map_err(Refused::into_failure),
        Err(_) => {
            let path = place.resolve(named.as_ref());
            board.project_at(&path)?.ok_or_else(|| failure::no_project_here(&path))
        }
    }
}

/// The feature with this name, or the only one whose name, or the last part of it, begins so.
pub(crate) fn find_feature(board: &Board, project: &ProjectRow, named: &str) -> Result<FeatureRow, Failure> {
    if let Ok(id) = FeatureId::parse(named)
        && let Some(row) = board.database().feature(project.id, &id)?
    {
        return Ok(row);
    }
    let filter = CardFilter { text: Some(named.to_owned()), limit: usize::MAX, ..CardFilter::default() };
    let cards = board.features(project.id, &filter).map_err(Refused::into_failure)?;
    let fitting: Vec<FeatureId> = cards.into_iter().map(|card| card.id).filter(|id| is_meant(id, named)).collect();
    match &fitting[..] {
        [id] => board.feature(project.id, id).map_err(Refused::into_failure),
        [] => Err(Refused::NoFeature(visible(named).into_owned()).into_failure()),
        several => Err(failure::several_features(named, several)),
    }
}

fn is_meant(id: &FeatureId, named: &str) -> bool {
    !named.is_empty() && (id.as_str().starts_with(named) || short(id).starts_with(named))
}

/// What a feature is called in a list: of a name that a board made, the last part, which is its own.
pub(crate) fn short(id: &FeatureId) -> &str {
    let own = id.as_str().strip_prefix("feature-").and_then(|rest| rest.split_once('-'));
    match own {
        Some((time, tail)) if time.len() >= 10 && time.bytes().all(|byte| byte.is_ascii_digit()) => tail,
        Some(_) | None => id.as_str(),
    }
}

/// What people call a feature.
pub(crate) fn title(row: &FeatureRow) -> &str {
    if row.facts.title.is_empty() { &row.facts.first_line } else { &row.facts.title }
}

/// Who asks, for the records.
pub(crate) fn who() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    let named = named.map(|name| visible(name.trim()).chars().take(MAX_WHO).collect::<String>());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| number().unwrap_or_else(|| "operator".to_owned()))
}

#[cfg(target_os = "linux")]
fn number() -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").ok().map(|own| format!("user {}", own.uid()))
}

#[cfg(not(target_os = "linux"))]
fn number() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(id: &str, expected: &str) {
        assert_eq!(short(&FeatureId::parse(id).unwrap()), expected);
    }

    #[test]
    fn a_name_that_a_board_made_is_shown_by_its_end() {
        check("feature-1767960000000-x7k2m9qpa", "x7k2m9qpa");
        check("feature-1767960000000-a-b", "a-b");
        check("feature-login-1", "feature-login-1");
        check("login", "login");
    }

    #[test]
    fn a_feature_is_meant_by_the_beginning_of_its_name_or_of_the_end_of_it() {
        let id = FeatureId::parse("feature-1767960000000-x7k2m9qpa").unwrap();
        let meant = ["feature-17", "x7", "x7k2m9qpa"].map(|named| is_meant(&id, named));
        let others = ["", "7k", "qpa", "feature-2"].map(|named| is_meant(&id, named));
        assert_eq!((meant, others), ([true; 3], [false; 4]));
    }
}
