//! `tollgate worker`: the background tasks of `tollgate serve` without pages, API and webhook.
//!
//! Any number of workers and servers share a database; a lease keeps each job with one of them.

use std::sync::{Arc, mpsc};

use tollgate_engine::failure::Failure;
use tollgate_server::supervision::{AppSlot, BackgroundTasks};

use super::serve::{Clock, WorkerArgs, checkpoint, on_interrupt};
use super::{CliContext, Exit, StoreArgs, board, output};

/// Process the job queue of servers that share a database: agents, commits, reviews of pull requests
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate worker --database postgres://tollgate@db.example/tollgate\n  \
    tollgate worker --at-once 4\n  \
    tollgate serve --no-work           the server beside it, which only serves\n\n\
    It needs what a server needs: the same configuration, and the key of the GitHub App. Ctrl-C ends it: agents are\n\
    stopped, and their work is given back. A second Ctrl-C ends it at once.")]
pub(crate) struct Args {
    #[command(flatten)]
    worker: WorkerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(context: &CliContext, args: &Args) -> Result<Exit, Failure> {
    // Keys are in our environment, and agents run as the same user.
    tollgate_engine::process::seclude();
    tollgate_engine::forge::git::end_git_with_us(&context.program()?);
    // Asked while there is one thread only: later the system's answer is not to be trusted.
    let clock = Clock::of_system();
    let board = board::open(context, &args.store, args.worker.layer())?;
    let (slot, _) = AppSlot::load(&board)?;
    let (ask, asked) = mpsc::channel();
    on_interrupt(ask);
    output::say(&format!("working on what {} holds", board.database().place()));
    if let Some(machine) = board.machine() {
        output::say(&format!("projects of this machine, `{machine}`, are worked on, and all pull requests"));
    }
    let tasks = Arc::new(BackgroundTasks::new(board, slot, clock.log()));
    let begun = tasks.begin();
    if begun.is_ok() {
        let _ = asked.recv();
    }
    tasks.stop();
    tasks.wait();
    checkpoint(tasks.board.database());
    begun.map(|()| Exit::Success)
}
