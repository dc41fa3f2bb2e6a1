//! `tollgate worker`: does the work of servers, without being one.
//!
//! It has the crew of `tollgate serve` and nothing else: no pages, no API, no deliveries. Any number of workers and servers
//! share a database; what one of them claimed, no other does.

use std::sync::mpsc;

use tollgate_engine::failure::Failure;

use super::serve::{Clock, Crew, Seat, end_when_asked, find_app, layer};
use super::{Done, Place, board, memory, output};

/// Does the work of servers that share a database: agents, commits, reviews of pull requests
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate worker --database postgres://tollgate@db.example/tollgate\n  \
    tollgate worker --at-once 4\n  \
    tollgate serve --no-work           the server beside it, which only serves\n\n\
    It needs what a server needs: the same configuration, and the key of the GitHub App. Ctrl-C ends it: agents are\n\
    stopped, and their work is given back. A second Ctrl-C ends it at once.")]
pub(crate) struct Args {
    /// Who implements features, instead of `pipeline.agent` of the configuration
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// How many features agents work on at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    at_once: Option<u64>,
    #[command(flatten)]
    store: memory::Flag,
}

pub(crate) fn run(place: &Place, args: Args) -> Result<Done, Failure> {
    // Keys are in our environment, and agents run as the same user.
    tollgate_engine::process::seclude();
    // Asked while there is one thread only: later the system's answer is not to be trusted.
    let clock = Clock::of_system();
    let board = board::open(place, &args.store, layer(args.agent, args.at_once))?;
    if let Some(name) = &board.settings().pipeline.agent {
        // Said now, not when the first feature fails.
        board.settings().reviewer(name)?;
    }
    // An app without its key or its secret is said now, not when something is owed.
    let own = find_app(&board)?;
    let seat = Seat::default();
    if let Some(own) = &own {
        // A key that is none is told of by those who see to the app.
        let _ = seat.take(own, &board.settings().github);
    }
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
    begun.map(|()| Done::Fine)
}
