//! `tollgate review --pr URL`: a pull request, fetched from its host and reviewed by what its base says.
//!
//! The token in the environment is shown to one host only: the one that the operator configured (`github.url`), or that
//! of the workflow in which this runs. Whoever gives us another address gets no token.

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
use tollgate_engine::forge::host::{Hidden, Host, HostError, Permission, Pull};
use tollgate_engine::forge::remote::{self, Remote, Wanted};
use tollgate_engine::pipeline::{self, Asking, Memory, Standing};
use tollgate_engine::store::{self, Ended, Outcome};

use super::{Args, Made, ReportFormat, Subject, flags, post, print_prompt, review, show};
use crate::cli::progress::Progress;
use crate::cli::{Done, Place, failure, memory, output};

/// Larger settings are refused.
const MAX_SETTINGS: u64 = 1 << 20;
/// The variables that may hold a token, the likelier first.
const TOKENS: [&str; 2] = ["GITHUB_TOKEN", "GH_TOKEN"];

/// A pull request, and the way to it.
pub(super) struct Found {
    pub(super) at: PullRef,
    address: Address,
    pub(super) host: Arc<dyn Host>,
    /// As it was when it was fetched.
    pub(super) pull: Pull,
}

/// The change of a pull request, here to be reviewed.
struct Fetched {
    remote: Remote,
    /// What is compared: `A..B`.
    range: String,
    settings: Settings,
}

pub(super) fn run(place: &Place, args: &Args, address: &str, asking: Asking<'_>) -> Result<Done, Failure> {
    let flags = flags(args, &asking.tape);
    let found = find(place, args, address)?;
    let Fetched { remote, range, settings } = fetch(args, &found, flags)?;
    let heeds_author = may_write(&found);
    if heeds_author && settings.allow_no_review && intent::skips_review(&found.pull.title) {
        return skip(args, &found, &settings);
    }
    let started = memory::now();
    let subject = subject(&found);
    let standing = Standing::Pull { subject: subject.clone(), heeds_author };
    let made = Subject {
        forge: remote.local(&range, &found.pull.base)?,
        title: Some(&found.pull.title),
        body: Some(&found.pull.body),
        standing,
        memory: super::memory(place, &settings, args),
    };
    let mut made = review(place, args, &settings, made, asking)?;
    if args.print_prompt {
        return print_prompt(place, args, &made.reviewed);
    }
    let before = before(&made);
    if let Err(failure) = remember(&mut made, &subject, started) {
        output::say(&format!("note: this review was not stored: {failure}"));
    }
    let done = quoted(args, || show(place, args, &settings, &mut made, None));
    // A cache that stays larger for once harms nobody.
    let _ = remote::tidy(&cache()?, remote::DEFAULT_MAX_BYTES, &Environment::of_process());
    if args.post {
        post::post(&found, &settings, &made.reviewed, &before)?;
    }
    done
}

/// Says that there is no review, because an author who may write wants none.
fn skip(args: &Args, found: &Found, settings: &Settings) -> Result<Done, Failure> {
    output::say(&format!("note: {}", pipeline::SKIPPED));
    if args.post {
        post::post_skipped(found, settings)?;
    }
    Ok(Done::Fine)
}

