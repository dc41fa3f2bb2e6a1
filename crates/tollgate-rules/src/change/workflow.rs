//! Reads GitHub Actions workflows line by line.

use std::collections::HashSet;

use crate::change::view::{File, Line, View, patterns};

patterns! {
    PATH [".github/workflows/"] = r"(?:^|/)\.github/workflows/[^/]+\.ya?ml$";
    ACTION_PATH [".github/workflows/", "action.y"] = r"(?:^|/)\.github/workflows/[^/]+\.ya?ml$|(?:^|/)action\.ya?ml$";
    USES ["uses:"] = r#"^\s*(?:- )?uses:\s*["']?([A-Za-z0-9_.-]+/[^@\s"']+)@([^\s"'#]+)"#;
    SHA = r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$";
}

/// An action that a line uses.
pub(crate) struct Uses {
    /// `owner/name`, with the path inside the repository if there is one.
    pub(crate) action: String,
    /// A tag, a branch or a commit.
    pub(crate) version: String,
}

impl Uses {
    /// True when the version is a commit, which is immutable.
    pub(crate) fn is_pinned(&self) -> bool {
        SHA.is_match(&self.version)
    }

    /// True for actions of GitHub itself.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.action.split('/').next(), Some("actions" | "github"))
    }
}

pub(crate) fn is_workflow(file: &File<'_>) -> bool {
    PATH.is_match(&file.path)
}

pub(crate) fn uses(line: &Line<'_>) -> Option<Uses> {
    let groups = USES.captures(&line.text).filter(|_| !line.is_comment())?;
    Some(Uses { action: groups.get(1)?.as_str().to_owned(), version: groups.get(2)?.as_str().to_owned() })
}

/// The workflow and action files of the change.
pub(crate) fn files<'v, 'a>(view: &'v View<'a>) -> impl Iterator<Item = &'v File<'a>> {
    view.files.iter().filter(|file| ACTION_PATH.is_match(&file.path))
}

/// The actions on lines of the files that are not added.
pub(crate) fn used_before(view: &View<'_>) -> HashSet<String> {
    let lines = files(view).flat_map(|file| &file.lines).filter(|line| !line.is_added());
    lines.filter_map(uses).map(|uses| uses.action).collect()
}
