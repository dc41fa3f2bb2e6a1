//! Custom rules: ast-grep YAML, as its documentation describes it.
//!
//! ```yaml
//! id: no-console
//! language: TypeScript
//! severity: warning
//! message: use the logger
//! note: The console is not collected in production.
//! rule: { pattern: console.log($$$) }
//! metadata: { category: Style }
//! ```
//!
//! `severity` error, warning, info, hint become High, Medium, Low, Nit; `off`
//! disables the rule. `files` and `ignores` work as in ast-grep. Custom
//! languages are never loaded, because they are native code.

use ast_grep_config::{GlobalRules, RuleConfig, Severity as Level, from_yaml_string};
use ast_grep_core::Pattern;
use ast_grep_core::matcher::PatternNode;
use ast_grep_language::SupportLang;
use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use tollgate_core::finding::{Category, Severity};

use crate::hit::RuleMetadata;

/// A rule file as read from disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RuleSource {
    /// The path, for messages.
    pub path: String,
    /// The text.
    pub yaml: String,
}

/// A rule file that was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadRule {
    /// The file.
    pub path: String,
    /// The reason for the rejection.
    pub problem: String,
}

/// A compiled custom rule.
pub struct UserRule {
    config: RuleConfig<SupportLang>,
    files: Option<GlobSet>,
    ignores: GlobSet,
    /// Literals that every match contains.
    words: Vec<String>,
}

/// The metadata of a custom rule, sent to the parent process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRuleInfo {
    /// The rule id.
    pub id: String,
    /// The grammar.
    pub language: String,
    /// The severity, as in the report formats.
    pub severity: String,
    /// The category, as in the report formats.
    pub category: String,
    /// The message.
    pub message: String,
    /// The note.
    pub note: Option<String>,
    /// The URL of its documentation.
    pub url: Option<String>,
}

impl UserRuleInfo {
    /// The metadata for findings of this rule.
    #[must_use]
    pub fn metadata(&self) -> RuleMetadata<'_> {
        RuleMetadata {
            severity: Severity::parse_exact(&self.severity).unwrap_or(Severity::Medium),
            category: Category::parse_exact(&self.category).unwrap_or(Category::Logic),
            message: if self.message.trim().is_empty() { &self.id } else { &self.message },
            why: self.note.as_deref(),
            url: self.url.as_deref(),
        }
    }
}

impl UserRule {
    /// Parses rule files. A file with an error is rejected as a whole; the others stay.
    #[must_use]
    pub fn read_all(sources: &[RuleSource]) -> (Vec<Self>, Vec<BadRule>) {
        let (mut rules, mut bad) = (Vec::new(), Vec::new());
        for source in sources {
            match read(source) {
                Ok(read) => rules.extend(read),
                Err(problem) => bad.push(BadRule { path: source.path.clone(), problem }),
            }
        }
        (rules, bad)
    }

    /// The rule id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.config.id
    }

    pub(crate) fn config(&self) -> &RuleConfig<SupportLang> {
        &self.config
    }

    /// True when the rule applies to this grammar and path.
    #[must_use]
    pub fn wants(&self, grammar: SupportLang, path: &str) -> bool {
        self.config.language == grammar
            && !matches!(self.config.severity, Level::Off)
            && self.files.as_ref().is_none_or(|files| files.is_match(path))
            && !self.ignores.is_match(path)
    }

    /// False when the text lacks a literal of the rule's pattern, so that it cannot match.
    #[must_use]
    pub(crate) fn can_match(&self, text: &str) -> bool {
        self.words.iter().all(|word| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some())
    }

    /// The metadata of the rule.
    #[must_use]
    pub fn info(&self) -> UserRuleInfo {
        let severity = match self.config.severity {
            Level::Error => Severity::High,
            Level::Warning => Severity::Medium,
            Level::Info => Severity::Low,
            Level::Hint | Level::Off => Severity::Nit,
        };
        let category = self
            .config
            .metadata
            .as_ref()
            .and_then(|metadata| serde_json::to_value(metadata).ok())
            .and_then(|metadata| Category::parse_lenient(metadata.get("category")?.as_str()?))
            .unwrap_or(Category::Logic);
        UserRuleInfo {
            id: self.config.id.clone(),
            language: self.config.language.to_string(),
            severity: severity.as_str().to_owned(),
            category: category.as_str().to_owned(),
            message: self.config.message.clone(),
            note: self.config.note.clone(),
            url: self.config.url.clone(),
        }
    }
}

