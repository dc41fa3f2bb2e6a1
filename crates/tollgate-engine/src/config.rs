//! Settings, and where each came from.
//!
//! Defaults, the user's file, `.tollgate.toml` at the top of the repository,
//! `TOLLGATE_*` variables and flags, in this order: a later value wins, lists
//! grow. Unknown keys are errors with a suggestion; keys for secrets are
//! refused.
//!
//! ```toml
//! [review]
//! fail_on = "high"
//!
//! [paths]
//! exclude = ["vendor/"]
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use tollgate_core::finding::{Category, Severity};
use tollgate_core::gate::FailOn;
use tollgate_core::policy::{Configured, REVIEW_RULES};
use tollgate_core::suppress::Suppression;

use crate::failure::{self, Failure};
use crate::tree::{self, Entry};

mod database;
mod environment;
mod file;
pub mod github;
pub mod pipeline;
mod retention;
pub mod reviewer;
mod sandbox;

pub(crate) use database::masked;

pub use database::DatabaseUrl;
pub use github::{Github, GithubPart};
pub use pipeline::{Pipeline, PipelinePart};
pub use retention::{Retention, RetentionPart};
pub use reviewer::{Budget, Chosen, EMBEDDED};
pub use sandbox::{NetworkWord, Sandbox, SandboxMode, SandboxPart};

pub use file::{
    CategoryWord, FailOnWord, File, IdentityPart, LimitsPart, ModeWord, PathsPart, Pattern, ProfileWord, ReviewPart,
    RulesPart, SeverityWord, StorePart, SuppressPart,
};

/// The name of the file at the top of a repository.
pub const FILE_NAME: &str = ".tollgate.toml";
/// The file that `tollgate init` writes.
pub const TEMPLATE: &str = include_str!("config/template.toml");
/// The name in the titles of summary comments, unless another is set.
pub const BOT: &str = "Kodiai";
/// The largest configuration file.
const MAX_BYTES: u64 = 1024 * 1024;

/// All settings, resolved.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The branch to compare with; `None` to find the main branch.
    pub base: Option<String>,
    /// The mildest severity that closes the gate.
    pub fail_on: FailOn,
    /// Overrides of the review policy.
    pub policy: Configured,
    /// Whether `[no-review]` in a title skips the review.
    pub allow_no_review: bool,
    /// True to review pull requests automatically; otherwise only on request.
    pub automatic: bool,
    /// The name in the titles of summary comments.
    pub bot: String,
    /// The SQLite file of past reviews; `None` for the one in the user's data folder.
    pub store: Option<PathBuf>,
    /// The PostgreSQL database instead of a file.
    pub database: Option<DatabaseUrl>,
    /// The name of this machine for servers that share the database; `None` for its host name.
    pub machine: Option<String>,
    /// True to store reviews.
    pub remembers: bool,
    /// The largest diff that is read.
    pub max_diff_bytes: usize,
    /// The files that are reviewed.
    pub paths: Paths,
    /// The rules that run.
    pub rules: Rules,
    /// Findings that are suppressed.
    pub suppressions: Vec<Suppression>,
    /// The resource limits of scans.
    pub limits: Limits,
    /// The models and agents that review.
    pub reviewers: Vec<Chosen>,
    /// True when `review.reviewers` is set, also to no model at all.
    pub chooses_reviewers: bool,
    /// All configured reviewers.
    pub known_reviewers: Vec<Chosen>,
    /// How many models must report a finding for it to count.
    pub consensus: usize,
    /// The budget for models.
    pub budget: Budget,
    /// Instructions to models, by path.
    pub instructions: Vec<Instruction>,
    /// The pipeline of the board.
    pub pipeline: Pipeline,
    /// The comments on a pull request.
    pub mode: ModeWord,
    /// True to approve a pull request after a clean, complete review.
    pub auto_approve: bool,
    /// The GitHub instance and the app.
    pub github: Github,
    /// The retention of stored data.
    pub retention: Retention,
    /// The sandbox of agents and hooks.
    pub sandbox: Sandbox,
    /// Each value with its source, for people.
    pub shown: Vec<SourcedValue>,
}

