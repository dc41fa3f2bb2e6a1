//! Custom review prompts, stored in `settings.json` as other boards do.
//!
//! The global prompts are in the data directory, those of a project in its folder. Other keys of these files are
//! preserved, and unusable prompts are not stored.

use std::cell::Cell;
use std::io::Read as _;

use serde_json::json;
use sha2::{Digest as _, Sha256};
use tollgate_core::board::{Document, DocumentError};
use tollgate_core::prompt::{DEFAULT_SYSTEM, DEFAULT_TEMPLATE, template};

use super::folder::update_file;
use super::{Board, Draft, Refused};
use crate::failure::{Failure, Kind};
use crate::reviewer::prompts;
use crate::store::board::ProjectRow;

/// The path of the prompts in the file.
const PATH: [&str; 2] = ["promptCustomization", "codeReview"];
const SYSTEM: &str = "reviewSystemPrompt";
const TEMPLATE: &str = "reviewPromptTemplate";
/// The file in the data directory.
const FILE: &str = "settings.json";
/// The maximum size of the file.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A custom prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPrompt {
    /// False when the default is used instead.
    pub enabled: bool,
    /// The text.
    pub value: String,
}

/// The custom prompts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnPrompts {
    /// The system prompt.
    pub system: Option<OwnPrompt>,
    /// The prompt template.
    pub template: Option<OwnPrompt>,
}

/// The source of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The default.
    Default,
    /// The global prompts.
    All,
    /// The project's own prompts.
    Project,
}

/// A prompt in use, and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectivePrompt {
    /// Its source.
    pub level: Level,
    /// The text.
    pub text: String,
}

/// The prompts in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectivePrompts {
    /// The system prompt.
    pub system: EffectivePrompt,
    /// The prompt template.
    pub template: EffectivePrompt,
    /// Errors of unusable prompts.
    pub notes: Vec<String>,
}

impl OwnPrompts {
    /// A revision for optimistic concurrency: other prompts have another revision.
    pub fn revision(&self) -> u64 {
        let part = |prompt: &Option<OwnPrompt>| prompt.as_ref().map(|prompt| (prompt.enabled, prompt.value.clone()));
        let text = json!([part(&self.system), part(&self.template)]).to_string();
        let hash = Sha256::digest(text.as_bytes());
        // 48 bits, which every JSON reader keeps exactly.
        hash.iter().take(6).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Refuses unusable prompts.
    pub fn check(&self) -> Result<(), String> {
        let used = |prompt: &Option<OwnPrompt>| prompt.as_ref().filter(|prompt| prompt.enabled).cloned();
        if used(&self.system).is_some_and(|prompt| prompt.value.trim().is_empty()) {
            return Err(format!("`{SYSTEM}` is enabled and empty"));
        }
        match used(&self.template).map(|prompt| template::check(&prompt.value)) {
            Some(Err(error)) => Err(format!("`{TEMPLATE}` cannot be used: {error}")),
            Some(Ok(())) | None => Ok(()),
        }
    }
}

impl Board {
    /// The global prompts, or those of a project.
    pub fn prompts(&self, project: Option<i64>) -> Result<OwnPrompts, Refused> {
        let document = match project {
            Some(project) => self.folder(&self.project(project)?)?.settings()?,
            None => self.global_settings()?,
        };
        Ok(document.as_ref().map(read).unwrap_or_default())
    }

    /// Stores the global prompts, or those of a project, if the stored ones still have the known revision.
    pub fn set_prompts(&self, project: Option<i64>, prompts: &OwnPrompts, known: Option<u64>) -> Result<(), Refused> {
        prompts.check().map_err(Refused::Invalid)?;
        let other = Cell::new(None);
        // Checked under the file's lock, so that of two concurrent saves one fails.
        let edit = |document: &mut Document| {
            let revision = read(document).revision();
            other.set(Some(revision).filter(|revision| known.is_some_and(|known| known != *revision)));
            if other.get().is_some() { Ok(()) } else { write(document, prompts) }
        };
        match project {
            Some(project) => self.folder(&self.project(project)?)?.update_settings(&edit)?,
            None => update_file(&self.home().data, FILE, &edit)?,
        };
        other.get().map_or(Ok(()), |revision| Err(Refused::Stale(revision)))
    }

    /// The prompts in use for a project, or for all projects without their own.
    pub fn prompts_in_force(&self, project: Option<i64>) -> Result<EffectivePrompts, Refused> {
        let own = match project {
            Some(project) => self.folder(&self.project(project)?)?.settings()?,
            None => None,
        };
        let sources = [("the prompts for all projects", self.global_settings()?), ("the project's own", own)];
        let texts = sources
            .each_ref()
            .map(|(name, document)| (*name, document.as_ref().map_or("{}", Document::as_str).as_bytes()));
        let read = prompts::read(&texts);
        let in_force = |text: Option<String>, from: Option<usize>, default: &str| match (text, from) {
            (Some(text), Some(0)) => EffectivePrompt { level: Level::All, text },
            (Some(text), Some(_)) => EffectivePrompt { level: Level::Project, text },
            (Some(_) | None, _) => EffectivePrompt { level: Level::Default, text: default.to_owned() },
        };
        Ok(EffectivePrompts {
            system: in_force(read.system, read.from.system, DEFAULT_SYSTEM),
            template: in_force(read.template, read.from.template, DEFAULT_TEMPLATE),
            notes: read.notes,
        })
    }

