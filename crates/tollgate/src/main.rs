//! Entry point of the `tollgate` binary.
//!
//! Five invocations bypass argument parsing: `--version`, because hooks and editors call it often; the scanning child
//! process, because every review starts one; the process guard of an agent, which must do nothing else; the launcher of
//! git, which becomes git; and the attempts to break out of a sandbox, which run inside of one.

use std::ffi::OsString;
use std::process::ExitCode;

use tollgate_engine::forge::git;
#[cfg(unix)]
use tollgate_engine::process;
use tollgate_engine::process::guard;
#[cfg(unix)]
use tollgate_engine::process::sandbox::break_out;
use tollgate_engine::reviewer::embedded;

mod cli;

fn main() -> ExitCode {
    #[cfg(unix)]
    process::keep_inherited();
    let args: Vec<OsString> = std::env::args_os().collect();
    match args.get(1).and_then(|arg| arg.to_str()) {
        Some("--version" | "-V") if args.len() == 2 => cli::print_version(),
        Some(embedded::SCAN_ARGUMENT) => ExitCode::from(embedded::child_main(args.get(2).and_then(|arg| arg.to_str()))),
        Some(guard::GUARD_ARGUMENT) => ExitCode::from(guard::guard_main(args.get(2..).unwrap_or_default())),
        Some(git::GIT_ARGUMENT) => ExitCode::from(git::git_main(args.get(2..).unwrap_or_default())),
        #[cfg(unix)]
        Some(break_out::ARGUMENT) => cli::attempt_to_break_out(args.get(2).and_then(|arg| arg.to_str())),
        _ => cli::run(args),
    }
}
