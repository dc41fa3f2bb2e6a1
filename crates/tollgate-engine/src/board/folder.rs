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

use std::fmt;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use tollgate_core::board::document::{self, Step};
use tollgate_core::board::{Document, DocumentError, FeatureId};

mod edit;
mod failure;
mod place;
mod sweep;
pub mod watch;

use edit::{Trouble, Way};
pub use place::Stamp;
use place::{Found, Kind, Place};

use crate::failure::Failure;

/// The name of the project folder, unless a team has its own.
pub const DEFAULT_NAME: &str = ".automaker";
/// The most features that are read.
pub const MAX_FEATURES: usize = 100_000;

const FEATURES: &str = "features";
const FEATURE: &str = "feature.json";
const SETTINGS: &str = "settings.json";
const PIPELINE: &str = "pipeline.json";
const LOCK: &str = "tollgate.lock";
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

/// A file beside `feature.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attachment {
    /// What the review of an iteration says, for people.
    Review(u32),
    /// What it reviewed, as a whole.
    Diff(u32),
    /// What the agent of an iteration said.
    Output(u32),
    /// What the agent said last, where Automaker looks for it.
    LastOutput,
}

impl fmt::Display for Attachment {
    /// The name of the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Review(n) => write!(f, "code-review-iteration-{n}.md"),
            Self::Diff(n) => write!(f, "code-review-iteration-{n}.diff"),
            Self::Output(n) => write!(f, "agent-output-iteration-{n}.md"),
            Self::LastOutput => f.write_str("agent-output.md"),
        }
    }
}

