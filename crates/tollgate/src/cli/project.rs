//! `tollgate project`: the projects (repositories) of the board.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use tollgate_core::visible::visible;
use tollgate_engine::board::{Board, Refused};
use tollgate_engine::config::Layer;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::project::Project;
use tollgate_engine::store::board::ProjectRow;
use tollgate_server::view::project_json;

use super::rules::DataFormat;
use super::{CliContext, Exit, StoreArgs, board, output};

/// Add, list and remove projects of the board
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate project add .                  add this repository to the board\n  \
    tollgate project add ~/shop --ignore    also make git ignore the board's directories there\n  \
    tollgate project list\n  \
    tollgate project remove 2               its directory and history are kept")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    store: StoreArgs,
    /// The output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text, global = true)]
    format: DataFormat,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Add a repository to the board, with its existing features
    ///
    /// Example: `tollgate project add ~/shop --name Shop`
    Add {
        /// The root directory of the repository
        path: PathBuf,
        /// The name of the project [default: the name of its directory]
        #[arg(long)]
        name: Option<String>,
        /// Add the board's directories to `.git/info/exclude`, so that git ignores them
        #[arg(long)]
        ignore: bool,
        /// Take over a project that another machine added to the shared database and that moved to this one
        #[arg(long)]
        adopt: bool,
    },
    /// List the projects
    ///
    /// Example: `tollgate project list --format json`
    List,
    /// Remove a project from the board; its directory and history are kept
    ///
    /// Example: `tollgate project remove 2`
    Remove {
        /// The project, by ID or directory
        #[arg(value_name = "ID|PATH")]
        project: String,
    },
}

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    let board = board::open(context, &args.store, Layer::default())?;
    match args.command {
        Command::Add { path, name, ignore, adopt } => {
            let path = context.resolve(&path);
            let known = board.project_at(&path)?.filter(|known| path.canonicalize().ok().as_ref() == Some(&known.path));
            let added = match adopt {
                true => board.adopt_project(&path, name.as_deref()),
                false => board.add_project(&path, name.as_deref()),
            };
            let project = added.map_err(Refused::into_failure)?;
            if ignore {
                let repository = Project::open(&project.path, board.home().git.clone())?;
                repository.ignore_board(&board.settings().pipeline.dir)?;
            }
            if known.is_some() {
                output::say("the project is already on the board");
            }
            advise(&board, &project);
            show(&board, &[project], args.format)
        }
        Command::List => {
            let projects = board.projects()?;
            if projects.is_empty() {
                output::say("no projects yet; `tollgate project add PATH` adds one");
            }
            show(&board, &projects, args.format)
        }
        Command::Remove { project } => {
            let project = board::named_project(context, &board, &project)?;
            board.remove_project(project.id).map_err(Refused::into_failure)?;
            output::say(&format!("removed `{}` from the board; `{}` is kept", project.name, project.path.display()));
            Ok(Exit::Success)
        }
    }
}

/// Prints problems that keep the project from working: unreadable features, no agent.
fn advise(board: &Board, project: &ProjectRow) {
    for broken in board.broken(project.id) {
        output::say(&format!("cannot read `{}`: {}", broken.name, broken.why));
    }
    if board.settings().pipeline.agent.is_none() {
        output::say(
            "no agent is configured to implement features; set `agent` in `[pipeline]` of your configuration \
             (`tollgate doctor` lists the installed ones)",
        );
    }
}

fn show(board: &Board, projects: &[ProjectRow], format: DataFormat) -> Result<Exit, Failure> {
    let text = match format {
        DataFormat::Json => {
            let values = projects.iter().map(|row| project_json(board, row.clone()));
            let values = values.collect::<Result<Vec<Value>, Failure>>()?;
            format!("{:#}\n", json!({ "projects": values }))
        }
        DataFormat::Text => {
            let mut text = String::new();
            let width = projects.iter().map(|project| visible(&project.name).chars().count()).max().unwrap_or(0);
            for project in projects {
                let counts = board.database().column_counts(project.id)?;
                let n_features: usize = counts.iter().map(|(_, n)| n).sum();
                let (name, path) = (visible(&project.name), project.path.display().to_string());
                let features = if n_features == 1 { "feature" } else { "features" };
                // A moved repository is a different project at its new path.
                let gone = match &project.machine {
                    _ if board.is_here(project) => if project.path.is_dir() { "" } else { " (gone)" }.to_owned(),
                    Some(machine) => format!(" (on {})", visible(machine)),
                    None => " (on no machine yet)".to_owned(),
                };
                let _ = writeln!(
                    text,
                    "{:>3}  {name:<width$}  {n_features:>5} {features:<8}  {}{gone}",
                    project.id,
                    visible(&path)
                );
            }
            text
        }
    };
    output::print(&text)?;
    Ok(Exit::Success)
}
