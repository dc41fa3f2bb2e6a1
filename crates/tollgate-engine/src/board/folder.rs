//! The project folder, which a person can read and edit and which Automaker knows.
//!
//! ```text
//! .automaker/
//!   settings.json                      prompts of the project, among much that is not ours
//!   pipeline.json                      the steps behind the gate
//!   tollgate.lock                      held by the server that works on the project
//!   .trash/<id>-<n>/                   features that were deleted
//!   features/<id>/
//!     feature.json                     the card; a few keys are ours
//!     agent-output.md                  what the agent says, and agent-output-iteration-N.md
//!     code-review-iteration-N.md       what the gate said, and code-review-iteration-N.diff
//! ```
//!
//! Everything is opened below a folder that is held open; links are refused by name. Files are replaced as a whole and
//! made durable. Whether a feature may be where its file says is not decided here.

use std::path::Path;
use std::time::Duration;

use tollgate_core::board::{Document, DocumentError, FeatureId};

mod attachment;
mod edit;
mod failure;
mod lock;
mod place;
mod settings;
mod sweep;
pub mod watch;

pub use attachment::Attachment;
use edit::{Trouble, Way};
pub use lock::Lock;
pub use place::Stamp;
use place::{Found, Kind, Place};
pub use settings::update_file;

use crate::failure::Failure;

/// The name of the project folder, unless a team has its own.
pub const DEFAULT_NAME: &str = ".automaker";
/// The most features that are read.
pub const MAX_FEATURES: usize = 100_000;

const FEATURES: &str = "features";
const FEATURE: &str = "feature.json";
const TRASH: &str = ".trash";
/// The most deleted features of one name.
const MAX_TRASH: u32 = 10_000;
/// How long a folder that another process writes in is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The folder of a project.
#[derive(Debug)]
pub struct Folder {
    project: Place,
    name: String,
}

/// A feature as it is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its name, in the file and of its folder.
    pub id: FeatureId,
    /// Its card.
    pub document: Document,
    /// The SHA-256 of the file.
    pub hash: [u8; 32],
    /// How the file looked when it was read.
    pub stamp: Stamp,
}

/// A feature that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The name of its folder, which need not be one of a feature.
    pub name: String,
    /// Why, in words.
    pub why: String,
}

impl Folder {
    /// Opens the folder of a project; `name` is usually [`DEFAULT_NAME`].
    pub fn open(project: &Path, name: &str) -> Result<Self, Failure> {
        let folder = Self::new(project, name)?;
        folder.features()?;
        Ok(folder)
    }

    /// Opens the folder of a project, and makes what is missing of it.
    pub fn make(project: &Path, name: &str) -> Result<Self, Failure> {
        let made = Self::new(project, name)?;
        make_folder(&made.project, name)?;
        make_folder(&made.root()?, FEATURES)?;
        made.features()?;
        Ok(made)
    }

