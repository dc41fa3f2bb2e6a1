//! Custom prompts of a team.
//!
//! Two parts, each with a switch, in `settings.json` of the data folder and of the project; the project wins part by
//! part, and a part that is switched off is the default:
//!
//! ```json
//! { "promptCustomization": { "codeReview": {
//!     "reviewSystemPrompt": { "enabled": true, "value": "You review …" },
//!     "reviewPromptTemplate": { "enabled": false, "value": "" } } } }
//! ```

use serde_json::Value;
use tollgate_core::prompt::template;

/// Custom prompts that replace the defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompts {
    /// The system prompt.
    pub system: Option<String>,
    /// The template of the question.
    pub template: Option<String>,
    /// The source of each part: the index of the one that sets it or switches it off.
    pub from: From,
    /// Invalid parts, and why.
    pub notes: Vec<String>,
}

/// The sources of the parts, by index; `None` for a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct From {
    /// Of the system prompt.
    pub system: Option<usize>,
    /// Of the template.
    pub template: Option<usize>,
}

/// Parses the prompts; each source has a name for people. An invalid part leaves that of the source before it.
pub fn read(sources: &[(&str, &[u8])]) -> Prompts {
    let mut prompts = Prompts::default();
    for (index, (name, bytes)) in sources.iter().enumerate() {
        let settings: Value = match serde_json::from_slice(bytes) {
            Ok(settings) => settings,
            Err(error) => {
                prompts.notes.push(format!("{name} cannot be read, so its prompts are not used: {error}"));
                continue;
            }
        };
        let parts = &settings["promptCustomization"]["codeReview"];
        let check = |text: &str| if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(()) };
        match take(&mut prompts.system, &parts["reviewSystemPrompt"], check) {
            Ok(true) => prompts.from.system = Some(index),
            Ok(false) => {}
            Err(why) => prompts.notes.push(format!("`reviewSystemPrompt` of {name} is not used: {why}")),
        }
        let check = |text: &str| template::check(text).map_err(|error| error.to_string());
        match take(&mut prompts.template, &parts["reviewPromptTemplate"], check) {
            Ok(true) => prompts.from.template = Some(index),
            Ok(false) => {}
            Err(why) => prompts.notes.push(format!("`reviewPromptTemplate` of {name} is not used: {why}")),
        }
    }
    prompts
}

/// Applies one part; false when it is absent. A part that is switched off restores the default over earlier sources.
fn take(prompt: &mut Option<String>, part: &Value, check: impl Fn(&str) -> Result<(), String>) -> Result<bool, String> {
    let (Some(enabled), value) = (part["enabled"].as_bool(), part["value"].as_str()) else {
        return if part.is_null() { Ok(false) } else { Err("it has no `enabled` that is true or false".to_owned()) };
    };
    if !enabled {
        *prompt = None;
        return Ok(true);
    }
    let value = value.ok_or("it has no `value` that is a text")?;
    check(value)?;
    *prompt = Some(value.to_owned());
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(system: &str, template: &str) -> Vec<u8> {
        format!(
            r#"{{"theme":"dark","promptCustomization":{{"codeReview":{{"reviewSystemPrompt":{system},"reviewPromptTemplate":{template}}}}}}}"#
        )
        .into_bytes()
    }

    #[track_caller]
    fn check(global: (&str, &str), project: (&str, &str), expected: (Option<&str>, Option<&str>), n_notes: usize) {
        let (global, project) = (source(global.0, global.1), source(project.0, project.1));
        let prompts = read(&[("settings.json", &global), (".automaker/settings.json", &project)]);
        assert_eq!((prompts.system.as_deref(), prompts.template.as_deref()), expected);
        assert_eq!(prompts.notes.len(), n_notes, "{:?}", prompts.notes);
    }

    #[test]
    fn the_project_wins_part_by_part_and_off_means_the_default() {
        let on = |text: &str| format!(r#"{{"enabled":true,"value":"{text}"}}"#);
        let off = r#"{"enabled":false,"value":"kept for later"}"#;
        check((&on("mine"), &on("see {gitDiff}")), ("null", "null"), (Some("mine"), Some("see {gitDiff}")), 0);
        check((&on("mine"), "null"), (&on("ours"), "null"), (Some("ours"), None), 0);
        check((&on("mine"), "null"), (off, "null"), (None, None), 0);
    }

    #[test]
    fn it_is_known_which_source_decided() {
        let (on, off) = (r#"{"enabled":true,"value":"mine"}"#, r#"{"enabled":false,"value":""}"#);
        let broken = r#"{"enabled":true,"value":"no variable"}"#;
        let from = |global: (&str, &str), project: (&str, &str)| {
            let (global, project) = (source(global.0, global.1), source(project.0, project.1));
            let from = read(&[("a", &global), ("b", &project)]).from;
            (from.system, from.template)
        };
        assert_eq!(from(("null", "null"), ("null", "null")), (None, None));
        assert_eq!(from((on, "null"), ("null", off)), (Some(0), Some(1)));
        assert_eq!(from((on, off), (on, broken)), (Some(1), Some(0)));
    }

    #[test]
    fn an_invalid_prompt_is_noted_and_leaves_the_earlier_one() {
        let on = |text: &str| format!(r#"{{"enabled":true,"value":"{text}"}}"#);
        check((&on("mine"), "null"), (&on(" "), &on("no variable")), (Some("mine"), None), 2);
        check(("7", "null"), (r#"{"enabled":true}"#, r#"{"enabled":"yes"}"#), (None, None), 3);
        assert_eq!(read(&[("settings.json", b"{")]).notes.len(), 1);
    }
}
