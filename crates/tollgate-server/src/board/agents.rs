//! Who can be asked to implement or review.

use tollgate_engine::config::{Chosen, EMBEDDED, Settings};
use tollgate_engine::reviewer::availability::{self, ReviewerDescription, ReviewerKind};
use tollgate_engine::reviewer::provider::Net;

use crate::desk::Agent;

const REVIEWER: &str = "reviewer";

/// Everybody who is set up or known by name, the rules first. All are looked at at once: some programs take a second to say their version.
pub(super) fn all(settings: &Settings) -> Vec<Agent> {
    let known = availability::known(settings);
    let net = Net::new();
    let looked: Vec<(bool, String)> = std::thread::scope(|scope| {
        let net = &net;
        let looks: Vec<_> =
            known.iter().map(|chosen| scope.spawn(move || availability::check(chosen, net, false))).collect();
        let result = |look: std::thread::ScopedJoinHandle<'_, Result<String, _>>| match look.join() {
            Ok(Ok(words)) => (true, words),
            Ok(Err(failure)) => (false, said(&failure)),
            Err(_) => (false, "it cannot be looked at".to_owned()),
        };
        looks.into_iter().map(result).collect()
    });
    let mut agents = vec![embedded()];
    for (chosen, (available, detail)) in known.iter().zip(looked) {
        let ReviewerDescription { kind, model, key_in, has_key } =
            availability::describe(chosen, &|name| std::env::var(name).ok());
        let kind = match kind {
            ReviewerKind::Service => "service",
            ReviewerKind::Agent => "agent",
            ReviewerKind::Command => "command",
        };
        for role in roles(chosen) {
            agents.push(Agent {
                name: chosen.name.clone(),
                role: (*role).to_owned(),
                available,
                detail: detail.clone(),
                kind: kind.to_owned(),
                model: model.clone(),
                key_in: key_in.clone(),
                has_key,
                is_own: settings.known_reviewers.contains(chosen),
                is_used: is_used(settings, &chosen.name, role),
            });
        }
    }
    agents
}

/// The rules, which are always there.
fn embedded() -> Agent {
    Agent {
        name: EMBEDDED.to_owned(),
        role: REVIEWER.to_owned(),
        available: true,
        detail: format!("{} rules, offline; always reviews", availability::n_rules()),
        kind: "embedded".to_owned(),
        model: None,
        key_in: Vec::new(),
        has_key: false,
        is_own: true,
        is_used: true,
    }
}

fn is_used(settings: &Settings, name: &str, role: &str) -> bool {
    if role == REVIEWER {
        settings.reviewers.iter().any(|chosen| chosen.name == name)
    } else {
        settings.pipeline.agent.as_deref() == Some(name)
    }
}

/// An agent can do both; a service cannot change files.
fn roles(chosen: &Chosen) -> &'static [&'static str] {
    if chosen.is_agent() { &["implementer", REVIEWER] } else { &[REVIEWER] }
}

fn said(failure: &tollgate_engine::failure::Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}. {hint}", failure.message),
        None => failure.message.clone(),
    }
}
