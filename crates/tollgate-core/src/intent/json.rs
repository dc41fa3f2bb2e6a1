//! The intent as JSON. The field names are stable; see `tollgate schema`.
//!
//! ```json
//! { "bracket_tags": [{"tag": "wip", "recognized": true, "source": "title"}],
//!   "conventional": {"type": "feat", "scope": "api", "is_breaking": true, "source": "title"},
//!   "breaking_change": true,
//!   "breaking_sources": [{"source": "commit", "excerpt": "feat!: drop v1", "commit": "abc1234"}],
//!   "no_review": false, "is_wip": true, "profile_override": null, "focus_areas": [], "style_ok": false,
//!   "recognized": ["wip"], "unrecognized": [], "suggestions": {}, "references": ["PAY-77"],
//!   "commits_scanned": 30, "commits_total": 30 }
//! ```

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::finding::Category;
use crate::intent::{Breaking, Conventional, DeclaredIn, Intent, Tag, Type};
use crate::json::mirror_enum;
use crate::profile::Profile;

/// The declarations of the author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Intent")]
struct IntentJson {
    /// Every tag in brackets once: those of the title, then those of commits.
    bracket_tags: Vec<TagJson>,
    /// The declared type; null when there is none.
    conventional: Option<ConventionalJson>,
    /// True when a breaking change is declared.
    breaking_change: bool,
    /// The declarations of breaking changes.
    breaking_sources: Vec<BreakingJson>,
    /// True when the title asks for no review.
    no_review: bool,
    /// True when a tag marks the change as work in progress.
    is_wip: bool,
    /// The strictest profile requested by a tag; null when there is none.
    profile_override: Option<ProfileJson>,
    /// The categories in focus.
    focus_areas: Vec<String>,
    /// True when style findings are not wanted.
    style_ok: bool,
    /// The known tags.
    recognized: Vec<String>,
    /// The unknown tags.
    unrecognized: Vec<String>,
    /// Similar keywords for unknown tags.
    suggestions: BTreeMap<String, String>,
    /// Tickets and other pull requests in brackets.
    references: Vec<String>,
    /// The number of commits that were parsed.
    commits_scanned: usize,
    /// The total number of commits.
    commits_total: usize,
}

/// A tag in brackets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Tag")]
struct TagJson {
    /// The tag in lower case, without brackets.
    tag: String,
    /// True for a known tag.
    recognized: bool,
    /// The first occurrence.
    #[serde(flatten)]
    place: PlaceJson,
}

/// A declared type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Conventional")]
struct ConventionalJson {
    /// The type, in lower case.
    #[serde(rename = "type")]
    kind: TypeJson,
    /// The scope as written.
    scope: Option<String>,
    /// True when it is marked by `!`.
    is_breaking: bool,
    /// The source of the declaration.
    #[serde(flatten)]
    place: PlaceJson,
}

/// A declared breaking change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Breaking")]
struct BreakingJson {
    /// The source of the declaration.
    #[serde(flatten)]
    place: PlaceJson,
    /// The matching text with some context.
    excerpt: String,
}

/// The source of a declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Place")]
struct PlaceJson {
    /// The kind of source.
    source: SourceJson,
    /// For a commit: the abbreviated id.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
}

/// The kind of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Source")]
enum SourceJson {
    /// The title.
    Title,
    /// The body.
    Body,
    /// The first line of a commit.
    Commit,
}

mirror_enum! {
    /// A review profile.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(rename = "Profile")]
    enum ProfileJson mirrors Profile {
        /// All findings except nits.
        Strict,
        /// Findings from Medium on.
        Balanced,
        /// Blockers.
        Minimal,
    }
}

mirror_enum! {
    /// A type of Conventional Commits.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(rename = "Type")]
    enum TypeJson mirrors Type {
        /// A new feature.
        Feat,
        /// A bug fix.
        Fix,
        /// Documentation.
        Docs,
        /// Formatting.
        Style,
        /// A refactoring.
        Refactor,
        /// A performance improvement.
        Perf,
        /// Tests.
        Test,
        /// The build system.
        Build,
        /// Continuous integration.
        Ci,
        /// Maintenance.
        Chore,
        /// A revert.
        Revert,
    }
}

/// Writes an intent, indented, with a line break at the end.
#[must_use]
pub fn write(intent: &Intent) -> String {
    let mut text = serde_json::to_string_pretty(&IntentJson::from(intent)).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of the output of [`write()`].
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(IntentJson).into()
}

