//! `tollgate project`: the repositories on the board.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use tollgate_core::visible::visible;
use tollgate_engine::board::{Board, Refused};
use tollgate_engine::config::Layer;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::project::Project;
use tollgate_engine::store::board::ProjectRow;
use tollgate_server::board::{BoardDesk, project_json};
use tollgate_server::desk::Desk as _;

use super::rules::DataFormat;
use super::{Done, Place, board, memory, output};

/// Adds, lists and removes the projects of the board
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate project add .                  put this repository on the board\n  \
    tollgate project add ~/shop --ignore    and have git ignore the board's folders there\n  \
    tollgate project list\n  \
    tollgate project remove 2               its folder and history stay")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    store: memory::Flag,
    /// For people or for programs
    #[arg(long, value_enum, default_value_t = DataFormat::Text, global = true)]
    format: DataFormat,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Puts a repository on the board, with the features it already has
    ///
    /// Example: `tollgate project add ~/shop --name Shop`
    Add {
        /// The top folder of the repository
        path: PathBuf,
        /// What to call it [default: the name of its folder]
        #[arg(long)]
        name: Option<String>,
        /// Add the board's folders to `.git/info/exclude`, so that git does not show them
        #[arg(long)]
        ignore: bool,
        /// Take over a project that another machine added, which shares the database: its folder is here now
        #[arg(long)]
        adopt: bool,
    },
    /// Lists the projects
    ///
    /// Example: `tollgate project list --format json`
    List,
    /// Takes a project off the board; its folder and its history stay
    ///
    /// Example: `tollgate project remove 2`
    Remove {
        /// The project, by its number or its folder
        #[arg(value_name = "ID|PATH")]
        project: String,
    },
}

pub(crate) fn run(place: &Place, args: Args) -> Result<Done, Failure> {
    let board = board::open(place, &args.store, Layer::default())?;
    match args.command {
        Command::Add { path, name, ignore, adopt } => {
            let path = place.resolve(&path);
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
                output::say("it is on the board already");
            }
            advise(&board, &project);
            show(&board, &[project], args.format)
        }
        Command::List => {
            let projects = board.projects()?;
            if projects.is_empty() {
                output::say("there is no project yet; `tollgate project add PATH` adds one");
            }
            show(&board, &projects, args.format)
        }
        Command::Remove { project } => {
            let project = board::named_project(place, &board, &project)?;
            board.remove_project(project.id).map_err(Refused::into_failure)?;
            output::say(&format!("`{}` is off the board; `{}` stays as it is", project.name, project.path.display()));
            Ok(Done::Fine)
        }
    }
}

/// Says what is still missing before anything can be done.
fn advise(board: &Board, project: &ProjectRow) {
    for broken in board.broken(project.id) {
        output::say(&format!("`{}` cannot be read: {}", broken.name, broken.why));
    }
    if board.settings().pipeline.agent.is_none() {
        output::say(
            "no agent is set up to implement features; set `agent` in `[pipeline]` of your configuration \
             (`tollgate doctor` says which are here)",
        );
    }
}

fn show(board: &Board, projects: &[ProjectRow], format: DataFormat) -> Result<Done, Failure> {
    let text = match format {
        DataFormat::Json => {
            let desk = BoardDesk::new(board.clone());
            let described = projects.iter().filter_map(|row| desk.project(u64::try_from(row.id).ok()?).ok());
            let values: Vec<Value> = described.map(project_json).collect();
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
                // One that moved is another project where it is now.
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
    Ok(Done::Fine)
}
