//! Review profiles: how mild a finding may be, how many comments there are, which categories are left out.
//!
//! | profile | from | comments | left out | focus |
//! |---|---|---|---|---|
//! | strict | Low | 15 | – | – |
//! | balanced | Medium | 7 | style | – |
//! | minimal | High | 5 | style, doc | security, logic |

use crate::finding::{Category, Severity};

/// A review profile, the most lenient first.
///
/// The order is part of the meaning: of several profiles the strictest is `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Profile {
    /// Blockers.
    Minimal,
    /// Findings from Medium on.
    #[default]
    Balanced,
    /// All findings except nits.
    Strict,
}

impl Profile {
    /// All profiles, the strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Balanced, Self::Minimal];

    /// The name in settings and tags.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Balanced => "balanced",
            Self::Minimal => "minimal",
        }
    }

    /// Parses a name in any case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str().eq_ignore_ascii_case(text.trim()))
    }

    /// The mildest severity that becomes a comment.
    #[must_use]
    pub fn floor(self) -> Severity {
        match self {
            Self::Strict => Severity::Low,
            Self::Balanced => Severity::Medium,
            Self::Minimal => Severity::High,
        }
    }

    /// The most comments.
    #[must_use]
    pub fn cap(self) -> usize {
        match self {
            Self::Strict => 15,
            Self::Balanced => 7,
            Self::Minimal => 5,
        }
    }

    /// Ignored categories.
    #[must_use]
    pub fn ignored(self) -> &'static [Category] {
        match self {
            Self::Strict => &[],
            Self::Balanced => &[Category::Style],
            Self::Minimal => &[Category::Style, Category::Doc],
        }
    }

    /// Categories in focus.
    #[must_use]
    pub fn focus(self) -> &'static [Category] {
        match self {
            Self::Strict | Self::Balanced => &[],
            Self::Minimal => &[Category::Security, Category::Logic],
        }
    }
}
