//! Passes the model that a feature or the operator names on to the agent or service that does the work.
//!
//! The name is passed on as it is; whether it exists, the agent or the service says. A name that cannot be passed on is
//! an error: it is never ignored. Other boards put the agent before the name, as in `codex-gpt-5` and `cursor-auto`; that
//! agent gets the name without it. Of several reviewers, those of the model's family get it, and the others keep theirs.

use crate::board::failure;
use crate::config::Chosen;
use crate::config::reviewer::{AgentWord, ProviderWord, ReviewerPart};
use crate::failure::Failure;

/// The longest name of a model.
const MAX_NAME: usize = 200;

/// A family of models: one maker, by way of its agent or its service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Anthropic,
    OpenAi,
    Google,
}

/// Sets the model of an agent or a service.
pub(super) fn pass_on(chosen: &mut Chosen, wanted: &str) -> Result<(), Failure> {
    if !is_plain(wanted) {
        return Err(failure::bad_model(wanted));
    }
    let takes_model = |command: &Vec<String>| command.iter().any(|arg| arg.contains("{model}"));
    if chosen.part.command.as_ref().is_some_and(|command| !takes_model(command)) {
        return Err(failure::model_not_taken(&chosen.name, wanted));
    }
    chosen.part.model = Some(own_name(&chosen.part, wanted).to_owned());
    Ok(())
}

/// Sets the model of all reviewers, or of those of its family when there are several. Returns the names of the others.
pub(super) fn pass_on_to_all(reviewers: &mut [Chosen], wanted: &str) -> Result<Vec<String>, Failure> {
    let family = family(wanted).filter(|family| reviewers.iter().any(|chosen| of(&chosen.part) == Some(*family)));
    let mut others = Vec::new();
    for chosen in reviewers {
        if family.is_some_and(|family| of(&chosen.part).is_some_and(|other| other != family)) {
            others.push(chosen.name.clone());
        } else {
            pass_on(chosen, wanted)?;
        }
    }
    Ok(others)
}

/// The name without the agent before it.
fn own_name<'a>(part: &ReviewerPart, wanted: &'a str) -> &'a str {
    let name = match part.agent {
        Some(AgentWord::Codex) => wanted.strip_prefix("codex-").filter(|name| name.starts_with("gpt-")),
        Some(AgentWord::CursorAgent) => wanted.strip_prefix("cursor-"),
        Some(AgentWord::OpenCode) => wanted.strip_prefix("opencode-"),
        Some(AgentWord::Claude | AgentWord::Gemini | AgentWord::Aider) | None => None,
    };
    name.filter(|name| is_plain(name)).unwrap_or(wanted)
}

fn family(model: &str) -> Option<Family> {
    let begins = |words: &[&str]| words.iter().any(|word| model.starts_with(word));
    match model {
        "opus" | "sonnet" | "haiku" => Some(Family::Anthropic),
        _ if begins(&["claude-"]) => Some(Family::Anthropic),
        _ if begins(&["gpt-", "codex-gpt-"]) => Some(Family::OpenAi),
        _ if begins(&["gemini-"]) => Some(Family::Google),
        _ => None,
    }
}

fn of(part: &ReviewerPart) -> Option<Family> {
    match (part.agent, part.provider) {
        (Some(AgentWord::Claude), _) | (None, Some(ProviderWord::Anthropic)) => Some(Family::Anthropic),
        (Some(AgentWord::Codex), _) | (None, Some(ProviderWord::OpenAi)) => Some(Family::OpenAi),
        (Some(AgentWord::Gemini), _) | (None, Some(ProviderWord::Google)) => Some(Family::Google),
        _ => None,
    }
}

