//! Change rules: defects that show only when both versions of a file are compared.
//!
//! Each rule is a file below `rules/change/` with its texts and examples, and a
//! module of the same name here with one function, `scan`. They run in process
//! on the diff alone, without I/O or parsing, in time linear in the diff. A finding
//! about removed code is on the left side, with the line numbers before the change.
//!
//! They report only what the diff proves. Code that was moved, renamed or
//! reformatted within the change does not count as removed.

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
mod suppression_added;
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

use crate::catalog::{self, RuleKind};
use crate::change::view::{Reporter, View};
use crate::hit::Hit;

/// The title, declared intent and repository paths of a change.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChangeContext<'a> {
    /// True when the author declared a breaking change.
    pub breaking: bool,
    /// True when the author declared a bug fix.
    pub fix: bool,
    /// The change's title; empty when there is none.
    pub title: &'a str,
    /// Every path in the repository before the change; empty when that is not known.
    ///
    /// Rules that depend on the paths (lock files, tests, libraries) report nothing without them.
    pub paths: &'a [String],
}

impl<'a> ChangeContext<'a> {
    /// Parses a conventional title: `feat!: …` is a breaking change, `fix(cart): …` is a fix.
    #[must_use]
    pub fn titled(title: &'a str) -> Self {
        let kind = title.split_once(':').map_or("", |(kind, _)| kind);
        let word = kind.split(['(', '!']).next().unwrap_or_default().trim();
        let fix = ["fix", "bugfix", "hotfix"].iter().any(|known| word.eq_ignore_ascii_case(known));
        Self { breaking: !kind.contains(' ') && kind.ends_with('!'), fix, title, paths: &[] }
    }

    /// Adds the paths of the repository.
    #[must_use]
    pub fn in_repository(self, paths: &'a [String]) -> Self {
        Self { paths, ..self }
    }

    /// True when the title declares a removal.
    fn is_removal(&self) -> bool {
        let title = self.title.to_ascii_lowercase();
        let words = ["remov", "delet", "drop", "deprecat", "unused", "obsolete", "clean"];
        !title.starts_with("revert") && words.iter().any(|word| title.contains(word))
    }
}

type Scan = fn(&View<'_>, &mut Reporter);

/// The detectors by rule id.
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
    ("suppression-added", suppression_added::scan),
    ("symlink-escapes", symlink_escapes::scan),
    ("test-removed", test_removed::scan),
    ("test-skipped", test_skipped::scan),
    ("todo-without-reference", todo_without_reference::scan),
    ("unwrap-for-question-mark", unwrap_for_question_mark::scan),
];

/// Rules that scan each file on its own.
const PER_FILE: &[&str] = &[
    "assertion-loosened",
    "check-switched-off",
    "ci-permissions-widened",
    "ci-pull-request-target-checkout",
    "dependency-near-miss",
    "file-made-executable",
    "lock-host-changed",
    "submodule-url-changed",
    "symlink-escapes",
    "unwrap-for-question-mark",
];

/// Rules that look at other lines only to check whether the same line was removed elsewhere.
const PER_LINE: &[&str] = &[
    "ci-action-pin-lost",
    "ci-action-unpinned",
    "gitattributes-hides-code",
    "hooks-bypassed",
    "lint-suppressed",
    "review-config-weakened",
    "suppression-added",
    "test-skipped",
    "todo-without-reference",
];

/// True when the findings of a rule in a file depend only on that file.
#[must_use]
pub fn is_per_file(rule: &str) -> bool {
    PER_FILE.contains(&rule)
}

/// True when a finding of the rule stays valid as long as its lines are unchanged.
#[must_use]
pub fn is_per_line(rule: &str) -> bool {
    PER_FILE.contains(&rule) || PER_LINE.contains(&rule)
}

