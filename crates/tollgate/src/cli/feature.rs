//! `tollgate feature`: the board from the command line.
//!
//! The same operations as over HTTP, on the same database, with or without a running server. Only a server runs
//! agents; without one, started features stay queued.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::json;
use tollgate_core::board::machine::Status;
use tollgate_core::visible::visible;
use tollgate_engine::board::{Board, DismissRequest, NewFeature, Refused};
use tollgate_engine::failure::Failure;
use tollgate_engine::same_variants;
use tollgate_engine::store::board::{CardFilter, FeatureRow, ProjectRow};
use tollgate_server::view::{card_json, feature_json};

use super::rules::DataFormat;
use super::{CliContext, Exit, board, failure, free_text, output};

mod list;
mod logs;
mod record;
mod show;

/// The largest description or specification, in bytes.
const MAX_TEXT: u64 = 1024 * 1024;

/// Add, list, show, start and approve features
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate feature add \"Add login\" --description-file login.md --start\n  \
    tollgate feature list\n  \
    tollgate feature show x7k2                  a prefix of the ID is enough\n  \
    tollgate feature logs -f x7k2               follow the output of the agent\n  \
    tollgate feature resume x7k2 --note \"Use the session store that is there.\"\n  \
    tollgate feature approve x7k2 --reason \"The finding is about generated code.\"\n\n\
    `tollgate serve` runs the agents; without it, started features stay queued.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    which: board::ProjectArgs,
    /// The output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text, global = true)]
    format: DataFormat,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Add a feature
    ///
    /// Example: `tollgate feature add "Add login" --description "Users can sign in." --priority 1 --start`
    Add(Box<Add>),
    /// List the features of a project
    ///
    /// Example: `tollgate feature list --status in_progress`
    List {
        /// List only features with this status
        #[arg(long, value_name = "STATUS")]
        status: Option<String>,
        /// List only features with this text in their ID, title or first line
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = free_text)]
        text: Option<String>,
    },
    /// Show one feature: its status, reviews and files
    ///
    /// Example: `tollgate feature show x7k2 --history`
    Show {
        /// The feature's ID or a prefix of it
        id: String,
        /// Also show all state transitions
        #[arg(long)]
        history: bool,
    },
    /// Start work on a feature
    ///
    /// Example: `tollgate feature start x7k2`
    Start {
        /// The feature's ID or a prefix of it
        id: String,
    },
    /// Stop work on a feature; its work tree is kept
    ///
    /// Example: `tollgate feature stop x7k2`
    Stop {
        /// The feature's ID or a prefix of it
        id: String,
    },
    /// Resume a paused feature with a fresh iteration budget
    ///
    /// Example: `tollgate feature resume x7k2 --note "Use the session store that is there."`
    Resume {
        /// The feature's ID or a prefix of it
        id: String,
        /// A message to the agent, put first in its prompt
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = free_text)]
        note: Option<String>,
    },
    /// Approve a feature manually, overriding its review; user and reason are recorded
    ///
    /// Example: `tollgate feature approve x7k2 --reason "The finding is about generated code."`
    Approve {
        /// The feature's ID or a prefix of it
        id: String,
        /// The reason for the approval
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = free_text)]
        reason: String,
    },
    /// Reject a feature and send it back to the agent
    ///
    /// Example: `tollgate feature reject x7k2 --note "The error names the wrong field."`
    Reject {
        /// The feature's ID or a prefix of it
        id: String,
        /// The requested changes, put first in the agent's prompt
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = free_text)]
        note: String,
    },
    /// Retry a failed step, or review again after too many rejections
    ///
    /// Example: `tollgate feature retry x7k2`
    Retry {
        /// The feature's ID or a prefix of it
        id: String,
    },
    /// Move a feature to another column, where a manual move is allowed
    ///
    /// Example: `tollgate feature move x7k2 completed`
    Move {
        /// The feature's ID or a prefix of it
        id: String,
        /// The target column
        #[arg(value_enum)]
        status: Column,
    },
    /// Print the output of the agent
    ///
    /// Example: `tollgate feature logs -f x7k2`
    Logs {
        /// The feature's ID or a prefix of it
        id: String,
        /// Follow the output until the work ends
        #[arg(short, long)]
        follow: bool,
        /// The iteration [default: the last one]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        iteration: Option<u32>,
    },
    /// Edit the title, description and other fields of a feature
    ///
    /// Example: `tollgate feature edit x7k2 --title "Add login" --priority 1`
    Edit(Box<record::Edit>),
    /// Remove the work tree of a feature unless it has uncommitted files; the branch is kept
    ///
    /// Example: `tollgate feature clean x7k2`
    Clean {
        /// The feature's ID or a prefix of it
        id: String,
    },
    /// Dismiss a finding of a feature for as long as its code stays the same; user and reason are recorded
    ///
    /// Run by an agent, it only proposes the dismissal: the finding counts until a person confirms it.
    ///
    /// Example: `tollgate feature dismiss x7k2 F001 --reason "The template is ours."`
    Dismiss {
        /// The feature's ID or a prefix of it
        id: String,
        /// The finding's ID, as printed by `feature show`
        #[arg(value_name = "FINDING")]
        finding: String,
        /// The reason for the dismissal
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = free_text)]
        reason: String,
        /// Dismiss it in the whole repository, not only for this feature
        #[arg(long)]
        everywhere: bool,
        /// The iteration [default: the last reviewed one]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        iteration: Option<u32>,
    },
    /// Confirm a dismissal that an agent proposed
    ///
    /// Example: `tollgate feature confirm x7k2 fp-4d1b0c2f9a6e7385`
    Confirm {
        /// The feature's ID or a prefix of it
        id: String,
        /// The finding: its fingerprint, as printed by `feature dismissals`, or its number in the last review (F001)
        #[arg(value_name = "FINDING")]
        fingerprint: String,
    },
    /// List the dismissals that hold for a feature, and the ones that agents propose
    ///
    /// Example: `tollgate feature dismissals x7k2`
    Dismissals {
        /// The feature's ID or a prefix of it
        id: String,
    },
    /// Withdraw the dismissal of a finding, or reject a proposed one
    ///
    /// Example: `tollgate feature undismiss x7k2 fp-4d1b0c2f9a6e7385`
    Undismiss {
        /// The feature's ID or a prefix of it
        id: String,
        /// The finding's fingerprint, as printed by `feature dismiss`
        #[arg(value_name = "FINGERPRINT")]
        fingerprint: String,
    },
    /// Export a review of a feature
    ///
    /// Example: `tollgate feature export x7k2 sarif -o review.sarif`
    Export {
        /// The feature's ID or a prefix of it
        id: String,
        /// The output format
        #[arg(value_enum, default_value_t = record::Form::Markdown)]
        form: record::Form,
        /// The iteration [default: the last reviewed one]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        iteration: Option<u32>,
        /// Write to this file instead of standard output
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Print the findings of a review as a prompt for an agent
    ///
    /// Example: `tollgate feature prompt x7k2 F001`
    Prompt {
        /// The feature's ID or a prefix of it
        id: String,
        /// Include only this finding
        #[arg(value_name = "FINDING")]
        finding: Option<String>,
        /// The iteration [default: the last reviewed one]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        iteration: Option<u32>,
    },
    /// Delete a feature from the board; its directory is set aside, its branch and history are kept
    ///
    /// Example: `tollgate feature delete x7k2`
    Delete {
        /// The feature's ID or a prefix of it
        id: String,
    },
}

