//! The configuration file as it is written.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use tollgate_core::finding::{Category, Severity};
use tollgate_core::gate::FailOn;
use tollgate_core::profile::Profile;

use super::database::DatabaseUrl;
use super::github::GithubPart;
use super::pipeline::PipelinePart;
use super::retention::RetentionPart;
use super::reviewer::{BudgetPart, InstructionPart, ReviewerPart};
use super::sandbox::{self, SandboxPart};
use crate::failure::{self, Failure};

/// Settings of tollgate: `.tollgate.toml` at the top of a repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// The comparison and the gate.
    pub review: ReviewPart,
    /// The files that are reviewed.
    pub paths: PathsPart,
    /// The rules that run.
    pub rules: RulesPart,
    /// Suppressed findings.
    pub suppress: Vec<SuppressPart>,
    /// The resource limits of scans.
    pub limits: LimitsPart,
    /// The names in comments and commits.
    pub identity: IdentityPart,
    /// The store of past reviews; never set in a repository.
    pub store: StorePart,
    /// Models and agents, by name.
    pub reviewer: BTreeMap<String, ReviewerPart>,
    /// The budget of all models and agents together.
    pub budget: BudgetPart,
    /// Instructions to models and agents, by path.
    pub instructions: Vec<InstructionPart>,
    /// The pipeline of the board; never set in a repository.
    pub pipeline: PipelinePart,
    /// The GitHub instance and the app; never set in a repository.
    pub github: GithubPart,
    /// The retention of stored data; never set in a repository.
    pub retention: RetentionPart,
    /// The sandbox of agents and hooks: a table, or its mode alone; never set in a repository.
    #[serde(deserialize_with = "sandbox::table_or_word")]
    pub sandbox: SandboxPart,
}

/// The comparison and the gate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewPart {
    /// The branch to compare with, instead of the main branch.
    pub base: Option<String>,
    /// The mildest severity that closes the gate.
    pub fail_on: Option<FailOnWord>,
    /// The review profile: the floor, the number of comments, the ignored areas.
    pub profile: Option<ProfileWord>,
    /// The floor: milder findings are withheld. Overrides the profile.
    pub floor: Option<SeverityWord>,
    /// The maximum number of comments. Overrides the profile.
    #[serde(deserialize_with = "within::<_, 1, 1_000>")]
    #[schemars(range(min = 1, max = 1_000))]
    pub cap: Option<u64>,
    /// Areas to ignore beside those of the profile; blocking findings are never ignored.
    pub ignore: Option<Vec<CategoryWord>>,
    /// Areas to focus on.
    pub focus: Option<Vec<CategoryWord>>,
    /// Models and agents that review beside the rules, by name.
    pub reviewers: Option<Vec<String>>,
    /// How many of them must report a finding for it to count.
    #[serde(deserialize_with = "within::<_, 1, 16>")]
    #[schemars(range(min = 1, max = 16))]
    pub consensus: Option<u64>,
    /// Whether `[no-review]` in a title skips the review.
    pub allow_no_review: Option<bool>,
    /// Whether pull requests are reviewed automatically, or only on request.
    pub automatic: Option<bool>,
    /// The comments on a pull request.
    pub mode: Option<ModeWord>,
    /// Whether a clean, complete review of a pull request approves it.
    pub auto_approve: Option<bool>,
    /// The largest diff that is read; files beyond it are not reviewed.
    #[serde(deserialize_with = "within::<_, 1, 1_000_000_000>")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max_diff_bytes: Option<u64>,
}

/// The files that are reviewed. Patterns are as in `.gitignore`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PathsPart {
    /// Only these files; all when left out.
    pub include: Option<Vec<Pattern>>,
    /// Not these files.
    pub exclude: Option<Vec<Pattern>>,
}

/// The rules that run, and their severities.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RulesPart {
    /// Rules to switch off, by name; `*` stands for any characters.
    #[serde(deserialize_with = "rule_names")]
    pub disable: Option<Vec<String>>,
    /// Other severities for rules, by name.
    pub severity: Option<BTreeMap<String, SeverityWord>>,
}

/// Suppressed findings. A finding has to match all keys that are set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SuppressPart {
    /// The files.
    pub paths: Option<Vec<Pattern>>,
    /// The rule; `*` stands for any characters.
    #[serde(deserialize_with = "rule_name")]
    pub rule: Option<String>,
    /// The category.
    pub category: Option<CategoryWord>,
    /// A text in the finding's summary or evidence.
    pub text: Option<String>,
    /// Why. Critical findings are suppressed only with a reason.
    pub reason: Option<String>,
}

