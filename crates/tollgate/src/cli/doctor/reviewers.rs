//! Which models and agents can be asked, and what the others lack.

use std::path::Path;
use std::time::Instant;

use tokio_util::sync::CancellationToken;
use tollgate_engine::config::Settings;
use tollgate_engine::failure::{self, Failure, Kind};
use tollgate_engine::reviewer::call::{CallFailure, Heard, Watch};
use tollgate_engine::reviewer::provider::Net;
use tollgate_engine::reviewer::team::{self, Way};
use tollgate_engine::reviewer::{command, look};

use super::{Check, Found};

/// Looks at every reviewer that is set up or known by name, all at once: some programs take a second to say their version.
pub(super) fn check_all(settings: &Settings, online: bool) -> Vec<Check> {
    let known = look::known(settings);
    let net = Net::new();
    std::thread::scope(|scope| {
        let net = &net;
        let checks: Vec<_> = known.iter().map(|chosen| scope.spawn(move || look::look(chosen, net, online))).collect();
        let results = checks.into_iter().zip(&known).map(|(check, chosen)| {
            let result =
                check.join().unwrap_or_else(|_| Err(failure::reviewer(&chosen.name, "it cannot be looked at", None)));
            let is_wanted = settings.reviewers.iter().any(|wanted| wanted.name == chosen.name);
            let is_own = settings.known_reviewers.contains(chosen);
            let found = match result {
                Ok(words) => Found::Ok(words),
                Err(failure) if is_wanted || is_own => Found::Wrong(failure),
                // One of many that could be used, and is not missed.
                Err(failure) => Found::Missing(failure.message),
            };
            Check { name: chosen.name.clone(), found }
        });
        results.collect()
    })
}

fn plain(message: String, hint: Option<String>) -> Failure {
    let failure = Failure::new(Kind::External, message);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Shows that an agent cannot write: asks it to, and looks what happened.
pub(super) fn self_test(settings: &Settings, name: &str, program: &Path) -> Result<String, Failure> {
    let chosen = settings.reviewer(name)?;
    let prepared = team::prepare(&chosen, &|name| std::env::var(name).ok());
    match prepared.way {
        Way::Agent(agent) => {
            let cancel = CancellationToken::new();
            let (budget, heard) = (&settings.budget, |_: Heard| {});
            let deadline = Instant::now() + budget.time;
            let watch = Watch { deadline, idle: budget.idle, cancel: &cancel, heard: &heard };
            let failed = |failure: CallFailure| plain(failure.message, failure.hint);
            let tested = command::self_test(&agent, program, &watch).map_err(failed)?;
            if !tested.wrote.is_empty() {
                let problem = format!("`{name}` is not read-only: {}", tested.deeds);
                return Err(plain(problem, Some("Do not use it as a reviewer with these flags.".to_owned())));
            }
            match tested.failure {
                Some(failure) => Err(failed(failure)),
                None => Ok("it was asked to write, to delete and to run commands, and nothing changed".to_owned()),
            }
        }
        Way::Service(_) => Ok("a service has no way to write anything here".to_owned()),
        Way::Unusable(failure) => Err(plain(failure.message, failure.hint)),
    }
}
