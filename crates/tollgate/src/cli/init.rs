//! `tollgate init`: a configuration to start from, and a workflow that reviews pull requests.

use std::path::Path;

use tollgate_engine::config;
use tollgate_engine::failure::Failure;

use super::{Done, Place, failure, output};

/// Writes a commented `.tollgate.toml` to the root of this repository
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate init              write .tollgate.toml; every line of it is a default, commented out\n  \
    tollgate init --print      look at it first\n  \
    tollgate init --github     write a workflow that reviews pull requests on GitHub\n  \
    tollgate init --github --action our-org/tollgate@<40 digits>   one that runs tollgate as an action\n  \
    tollgate hook install      then review before every push")]
pub(crate) struct Args {
    /// Print the file instead of writing it
    #[arg(long)]
    print: bool,
    /// Replace a file that is already there
    #[arg(long)]
    force: bool,
    /// Write `.github/workflows/tollgate.yml`, which reviews pull requests on GitHub without a server
    #[arg(long)]
    github: bool,
    /// Have the workflow run tollgate as an action: a copy of its repository, by its full commit
    #[arg(long, value_name = "OWNER/NAME@COMMIT", requires = "github")]
    action: Option<String>,
}

/// Where GitHub looks for workflows.
const WORKFLOW_FILE: &str = ".github/workflows/tollgate.yml";
const WORKFLOW: &str = include_str!("init/workflow.yml");

/// What the workflow does when tollgate is on the runner.
const PROGRAM_STEP: &str = "\
      # tollgate must be on the PATH of the runner. Where it is not, keep a copy of its repository and write this with
      # `tollgate init --github --action OWNER/NAME@COMMIT`.
      - name: Review
        env:
          GITHUB_TOKEN: ${{ github.token }}
          PULL_REQUEST: ${{ github.event.pull_request.html_url }}
        run: tollgate review --pr \"$PULL_REQUEST\" --post
";

pub(crate) fn run(place: &Place, args: &Args) -> Result<Done, Failure> {
    let (name, text) = if args.github {
        (WORKFLOW_FILE, workflow(args.action.as_deref())?)
    } else {
        (config::FILE_NAME, config::TEMPLATE.to_owned())
    };
    if args.print {
        output::print(&text)?;
        return Ok(Done::Fine);
    }
    let root = place.repository()?.root().map_or_else(|| place.directory.clone(), ToOwned::to_owned);
    let path = root.join(name);
    if path.symlink_metadata().is_ok() && !args.force {
        let again = if args.github { "tollgate init --github --force" } else { "tollgate init --force" };
        return Err(failure::already_there(&path.display().to_string())
            .hint(format!("Edit it, or run `{again}` to replace it.")));
    }
    make_folder(&path)?;
    output::write_file(&path, &text)?;
    output::say(&format!("wrote {}", path.display()));
    output::say(match (args.github, &args.action) {
        (true, Some(_)) => "next: commit it; pull requests are reviewed once it is on the main branch",
        (true, None) => "next: make sure that tollgate is on the PATH of the runner, and commit it",
        (false, _) => "next: `tollgate review` reviews your branch; `tollgate hook install` reviews before every push",
    });
    Ok(Done::Fine)
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    let Some(folder) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|problem| failure::cannot_write(&folder.display().to_string(), &problem))
}

/// The workflow, with the step that reviews.
fn workflow(action: Option<&str>) -> Result<String, Failure> {
    let step = match action {
        None => PROGRAM_STEP.to_owned(),
        Some(action) if is_pinned(action) => format!("      - name: Review\n        uses: {action}\n"),
        Some(action) => return Err(failure::not_pinned(action)),
    };
    Ok(WORKFLOW.replace("@STEP@\n", &step))
}

/// True for `owner/name@` and a full commit: names of tags and branches can be made to mean something else.
fn is_pinned(action: &str) -> bool {
    let Some((repo, commit)) = action.split_once('@') else { return false };
    tollgate_core::pull::Repo::parse(repo).is_ok() && tollgate_core::sha::Sha::parse(commit).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_named_by_its_full_commit() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert!(workflow(Some(&format!("our-org/tollgate@{commit}"))).is_ok());
        for bad in ["", "our-org/tollgate", "our-org/tollgate@v1", "our-org/tollgate@main", "x@0123456", "./x@y"] {
            assert!(workflow(Some(bad)).is_err(), "{bad}");
        }
        let injected = format!("our-org/tollgate@{commit}\n        run: evil");
        assert!(workflow(Some(&injected)).is_err());
    }
}
