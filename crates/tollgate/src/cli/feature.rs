//! `tollgate feature`: the board from the command line.
//!
//! The same operations as over HTTP, on the same database, whether a server runs or not. Agents are run by a server
//! only; what is asked for without one waits for the next.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::json;
use tollgate_core::board::machine::Status;
use tollgate_core::visible::visible;
use tollgate_engine::board::{Board, NewFeature, Refused};
use tollgate_engine::failure::Failure;
use tollgate_engine::store::board::{CardFilter, FeatureRow, ProjectRow};
use tollgate_server::board::{BoardDesk, card_json, feature_json};
use tollgate_server::desk::{Card, Desk as _};

use super::rules::DataFormat;
use super::{Done, Place, board, failure, output};

mod list;
mod logs;
mod record;
mod show;

/// The longest description or specification.
const MAX_TEXT: u64 = 1024 * 1024;

/// Adds features, lists and shows them, and decides about them
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate feature add \"Add login\" --description-file login.md --start\n  \
    tollgate feature list\n  \
    tollgate feature show x7k2                  the beginning of its name is enough\n  \
    tollgate feature logs -f x7k2               what the agent says, as it says it\n  \
    tollgate feature resume x7k2 --note \"Use the session store that is there.\"\n  \
    tollgate feature approve x7k2 --reason \"The finding is about generated code.\"\n\n\
    Agents are run by `tollgate serve`; without it, what is started waits.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    which: board::Which,
    /// For people or for programs
    #[arg(long, value_enum, default_value_t = DataFormat::Text, global = true)]
    format: DataFormat,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Adds a feature
    ///
    /// Example: `tollgate feature add "Add login" --description "Users can sign in." --priority 1 --start`
    Add(Box<Add>),
    /// Lists the features of a project
    ///
    /// Example: `tollgate feature list --status in_progress`
    List {
        /// Only those in this column
        #[arg(long, value_name = "STATUS")]
        status: Option<String>,
        /// Only those with this text in their name, title or first line
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,
    },
    /// Shows one feature: where it is, what its reviews said, where its files are
    ///
    /// Example: `tollgate feature show x7k2 --history`
    Show {
        /// The feature, or the beginning of its name
        id: String,
        /// Also tell all that happened to it
        #[arg(long)]
        history: bool,
    },
    /// Has a feature done
    ///
    /// Example: `tollgate feature start x7k2`
    Start {
        /// The feature, or the beginning of its name
        id: String,
    },
    /// Ends the work on a feature; what was done stays in its work tree
    ///
    /// Example: `tollgate feature stop x7k2`
    Stop {
        /// The feature, or the beginning of its name
        id: String,
    },
    /// Has a feature go on that waits for a person, with all its rounds anew
    ///
    /// Example: `tollgate feature resume x7k2 --note "Use the session store that is there."`
    Resume {
        /// The feature, or the beginning of its name
        id: String,
        /// What to say to the agent, which reads it first
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Lets a feature pass by hand, whatever its review says; who and why is kept
    ///
    /// Example: `tollgate feature approve x7k2 --reason "The finding is about generated code."`
    Approve {
        /// The feature, or the beginning of its name
        id: String,
        /// Why it may pass
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Sends a feature back to the agent
    ///
    /// Example: `tollgate feature reject x7k2 --note "The error names the wrong field."`
    Reject {
        /// The feature, or the beginning of its name
        id: String,
        /// What is to be done differently; the agent reads it first
        #[arg(long, value_name = "TEXT")]
        note: String,
    },
    /// Tries again what failed, or has reviewed again what was rejected too often
    ///
    /// Example: `tollgate feature retry x7k2`
    Retry {
        /// The feature, or the beginning of its name
        id: String,
    },
    /// Moves a feature to another column, where that is a person's to do
    ///
    /// Example: `tollgate feature move x7k2 completed`
    Move {
        /// The feature, or the beginning of its name
        id: String,
        /// The column
        #[arg(value_enum)]
        status: Column,
    },
    /// Prints what the agent said
    ///
    /// Example: `tollgate feature logs -f x7k2`
    Logs {
        /// The feature, or the beginning of its name
        id: String,
        /// Go on until the work on it ends
        #[arg(short, long)]
        follow: bool,
        /// Of this iteration, not of the last one
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        iteration: Option<u32>,
    },
    /// Changes what a feature says
    ///
    /// Example: `tollgate feature edit x7k2 --title "Add login" --priority 1`
    Edit(Box<record::Edit>),
    /// Removes the work tree of a feature, if nothing in it would be lost; its branch stays
    ///
    /// Example: `tollgate feature clean x7k2`
    Clean {
        /// The feature, or the beginning of its name
        id: String,
    },
    /// Dismisses a finding: reviews leave it out while its code is the same; who and why is kept
    ///
    /// Example: `tollgate feature dismiss x7k2 F001 --reason "The template is ours."`
    Dismiss {
        /// The feature, or the beginning of its name
        id: String,
        /// The finding, as `feature show` names it
        #[arg(value_name = "FINDING")]
        finding: String,
        /// Why it does not count
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Of this iteration, not of the last review
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        iteration: Option<u32>,
    },
    /// Counts a finding again that was dismissed
    ///
    /// Example: `tollgate feature undismiss x7k2 fp-4d1b0c2f9a6e7385`
    Undismiss {
        /// The feature, or the beginning of its name
        id: String,
        /// The finding, as `feature dismiss` named it
        #[arg(value_name = "FINGERPRINT")]
        fingerprint: String,
    },
    /// Prints a review of a feature as a file
    ///
    /// Example: `tollgate feature export x7k2 sarif -o review.sarif`
    Export {
        /// The feature, or the beginning of its name
        id: String,
        /// The form of the file
        #[arg(value_enum, default_value_t = record::Form::Markdown)]
        form: record::Form,
        /// Of this iteration, not of the last review
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        iteration: Option<u32>,
        /// Write it to this file
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Prints the findings of a review as a task for an agent
    ///
    /// Example: `tollgate feature prompt x7k2 F001`
    Prompt {
        /// The feature, or the beginning of its name
        id: String,
        /// Only this finding
        #[arg(value_name = "FINDING")]
        finding: Option<String>,
        /// Of this iteration, not of the last review
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        iteration: Option<u32>,
    },
    /// Takes a feature off the board; its folder is put aside, its branch and history stay
    ///
    /// Example: `tollgate feature delete x7k2`
    Delete {
        /// The feature, or the beginning of its name
        id: String,
    },
}

#[derive(clap::Args)]
struct Add {
    /// A short title
    title: String,
    /// What is wanted; list items and sentences with "must" or "should" are what the review checks
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The same from a file, or from standard input with `-`
    #[arg(long, value_name = "FILE", conflicts_with = "description")]
    description_file: Option<PathBuf>,
    /// What exactly is required, from a file, or from standard input with `-`
    #[arg(long, value_name = "FILE")]
    spec_file: Option<PathBuf>,
    /// 1 is most urgent, 3 least
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    priority: Option<u8>,
    /// The group it is shown in
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
    /// A feature that must be done before
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    /// The model that works on it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The branch to make it on [default: one of its own]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// In the end a person looks at it: it goes to `waiting_approval`, as by default
    #[arg(long, conflicts_with = "verify")]
    skip_tests: bool,
    /// In the end nobody has to look at it: it goes to `verified`
    #[arg(long)]
    verify: bool,
    /// Start it at once
    #[arg(long)]
    start: bool,
}

/// A column to which people move features.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Column {
    /// Nobody works on it
    Backlog,
    /// An agent works on it
    InProgress,
    /// It passed, and a person looks at it
    WaitingApproval,
    /// It passed, and nobody has to look at it
    Verified,
    /// It is over
    Completed,
}

impl Column {
    fn status(self) -> Status {
        match self {
            Self::Backlog => Status::Backlog,
            Self::InProgress => Status::InProgress,
            Self::WaitingApproval => Status::WaitingApproval,
            Self::Verified => Status::Verified,
            Self::Completed => Status::Completed,
        }
    }
}

/// The board, the project, and how to answer.
struct Scene<'a> {
    place: &'a Place,
    board: Board,
    project: ProjectRow,
    format: DataFormat,
}