/// An instruction to models about some files.
#[derive(Debug, Clone)]
pub struct Instruction {
    /// The files, as they are written.
    pub paths: Vec<String>,
    files: GlobSet,
    /// The instruction.
    pub text: String,
    /// True when the repository's own file contains it.
    pub of_repository: bool,
}

impl Instruction {
    /// True when it is about this file.
    pub fn is_about(&self, path: &str) -> bool {
        self.files.is_match(path)
    }
}

/// The files that are reviewed.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    include: Option<GlobSet>,
    exclude: GlobSet,
}

/// The rules that run, and their severities.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The names that are switched off, with `*` for any characters.
    pub disable: Vec<String>,
    disabled: GlobSet,
    severity: Vec<(String, GlobMatcher, Severity)>,
}

/// The resource limits of scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A larger file is scanned in pieces of this size, up to 16 of them.
    pub file_bytes: u64,
    /// The timeout for one file.
    pub file_seconds: u64,
    /// The processor time for one file.
    pub cpu_seconds: u64,
    /// The memory of a scanning process.
    pub memory_mib: u64,
    /// The number of scanning processes; `None` for one per core.
    pub jobs: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 1024 * 1024, file_seconds: 10, cpu_seconds: 2, memory_mib: 512, jobs: None }
    }
}

/// One value and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedValue {
    /// The key: `review.fail_on`.
    pub key: String,
    /// The value as TOML.
    pub value: String,
    /// The source: `default`, `.tollgate.toml`, `TOLLGATE_REVIEW_BASE`, `--fail-on`.
    pub source: String,
}

/// Values from one source.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    /// The source, for people.
    pub source: String,
    /// The values.
    pub values: File,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            base: None,
            fail_on: FailOn::default(),
            policy: Configured::default(),
            allow_no_review: true,
            automatic: true,
            bot: BOT.to_owned(),
            store: None,
            database: None,
            machine: None,
            remembers: true,
            max_diff_bytes: 20_000_000,
            paths: Paths::default(),
            rules: Rules::default(),
            suppressions: Vec::new(),
            limits: Limits::default(),
            reviewers: Vec::new(),
            chooses_reviewers: false,
            known_reviewers: Vec::new(),
            consensus: 1,
            budget: Budget::default(),
            instructions: Vec::new(),
            pipeline: Pipeline::default(),
            mode: ModeWord::default(),
            auto_approve: false,
            github: Github::default(),
            retention: Retention::default(),
            sandbox: Sandbox::default(),
            shown: Vec::new(),
        }
    }
}

impl Settings {
    /// Merges the layers; later ones win.
    pub fn of_layers(layers: &[Layer]) -> Result<Self, Failure> {
        let mut settings = Self::default();
        let mut all = File::default();
        settings.show_defaults();
        let mut own = reviewer::BudgetPart::default();
        for layer in layers {
            let mut layer = layer.clone();
            if layer.source == FILE_NAME {
                // The money is the user's, so a repository can only lower the budget.
                layer.values.budget = layer.values.budget.within(&own);
            } else {
                own = layer.values.budget.clone();
            }
            if layer.values.store.path.is_some() && layer.values.store.database.is_some() {
                return Err(failure::two_stores(&layer.source, "`store.path`", "`store.database`"));
            }
            settings.take(&layer);
            all.append(&layer.values);
        }
        settings.paths = Paths {
            include: all.paths.include.as_deref().map(globs).transpose()?,
            exclude: globs(all.paths.exclude.as_deref().unwrap_or_default())?,
        };
        settings.rules = rules(&all.rules)?;
        let areas = |words: Option<Vec<CategoryWord>>| words.into_iter().flatten().map(Category::from).collect();
        settings.policy.ignored = areas(all.review.ignore);
        settings.policy.focus = areas(all.review.focus);
        for layer in layers {
            for (index, part) in layer.values.suppress.iter().enumerate() {
                settings.suppressions.push(suppression(part, index + 1, &layer.source)?);
            }
        }
        settings.sandbox.hidden = settings.own_files();
        settings.set_reviewers(layers)?;
        settings.shown.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(settings)
    }

