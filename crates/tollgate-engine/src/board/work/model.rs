//! Selects the model that a feature names.
//!
//! Features name models as other boards do: `opus`, `claude-opus-4-5`, `codex-gpt-5`, `cursor-auto`, `opencode/glm`.
//! The name is passed on to an agent or service of the same family only.

use crate::config::reviewer::{AgentWord, ProviderWord, ReviewerPart};

/// Sets the model of a reviewer or agent, if it is of its family.
pub(super) fn choose(part: &mut ReviewerPart, wanted: Option<&str>) {
    let Some(wanted) = wanted.filter(|wanted| is_plain(wanted)) else { return };
    let alias = |name: &str| matches!(name, "opus" | "sonnet" | "haiku");
    let model = match (part.agent, part.provider) {
        (Some(AgentWord::Claude), _) if alias(wanted) || wanted.starts_with("claude-") => Some(wanted),
        (Some(AgentWord::Codex), _) => wanted.strip_prefix("codex-"),
        (Some(AgentWord::CursorAgent), _) => wanted.strip_prefix("cursor-"),
        (Some(AgentWord::OpenCode), _) => {
            wanted.strip_prefix("opencode-").or_else(|| wanted.contains('/').then_some(wanted))
        }
        (Some(AgentWord::Gemini), _) if wanted.starts_with("gemini-") => Some(wanted),
        (None, Some(ProviderWord::Anthropic)) if wanted.starts_with("claude-") => Some(wanted),
        (None, Some(ProviderWord::Google)) if wanted.starts_with("gemini-") => Some(wanted),
        (None, Some(ProviderWord::OpenAi)) if wanted.starts_with("gpt-") => Some(wanted),
        _ => None,
    };
    if let Some(model) = model {
        part.model = Some(model.to_owned());
    }
}

/// The name becomes a command line argument, so it must not look like an option.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@+".contains(&byte);
    (1..=200).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(agent: Option<AgentWord>, provider: Option<ProviderWord>, wanted: &str, expected: Option<&str>) {
        let mut part = ReviewerPart { agent, provider, ..ReviewerPart::default() };
        choose(&mut part, Some(wanted));
        assert_eq!(part.model.as_deref(), expected, "{wanted}");
    }

    #[test]
    fn a_model_is_passed_on_to_its_own_family_only() {
        check(Some(AgentWord::Claude), None, "opus", Some("opus"));
        check(Some(AgentWord::Claude), None, "claude-opus-4-5", Some("claude-opus-4-5"));
        check(Some(AgentWord::Claude), None, "codex-gpt-5", None);
        check(Some(AgentWord::Codex), None, "codex-gpt-5", Some("gpt-5"));
        check(Some(AgentWord::Codex), None, "opus", None);
        check(Some(AgentWord::OpenCode), None, "amazon-bedrock/nova", Some("amazon-bedrock/nova"));
        check(None, Some(ProviderWord::Anthropic), "claude-opus-4-5", Some("claude-opus-4-5"));
        check(None, Some(ProviderWord::Anthropic), "sonnet", None);
        check(None, Some(ProviderWord::OpenAi), "gpt-5", Some("gpt-5"));
        check(None, None, "opus", None);
    }

    #[test]
    fn a_name_that_looks_like_an_option_is_ignored() {
        for wanted in ["", "-m", "--model=x", "claude-a b", "claude-\n", "claude-$(x)"] {
            check(Some(AgentWord::Claude), None, wanted, None);
        }
    }
}
