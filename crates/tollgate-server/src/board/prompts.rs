//! Prompts of the API and of the board.

use tollgate_core::prompt::{self, DEFAULT_SYSTEM, DEFAULT_TEMPLATE};
use tollgate_engine::board::{self, EffectivePrompt, OwnPrompt, OwnPrompts};

use crate::desk::setup::{Level, UsedPrompt, UsedPrompts};
use crate::desk::{Prompt, Prompts, PromptsInForce};

/// The prompts of the board for clients, with the defaults and what is odd about them.
pub(super) fn shown(own: OwnPrompts, used: board::EffectivePrompts) -> PromptsInForce {
    let template = own.template.as_ref().filter(|template| template.enabled);
    let mut notes = template.map(|template| prompt::lint_template(&template.value)).unwrap_or_default();
    notes.extend(own.check().err());
    let revision = own.revision();
    let prompt = |own: OwnPrompt| Prompt { enabled: own.enabled, value: own.value };
    PromptsInForce {
        own: Prompts { review_system_prompt: own.system.map(prompt), review_prompt_template: own.template.map(prompt) },
        default_system: DEFAULT_SYSTEM.to_owned(),
        default_template: DEFAULT_TEMPLATE.to_owned(),
        notes,
        revision,
        used: UsedPrompts {
            review_system_prompt: in_force(used.system),
            review_prompt_template: in_force(used.template),
        },
    }
}

fn in_force(prompt: EffectivePrompt) -> UsedPrompt {
    let level = match prompt.level {
        board::Level::Default => Level::Default,
        board::Level::All => Level::All,
        board::Level::Project => Level::Project,
    };
    UsedPrompt { level, value: prompt.text }
}

/// The prompts of a client for the board.
pub(super) fn stored(prompts: Prompts) -> OwnPrompts {
    let prompt = |prompt: Prompt| OwnPrompt { enabled: prompt.enabled, value: prompt.value };
    OwnPrompts {
        system: prompts.review_system_prompt.map(prompt),
        template: prompts.review_prompt_template.map(prompt),
    }
}