/// Runs the enabled change rules; each hit comes with its file.
#[must_use]
pub fn scan(files: &[FileDiff], declared: ChangeContext<'_>, enabled: &dyn Fn(&str) -> bool) -> Vec<(FilePath, Hit)> {
    let rules: Vec<_> =
        catalog::all().iter().filter(|rule| rule.kind() == RuleKind::Change && enabled(rule.id)).collect();
    if rules.is_empty() {
        return Vec::new();
    }
    let view = View::new(files, declared);
    let mut found = Reporter::default();
    for rule in rules {
        let name = rule.detector.trim_start_matches("change/");
        if let Some((_, scan)) = DETECTORS.iter().find(|(detector, _)| *detector == name) {
            found.begin(rule.id, rule.in_tests);
            scan(&view, &mut found);
        }
    }
    found.into_hits()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    /// The accesses to the whole change in a rule's module, other than iterating over its files.
    fn whole_change_accesses(rule: &str) -> Vec<String> {
        let path = format!("{}/src/change/{}.rs", env!("CARGO_MANIFEST_DIR"), rule.replace('-', "_"));
        let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let code: String = source.lines().filter(|line| !line.starts_with("//")).collect();
        let source = code.replace("change::view::", "").replace("scan(view:", "");
        let uses = source.split("view").skip(1).map(|rest| rest.chars().take(8).collect::<String>());
        uses.filter(|rest| rest.starts_with(['.', ')', ','])).filter(|rest| !rest.starts_with(".files")).collect()
    }

    #[test]
    fn per_file_rules_access_one_file_only() {
        for rule in super::PER_FILE {
            assert_eq!(whole_change_accesses(rule), Vec::<String>::new(), "{rule}");
        }
        for rule in super::PER_LINE {
            let accesses = whole_change_accesses(rule);
            assert!(
                accesses.iter().all(|rest| rest.starts_with(".removes") || rest.starts_with(')')),
                "{rule}: {accesses:?}"
            );
            assert!(!accesses.is_empty(), "{rule} accesses one file only");
        }
    }

    use insta::assert_snapshot;
    use proptest::prelude::*;
    use tollgate_core::diff;

    use super::*;

    /// The diff of a file with one hunk that begins at line 10; each line has its diff marker.
    fn file_diff(path: &str, head: &str, lines: &[String]) -> String {
        let count = |mark: char| lines.iter().filter(|line| line.starts_with([' ', mark])).count();
        let mut text = format!("diff --git a/{path} b/{path}\n{head}\n--- a/{path}\n+++ b/{path}\n");
        let _ = writeln!(text, "@@ -10,{} +10,{} @@", count('-'), count('+'));
        lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
        text
    }

    fn modified(path: &str, lines: &str) -> String {
        let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
        file_diff(path, "index 0123456..89abcde 100644", &lines)
    }

    /// The findings as rule, path, side and lines.
    fn findings(text: &str) -> String {
        let (files, _) = diff::parse(text.as_bytes().to_vec());
        let hits = scan(&files, ChangeContext::default(), &|_| true);
        let place = |(path, hit): &(FilePath, Hit)| {
            let side = if hit.left { "before" } else { "after" };
            format!("{} {path} {side} {}-{}", hit.rule, hit.line_start, hit.line_end)
        };
        hits.iter().map(place).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_change_rule_has_a_detector_and_every_detector_a_rule() {
        let rules = catalog::all().iter().filter(|rule| rule.kind() == RuleKind::Change);
        let mut named: Vec<&str> = rules.map(|rule| rule.detector.trim_start_matches("change/")).collect();
        let mut known: Vec<&str> = DETECTORS.iter().map(|(name, _)| *name).collect();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
    }

    #[test]
    fn removed_code_is_reported_before_the_change_with_its_old_lines() {
        let text = modified(
            "src/a.js",
            concat!(
                " function remove(req, res) {\n-  if (!req.user.isAdmin) {\n-    return res.sendStatus(403);\n",
                "-  }\n   store.remove(req.id);",
            ),
        );
        assert_snapshot!(findings(&text), @"auth-guard-removed src/a.js before 11-13");
    }

    #[test]
    fn blank_lines_after_a_removed_guard_are_not_part_of_it() {
        let text = modified(
            "app/a.py",
            " def ship(order):\n-    if not order.address:\n-        raise ValueError()\n-\n     label(order.address)",
        );
        assert_snapshot!(findings(&text), @"guard-removed app/a.py before 11-12");
    }

    #[test]
    fn removed_code_of_a_renamed_file_is_reported_under_its_old_path() {
        let lines = " function total(cart) {\n-  if (!cart.items) return 0;\n   return sum(cart.items);";
        let head = "similarity index 90%\nrename from src/old.js\nrename to src/new.js\nindex 0123456..89abcde 100644";
        let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
        let text = file_diff("src/new.js", head, &lines);
        assert_snapshot!(findings(&text), @"guard-removed src/old.js before 11-11");
    }

    #[test]
    fn added_code_is_reported_after_the_change_with_its_new_lines() {
        let text = modified("src/a.rs", " fn load() {\n-    old();\n+    // TODO: handle large files\n+    read();");
        assert_snapshot!(findings(&text), @"todo-without-reference src/a.rs after 11-11");
    }

    #[test]
    fn findings_of_one_rule_are_limited() {
        let lines = "+// TODO: later\n+\n".repeat(500);
        assert_eq!(findings(&modified("src/a.rs", &lines)).lines().count(), 25);
    }

    #[test]
    fn a_title_declares_breaks_fixes_and_removals() {
        assert!(
            ChangeContext::titled("feat(api)!: new").breaking && !ChangeContext::titled("wow! a title: yes").breaking
        );
        assert!(ChangeContext::titled("Fix(cart): x").fix && !ChangeContext::titled("prefix: x").fix);
        assert!(
            ChangeContext::titled("Remove the old page").is_removal()
                && !ChangeContext::titled("Revert \"Remove x\"").is_removal()
        );
    }

    /// Pieces of code whose removal is a finding.
    const PIECES: &[&str] = &[
        "if (!user.isAdmin) {\n  return res.sendStatus(403);\n}",
        "if (items.length > limit) throw new RangeError('items');",
        "validateOrder(order, customer);",
        "it('charges the customer once', () => {\n  expect(charge(order)).toBe(12);\n});",
        "expect(total(order)).toEqual(expected);",
        "try {\n  await push(queue);\n} catch (error) {\n  retryLater(queue);\n}",
        "loadAll()\n  .catch((error) => report(error));",
        "export function openStore(path, mode) {\n  return new Store(path, mode);\n}",
    ];

    fn pieces() -> impl Strategy<Value = Vec<String>> {
        let piece = proptest::sample::select(PIECES);
        proptest::collection::vec(piece, 1..6)
            .prop_map(|pieces| pieces.iter().flat_map(|piece| piece.lines().map(str::to_owned)).collect())
    }

    fn about_removed_code(rule: &str) -> bool {
        let prefixes = ["guard", "auth-guard", "test-", "assertion", "api-", "error-handling", "limit"];
        prefixes.iter().any(|prefix| rule.starts_with(prefix))
    }

    fn losses(text: &str) -> Vec<String> {
        findings(text).lines().filter(|line| about_removed_code(line)).map(str::to_owned).collect()
    }

    #[test]
    fn removed_code_is_reported_unless_it_moved() {
        let removed = |piece: &str| {
            let lines = piece.lines().map(|line| format!("-{line}"));
            let all =
                std::iter::once(" start(order);".to_owned()).chain(lines).chain([" finish(user, items);".to_owned()]);
            losses(&file_diff("src/index.js", "index 0123456..89abcde 100644", &all.collect::<Vec<_>>())).len()
        };
        let n_losses: Vec<usize> = PIECES.iter().map(|piece| removed(piece)).collect();
        assert_eq!(n_losses, [1, 1, 0, 0, 0, 0, 0, 1]);
    }

    fn path() -> impl Strategy<Value = &'static str> {
        proptest::sample::select(vec![
            "src/index.ts",
            "test/a.test.js",
            "src/lib.rs",
            "app/a.py",
            "Cargo.toml",
            "package.json",
            "go.mod",
            "yarn.lock",
            ".github/workflows/ci.yml",
            ".gitattributes",
            "CODEOWNERS",
            ".gitmodules",
            "db/migrate/20200101000000_a.rb",
            "a.pb.go",
            ".tollgate.toml",
            "main.go",
            "src/main/java/api/A.java",
            "requirements.txt",
            "Gemfile",
        ])
    }

    fn line() -> impl Strategy<Value = String> {
        let known = proptest::sample::select(vec![
            "",
            "{",
            "}",
            "if err != nil {",
            "return err",
            "uses: a/b@main",
            "permissions:",
            "contents: write",
            "[dependencies]",
            "serde_jsom = \"1\"",
            "\"lodahs\": \"1\",",
            "// TODO",
            "# noqa",
            "#[test]",
            "fn test_a() {",
            "pub fn f(a: u8,",
            "(",
            "resolved \"http://x\"",
            "@login_required",
            "def f(a, b):",
            "try:",
            "except E:",
            "func (s *S) F(",
            "url = a",
            "\u{feff}é",
            "* @a",
            "@Test",
            "public void f(int a) {",
            "gem 'rails'",
            "x.unwrap();",
            "verify=False",
            "it.skip('a",
            "assert x == 1",
        ]);
        let mark = proptest::sample::select(vec!['+', '-', ' ']);
        let text = prop_oneof![3 => known.prop_map(str::to_owned), 1 => "[ -~\t\u{80}-\u{ff}]{0,30}"];
        (mark, 0..3_usize, text).prop_map(|(mark, n_tabs, text)| format!("{mark}{}{text}", "\t".repeat(n_tabs)))
    }

    proptest! {
        #[test]
        fn moved_code_is_not_removed_code(lines in pieces(), indent in 0..4_usize) {
            let marked = |mark: char, indent: usize| -> Vec<String> {
                let lines = lines.iter().map(|line| format!("{mark}{}{line}", "  ".repeat(indent)));
                let first = std::iter::once(" start(order);".to_owned());
                first.chain(lines).chain([" finish(order);".to_owned()]).collect()
            };
            let head = "index 0123456..89abcde 100644";
            for (from, to) in [("src/index.js", "src/other.js"), ("test/a.test.js", "test/b.test.js")] {
                let removed = file_diff(from, head, &marked('-', 0));
                let added = file_diff(to, head, &marked('+', indent));
                prop_assert_eq!(losses(&format!("{removed}{added}")), Vec::<String>::new());
                prop_assert_eq!(losses(&format!("{added}{removed}")), Vec::<String>::new());
            }
        }

        #[test]
        fn code_with_another_indentation_is_not_removed_code(lines in pieces(), indent in 1..4_usize) {
            let removed = lines.iter().map(|line| format!("-{line}"));
            let added = lines.iter().map(|line| format!("+{}{line}", "  ".repeat(indent)));
            let all: Vec<String> = removed.chain(added).collect();
            let text = file_diff("src/index.js", "index 0123456..89abcde 100644", &all);
            prop_assert_eq!(losses(&text), Vec::<String>::new());
        }

        #[test]
        fn no_diff_makes_a_rule_panic(
            files in proptest::collection::vec((path(), proptest::collection::vec(line(), 0..40)), 0..4)
        ) {
            let head = "index 0123456..89abcde 100644";
            let text: String = files.iter().map(|(path, lines)| file_diff(path, head, lines)).collect();
            let (files, _) = diff::parse(text.into_bytes());
            for (_, hit) in scan(&files, ChangeContext::titled("fix: x"), &|_| true) {
                prop_assert!(hit.line_start >= 1 && hit.line_end >= hit.line_start && !hit.evidence.is_empty());
            }
        }

        #[test]
        fn no_bytes_make_a_rule_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut text = b"diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1,9 +1,9 @@\n".to_vec();
            text.extend(bytes);
            let (files, _) = diff::parse(text);
            prop_assert!(scan(&files, ChangeContext::default(), &|_| true).len() <= 200);
        }
    }
}
