//! `tollgate serve --demo`: a sample project with its own board in a new directory, and the texts around it.

use std::path::Path;
use std::sync::Arc;

use tollgate_core::board::FeatureId;
use tollgate_engine::board::demo::{self, DESCRIPTION, TITLE};
use tollgate_engine::board::{Board, Refused};
use tollgate_engine::config::Layer;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::{Database, Location};
use tollgate_server::supervision::Epilogue;

use super::{CliContext, StoreArgs, board, failure, store_args};

/// The demonstration and the location of its store.
#[derive(Debug, Clone)]
pub(crate) struct Demo {
    demo: demo::Demo,
    store: Location,
}

impl Demo {
    /// Creates the sample project in an empty directory.
    pub(crate) fn make(context: &CliContext, folder: Option<&Path>, flag: &StoreArgs) -> Result<Self, Failure> {
        let folder = match folder {
            Some(folder) => context.resolve(folder),
            None => {
                let file = store_args::default_file().ok_or_else(failure::no_data_folder)?;
                demo::Demo::fresh_folder(file.parent().unwrap_or(&file), crate::cli::now_ms())?
            }
        };
        let demo = demo::Demo::make(&folder)?;
        let own = || Location::File(demo.folder().join("tollgate.db"));
        let store = store_args::from_flags(context, flag)?.unwrap_or_else(own);
        Ok(Self { demo, store })
    }

    /// Opens the board of the sample project without the user's configuration, so that no reviewer needs the network.
    pub(crate) fn open(&self, context: &CliContext) -> Result<Board, Failure> {
        let flags = Layer { source: "--demo".to_owned(), ..Layer::default() };
        let mut home = board::home(context, self.demo.folder().to_owned(), flags)?;
        home.config_dir = None;
        home.variables.clear();
        Board::open(Database::open_at(&self.store)?, home)
    }

    /// Adds the project to the board and starts its feature.
    pub(crate) fn begin(&self, board: &Board) -> Result<(), Failure> {
        board.begin_demo(&self.demo, &board::actor()).map(drop).map_err(Refused::into_failure)
    }

    /// The introduction, printed before the demonstration starts.
    pub(crate) fn prologue(&self) -> String {
        let wanted = DESCRIPTION.trim().replace('\n', "\n  ");
        format!(
            "\nA demonstration: a sample project in {}, and an agent that is a script.\n\
             It is asked for one feature, makes a mistake, and has to get past the gate.\n\n  {TITLE}\n  {wanted}\n",
            self.demo.project().display()
        )
    }

    /// Makes the epilogue of a feature when it has passed.
    pub(crate) fn into_epilogue(self) -> Epilogue {
        Arc::new(move |feature| self.epilogue(feature))
    }

    /// The files and commands to look at.
    fn epilogue(&self, feature: &FeatureId) -> String {
        let project = self.demo.project();
        let features = project.join(".automaker/features").join(feature.as_str());
        format!(
            "\nThat was the loop. What is left of it, in {features}:\n  \
             code-review-iteration-1.md   why it was sent back\n  \
             code-review-iteration-2.md   why it passed\n  \
             agent-output.md              what the agent said\n\
             and from another terminal:\n  \
             git -C {shown} log --stat feature/{feature}\n  \
             tollgate -C {shown} feature show {short} {store}\n\n\
             The server goes on; Ctrl-C ends it. Delete {folder} when you have seen enough.",
            features = features.display(),
            shown = project.display(),
            short = feature.short(),
            store = self.flag(),
            folder = self.demo.folder().display(),
        )
    }

    /// The flag with which another command opens the same board.
    fn flag(&self) -> String {
        match &self.store {
            Location::File(path) => format!("--store {}", path.display()),
            Location::Postgres(address) => format!("--database {address}"),
        }
    }
}
