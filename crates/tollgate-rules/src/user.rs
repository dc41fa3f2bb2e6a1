//! A user's own rules: ast-grep YAML, as its documentation describes it.
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
//! switches the rule off. `files` and `ignores` hold as in ast-grep. Custom
//! languages are never loaded: they are native code.

use ast_grep_config::{GlobalRules, RuleConfig, Severity as Level, from_yaml_string};
use ast_grep_core::Pattern;
use ast_grep_core::matcher::PatternNode;
use ast_grep_language::SupportLang;
use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use tollgate_core::finding::{Category, Severity};

use crate::hit::RuleMetadata;

/// A file of rules, as read from disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RuleSource {
    /// Its path, for messages.
    pub path: String,
    /// Its text.
    pub yaml: String,
}

/// A rule that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadRule {
    /// The file.
    pub path: String,
    /// What is wrong with it, for people.
    pub problem: String,
}

/// A user's rule, compiled.
pub struct UserRule {
    config: RuleConfig<SupportLang>,
    files: Option<GlobSet>,
    ignores: GlobSet,
    /// Words without which its pattern matches nothing.
    words: Vec<String>,
}

/// What the review needs to know of a user's rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRuleInfo {
    /// Its name.
    pub id: String,
    /// Its grammar.
    pub language: String,
    /// Its severity, a word of the formats.
    pub severity: String,
    /// Its category, a word of the formats.
    pub category: String,
    /// Its message.
    pub message: String,
    /// Its note.
    pub note: Option<String>,
    /// Its address.
    pub url: Option<String>,
}

impl UserRuleInfo {
    /// What findings take from the rule.
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
    /// Reads a file of rules. A file with a mistake is refused as a whole; the others stay.
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

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.config.id
    }

    pub(crate) fn config(&self) -> &RuleConfig<SupportLang> {
        &self.config
    }

    /// True when the rule is for files like this one.
    #[must_use]
    pub fn wants(&self, grammar: SupportLang, path: &str) -> bool {
        self.config.language == grammar
            && !matches!(self.config.severity, Level::Off)
            && self.files.as_ref().is_none_or(|files| files.is_match(path))
            && !self.ignores.is_match(path)
    }

    /// False when the text lacks a word of the rule's pattern, so that nothing in it can match.
    #[must_use]
    pub fn can_match(&self, text: &str) -> bool {
        self.words.iter().all(|word| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some())
    }

    /// What the review needs to know of it.
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

/// The words that stand in everything the rule matches: the names and literals of its pattern.
///
/// Only of a plain pattern, since other strictness compares no text; the longest first, since it is the rarest.
fn words(config: &RuleConfig<SupportLang>) -> Vec<String> {
    let rule = serde_json::to_value(&config.rule).unwrap_or_default();
    let pattern = rule.get("pattern").and_then(|pattern| pattern.as_str());
    let pattern = pattern.and_then(|pattern| Pattern::try_new(pattern, config.language).ok());
    let mut words = Vec::new();
    let mut pending: Vec<&PatternNode> = pattern.iter().map(|pattern| &pattern.node).collect();
    while let Some(node) = pending.pop() {
        match node {
            PatternNode::MetaVar { .. } => {}
            // Keywords are compared by kind, and not every language minds their case.
            PatternNode::Terminal { text, is_named, .. } => words.extend(is_named.then(|| text.clone())),
            PatternNode::Internal { children, .. } => pending.extend(children),
        }
    }
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    words
}

/// Reads ast-grep's globs by way of their serialised form: its type has no public name.
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
    fn a_rule_asks_only_for_words_that_all_its_matches_have() {
        check("{ pattern: console.log($$$) }", &["console", "log"]);
        check("{ pattern: new Map($A), inside: { pattern: f($B) } }", &["Map"]);
        check("{ pattern: typeof $A }", &[]);
        check("{ any: [{ pattern: a() }, { pattern: b() }] }", &[]);
        check("{ pattern: { context: 'f($A)', strictness: signature } }", &[]);
    }

    #[test]
    fn a_text_without_the_words_cannot_match() {
        let yaml = "id: a\nlanguage: TypeScript\nrule: { pattern: console.log($$$) }\n".to_owned();
        let (rules, _) = UserRule::read_all(&[RuleSource { path: "a.yml".to_owned(), yaml }]);
        let can_match = |text| rules[0].can_match(text);
        assert!(can_match("console\n  .log(1)") && !can_match("console.info(1)") && !can_match(""));
    }
}