    /// Finds a configured reviewer by its name.
    pub fn reviewer(&self, name: &str) -> Result<Chosen, Failure> {
        let tables = self.known_reviewers.iter().map(|chosen| (chosen.name.clone(), chosen.part.clone())).collect();
        let chosen = reviewer::find(name, &tables)?;
        Ok(Chosen { sandbox: self.sandbox.clone(), ..chosen })
    }

    /// Files that hold secrets or data of this program.
    fn own_files(&self) -> Vec<PathBuf> {
        let github = &self.github;
        let keys = [&github.private_key_file, &github.webhook_secret_file].into_iter().flatten().map(PathBuf::from);
        let store = self.store.as_deref().and_then(Path::parent).map(Path::to_owned);
        store.into_iter().chain(keys).filter(|path| path.is_absolute()).collect()
    }

    /// Resolves the reviewers. A later list replaces an earlier one, so that a flag can remove reviewers.
    fn set_reviewers(&mut self, layers: &[Layer]) -> Result<(), Failure> {
        let mut tables = BTreeMap::new();
        for layer in layers {
            for (name, part) in &layer.values.reviewer {
                let wrong = |problem: &str| failure::bad_config(&layer.source, &format!("reviewer `{name}` {problem}"));
                if !reviewer::is_name(name) {
                    return Err(wrong("has a name that is none: letters, digits, `-`, `_`, `.`, and not `rules`"));
                }
                let part = part.clone().with_preset(name);
                part.check().map_err(|problem| wrong(&problem))?;
                // The first one wins: a repository cannot change the user's own table, which may name a key.
                tables.entry(name.clone()).or_insert(part);
            }
            for part in &layer.values.instructions {
                if part.paths.is_empty() || part.text.trim().is_empty() {
                    let problem = "an entry of `instructions` needs `paths` and a `text`";
                    return Err(failure::bad_config(&layer.source, problem));
                }
                let paths = part.paths.iter().map(ToString::to_string).collect();
                let (files, text) = (globs(&part.paths)?, part.text.clone());
                self.instructions.push(Instruction { paths, files, text, of_repository: layer.source == FILE_NAME });
            }
        }
        let names = layers.iter().rev().find_map(|layer| layer.values.review.reviewers.as_deref());
        self.chooses_reviewers = names.is_some();
        let names = names.unwrap_or_default();
        let mut chosen: Vec<Chosen> = Vec::new();
        for name in names.iter().filter(|name| *name != EMBEDDED) {
            if !chosen.iter().any(|known| known.name == *name) {
                let found = reviewer::find(name, &tables)?;
                chosen.push(Chosen { sandbox: self.sandbox.clone(), ..found });
            }
        }
        let n_voices: u64 = chosen.iter().map(|chosen| chosen.part.passes.unwrap_or(1)).sum();
        if !chosen.is_empty() && self.consensus as u64 > n_voices {
            return Err(failure::no_consensus(self.consensus, n_voices));
        }
        self.reviewers = chosen;
        let sandbox = &self.sandbox;
        let known = tables.into_iter().map(|(name, part)| Chosen { name, part, sandbox: sandbox.clone() });
        self.known_reviewers = known.collect();
        Ok(())
    }