/// The resource limits of scans.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsPart {
    /// A larger file is not scanned.
    // A child reads a file as one message, and messages have a limit of their own.
    #[serde(deserialize_with = "within::<_, 1, 33_554_432>")]
    #[schemars(range(min = 1, max = 33_554_432))]
    pub file_bytes: Option<u64>,
    /// The timeout for one file.
    #[serde(deserialize_with = "within::<_, 1, 600>")]
    #[schemars(range(min = 1, max = 600))]
    pub file_seconds: Option<u64>,
    /// The processor time for one file.
    #[serde(deserialize_with = "within::<_, 1, 600>")]
    #[schemars(range(min = 1, max = 600))]
    pub cpu_seconds: Option<u64>,
    /// The memory of a scanning process, in MiB.
    #[serde(deserialize_with = "within::<_, 128, 65_536>")]
    #[schemars(range(min = 128, max = 65_536))]
    pub memory_mib: Option<u64>,
    /// The number of scanning processes; one per core by default.
    #[serde(deserialize_with = "within::<_, 1, 256>")]
    #[schemars(range(min = 1, max = 256))]
    pub jobs: Option<u64>,
}

/// The names in comments and commits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IdentityPart {
    /// The name in the titles of summary comments.
    #[serde(deserialize_with = "bot")]
    #[schemars(length(min = 1, max = 40))]
    pub bot: Option<String>,
    /// The name in the commit messages of the board. Never set in a repository.
    #[serde(deserialize_with = "bot")]
    #[schemars(length(min = 1, max = 40))]
    pub pipeline: Option<String>,
}

/// The store of past reviews.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StorePart {
    /// The file.
    pub path: Option<String>,
    /// The database, instead of a file: `postgres://user@host/database`. Several machines may share one.
    pub database: Option<DatabaseUrl>,
    /// The name of this machine for servers that share the database, instead of its host name.
    #[serde(deserialize_with = "bot")]
    #[schemars(length(min = 1, max = 40))]
    pub machine: Option<String>,
    /// Whether reviews are stored at all.
    pub enabled: Option<bool>,
}

same_variants!(ProfileWord => Profile: Strict Balanced Minimal);
same_variants!(SeverityWord => Severity: Critical High Medium Low Nit Praise);
same_variants!(CategoryWord => Category: Compliance Security Logic Error Type Test Perf Architecture Style Doc);

/// The review profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProfileWord {
    /// Everything but nits.
    Strict,
    /// Findings that should be fixed.
    Balanced,
    /// Blockers only.
    Minimal,
}

/// The comments on a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModeWord {
    /// A summary, and comments at lines.
    #[default]
    Standard,
    /// Comments at lines only.
    Enhanced,
}

/// The severities that close the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailOnWord {
    /// Critical findings.
    Critical,
    /// High findings and worse.
    High,
    /// Medium findings and worse.
    Medium,
    /// Low findings and worse.
    Low,
    /// Nothing.
    Never,
}

impl From<FailOnWord> for FailOn {
    fn from(word: FailOnWord) -> Self {
        match word {
            FailOnWord::Critical => Self::Severity(Severity::Critical),
            FailOnWord::High => Self::Severity(Severity::High),
            FailOnWord::Medium => Self::Severity(Severity::Medium),
            FailOnWord::Low => Self::Severity(Severity::Low),
            FailOnWord::Never => Self::Never,
        }
    }
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words are those of `Severity`, where they are explained")]
pub enum SeverityWord {
    #[serde(alias = "Critical")]
    Critical,
    #[serde(alias = "High")]
    High,
    #[serde(alias = "Medium")]
    Medium,
    #[serde(alias = "Low")]
    Low,
    #[serde(alias = "Nit")]
    Nit,
    #[serde(alias = "Praise")]
    Praise,
}

/// The category of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words are those of `Category`, where they are explained")]
pub enum CategoryWord {
    #[serde(alias = "Compliance")]
    Compliance,
    #[serde(alias = "Security")]
    Security,
    #[serde(alias = "Logic")]
    Logic,
    #[serde(alias = "Error")]
    Error,
    #[serde(alias = "Type")]
    Type,
    #[serde(alias = "Test")]
    Test,
    #[serde(alias = "Perf")]
    Perf,
    #[serde(alias = "Architecture")]
    Architecture,
    #[serde(alias = "Style")]
    Style,
    #[serde(alias = "Doc")]
    Doc,
}

/// A valid pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pattern(String);

impl Pattern {
    /// Reads a pattern as in `.gitignore`, without `!`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim_matches('/').is_empty() || text.starts_with('!') {
            return Err(format!("`{text}` is not a pattern of paths"));
        }
        super::path_glob(text)
            .map(|_| Self(text.to_owned()))
            .map_err(|error| format!("`{text}` is not a pattern of paths: {}", error.kind()))
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a number within bounds.
pub(super) fn within<'de, D, const MIN: u64, const MAX: u64>(from: D) -> Result<Option<u64>, D::Error>
where
    D: Deserializer<'de>,
{
    let number = i64::deserialize(from)?;
    match u64::try_from(number) {
        Ok(number) if (MIN..=MAX).contains(&number) => Ok(Some(number)),
        _ => Err(D::Error::custom(format!("expected a number from {MIN} to {MAX}, found `{number}`"))),
    }
}

// The name stands in a heading that scripts search for, so it is plain text.
fn bot<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(from)?;
    let plain = |character: char| character.is_alphanumeric() || " -_.".contains(character);
    let fits = (1..=40).contains(&name.chars().count()) && name.trim() == name && name.chars().all(plain);
    if fits {
        Ok(Some(name))
    } else {
        Err(D::Error::custom("expected a name of 1 to 40 letters, digits, `-`, `_`, `.`"))
    }
}