/// Prints for people where a workflow reads along: what others wrote into their code must not be taken for its commands.
fn quoted(args: &Args, print: impl FnOnce() -> Result<Done, Failure>) -> Result<Done, Failure> {
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

/// A number that nobody can know beforehand.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The findings of the review before, as far as it is known.
fn before(made: &Made) -> Vec<Finding> {
    let (Memory::Open(store), Some(since)) = (&made.memory, &made.reviewed.since) else {
        return Vec::new();
    };
    store.run(since.run).ok().flatten().and_then(|run| run.review).map(|review| review.findings).unwrap_or_default()
}

/// Asks the host for the pull request.
fn find(place: &Place, args: &Args, address: &str) -> Result<Found, Failure> {
    let at = PullRef::parse(address).map_err(|error| failure::not_a_pull_request(&error))?;
    let settings = place.settings(None, Layer::default())?;
    let is_configured = at.host == settings.github.url;
    let address = Address::parse(&at.host, settings.github.api_url.as_deref().filter(|_| is_configured))?;
    let is_of_workflow = std::env::var("GITHUB_SERVER_URL").is_ok_and(|url| url.trim_end_matches('/') == at.host);
    let (name, mut token) = match token() {
        Some((name, token)) => (name, Some(token)),
        None => (TOKENS[0], None),
    };
    if token.is_some() && !is_configured && !is_of_workflow {
        output::say(&format!("note: `{name}` is for {}, and is not shown to {}", settings.github.url, at.host));
        token = None;
    }
    if args.post && token.is_none() {
        return Err(failure::no_token(&at.host));
    }
    let host = github::with_token(address.clone(), token, None);
    let pull = host.pull(&at.repo, at.number).map_err(HostError::into_failure)?;
    Ok(Found { at, address, host, pull })
}

/// The token in the environment, and where it is.
pub(crate) fn token() -> Option<(&'static str, Hidden)> {
    let read = |name| Some((name, std::env::var(name).ok().filter(|token| !token.trim().is_empty())?));
    let (name, token) = TOKENS.into_iter().find_map(read)?;
    Some((name, Hidden::new(token.trim().to_owned())))
}

/// Fetches the change, and the settings of the branch it is for, so that it cannot change its own review.
fn fetch(args: &Args, found: &Found, flags: Layer) -> Result<Fetched, Failure> {
    let Found { at, address, host, pull } = found;
    let authorization = host.git_authorization(&at.repo).map_err(HostError::into_failure)?;
    let key = format!("{}/{}", address.name(), at.repo.key());
    let url = host.clone_url(&at.repo);
    let remote = Remote::open(&cache()?, &key, &url, authorization.as_ref(), Environment::of_process())?;
    let wanted =
        Wanted { number: at.number, head: &pull.head, base_branch: &pull.base_branch, base: &pull.base, more: &[] };
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
    let mut settings = config::load_at(file, Place::config_dir().as_deref(), &Place::variables(), flags)?;
    if pull.is_fork(&at.repo) && args.reviewer.is_empty() {
        leave_out_agents(&mut settings);
    }
    if settings.reviewers.iter().any(Chosen::is_agent) {
        remote.fetch_tree(&fetched.head, &CancellationToken::new())?;
    }
    Ok(Fetched { range: format!("{merge_base}..{}", fetched.head), remote, settings })
}

/// An agent has a key and tools within reach of whatever a stranger wrote: it is asked when somebody says so.
fn leave_out_agents(settings: &mut Settings) {
    let n_before = settings.reviewers.len();
    settings.reviewers.retain(|chosen| !chosen.is_agent());
    if settings.reviewers.len() < n_before {
        output::say("note: agents are not asked about a fork; name them with `--reviewer` if you trust it");
    }
}

/// Where fetched repositories are kept.
fn cache() -> Result<PathBuf, Failure> {
    Ok(memory::data_folder().ok_or_else(failure::no_data_folder)?.with_file_name("remotes"))
}

/// True when whoever wrote the pull request could merge it anyway; who cannot be asked about is a stranger.
fn may_write(found: &Found) -> bool {
    matches!(found.host.permission(&found.at.repo, &found.pull.author), Ok(Permission::Write))
}

/// What reviews of the pull request are about, in the memory.
fn subject(found: &Found) -> store::Subject {
    store::Subject {
        repository: format!("{}/{}", found.address.name(), found.at.repo.key()),
        name: format!("pr {}", found.at.number),
        scope: "pull".to_owned(),
    }
}

/// Stores the review, so that the next one can tell what is new.
fn remember(made: &mut Made, subject: &store::Subject, started: u64) -> Result<(), Failure> {
    let Memory::Open(store) = &mut made.memory else { return Ok(()) };
    let version = env!("CARGO_PKG_VERSION");
    let outcome = Outcome::Completed(made.reviewed.completed());
    store.record(&Ended { subject, time: (started, memory::now()), version, outcome }).map(drop)
}