    fn show_defaults(&mut self) {
        let limits = Limits::default();
        let budget = Budget::default();
        let defaults = [
            ("review.fail_on", "\"high\"".to_owned()),
            ("review.profile", "\"balanced\"".to_owned()),
            ("review.allow_no_review", "true".to_owned()),
            ("review.automatic", "true".to_owned()),
            ("review.auto_approve", "false".to_owned()),
            ("review.mode", "\"standard\"".to_owned()),
            ("github.url", format!("\"{}\"", self.github.url)),
            ("github.concurrency", self.github.concurrency.to_string()),
            ("github.concurrency_per_repository", self.github.concurrency_per_repository.to_string()),
            ("github.concurrency_per_installation", self.github.concurrency_per_installation.to_string()),
            ("github.model_reviews_per_repository", self.github.model_reviews_per_repository.to_string()),
            ("github.model_reviews_per_author", self.github.model_reviews_per_author.to_string()),
            ("review.max_diff_bytes", self.max_diff_bytes.to_string()),
            ("review.consensus", self.consensus.to_string()),
            ("budget.tokens", budget.tokens.to_string()),
            ("budget.seconds", budget.time.as_secs().to_string()),
            ("budget.idle_seconds", budget.idle.as_secs().to_string()),
            ("budget.parallel", budget.parallel.to_string()),
            ("identity.bot", format!("\"{BOT}\"")),
            ("identity.pipeline", format!("\"{}\"", self.pipeline.name)),
            ("pipeline.at_once", self.pipeline.at_once.to_string()),
            ("pipeline.reviews_at_once", self.pipeline.reviews_at_once.to_string()),
            ("pipeline.rounds", self.pipeline.rounds.to_string()),
            ("pipeline.minutes", (self.pipeline.time.as_secs() / 60).to_string()),
            ("pipeline.idle_minutes", (self.pipeline.idle.as_secs() / 60).to_string()),
            ("pipeline.hooks", self.pipeline.hooks.to_string()),
            ("pipeline.dir", format!("\"{}\"", self.pipeline.dir)),
            ("store.enabled", "true".to_owned()),
            ("limits.file_bytes", limits.file_bytes.to_string()),
            ("limits.file_seconds", limits.file_seconds.to_string()),
            ("limits.cpu_seconds", limits.cpu_seconds.to_string()),
            ("limits.memory_mib", limits.memory_mib.to_string()),
        ];
        for (key, value) in defaults.into_iter().chain(self.retention.shown()).chain(self.sandbox.shown()) {
            self.shown.push(SourcedValue { key: key.to_owned(), value, source: "default".to_owned() });
        }
    }

    fn take(&mut self, layer: &Layer) {
        let (review, limits) = (&layer.values.review, &layer.values.limits);
        self.base = review.base.clone().or(self.base.take());
        self.fail_on = review.fail_on.map_or(self.fail_on, Into::into);
        self.policy.profile = review.profile.map(Into::into).or(self.policy.profile);
        self.policy.floor = review.floor.map(Into::into).or(self.policy.floor);
        self.policy.cap = review.cap.map(|cap| cap as usize).or(self.policy.cap);
        self.allow_no_review = review.allow_no_review.unwrap_or(self.allow_no_review);
        self.automatic = review.automatic.unwrap_or(self.automatic);
        self.bot = layer.values.identity.bot.clone().unwrap_or_else(|| std::mem::take(&mut self.bot));
        self.take_place(&layer.values.store);
        self.machine = layer.values.store.machine.clone().or(self.machine.take());
        self.remembers = layer.values.store.enabled.unwrap_or(self.remembers);
        self.max_diff_bytes = review.max_diff_bytes.map_or(self.max_diff_bytes, |bytes| bytes as usize);
        self.consensus = review.consensus.map_or(self.consensus, |needed| needed as usize);
        self.budget.take(&layer.values.budget);
        self.pipeline.take(&layer.values.pipeline, layer.values.identity.pipeline.as_ref());
        self.mode = review.mode.unwrap_or(self.mode);
        self.auto_approve = review.auto_approve.unwrap_or(self.auto_approve);
        self.github.take(&layer.values.github);
        self.retention.take(&layer.values.retention);
        self.sandbox.take(&layer.values.sandbox);
        let mine = &mut self.limits;
        mine.file_bytes = limits.file_bytes.unwrap_or(mine.file_bytes);
        mine.file_seconds = limits.file_seconds.unwrap_or(mine.file_seconds);
        mine.cpu_seconds = limits.cpu_seconds.unwrap_or(mine.cpu_seconds);
        mine.memory_mib = limits.memory_mib.unwrap_or(mine.memory_mib);
        mine.jobs = limits.jobs.map(|jobs| jobs as usize).or(mine.jobs);
        for (key, value) in layer.values.entries() {
            // Lists are concatenated, so each part is shown with its own source.
            if !value.starts_with(['[', '{']) {
                self.shown.retain(|shown| shown.key != key);
            }
            self.shown.push(SourcedValue { key, value, source: layer.source.clone() });
        }
    }
}