    fn new(project: &Path, name: &str) -> Result<Self, Failure> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\', '\0']) {
            return Err(failure::bad_name(name));
        }
        let place = Place::open(project).map_err(|error| failure::unreadable(project, &error))?;
        Ok(Self { project: place, name: name.to_owned() })
    }

    /// Where the features are.
    #[must_use]
    pub fn features_path(&self) -> std::path::PathBuf {
        self.project.path().join(&self.name).join(FEATURES)
    }

    /// Hands over every feature and every folder that should be one, by name.
    pub fn visit(&self, take: &mut dyn FnMut(Result<Held, Broken>)) -> Result<(), Failure> {
        let features = self.features()?;
        let (names, is_cut) = list(&features)?;
        for (name, kind) in names {
            match look(&features, &name, kind) {
                Ok(Some(held)) => take(Ok(held)),
                Ok(None) => {}
                Err(broken) => take(Err(broken)),
            }
        }
        if is_cut {
            let why = format!("it has more than {MAX_FEATURES} entries, and the others were not read");
            take(Err(Broken { name: FEATURES.to_owned(), why }));
        }
        Ok(())
    }

    /// Every feature, and every folder that should be one.
    pub fn scan(&self) -> Result<(Vec<Held>, Vec<Broken>), Failure> {
        let (mut held, mut broken) = (Vec::new(), Vec::new());
        self.visit(&mut |found| match found {
            Ok(found) => held.push(found),
            Err(found) => broken.push(found),
        })?;
        Ok((held, broken))
    }

    /// A feature as it is now; none when there is no such folder.
    pub fn read(&self, id: &FeatureId) -> Result<Option<Held>, Broken> {
        self.read_named(id.as_str())
    }

    /// What is in a folder of that name now, which may come from [`Folder::stamps`] or the watcher.
    pub fn read_named(&self, name: &str) -> Result<Option<Held>, Broken> {
        let broken = |why: String| Broken { name: name.to_owned(), why };
        let features = self.features().map_err(|failure| broken(failure.message))?;
        look(&features, name, Kind::Folder)
    }

    /// How the files of all features look from outside.
    pub fn stamps(&self) -> Result<Vec<(String, Option<Stamp>)>, Failure> {
        let features = self.features()?;
        let (names, _) = list(&features)?;
        let stamp = |(name, kind): (String, Kind)| {
            // A link is looked at itself, so that nothing is asked about what it points to.
            let stamp = match kind {
                Kind::Link => features.stamp(None, &name),
                _ => features.stamp(Some(&name), FEATURE),
            };
            (name, stamp)
        };
        Ok(names.into_iter().map(stamp).collect())
    }

    /// How the file of a feature looks from outside; none when there is none.
    #[must_use]
    pub fn stamp(&self, name: &str) -> Option<Stamp> {
        let is_name = !name.contains(['/', '\\', '\0']);
        let features = self.features().ok().filter(|_| is_name)?;
        match features.folder(name) {
            Ok(Found::Is(place)) => place.stamp(None, FEATURE),
            Ok(Found::Link) => features.stamp(None, name),
            Ok(Found::Missing | Found::Other) | Err(_) => None,
        }
    }

    /// Edits a feature's card as it is now.
    ///
    /// The edit must not mind being done twice: when somebody else wrote meanwhile, it is done to their version again.
    /// A card that cannot be read is left as it is.
    pub fn update(
        &self,
        id: &FeatureId,
        edit: &dyn Fn(&mut Document) -> Result<(), DocumentError>,
    ) -> Result<Held, Failure> {
        let place = self.feature(id)?;
        let edit = |document: &mut Document| {
            check_id(document, id.as_str())?;
            edit(document).map_err(Trouble::Refused)
        };
        let loaded = edit::update(&place, FEATURE, &edit, Way::Exchange);
        let loaded = loaded.map_err(|trouble| failure::unwritable(&place.path().join(FEATURE), &trouble))?;
        Ok(Held { id: id.clone(), document: loaded.document, hash: loaded.hash, stamp: loaded.stamp })
    }

    /// Makes a feature, which must not be there yet.
    pub fn create(&self, id: &FeatureId, document: &Document) -> Result<Held, Failure> {
        let features = self.features()?;
        let path = features.path().join(id.as_str()).join(FEATURE);
        let unwritable = |trouble: Trouble| failure::unwritable(&path, &trouble);
        check_id(document, id.as_str()).map_err(unwritable)?;
        features.make_folder(id.as_str()).map_err(|error| unwritable(error.into()))?;
        let place = folder(&features, id.as_str())?;
        let made = edit::create(&place, FEATURE, document);
        if made.is_err() {
            // An empty folder would be shown as a broken feature; one that is not empty stays.
            let _ = features.remove_folder(id.as_str());
        }
        if !made.map_err(unwritable)? {
            return Err(failure::feature_exists(id.as_str()));
        }
        features.sync().map_err(|error| unwritable(error.into()))?;
        let held = self.read(id).map_err(|broken| failure::broken(&path, &broken.why))?;
        held.ok_or_else(|| failure::no_feature(id.as_str()))
    }

    /// Moves a feature with all its files to the trash.
    pub fn delete(&self, id: &FeatureId) -> Result<(), Failure> {
        let (root, features) = (self.root()?, self.features()?);
        let place = self.feature(id)?;
        let unwritable = |trouble: Trouble| failure::unwritable(place.path(), &trouble);
        let guard = place.hold(PATIENCE).map_err(|error| unwritable(error.into()))?;
        let _guard = guard.ok_or_else(|| unwritable(Trouble::Busy))?;
        root.make_folder(TRASH).map_err(|error| unwritable(error.into()))?;
        let trash = folder(&root, TRASH)?;
        for number in 1..=MAX_TRASH {
            let moved = features.move_new(id.as_str(), &trash, &format!("{id}-{number}"));
            if moved.map_err(|error| unwritable(error.into()))? {
                let synced = trash.sync().and_then(|()| features.sync());
                return synced.map_err(|error| unwritable(error.into()));
            }
        }
        Err(failure::full_trash(trash.path()))
    }

    /// Clears away what processes that were killed left behind, and says how much that was.
    ///
    /// Names that begin with `.tollgate-` and no others are looked at; what somebody else wrote just then is put back.
    pub fn sweep(&self) -> Result<usize, Failure> {
        let (root, features) = (self.root()?, self.features()?);
        let trash = |place: &Place, temp: &str| {
            root.make_folder(TRASH)?;
            let Found::Is(trash) = root.folder(TRASH)? else {
                return Err(std::io::ErrorKind::NotADirectory.into());
            };
            place.move_new(temp, &trash, temp.trim_start_matches('.')).map(|_| ())
        };
        // What cannot be swept is in nobody's way; it is tried again next time.
        let swept = |place: &Place, name: &str| sweep::sweep(place, name, &|temp| trash(place, temp)).unwrap_or(0);
        let mut n_swept = swept(&root, settings::SETTINGS);
        for (name, _) in list(&features)?.0.into_iter().filter(|(_, kind)| *kind == Kind::Folder) {
            if let Ok(Found::Is(place)) = features.folder(&name) {
                n_swept += swept(&place, FEATURE);
            }
        }
        Ok(n_swept)
    }

    fn root(&self) -> Result<Place, Failure> {
        folder(&self.project, &self.name)
    }

    fn features(&self) -> Result<Place, Failure> {
        folder(&self.root()?, FEATURES)
    }

    fn feature(&self, id: &FeatureId) -> Result<Place, Failure> {
        let features = self.features()?;
        match features.folder(id.as_str()) {
            Ok(Found::Missing) => Err(failure::no_feature(id.as_str())),
            _ => folder(&features, id.as_str()),
        }
    }
}

