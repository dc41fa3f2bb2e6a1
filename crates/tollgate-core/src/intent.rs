//! The author's intent: tags, Conventional Commits type and breaking changes.
//!
//! ```text
//! [WIP] feat(api)!: drop the v1 routes [security-review]
//! ```
//!
//! Parsed from the title, the body and the first lines of commits by pure functions in linear time. Parsing never fails.
//! The module `policy` decides what a declaration changes in a review.
//! All text is the author's and untrusted: renderers escape it.

use std::collections::HashSet;

use crate::finding::Category;
use crate::profile::Profile;

mod body;
mod breaking;
mod code_spans;
mod commit_sample;
pub mod commits;
mod conventional;
pub mod json;
mod tag;
pub(crate) mod text;

pub use conventional::Type;
pub use tag::Keyword;

use conventional::Header;
use tag::Bracket;

/// One commit of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit<'a> {
    /// The commit id, possibly abbreviated.
    pub sha: &'a str,
    /// The message; only its first line is parsed.
    pub message: &'a str,
}

/// The source of a declaration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DeclaredIn {
    /// The title.
    Title,
    /// The body.
    Body,
    /// A commit, by its abbreviated id.
    Commit(String),
}

/// A tag in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The tag in lower case.
    pub name: String,
    /// The keyword; `None` for an unknown tag.
    pub keyword: Option<Keyword>,
    /// For an unknown tag: a similar keyword.
    pub suggestion: Option<Keyword>,
    /// The first occurrence.
    pub place: DeclaredIn,
}

/// A declared type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conventional {
    /// The type.
    pub kind: Type,
    /// The scope as written.
    pub scope: Option<String>,
    /// True when it is marked by `!`.
    pub is_breaking: bool,
    /// The source of the declaration.
    pub place: DeclaredIn,
}

/// A declared breaking change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaking {
    /// The source of the declaration.
    pub place: DeclaredIn,
    /// The matching text with some context.
    pub excerpt: String,
}

/// The declarations of the author.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Intent {
    /// Every tag once: those of the title, then those of commits.
    pub tags: Vec<Tag>,
    /// Tickets and other pull requests in brackets, as written, each once.
    pub references: Vec<String>,
    /// The type of the title, else the highest-ranked type of the commits.
    pub conventional: Option<Conventional>,
    /// The declarations of breaking changes, one per source.
    pub breaking: Vec<Breaking>,
    /// True for a draft.
    pub draft: bool,
    /// The number of commits that were parsed.
    pub n_scanned: usize,
    /// The total number of commits.
    pub n_commits: usize,
    /// A human-readable note on input that was not parsed.
    pub problem: Option<String>,
}

