//! The command line: what can be asked, and what is printed where.
//!
//! Data goes to standard output, everything else to standard error. Exit code 0
//! means fine, 1 that the gate says no, 2 wrong use or bad input, 3 that
//! something failed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};
use tollgate_engine::config::{self, Layer, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::forge::local::{Local, Trigger};

mod analyze;
mod asking;
mod board;
mod check_comment;
mod completions;
mod convert;
mod delta;
mod demo;
mod doctor;
mod failure;
mod feature;
mod github;
mod history;
mod hook;
mod init;
mod intent;
mod jobs;
mod man;
mod mcp;
mod memory;
mod migrate;
mod output;
mod parse_answer;
mod progress;
mod project;
mod review;
mod rules;
mod schema;
mod serve;
mod worker;

/// What a command has to say to the shell.
pub(crate) enum Done {
    /// All is well.
    Fine,
    /// The work was done and the answer is no.
    No,
}

/// Reviews code changes and decides whether they may pass.
#[derive(Parser)]
#[command(
    name = "tollgate",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  \
        tollgate review                   review your branch and uncommitted work against the main branch\n  \
        tollgate review --staged          review what the next commit would contain\n  \
        tollgate review HEAD~3..HEAD      review the last three commits\n  \
        tollgate serve --demo             see features go through the gate, with a pretend agent\n  \
        tollgate init                     write a commented configuration\n\n\
        Exit codes: 0 fine, 1 the gate says no, 2 wrong use or bad input, 3 something failed."
)]
struct Cli {
    /// Work as if started in this folder
    #[arg(short = 'C', value_name = "DIR", global = true)]
    directory: Option<PathBuf>,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto, global = true)]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set; also with `CLICOLOR_FORCE`
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Subcommand)]
enum Command {
    Review(review::Args),
    Serve(serve::Args),
    Worker(worker::Args),
    Project(project::Args),
    Feature(feature::Args),
    Github(github::Args),
    Jobs(jobs::Args),
    Analyze(analyze::Args),
    Intent(intent::Args),
    CheckComment(check_comment::Args),
    ParseAnswer(parse_answer::Args),
    Convert(convert::Args),
    Delta(delta::Args),
    Schema(schema::Args),
    Rules(rules::Args),
    Init(init::Args),
    Doctor(doctor::Args),
    Hook(hook::Args),
    History(history::Args),
    Mcp(mcp::Args),
    Migrate(migrate::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Prints the version without setting anything up.
pub(crate) fn print_version() -> ExitCode {
    finish(output::print(concat!("tollgate ", env!("CARGO_PKG_VERSION"), "\n")).map(|()| Done::Fine))
}

/// Runs a command line.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are data; everything else is wrong use. A closed pipe is no error here.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let place = match Place::find(cli.directory, cli.color) {
        Ok(place) => place,
        Err(failure) => return finish(Err(failure)),
    };
    finish(match cli.command {
        Command::Review(args) => review::run(&place, args),
        Command::Serve(args) => serve::run(&place, args),
        Command::Worker(args) => worker::run(&place, &args),
        Command::Project(args) => project::run(&place, args),
        Command::Feature(args) => feature::run(&place, args),
        Command::Github(args) => github::run(&place, args),
        Command::Jobs(args) => jobs::run(&place, args),
        Command::Analyze(args) => analyze::run(&place, args),
        Command::Intent(args) => intent::run(&place, args),
        Command::CheckComment(args) => check_comment::run(&place, args),
        Command::ParseAnswer(args) => parse_answer::run(&place, &args),
        Command::Convert(args) => convert::run(&place, args),
        Command::Delta(args) => delta::run(&place, args),
        Command::Schema(args) => schema::run(&args),
        Command::Rules(args) => rules::run(&place, args),
        Command::Init(args) => init::run(&place, &args),
        Command::Doctor(args) => doctor::run(&place, &args),
        Command::Hook(args) => hook::run(&place, args),
        Command::History(args) => history::run(&place, args),
        Command::Mcp(args) => mcp::run(&place, &args),
        Command::Migrate(args) => migrate::run(&place, &args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    })
}

/// Where a command works and how it may print.
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    pub(crate) color: Color,
}

impl Place {
    fn find(directory: Option<PathBuf>, color: Color) -> Result<Self, Failure> {
        let current = std::env::current_dir().map_err(|error| failure::cannot_read("the current folder", &error))?;
        let directory = directory.map_or(current.clone(), |directory| current.join(directory));
        if directory.is_dir() { Ok(Self { directory, color }) } else { Err(failure::no_such_folder(&directory)) }
    }

    /// A file that the user named; `-` stays what it is.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        if path == Path::new("-") { path.to_owned() } else { self.directory.join(path) }
    }

    /// The repository around this place.
    pub(crate) fn repository(&self) -> Result<Local, Failure> {
        Local::open(&self.directory, Trigger::Default, Environment::of_process())
    }

    /// The settings that hold in a repository, or outside of one.
    pub(crate) fn settings(&self, root: Option<&Path>, flags: Layer) -> Result<Settings, Failure> {
        config::load(root, Self::config_dir().as_deref(), &Self::variables(), flags)
    }

    /// Where the user keeps configuration.
    pub(crate) fn config_dir() -> Option<PathBuf> {
        let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
        std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or(home)
    }

    /// The variables of the environment that are text.
    pub(crate) fn variables() -> Vec<(String, String)> {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        std::env::vars_os().filter_map(text).collect()
    }

    /// This very program, which scans files as a child of itself.
    pub(crate) fn program(&self) -> Result<PathBuf, Failure> {
        std::env::current_exe().map_err(|error| failure::no_program(&error))
    }
}

fn finish(done: Result<Done, Failure>) -> ExitCode {
    match done {
        Ok(Done::Fine) => ExitCode::SUCCESS,
        Ok(Done::No) => ExitCode::from(1),
        Err(failure) => {
            output::print_failure(&failure);
            ExitCode::from(failure.kind.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example_in_its_help() {
        for command in Cli::command().get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Example"), "`{}` has no example", command.get_name());
        }
    }
}
