//! `tollgate jobs`: the job queue, from pull requests and features to dead letters.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tollgate_core::visible::visible;
use tollgate_engine::board::Board;
use tollgate_engine::config::Layer;
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::pulls::jobs;
use tollgate_engine::same_variants;
use tollgate_engine::store::jobs::{Job, JobId, JobQuery, JobRefused, JobState};

use super::history::{timestamp, when};
use super::rules::DataFormat;
use super::{CliContext, Exit, StoreArgs, board, output, store_args};

/// The most dead jobs that one `retry --all-dead` takes.
const MAX_RETRIED: usize = 10_000;

/// List, retry or cancel queued jobs
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate jobs                           all queued, running, failed and dead jobs\n  \
    tollgate jobs list --state dead --repo acme/shop --format json\n  \
    tollgate jobs retry pull-12             retry now, with a fresh number of attempts\n  \
    tollgate jobs retry --all-dead\n  \
    tollgate jobs cancel work-3-login       the feature is paused")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: List,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List jobs: running first, then dead, failed and queued
    ///
    /// Example: `tollgate jobs list --state dead`
    List(List),
    /// Retry a dead or failed job now, with a fresh number of attempts
    ///
    /// Example: `tollgate jobs retry pull-12`
    Retry {
        /// The job's ID, such as `pull-12`, `post-5` or `work-3-login`
        #[arg(required_unless_present = "all_dead")]
        job: Option<String>,
        /// Retry all dead jobs
        #[arg(long, conflicts_with = "job")]
        all_dead: bool,
    },
    /// Cancel a job, or dismiss a dead one
    ///
    /// Example: `tollgate jobs cancel post-5`
    Cancel {
        /// The job's ID, such as `pull-12`, `post-5` or `work-3-login`
        job: String,
    },
}

#[derive(clap::Args, PartialEq)]
struct List {
    /// List only jobs in this state
    #[arg(long, value_enum)]
    state: Option<State>,
    /// List only jobs of this repository or project
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,
    /// The most jobs to list
    #[arg(long, value_name = "N", default_value_t = List::LIMIT)]
    limit: usize,
    /// The output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
}

/// The values of `--state`.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum State {
    /// Waiting for a worker
    Queued,
    /// Leased by a worker
    Running,
    /// Failed; retried automatically after a backoff
    Failed,
    /// Given up after too many failures; retried only on request
    Dead,
}

same_variants!(State => JobState: Queued Running Failed Dead);

impl List {
    const LIMIT: usize = 100;
}

impl Default for List {
    fn default() -> Self {
        Self { state: None, repo: None, limit: Self::LIMIT, format: DataFormat::Text }
    }
}

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    let command = super::command_or_list(args.command, args.list, Command::List)?;
    let settings = context.settings(None, Layer::default())?;
    let is_there = store_args::may_exist(&store_args::location(context, &settings, &args.store)?);
    let board = || board::open(context, &args.store, Layer::default());
    match command {
        // Listing does not create a database.
        Command::List(list) if !is_there => show(&[], list.format),
        Command::List(list) => {
            let (board, state) = (board()?, list.state.map(JobState::from));
            let query = JobQuery { state, place: list.repo, limit: list.limit, now_ms: board.now() };
            show(&board.database().jobs(&query)?, list.format)
        }
        Command::Retry { job: Some(job), .. } => {
            let id = parse(&job)?;
            done(&id, jobs::retry(&board()?, &id, &board::actor())?, "queued again")
        }
        Command::Retry { job: None, .. } => retry_all(&board()?),
        Command::Cancel { job } => {
            let id = parse(&job)?;
            done(&id, jobs::cancel(&board()?, &id, &board::actor())?, "cancelled")
        }
    }
}

fn parse(job: &str) -> Result<JobId, Failure> {
    JobId::parse(job).ok_or_else(|| {
        Failure::new(Kind::User, format!("`{}` is not a job ID", visible(job)))
            .hint("Job IDs look like `pull-12`, `post-5` and `work-3-login`; `tollgate jobs` lists them.")
    })
}

fn done(id: &JobId, asked: Result<(), JobRefused>, what: &str) -> Result<Exit, Failure> {
    asked.map_err(|refused| {
        let message = match &refused {
            JobRefused::Unknown(_) => refused.to_string(),
            JobRefused::Not(why) => format!("`{id}`: {why}"),
        };
        Failure::new(Kind::User, message).hint("`tollgate jobs` lists the queued jobs.")
    })?;
    output::say(&format!("`{id}` {what}"));
    Ok(Exit::Success)
}

/// Retries all dead jobs. A job that cannot be retried is reported and does not stop the others.
fn retry_all(board: &Board) -> Result<Exit, Failure> {
    let query = JobQuery { state: Some(JobState::Dead), place: None, limit: MAX_RETRIED, now_ms: board.now() };
    let (mut n_done, mut n_refused) = (0_usize, 0_usize);
    for job in board.database().jobs(&query)? {
        match jobs::retry(board, &job.id, &board::actor())? {
            Ok(()) => n_done += 1,
            Err(refused) => {
                n_refused += 1;
                output::say(&format!("`{}`: {refused}", job.id));
            }
        }
    }
    output::say(&format!("{n_done} queued again"));
    Ok(if n_refused == 0 { Exit::Success } else { Exit::Negative })
}

fn show(jobs: &[Job], format: DataFormat) -> Result<Exit, Failure> {
    let text = match format {
        DataFormat::Json => format!("{:#}\n", json!({ "jobs": jobs.iter().map(as_json).collect::<Vec<_>>() })),
        DataFormat::Text => {
            if jobs.is_empty() {
                output::say("no jobs");
            }
            jobs.iter().map(as_text).collect()
        }
    };
    output::print(&text)?;
    Ok(Exit::Success)
}

fn as_text(job: &Job) -> String {
    let (id, state) = (job.id.to_string(), job.state.as_str());
    let mut text = format!("{id:<16} {state:<8} {:<13} {} {}", job.kind, visible(&job.place), visible(&job.subject));
    let _ = write!(text, ", since {}", when(job.since_ms));
    if job.attempt > 0 {
        let _ = write!(
            text,
            ", tried {}",
            if job.attempt == 1 { "once".to_owned() } else { format!("{} times", job.attempt) }
        );
    }
    if let (Some(owner), Some(until)) = (&job.owner, job.until_ms) {
        let _ = write!(text, ", held by {} until {}", visible(owner), when(until));
    } else if let Some(next) = job.next_ms.filter(|next| *next > crate::cli::now_ms()) {
        let _ = write!(text, ", next {}", when(next));
    }
    text.push('\n');
    if let Some(problem) = &job.problem {
        let _ = writeln!(text, "  {}", visible(problem));
    }
    text
}

fn as_json(job: &Job) -> Value {
    json!({
        "id": job.id.to_string(),
        "kind": job.kind,
        "place": job.place,
        "subject": job.subject,
        "state": job.state.as_str(),
        "attempt": job.attempt,
        "since": timestamp(job.since_ms),
        "next": job.next_ms.and_then(timestamp),
        "problem": job.problem,
        "owner": job.owner,
        "until": job.until_ms.and_then(timestamp),
    })
}
