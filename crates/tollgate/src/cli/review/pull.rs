//! `tollgate review --pr URL`: fetches a pull request and reviews it by the settings of its base branch.
//!
//! The token of the environment is sent only to the configured host (`github.url`) or to the host of the surrounding
//! workflow, never to another host named in a URL.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tollgate_core::finding::Finding;
use tollgate_core::intent;
use tollgate_core::pull::PullRef;
use tollgate_engine::config::{self, Chosen, FILE_NAME, Layer, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::{Blob, Environment};
use tollgate_engine::forge::github::{self, Address};
use tollgate_engine::forge::host::{Host, HostError, Permission, Pull, Secret};
use tollgate_engine::forge::remote::{self, FetchRequest, Remote};
use tollgate_engine::pipeline::{self, Memory, ModelOptions, PullRequest, ReviewRequest};
use tollgate_engine::store::{self, RunRecord};

use super::{Args, FinishedReview, ReportFormat, flags, post, print_prompt, review, runtime, show};
use crate::cli::progress::Progress;
use crate::cli::{CliContext, Exit, failure, output, store_args};

/// The largest configuration file that is read from the base branch.
const MAX_SETTINGS: u64 = 1 << 20;
/// The environment variables with a token, in order of precedence.
const TOKENS: [&str; 2] = ["GITHUB_TOKEN", "GH_TOKEN"];

/// A pull request and the client for its host.
pub(super) struct PullTarget {
    pub(super) at: PullRef,
    address: Address,
    pub(super) host: Arc<dyn Host>,
    /// The pull request at the time of fetching.
    pub(super) pull: Pull,
}

/// The fetched change of a pull request.
struct Fetched {
    remote: Remote,
    /// The compared range, `A..B`.
    range: String,
    settings: Settings,
}

pub(super) fn run(context: &CliContext, args: &Args, address: &str, models: ModelOptions<'_>) -> Result<Exit, Failure> {
    let flags = flags(args, &models.recording);
    let found = find(context, args, address)?;
    let Fetched { remote, range, settings } = fetch(args, &found, flags)?;
    let trusts_author = may_write(&found);
    if trusts_author && settings.allow_no_review && intent::skips_review(&found.pull.title) {
        return skip(args, &found, &settings);
    }
    let started = crate::cli::now_ms();
    let subject = subject(&found);
    let pull =
        PullRequest { subject: subject.clone(), title: &found.pull.title, body: &found.pull.body, trusts_author };
    let forge = remote.local(&range, &found.pull.base)?;
    let request = ReviewRequest::for_pull(&settings, forge, pull, models, runtime(context, &settings, args)?);
    let mut made = review(context, args, request)?;
    if args.print_prompt {
        return print_prompt(context, args, &made.reviewed);
    }
    let before = before(&made);
    if let Err(failure) = remember(&mut made, &subject, started) {
        output::say(&format!("note: this review was not stored: {failure}"));
    }
    let done = without_workflow_commands(args, || show(context, args, &settings, &mut made, None));
    // Failing to shrink the cache is harmless; the next run tries again.
    let _ = remote::evict(&cache()?, remote::DEFAULT_MAX_BYTES, &Environment::of_process());
    if args.post {
        post::post(&found, &settings, &made.reviewed, &before)?;
    }
    done
}

/// Skips the review at the request of an author with write access.
fn skip(args: &Args, found: &PullTarget, settings: &Settings) -> Result<Exit, Failure> {
    output::say(&format!("note: {}", pipeline::SKIPPED));
    if args.post {
        post::post_skipped(found, settings)?;
    }
    Ok(Exit::Success)
}

/// Disables workflow commands while printing inside GitHub Actions: quoted code is untrusted and could contain some.
fn without_workflow_commands(args: &Args, print: impl FnOnce() -> Result<Exit, Failure>) -> Result<Exit, Failure> {
    let is_for_people = args.format == ReportFormat::Pretty && args.output.is_none();
    if !is_for_people || !post::is_in_workflow() {
        return print();
    }
    let mark = format!("{:016x}{:016x}", random(), random());
    output::print(&format!("::stop-commands::{mark}\n"))?;
    let done = print();
    output::print(&format!("::{mark}::\n"))?;
    done
}

/// An unpredictable number.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The findings of the prior review, if it is stored.
fn before(made: &FinishedReview) -> Vec<Finding> {
    let (Memory::Open(store), Some(since)) = (&made.memory, &made.reviewed.since) else {
        return Vec::new();
    };
    store.run(since.run).ok().flatten().and_then(|run| run.review).map(|review| review.findings).unwrap_or_default()
}

/// Looks up the pull request.
fn find(context: &CliContext, args: &Args, address: &str) -> Result<PullTarget, Failure> {
    let at = PullRef::parse(address).map_err(|error| failure::not_a_pull_request(&error))?;
    let settings = context.settings(None, Layer::default())?;
    let is_configured = at.host == settings.github.url;
    let address = Address::parse(&at.host, settings.github.api_url.as_deref().filter(|_| is_configured))?;
    let is_of_workflow = std::env::var("GITHUB_SERVER_URL").is_ok_and(|url| url.trim_end_matches('/') == at.host);
    let (name, mut token) = match token() {
        Some((name, token)) => (name, Some(token)),
        None => (TOKENS[0], None),
    };
    if token.is_some() && !is_configured && !is_of_workflow {
        output::say(&format!("note: `{name}` is for {} and is not sent to {}", settings.github.url, at.host));
        token = None;
    }
    if args.post && token.is_none() {
        return Err(failure::no_token(&at.host));
    }
    let host = github::with_token(address.clone(), token, None);
    let pull = host.pull(&at.repo, at.number).map_err(HostError::into_failure)?;
    Ok(PullTarget { at, address, host, pull })
}

/// The token of the environment, with the name of its variable.
pub(crate) fn token() -> Option<(&'static str, Secret)> {
    let read = |name| Some((name, std::env::var(name).ok().filter(|token| !token.trim().is_empty())?));
    let (name, token) = TOKENS.into_iter().find_map(read)?;
    tollgate_engine::redaction::hold(&token);
    Some((name, Secret::new(token.trim().to_owned())))
}

/// Fetches the change, and the settings of its base branch: a change must not configure its own review.
fn fetch(args: &Args, found: &PullTarget, flags: Layer) -> Result<Fetched, Failure> {
    let PullTarget { at, address, host, pull } = found;
    let authorization = host.git_authorization(&at.repo).map_err(HostError::into_failure)?;
    let key = format!("{}/{}", address.name(), at.repo.key());
    let url = host.clone_url(&at.repo);
    let remote = Remote::open(&cache()?, &key, &url, authorization.as_ref(), Environment::of_process())?;
    let wanted = FetchRequest {
        number: at.number,
        head: &pull.head,
        base_branch: &pull.base_branch,
        base: &pull.base,
        more: &[],
    };
    output::end_cleanly_on_ctrl_c();
    let fetched = {
        let progress = Progress::start();
        progress.tell(|| format!("fetching pull request {} of {}", at.number, at.repo));
        remote.fetch(&wanted, &CancellationToken::new())?
    };
    let merge_base = fetched.merge_base.ok_or_else(|| failure::unrelated(at.number, &pull.base_branch))?;
    let file = match remote.file(&pull.base, FILE_NAME, MAX_SETTINGS)? {
        Some(Blob::Whole(text)) => Some(text),
        Some(Blob::TooLarge(_)) => return Err(failure::too_large(FILE_NAME, MAX_SETTINGS)),
        Some(Blob::Missing) | None => None,
    };
    let mut settings = config::load_at(file, CliContext::config_dir().as_deref(), &CliContext::variables(), flags)?;
    if pull.is_fork(&at.repo) && args.reviewer.is_empty() {
        leave_out_agents(&mut settings);
    }
    if settings.reviewers.iter().any(Chosen::is_agent) {
        remote.fetch_tree(&fetched.head, &CancellationToken::new())?;
    }
    Ok(Fetched { range: format!("{merge_base}..{}", fetched.head), remote, settings })
}

/// Removes agents from the reviewers of a fork: they have a key and tools, and the code is untrusted. `--reviewer` is
/// the way to ask them anyway.
fn leave_out_agents(settings: &mut Settings) {
    let n_before = settings.reviewers.len();
    settings.reviewers.retain(|chosen| !chosen.is_agent());
    if settings.reviewers.len() < n_before {
        output::say("note: agents are not asked about a fork; name them with `--reviewer` if you trust it");
    }
}

/// The cache directory of fetched repositories.
fn cache() -> Result<PathBuf, Failure> {
    Ok(store_args::default_file().ok_or_else(failure::no_data_folder)?.with_file_name("remotes"))
}

/// True if the author has write access. If the permission cannot be read, the author is untrusted.
fn may_write(found: &PullTarget) -> bool {
    matches!(found.host.permission(&found.at.repo, &found.pull.author), Ok(Permission::Write))
}

/// The key of the pull request's reviews in the store.
fn subject(found: &PullTarget) -> store::Subject {
    store::Subject {
        repository: format!("{}/{}", found.address.name(), found.at.repo.key()),
        name: format!("pr {}", found.at.number),
        scope: "pull".to_owned(),
    }
}

/// Stores the review, so that the next one can compute a delta.
fn remember(made: &mut FinishedReview, subject: &store::Subject, started: u64) -> Result<(), Failure> {
    let Memory::Open(store) = &mut made.memory else { return Ok(()) };
    let time = (started, crate::cli::now_ms());
    store.record(&RunRecord::completed(made.reviewed.completed(), subject.clone(), time)).map(drop)
}