#[derive(clap::Args)]
struct Add {
    /// A short title
    title: String,
    /// The description; the review checks its list items and sentences with "must" or "should"
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = free_text)]
    description: Option<String>,
    /// Read the description from this file; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "description")]
    description_file: Option<PathBuf>,
    /// Read the specification from this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    spec_file: Option<PathBuf>,
    /// The priority, from 1 (highest) to 3 (lowest)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    priority: Option<u8>,
    /// The category, by which the board groups features
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
    /// A feature that must be completed first; can be repeated
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    /// The model that implements it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The branch to work on [default: a new branch]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Require manual approval: a passed feature goes to `waiting_approval` (the default)
    #[arg(long, conflicts_with = "verify")]
    skip_tests: bool,
    /// Require no manual approval: a passed feature goes to `verified`
    #[arg(long)]
    verify: bool,
    /// Start work immediately
    #[arg(long)]
    start: bool,
}

/// A column of the board.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Column {
    /// Not started
    Backlog,
    /// An agent is working on it
    InProgress,
    /// Passed, awaiting manual approval
    WaitingApproval,
    /// Passed without manual approval
    Verified,
    /// Done
    Completed,
}

same_variants!(Column => Status: Backlog InProgress WaitingApproval Verified Completed);

/// The board, the selected project and the output format.
struct BoardContext<'a> {
    context: &'a CliContext,
    board: Board,
    project: ProjectRow,
    format: DataFormat,
}

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    let (board, project) = args.which.open(context)?;
    let scene = BoardContext { context, board, project, format: args.format };
    let (board, project, who) = (&scene.board, scene.project.id, board::actor());
    match args.command {
        Command::Add(add) => scene.add(*add, &who),
        Command::List { status, text } => scene.list(status.as_deref(), text),
        Command::Show { id, history } => show::run(&scene, &scene.find(&id)?, history),
        Command::Logs { id, follow, iteration } => logs::run(&scene, &scene.find(&id)?, follow, iteration),
        Command::Delete { id } => {
            let row = scene.find(&id)?;
            board.delete(project, &row.id, &who).map_err(Refused::into_failure)?;
            output::say(&format!("deleted `{}` from the board", row.id));
            Ok(Exit::Success)
        }
        Command::Edit(edit) => scene.edit(*edit),
        Command::Clean { id } => scene.clean(&scene.find(&id)?),
        Command::Dismiss { id, finding, reason, everywhere, iteration } => {
            let row = scene.find(&id)?;
            let iteration = scene.reviewed(&row, iteration)?;
            let (party, finding) = (board::party(context)?, finding.as_str());
            scene.dismiss(&row, &DismissRequest { iteration, finding, reason: &reason, party, everywhere })
        }
        Command::Confirm { id, fingerprint } => scene.confirm(&scene.find(&id)?, &fingerprint),
        Command::Dismissals { id } => scene.dismissals(&scene.find(&id)?),
        Command::Undismiss { id, fingerprint } => scene.undismiss(&scene.find(&id)?, &fingerprint),
        Command::Export { id, form, iteration, output } => scene.export(&scene.find(&id)?, form, iteration, output),
        Command::Prompt { id, finding, iteration } => scene.prompt(&scene.find(&id)?, finding.as_deref(), iteration),
        Command::Start { id } => scene.act(&id, true, |id| board.start(project, id, &who)),
        Command::Stop { id } => scene.act(&id, false, |id| board.stop(project, id, &who)),
        Command::Resume { id, note } => scene.act(&id, true, |id| board.resume(project, id, &who, note.as_deref())),
        Command::Approve { id, reason } => {
            require_text("--reason", &reason)?;
            board::person(context, "approve a feature")?;
            scene.act(&id, true, |id| board.approve(project, id, &who, &reason))
        }
        Command::Reject { id, note } => {
            require_text("--note", &note)?;
            scene.act(&id, true, |id| board.reject(project, id, &who, &note))
        }
        Command::Retry { id } => scene.act(&id, true, |id| board.retry(project, id, &who)),
        Command::Move { id, status } => {
            let to = Status::from(status);
            if to != Status::Backlog {
                board::person(context, "move a feature past the gate")?;
            }
            scene.act(&id, true, |id| board.move_to(project, id, &who, &to))
        }
    }
}

