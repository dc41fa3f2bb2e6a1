//! The project folder: the feature files on disk, compatible with Automaker.
//!
//! ```text
//! .automaker/
//! settings.json                      prompts of the project, among other keys
//! pipeline.json                      the pipeline steps after the gate
//! tollgate.lock                      lock of the server that runs the project's jobs
//! .trash/<id>-<n>/                   deleted features
//!   features/<id>/
//! feature.json                     the card; only a few keys are written by tollgate
//! agent-output.md                  the agent's transcript, and agent-output-iteration-N.md
//! code-review-iteration-N.md       the review, and code-review-iteration-N.diff
//! ```
//!
//! Everything is opened relative to a directory handle, and symbolic links are refused. Files are replaced atomically
//! and synced. This module does not check whether a feature's state is legal.

use std::path::Path;
use std::time::Duration;

use tollgate_core::board::{Document, DocumentError, FeatureId};

mod attachment;
mod cleanup;
mod edit;
mod failure;
mod lock;
mod settings;
pub mod watch;

pub use crate::tree::dir_handle::Stamp;
use crate::tree::dir_handle::{DirHandle, EntryKind, Found};
pub use attachment::Attachment;
use edit::{EditError, ReplaceMode};
pub use lock::Lock;
pub(crate) use settings::update_file;

use crate::failure::Failure;

/// The default name of the project folder.
pub const DEFAULT_NAME: &str = ".automaker";
/// The maximum number of features.
pub(crate) const MAX_FEATURES: usize = 100_000;

const FEATURES: &str = "features";
const FEATURE: &str = "feature.json";
const TRASH: &str = ".trash";
/// The maximum number of deleted features of one name.
const MAX_TRASH: u32 = 10_000;
/// How long to wait for the lock of another process.
const PATIENCE: Duration = Duration::from_secs(10);

/// The folder of a project.
#[derive(Debug)]
pub struct Folder {
    project: DirHandle,
    name: String,
}

/// A feature file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureFile {
    /// Its id, in the file and of its folder.
    pub id: FeatureId,
    /// Its card.
    pub document: Document,
    /// The SHA-256 of the file.
    pub hash: [u8; 32],
    /// The file's stamp when it was read.
    pub stamp: Stamp,
}

/// A feature folder that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The name of the folder, which need not be a feature id.
    pub name: String,
    /// The reason.
    pub why: String,
}

impl Folder {
    /// Opens a project folder; `name` is usually [`DEFAULT_NAME`].
    pub fn open(project: &Path, name: &str) -> Result<Self, Failure> {
        let folder = Self::new(project, name)?;
        folder.features()?;
        Ok(folder)
    }