/// The name becomes a command line argument, so it must not look like an option.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@+".contains(&byte);
    (1..=MAX_NAME).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sandbox;

    fn agent(word: AgentWord) -> Chosen {
        let part = ReviewerPart { agent: Some(word), ..ReviewerPart::default() };
        Chosen { name: format!("{word:?}").to_lowercase(), part, sandbox: Sandbox::default() }
    }

    fn service(word: ProviderWord) -> Chosen {
        let part = ReviewerPart { provider: Some(word), model: Some("own".to_owned()), ..ReviewerPart::default() };
        Chosen { name: format!("{word:?}").to_lowercase(), part, sandbox: Sandbox::default() }
    }

    fn program(args: &[&str]) -> Chosen {
        let command = Some(args.iter().map(|arg| (*arg).to_owned()).collect());
        Chosen {
            name: "mine".to_owned(),
            part: ReviewerPart { command, ..ReviewerPart::default() },
            sandbox: Sandbox::default(),
        }
    }

    #[track_caller]
    fn check(mut chosen: Chosen, wanted: &str, expected: Result<&str, &str>) {
        let passed = pass_on(&mut chosen, wanted).map_err(|failure| failure.message);
        let found = passed.map(|()| chosen.part.model.unwrap_or_default());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{wanted}");
    }

    #[test]
    fn a_model_is_passed_on_as_it_is() {
        check(agent(AgentWord::Claude), "opus", Ok("opus"));
        check(agent(AgentWord::Claude), "glm-4.6", Ok("glm-4.6"));
        check(agent(AgentWord::Codex), "gpt-5", Ok("gpt-5"));
        check(agent(AgentWord::Codex), "codex-mini-latest", Ok("codex-mini-latest"));
        check(agent(AgentWord::OpenCode), "amazon-bedrock/nova", Ok("amazon-bedrock/nova"));
        check(service(ProviderWord::Anthropic), "sonnet", Ok("sonnet"));
        check(service(ProviderWord::Ollama), "qwen3:8b", Ok("qwen3:8b"));
        check(program(&["agent", "--model={model}"]), "opus", Ok("opus"));
    }

    #[test]
    fn an_agent_before_the_name_is_left_out_for_that_agent() {
        check(agent(AgentWord::Codex), "codex-gpt-5", Ok("gpt-5"));
        check(agent(AgentWord::CursorAgent), "cursor-auto", Ok("auto"));
        check(agent(AgentWord::OpenCode), "opencode-big-pickle", Ok("big-pickle"));
        check(agent(AgentWord::Claude), "codex-gpt-5", Ok("codex-gpt-5"));
    }

    #[test]
    fn a_model_that_cannot_be_passed_on_is_refused() {
        for wanted in ["", "-m", "--model=x", "claude-a b", "claude-\n", "claude-$(x)"] {
            let refused =
                format!("the model `{}` cannot be used: it is not the name of a model", wanted.escape_debug());
            check(agent(AgentWord::Claude), wanted, Err(&refused));
        }
        let refused = "`mine` takes no model, and the feature asks for `opus`";
        check(program(&["agent", "--yes"]), "opus", Err(refused));
    }

    #[test]
    fn of_several_reviewers_those_of_the_family_get_the_model() {
        let mut both = [agent(AgentWord::Claude), service(ProviderWord::OpenAi)];
        assert_eq!(pass_on_to_all(&mut both, "opus").unwrap(), ["openai"]);
        assert_eq!(both.each_ref().map(|it| it.part.model.as_deref()), [Some("opus"), Some("own")]);
        // A model of an unknown family is passed on to all of them.
        let mut both = [agent(AgentWord::Claude), service(ProviderWord::OpenAi)];
        assert_eq!(pass_on_to_all(&mut both, "qwen3").unwrap(), [""; 0]);
        assert_eq!(both.each_ref().map(|it| it.part.model.as_deref()), [Some("qwen3"); 2]);
        // One reviewer gets it whatever its family.
        let mut one = [service(ProviderWord::OpenAi)];
        assert_eq!(pass_on_to_all(&mut one, "opus").unwrap(), [""; 0]);
        assert_eq!(one[0].part.model.as_deref(), Some("opus"));
    }
}