impl Settings {
    /// The last layer that sets the file or the database replaces both.
    fn take_place(&mut self, part: &StorePart) {
        if part.path.is_some() || part.database.is_some() {
            self.store = part.path.as_ref().map(PathBuf::from);
            self.database.clone_from(&part.database);
            self.shown.retain(|shown| shown.key != "store.path" && shown.key != "store.database");
        }
    }
}

impl Paths {
    /// True when a file is reviewed.
    pub fn wants(&self, path: &str) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(path)) && !self.exclude.is_match(path)
    }
}

impl Rules {
    /// True when a rule is enabled.
    pub fn enabled(&self, id: &str) -> bool {
        if REVIEW_RULES.contains(&id) {
            return !self.disable.iter().any(|name| name == id);
        }
        !self.disabled.is_match(id)
    }

    /// The configured severity of a rule; an exact name precedes one with `*`.
    pub fn severity(&self, id: &str) -> Option<Severity> {
        let exact = self.severity.iter().find(|(name, ..)| name == id);
        let found = exact.or_else(|| self.severity.iter().find(|(_, glob, _)| glob.is_match(id)));
        found.map(|(.., severity)| *severity)
    }

    /// The configured names and patterns, to detect unknown ones.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.disable.iter().map(String::as_str).chain(self.severity.iter().map(|(name, ..)| name.as_str()))
    }
}

/// Reads the settings for a repository.
///
/// `user_dir` is the user's configuration folder (`~/.config`), `variables` is
/// the environment, `flags` is the layer of the command line.
pub fn load(
    root: Option<&Path>,
    user_dir: Option<&Path>,
    variables: &[(String, String)],
    flags: Layer,
) -> Result<Settings, Failure> {
    let repository = root.map(|root| read_file(root, FILE_NAME)).transpose()?.flatten();
    load_with(repository, user_dir, variables, flags)
}

/// The same for a repository whose file was read elsewhere, as of the commit that a change is compared with.
pub fn load_at(
    repository_file: Option<Vec<u8>>,
    user_dir: Option<&Path>,
    variables: &[(String, String)],
    flags: Layer,
) -> Result<Settings, Failure> {
    let repository = repository_file.map(|text| of_repository(text, FILE_NAME.to_owned())).transpose()?;
    load_with(repository, user_dir, variables, flags)
}

fn load_with(
    repository: Option<Layer>,
    user_dir: Option<&Path>,
    variables: &[(String, String)],
    flags: Layer,
) -> Result<Settings, Failure> {
    let mut layers = Vec::new();
    layers.extend(user_dir.map(|dir| read_file(dir, "tollgate/config.toml")).transpose()?.flatten());
    layers.extend(repository);
    layers.extend(environment::layers(variables)?);
    layers.push(flags);
    Settings::of_layers(&layers)
}

/// Reads the settings file of a work tree, unparsed; `None` when there is none.
pub(crate) fn read_repository_file(root: &Path) -> Result<Option<Vec<u8>>, Failure> {
    read_text(root, FILE_NAME)
}

fn read_file(dir: &Path, name: &str) -> Result<Option<Layer>, Failure> {
    let Some(text) = read_text(dir, name)? else { return Ok(None) };
    if name == FILE_NAME {
        return of_repository(text, name.to_owned()).map(Some);
    }
    let source = dir.join(name).display().to_string();
    Ok(Some(Layer { values: parse(text, &source)?, source }))
}

fn read_text(dir: &Path, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    // The user's own file may be a symbolic link, as dotfile managers make them; one in a repository may not.
    let read = if name == FILE_NAME {
        tree::read(dir, name.as_bytes(), MAX_BYTES)
    } else {
        tree::read_own(&dir.join(name), MAX_BYTES)
    };
    match read {
        Ok(Entry::File { content, .. }) => Ok(Some(content)),
        Ok(Entry::Other) => Ok(None),
        Ok(Entry::TooLarge(_)) => Err(failure::bad_config(name, "the file is larger than 1 MiB")),
        Ok(Entry::Link(_)) => Err(failure::bad_config(name, "symbolic links are not followed")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failure::unreadable(&dir.join(name), &error)),
    }
}

