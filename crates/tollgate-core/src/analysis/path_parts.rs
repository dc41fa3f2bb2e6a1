//! A path split into folders and file name in lower case, once for all lookups.

use crate::language::file_name;

/// What the name of a folder implies for the files below it. The values are bits of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folder {
    /// Tests and their data.
    Tests = 1,
    /// Build, deployment and operations.
    Infra = 2,
    /// Build, deployment and operations, unless the file is code.
    InfraData = 4,
    /// Prose.
    Docs = 8,
    /// Possibly written by a tool; the name alone does not tell.
    Output = 16,
    /// Database migrations.
    Migrations = 32,
}

/// A path, its folders and its file name.
pub(super) struct PathParts<'a> {
    path: &'a [u8],
    lower: Vec<u8>,
    n_folders: usize,
    kinds: u8,
    first_dot: Option<usize>,
    last_dot: Option<usize>,
}

impl<'a> PathParts<'a> {
    /// Splits a path.
    pub(super) fn new(path: &'a [u8]) -> Self {
        let n_folders = path.len() - file_name(path).len();
        let lower = path.to_ascii_lowercase();
        let kinds = lower[..n_folders].split(|&byte| byte == b'/').fold(0, |kinds, step| kinds | kinds_of(step));
        // File names are short; a vector search for the dots would cost more than it saves.
        let is_dot = |byte: &u8| *byte == b'.';
        let first_dot = path[n_folders..].iter().position(is_dot);
        let last_dot = path[n_folders..].iter().rposition(is_dot);
        Self { path, lower, n_folders, kinds, first_dot, last_dot }
    }

    /// True when one of the folders is of the given kind.
    pub(super) fn is_below(&self, folder: Folder) -> bool {
        self.kinds & folder as u8 != 0
    }

    /// The index of the first dot in the file name.
    pub(super) fn first_dot(&self) -> Option<usize> {
        self.first_dot
    }

    /// The index of the last dot in the file name.
    pub(super) fn last_dot(&self) -> Option<usize> {
        self.last_dot
    }

    /// The file name in lower case, up to its first dot.
    pub(super) fn stem(&self) -> &[u8] {
        &self.lower()[..self.first_dot.unwrap_or(self.lower().len())]
    }

    /// The file name as written.
    pub(super) fn written(&self) -> &'a [u8] {
        &self.path[self.n_folders..]
    }

    /// The file name in lower case.
    pub(super) fn lower(&self) -> &[u8] {
        &self.lower[self.n_folders..]
    }

    /// The path as written.
    pub(super) fn path(&self) -> &'a [u8] {
        self.path
    }

    /// The path in lower case.
    pub(super) fn lower_path(&self) -> &[u8] {
        &self.lower
    }

    /// The folders in lower case, with the trailing slash.
    pub(super) fn folders(&self) -> &[u8] {
        &self.lower[..self.n_folders]
    }
}

/// The kinds of a folder by its name in lower case, as bits.
pub(super) fn kinds_of(step: &[u8]) -> u8 {
    match step {
        b"test" | b"tests" | b"__tests__" | b"testing" | b"testdata" | b"test-data" | b"test_data" | b"spec"
        | b"specs" | b"__snapshots__" | b"__mocks__" | b"__fixtures__" | b"fixtures" | b"e2e" | b"cypress"
        | b"androidtest" | b"unittests" | b"integration-tests" | b"integration_tests" => Folder::Tests as u8,
        b"vendor" | b"node_modules" | b"bower_components" | b"jspm_packages" | b"third_party" | b"third-party"
        | b"godeps" | b"pods" | b"carthage" | b".yarn" | b"dist" | b"build" | b"target" | b".next" | b".nuxt"
        | b"__generated__" | b"__pycache__" => Folder::Output as u8,
        b".circleci" | b".buildkite" | b".gitlab" | b".devcontainer" | b"terraform" | b"k8s" | b"kubernetes"
        | b"helm" | b"ansible" | b"kustomize" | b".tekton" | b".woodpecker" | b"pulumi" => Folder::Infra as u8,
        b"charts" | b"deploy" | b"deployment" | b"manifests" | b"infra" | b"infrastructure" => Folder::InfraData as u8,
        b"doc" | b"docs" | b"documentation" | b"man" => Folder::Docs as u8,
        b"migrations" | b"migration" | b"migrate" | b"flyway" | b"liquibase" => Folder::Migrations as u8,
        _ if step.ends_with(b".tests") || step.ends_with(b".test") => Folder::Tests as u8,
        _ => 0,
    }
}
