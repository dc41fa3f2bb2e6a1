//! Parses the Conventional Commits type of a title.
//!
//! ```text
//! feat(api)!: drop v1        the form of Conventional Commits 1.0
//! feat!(api): drop v1        the other order, which is in use too
//! [WIP] Fix : off by one     tags come before, any case
//! ```

/// The type of a change, highest rank first.
///
/// The order is part of the meaning: where only commits declare a type, the highest-ranked one applies, so that one `docs`
/// commit does not lighten the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// A new feature.
    Feat,
    /// A bug fix.
    Fix,
    /// A performance improvement.
    Perf,
    /// A revert.
    Revert,
    /// A refactoring.
    Refactor,
    /// The build system.
    Build,
    /// Continuous integration.
    Ci,
    /// Tests.
    Test,
    /// Formatting.
    Style,
    /// Maintenance.
    Chore,
    /// Documentation.
    Docs,
}

impl Type {
    /// All types, highest rank first.
    pub const ALL: [Self; 11] = [
        Self::Feat,
        Self::Fix,
        Self::Perf,
        Self::Revert,
        Self::Refactor,
        Self::Build,
        Self::Ci,
        Self::Test,
        Self::Style,
        Self::Chore,
        Self::Docs,
    ];

    /// The word as it is written in titles.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Feat => "feat",
            Self::Fix => "fix",
            Self::Perf => "perf",
            Self::Revert => "revert",
            Self::Refactor => "refactor",
            Self::Build => "build",
            Self::Ci => "ci",
            Self::Test => "test",
            Self::Style => "style",
            Self::Chore => "chore",
            Self::Docs => "docs",
        }
    }

    /// Parses the word in any case.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }
}

/// The type prefix of a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    pub(crate) kind: Type,
    pub(crate) scope: Option<&'a str>,
    pub(crate) is_breaking: bool,
    /// The start in the title, after tags.
    pub(crate) start: usize,
    /// The end, after the colon.
    pub(crate) end: usize,
}

/// Parses the type prefix of a title.
pub(crate) fn parse(title: &str) -> Option<Header<'_>> {
    let text = after_tags(title);
    let start = title.len() - text.len();
    // The longest type has eight letters, so other titles are rejected at once.
    let n_letters = text.bytes().take(9).take_while(u8::is_ascii_alphabetic).count();
    let kind = Type::parse(&text[..n_letters])?;
    let rest = &text[n_letters..];
    let (early, rest) = mark(rest);
    let (scope, rest) = scope(rest)?;
    let (late, rest) = mark(rest);
    let rest = rest.trim_start().strip_prefix(':')?;
    Some(Header { kind, scope, is_breaking: early || late, start, end: title.len() - rest.len() })
}

/// Strips leading tags.
pub(super) fn after_tags(title: &str) -> &str {
    let mut text = title.trim_start();
    while let Some(inside) = text.strip_prefix('[') {
        let Some(close) = memchr::memchr(b']', inside.as_bytes()) else { break };
        text = inside[close + 1..].trim_start();
    }
    text
}

fn mark(text: &str) -> (bool, &str) {
    text.strip_prefix('!').map_or((false, text), |rest| (true, rest))
}

/// Parses an optional scope; `None` when it is malformed.
fn scope(text: &str) -> Option<(Option<&str>, &str)> {
    let Some(inside) = text.strip_prefix('(') else { return Some((None, text)) };
    let (scope, rest) = inside.split_once(')')?;
    let scope = scope.trim();
    (!scope.is_empty()).then_some((Some(scope), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(title: &str, expected: &str) {
        let said = parse(title).map_or("none".to_owned(), |header| {
            let scope = header.scope.map(|scope| format!("({scope})")).unwrap_or_default();
            let breaking = if header.is_breaking { "!" } else { "" };
            format!("{}{scope}{breaking} in {}", header.kind.as_str(), &title[header.start..header.end])
        });
        assert_eq!(said, expected, "{title:?}");
    }

    #[test]
    fn every_type_is_read_in_any_case() {
        for kind in Type::ALL {
            let word = kind.as_str();
            check(&format!("{word}: x"), &format!("{word} in {word}:"));
            let upper = word.to_uppercase();
            check(&format!("{upper}: x"), &format!("{word} in {upper}:"));
        }
    }

    #[test]
    fn the_breaking_mark_may_be_before_or_after_the_scope() {
        check("feat!: x", "feat! in feat!:");
        check("feat(api)!: x", "feat(api)! in feat(api)!:");
        check("feat!(api): x", "feat(api)! in feat!(api):");
        check("feat(api): x!", "feat(api) in feat(api):");
    }

    #[test]
    fn the_scope_is_optional_and_keeps_its_case() {
        check("fix( Core/API ): x", "fix(Core/API) in fix( Core/API ):");
        check("fix : x", "fix in fix :");
        check("fix:x", "fix in fix:");
    }

    #[test]
    fn tags_before_the_type_are_skipped() {
        check("[WIP] feat: x", "feat in feat:");
        check(" [WIP][ABC-1]\u{a0}[x] docs(a): x", "docs(a) in docs(a):");
    }

    #[test]
    fn anything_else_declares_no_type() {
        for title in ["", "feat", "feature: x", "feat x: y", "feat(: x", "feat(): x", "a feat: x", "[feat: x", "ſix: x"]
        {
            check(title, "none");
        }
    }
}