/// Keeps a project for this process until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: std::fs::File,
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
        if !edit::create(&place, FEATURE, document).map_err(unwritable)? {
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

    /// Writes a file beside a feature's card, as a whole.
    pub fn write(&self, id: &FeatureId, what: Attachment, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.feature(id)?;
        let name = what.to_string();
        let written = edit::write(&place, &name, bytes);
        written.map_err(|trouble| failure::unwritable(&place.path().join(name), &trouble))
    }

    /// Adds to a file beside a feature's card, for what is still being said. It is not made durable.
    pub fn append(&self, id: &FeatureId, what: Attachment, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.feature(id)?;
        let name = what.to_string();
        let unwritable = |trouble: Trouble| failure::unwritable(&place.path().join(&name), &trouble);
        let mut file = match place.file_to_append(&name).map_err(|error| unwritable(error.into()))? {
            Found::Is(file) => file,
            Found::Link => return Err(unwritable(Trouble::Link)),
            Found::Missing | Found::Other => return Err(unwritable(Trouble::NotAFile)),
        };
        file.write_all(bytes).map_err(|error| unwritable(error.into()))
    }

    /// The first bytes of a file beside a feature's card, `max_bytes` at most; none when there is no such file.
    pub fn head(&self, id: &FeatureId, what: Attachment, max_bytes: usize) -> Result<Option<Vec<u8>>, Failure> {
        self.part(id, what, max_bytes, |_| 0)
    }

    /// The last bytes of a file beside a feature's card, `max_bytes` at most; none when there is no such file.
    pub fn tail(&self, id: &FeatureId, what: Attachment, max_bytes: usize) -> Result<Option<Vec<u8>>, Failure> {
        self.part(id, what, max_bytes, |len| len.saturating_sub(max_bytes as u64))
    }

    /// A file beside a feature's card from a place on, `max_bytes` at most; none when there is no such file.
    pub fn from(
        &self,
        id: &FeatureId,
        what: Attachment,
        start: u64,
        max_bytes: usize,
    ) -> Result<Option<Vec<u8>>, Failure> {
        self.part(id, what, max_bytes, |_| start)
    }

    fn part(
        &self,
        id: &FeatureId,
        what: Attachment,
        max_bytes: usize,
        start: impl Fn(u64) -> u64,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let place = self.feature(id)?;
        let path = place.path().join(what.to_string());
        let unreadable = |error: std::io::Error| failure::unreadable(&path, &error);
        let mut file = match place.file(&what.to_string()).map_err(unreadable)? {
            Found::Is(file) => file,
            Found::Missing => return Ok(None),
            Found::Link => return Err(failure::broken(&path, &Trouble::Link.to_string())),
            Found::Other => return Err(failure::broken(&path, &Trouble::NotAFile.to_string())),
        };
        let len = file.metadata().map_err(unreadable)?.len();
        file.seek(SeekFrom::Start(start(len))).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(max_bytes as u64).read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(Some(bytes))
    }

    /// True when some process keeps the project.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        let kept = self.root().ok().and_then(|root| root.file(LOCK).ok());
        match kept {
            Some(Found::Is(file)) => matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)),
            Some(Found::Missing | Found::Link | Found::Other) | None => false,
        }
    }

    /// Keeps the project for this process, if no other does, and sweeps it.
    pub fn lock(&self) -> Result<Lock, Failure> {
        let root = self.root()?;
        let path = root.path().join(LOCK);
        let unwritable = |trouble: Trouble| failure::unwritable(&path, &trouble);
        let mut file = match root.file_to_keep(LOCK).map_err(|error| unwritable(error.into()))? {
            Found::Is(file) => file,
            Found::Link => return Err(unwritable(Trouble::Link)),
            Found::Missing | Found::Other => return Err(unwritable(Trouble::NotAFile)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                let mut pid = String::new();
                // Only said to a person, so that an unreadable one does not matter.
                let _ = (&file).take(20).read_to_string(&mut pid);
                let pid: String = pid.chars().take_while(char::is_ascii_digit).collect();
                return Err(failure::held(root.path(), &pid));
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(unwritable(error.into())),
        }
        let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(|error| unwritable(error.into()))?;
        self.sweep()?;
        Ok(Lock { _file: file })
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
        let mut n_swept = swept(&root, SETTINGS);
        for (name, _) in list(&features)?.0.into_iter().filter(|(_, kind)| *kind == Kind::Folder) {
            if let Ok(Found::Is(place)) = features.folder(&name) {
                n_swept += swept(&place, FEATURE);
            }
        }
        Ok(n_swept)
    }

    /// The steps behind the gate, in order, and what of `pipeline.json` could not be read.
    #[must_use]
    pub fn steps(&self) -> (Vec<Step>, Vec<String>) {
        match self.root().map(|root| edit::load(&root, PIPELINE, edit::HALF_WRITTEN)) {
            Ok(Ok(loaded)) => document::steps(&loaded.document),
            Ok(Err(Trouble::Missing)) => (Vec::new(), Vec::new()),
            Ok(Err(trouble)) => (Vec::new(), vec![format!("`{PIPELINE}` cannot be read: {trouble}")]),
            Err(failure) => (Vec::new(), vec![failure.message]),
        }
    }

    /// The project's `settings.json`; none when there is none.
    pub fn settings(&self) -> Result<Option<Document>, Failure> {
        let root = self.root()?;
        match edit::load(&root, SETTINGS, edit::HALF_WRITTEN) {
            Ok(loaded) => Ok(Some(loaded.document)),
            Err(Trouble::Missing) => Ok(None),
            Err(trouble) => Err(failure::broken(&root.path().join(SETTINGS), &trouble.to_string())),
        }
    }

    /// Edits the project's `settings.json`, which is made if it is missing.
    pub fn update_settings(
        &self,
        edit: &dyn Fn(&mut Document) -> Result<(), DocumentError>,
    ) -> Result<Document, Failure> {
        update_in(&self.root()?, SETTINGS, edit)
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

/// Edits a JSON file of the operator's own folder, as `settings.json` of the server's data; made if it is missing.
pub fn update_file(
    folder: &Path,
    name: &str,
    edit: &dyn Fn(&mut Document) -> Result<(), DocumentError>,
) -> Result<Document, Failure> {
    let place = Place::open(folder).map_err(|error| failure::unreadable(folder, &error))?;
    update_in(&place, name, edit)
}

fn update_in(
    place: &Place,
    name: &str,
    edit: &dyn Fn(&mut Document) -> Result<(), DocumentError>,
) -> Result<Document, Failure> {
    let unwritable = |trouble: Trouble| failure::unwritable(&place.path().join(name), &trouble);
    let refused = |document: &mut Document| edit(document).map_err(Trouble::Refused);
    // Once more, for the case that somebody made the file meanwhile.
    for _ in 0..2 {
        match edit::update(place, name, &refused, Way::Exchange) {
            Err(Trouble::Missing) => {}
            other => return other.map(|loaded| loaded.document).map_err(unwritable),
        }
        let mut document = Document::new([("version", "1")]).map_err(|error| unwritable(Trouble::Refused(error)))?;
        refused(&mut document).map_err(unwritable)?;
        if edit::create(place, name, &document).map_err(unwritable)? {
            return Ok(document);
        }
    }
    Err(unwritable(Trouble::Contended))
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
