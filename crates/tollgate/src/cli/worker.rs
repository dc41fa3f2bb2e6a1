//! `tollgate worker`: does the work of servers, without being one.
//!
//! It has the crew of `tollgate serve` and nothing else: no pages, no API, no deliveries. Any number of workers and servers
//! share a database; what one of them claimed, no other does.

use std::sync::mpsc;

use tollgate_engine::failure::Failure;

use super::serve::{Clock, Crew, Hands, be_seated, end_when_asked};
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
    hands: Hands,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(context: &CliContext, args: &Args) -> Result<Exit, Failure> {
    // Keys are in our environment, and agents run as the same user.
    tollgate_engine::process::seclude();
    // Asked while there is one thread only: later the system's answer is not to be trusted.
    let clock = Clock::of_system();
    let board = board::open(context, &args.store, args.hands.layer())?;
    let (seat, _) = be_seated(&board)?;
    let (ask, asked) = mpsc::channel();
    end_when_asked(ask);
    output::say(&format!("working on what {} holds", board.database().place()));
    if let Some(machine) = board.machine() {
        output::say(&format!("projects of this machine, `{machine}`, are worked on, and all pull requests"));
    }
    let crew = Crew::new(board, clock, seat);
    let begun = crew.begin();
    if begun.is_ok() {
        let _ = asked.recv();
    }
    crew.stop();
    crew.wait();
    begun.map(|()| Exit::Success)
}
