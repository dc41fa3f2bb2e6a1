//! Who can be asked to implement or review.

use tollgate_engine::config::{Chosen, Settings};
use tollgate_engine::reviewer::look;
use tollgate_engine::reviewer::provider::Net;

use crate::desk::Agent;

/// Everybody who is set up or known by name. All are looked at at once: some programs take a second to say their version.
pub(super) fn all(settings: &Settings) -> Vec<Agent> {
    let known = look::known(settings);
    let net = Net::new();
    let looked: Vec<(bool, String)> = std::thread::scope(|scope| {
        let net = &net;
        let looks: Vec<_> = known.iter().map(|chosen| scope.spawn(move || look::look(chosen, net, false))).collect();
        let result = |look: std::thread::ScopedJoinHandle<'_, Result<String, _>>| match look.join() {
            Ok(Ok(words)) => (true, words),
            Ok(Err(failure)) => (false, said(&failure)),
            Err(_) => (false, "it cannot be looked at".to_owned()),
        };
        looks.into_iter().map(result).collect()
    });
    let mut agents = Vec::new();
    for (chosen, (available, detail)) in known.iter().zip(looked) {
        for role in roles(chosen) {
            let (name, detail) = (chosen.name.clone(), detail.clone());
            agents.push(Agent { name, role: (*role).to_owned(), available, detail });
        }
    }
    agents
}

/// An agent can do both; a service cannot change files.
fn roles(chosen: &Chosen) -> &'static [&'static str] {
    let is_agent = chosen.part.agent.is_some() || chosen.part.command.is_some();
    if is_agent { &["implementer", "reviewer"] } else { &["reviewer"] }
}

fn said(failure: &tollgate_engine::failure::Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}. {hint}", failure.message),
        None => failure.message.clone(),
    }
}
