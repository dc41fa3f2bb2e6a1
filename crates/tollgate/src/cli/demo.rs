//! The demonstration of `tollgate serve --demo`: a board of its own, in a fresh folder, and what is said about it.

use std::path::{Path, PathBuf};

use tollgate_core::board::FeatureId;
use tollgate_engine::board::demo::{self, DESCRIPTION, TITLE};
use tollgate_engine::board::{Board, Refused};
use tollgate_engine::config::Layer;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::Database;

use super::{Place, board, failure, memory};

/// The demonstration, and where its board is kept.
#[derive(Debug, Clone)]
pub(crate) struct Demo {
    demo: demo::Demo,
    store: PathBuf,
}

impl Demo {
    /// Makes the project, in a folder that has nothing in it.
    pub(crate) fn make(place: &Place, folder: Option<&Path>, flag: &memory::Flag) -> Result<Self, Failure> {
        let folder = match folder {
            Some(folder) => place.resolve(folder),
            None => {
                let file = memory::data_folder().ok_or_else(failure::no_data_folder)?;
                demo::Demo::fresh_folder(file.parent().unwrap_or(&file), memory::now())?
            }
        };
        let demo = demo::Demo::make(&folder)?;
        let store = flag.store.as_ref().map_or_else(|| demo.folder().join("tollgate.db"), |path| place.resolve(path));
        Ok(Self { demo, store })
    }

    /// The board of the sample project, with nothing of the user's configuration: who reviews here needs no network.
    pub(crate) fn open(&self, place: &Place) -> Result<Board, Failure> {
        let flags = Layer { source: "--demo".to_owned(), ..Layer::default() };
        let mut home = board::home(place, self.demo.folder().to_owned(), flags)?;
        home.config_dir = None;
        home.variables.clear();
        Board::open(Database::open(&self.store)?, home)
    }

    /// Puts the project on the board and starts its feature.
    pub(crate) fn begin(&self, board: &Board) -> Result<(), Failure> {
        board.begin_demo(&self.demo, &board::who()).map(drop).map_err(Refused::into_failure)
    }

    /// What is about to happen.
    pub(crate) fn prologue(&self) -> String {
        let wanted = DESCRIPTION.trim().replace('\n', "\n  ");
        format!(
            "\nA demonstration: a sample project in {}, and an agent that is a script.\n\
             It is asked for one feature, makes a mistake, and has to get past the gate.\n\n  {TITLE}\n  {wanted}\n",
            self.demo.project().display()
        )
    }

    /// What there is to look at now.
    pub(crate) fn epilogue(&self, feature: &FeatureId) -> String {
        let project = self.demo.project();
        let features = project.join(".automaker/features").join(feature.as_str());
        format!(
            "\nThat was the loop. What is left of it, in {features}:\n  \
             code-review-iteration-1.md   why it was sent back\n  \
             code-review-iteration-2.md   why it passed\n  \
             agent-output.md              what the agent said\n\
             and from another terminal:\n  \
             git -C {shown} log --stat feature/{feature}\n  \
             tollgate -C {shown} feature show {short} --store {store}\n\n\
             The server goes on; Ctrl-C ends it. Delete {folder} when you have seen enough.",
            features = features.display(),
            shown = project.display(),
            short = board::short(feature),
            store = self.store.display(),
            folder = self.demo.folder().display(),
        )
    }
}
