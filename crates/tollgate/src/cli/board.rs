//! Opens the board for a command, and resolves projects, features and the acting user.

use std::path::PathBuf;

use tollgate_core::board::FeatureId;
use tollgate_core::visible::visible;
use tollgate_engine::board::{Board, Home, Refused};
use tollgate_engine::config::{Layer, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::party::Party;
use tollgate_engine::store::Database;
use tollgate_engine::store::board::{CardFilter, FeatureRow, ProjectRow};

use super::{CliContext, StoreArgs, failure, output, store_args};

/// The longest user name that is recorded, in characters.
const MAX_ACTOR: usize = 100;
/// The note for a project that no server processes.
pub(crate) const NO_SERVER: &str = "no server is running for this project; start one with `tollgate serve`";

/// The environment variable with the path of the API token file.
const TOKEN_FILE: &str = "TOLLGATE_TOKEN_FILE";

/// Flags that select a project.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct ProjectArgs {
    /// The project, by ID or directory [default: the project around the current directory]
    #[arg(long, value_name = "ID|PATH", global = true)]
    project: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Opens the board with the settings of the command line.
pub(crate) fn open(context: &CliContext, flag: &StoreArgs, flags: Layer) -> Result<Board, Failure> {
    let settings = context.settings(None, flags.clone())?;
    let (location, data) = (store_args::location(context, &settings, flag)?, data_folder(context, &settings, flag)?);
    std::fs::create_dir_all(&data).map_err(|error| failure::cannot_write(&data.display().to_string(), &error))?;
    Board::open(Database::open_at(&location)?, home(context, data, flags)?)
}

/// The local data directory for keys, the API token and clones, even if the database is on another machine.
pub(crate) fn data_folder(context: &CliContext, settings: &Settings, flag: &StoreArgs) -> Result<PathBuf, Failure> {
    let location = store_args::location(context, settings, flag)?;
    // Without a home directory, the directory of the SQLite file is the only candidate.
    let own = store_args::default_file().or_else(|| location.file().map(ToOwned::to_owned));
    Ok(own.ok_or_else(failure::no_data_folder)?.parent().map(ToOwned::to_owned).unwrap_or_default())
}

/// The file with the API token: named by the environment, so that several servers can share one, or in the data
/// directory.
pub(crate) fn token_file(context: &CliContext, board: &Board) -> PathBuf {
    let named = std::env::var_os(TOKEN_FILE).filter(|path| !path.is_empty());
    named.map_or_else(|| board.home().data.join("token"), |path| context.resolve(path.as_ref()))
}

/// The environment of the board: executable, configuration, data directory, git.
pub(crate) fn home(context: &CliContext, data: PathBuf, flags: Layer) -> Result<Home, Failure> {
    let mut git = Environment::of_process();
    // The board selects the repository. Inside a git hook, `GIT_DIR` and the like would override it.
    git.repository.clear();
    Ok(Home {
        executable: context.program()?,
        config_dir: CliContext::config_dir(),
        variables: CliContext::variables(),
        flags,
        data,
        git,
        clock: crate::cli::now_ms,
    })
}

impl ProjectArgs {
    /// Opens the board and finds the selected project.
    pub(crate) fn open(&self, context: &CliContext) -> Result<(Board, ProjectRow), Failure> {
        let settings = context.settings(None, Layer::default())?;
        if !store_args::may_exist(&store_args::location(context, &settings, &self.store)?) {
            // There is no database yet, and a lookup does not create one.
            return Err(failure::no_project_here(&context.directory));
        }
        let board = open(context, &self.store, Layer::default())?;
        let project = self.find(context, &board)?;
        if !board.is_kept(&project)? {
            // No server watches the feature files, so pending edits are imported now.
            for broken in board.import_all(&project)? {
                output::say(&format!("cannot read `{}`: {}", broken.name, broken.why));
            }
        }
        Ok((board, project))
    }

    fn find(&self, context: &CliContext, board: &Board) -> Result<ProjectRow, Failure> {
        match &self.project {
            Some(named) => named_project(context, board, named),
            None => board.project_at(&context.directory)?.ok_or_else(|| failure::no_project_here(&context.directory)),
        }
    }
}

/// Finds the project with this ID or directory.
pub(crate) fn named_project(context: &CliContext, board: &Board, named: &str) -> Result<ProjectRow, Failure> {
    match named.parse() {
        Ok(id) => board.project(id).map_err(Refused::into_failure),
        Err(_) => {
            let path = context.resolve(named.as_ref());
            board.project_at(&path)?.ok_or_else(|| failure::no_project_here(&path))
        }
    }
}

/// Finds a feature by ID, or by an unambiguous prefix of its ID or of the ID's last part.
pub(crate) fn find_feature(board: &Board, project: &ProjectRow, named: &str) -> Result<FeatureRow, Failure> {
    if let Ok(id) = FeatureId::parse(named)
        && let Some(row) = board.database().feature(project.id, &id)?
    {
        return Ok(row);
    }
    let filter = CardFilter { text: Some(named.to_owned()), limit: usize::MAX, ..CardFilter::default() };
    let cards = board.features(project.id, &filter).map_err(Refused::into_failure)?;
    let fitting: Vec<FeatureId> =
        cards.into_iter().map(|card| card.id).filter(|id| matches_prefix(id, named)).collect();
    match &fitting[..] {
        [id] => board.feature(project.id, id).map_err(Refused::into_failure),
        [] => Err(Refused::NoFeature(visible(named).into_owned()).into_failure()),
        several => Err(failure::several_features(named, several)),
    }
}

fn matches_prefix(id: &FeatureId, named: &str) -> bool {
    !named.is_empty() && (id.as_str().starts_with(named) || id.short().starts_with(named))
}

/// The party that runs this command: the acting user, or an agent.
pub(crate) fn party(context: &CliContext) -> Result<Party, Failure> {
    let settings = context.settings(None, Layer::default())?;
    Ok(Party::of_process(actor(), &context.directory, &settings.pipeline.dir))
}

/// The acting user, for a command that is refused to agents; `what` is the refused action.
pub(crate) fn person(context: &CliContext, what: &str) -> Result<Party, Failure> {
    match party(context)? {
        Party::Agent(agent) => Err(failure::not_for_agents(what, &agent)),
        person @ Party::Person(_) => Ok(person),
    }
}

/// The name of the acting user, for the audit trail.
pub(crate) fn actor() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    let named = named.map(|name| visible(name.trim()).chars().take(MAX_ACTOR).collect::<String>());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| user_id().unwrap_or_else(|| "operator".to_owned()))
}