pub(crate) fn run(place: &Place, args: Args) -> Result<Done, Failure> {
    let (board, project) = args.which.open(place)?;
    let scene = Scene { place, board, project, format: args.format };
    let (board, project, who) = (&scene.board, scene.project.id, board::who());
    match args.command {
        Command::Add(add) => scene.add(*add, &who),
        Command::List { status, text } => scene.list(status.as_deref(), text),
        Command::Show { id, history } => show::run(&scene, &scene.find(&id)?, history),
        Command::Logs { id, follow, iteration } => logs::run(&scene, &scene.find(&id)?, follow, iteration),
        Command::Delete { id } => {
            let row = scene.find(&id)?;
            board.delete(project, &row.id, &who).map_err(Refused::into_failure)?;
            output::say(&format!("`{}` is off the board", row.id));
            Ok(Done::Fine)
        }
        Command::Edit(edit) => scene.edit(*edit),
        Command::Clean { id } => scene.clean(&scene.find(&id)?),
        Command::Dismiss { id, finding, reason, iteration } => {
            said("--reason", &reason)?;
            scene.dismiss(&scene.find(&id)?, &finding, iteration, (&who, &reason))
        }
        Command::Undismiss { id, fingerprint } => scene.undismiss(&scene.find(&id)?, &fingerprint),
        Command::Export { id, form, iteration, output } => scene.export(&scene.find(&id)?, form, iteration, output),
        Command::Prompt { id, finding, iteration } => scene.prompt(&scene.find(&id)?, finding.as_deref(), iteration),
        Command::Start { id } => scene.act(&id, true, |id| board.start(project, id, &who)),
        Command::Stop { id } => scene.act(&id, false, |id| board.stop(project, id, &who)),
        Command::Resume { id, note } => scene.act(&id, true, |id| board.resume(project, id, &who, note.as_deref())),
        Command::Approve { id, reason } => {
            said("--reason", &reason)?;
            scene.act(&id, true, |id| board.approve(project, id, &who, &reason))
        }
        Command::Reject { id, note } => {
            said("--note", &note)?;
            scene.act(&id, true, |id| board.reject(project, id, &who, &note))
        }
        Command::Retry { id } => scene.act(&id, true, |id| board.retry(project, id, &who)),
        Command::Move { id, status } => scene.act(&id, true, |id| board.move_to(project, id, &who, &status.status())),
    }
}

