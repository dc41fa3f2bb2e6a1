//! The intent as JSON, for scripts. The names are promised; see `tollgate schema`.
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
use crate::profile::Profile;

/// What the author declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Intent")]
pub struct IntentJson {
    /// Every tag in brackets once: those of the title, then those of commits.
    pub bracket_tags: Vec<TagJson>,
    /// The declared type; null when there is none.
    pub conventional: Option<ConventionalJson>,
    /// True when a breaking change is declared.
    pub breaking_change: bool,
    /// Where a breaking change is declared.
    pub breaking_sources: Vec<BreakingJson>,
    /// True when the title asks for no review.
    pub no_review: bool,
    /// True when a tag says that the work is not finished.
    pub is_wip: bool,
    /// The strictest profile that a tag asks for; null when none does.
    pub profile_override: Option<ProfileJson>,
    /// What is looked at with more care.
    pub focus_areas: Vec<String>,
    /// True when style is not to be looked at.
    pub style_ok: bool,
    /// The tags that mean something.
    pub recognized: Vec<String>,
    /// The tags that mean nothing to us.
    pub unrecognized: Vec<String>,
    /// For tags that mean nothing to us, the one that may have been meant.
    pub suggestions: BTreeMap<String, String>,
    /// Tickets and other pull requests in brackets.
    pub references: Vec<String>,
    /// How many commits were read.
    pub commits_scanned: usize,
    /// How many commits there are.
    pub commits_total: usize,
}

/// A tag in brackets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Tag")]
pub struct TagJson {
    /// The tag in lower case, without brackets.
    pub tag: String,
    /// True when it means something.
    pub recognized: bool,
    /// Where it was found first.
    #[serde(flatten)]
    pub place: PlaceJson,
}

/// A declared type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Conventional")]
pub struct ConventionalJson {
    /// The type, in lower case.
    #[serde(rename = "type")]
    pub kind: TypeJson,
    /// The scope, as it was written.
    pub scope: Option<String>,
    /// True when it is marked by `!`.
    pub is_breaking: bool,
    /// Where it was declared.
    #[serde(flatten)]
    pub place: PlaceJson,
}

/// A declared breaking change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Breaking")]
pub struct BreakingJson {
    /// Where it was declared.
    #[serde(flatten)]
    pub place: PlaceJson,
    /// The words, with a little of what is around them.
    pub excerpt: String,
}

/// Where something was declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Place")]
pub struct PlaceJson {
    /// The kind of place.
    pub source: SourceJson,
    /// For a commit: the first seven digits of its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// A kind of place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Source")]
pub enum SourceJson {
    /// The title.
    Title,
    /// The body.
    Body,
    /// The first line of a commit.
    Commit,
}

/// How much a review looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Profile")]
pub enum ProfileJson {
    /// Everything but matters of taste.
    Strict,
    /// What should be dealt with soon.
    Balanced,
    /// Blockers.
    Minimal,
}

/// A type of Conventional Commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Type")]
pub enum TypeJson {
    /// Something new.
    Feat,
    /// A repair.
    Fix,
    /// Documentation.
    Docs,
    /// Layout of code.
    Style,
    /// The same, written otherwise.
    Refactor,
    /// Something faster.
    Perf,
    /// Tests.
    Test,
    /// How it is built.
    Build,
    /// Continuous integration.
    Ci,
    /// Upkeep.
    Chore,
    /// Something taken back.
    Revert,
}

/// Writes an intent, indented, with a line break at the end.
#[must_use]
pub fn write(intent: &Intent) -> String {
    let mut text = serde_json::to_string_pretty(&IntentJson::from(intent)).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of what [`write()`] writes.
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

impl From<Profile> for ProfileJson {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Strict => Self::Strict,
            Profile::Balanced => Self::Balanced,
            Profile::Minimal => Self::Minimal,
        }
    }
}

impl From<Type> for TypeJson {
    fn from(kind: Type) -> Self {
        match kind {
            Type::Feat => Self::Feat,
            Type::Fix => Self::Fix,
            Type::Docs => Self::Docs,
            Type::Style => Self::Style,
            Type::Refactor => Self::Refactor,
            Type::Perf => Self::Perf,
            Type::Test => Self::Test,
            Type::Build => Self::Build,
            Type::Ci => Self::Ci,
            Type::Chore => Self::Chore,
            Type::Revert => Self::Revert,
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::intent::{Commit, read};

    #[test]
    fn the_names_are_those_that_were_promised() {
        let title = "[WIP] feat(api)!: drop v1 [strict-reveiw] [PAY-77]";
        let commits = [Commit { sha: "abc1234def", message: "this breaks v1 [security-review] [strict-review]" }];
        let json: serde_json::Value = serde_json::from_str(&write(&read(title, None, &commits, false))).unwrap();
        // One line for each name keeps the promise readable.
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
    fn what_is_written_follows_its_schema() {
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
