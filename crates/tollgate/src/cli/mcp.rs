//! `tollgate mcp`: the tools for agents, on standard input and output.

use std::path::PathBuf;
use std::sync::Arc;

use tollgate_core::pull::{PullRef, Repo};
use tollgate_engine::config::{Layer, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::github::{self, Address};
use tollgate_server::mcp::{self, Connect, Folders, Mcp, Means};

use super::{Done, Place, board, memory, output, review};

/// Serves review tools to agents and editors (MCP) on standard input and output
///
/// Tools: review_change, list_findings, get_review, dismiss_finding, check_comment, create_comment, list_features,
/// get_feature. They look at the folder it is started in and nowhere else, unless you allow more. It ends when its input
/// ends. `create_comment` uses the token in `GITHUB_TOKEN` or `GH_TOKEN`, if there is one.
#[derive(clap::Args)]
#[command(after_help = "Examples of how an agent is told to start it:\n  \
    claude mcp add tollgate -- tollgate mcp          Claude Code, in the folder of the repository\n  \
    codex mcp add tollgate -- tollgate mcp           Codex\n  \
    gemini mcp add tollgate tollgate mcp             Gemini CLI\n\n\
    opencode, in opencode.json:\n  \
    { \"mcp\": { \"tollgate\": { \"type\": \"local\", \"command\": [\"tollgate\", \"mcp\"] } } }\n\n\
    Others, in mcp.json:\n  \
    { \"mcpServers\": { \"tollgate\": { \"command\": \"tollgate\", \"args\": [\"-C\", \"/path/to/repository\", \"mcp\"] } } }\n\n\
    `tollgate serve` has the same tools at http://127.0.0.1:7420/mcp, for the projects on its board:\n  \
    claude mcp add --transport http tollgate http://127.0.0.1:7420/mcp --header \"Authorization: Bearer TOKEN\"\n\n\
    Then say in AGENTS.md or CLAUDE.md: Before you stop, call `review_change` and fix what it finds.")]
pub(crate) struct Args {
    /// Let tools look at this folder, too; can be repeated
    #[arg(long, value_name = "PATH")]
    allow: Vec<PathBuf>,
    /// Let comments be put on pull requests of this repository, too, and not only of the origin; can be repeated
    #[arg(long, value_name = "OWNER/NAME", value_parser = Repo::parse)]
    post_to: Vec<Repo>,
    #[command(flatten)]
    store: memory::Flag,
}

pub(crate) fn run(place: &Place, args: &Args) -> Result<Done, Failure> {
    // Keys and tokens are in our environment, and the agent that started us runs as the same user.
    tollgate_engine::process::seclude();
    let settings = place.settings(None, Layer::default())?;
    let store = memory::location(place, &settings, &args.store)?;
    let data = board::data(place, &settings, &args.store)?;
    let folders = Folders::new(&place.directory, &args.allow)?;
    let means = Means::in_folders(board::home(place, data, Layer::default())?, store, folders);
    output::end_cleanly_on_ctrl_c();
    mcp::serve(Mcp::new(means.connecting(connect(&settings), args.post_to.clone())))?;
    // What is under way has nobody to answer to any more.
    tollgate_engine::process::stop_all();
    Ok(Done::Fine)
}

/// The way to the code host that the operator configured, with the token of the environment; no other host is shown it.
pub(crate) fn connect(settings: &Settings) -> Connect {
    let (github, token) = (settings.github.clone(), review::token().map(|(_, token)| token));
    Arc::new(move |pull: &PullRef| {
        let Some(token) = token.clone().filter(|_| pull.host == github.url) else { return Ok(None) };
        let address = Address::parse(&github.url, github.api_url.as_deref())?;
        Ok(Some(github::with_token(address, Some(token), None)))
    })
}