fn read(source: &RuleSource) -> Result<Vec<UserRule>, String> {
    let configs = from_yaml_string::<SupportLang>(&source.yaml, &GlobalRules::default()).map_err(|error| {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        text
    })?;
    configs.into_iter().map(compile).collect()
}

fn compile(config: RuleConfig<SupportLang>) -> Result<UserRule, String> {
    if config.id.is_empty() {
        return Err("a rule has no `id`".to_owned());
    }
    if crate::select::grammar_name(config.language).is_empty() {
        return Err(format!("rule `{}`: the language `{}` is not built in", config.id, config.language));
    }
    let files = config.files.as_ref().map(|files| globs(files)).transpose()?;
    let ignores = config.ignores.as_ref().map_or(Ok(GlobSet::empty()), |ignores| globs(ignores))?;
    let words = words(&config);
    Ok(UserRule { config, files, ignores, words })
}

/// Extracts the names and literals of the pattern, which every match contains.
///
/// Only for plain patterns, since other strictness levels compare no text; the longest first, since it is the rarest.
fn words(config: &RuleConfig<SupportLang>) -> Vec<String> {
    let rule = serde_json::to_value(&config.rule).unwrap_or_default();
    let pattern = rule.get("pattern").and_then(|pattern| pattern.as_str());
    let pattern = pattern.and_then(|pattern| Pattern::try_new(pattern, config.language).ok());
    let mut words = Vec::new();
    let mut pending: Vec<&PatternNode> = pattern.iter().map(|pattern| &pattern.node).collect();
    while let Some(node) = pending.pop() {
        match node {
            PatternNode::MetaVar { .. } => {}
            // Keywords are compared by kind, and in some languages their case does not matter.
            PatternNode::Terminal { text, is_named, .. } => words.extend(is_named.then(|| text.clone())),
            PatternNode::Internal { children, .. } => pending.extend(children),
        }
    }
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    words
}

/// Converts ast-grep's globs through their serialized form, because their type is not public.
fn globs<T: Serialize>(patterns: &[T]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let value = serde_json::to_value(pattern).map_err(|error| error.to_string())?;
        let text = value.as_str().or_else(|| value.get("glob")?.as_str()).unwrap_or_default();
        set.add(Glob::new(text.trim_start_matches("./")).map_err(|error| error.to_string())?);
    }
    set.build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &str, expected: &[&str]) {
        let yaml = format!("id: a\nlanguage: TypeScript\nrule: {rule}\n");
        let (rules, bad) = UserRule::read_all(&[RuleSource { path: "a.yml".to_owned(), yaml }]);
        assert_eq!(bad, []);
        assert_eq!(rules[0].words, expected);
    }

    #[test]
    fn literals_of_a_rule_are_in_all_its_matches() {
        check("{ pattern: console.log($$$) }", &["console", "log"]);
        check("{ pattern: new Map($A), inside: { pattern: f($B) } }", &["Map"]);
        check("{ pattern: typeof $A }", &[]);
        check("{ any: [{ pattern: a() }, { pattern: b() }] }", &[]);
        check("{ pattern: { context: 'f($A)', strictness: signature } }", &[]);
    }

    #[test]
    fn a_text_without_the_literals_cannot_match() {
        let yaml = "id: a\nlanguage: TypeScript\nrule: { pattern: console.log($$$) }\n".to_owned();
        let (rules, _) = UserRule::read_all(&[RuleSource { path: "a.yml".to_owned(), yaml }]);
        let can_match = |text| rules[0].can_match(text);
        assert!(can_match("console\n  .log(1)") && !can_match("console.info(1)") && !can_match(""));
    }
}
