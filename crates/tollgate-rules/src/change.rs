//! Change rules: what no linter sees, because it looks at one version only.
//!
//! Each rule is a file below `rules/change/` with its texts and examples, and a
//! module of the same name here with one function, `scan`. They run in process
//! on the diff alone: no I/O, no parsing, linear in the diff. A finding about
//! removed code is on the left side, with the line numbers before the change.
//!
//! They speak only where the diff shows enough. Code that was moved, renamed or
//! reformatted within the change is not removed code.

mod api;
mod api_changed;
mod api_removed;
mod assertion_loosened;
mod assertion_removed;
mod auth_guard_removed;
mod check_switched_off;
mod ci_action_pin_lost;
mod ci_action_unpinned;
mod ci_permissions_widened;
mod ci_pull_request_target_checkout;
mod code_owner_removed;
mod dependency_near_miss;
mod error_handling_removed;
mod file_made_executable;
mod fix_without_test;
mod generated_file_edited;
mod gitattributes_hides_code;
mod guard;
mod guard_removed;
mod hooks_bypassed;
mod limit_removed;
mod lint_suppressed;
mod lock_host_changed;
mod lock_without_manifest;
mod manifest;
mod manifest_without_lock;
mod migration_edited;
mod path;
mod review_config_weakened;
mod submodule_url_changed;
mod symlink_escapes;
mod syntax;
mod test_removed;
mod test_skipped;
mod todo_without_reference;
mod unwrap_for_question_mark;
mod view;
mod workflow;

use tollgate_core::diff::FileDiff;
use tollgate_core::path::FilePath;

use crate::catalog::{self, Kind};
use crate::change::view::{Found, View};
use crate::hit::Hit;

/// What the change rules know beside the diff.
#[derive(Debug, Clone, Copy, Default)]
pub struct Declared<'a> {
    /// True when the author said that the change breaks its users.
    pub breaking: bool,
    /// The change's title; empty when there is none.
    pub title: &'a str,
    /// Every path in the repository before the change; empty when that is not known.
    ///
    /// Rules that need it (is there a lock file, are there tests, is this a library) are silent without.
    pub paths: &'a [String],
}

impl<'a> Declared<'a> {
    /// What a title alone declares: `feat!: …` breaks users.
    #[must_use]
    pub fn titled(title: &'a str) -> Self {
        let kind = title.split_once(':').map_or("", |(kind, _)| kind);
        Self { breaking: !kind.contains(' ') && kind.ends_with('!'), title, paths: &[] }
    }

    /// The same, in a repository that has these paths.
    #[must_use]
    pub fn in_repository(self, paths: &'a [String]) -> Self {
        Self { paths, ..self }
    }

    /// True when the title says that something is taken away.
    fn is_removal(&self) -> bool {
        let title = self.title.to_ascii_lowercase();
        let words = ["remov", "delet", "drop", "deprecat", "unused", "obsolete", "clean"];
        !title.starts_with("revert") && words.iter().any(|word| title.contains(word))
    }

    /// True when the title calls the change a fix, as in `fix(cart): …`.
    fn is_fix(&self) -> bool {
        let kind = self.title.split_once(':').map_or("", |(kind, _)| kind);
        let word = kind.split(['(', '!']).next().unwrap_or_default().trim();
        ["fix", "bugfix", "hotfix"].iter().any(|known| word.eq_ignore_ascii_case(known))
    }
}

type Scan = fn(&View<'_>, &mut Found);

/// The rules by the name of their detector.
const DETECTORS: &[(&str, Scan)] = &[
    ("api-changed", api_changed::scan),
    ("api-removed", api_removed::scan),
    ("assertion-loosened", assertion_loosened::scan),
    ("assertion-removed", assertion_removed::scan),
    ("auth-guard-removed", auth_guard_removed::scan),
    ("check-switched-off", check_switched_off::scan),
    ("ci-action-pin-lost", ci_action_pin_lost::scan),
    ("ci-action-unpinned", ci_action_unpinned::scan),
    ("ci-permissions-widened", ci_permissions_widened::scan),
    ("ci-pull-request-target-checkout", ci_pull_request_target_checkout::scan),
    ("code-owner-removed", code_owner_removed::scan),
    ("dependency-near-miss", dependency_near_miss::scan),
    ("error-handling-removed", error_handling_removed::scan),
    ("file-made-executable", file_made_executable::scan),
    ("fix-without-test", fix_without_test::scan),
    ("generated-file-edited", generated_file_edited::scan),
    ("gitattributes-hides-code", gitattributes_hides_code::scan),
    ("guard-removed", guard_removed::scan),
    ("hooks-bypassed", hooks_bypassed::scan),
    ("limit-removed", limit_removed::scan),
    ("lint-suppressed", lint_suppressed::scan),
    ("lock-host-changed", lock_host_changed::scan),
    ("lock-without-manifest", lock_without_manifest::scan),
    ("manifest-without-lock", manifest_without_lock::scan),
    ("migration-edited", migration_edited::scan),
    ("review-config-weakened", review_config_weakened::scan),
    ("submodule-url-changed", submodule_url_changed::scan),
    ("symlink-escapes", symlink_escapes::scan),
    ("test-removed", test_removed::scan),
    ("test-skipped", test_skipped::scan),
    ("todo-without-reference", todo_without_reference::scan),
    ("unwrap-for-question-mark", unwrap_for_question_mark::scan),
];

/// Everything the change rules say of a change, each with the file it is about.
///
/// `enabled` tells by a rule's name whether it may speak.
#[must_use]
pub fn scan(files: &[FileDiff], declared: Declared<'_>, enabled: &dyn Fn(&str) -> bool) -> Vec<(FilePath, Hit)> {
    let rules: Vec<_> = catalog::all().iter().filter(|rule| rule.kind() == Kind::Change && enabled(rule.id)).collect();
    if rules.is_empty() {
        return Vec::new();
    }
    let view = View::new(files, declared);
    let mut found = Found::default();
    for rule in rules {
        let name = rule.detector.trim_start_matches("change/");
        if let Some((_, scan)) = DETECTORS.iter().find(|(detector, _)| *detector == name) {
            found.begin(rule.id, rule.in_tests);
            scan(&view, &mut found);
        }
    }
    found.into_hits()
}