fn rule_name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(from)?;
    check_rule_name(&name).map_err(D::Error::custom)?;
    Ok(Some(name))
}

fn rule_names<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    for name in &names {
        check_rule_name(name).map_err(D::Error::custom)?;
    }
    Ok(Some(names))
}

fn check_rule_name(name: &str) -> Result<(), String> {
    let wrong = |error: globset::Error| format!("`{name}` is not a pattern of rule names: {}", error.kind());
    globset::Glob::new(name).map(|_| ()).map_err(wrong)
}

impl File {
    /// Appends the lists of another file.
    pub(super) fn append(&mut self, other: &Self) {
        let grow = |mine: &mut Option<Vec<Pattern>>, other: &Option<Vec<Pattern>>| {
            if let Some(other) = other {
                mine.get_or_insert_default().extend(other.iter().cloned());
            }
        };
        grow(&mut self.paths.include, &other.paths.include);
        grow(&mut self.paths.exclude, &other.paths.exclude);
        for (mine, other) in
            [(&mut self.review.ignore, &other.review.ignore), (&mut self.review.focus, &other.review.focus)]
        {
            if let Some(other) = other {
                mine.get_or_insert_default().extend(other);
            }
        }
        if let Some(disable) = &other.rules.disable {
            self.rules.disable.get_or_insert_default().extend(disable.iter().cloned());
        }
        if let Some(severity) = &other.rules.severity {
            self.rules
                .severity
                .get_or_insert_default()
                .extend(severity.iter().map(|(name, word)| (name.clone(), *word)));
        }
    }

    /// The values that are set, with their keys, as TOML.
    pub(super) fn entries(&self) -> Vec<(String, String)> {
        let mut entries = Vec::new();
        let Ok(toml::Value::Table(parts)) = toml::Value::try_from(self) else {
            return entries;
        };
        for (part, values) in parts {
            match values {
                toml::Value::Table(values) => {
                    entries.extend(values.into_iter().map(|(key, value)| (format!("{part}.{key}"), inline(&value))));
                }
                toml::Value::Array(values) => {
                    entries.extend(values.iter().map(|value| (part.clone(), inline(value))));
                }
                _ => {}
            }
        }
        entries
    }
}

fn inline(value: &toml::Value) -> String {
    value.to_string()
}

/// Parses a file. `source` names it in messages.
pub(super) fn parse(text: &str, source: &str) -> Result<File, Failure> {
    toml::from_str(text).map_err(|error| {
        let place = match error.span() {
            Some(span) => {
                let (line_number, column) = position(text, span.start);
                format!("{source}:{line_number}:{column}")
            }
            None => source.to_owned(),
        };
        explain(&place, error.message())
    })
}

fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Translates an error of the TOML parser.
pub(super) fn explain(place: &str, message: &str) -> Failure {
    let message = message.trim().lines().next().unwrap_or_default();
    // Both messages list the wrong name and then the known ones, each in backticks.
    let (rest, is_key) = match (message.strip_prefix("unknown field `"), message.strip_prefix("unknown variant `")) {
        (Some(rest), _) => (rest, true),
        (None, Some(rest)) => (rest, false),
        (None, None) => return failure::bad_config(place, message),
    };
    let mut names = rest.split('`').step_by(2);
    let unknown = names.next().unwrap_or_default();
    let known: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    if !is_key {
        return failure::bad_config(place, &format!("unknown value `{unknown}`"))
            .hint(format!("It can be {}.", known.join(", ")));
    }
    if is_secret(unknown) {
        return failure::bad_config(
            place,
            &format!("`{unknown}` looks like a secret, and secrets are not read from files in a repository"),
        )
        .hint("Put it into an environment variable: everyone who can read the repository could read it here.");
    }
    let failure = failure::bad_config(place, &format!("unknown key `{unknown}`"));
    match nearest(unknown, &known) {
        Some(near) => failure.hint(format!("Did you mean `{near}`?")),
        None => failure.hint(format!("Known keys here are {}.", known.join(", "))),
    }
}

fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let ends = ["key", "token", "secret", "password", "passwd", "credential", "credentials"];
    ends.iter().any(|end| key == *end || key.ends_with(&format!("_{end}")) || key.ends_with(&format!("-{end}")))
}

/// The known name that is closest to a misspelt one.
pub(super) fn nearest<'a>(wrong: &str, names: &[&'a str]) -> Option<&'a str> {
    let scored = names.iter().map(|name| (strsim::jaro_winkler(wrong, name), *name));
    scored.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}
