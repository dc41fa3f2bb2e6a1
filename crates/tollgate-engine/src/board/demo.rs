//! The demo: a sample project with a scripted agent, without keys and network.
//!
//! The agent is a shell script. It first builds SQL from user input, which the gate rejects, and then fixes it. Each
//! demo has its own directory, so that nothing of the user's is touched:
//!
//! ```text
//! <data>/demo/20260109-142200/
//!   agent.sh     the agent
//!   shop/        the project
//! ```
//!
//! A project in such a directory is a demo, also after a restart: its agent is the script, and the operator's
//! configuration is ignored, so that no service is called. No other project uses that agent.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Work;
use tollgate_core::sha::Sha;

use super::{Board, NewFeature, Refused, iso};
use crate::config::reviewer::ReviewerPart;
use crate::config::{self, Chosen, Layer, Settings};
use crate::failure::{Failure, bad_config};
use crate::forge::git::{Blob, Environment, Git};
use crate::forge::project::Project as Repository;
use crate::store::board::{CardFilter, FeatureRow, ProjectRow};

mod failure;

/// The agent's name.
const AGENT: &str = "demo-agent";
/// The agent's script.
const SCRIPT: &str = include_str!("demo/agent.sh");
/// The project's files.
const FILES: [(&str, &str); 2] =
    [("README.md", include_str!("demo/README.md")), ("shop.py", include_str!("demo/shop.py"))];
/// The title of the sample feature.
pub const TITLE: &str = "Find customers by name";
/// The description of the sample feature.
pub const DESCRIPTION: &str = include_str!("demo/feature.md");
/// The directory of demos in the data directory, and the names in each.
const DEMOS: &str = "demo";
const PROJECT: &str = "shop";
const AGENT_FILE: &str = "agent.sh";
/// The maximum size of a project's settings file.
const MAX_CONFIG: u64 = 1024 * 1024;
/// The maximum number of demos in the same second.
const MAX_AT_ONCE: u32 = 99;
/// How long to wait for running jobs before the directory is deleted.
const ENDS: Duration = Duration::from_secs(5);
/// The maximum number of attempts to stop features.
const MAX_STOPS: u32 = 20;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A demo on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demo {
    folder: PathBuf,
}

