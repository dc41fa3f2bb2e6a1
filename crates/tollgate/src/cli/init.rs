//! `tollgate init`: writes a commented configuration, or a GitHub workflow that reviews pull requests.

use std::path::Path;

use tollgate_engine::config;
use tollgate_engine::failure::Failure;

use super::{CliContext, Exit, failure, output};

/// Write a commented `.tollgate.toml` to the root of this repository
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate init              write .tollgate.toml; every line of it is a default, commented out\n  \
    tollgate init --print      print it instead\n  \
    tollgate init --github     write a workflow that reviews pull requests on GitHub\n  \
    tollgate init --github --action our-org/tollgate@<commit>   a workflow that runs tollgate as an action\n  \
    tollgate hook install      then review before every push")]
pub(crate) struct Args {
    /// Print the file instead of writing it
    #[arg(long)]
    print: bool,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Write `.github/workflows/tollgate.yml`, which reviews pull requests on GitHub without a server
    #[arg(long)]
    github: bool,
    /// Run tollgate as an action in the workflow: a copy of its repository, pinned to a full commit hash
    #[arg(long, value_name = "OWNER/NAME@COMMIT", requires = "github")]
    action: Option<String>,
}

/// The path of the workflow in the repository.
const WORKFLOW_FILE: &str = ".github/workflows/tollgate.yml";
const WORKFLOW: &str = include_str!("init/workflow.yml");

/// The workflow step for runners with tollgate on the `PATH`.
const PROGRAM_STEP: &str = "\
      # tollgate must be on the PATH of the runner. Where it is not, keep a copy of its repository and write this with
      # `tollgate init --github --action OWNER/NAME@COMMIT`.
      - name: Review
        env:
          GITHUB_TOKEN: ${{ github.token }}
          PULL_REQUEST: ${{ github.event.pull_request.html_url }}
        run: tollgate review --pr \"$PULL_REQUEST\" --post
";

pub(crate) fn run(context: &CliContext, args: &Args) -> Result<Exit, Failure> {
    let (name, text) = if args.github {
        (WORKFLOW_FILE, workflow(args.action.as_deref())?)
    } else {
        (config::FILE_NAME, config::TEMPLATE.to_owned())
    };
    if args.print {
        output::print(&text)?;
        return Ok(Exit::Success);
    }
    let root = context.repository()?.root().map_or_else(|| context.directory.clone(), ToOwned::to_owned);
    let path = root.join(name);
    if path.symlink_metadata().is_ok() && !args.force {
        let again = if args.github { "tollgate init --github --force" } else { "tollgate init --force" };
        return Err(failure::already_there(&path.display().to_string())
            .hint(format!("Edit it, or run `{again}` to replace it.")));
    }
    if let Some(folder) = path.parent() {
        output::refuse_links_of_repository(context, folder)?;
    }
    make_folder(&path)?;
    output::write_file(&path, &text)?;
    output::say(&format!("wrote {}", path.display()));
    output::say(match (args.github, &args.action) {
        (true, Some(_)) => "next: commit it; pull requests are reviewed once it is on the main branch",
        (true, None) => "next: make sure that tollgate is on the PATH of the runner, and commit it",
        (false, _) => "next: `tollgate review` reviews your branch; `tollgate hook install` reviews before every push",
    });
    Ok(Exit::Success)
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    let Some(folder) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|problem| failure::cannot_write(&folder.display().to_string(), &problem))
}

/// Renders the workflow with its review step.
fn workflow(action: Option<&str>) -> Result<String, Failure> {
    let step = match action {
        None => PROGRAM_STEP.to_owned(),
        Some(action) if is_pinned(action) => format!("      - name: Review\n        uses: {action}\n"),
        Some(action) => return Err(failure::not_pinned(action)),
    };
    Ok(WORKFLOW.replace("@STEP@\n", &step))
}

/// True for `owner/name@` and a full commit hash: tags and branches can be moved to other commits.
fn is_pinned(action: &str) -> bool {
    let Some((repo, commit)) = action.split_once('@') else { return false };
    tollgate_core::pull::Repo::parse(repo).is_ok() && tollgate_core::sha::Sha::parse(commit).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_pinned_to_a_full_commit_hash() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert!(workflow(Some(&format!("our-org/tollgate@{commit}"))).is_ok());
        for bad in ["", "our-org/tollgate", "our-org/tollgate@v1", "our-org/tollgate@main", "x@0123456", "./x@y"] {
            assert!(workflow(Some(bad)).is_err(), "{bad}");
        }
        let injected = format!("our-org/tollgate@{commit}\n        run: evil");
        assert!(workflow(Some(&injected)).is_err());
    }
}
