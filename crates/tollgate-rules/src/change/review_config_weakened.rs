//! Detects changes that weaken the configuration of their own review.

use tollgate_core::diff::Status;

use crate::change::view::{Reporter, View, patterns};

patterns! {
    LOOSENS = concat!(
        r#"^\s*(?:\[\[?(?:suppress\w*|ignore)\b|(?:suppress\w*|ignore\w*|exclude\w*|disable\w*|skip)\s*="#,
        r#"|(?:fail_on|floor|profile)\s*=|"?[\w-]+"?\s*=\s*(?:"off"|false)|enabled\s*=\s*false)"#,
    );
    DISABLES_ALL ["disable"] = r#"^\s*(?:rules\.)?disable\s*=.*["']\*+["']"#;
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in &view.files {
        if file.path.contains(".tollgate/rules/") && file.diff.status == Status::Deleted {
            reporter.report(file, 0..1, Some("custom review rule deleted".to_owned()));
        }
        let dismissed = file.added().find(|(_, line)| line.text.trim_start().starts_with("[[dismissal"));
        if let Some((index, _)) = dismissed.filter(|_| file.path.ends_with(".tollgate/dismissals.toml")) {
            reporter.report(
                file,
                index..index + 1,
                Some("review findings dismissed for the whole repository".to_owned()),
            );
        }
        if crate::change::path::name(&file.path) != ".tollgate.toml" || file.diff.status == Status::Deleted {
            continue;
        }
        for (index, line) in file.added() {
            // A new file weakens nothing that was there, unless it switches everything off.
            let loosens = if file.stays() { LOOSENS.is_match(&line.text) } else { DISABLES_ALL.is_match(&line.text) };
            if loosens && !view.removes(&line.text) {
                reporter.report(file, index..index + 1, None);
            }
        }
    }
}
