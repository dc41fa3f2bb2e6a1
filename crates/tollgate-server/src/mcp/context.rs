//! What tools work with: a memory, settings, a board, and the repositories they may look at.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_core::pull::{PullRef, Repo};
use tollgate_engine::board::{Board, Home};
use tollgate_engine::config::{self, Layer, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::host::Host;
use tollgate_engine::forge::local::{Local, Trigger};
use tollgate_engine::pipeline::{BranchConfig, BranchSettings, branch_settings};
use tollgate_engine::store::{Database, Location, Store};

use super::allowed_roots::{AllowedRoots, Bounds};

/// A way to the code host of a pull request; `None` when there is nothing that would let us in.
pub type Connect = Arc<dyn Fn(&PullRef) -> Result<Option<Arc<dyn Host>>, Failure> + Send + Sync>;

/// What tools work with.
pub struct ToolContext {
    home: Home,
    store: Location,
    reach: Scope,
    /// Opened when it is first asked for, where there is one.
    board: Mutex<Option<Board>>,
    connect: Option<Connect>,
    /// Repositories whose pull requests may be commented on, beside those at hand.
    post_to: Vec<Repo>,
    /// Serializes the search for an existing comment and the post that follows.
    posting: Mutex<()>,
}

/// What tools may look at.
enum Scope {
    /// Folders of this machine.
    AllowedRoots(AllowedRoots),
    /// The projects that the operator put on the board.
    Projects,
}

impl ToolContext {
    /// For a program started in a folder. The database need not exist yet.
    pub fn in_roots(home: Home, store: Location, folders: AllowedRoots) -> Self {
        Self::new(home, store, Scope::AllowedRoots(folders), None)
    }

    /// For a server with a board.
    pub fn on_board(board: Board) -> Self {
        let (home, store) = (board.home().clone(), board.database().place().clone());
        Self::new(home, store, Scope::Projects, Some(board))
    }

    fn new(home: Home, store: Location, reach: Scope, board: Option<Board>) -> Self {
        let (connect, post_to, posting) = (None, Vec::new(), Mutex::default());
        Self { home, store, reach, board: Mutex::new(board), connect, post_to, posting }
    }

    /// The same, with a way to code hosts, and repositories there that may be written to beside those at hand.
    #[must_use]
    pub fn connecting(self, connect: Connect, post_to: Vec<Repo>) -> Self {
        Self { connect: Some(connect), post_to, ..self }
    }

    /// The program, the environment and the clock.
    pub(super) fn home(&self) -> &Home {
        &self.home
    }

    /// Where the memory is.
    pub(super) fn store(&self) -> &Location {
        &self.store
    }

    /// The memory, to look something up.
    pub(super) fn look_up(&self) -> Result<Store, Failure> {
        Store::look_up_at(&self.store)
    }

    /// The board, if there is one. Looking for it does not make one.
    pub(super) fn board(&self) -> Result<Option<Board>, Failure> {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        if board.is_none() && self.store.file().is_none_or(Path::exists) {
            *board = Some(Board::open(Database::open_at(&self.store)?, self.home.clone())?);
        }
        Ok(board.clone())
    }

    /// The folder that is meant, if it may be looked at.
    pub(super) fn folder(&self, named: Option<&str>) -> Result<PathBuf, Failure> {
        self.bounds()?.folder(named)
    }

    /// Looks at the repository around the folder that is meant, if both may be looked at.
    pub(super) fn open(&self, named: Option<&str>, trigger: Trigger) -> Result<Local, Failure> {
        let bounds = self.bounds()?;
        let folder = bounds.folder(named)?;
        let forge = Local::open(&folder, trigger, self.home.git.clone())?;
        bounds.check(&forge, &folder, &self.home.git)?;
        Ok(forge)
    }

    /// The settings that hold in a repository, with what the caller says.
    pub(super) fn settings(&self, root: Option<&Path>, told: impl FnOnce(&mut Layer)) -> Result<Settings, Failure> {
        let mut flags = self.home.flags.clone();
        told(&mut flags);
        config::load(root, self.home.config_dir.as_deref(), &self.home.variables, flags)
    }

    /// The settings of a review, by the base of the change: an agent may have written those of its branch.
    pub(super) fn review_settings(&self, forge: &Local) -> Result<BranchSettings, Failure> {
        let load = |file: Option<Vec<u8>>| {
            config::load_at(file, self.home.config_dir.as_deref(), &self.home.variables, self.home.flags.clone())
        };
        branch_settings(forge, BranchConfig::Ignored, &load)
    }

    /// A variable of the environment.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        let mut named = self.home.variables.iter().filter(|(known, _)| known == name);
        named.next().map(|(_, value)| value.clone())
    }

    /// The client for the code host of a pull request.
    pub(super) fn host(&self, pull: &PullRef) -> Result<Option<Arc<dyn Host>>, Failure> {
        self.connect.as_ref().map_or(Ok(None), |connect| connect(pull))
    }

    /// True for a repository whose pull requests the operator lets be commented on.
    pub(super) fn may_post_to(&self, repo: &Repo) -> bool {
        self.post_to.contains(repo)
    }

    /// Waits until no other call is about to write to a code host.
    pub(super) fn post_alone(&self) -> MutexGuard<'_, ()> {
        self.posting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bounds(&self) -> Result<Bounds, Failure> {
        match &self.reach {
            Scope::AllowedRoots(folders) => Ok(folders.bounds()),
            Scope::Projects => {
                let Some(board) = self.board()? else { return Ok(Bounds::of_projects(Vec::new())) };
                let mut projects = board.projects()?;
                // The folder at such a path on this host is not the project of another host.
                projects.retain(|project| board.is_here(project));
                Ok(Bounds::of_projects(projects))
            }
        }
    }
}
