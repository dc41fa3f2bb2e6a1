//! Settings → Prompts → Code Review: two texts, each the default or a team's own, and what becomes of them.
//!
//! The page shows effective prompts; its script reads the texts again through the API, byte for byte, because here hidden
//! characters are written out.

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use tollgate_core::prompt::template::VARIABLES;
use tollgate_engine::board::{Board, Refused};
use tollgate_engine::store::board::ReviewedRow;

use crate::app::{ProjectId, Shared};
use crate::extract::Query;
use crate::pages::layout::{self, Chrome, Link, Section, Visitor};
use crate::pages::settings::Tab;
use crate::pages::{Page, words};
use crate::problem::{Kind, Problem};
use crate::view::prompt::{Level, MAX_CHARS, Prompt, PromptsBody, UsedPrompt};

/// The most features to choose from.
const MAX_EXAMPLES: usize = 50;

#[derive(Template)]
#[template(path = "settings_prompts.html")]
pub(crate) struct PromptsPage {
    chrome: Chrome,
    tab: Tab,
    /// The project whose prompts these are; none for those of all.
    project: Option<Link>,
    fields: [Field; 2],
    examples: Vec<ReviewedRow>,
    notes: Vec<String>,
    variables: [&'static str; 4],
    max_chars: usize,
}

/// One of the two texts.
struct Field {
    key: &'static str,
    label: &'static str,
    help: &'static str,
    mode: Mode,
    /// The text that holds.
    shown: String,
    /// Where it comes from, in words.
    from: String,
    has_variables: bool,
}

/// The choice for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The default of all projects.
    Inherit,
    Default,
    /// A text of one's own.
    Custom,
}

/// Which prompts are wanted.
#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    project: Option<u64>,
}

pub(crate) async fn page(
    State(app): State<Shared>,
    visitor: Visitor,
    Query(wanted): Query<Wanted>,
) -> Result<Page<PromptsPage>, Problem> {
    let id = wanted.project.map(ProjectId::try_from).transpose();
    let id = id.map_err(|_| Problem::new(Kind::NotFound, "there is no such project"))?;
    let chrome = visitor.chrome(&app, Section::Settings, "Prompts", id).await?;
    let read = move |board: &Board| {
        id.map(|id| board.project(id)).transpose()?;
        let examples = board.database().reviewed(id, MAX_EXAMPLES)?;
        Ok::<_, Refused>((PromptsBody::read(board, id)?, examples))
    };
    let (prompts, examples) = app.call(read).await?;
    let project = chrome.project.clone();
    let fields = fields(&prompts, project.as_ref());
    let notes = prompts.notes;
    Ok(Page(PromptsPage {
        chrome,
        tab: Tab::Prompts,
        project,
        fields,
        examples,
        notes,
        variables: VARIABLES,
        max_chars: MAX_CHARS,
    }))
}

fn fields(prompts: &PromptsBody, project: Option<&Link>) -> [Field; 2] {
    let field = |own: &Option<Prompt>, used: &UsedPrompt| {
        let mode = match own {
            None if project.is_some() => Mode::Inherit,
            Some(own) if own.enabled => Mode::Custom,
            None | Some(_) => Mode::Default,
        };
        (mode, used.value.clone(), from(used.level, project))
    };
    let own = &prompts.code_review;
    let (mode, shown, origin) = field(&own.review_system_prompt, &prompts.used.review_system_prompt);
    let system = Field {
        key: "reviewSystemPrompt",
        label: "System prompt",
        help: "Who the reviewer is and what it looks for. How to answer is added to it, so that answers can be read.",
        mode,
        shown,
        from: origin,
        has_variables: false,
    };
    let (mode, shown, origin) = field(&own.review_prompt_template, &prompts.used.review_prompt_template);
    let template = Field {
        key: "reviewPromptTemplate",
        label: "Review prompt template",
        help: "How a review is asked for. Variables in braces are filled in; {{ and }} stand for a brace.",
        mode,
        shown,
        from: origin,
        has_variables: true,
    };
    [system, template]
}

/// Where a text comes from, in words.
fn from(level: Level, project: Option<&Link>) -> String {
    match (level, project) {
        (Level::Default, _) => "the default".to_owned(),
        (Level::All, _) => "the custom prompt for all projects".to_owned(),
        (Level::Project, Some(project)) => format!("the custom prompt of {}", project.name),
        (Level::Project, None) => "the custom prompt of the project".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::prompt::{PromptDefaults, Prompts, UsedPrompts};

    #[track_caller]
    fn check(own: Option<bool>, level: Level, in_project: bool, expected: (Mode, &str)) {
        let project = in_project.then(|| Link { id: 1, name: "Shop".to_owned() });
        let used = UsedPrompt { level, value: "text".to_owned() };
        let prompts = PromptsBody {
            code_review: Prompts {
                review_system_prompt: own.map(|enabled| Prompt { enabled, value: "text".to_owned() }),
                review_prompt_template: None,
            },
            defaults: PromptDefaults { review_system_prompt: "", review_prompt_template: "" },
            notes: Vec::new(),
            revision: 1,
            used: UsedPrompts { review_system_prompt: used.clone(), review_prompt_template: used },
        };
        let [system, _] = fields(&prompts, project.as_ref());
        assert_eq!((system.mode, system.from.as_str()), expected);
    }

    #[test]
    fn it_is_said_what_is_chosen_and_where_what_holds_comes_from() {
        check(None, Level::Default, false, (Mode::Default, "the default"));
        check(Some(false), Level::Default, false, (Mode::Default, "the default"));
        check(Some(true), Level::All, false, (Mode::Custom, "the custom prompt for all projects"));
        check(None, Level::All, true, (Mode::Inherit, "the custom prompt for all projects"));
        check(Some(false), Level::Default, true, (Mode::Default, "the default"));
        check(Some(true), Level::Project, true, (Mode::Custom, "the custom prompt of Shop"));
    }
}
