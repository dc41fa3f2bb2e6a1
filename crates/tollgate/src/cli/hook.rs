//! `tollgate hook`: installs the git pre-push hook that reviews every push.

use std::fs;
use std::path::PathBuf;

use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::{Environment, Git};

use super::{CliContext, Exit, failure, output};

/// Install or uninstall a git hook that reviews every push
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate hook install          review before every push\n  \
    tollgate hook uninstall        remove the hook\n  \
    git push --no-verify           push once without review")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Install the pre-push hook in this repository
    ///
    /// Example: `tollgate hook install`
    Install {
        /// Replace an existing hook, which is renamed to `pre-push.old`
        #[arg(long)]
        force: bool,
    },
    /// Remove the pre-push hook that `install` wrote
    ///
    /// Example: `tollgate hook uninstall`
    Uninstall,
}

/// The line that identifies our own hook.
const MARK: &str = "# installed by `tollgate hook install`";

/// The hook reviews each pushed branch against its remote counterpart, or against the main branch.
const SCRIPT: &str = r#"#!/bin/sh
# installed by `tollgate hook install`
# Reviews the pushed commits; `git push --no-verify` skips it.
command -v tollgate >/dev/null 2>&1 || {
  echo "tollgate is not on the PATH; pushing without review" >&2
  exit 0
}
zero=$(git hash-object --stdin </dev/null | tr '0-9a-f' '0')
status=0
while read -r _ local_sha _ remote_sha; do
  [ "$local_sha" = "$zero" ] && continue
  for base in "$remote_sha" origin/HEAD origin/main origin/master main master; do
    git rev-parse --quiet --verify "$base^{commit}" >/dev/null 2>&1 && break
    base=
  done
  [ -n "$base" ] || continue
  tollgate review "$base...$local_sha" </dev/null || status=$?
  [ "$status" -eq 0 ] || break
done
if [ "$status" -ne 0 ]; then
  echo "tollgate stopped the push (exit code $status); \`git push --no-verify\` pushes anyway" >&2
fi
exit "$status"
"#;

pub(crate) fn run(context: &CliContext, args: Args) -> Result<Exit, Failure> {
    let hook = hooks_folder(context)?.join("pre-push");
    match args.command {
        Command::Install { force } => install(&hook, force),
        Command::Uninstall => uninstall(&hook),
    }
}

/// The hooks directory of this repository.
fn hooks_folder(context: &CliContext) -> Result<PathBuf, Failure> {
    let forge = context.repository()?;
    let git = Git::new(&context.directory, Environment::of_process());
    let configured = git.ask(&["config", "--local", "--type=path", "--get", "core.hooksPath"])?;
    let configured = String::from_utf8_lossy(&configured.stdout).trim().to_owned();
    match (forge.root(), forge.common_dir()) {
        (Some(root), _) if !configured.is_empty() => Ok(root.join(configured)),
        (_, Some(common)) => Ok(common.join("hooks")),
        (_, None) => Ok(context.directory.join(".git/hooks")),
    }
}

fn install(hook: &PathBuf, force: bool) -> Result<Exit, Failure> {
    let name = hook.display().to_string();
    let present = fs::read_to_string(hook).ok();
    let foreign = hook.symlink_metadata().is_ok() && !present.as_deref().is_some_and(|text| text.contains(MARK));
    if foreign && !force {
        return Err(failure::already_there(&name)
            .hint("Call `tollgate review` from that hook, or run `tollgate hook install --force`, which keeps the old one as `pre-push.old`."));
    }
    if let Some(folder) = hook.parent() {
        fs::create_dir_all(folder).map_err(|error| failure::cannot_write(&name, &error))?;
    }
    if foreign {
        let kept = hook.with_extension("old");
        fs::rename(hook, &kept).map_err(|error| failure::cannot_write(&kept.display().to_string(), &error))?;
        output::say(&format!("kept the old hook as {}", kept.display()));
    }
    output::write_file(hook, SCRIPT)?;
    make_executable(hook).map_err(|error| failure::cannot_write(&name, &error))?;
    output::say(&format!("wrote {name}; every push from this repository will be reviewed"));
    Ok(Exit::Success)
}

fn uninstall(hook: &PathBuf) -> Result<Exit, Failure> {
    let name = hook.display().to_string();
    match fs::read_to_string(hook) {
        Ok(text) if text.contains(MARK) => {
            fs::remove_file(hook).map_err(|error| failure::cannot_write(&name, &error))?;
            output::say(&format!("removed {name}"));
        }
        Ok(_) => return Err(failure::already_there(&name).hint("It was not written by tollgate; remove it by hand.")),
        Err(_) => output::say("there is no pre-push hook to remove"),
    }
    Ok(Exit::Success)
}

#[cfg(unix)]
fn make_executable(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_path: &std::path::Path) -> std::io::Result<()> {
    Ok(())
}
