//! Settings → Agents: who implements and reviews, whether they can, and what to do where they cannot.

use askama::Template;
use axum::extract::State;

use crate::agents::Agent;
use crate::app::Shared;
use crate::pages::Page;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::markup::Markup;
use crate::pages::settings::{Tab, config_file, with_code};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "settings_agents.html")]
pub(crate) struct AgentsPage {
    chrome: Chrome,
    tab: Tab,
    /// Agents that are configured or have a role, and agents that are only known by name.
    groups: [Group; 2],
    file: String,
    implementer: Option<String>,
}

struct Group {
    name: &'static str,
    about: &'static str,
    members: Vec<Member>,
}

/// An agent in all its roles.
struct Member {
    name: String,
    kind: &'static str,
    /// Its capabilities, and whether they are in use.
    roles: Vec<(&'static str, bool)>,
    available: bool,
    /// True when they have a role now.
    is_used: bool,
    detail: Markup,
    model: Option<String>,
    /// Where the key is looked for, and whether it is there.
    keys: Vec<String>,
    has_key: bool,
    is_embedded: bool,
    can_write: bool,
}

pub(crate) async fn page(State(app): State<Shared>, visitor: Visitor) -> Result<Page<AgentsPage>, Problem> {
    let chrome = visitor.chrome(&app, Section::Settings, "Agents", None).await?;
    let shared = Shared::clone(&app);
    let agents = app.call(move |board| Ok::<_, Problem>(shared.agents.list(board.settings()))).await?;
    let (own, known) = members(agents);
    let groups = [
        Group {
            name: "Set up",
            about: "The embedded reviewer, agents that have a role, and agents in your configuration.",
            members: own,
        },
        Group {
            name: "Known by name",
            about: "These need no table in your configuration. Name one, and it is used.",
            members: known,
        },
    ];
    Ok(Page(AgentsPage {
        chrome,
        tab: Tab::Agents,
        groups,
        file: config_file(&app.board).unwrap_or_else(|| "your configuration file".to_owned()),
        implementer: app.board.settings().pipeline.agent.clone(),
    }))
}

/// Each agent once, in all its roles; configured or used agents apart from the others, available ones first.
fn members(agents: Vec<Agent>) -> (Vec<Member>, Vec<Member>) {
    let mut all: Vec<(bool, Member)> = Vec::new();
    for agent in agents {
        let role = if agent.role == "implementer" { "implements" } else { "reviews" };
        if let Some((is_own, known)) = all.iter_mut().find(|(_, known)| known.name == agent.name) {
            known.roles.push((role, agent.is_used));
            known.is_used |= agent.is_used;
            *is_own |= agent.is_own || agent.is_used;
            continue;
        }
        let kind = match agent.kind.as_str() {
            "embedded" => "embedded rules",
            "service" => "service",
            "command" => "your own program",
            _ => "agent",
        };
        let member = Member {
            kind,
            roles: vec![(role, agent.is_used)],
            available: agent.available,
            is_used: agent.is_used,
            detail: with_code(&agent.detail),
            model: agent.model,
            keys: agent.key_in,
            has_key: agent.has_key,
            is_embedded: agent.kind == "embedded",
            can_write: agent.kind == "agent" || agent.kind == "command",
            name: agent.name,
        };
        all.push((agent.is_own || agent.is_used, member));
    }
    let (own, mut known): (Vec<_>, Vec<_>) = all.into_iter().partition(|(is_own, _)| *is_own);
    known.sort_by_key(|(_, member)| !member.available);
    let plain = |members: Vec<(bool, Member)>| members.into_iter().map(|(_, member)| member).collect();
    (plain(own), plain(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, role: &str, available: bool, is_own: bool) -> Agent {
        Agent {
            name: name.to_owned(),
            role: role.to_owned(),
            available,
            detail: String::new(),
            kind: "agent".to_owned(),
            model: None,
            key_in: Vec::new(),
            has_key: false,
            is_own,
            is_used: false,
        }
    }

    #[test]
    fn agents_are_listed_once_and_available_ones_come_first() {
        let agents = vec![
            agent("rules", "reviewer", true, true),
            agent("a", "implementer", false, false),
            agent("a", "reviewer", false, false),
            agent("b", "implementer", true, false),
            agent("mine", "reviewer", false, true),
        ];
        let names = |members: &[Member]| members.iter().map(|member| member.name.clone()).collect::<Vec<_>>();
        let (own, known) = members(agents);
        assert_eq!((names(&own), names(&known)), (vec!["rules".into(), "mine".into()], vec!["b".into(), "a".into()]));
        assert_eq!(known[1].roles, [("implements", false), ("reviews", false)]);
    }

    #[test]
    fn an_agent_with_a_role_is_set_up() {
        let used = Agent { is_used: true, ..agent("a", "reviewer", true, false) };
        let (own, known) = members(vec![agent("a", "implementer", true, false), used]);
        assert_eq!((own.len(), known.len()), (1, 0));
    }
}
