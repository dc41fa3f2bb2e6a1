//! `tollgate mcp`: the MCP server on standard input and output.

use std::path::PathBuf;
use std::sync::Arc;

use tollgate_core::pull::{PullRef, Repo};
use tollgate_engine::config::{Layer, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::github::{self, Address};
use tollgate_server::mcp::{self, AllowedRoots, Connect, Mcp, ToolContext};

use super::{CliContext, Exit, StoreArgs, board, output, review, store_args};

/// Serve review tools to agents and editors (MCP) on standard input and output
///
/// Tools: review_change, list_findings, get_review, dismiss_finding, check_comment, create_comment, list_features,
/// get_feature. They read only the directory in which the server is started, unless `--allow` adds more. The server
/// ends at the end of its input. `create_comment` uses the token in `GITHUB_TOKEN` or `GH_TOKEN`, if there is one.
#[derive(clap::Args)]
#[command(after_help = "Examples of how to register it with an agent:\n  \
    claude mcp add tollgate -- tollgate mcp          Claude Code, in the directory of the repository\n  \
    codex mcp add tollgate -- tollgate mcp           Codex\n  \
    gemini mcp add tollgate tollgate mcp             Gemini CLI\n\n\
    opencode, in opencode.json:\n  \
    { \"mcp\": { \"tollgate\": { \"type\": \"local\", \"command\": [\"tollgate\", \"mcp\"] } } }\n\n\
    Others, in mcp.json:\n  \
    { \"mcpServers\": { \"tollgate\": { \"command\": \"tollgate\", \"args\": [\"-C\", \"/path/to/repository\", \"mcp\"] } } }\n\n\
    `tollgate serve` offers the same tools at http://127.0.0.1:7420/mcp, for the projects on its board:\n  \
    claude mcp add --transport http tollgate http://127.0.0.1:7420/mcp --header \"Authorization: Bearer TOKEN\"\n\n\
    Then add to AGENTS.md or CLAUDE.md: Before you stop, call `review_change` and fix its findings.")]
pub(crate) struct Args {
    /// Also let tools read this directory; can be repeated
    #[arg(long, value_name = "PATH")]
    allow: Vec<PathBuf>,
    /// Also allow comments on pull requests of this repository, not only of the origin; can be repeated
    #[arg(long, value_name = "OWNER/NAME", value_parser = Repo::parse)]
    post_to: Vec<Repo>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(context: &CliContext, args: &Args) -> Result<Exit, Failure> {
    // Our environment holds keys and tokens, and the agent that started this process runs as the same user.
    tollgate_engine::process::seclude();
    tollgate_engine::forge::git::end_git_with_us(&context.program()?);
    let settings = context.settings(None, Layer::default())?;
    let store = store_args::location(context, &settings, &args.store)?;
    let data = board::data_folder(context, &settings, &args.store)?;
    let folders = AllowedRoots::new(&context.directory, &args.allow)?;
    let context = ToolContext::in_roots(board::home(context, data, Layer::default())?, store, folders);
    output::end_cleanly_on_ctrl_c();
    mcp::serve(Mcp::new(context.connecting(connect(&settings), args.post_to.clone())))?;
    // The client is gone, so running reviews have no reader.
    tollgate_engine::process::stop_all();
    Ok(Exit::Success)
}

/// Connects to the configured forge with the token of the environment. Other hosts never receive the token.
pub(crate) fn connect(settings: &Settings) -> Connect {
    let (github, token) = (settings.github.clone(), review::token().map(|(_, token)| token));
    Arc::new(move |pull: &PullRef| {
        let Some(token) = token.clone().filter(|_| pull.host == github.url) else { return Ok(None) };
        let address = Address::parse(&github.url, github.api_url.as_deref())?;
        Ok(Some(github::with_token(address, Some(token), None)))
    })
}
