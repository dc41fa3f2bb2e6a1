//! Detects changed dependencies in a manifest whose lock file did not change.

use std::collections::HashSet;

use tollgate_core::diff::LineKind;

use crate::change::manifest::{self, Dependency, Ecosystem};
use crate::change::path;
use crate::change::view::{File, Reporter, View, squeeze};

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.stays()) {
        let Some(ecosystem) = manifest::of_manifest(&file.path).filter(|_| path::ending(&file.path) != "txt") else {
            continue;
        };
        let Some(lock) = lock_of(view, &file.path, ecosystem) else { continue };
        if let Some(index) = first_change(file, ecosystem) {
            let message = format!("manifest changed without its lock file `{lock}`");
            reporter.report(file, index..index + 1, Some(message));
        }
    }
}

/// The nearest lock file of the repository, unless the change updates a suitable one.
fn lock_of(view: &View<'_>, manifest: &str, ecosystem: Ecosystem) -> Option<String> {
    // Workspaces keep their lock file beside the manifest, above it, or in a folder of their own.
    let is_lock = |path: &str| ecosystem.locks().contains(&path::name(path));
    if view.files.iter().any(|file| is_lock(&file.path)) {
        return None;
    }
    let mut folder = path::folder(manifest);
    let mut nearest = None;
    loop {
        for lock in ecosystem.locks() {
            let path = format!("{folder}{lock}");
            if view.file(&path).is_some() {
                return None;
            }
            if nearest.is_none() && view.has_path(&path) {
                nearest = Some(path);
            }
        }
        if folder.is_empty() || nearest.is_some() {
            return nearest;
        }
        folder = path::folder(folder.trim_end_matches('/'));
    }
}

/// The first line whose change requires an update of the lock file.
fn first_change(file: &File<'_>, ecosystem: Ecosystem) -> Option<usize> {
    let (added, removed) =
        (manifest::dependencies(file, LineKind::Added), manifest::dependencies(file, LineKind::Removed));
    // Cargo locks names and versions; the other lock files repeat the manifest's requirement.
    let key = |dependency: &Dependency| match ecosystem {
        Ecosystem::Cargo => dependency.name.clone(),
        // Options after the name and its constraints are not in the lock file.
        Ecosystem::Ruby => {
            let requirement = file.lines[dependency.index].text.split(':').next().unwrap_or_default();
            let requirement: Vec<&str> = requirement.split(['"', '\'']).skip(1).step_by(2).collect();
            requirement.join(" ")
        }
        _ => squeeze(file.lines[dependency.index].text.split("//").next().unwrap_or_default()),
    };
    let before: HashSet<String> = removed.iter().map(key).collect();
    let after: HashSet<String> = added.iter().map(key).collect();
    // A new module may already be in `go.sum` as a dependency of another module.
    let known: HashSet<&str> = removed.iter().map(|dependency| dependency.name.as_str()).collect();
    let counts = |dependency: &&Dependency| ecosystem != Ecosystem::Go || known.contains(dependency.name.as_str());
    let new = added.iter().filter(counts).find(|dependency| !before.contains(&key(dependency)));
    let gone =
        removed.iter().filter(|_| ecosystem != Ecosystem::Go).find(|dependency| !after.contains(&key(dependency)));
    new.or(gone).map(|dependency| dependency.index)
}