impl From<&Intent> for IntentJson {
    fn from(intent: &Intent) -> Self {
        let suggested = |tag: &Tag| Some((tag.name.clone(), tag.suggestion?.as_str().to_owned()));
        Self {
            bracket_tags: intent.tags.iter().map(TagJson::from).collect(),
            conventional: intent.conventional.as_ref().map(ConventionalJson::from),
            breaking_change: intent.is_breaking(),
            breaking_sources: intent.breaking.iter().map(BreakingJson::from).collect(),
            no_review: intent.no_review(),
            is_wip: intent.is_wip(),
            profile_override: intent.profile().map(ProfileJson::from),
            focus_areas: intent.focus().into_iter().map(|area| Category::as_str(area).to_lowercase()).collect(),
            style_ok: intent.style_ok(),
            recognized: intent.recognized().map(|keyword| keyword.as_str().to_owned()).collect(),
            unrecognized: intent.unrecognized().map(|tag| tag.name.clone()).collect(),
            suggestions: intent.tags.iter().filter_map(suggested).collect(),
            references: intent.references.clone(),
            commits_scanned: intent.n_scanned,
            commits_total: intent.n_commits,
        }
    }
}

impl From<&Tag> for TagJson {
    fn from(tag: &Tag) -> Self {
        Self { tag: tag.name.clone(), recognized: tag.keyword.is_some(), place: (&tag.place).into() }
    }
}

impl From<&Conventional> for ConventionalJson {
    fn from(conventional: &Conventional) -> Self {
        Self {
            kind: conventional.kind.into(),
            scope: conventional.scope.clone(),
            is_breaking: conventional.is_breaking,
            place: (&conventional.place).into(),
        }
    }
}

impl From<&Breaking> for BreakingJson {
    fn from(breaking: &Breaking) -> Self {
        Self { place: (&breaking.place).into(), excerpt: breaking.excerpt.clone() }
    }
}

impl From<&DeclaredIn> for PlaceJson {
    fn from(place: &DeclaredIn) -> Self {
        match place {
            DeclaredIn::Title => Self { source: SourceJson::Title, commit: None },
            DeclaredIn::Body => Self { source: SourceJson::Body, commit: None },
            DeclaredIn::Commit(sha) => Self { source: SourceJson::Commit, commit: Some(sha.clone()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::intent::{Commit, read};

    #[test]
    fn field_names_are_stable() {
        let title = "[WIP] feat(api)!: drop v1 [strict-reveiw] [PAY-77]";
        let commits = [Commit { sha: "abc1234def", message: "this breaks v1 [security-review] [strict-review]" }];
        let json: serde_json::Value = serde_json::from_str(&write(&read(title, None, &commits, false))).unwrap();
        // One line per field keeps the snapshot readable.
        let lines: Vec<String> =
            json.as_object().unwrap().iter().map(|(key, value)| format!("{key}: {value}")).collect();
        assert_snapshot!(lines.join("\n"), @r#"
        bracket_tags: [{"tag":"wip","recognized":true,"source":"title"},{"tag":"strict-reveiw","recognized":false,"source":"title"},{"tag":"security-review","recognized":true,"source":"commit","commit":"abc1234"},{"tag":"strict-review","recognized":true,"source":"commit","commit":"abc1234"}]
        conventional: {"type":"feat","scope":"api","is_breaking":true,"source":"title"}
        breaking_change: true
        breaking_sources: [{"source":"title","excerpt":"[WIP] feat(api)!: drop v1 [strict-rev"},{"source":"commit","commit":"abc1234","excerpt":"this breaks v1 [security-review"}]
        no_review: false
        is_wip: true
        profile_override: "strict"
        focus_areas: ["security"]
        style_ok: false
        recognized: ["wip","security-review","strict-review"]
        unrecognized: ["strict-reveiw"]
        suggestions: {"strict-reveiw":"strict-review"}
        references: ["PAY-77"]
        commits_scanned: 1
        commits_total: 1
        "#);
    }

    #[test]
    fn the_output_matches_the_schema() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let commits = [Commit { sha: "abc1234def", message: "fix(a)!: b [x-y] [wip]" }];
        for (title, body, commits) in [
            ("", None, &[][..]),
            ("[WIP] feat(api)!: a [minimal-review] [wpi] [A-1]", Some("BREAKING CHANGE"), &commits[..]),
            ("[no-review]", None, &commits[..]),
        ] {
            let value = serde_json::from_str(&write(&read(title, body, commits, true))).unwrap();
            let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{title}: {errors:?}");
        }
    }
}