    /// Opens a project folder and creates missing parts.
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
        let handle = DirHandle::open(project).map_err(|error| failure::unreadable(project, &error))?;
        Ok(Self { project: handle, name: name.to_owned() })
    }

    /// The directory of the features.
    pub(crate) fn features_path(&self) -> std::path::PathBuf {
        self.project.path().join(&self.name).join(FEATURES)
    }

    /// Visits every feature folder, by name.
    pub fn visit(&self, take: &mut dyn FnMut(Result<FeatureFile, Broken>)) -> Result<(), Failure> {
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

    /// Reads every feature folder.
    pub fn scan(&self) -> Result<(Vec<FeatureFile>, Vec<Broken>), Failure> {
        let (mut held, mut broken) = (Vec::new(), Vec::new());
        self.visit(&mut |found| match found {
            Ok(found) => held.push(found),
            Err(found) => broken.push(found),
        })?;
        Ok((held, broken))
    }

    /// Reads a feature; `None` without such a folder.
    pub fn read(&self, id: &FeatureId) -> Result<Option<FeatureFile>, Broken> {
        self.read_named(id.as_str())
    }

    /// Reads a feature folder by name, for example from [`Folder::stamps`] or the watcher.
    pub(crate) fn read_named(&self, name: &str) -> Result<Option<FeatureFile>, Broken> {
        let broken = |why: String| Broken { name: name.to_owned(), why };
        let features = self.features().map_err(|failure| broken(failure.message))?;
        look(&features, name, EntryKind::Folder)
    }

    /// The stamps of all feature files.
    pub(crate) fn stamps(&self) -> Result<Vec<(String, Option<Stamp>)>, Failure> {
        let features = self.features()?;
        let (names, _) = list(&features)?;
        let stamp = |(name, kind): (String, EntryKind)| {
            // A symbolic link is stamped itself and not followed.
            let stamp = match kind {
                EntryKind::Link => features.stamp(None, &name),
                _ => features.stamp(Some(&name), FEATURE),
            };
            (name, stamp)
        };
        Ok(names.into_iter().map(stamp).collect())
    }

    /// The stamp of a feature file, if it exists.
    pub fn stamp(&self, name: &str) -> Option<Stamp> {
        let is_name = !name.contains(['/', '\\', '\0']);
        let features = self.features().ok().filter(|_| is_name)?;
        match features.folder(name) {
            Ok(Found::Is(handle)) => handle.stamp(None, FEATURE),
            Ok(Found::Link) => features.stamp(None, name),
            Ok(Found::Missing | Found::Other) | Err(_) => None,
        }
    }

    /// Edits a feature file.
    ///
    /// The edit must be idempotent: after a concurrent write it is applied again to the new version. An unreadable
    /// file is left as it is.
    pub fn update(
        &self,
        id: &FeatureId,
        edit: &dyn Fn(&mut Document) -> Result<(), DocumentError>,
    ) -> Result<FeatureFile, Failure> {
        let handle = self.feature(id)?;
        let edit = |document: &mut Document| {
            check_id(document, id.as_str())?;
            edit(document).map_err(EditError::Refused)
        };
        let loaded = edit::update(&handle, FEATURE, &edit, ReplaceMode::Exchange);
        let loaded = loaded.map_err(|error| failure::unwritable(&handle.path().join(FEATURE), &error))?;
        Ok(FeatureFile { id: id.clone(), document: loaded.document, hash: loaded.hash, stamp: loaded.stamp })
    }

    /// Creates a feature, which must not exist.
    pub fn create(&self, id: &FeatureId, document: &Document) -> Result<FeatureFile, Failure> {
        let features = self.features()?;
        let path = features.path().join(id.as_str()).join(FEATURE);
        let unwritable = |error: EditError| failure::unwritable(&path, &error);
        check_id(document, id.as_str()).map_err(unwritable)?;
        features.make_folder(id.as_str()).map_err(|error| unwritable(error.into()))?;
        let handle = folder(&features, id.as_str())?;
        let made = edit::create(&handle, FEATURE, document);
        if made.is_err() {
            // An empty folder would show as a broken feature; a folder with files is kept.
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
        let handle = self.feature(id)?;
        let unwritable = |error: EditError| failure::unwritable(handle.path(), &error);
        let guard = handle.hold(PATIENCE).map_err(|error| unwritable(error.into()))?;
        let _guard = guard.ok_or_else(|| unwritable(EditError::Busy))?;
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

    /// Deletes leftovers of killed processes and returns their number.
    ///
    /// Only names that begin with `.tollgate-` are considered; a concurrent write of another program is restored.
    pub(crate) fn sweep(&self) -> Result<usize, Failure> {
        let (root, features) = (self.root()?, self.features()?);
        let trash = |handle: &DirHandle, temp: &str| {
            root.make_folder(TRASH)?;
            let Found::Is(trash) = root.folder(TRASH)? else {
                return Err(std::io::ErrorKind::NotADirectory.into());
            };
            handle.move_new(temp, &trash, temp.trim_start_matches('.')).map(|_| ())
        };
        // Leftovers do no harm; the next run tries again.
        let swept =
            |handle: &DirHandle, name: &str| cleanup::clean_up(handle, name, &|temp| trash(handle, temp)).unwrap_or(0);
        let mut n_swept = swept(&root, settings::SETTINGS);
        for (name, _) in list(&features)?.0.into_iter().filter(|(_, kind)| *kind == EntryKind::Folder) {
            if let Ok(Found::Is(handle)) = features.folder(&name) {
                n_swept += swept(&handle, FEATURE);
            }
        }
        Ok(n_swept)
    }

    fn root(&self) -> Result<DirHandle, Failure> {
        folder(&self.project, &self.name)
    }

    fn features(&self) -> Result<DirHandle, Failure> {
        folder(&self.root()?, FEATURES)
    }

    fn feature(&self, id: &FeatureId) -> Result<DirHandle, Failure> {
        let features = self.features()?;
        match features.folder(id.as_str()) {
            Ok(Found::Missing) => Err(failure::no_feature(id.as_str())),
            _ => folder(&features, id.as_str()),
        }
    }
}

fn folder(handle: &DirHandle, name: &str) -> Result<DirHandle, Failure> {
    let path = handle.path().join(name);
    match handle.folder(name) {
        Ok(Found::Is(handle)) => Ok(handle),
        Ok(Found::Missing) => Err(failure::no_folder(&path)),
        Ok(Found::Link) => Err(failure::is_link(&path)),
        Ok(Found::Other) => Err(failure::not_a_folder(&path)),
        Err(error) => Err(failure::unreadable(&path, &error)),
    }
}

fn make_folder(handle: &DirHandle, name: &str) -> Result<(), Failure> {
    let made = handle.make_folder(name).and_then(|()| handle.sync());
    made.map_err(|error| failure::unwritable(&handle.path().join(name), &error.into()))
}

/// The sorted feature folders, and whether there are too many.
fn list(features: &DirHandle) -> Result<(Vec<(String, EntryKind)>, bool), Failure> {
    let listed = features.list(MAX_FEATURES).map_err(|error| failure::unreadable(features.path(), &error));
    let (mut names, is_cut) = listed?;
    // Hidden entries and plain files are not features.
    names.retain(|(name, kind)| !name.starts_with('.') && matches!(kind, EntryKind::Folder | EntryKind::Link));
    names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok((names, is_cut))
}

fn look(features: &DirHandle, name: &str, kind: EntryKind) -> Result<Option<FeatureFile>, Broken> {
    let broken = |why: String| Broken { name: name.to_owned(), why };
    if kind == EntryKind::Link {
        return Err(broken(EditError::Link.to_string()));
    }
    let id = FeatureId::parse(name).map_err(|error| broken(format!("its name cannot be used: {error}")))?;
    let handle = match features.folder(name) {
        Ok(Found::Is(handle)) => handle,
        Ok(Found::Missing) => return Ok(None),
        Ok(Found::Link) => return Err(broken(EditError::Link.to_string())),
        Ok(Found::Other) => return Err(broken("it is not a folder".to_owned())),
        Err(error) => return Err(broken(error.to_string())),
    };
    let loaded = edit::load(&handle, FEATURE, edit::HALF_WRITTEN).and_then(|loaded| {
        check_id(&loaded.document, name)?;
        Ok(loaded)
    });
    let loaded = loaded.map_err(|error| broken(format!("`{FEATURE}`: {error}")))?;
    Ok(Some(FeatureFile { id, document: loaded.document, hash: loaded.hash, stamp: loaded.stamp }))
}

fn check_id(document: &Document, name: &str) -> Result<(), EditError> {
    let id = document.id().map_err(EditError::Broken)?;
    if id.as_str() == name { Ok(()) } else { Err(EditError::OtherId(id.to_string())) }
}
