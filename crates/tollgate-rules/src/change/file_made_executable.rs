//! Detects non-executable files marked as executable.

use tollgate_core::diff::Status;

use crate::change::path;
use crate::change::view::{Reporter, View};

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.diff.status == Status::Modified) {
        let widened = file.diff.old_mode == Some(0o100_644) && file.diff.new_mode == Some(0o100_755);
        let data = matches!(
            path::ending(&file.path),
            "md" | "txt"
                | "json"
                | "toml"
                | "yml"
                | "yaml"
                | "xml"
                | "html"
                | "css"
                | "scss"
                | "svg"
                | "png"
                | "jpg"
                | "csv"
                | "lock"
                | "rs"
                | "go"
                | "java"
                | "kt"
                | "cs"
                | "c"
                | "h"
                | "cpp"
                | "hpp"
                | "ts"
                | "tsx"
                | "jsx"
                | "vue"
                | "svelte"
                | "sql"
        );
        if widened && data {
            reporter.report_file(file, "old mode 100644\nnew mode 100755".to_owned(), None);
        }
    }
}
