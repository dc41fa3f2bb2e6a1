//! Detects `?` replaced by `unwrap`.

use crate::change::path::Language;
use crate::change::syntax;
use crate::change::view::{Reporter, View, patterns, squeeze};

patterns! {
    PANICS [".unwrap()", ".expect("] = r#"\.(?:unwrap\(\)|expect\("[^"]*"\))"#;
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    let files = view.files.iter().filter(|file| file.language == Language::Rust && file.stays() && file.is_source());
    for file in files {
        for block in file.blocks.iter().filter(|block| block.len() <= 60) {
            let handed_on: Vec<String> = file
                .removed_in(block)
                .filter(|line| line.text.contains('?') && !line.is_comment())
                .map(|line| squeeze(&line.text))
                .collect();
            for index in block.clone() {
                let line = &file.lines[index];
                if !line.is_added() || !PANICS.is_match(&line.text) || syntax::in_test(file, index) {
                    continue;
                }
                let before = squeeze(&PANICS.regex.replace_all(&line.text, "?"));
                if handed_on.contains(&before) {
                    reporter.report(file, index..index + 1, None);
                }
            }
        }
    }
}