fn folder(place: &Place, name: &str) -> Result<Place, Failure> {
    let path = place.path().join(name);
    match place.folder(name) {
        Ok(Found::Is(place)) => Ok(place),
        Ok(Found::Missing) => Err(failure::no_folder(&path)),
        Ok(Found::Link) => Err(failure::is_link(&path)),
        Ok(Found::Other) => Err(failure::not_a_folder(&path)),
        Err(error) => Err(failure::unreadable(&path, &error)),
    }
}

fn make_folder(place: &Place, name: &str) -> Result<(), Failure> {
    let made = place.make_folder(name).and_then(|()| place.sync());
    made.map_err(|error| failure::unwritable(&place.path().join(name), &error.into()))
}

/// The entries that are or should be features, by name, and whether there are too many.
fn list(features: &Place) -> Result<(Vec<(String, Kind)>, bool), Failure> {
    let listed = features.list(MAX_FEATURES).map_err(|error| failure::unreadable(features.path(), &error));
    let (mut names, is_cut) = listed?;
    // What begins with a dot is no feature, and neither is a file that somebody put there.
    names.retain(|(name, kind)| !name.starts_with('.') && matches!(kind, Kind::Folder | Kind::Link));
    names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok((names, is_cut))
}

fn look(features: &Place, name: &str, kind: Kind) -> Result<Option<Held>, Broken> {
    let broken = |why: String| Broken { name: name.to_owned(), why };
    if kind == Kind::Link {
        return Err(broken(Trouble::Link.to_string()));
    }
    let id = FeatureId::parse(name).map_err(|error| broken(format!("its name cannot be used: {error}")))?;
    let place = match features.folder(name) {
        Ok(Found::Is(place)) => place,
        Ok(Found::Missing) => return Ok(None),
        Ok(Found::Link) => return Err(broken(Trouble::Link.to_string())),
        Ok(Found::Other) => return Err(broken("it is not a folder".to_owned())),
        Err(error) => return Err(broken(error.to_string())),
    };
    let loaded = edit::load(&place, FEATURE, edit::HALF_WRITTEN).and_then(|loaded| {
        check_id(&loaded.document, name)?;
        Ok(loaded)
    });
    let loaded = loaded.map_err(|trouble| broken(format!("`{FEATURE}`: {trouble}")))?;
    Ok(Some(Held { id, document: loaded.document, hash: loaded.hash, stamp: loaded.stamp }))
}

fn check_id(document: &Document, name: &str) -> Result<(), Trouble> {
    let id = document.id().map_err(Trouble::Broken)?;
    if id.as_str() == name { Ok(()) } else { Err(Trouble::OtherId(id.to_string())) }
}
