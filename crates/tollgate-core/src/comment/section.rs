//! The sections of a comment, and the template they must follow.

use std::ops::Range;

use crate::comment::tree::{Leaf, LeafKind, Tree};
use crate::comment::{Kind, summary_text};

/// Whether a section is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    /// Required; may have no content.
    HeadingOnly,
    Optional,
    /// At least one section of this kind is required.
    Delta,
}

/// The sections of a kind of comment, in order.
pub(super) fn template(kind: Kind) -> &'static [(&'static str, Need)] {
    match kind {
        Kind::Review => &[
            ("What Changed", Need::Required),
            ("Strengths", Need::Optional),
            ("Observations", Need::Required),
            ("Suggestions", Need::Optional),
            ("Verdict", Need::Required),
        ],
        Kind::ReReview => &[
            ("Re-review", Need::HeadingOnly),
            ("What Changed", Need::Required),
            ("New Findings", Need::Delta),
            ("Resolved Findings", Need::Delta),
            ("Dismissed Findings", Need::Delta),
            ("Still Open", Need::Delta),
            ("Verdict Update", Need::Required),
        ],
        Kind::Other => &[],
    }
}

/// A summary in its `<details>`, with its sections.
pub(super) struct Page {
    pub(super) kind: Kind,
    /// The enclosing `<details>`, if any.
    pub(super) details: Option<usize>,
    /// The offset of its `<summary>`.
    pub(super) start: usize,
    pub(super) sections: Vec<Section>,
}

/// A heading and its content.
pub(super) struct Section {
    /// The heading, without the commit that the first heading of a re-review names.
    pub(super) name: String,
    /// The whole heading.
    pub(super) heading: String,
    /// The offset of the heading.
    pub(super) start: usize,
    /// The leaves after the heading.
    pub(super) leaves: Range<usize>,
    /// The index in the template.
    pub(super) position: Option<usize>,
}

impl Page {
    /// Finds the summary in a comment; `None` for other comments.
    pub(super) fn find(tree: &Tree<'_>, bot: &str) -> Option<Self> {
        let kinds = [Kind::Review, Kind::ReReview];
        let texts = kinds.map(|kind| summary_text(kind, bot).unwrap_or_default());
        let (summary, kind) = tree.summaries.iter().filter(|summary| summary.at_top).find_map(|summary| {
            let index = texts.iter().position(|text| *text == summary.text)?;
            Some((summary, kinds[index]))
        })?;
        let sections = summary.details.map(|details| sections(tree, details, kind)).unwrap_or_default();
        Some(Self { kind, details: summary.details, start: summary.start, sections })
    }

    /// The first section of a name.
    pub(super) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }
}

impl Section {
    /// The content of the section, without quotes.
    pub(super) fn shown<'t, 'a>(&self, tree: &'t Tree<'a>) -> impl Iterator<Item = &'t Leaf<'a>> {
        tree.leaves[self.leaves.clone()].iter().filter(|leaf| !leaf.quoted)
    }

    /// True when the section is empty or has only placeholders.
    pub(super) fn is_empty(&self, tree: &Tree<'_>, sentences_too: bool) -> bool {
        let leaves = &tree.leaves[self.leaves.clone()];
        if leaves.iter().any(|leaf| leaf.kind == LeafKind::Code) {
            return false;
        }
        leaves
            .iter()
            .filter(|leaf| !matches!(leaf.kind, LeafKind::Heading(_)))
            .flat_map(|leaf| &leaf.lines)
            .map(|line| line.text.trim())
            .all(|text| text.is_empty() || is_placeholder(text, sentences_too))
    }
}

/// True for `(none)` and the like; with sentences also for `No findings were resolved.`
pub(crate) fn is_placeholder(line: &str, sentences_too: bool) -> bool {
    let words = crate::fingerprint::normalise(line);
    let words: Vec<&str> = words.split(' ').collect();
    match words.as_slice() {
        ["" | "none" | "nothing" | "empty"] | ["n", "a"] => true,
        ["no" | "none" | "nothing", rest @ ..] if sentences_too && rest.len() < 8 && !line.contains([':', '[']) => {
            rest.iter().any(|word| matches!(*word, "finding" | "findings" | "issue" | "issues" | "found" | "resolved"))
        }
        _ => false,
    }
}

fn sections(tree: &Tree<'_>, details: usize, kind: Kind) -> Vec<Section> {
    let inside = |leaf: &Leaf<'_>| tree.is_inside(leaf.start, details);
    let heads = tree.leaves.iter().enumerate().filter(|(_, leaf)| {
        let heading = matches!(leaf.kind, LeafKind::Heading(1 | 2));
        heading && !leaf.quoted && leaf.item.is_none() && leaf.details == Some(details)
    });
    let heads: Vec<usize> = heads.map(|(index, _)| index).collect();
    let end = tree.leaves.iter().rposition(inside).map_or(0, |last| last + 1);
    let ends = heads.iter().skip(1).copied().chain([end]);
    let sections = heads.iter().zip(ends).map(|(&head, end)| {
        let leaf = &tree.leaves[head];
        let heading: Vec<&str> = leaf.lines.iter().flat_map(|line| line.text.split_whitespace()).collect();
        let heading = heading.join(" ");
        let is_re_review = kind == Kind::ReReview && heading.starts_with("Re-review");
        let name = if is_re_review { "Re-review".to_owned() } else { heading.clone() };
        let level_two = leaf.kind == LeafKind::Heading(2);
        let position = template(kind).iter().position(|(known, _)| *known == name).filter(|_| level_two);
        Section { name, heading, start: leaf.start, leaves: head + 1..end.max(head + 1), position }
    });
    sections.collect()
}