fn parse(text: Vec<u8>, source: &str) -> Result<File, Failure> {
    let text = String::from_utf8(text).map_err(|_| failure::bad_config(source, "the file is not UTF-8"))?;
    file::parse(&text, source)
}

/// Parses the file of a repository, which must not contain keys of the user's.
fn of_repository(text: Vec<u8>, source: String) -> Result<Layer, Failure> {
    let values = parse(text, &source)?;
    if values.store != StorePart::default() {
        return Err(failure::store_in_repository(&source));
    }
    if values.pipeline != PipelinePart::default() || values.identity.pipeline.is_some() {
        return Err(failure::pipeline_in_repository(&source));
    }
    if values.retention != RetentionPart::default() {
        return Err(failure::retention_in_repository(&source));
    }
    if values.sandbox != SandboxPart::default() {
        return Err(failure::sandbox_in_repository(&source));
    }
    if values.github != GithubPart::default() {
        return Err(failure::github_in_repository(&source));
    }
    for (name, part) in &values.reviewer {
        if let Some(field) = part.own_only().next() {
            return Err(failure::own_only(&source, name, field));
        }
    }
    Ok(Layer { values, source })
}

/// The JSON Schema of the configuration file.
pub fn schema() -> serde_json::Value {
    // TOML has no null: a value that is not set is left out of the defaults.
    let no_null = |schema: &mut Schema| match schema.get_mut("default") {
        Some(serde_json::Value::Object(values)) => values.retain(|_, value| !value.is_null()),
        Some(serde_json::Value::Null) => {
            schema.remove("default");
        }
        _ => {}
    };
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(no_null));
    settings.into_generator().into_root_schema_for::<File>().into()
}

fn rules(part: &RulesPart) -> Result<Rules, Failure> {
    let disable: Vec<String> = part.disable.clone().unwrap_or_default();
    let mut disabled = GlobSetBuilder::new();
    for name in &disable {
        disabled.add(rule_glob(name)?);
    }
    let mut severity = Vec::new();
    for (name, &word) in part.severity.iter().flatten() {
        severity.push((name.clone(), rule_glob(name)?.compile_matcher(), word.into()));
    }
    let disabled = disabled.build().map_err(|error| failure::bad_config("rules.disable", &error.to_string()))?;
    Ok(Rules { disable, disabled, severity })
}

fn rule_glob(name: &str) -> Result<globset::Glob, Failure> {
    globset::Glob::new(name).map_err(|error| failure::bad_config("rules", &error.to_string()))
}

fn suppression(part: &SuppressPart, number: usize, source: &str) -> Result<Suppression, Failure> {
    let empty = part.paths.is_none() && part.rule.is_none() && part.category.is_none() && part.text.is_none();
    if empty {
        // It would suppress all findings.
        let problem = format!("suppress #{number} must set `paths`, `rule`, `category` or `text`");
        return Err(failure::bad_config(source, &problem));
    }
    let rule = part.rule.as_deref().map(rule_glob).transpose()?.map(|glob| glob.compile_matcher());
    let paths = part.paths.as_deref().map(globs).transpose()?;
    Ok(Suppression {
        name: format!("suppress #{number} in {source}"),
        paths,
        rule,
        category: part.category.map(Into::into),
        text: part.text.clone(),
        reason: part.reason.clone(),
    })
}

fn globs(patterns: &[Pattern]) -> Result<GlobSet, Failure> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(path_glob(pattern.as_str()).map_err(|error| failure::bad_config("paths", &error.to_string()))?);
    }
    set.build().map_err(|error| failure::bad_config("paths", &error.to_string()))
}

/// A pattern as in `.gitignore`: without a slash it matches in every folder, with one at its end everything below.
fn path_glob(pattern: &str) -> Result<globset::Glob, globset::Error> {
    let folder = pattern.ends_with('/');
    let trimmed = pattern.trim_start_matches("./").trim_end_matches('/');
    let anchored = trimmed.contains('/');
    let trimmed = trimmed.trim_start_matches('/');
    let (before, after) = (if anchored { "" } else { "**/" }, if folder { "/**" } else { "" });
    GlobBuilder::new(&format!("{before}{trimmed}{after}")).literal_separator(true).build()
}

#[cfg(test)]
mod tests;
