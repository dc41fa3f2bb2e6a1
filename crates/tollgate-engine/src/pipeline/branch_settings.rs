//! The settings of a local review: those of the base, so that a branch cannot change its own review (decision 0020).

use crate::config::{self, Settings};
use crate::failure::Failure;
use crate::forge::local::{BaseFile, Local};

/// How far the settings file of the work tree counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchConfig {
    /// It replaces that of the base.
    Trusted,
    /// It counts while it is new and not committed: somebody has just written it, for this work tree.
    New,
    /// It does not count: whoever asks may have written it together with the change.
    Ignored,
}

/// The settings of a review, and a note about those of the branch that do not count.
pub struct BranchSettings {
    /// The settings.
    pub settings: Settings,
    /// What the branch changes, for people.
    pub note: Option<String>,
}

/// Decides the settings of a review. `load` reads them with a settings file of the repository, or without one.
pub fn branch_settings(
    forge: &Local,
    trust: BranchConfig,
    load: &dyn Fn(Option<Vec<u8>>) -> Result<Settings, Failure>,
) -> Result<BranchSettings, Failure> {
    let here = forge.root().map(config::read_repository_file).transpose()?.flatten();
    let counts = |settings| Ok(BranchSettings { settings, note: None });
    if trust == BranchConfig::Trusted {
        return counts(load(here)?);
    }
    let own = load(None)?;
    let mut at_base = forge.file_at_base(own.base.as_deref(), config::FILE_NAME)?;
    let mut settings = match &at_base {
        BaseFile::NoBase => return counts(load(here)?),
        BaseFile::Absent => own.clone(),
        BaseFile::Found(text) => load(Some(text.clone()))?,
    };
    if settings.base != own.base {
        // The base names another branch to compare with, and that branch decides.
        at_base = forge.file_at_base(settings.base.as_deref(), config::FILE_NAME)?;
        if let BaseFile::Found(text) = &at_base {
            settings = load(Some(text.clone()))?;
        }
    }
    let is_same = match (&at_base, &here) {
        (BaseFile::Found(base), Some(here)) => base == here,
        (BaseFile::Absent | BaseFile::NoBase, None) => true,
        _ => false,
    };
    if is_same {
        return counts(settings);
    }
    let is_first = at_base == BaseFile::Absent && here.is_some();
    if trust == BranchConfig::New && is_first && forge.is_untracked(config::FILE_NAME)? {
        return counts(load(here)?);
    }
    let note = match load(here) {
        Ok(of_branch) => differing(&settings, &of_branch),
        Err(failure) => Some(format!("the branch's `{}` is not valid: {}", config::FILE_NAME, failure.message)),
    };
    Ok(BranchSettings { settings, note })
}

/// The note on the settings that the branch would change; `None` when it changes none.
fn differing(base: &Settings, branch: &Settings) -> Option<String> {
    let lines = |settings: &Settings| -> Vec<String> {
        settings.shown.iter().map(|shown| format!("`{} = {}`", shown.key, shown.value)).collect()
    };
    let (base, branch) = (lines(base), lines(branch));
    let added = branch.iter().filter(|line| !base.contains(line)).cloned();
    let removed = base.iter().filter(|line| !branch.contains(line)).map(|line| format!("without {line}"));
    let changes: Vec<String> = added.chain(removed).collect();
    (!changes.is_empty()).then(|| {
        format!(
            "the settings of the base are used; the `{}` of the branch does not count: {}",
            config::FILE_NAME,
            changes.join(", ")
        )
    })
}