impl Demo {
    /// Creates the project and its agent in a new or empty directory.
    pub fn make(folder: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).map_err(|error| failure::cannot_write(folder, &error))?;
        let folder = folder.canonicalize().map_err(|error| failure::cannot_write(folder, &error))?;
        let mut entries = std::fs::read_dir(&folder).map_err(|error| failure::cannot_write(&folder, &error))?;
        if entries.next().is_some() {
            return Err(failure::folder_in_use(&folder));
        }
        let demo = Self { folder };
        let project = demo.project();
        std::fs::create_dir(&project).map_err(|error| failure::cannot_write(&project, &error))?;
        let files = FILES.map(|(name, text)| (project.join(name), text));
        for (path, text) in files.into_iter().chain([(demo.script(), SCRIPT)]) {
            std::fs::write(&path, text).map_err(|error| failure::cannot_write(&path, &error))?;
        }
        demo.commit()?;
        Ok(demo)
    }

    /// A free directory for another demo.
    pub fn fresh_folder(data: &Path, now_ms: u64) -> Result<PathBuf, Failure> {
        let demos = data.join(DEMOS);
        let time: String = iso(now_ms).chars().take(19).filter(|found| !"-:".contains(*found)).collect();
        let name = time.replace('T', "-");
        let names = std::iter::once(name.clone()).chain((2..=MAX_AT_ONCE).map(|number| format!("{name}-{number}")));
        let fresh = names.map(|name| demos.join(name)).find(|folder| !folder.exists());
        fresh.ok_or_else(|| failure::folder_in_use(&demos))
    }

    /// The demo of a project, if it is one.
    fn of(project: &Path, data: &Path) -> Option<Self> {
        let folder = project.parent().filter(|_| project.file_name().is_some_and(|name| name == PROJECT))?;
        let data = data.canonicalize().ok()?;
        let is_there = folder == data || folder.parent() == Some(&data.join(DEMOS));
        let demo = Self { folder: folder.to_owned() };
        (is_there && demo.script().is_file()).then_some(demo)
    }

    /// Its directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The sample project.
    pub fn project(&self) -> PathBuf {
        self.folder.join(PROJECT)
    }

    fn script(&self) -> PathBuf {
        self.folder.join(AGENT_FILE)
    }

    /// The configuration of its project: the agent, and nothing else.
    fn layer(&self) -> Layer {
        let mut layer = Layer { source: "the demonstration".to_owned(), ..Layer::default() };
        let command = Some(vec!["sh".to_owned(), self.script().to_string_lossy().into_owned()]);
        layer.values.pipeline.agent = Some(AGENT.to_owned());
        let part = ReviewerPart { command, reviews: Some(true), ..ReviewerPart::default() };
        layer.values.reviewer.insert(AGENT.to_owned(), part);
        layer
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

impl Board {
    /// The settings of a project, with its own file read at a commit, so that a change cannot affect its own review.
    ///
    /// Unless `review.reviewers` is set, the agent that implements features reviews them too, in its read-only role.
    pub(super) fn settings_as_of(
        &self,
        project: &ProjectRow,
        repository: &Repository,
        base: &Sha,
    ) -> Result<Settings, Failure> {
        let file = match repository.blob(base, config::FILE_NAME, MAX_CONFIG)? {
            Blob::Whole(text) => Some(text),
            Blob::Missing => None,
            Blob::TooLarge(_) => return Err(bad_config(config::FILE_NAME, "the file is larger than 1 MiB")),
        };
        let mut settings = match self.demo_of(project) {
            Some(demo) => config::load_at(file, None, &[], demo.layer())?,
            None => self.home().settings_at(file)?,
        };
        if !settings.chooses_reviewers
            && let Some(agent) = self.implementer(project)?.filter(|agent| agent.part.can_review())
        {
            settings.reviewers.push(agent);
            // One reviewer cannot agree with another.
            settings.consensus = 1;
        }
        Ok(settings)
    }

    /// The agent that implements the features of a project.
    pub fn implementer(&self, project: &ProjectRow) -> Result<Option<Chosen>, Failure> {
        let demo = self.demo_of(project).map(|demo| Settings::of_layers(&[demo.layer()])).transpose()?;
        let settings = demo.as_ref().unwrap_or(self.settings());
        settings.pipeline.agent.as_deref().map(|name| settings.reviewer(name)).transpose()
    }

    /// The demo of a project, if it is one.
    pub fn demo_of(&self, project: &ProjectRow) -> Option<Demo> {
        Demo::of(&project.path, &self.home().data)
    }

    /// The project of the demo on the board.
    pub fn demo(&self) -> Result<Option<ProjectRow>, Failure> {
        Ok(self.projects()?.into_iter().find(|project| self.demo_of(project).is_some()))
    }

    /// Creates a demo in the data directory and starts it. Only one can exist.
    pub fn load_demo(&self, who: &str) -> Result<(ProjectRow, FeatureRow), Refused> {
        let _one_at_a_time = self.inner.demo.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(project) = self.demo()? {
            return Err(Refused::Invalid(format!(
                "the demonstration is on the board already, as project {}",
                project.id
            )));
        }
        let home = self.home();
        let demo = Demo::make(&Demo::fresh_folder(&home.data, (home.clock)())?)?;
        self.begin_demo(&demo, who)
    }

    /// Adds a demo to the board and starts its feature.
    pub fn begin_demo(&self, demo: &Demo, who: &str) -> Result<(ProjectRow, FeatureRow), Refused> {
        let project = self.add_project(&demo.project(), Some("shop (demo)"))?;
        let repository = Repository::open(&project.path, self.home().git.clone())?;
        repository.ignore_board(&self.settings().pipeline.dir)?;
        let description = DESCRIPTION.to_owned();
        let new = NewFeature { title: TITLE.to_owned(), description, ..NewFeature::default() };
        let row = self.create(project.id, &new)?;
        let row = self.start(project.id, &row.id, who)?;
        Ok((project, row))
    }

    /// Removes the demo: stops its jobs, removes its project, and deletes its directory.
    ///
    /// False when there is no demo.
    pub fn remove_demo(&self, who: &str) -> Result<bool, Refused> {
        let _one_at_a_time = self.inner.demo.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(project) = self.demo()? else { return Ok(false) };
        let demo = self.demo_of(&project);
        let features = self.stop_all(project.id, who)?;
        self.remove_project(project.id)?;
        self.wait_until_ended(project.id, &features);
        self.inner.folders.lock().unwrap_or_else(PoisonError::into_inner).remove(&project.id);
        // A server started for the demo alone has its database in that directory.
        if let Some(demo) = demo.filter(|demo| Some(demo.folder()) != self.home().data.canonicalize().ok().as_deref()) {
            // The project is already removed; leftovers do no harm.
            let _ = std::fs::remove_dir_all(demo.folder());
        }
        Ok(true)
    }

    /// Stops all jobs of a project and returns its features.
    fn stop_all(&self, project: i64, who: &str) -> Result<Vec<FeatureId>, Refused> {
        // A worker may be faster, so that a stopped feature has already started its next job.
        for _ in 0..MAX_STOPS {
            let cards = self.features(project, &CardFilter { limit: usize::MAX, ..CardFilter::default() })?;
            let busy: Vec<_> = cards.iter().filter(|card| card.state.work != Work::Nothing).collect();
            if busy.is_empty() {
                return Ok(cards.into_iter().map(|card| card.id).collect());
            }
            for card in busy {
                match self.stop(project, &card.id, who) {
                    Ok(_) | Err(Refused::Illegal(_) | Refused::Stale(_)) => {}
                    Err(refused) => return Err(refused),
                }
            }
        }
        Err(Refused::Invalid("its features are still worked on".to_owned()))
    }

    /// Waits for jobs of these features in this process, with a time limit.
    fn wait_until_ended(&self, project: i64, features: &[FeatureId]) {
        let deadline = Instant::now() + ENDS;
        let runs = || {
            let running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
            features.iter().any(|feature| running.contains_key(&(project, feature.clone())))
        };
        while runs() && Instant::now() < deadline {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demo_is_recognized_by_its_directory() {
        let data = tempfile::tempdir().unwrap();
        let demo = Demo::make(&Demo::fresh_folder(data.path(), 1_767_968_520_000).unwrap()).unwrap();
        assert!(demo.folder().ends_with("demo/20260109-142200"), "{demo:?}");
        assert_eq!(Demo::of(&demo.project(), data.path()).as_ref(), Some(&demo));
        // The same directory layout elsewhere is not a demo.
        let other = tempfile::tempdir().unwrap();
        assert_eq!(Demo::of(&demo.project(), other.path()), None);
        assert_eq!(Demo::of(&demo.folder().join("other"), data.path()), None);
        std::fs::remove_file(demo.script()).unwrap();
        assert_eq!(Demo::of(&demo.project(), data.path()), None);
    }

    #[test]
    fn a_directory_with_files_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine"), "x").unwrap();
        assert!(Demo::make(folder.path()).unwrap_err().message.contains("is not empty"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_demos_in_one_second_have_separate_directories() {
        let data = tempfile::tempdir().unwrap();
        let first = Demo::fresh_folder(data.path(), 0).unwrap();
        std::fs::create_dir_all(&first).unwrap();
        assert!(Demo::fresh_folder(data.path(), 0).unwrap().ends_with("demo/19700101-000000-2"));
    }
}