    /// The prompts in use for a project if a draft were stored.
    pub(super) fn drafted(&self, project: &ProjectRow, draft: &Draft) -> Result<prompts::Prompts, Refused> {
        let empty = || Document::new([]).map_err(|error| Refused::Invalid(error.to_string()));
        let mut document = empty()?;
        write(&mut document, &draft.prompts).map_err(|error| Refused::Invalid(error.to_string()))?;
        let global = if draft.is_for_all { None } else { self.global_settings()? };
        let global = global.map_or_else(empty, Ok)?;
        let mut read = prompts::read(&[
            ("the prompts for all projects", global.as_str().as_bytes()),
            ("the draft", document.as_str().as_bytes()),
        ]);
        if draft.is_for_all {
            let own = self.prompts(Some(project.id))?;
            for (key, _) in [(SYSTEM, &own.system), (TEMPLATE, &own.template)].iter().filter(|(_, own)| own.is_some()) {
                read.notes.push(format!("`{}` has its own `{key}`, which goes before this one", project.name));
            }
        }
        Ok(read)
    }

    fn global_settings(&self) -> Result<Option<Document>, Failure> {
        let path = self.home().data.join(FILE);
        let unusable = |why: String| Failure::new(Kind::External, format!("cannot read `{}`: {why}", path.display()));
        let file = match std::fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(error.to_string())),
        };
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|error| unusable(error.to_string()))?;
        Document::parse(&bytes).map(Some).map_err(|error| unusable(error.to_string()))
    }
}

fn read(document: &Document) -> OwnPrompts {
    let Some(prompts) = document.object(PATH[0]).and_then(|outer| outer.object(PATH[1])) else {
        return OwnPrompts::default();
    };
    let prompt = |key: &str| {
        let prompt = prompts.object(key)?;
        let value = prompt.text("value").unwrap_or_default();
        Some(OwnPrompt { enabled: prompt.flag("enabled").unwrap_or(false), value })
    };
    OwnPrompts { system: prompt(SYSTEM), template: prompt(TEMPLATE) }
}

fn write(document: &mut Document, prompts: &OwnPrompts) -> Result<(), DocumentError> {
    for (key, prompt) in [(SYSTEM, &prompts.system), (TEMPLATE, &prompts.template)] {
        match prompt {
            Some(OwnPrompt { enabled, value }) => {
                let json = json!({ "enabled": enabled, "value": value }).to_string();
                document.set_at(&[PATH[0], PATH[1], key], &json)?;
            }
            None => {
                let held = document.object(PATH[0]).and_then(|outer| outer.object(PATH[1]));
                let Some(mut held) = held.filter(|held| held.raw(key).is_some()) else { continue };
                held.remove(key);
                document.set_at(&PATH, held.as_str())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(enabled: bool, value: &str) -> Option<OwnPrompt> {
        Some(OwnPrompt { enabled, value: value.to_owned() })
    }

    #[track_caller]
    fn check(system: Option<OwnPrompt>, template: Option<OwnPrompt>, expected: Result<(), &str>) {
        let checked = OwnPrompts { system, template }.check();
        assert_eq!(checked, expected.map_err(str::to_owned));
    }

    #[test]
    fn an_unusable_prompt_is_refused_unless_it_is_disabled() {
        check(None, None, Ok(()));
        check(prompt(true, "You review."), prompt(true, "See {gitDiff}"), Ok(()));
        check(prompt(true, " \n"), None, Err("`reviewSystemPrompt` is enabled and empty"));
        check(
            None,
            prompt(true, "See {{gitDiff}}"),
            Err(
                "`reviewPromptTemplate` cannot be used: the template must contain `{gitDiff}`, or the reviewer would not see \
                 the change",
            ),
        );
        check(prompt(false, ""), prompt(false, "none"), Ok(()));
    }

    #[test]
    fn other_prompts_have_another_revision() {
        let revision = |system, template| OwnPrompts { system, template }.revision();
        let all = [
            revision(None, None),
            revision(prompt(true, ""), None),
            revision(prompt(false, ""), None),
            revision(None, prompt(true, "")),
            revision(prompt(true, "a"), None),
        ];
        let distinct: std::collections::BTreeSet<u64> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert!(all.iter().all(|revision| *revision < 1 << 53));
        assert_eq!(revision(prompt(true, "a"), None), all[4]);
    }

    #[test]
    fn stored_prompts_round_trip_and_other_keys_are_preserved() {
        let text = "{\n  \"theme\": \"dark\",\n  \"promptCustomization\": { \"autoMode\": { \"x\": 1 } },\n  \"z\": [1,2]\n}\n";
        let mut document = Document::parse(text.as_bytes()).unwrap();
        let mine = OwnPrompts { system: prompt(true, "Be \"kind\"\n"), template: prompt(false, "later") };
        write(&mut document, &mine).unwrap();
        assert_eq!(read(&document), mine);
        let value: serde_json::Value = serde_json::from_str(document.as_str()).unwrap();
        assert_eq!(value["promptCustomization"]["autoMode"]["x"], 1);
        assert!(
            document.as_str().starts_with("{\n  \"theme\": \"dark\",\n") && document.as_str().ends_with("[1,2]\n}\n")
        );
        write(&mut document, &OwnPrompts { system: None, ..mine.clone() }).unwrap();
        assert_eq!(read(&document), OwnPrompts { system: None, ..mine });
    }
}
