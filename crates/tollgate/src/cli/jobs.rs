//! `tollgate jobs`: what is owed to pull requests and features, and what was given up.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tollgate_core::visible::visible;
use tollgate_engine::board::Board;
use tollgate_engine::config::Layer;
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::pulls::jobs;
use tollgate_engine::store::jobs::{Job, JobId, JobQuery, JobRefused, JobState};

use super::history::{timestamp, when};
use super::rules::DataFormat;
use super::{Done, Place, board, failure, memory, output};

/// So many of what was given up are tried again in one go.
const MAX_RETRIED: usize = 10_000;

/// Lists what is owed to pull requests and features, tries it again, or ends it
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate jobs                           all that is owed, and what was given up\n  \
    tollgate jobs list --state dead --repo acme/shop --format json\n  \
    tollgate jobs retry pull-12             as if nothing had failed\n  \
    tollgate jobs retry --all-dead\n  \
    tollgate jobs cancel work-3-login       the feature waits for a person")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: List,
    #[command(flatten)]
    store: memory::Flag,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Lists what is owed: what runs first, then what was given up, failed, or waits
    ///
    /// Example: `tollgate jobs list --state dead`
    List(List),
    /// Has something done now that was given up or waits after a failure, with all its tries
    ///
    /// Example: `tollgate jobs retry pull-12`
    Retry {
        /// The job, by its name: `pull-12`, `post-5`, `work-3-login`
        #[arg(required_unless_present = "all_dead")]
        job: Option<String>,
        /// Everything that was given up
        #[arg(long, conflicts_with = "job")]
        all_dead: bool,
    },
    /// Ends something that is owed, or forgets that it was given up
    ///
    /// Example: `tollgate jobs cancel post-5`
    Cancel {
        /// The job, by its name: `pull-12`, `post-5`, `work-3-login`
        job: String,
    },
}

#[derive(clap::Args, PartialEq)]
struct List {
    /// Only in this state
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Only of this repository at the host, or this project
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = List::LIMIT)]
    limit: usize,
    /// For people or for programs
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
}

/// How it stands with a job.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum State {
    /// It waits for its turn
    Queued,
    /// Somebody works on it
    Running,
    /// It failed, and is tried again by itself
    Failed,
    /// It was given up until somebody asks
    Dead,
}

impl State {
    fn of_job(self) -> JobState {
        match self {
            Self::Queued => JobState::Queued,
            Self::Running => JobState::Running,
            Self::Failed => JobState::Failed,
            Self::Dead => JobState::Dead,
        }
    }
}

impl List {
    const LIMIT: usize = 100;

    /// True when nothing was asked for in particular.
    fn is_plain(&self) -> bool {
        *self == Self { state: None, repo: None, limit: Self::LIMIT, format: DataFormat::Text }
    }
}

pub(crate) fn run(place: &Place, args: Args) -> Result<Done, Failure> {
    if args.command.is_some() && !args.list.is_plain() {
        return Err(failure::flags_before_command());
    }
    let settings = place.settings(None, Layer::default())?;
    let is_there = memory::may_be_there(&memory::location(place, &settings, &args.store)?);
    let board = || board::open(place, &args.store, Layer::default());
    match args.command.unwrap_or(Command::List(args.list)) {
        // To look is no reason to make a database.
        Command::List(list) if !is_there => show(&[], list.format),
        Command::List(list) => {
            let (board, state) = (board()?, list.state.map(State::of_job));
            let query = JobQuery { state, place: list.repo, limit: list.limit, now_ms: board.now() };
            show(&board.database().jobs(&query)?, list.format)
        }
        Command::Retry { job: Some(job), .. } => {
            let id = parse(&job)?;
            done(&id, jobs::retry(&board()?, &id, &board::who())?, "is in the queue again")
        }
        Command::Retry { job: None, .. } => retry_all(&board()?),
        Command::Cancel { job } => {
            let id = parse(&job)?;
            done(&id, jobs::cancel(&board()?, &id, &board::who())?, "is not owed any more")
        }
    }
}

fn parse(job: &str) -> Result<JobId, Failure> {
    JobId::parse(job).ok_or_else(|| {
        Failure::new(Kind::User, format!("`{}` is no name of a job", visible(job)))
            .hint("They are called as in `pull-12`, `post-5` and `work-3-login`; `tollgate jobs` lists them.")
    })
}

fn done(id: &JobId, asked: Result<(), JobRefused>, what: &str) -> Result<Done, Failure> {
    asked.map_err(|refused| {
        let message = match &refused {
            JobRefused::Unknown(_) => refused.to_string(),
            JobRefused::Not(why) => format!("`{id}`: {why}"),
        };
        Failure::new(Kind::User, message).hint("`tollgate jobs` lists what is owed.")
    })?;
    output::say(&format!("`{id}` {what}"));
    Ok(Done::Fine)
}

/// Tries everything again that was given up. What cannot be is said, and holds up nothing else.
fn retry_all(board: &Board) -> Result<Done, Failure> {
    let query = JobQuery { state: Some(JobState::Dead), place: None, limit: MAX_RETRIED, now_ms: board.now() };
    let (mut n_done, mut n_refused) = (0_usize, 0_usize);
    for job in board.database().jobs(&query)? {
        match jobs::retry(board, &job.id, &board::who())? {
            Ok(()) => n_done += 1,
            Err(refused) => {
                n_refused += 1;
                output::say(&format!("`{}`: {refused}", job.id));
            }
        }
    }
    output::say(&format!("{n_done} in the queue again"));
    Ok(if n_refused == 0 { Done::Fine } else { Done::No })
}

fn show(jobs: &[Job], format: DataFormat) -> Result<Done, Failure> {
    let text = match format {
        DataFormat::Json => format!("{:#}\n", json!({ "jobs": jobs.iter().map(as_json).collect::<Vec<_>>() })),
        DataFormat::Text => {
            if jobs.is_empty() {
                output::say("nothing is owed, and nothing was given up");
            }
            jobs.iter().map(as_text).collect()
        }
    };
    output::print(&text)?;
    Ok(Done::Fine)
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
    } else if let Some(next) = job.next_ms.filter(|next| *next > memory::now()) {
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
