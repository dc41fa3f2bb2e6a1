//! Detects `.gitattributes` entries that hide source code from diffs.

use crate::change::path::Language;
use crate::change::view::{Reporter, View};

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| crate::change::path::name(&file.path) == ".gitattributes") {
        for (index, line) in file.added().filter(|(_, line)| !line.is_comment()) {
            let mut words = line.text.split_whitespace();
            let Some(pattern) = words.next() else { continue };
            let hides =
                words.any(|word| matches!(word, "-diff" | "binary" | "linguist-generated" | "linguist-generated=true"));
            let built = [
                "generated",
                "gen/",
                ".pb.",
                "_pb",
                "dist",
                "vendor",
                "lock",
                "min.",
                ".g.",
                "snap",
                "mock",
                "fixture",
                "schema",
                "migrat",
            ];
            let is_code =
                Language::of(pattern) != Language::Other || matches!(pattern, "*" | "src/**" | "lib/**" | "/src/**");
            if hides && is_code && !built.iter().any(|part| pattern.contains(part)) && !view.removes(&line.text) {
                reporter.report(file, index..index + 1, None);
            }
        }
    }
}