fn said(flag: &str, text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() { Err(failure::nothing_said(flag)) } else { Ok(()) }
}

impl Scene<'_> {
    fn find(&self, named: &str) -> Result<FeatureRow, Failure> {
        board::find_feature(&self.board, &self.project, named)
    }

    fn add(&self, add: Add, who: &str) -> Result<Done, Failure> {
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
            return self.answer(&row);
        }
        let row = self.board.start(self.project.id, &row.id, who).map_err(Refused::into_failure)?;
        self.remind()?;
        self.answer(&row)
    }

    fn read(&self, file: &Path) -> Result<String, Failure> {
        let bytes = output::read_input(&self.place.resolve(file), MAX_TEXT)?;
        String::from_utf8(bytes).map_err(|_| failure::not_text(&file.display().to_string()))
    }

    fn list(&self, status: Option<&str>, text: Option<String>) -> Result<Done, Failure> {
        let is_all = status.is_none() && text.is_none();
        let filter = CardFilter { status: status.map(Status::parse), text, limit: usize::MAX, ..CardFilter::default() };
        let cards = self.board.features(self.project.id, &filter).map_err(Refused::into_failure)?;
        let max_iterations = self.board.settings().pipeline.rounds;
        let text = match self.format {
            DataFormat::Json => {
                let cards: Vec<_> = cards.into_iter().map(|card| card_json(Card { card, max_iterations })).collect();
                format!("{:#}\n", json!({ "features": cards }))
            }
            DataFormat::Text => {
                if cards.is_empty() {
                    let what = if is_all { "there is no feature yet" } else { "no feature fits" };
                    output::say(&format!("{what}; `tollgate feature add TITLE` adds one"));
                }
                list::table(&cards, &output::look(self.place, None, false))
            }
        };
        output::print(&text)?;
        Ok(Done::Fine)
    }

    /// Does something to a feature, and says where it is then.
    fn act(
        &self,
        named: &str,
        needs_server: bool,
        act: impl FnOnce(&tollgate_core::board::FeatureId) -> Result<FeatureRow, Refused>,
    ) -> Result<Done, Failure> {
        let row = act(&self.find(named)?.id).map_err(Refused::into_failure)?;
        if needs_server && row.state.work != tollgate_core::board::machine::Work::Nothing {
            self.remind()?;
        }
        self.answer(&row)
    }

    /// Says so when nobody does what was asked for.
    fn remind(&self) -> Result<(), Failure> {
        if !self.board.is_kept(&self.project)? {
            output::say(board::NO_SERVER);
        }
        Ok(())
    }

    fn answer(&self, row: &FeatureRow) -> Result<Done, Failure> {
        let text = match self.format {
            DataFormat::Json => format!("{:#}\n", self.json(row)?),
            DataFormat::Text => {
                let (name, title) = (board::short(&row.id), visible(board::title(row)));
                format!("{name}  {title}: {}\n", row.state.in_words())
            }
        };
        output::print(&text)?;
        Ok(Done::Fine)
    }

    /// A feature as the API shows it.
    fn json(&self, row: &FeatureRow) -> Result<serde_json::Value, Failure> {
        let desk = BoardDesk::new(self.board.clone());
        let project = u64::try_from(self.project.id).unwrap_or_default();
        match desk.feature(project, &row.id) {
            Ok(feature) => Ok(feature_json(feature)),
            Err(_) => Err(Refused::NoFeature(row.id.to_string()).into_failure()),
        }
    }
}