fn require_text(flag: &str, text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() { Err(failure::empty_flag(flag)) } else { Ok(()) }
}

impl BoardContext<'_> {
    fn find(&self, named: &str) -> Result<FeatureRow, Failure> {
        board::find_feature(&self.board, &self.project, named)
    }

    fn add(&self, add: Add, who: &str) -> Result<Exit, Failure> {
        let files = [("--description-file", &add.description_file), ("--spec-file", &add.spec_file)];
        output::standard_input_once(files.map(|(flag, file)| (flag, file.as_deref())))?;
        let description = match (add.description, &add.description_file) {
            (Some(text), _) => text,
            (None, Some(file)) => self.read(file)?,
            (None, None) => String::new(),
        };
        let mut dependencies = Vec::new();
        for named in &add.depends_on {
            dependencies.push(self.find(named)?.id.to_string());
        }
        let new = NewFeature {
            title: add.title,
            description,
            spec: add.spec_file.as_deref().map(|file| self.read(file)).transpose()?,
            category: add.category,
            priority: add.priority,
            skip_tests: (add.verify || add.skip_tests).then_some(!add.verify),
            dependencies,
            model: add.model,
            branch: add.branch,
        };
        let row = self.board.create(self.project.id, &new).map_err(Refused::into_failure)?;
        if !add.start {
            return self.print_row(&row);
        }
        let row = self.board.start(self.project.id, &row.id, who).map_err(Refused::into_failure)?;
        self.warn_without_server()?;
        self.print_row(&row)
    }

    fn read(&self, file: &Path) -> Result<String, Failure> {
        let bytes = output::read_input(&self.context.resolve(file), MAX_TEXT)?;
        String::from_utf8(bytes).map_err(|_| failure::not_text(&file.display().to_string()))
    }

    fn list(&self, status: Option<&str>, text: Option<String>) -> Result<Exit, Failure> {
        let is_all = status.is_none() && text.is_none();
        let status = status.map(Status::known).transpose().map_err(|unknown| failure::unknown_status(&unknown))?;
        let filter = CardFilter { status, text, limit: usize::MAX, ..CardFilter::default() };
        let cards = self.board.features(self.project.id, &filter).map_err(Refused::into_failure)?;
        let max_iterations = self.board.settings().pipeline.rounds;
        let text = match self.format {
            DataFormat::Json => {
                let cards: Vec<_> = cards.into_iter().map(|card| card_json(card, max_iterations)).collect();
                format!("{:#}\n", json!({ "features": cards }))
            }
            DataFormat::Text => {
                if cards.is_empty() {
                    let what = if is_all { "no features yet" } else { "no matching features" };
                    output::say(&format!("{what}; `tollgate feature add TITLE` adds one"));
                }
                list::table(&cards, &output::look(self.context, None, false))
            }
        };
        output::print(&text)?;
        Ok(Exit::Success)
    }

    /// Applies an action to a feature and prints its new state.
    fn act(
        &self,
        named: &str,
        needs_server: bool,
        act: impl FnOnce(&tollgate_core::board::FeatureId) -> Result<FeatureRow, Refused>,
    ) -> Result<Exit, Failure> {
        let row = act(&self.find(named)?.id).map_err(Refused::into_failure)?;
        if needs_server && row.state.work != tollgate_core::board::machine::Work::Nothing {
            self.warn_without_server()?;
        }
        self.print_row(&row)
    }

    /// Warns if no server is running to do the queued work.
    fn warn_without_server(&self) -> Result<(), Failure> {
        if !self.board.is_kept(&self.project)? && !self.board.has_worker() {
            output::say(board::NO_SERVER);
        }
        Ok(())
    }

    fn print_row(&self, row: &FeatureRow) -> Result<Exit, Failure> {
        let text = match self.format {
            DataFormat::Json => format!("{:#}\n", self.json(row)?),
            DataFormat::Text => {
                let (name, title) = (row.id.short(), visible(row.facts.display_title()));
                format!("{name}  {title}: {}\n", row.state.in_words())
            }
        };
        output::print(&text)?;
        Ok(Exit::Success)
    }

    /// Converts a feature to the JSON of the HTTP API.
    fn json(&self, row: &FeatureRow) -> Result<serde_json::Value, Failure> {
        let row = self.board.feature(self.project.id, &row.id).map_err(Refused::into_failure)?;
        Ok(feature_json(row, self.board.settings().pipeline.rounds))
    }
}
