//! The command-line interface: argument parsing, dispatch of subcommands, and exit codes.
//!
//! Data goes to standard output, messages to standard error. Exit code 0 means success, 1 that the gate is closed,
//! 2 a usage error or bad input, 3 an external or internal failure.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};
use tollgate_engine::config::{self, Layer, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::Environment;
use tollgate_engine::forge::local::{Local, Trigger};
use tollgate_engine::party::Party;
use tollgate_engine::pipeline::{BranchConfig, BranchSettings, branch_settings};

use self::store_args::StoreArgs;

mod analyze;
mod backup;
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
mod migrate;
mod model_options;
mod output;
mod parse_answer;
mod progress;
mod project;
mod review;
mod rules;
mod schema;
mod serve;
mod store_args;
mod worker;

/// The exit status of a command that did not fail.
pub(crate) enum Exit {
    /// Exit code 0.
    Success,
    /// Exit code 1: the command ran, and its answer is no (the gate is closed, a check failed).
    Negative,
}

/// Review code changes and gate them
#[derive(Parser)]
#[command(
    name = "tollgate",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  \
        tollgate review                   review your branch and uncommitted work against the main branch\n  \
        tollgate review --staged          review the staged changes\n  \
        tollgate review HEAD~3..HEAD      review the last three commits\n  \
        tollgate serve --demo             watch features go through the gate, with a scripted agent\n  \
        tollgate init                     write a commented configuration\n\n\
        Exit codes: 0 success, 1 gate closed, 2 usage error or bad input, 3 failure."
)]
struct Cli {
    /// Run as if started in this directory
    #[arg(short = 'C', value_name = "DIR", global = true)]
    directory: Option<PathBuf>,
    /// When to use colors
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto, global = true)]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

/// The values of `--color`.
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
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Completions(completions::Args),
    Man(man::Args),
}

/// Prints the version without setting anything up.
pub(crate) fn print_version() -> ExitCode {
    finish(output::print(concat!("tollgate ", env!("CARGO_PKG_VERSION"), "\n")).map(|()| Exit::Success))
}

/// Attempts to break out of the sandbox that this process is in.
#[cfg(unix)]
pub(crate) fn attempt_to_break_out(targets: Option<&str>) -> ExitCode {
    let Some(printed) = targets.and_then(tollgate_engine::process::sandbox::break_out::run) else {
        return ExitCode::from(2);
    };
    finish(output::print(&printed).map(|()| Exit::Success))
}

/// Runs a command line.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // clap prints help and version to standard output and usage errors to standard error. A closed pipe
            // is not an error here.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let context = match CliContext::find(cli.directory, cli.color) {
        Ok(context) => context,
        Err(failure) => return finish(Err(failure)),
    };
    finish(match cli.command {
        Command::Review(args) => review::run(&context, args),
        Command::Serve(args) => serve::run(&context, args),
        Command::Worker(args) => worker::run(&context, &args),
        Command::Project(args) => project::run(&context, args),
        Command::Feature(args) => feature::run(&context, args),
        Command::Github(args) => github::run(&context, args),
        Command::Jobs(args) => jobs::run(&context, args),
        Command::Analyze(args) => analyze::run(&context, args),
        Command::Intent(args) => intent::run(&context, args),
        Command::CheckComment(args) => check_comment::run(&context, args),
        Command::ParseAnswer(args) => parse_answer::run(&context, &args),
        Command::Convert(args) => convert::run(&context, args),
        Command::Delta(args) => delta::run(&context, args),
        Command::Schema(args) => schema::run(&args),
        Command::Rules(args) => rules::run(&context, args),
        Command::Init(args) => init::run(&context, &args),
        Command::Doctor(args) => doctor::run(&context, &args),
        Command::Hook(args) => hook::run(&context, args),
        Command::History(args) => history::run(&context, args),
        Command::Mcp(args) => mcp::run(&context, &args),
        Command::Migrate(args) => migrate::run(&context, &args),
        Command::Backup(args) => backup::backup(&context, &args),
        Command::Restore(args) => backup::restore(&context, &args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    })
}

/// The working directory of a command and its color setting.
pub(crate) struct CliContext {
    pub(crate) directory: PathBuf,
    pub(crate) color: Color,
}

impl CliContext {
    fn find(directory: Option<PathBuf>, color: Color) -> Result<Self, Failure> {
        let current = std::env::current_dir().map_err(|error| failure::cannot_read("the current folder", &error))?;
        let directory = directory.map_or(current.clone(), |directory| current.join(directory));
        if directory.is_dir() { Ok(Self { directory, color }) } else { Err(failure::no_such_folder(&directory)) }
    }