#[cfg(target_os = "linux")]
fn user_id() -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let uid = std::fs::metadata("/proc/self").ok()?.uid();
    let names = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    Some(user_name(&names, uid).map_or_else(|| format!("user {uid}"), str::to_owned))
}

/// The name of a user in the lines of `/etc/passwd`: `root:x:0:0:root:/root:/bin/sh`.
#[cfg(target_os = "linux")]
fn user_name(passwd: &str, uid: u32) -> Option<&str> {
    let uid = uid.to_string();
    let mut users = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    users.find(|fields| fields.get(2) == Some(&&*uid)).and_then(|fields| fields.first().copied())
}

#[cfg(not(target_os = "linux"))]
fn user_id() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_matches_the_id_or_its_last_part() {
        let id = FeatureId::parse("feature-1767960000000-x7k2m9qpa").unwrap();
        let matching = ["feature-17", "x7", "x7k2m9qpa"].map(|named| matches_prefix(&id, named));
        let others = ["", "7k", "qpa", "feature-2"].map(|named| matches_prefix(&id, named));
        assert_eq!((matching, others), ([true; 3], [false; 4]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_user_without_a_name_in_the_environment_has_that_of_the_system() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n";
        assert_eq!(user_name(passwd, 0), Some("root"));
        assert_eq!(user_name(passwd, 1000), Some("ada"));
        assert_eq!(user_name(passwd, 7), None);
    }
}
