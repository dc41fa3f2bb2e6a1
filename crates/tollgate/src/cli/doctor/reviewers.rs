//! Checks the models and agents.

use std::path::Path;
use std::time::Instant;

use tokio_util::sync::CancellationToken;
use tollgate_engine::config::Settings;
use tollgate_engine::failure::{self, Failure};
use tollgate_engine::reviewer::call::CallControl;
use tollgate_engine::reviewer::provider::Net;
use tollgate_engine::reviewer::{availability, smoke_test};

use super::{Check, Found};

/// Checks every configured and built-in reviewer concurrently: some programs take a second to print their version.
pub(super) fn check_all(settings: &Settings, online: bool) -> Vec<Check> {
    let known = availability::known(settings);
    let net = Net::new();
    std::thread::scope(|scope| {
        let net = &net;
        let checks: Vec<_> =
            known.iter().map(|chosen| scope.spawn(move || availability::check(chosen, net, online))).collect();
        let results = checks.into_iter().zip(&known).map(|(check, chosen)| {
            let result =
                check.join().unwrap_or_else(|_| Err(failure::reviewer(&chosen.name, "the check panicked", None)));
            let is_wanted = settings.reviewers.iter().any(|wanted| wanted.name == chosen.name);
            let is_own = settings.known_reviewers.contains(chosen);
            let found = match result {
                Ok(words) => Found::Ok(words),
                Err(failure) if is_wanted || is_own => Found::Wrong(failure),
                // A built-in reviewer that is not configured is not required.
                Err(failure) => Found::Missing(failure.message),
            };
            Check { name: chosen.name.clone(), found }
        });
        results.collect()
    })
}

/// Verifies that an agent cannot write, by asking it to.
pub(super) fn self_test(settings: &Settings, name: &str, program: &Path) -> Result<String, Failure> {
    let chosen = settings.reviewer(name)?;
    let (cancel, budget) = (CancellationToken::new(), &settings.budget);
    let deadline = Instant::now() + budget.time;
    smoke_test::self_test(
        &chosen,
        program,
        &CallControl { deadline, idle: budget.idle, cancel: &cancel, heard: &|_| {} },
    )
}