    /// Resolves a path argument against the working directory; `-` (standard input or output) is left alone.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        if path == Path::new("-") { path.to_owned() } else { self.directory.join(path) }
    }

    /// Opens the repository around the working directory.
    pub(crate) fn repository(&self) -> Result<Local, Failure> {
        Local::open(&self.directory, Trigger::Default, Environment::of_process())
    }

    /// Loads the settings for a repository, or without one.
    pub(crate) fn settings(&self, root: Option<&Path>, flags: Layer) -> Result<Settings, Failure> {
        config::load(root, Self::config_dir().as_deref(), &Self::variables(), flags)
    }

    /// The settings of a review, by the base of the change, and a note about those of the branch that do not count.
    pub(crate) fn review_settings(
        &self,
        forge: &Local,
        flags: &Layer,
        trusts_branch: bool,
    ) -> Result<BranchSettings, Failure> {
        let (user, variables) = (Self::config_dir(), Self::variables());
        let load = |file: Option<Vec<u8>>| config::load_at(file, user.as_deref(), &variables, flags.clone());
        let trust = match (trusts_branch, board::party(self)?) {
            (true, _) => BranchConfig::Trusted,
            (false, Party::Person(_)) => BranchConfig::New,
            (false, Party::Agent(_)) => BranchConfig::Ignored,
        };
        branch_settings(forge, trust, &load)
    }

    /// The user's configuration directory.
    pub(crate) fn config_dir() -> Option<PathBuf> {
        let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
        std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or(home)
    }

    /// The environment variables that are valid Unicode.
    pub(crate) fn variables() -> Vec<(String, String)> {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        std::env::vars_os().filter_map(text).collect()
    }

    /// The path of this executable, which runs itself as the scanning child process.
    pub(crate) fn program(&self) -> Result<PathBuf, Failure> {
        std::env::current_exe().map_err(|error| failure::no_program(&error))
    }
}

/// Reads the text of an option that may begin with a hyphen, as a list item does; an option in its place is refused.
pub(crate) fn free_text(text: &str) -> Result<String, String> {
    let name = text.trim_start_matches('-');
    let n_hyphens = text.len() - name.len();
    let is_option = matches!(n_hyphens, 1 | 2)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        && (n_hyphens == 2 || name.len() == 1);
    if is_option { Err(format!("`{text}` is an option, not a text")) } else { Ok(text.to_owned()) }
}

/// The current time, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The subcommand, or the list that a bare `tollgate jobs` or `tollgate history` prints.
///
/// The flags of the list are valid before no other subcommand: they would have no effect.
fn command_or_list<C, L: Default + PartialEq>(
    command: Option<C>,
    list: L,
    list_command: impl FnOnce(L) -> C,
) -> Result<C, Failure> {
    match command {
        Some(_) if list != L::default() => Err(failure::flags_before_command()),
        Some(command) => Ok(command),
        None => Ok(list_command(list)),
    }
}

fn finish(done: Result<Exit, Failure>) -> ExitCode {
    match done {
        Ok(Exit::Success) => ExitCode::SUCCESS,
        Ok(Exit::Negative) => ExitCode::from(1),
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

    /// Calls `check` with every command and subcommand and its full name.
    fn for_each_command(command: &clap::Command, name: &str, check: &mut dyn FnMut(&str, &clap::Command)) {
        for command in command.get_subcommands() {
            let name = format!("{name} {}", command.get_name());
            check(&name, command);
            for_each_command(command, &name, check);
        }
    }

    #[test]
    fn help_texts_begin_with_an_imperative_verb() {
        let verbs = [
            "Add",
            "Approve",
            "Cancel",
            "Check",
            "Compare",
            "Convert",
            "Copy",
            "Confirm",
            "Create",
            "Delete",
            "Dismiss",
            "Edit",
            "Export",
            "Install",
            "List",
            "Move",
            "Parse",
            "Print",
            "Process",
            "Reject",
            "Remove",
            "Resume",
            "Retry",
            "Review",
            "Run",
            "Serve",
            "Show",
            "Start",
            "Stop",
            "Summarize",
            "Test",
            "Withdraw",
            "Write",
        ];
        for_each_command(&Cli::command(), "tollgate", &mut |name, command| {
            let about = command.get_about().unwrap_or_else(|| panic!("`{name}` has no help")).to_string();
            let verb = about.split([' ', ',']).next().unwrap_or_default();
            assert!(verbs.contains(&verb), "`{name}`: {about}");
        });
    }

    #[test]
    fn every_command_shows_an_example_in_its_help() {
        for command in Cli::command().get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Example"), "`{}` has no example", command.get_name());
        }
    }
}
