//! A sample project with a pretend agent, to see the loop without a key and without a network.
//!
//! The agent is a shell script. It first builds SQL out of what a user typed, which the gate rejects, and does it right
//! when it is told so. Everything is in one fresh folder, the database too, so that nothing of the user's is touched.

use std::path::{Path, PathBuf};

use time::OffsetDateTime;
use time::macros::format_description;
use tollgate_core::board::FeatureId;
use tollgate_engine::board::{Board, NewFeature, Refused};
use tollgate_engine::config::Layer;
use tollgate_engine::config::reviewer::ReviewerPart;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::{Environment, Git};
use tollgate_engine::forge::project::Project;
use tollgate_engine::store::Database;

use super::{Place, board, failure, memory};

/// The agent's name.
const AGENT: &str = "demo-agent";
/// What the agent does.
const SCRIPT: &str = include_str!("demo/agent.sh");
/// The project's files.
const FILES: [(&str, &str); 2] =
    [("README.md", include_str!("demo/README.md")), ("shop.py", include_str!("demo/shop.py"))];
/// What is asked of the agent.
const TITLE: &str = "Find customers by name";
const DESCRIPTION: &str = include_str!("demo/feature.md");

/// The sample project.
#[derive(Debug, Clone)]
pub(crate) struct Demo {
    folder: PathBuf,
    /// Where its board is kept.
    store: PathBuf,
}

impl Demo {
    /// Makes the project, in a folder that has nothing in it.
    pub(crate) fn make(place: &Place, folder: Option<&Path>, flag: &memory::Flag) -> Result<Self, Failure> {
        let folder = match folder {
            Some(folder) => place.resolve(folder),
            None => fresh_folder()?,
        };
        let cannot_write = |path: &Path| {
            let name = path.display().to_string();
            move |error: std::io::Error| failure::cannot_write(&name, &error)
        };
        std::fs::create_dir_all(folder.join("shop")).map_err(cannot_write(&folder))?;
        let folder = folder.canonicalize().map_err(cannot_write(&folder))?;
        if std::fs::read_dir(&folder).map_err(cannot_write(&folder))?.count() > 1 {
            return Err(failure::folder_in_use(&folder));
        }
        let store = flag.store.as_ref().map_or_else(|| folder.join("tollgate.db"), |path| place.resolve(path));
        let demo = Self { folder, store };
        if std::fs::read_dir(demo.project()).map_err(cannot_write(&demo.folder))?.count() > 0 {
            return Err(failure::folder_in_use(&demo.project()));
        }
        let script = demo.script();
        std::fs::write(&script, SCRIPT).map_err(cannot_write(&script))?;
        for (name, text) in FILES {
            let path = demo.project().join(name);
            std::fs::write(&path, text).map_err(cannot_write(&path))?;
        }
        demo.commit()?;
        Ok(demo)
    }

    /// The board of the sample project, with nothing of the user's configuration: who reviews here needs no network.
    pub(crate) fn open(&self, place: &Place) -> Result<Board, Failure> {
        let mut flags = Layer { source: "--demo".to_owned(), ..Layer::default() };
        let command = vec!["sh".to_owned(), self.script().to_string_lossy().into_owned()];
        flags.values.pipeline.agent = Some(AGENT.to_owned());
        flags
            .values
            .reviewer
            .insert(AGENT.to_owned(), ReviewerPart { command: Some(command), ..ReviewerPart::default() });
        let mut home = board::home(place, self.folder.clone(), flags)?;
        home.config_dir = None;
        home.variables.clear();
        Board::open(Database::open(&self.store)?, home)
    }

    /// Puts the project on the board and starts its feature.
    pub(crate) fn begin(&self, board: &Board) -> Result<(), Failure> {
        let project = board.add_project(&self.project(), Some("shop")).map_err(Refused::into_failure)?;
        let repository = Project::open(&project.path, board.home().git.clone())?;
        repository.ignore_board(&board.settings().pipeline.dir)?;
        let description = DESCRIPTION.to_owned();
        let new = NewFeature { title: TITLE.to_owned(), description, ..NewFeature::default() };
        let row = board.create(project.id, &new).map_err(Refused::into_failure)?;
        board.start(project.id, &row.id, &board::who()).map_err(Refused::into_failure)?;
        Ok(())
    }

    /// What is about to happen.
    pub(crate) fn prologue(&self) -> String {
        let wanted = DESCRIPTION.trim().replace('\n', "\n  ");
        format!(
            "\nA demonstration: a sample project in {}, and an agent that is a script.\n\
             It is asked for one feature, makes a mistake, and has to get past the gate.\n\n  {TITLE}\n  {wanted}\n",
            self.project().display()
        )
    }

    /// What there is to look at now.
    pub(crate) fn epilogue(&self, feature: &FeatureId) -> String {
        let project = self.project();
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
            folder = self.folder.display(),
        )
    }

    fn project(&self) -> PathBuf {
        self.folder.join("shop")
    }

    fn script(&self) -> PathBuf {
        self.folder.join("agent.sh")
    }

    fn commit(&self) -> Result<(), Failure> {
        let mut environment = Environment::of_process();
        environment.repository.clear();
        let git = Git::new(&self.project(), environment);
        git.run(&["init", "--quiet", "--initial-branch=main", "--template="])?;
        git.run(&["config", "user.name", "tollgate demo"])?;
        git.run(&["config", "user.email", "demo@localhost"])?;
        git.run(&["add", "--all"])?;
        git.run(&["commit", "--quiet", "--message", "Start the shop"])?;
        Ok(())
    }
}

/// A folder that was not there, in the user's data folder.
fn fresh_folder() -> Result<PathBuf, Failure> {
    let demos = memory::data_folder().ok_or_else(failure::no_data_folder)?.with_file_name("demo");
    let format = format_description!("[year][month][day]-[hour][minute][second]");
    let name = OffsetDateTime::now_utc().format(format).unwrap_or_else(|_| memory::now().to_string());
    let names = std::iter::once(name.clone()).chain((2..=99).map(|number| format!("{name}-{number}")));
    let fresh = names.map(|name| demos.join(name)).find(|folder| !folder.exists());
    fresh.ok_or_else(|| failure::folder_in_use(&demos))
}
