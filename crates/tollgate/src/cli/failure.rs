//! What can go wrong around a command, said to a person.

use std::io;
use std::path::Path;

use tollgate_engine::failure::{Failure, Kind};

pub(super) fn cannot_write(name: &str, problem: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot write `{name}`: {problem}"))
}

pub(super) fn cannot_read(name: &str, problem: &io::Error) -> Failure {
    Failure::new(Kind::User, format!("cannot read `{name}`: {problem}"))
}

pub(super) fn not_text(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is not valid UTF-8"))
}

pub(super) fn too_large(name: &str, limit: u64) -> Failure {
    Failure::new(Kind::User, format!("`{name}` has more than {limit} bytes"))
        .hint("Review it in parts, for example by naming a smaller range.")
}

pub(super) fn no_such_folder(path: &Path) -> Failure {
    Failure::new(Kind::User, format!("there is no folder `{}`", path.display()))
}

pub(super) fn no_program(problem: &io::Error) -> Failure {
    Failure::new(Kind::External, format!("cannot find the program that is running: {problem}"))
}

pub(super) fn already_there(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is already there"))
}

pub(super) fn unknown_format(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is in no format that can be read")).hint(
        "Known are tollgate's JSON and Markdown, SARIF 2.1.0, rdjson and rdjsonl; `convert --from` names one of them.",
    )
}

pub(super) fn unreadable_report(name: &str, problems: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` breaks the rules of its format:{problems}"))
        .hint("`tollgate convert --lenient` makes the best of it; `tollgate schema review` describes the JSON form.")
}

pub(super) fn no_such_language(name: &str) -> Failure {
    Failure::new(Kind::User, format!("there are no rules for `{name}`"))
}

pub(super) fn no_such_rule(id: &str) -> Failure {
    Failure::new(Kind::User, format!("there is no rule `{id}`"))
}

pub(super) fn standard_input_twice(one: &str, other: &str) -> Failure {
    Failure::new(Kind::User, format!("`{one}` and `{other}` cannot both read standard input"))
        .hint("Write one of them to a file first.")
}

pub(super) fn not_commits(name: &str, problem: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is no list of commits: {problem}"))
        .hint("Make one with `git log --oneline main..HEAD`, or name a range such as `main..HEAD`.")
}

pub(super) fn neither_file_nor_range(name: &str, why: Failure) -> Failure {
    let message = format!("`{name}` is no file, and as a range of commits: {}", why.message);
    Failure { message, ..why }
}

pub(super) fn unreadable_findings(name: &str, problem: &dyn std::error::Error) -> Failure {
    Failure::new(Kind::User, format!("`{name}` has no findings that can be compared: {problem}"))
        .hint("Give a review in any format that `tollgate convert` reads, or a JSON array of `{\"file\", \"title\", \"severity\", \"category\"}`.")
}

pub(super) fn no_diff(name: &str) -> Failure {
    Failure::new(Kind::User, format!("`{name}` is no diff")).hint("`git diff OLD NEW` writes one.")
}