/// Parses the declarations of the author.
#[must_use]
pub fn read(title: &str, body: Option<&str>, commits: &[Commit<'_>], draft: bool) -> Intent {
    let mut intent = Intent { draft, n_commits: commits.len(), ..Intent::default() };
    let mut seen = Seen::default();
    let header = conventional::parse(title);
    intent.take_tags(title, &|| DeclaredIn::Title, &mut seen);
    intent.take_breaking(title, header.as_ref(), &|| DeclaredIn::Title);
    if let Some(excerpt) = body.and_then(body::find) {
        intent.breaking.push(Breaking { place: DeclaredIn::Body, excerpt });
    }
    if body.is_some_and(|body| body::cut(body).len() < body.len()) {
        intent.problem = Some(format!("only the first {} kB of the body were read", body::MAX_BYTES / 1024));
    }
    let mut weightiest: Option<(Header<'_>, &str)> = None;
    for index in commit_sample::indices(commits.len()) {
        let Commit { sha, message } = commits[index];
        let line = first_line(message);
        let place = || DeclaredIn::Commit(short(sha));
        let header = conventional::parse(line);
        intent.take_tags(line, &place, &mut seen);
        intent.take_breaking(line, header.as_ref(), &place);
        if let Some(header) = header {
            let weight = |header: &Header<'_>| (header.kind, !header.is_breaking);
            if weightiest.is_none_or(|(other, _)| weight(&header) < weight(&other)) {
                weightiest = Some((header, sha));
            }
        }
        intent.n_scanned += 1;
    }
    let of_title = header.map(|header| Conventional::new(&header, DeclaredIn::Title));
    let of_commits = || weightiest.map(|(header, sha)| Conventional::new(&header, DeclaredIn::Commit(short(sha))));
    intent.conventional = of_title.or_else(of_commits);
    intent
}

/// True when a title asks for no review. Needs only the title, so it can be checked before anything is fetched.
#[must_use]
pub fn skips_review(title: &str) -> bool {
    let mut skips = false;
    tag::scan(title, &mut |bracket| {
        skips |= bracket == Bracket::Known(Keyword::NoReview);
        !skips
    });
    skips
}

/// Declarations seen so far; hashed, because a hostile title may have a hundred thousand tags.
#[derive(Default)]
struct Seen {
    keywords: u16,
    unknown: HashSet<String>,
    references: HashSet<String>,
}

impl Intent {
    /// The known tags.
    pub fn recognized(&self) -> impl Iterator<Item = Keyword> {
        self.tags.iter().filter_map(|tag| tag.keyword)
    }

    /// The unknown tags.
    pub fn unrecognized(&self) -> impl Iterator<Item = &Tag> {
        self.tags.iter().filter(|tag| tag.keyword.is_none())
    }

    /// The tag of a keyword, if present.
    #[must_use]
    pub fn tag(&self, keyword: Keyword) -> Option<&Tag> {
        self.tags.iter().find(|tag| tag.keyword == Some(keyword))
    }

    /// True when the title asks for no review; tags of commits do not count.
    #[must_use]
    pub fn no_review(&self) -> bool {
        self.tag(Keyword::NoReview).is_some_and(|tag| tag.place == DeclaredIn::Title)
    }

    /// True when a tag marks the change as work in progress.
    #[must_use]
    pub fn is_wip(&self) -> bool {
        self.recognized().any(|keyword| matches!(keyword, Keyword::Wip | Keyword::Draft))
    }

    /// The strictest requested profile.
    #[must_use]
    pub fn profile(&self) -> Option<Profile> {
        self.recognized().filter_map(profile_of).max()
    }

    /// The categories in focus.
    #[must_use]
    pub fn focus(&self) -> Vec<Category> {
        self.tag(Keyword::SecurityReview).map(|_| Category::Security).into_iter().collect()
    }

    /// True when style findings are not wanted.
    #[must_use]
    pub fn style_ok(&self) -> bool {
        self.tag(Keyword::StyleOk).is_some()
    }

    /// True when the declared type is `fix`.
    #[must_use]
    pub fn is_fix(&self) -> bool {
        self.conventional.as_ref().is_some_and(|declared| declared.kind == Type::Fix)
    }

    /// True when a breaking change is declared.
    #[must_use]
    pub fn is_breaking(&self) -> bool {
        !self.breaking.is_empty()
    }

    fn take_tags(&mut self, line: &str, place: &dyn Fn() -> DeclaredIn, seen: &mut Seen) {
        tag::scan(line, &mut |bracket| {
            match bracket {
                Bracket::Known(keyword) => {
                    let bit = 1 << keyword as u16;
                    if seen.keywords & bit == 0 {
                        seen.keywords |= bit;
                        let name = keyword.as_str().to_owned();
                        self.tags.push(Tag { name, keyword: Some(keyword), suggestion: None, place: place() });
                    }
                }
                Bracket::Unknown(tag) => {
                    let name = tag.to_lowercase();
                    if seen.unknown.insert(name.clone()) {
                        let suggestion = Keyword::nearest(&name);
                        self.tags.push(Tag { name, keyword: None, suggestion, place: place() });
                    }
                }
                Bracket::Reference(reference) => {
                    if seen.references.insert(reference.to_owned()) {
                        self.references.push(reference.to_owned());
                    }
                }
            }
            true
        });
    }

    fn take_breaking(&mut self, line: &str, header: Option<&Header<'_>>, place: &dyn Fn() -> DeclaredIn) {
        let marked = header.filter(|header| header.is_breaking).map(|header| header.start..header.end);
        if let Some(range) = marked.or_else(|| breaking::find(line)) {
            self.breaking.push(Breaking { place: place(), excerpt: breaking::excerpt(line, &range) });
        }
    }
}

impl Conventional {
    fn new(header: &Header<'_>, place: DeclaredIn) -> Self {
        let scope = header.scope.map(str::to_owned);
        Self { kind: header.kind, scope, is_breaking: header.is_breaking, place }
    }
}

/// The profile that a keyword requests.
pub(crate) fn profile_of(keyword: Keyword) -> Option<Profile> {
    match keyword {
        Keyword::StrictReview => Some(Profile::Strict),
        Keyword::BalancedReview => Some(Profile::Balanced),
        Keyword::MinimalReview => Some(Profile::Minimal),
        Keyword::Wip | Keyword::Draft | Keyword::NoReview | Keyword::SecurityReview | Keyword::StyleOk => None,
    }
}

/// A title or a subject without leading tags and without its declared type.
#[must_use]
pub(crate) fn without_declarations(title: &str) -> &str {
    let rest = conventional::after_tags(title);
    match conventional::parse(title) {
        Some(header) if !title[header.end..].trim().is_empty() => title[header.end..].trim_start(),
        Some(_) | None if rest.is_empty() => title,
        Some(_) | None => rest,
    }
}

fn first_line(message: &str) -> &str {
    let message = message.trim_start_matches(['\n', '\r']);
    let end = memchr::memchr2(b'\n', b'\r', message.as_bytes()).unwrap_or(message.len());
    &message[..end]
}

/// The first seven digits of a commit id.
fn short(sha: &str) -> String {
    sha.trim_start().chars().take_while(char::is_ascii_hexdigit).take(7).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
