//! The git commands that use the network: partial fetches with size and time limits.

use std::cell::Cell;
use std::time::{Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use super::corruption::{self, FetchError};
use super::{Remote, WALL, failure};
use crate::forge::git::{Git, Watched, Watching};

/// Settings of every fetch: no other URLs, no prompts, and no connection slower than a minute without data.
const SETTINGS: [(&str, &str); 14] = [
    ("http.followRedirects", "false"),
    ("http.sslVerify", "true"),
    ("http.saveCookies", "false"),
    ("http.lowSpeedLimit", "1"),
    ("http.lowSpeedTime", "60"),
    ("protocol.version", "2"),
    ("transfer.bundleURI", "false"),
    ("fetch.uriProtocols", ""),
    // Small packs are kept as packs, which are written atomically.
    ("fetch.unpackLimit", "1"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("fetch.parallel", "1"),
    ("pack.threads", "1"),
    ("core.compression", "1"),
];

const FETCH: [&str; 7] = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--recurse-submodules=no",
    "--stdin",
];

/// The fetches for one pull request.
pub(super) struct Fetcher<'a> {
    pub(super) remote: &'a Remote,
    /// The host's references.
    pub(super) references: &'a [String],
    pub(super) deadline: Instant,
    pub(super) cancel: &'a CancellationToken,
}

/// The result of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FetchResult {
    /// Everything was fetched.
    All,
    /// The host does not serve these objects.
    Refused,
    /// The size limit was exceeded, and the data was discarded.
    TooMuch,
    /// The time limit was exceeded.
    TooLate,
}

impl Fetcher<'_> {
    /// Fetches commits and trees that are not known yet.
    pub(super) fn history(&self, wants: &[String], max_bytes: u64) -> Result<FetchResult, FetchError> {
        self.run(&["--filter=blob:none", "origin"], self.git(), wants, max_bytes)
    }

    /// Fetches blobs by name.
    pub(super) fn files(&self, names: &[String], max_bytes: u64) -> Result<FetchResult, FetchError> {
        // A host that learns which commits we have would assume that we have their blobs, too.
        let git = self.git().with_setting("fetch.negotiationAlgorithm", "noop");
        self.run(&["--filter=blob:none", "origin"], git, names, max_bytes)
    }

    /// Fetches everything, from hosts that serve no single blobs.
    pub(super) fn everything(&self, max_bytes: u64) -> Result<FetchResult, FetchError> {
        self.run(&["--no-filter", "--refetch", "origin"], self.git(), self.references, max_bytes)
    }

    /// Git with network access.
    fn git(&self) -> Git {
        let Remote { address, git, authorization, .. } = self.remote;
        let mut git = git.clone().over(address.protocol()).with_setting("remote.origin.url", address.as_str());
        for (key, value) in SETTINGS {
            git = git.with_setting(key, value);
        }
        if let Some(value) = authorization {
            let key = format!("http.{address}.extraHeader");
            git = git.with_setting(&key, &format!("Authorization: {}", value.expose()));
        }
        git
    }

    fn run(&self, options: &[&str], git: Git, wants: &[String], max_bytes: u64) -> Result<FetchResult, FetchError> {
        let Remote { address, folder, .. } = self.remote;
        let args: Vec<&str> = FETCH.into_iter().chain(options.iter().copied()).collect();
        let input: String = wants.iter().map(|want| format!("{want}\n")).collect();
        let (began, before) = (SystemTime::now(), folder.unfinished());
        let is_too_much = Cell::new(false);
        let mut stop = || {
            is_too_much.set(folder.unfinished().saturating_sub(before) > max_bytes);
            is_too_much.get() || self.cancel.is_cancelled()
        };
        let wall = self.deadline.saturating_duration_since(Instant::now());
        let watched = git.watch(&args, input.as_bytes(), Watching { wall, stop: &mut stop })?;
        if watched != Watched::Done {
            folder.remove_unfinished(began);
        }
        match watched {
            Watched::Done => Ok(FetchResult::All),
            Watched::Stopped if is_too_much.get() => Ok(FetchResult::TooMuch),
            Watched::Stopped => Err(failure::cancelled().into()),
            Watched::TooLate => Ok(FetchResult::TooLate),
            Watched::Failed(said) => match Refusal::of(&said) {
                Some(Refusal::Withheld) => Ok(FetchResult::Refused),
                Some(Refusal::NotAllowed) => Err(failure::not_allowed(address).into()),
                Some(Refusal::NotFound) => Err(failure::not_found(address).into()),
                None if corruption::is_said_by(&said) => Err(FetchError::Damaged(said)),
                None => Err(failure::cannot_fetch(address, &self.without_secret(&said)).into()),
            },
        }
    }

    /// Redacts the token in an error output.
    fn without_secret(&self, said: &str) -> String {
        match &self.remote.authorization {
            Some(secret) if !secret.expose().is_empty() => said.replace(secret.expose(), "(hidden)"),
            _ => said.to_owned(),
        }
    }

    /// The failure of a required fetch that timed out.
    pub(super) fn too_late(&self) -> FetchError {
        failure::too_slow(&self.remote.address, WALL.as_secs()).into()
    }
}

/// The host's reason for a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Withheld,
    NotAllowed,
    NotFound,
}

impl Refusal {
    fn of(said: &str) -> Option<Self> {
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if says(&["not our ref", "unadvertised object", "couldn't find remote ref", "no such remote ref"]) {
            Some(Self::Withheld)
        } else if says(&["Authentication failed", "could not read Username", "error: 401", "error: 403"]) {
            Some(Self::NotAllowed)
        } else if says(&["' not found", "error: 404", "error: 410"]) {
            Some(Self::NotFound)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Refusal;

    #[test]
    fn rejections_are_told_from_failures() {
        let check = |said: &str, expected: Option<Refusal>| assert_eq!(Refusal::of(said), expected, "{said}");
        check("fatal: remote error: upload-pack: not our ref 1111", Some(Refusal::Withheld));
        check("error: Server does not allow request for unadvertised object 1", Some(Refusal::Withheld));
        check("fatal: couldn't find remote ref refs/pull/1/head", Some(Refusal::Withheld));
        check("fatal: Authentication failed for 'https://x/'", Some(Refusal::NotAllowed));
        check("fatal: could not read Username for 'https://x': terminal prompts disabled", Some(Refusal::NotAllowed));
        check("fatal: unable to access 'https://x/': The requested URL returned error: 403", Some(Refusal::NotAllowed));
        check("fatal: repository 'https://x/' not found", Some(Refusal::NotFound));
        check("fatal: unable to access 'https://x/': The requested URL returned error: 502", None);
        check("fatal: unable to access 'https://x/': Could not resolve host: x", None);
    }
}
