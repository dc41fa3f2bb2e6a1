//! Detects existing tests that the change skips.

use crate::change::path::Language;
use crate::change::syntax;
use crate::change::view::{File, Reporter, View, patterns, squeeze};

patterns! {
    MARK ["skip", "xfail", "expectedFailure", "gnore", "isabled"] = concat!(
        r"^\s*(?:@pytest\.mark\.(?:skip|xfail)\b|@(?:unittest\.)?skip\b|@unittest\.(?:skip",
        r"|expectedFailure)\b|#\[ignore\b|@(?:Disabled|Ignore)\b|\[Ignore\b)",
    );
    CALL ["kip", "markTest"] = r"^\s*(?:t\.Skip(?:f|Now)?\(|pytest\.skip\(|self\.skipTest\(|\$this->markTest(?:Skipped|Incomplete)\()";
    SCRIPT [".skip(", ".todo(", "xit(", "xtest(", "xdescribe("] = r"^\s*(?:it|test|describe)\.(?:skip|todo)\(|^\s*x(?:it|test|describe)\(";
    FACT ["Skip"] = r"^\s*\[(?:Fact|Theory)\(Skip\s*=";
    CONDITION = r"(?:skip|xfail)\w*\([^']*?(?:==|!=|<|>|\bnot\b|sys\.|platform|condition)";
    REFERENCE = r"#\d+|https?://|\b[A-Z]{2,}-\d+|\bGH-\d+";
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.stays()) {
        for (index, line) in file.added() {
            if is_skip(file, index)
                && !REFERENCE.is_match(&line.text)
                && !CONDITION.is_match(&line.text)
                && !view.removes(&line.text)
            {
                reporter.report(file, index..index + 1, None);
            }
        }
    }
}

/// True when the line skips an existing test.
fn is_skip(file: &File<'_>, index: usize) -> bool {
    let line = &file.lines[index];
    let text = line.text.as_ref();
    if MARK.is_match(text) || (file.language == Language::CSharp && FACT.is_match(text)) {
        let after = file.lines.get(index + 1..).unwrap_or_default().iter().take(6);
        let below = after.filter(|line| !line.text.trim().starts_with(['@', '#', '[']) && !line.is_blank());
        return below.into_iter().find(|line| !line.is_removed()).is_some_and(|line| !line.is_added());
    }
    if CALL.is_match(text) {
        // A conditional skip states a requirement of the test.
        let before = file.lines[..index].iter().rev().find(|line| !line.is_blank() && !line.is_removed());
        return before.is_some_and(|line| {
            !line.is_added() && syntax::is_declaration(line) && line.indent() < file.lines[index].indent()
        });
    }
    if file.language == Language::Script && SCRIPT.is_match(text) {
        let plain =
            |text: &str| squeeze(text).replace(".skip(", "(").replace(".todo(", "(").trim_start_matches('x').to_owned();
        let title = plain(text);
        return title.len() > 8 && file.removed_in(&file.near(index)).any(|line| squeeze(&line.text) == title);
    }
    false
}
