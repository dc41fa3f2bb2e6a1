//! Detects TODO comments without an issue reference.

use crate::change::path::{self, Language};
use crate::change::view::{Reporter, View, patterns};

patterns! {
    MARK ["TODO", "FIXME", "XXX", "HACK"] = r"(?:^|[^A-Za-z0-9:'])(?://+|#+|/\*+|^\s*\*|--|<!--|;;)\s*@?(?:TODO|FIXME|XXX|HACK)\b(.*)";
    REFERENCE = concat!(
        r"#\d+|https?://|\b[A-Za-z]{2,}-\d+|^\s*[(\[@]\s*@?[\w.@/#-]+|\b[\w.-]+/[\w.-]+#\d+|!\d+|\bissue\b",
        r"|\b(?:RFC|PEP) ?\d+|(?i:ticket)|www\.|\.(?:com|org|io)/",
    );
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in &view.files {
        let known = file.language != Language::Other
            || matches!(path::ending(&file.path), "sh" | "yml" | "yaml" | "tf" | "sql" | "swift" | "scala" | "toml");
        if !known || !(file.is_test || file.is_source() || file.language == Language::Other) {
            continue;
        }
        let mut last = None;
        for (index, line) in file.added() {
            let Some(rest) = MARK.captures(&line.text).and_then(|groups| groups.get(1)) else { continue };
            let next = file
                .lines
                .get(index + 1)
                .filter(|next| next.is_added() && next.is_comment())
                .map(|next| next.text.as_ref());
            let referred = REFERENCE.is_match(rest.as_str()) || next.is_some_and(|next| REFERENCE.is_match(next));
            let again = last.is_some_and(|last| index <= last + 1);
            if !referred && !again && !view.removes(&line.text) {
                reporter.report(file, index..index + 1, None);
            }
            last = Some(index);
        }
    }
}
