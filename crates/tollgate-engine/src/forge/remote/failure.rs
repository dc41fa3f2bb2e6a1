//! Failures of fetching remote repositories.

use std::path::Path;

use tollgate_core::sha::Sha;
use tollgate_core::visible::visible;

use super::address::Address;
use crate::failure::{Failure, Kind};

/// The maximum length of a quoted message.
const MAX_SAID: usize = 300;

fn external(message: impl Into<String>) -> Failure {
    Failure::new(Kind::External, message)
}

/// The URL is not acceptable.
pub(super) fn bad_address(url: &str) -> Failure {
    // The URL may contain a password before the host.
    let shown = url.rsplit('@').next().unwrap_or_default();
    let shown: String = shown.chars().take(200).collect();
    Failure::new(Kind::User, format!("`{}` is not a valid URL of a repository", visible(&shown)))
        .hint("Use `https://HOST/OWNER/NAME.git`, without a password; `http` only on this machine.")
}

/// The token cannot be sent in a header.
pub(super) fn bad_authorization(address: &Address) -> Failure {
    Failure::new(Kind::Config, format!("the token for `{address}` contains invalid characters"))
        .hint("Check that it was copied whole, without line breaks.")
}

/// The cache cannot be written.
pub(super) fn no_cache(path: &Path, problem: &dyn std::fmt::Display) -> Failure {
    external(format!("the copy of a remote repository at `{}` cannot be used: {problem}", path.display()))
        .hint("Check permissions and free disk space; the folder can be deleted and is fetched again.")
}

/// The lock of another fetch timed out.
pub(super) fn busy(path: &Path) -> Failure {
    external(format!("another process has held `{}` for too long", path.display()))
        .hint("Try again later, or find the process that holds the file.")
}

/// The fetch was cancelled.
pub(super) fn cancelled() -> Failure {
    external("the fetch was cancelled")
}

/// The cache entry is corrupt, even after a fresh fetch.
pub(super) fn damaged(path: &Path, said: &str) -> Failure {
    no_cache(path, &visible(&shortened(said)))
}

/// Authentication failed.
pub(super) fn not_allowed(address: &Address) -> Failure {
    external(format!("`{address}` cannot be fetched with this token"))
        .hint("Check that the token or app may read the contents of the repository.")
}

/// The repository does not exist or is not visible.
pub(super) fn not_found(address: &Address) -> Failure {
    external(format!("there is no repository at `{address}`, or the token may not see it"))
        .hint("Check the address, and that the token or app may read the contents of the repository.")
}

/// The fetch failed with git's error.
pub(super) fn cannot_fetch(address: &Address, said: &str) -> Failure {
    external(format!("`{address}` cannot be fetched: {}", visible(&shortened(said)))).hint("Try again later.")
}

/// The fetch timed out.
pub(super) fn too_slow(address: &Address, seconds: u64) -> Failure {
    external(format!("`{address}` was not fetched within {seconds} s"))
        .hint("Try again later: fetched objects are kept.")
}

/// The history exceeds the size limit.
pub(super) fn too_large(address: &Address, bytes: u64) -> Failure {
    external(format!("the history of `{address}` takes more than {} GiB", bytes >> 30))
        .hint("Repositories of this size cannot be reviewed here; review a clone with `tollgate review A...B`.")
}

/// The change has too many files.
pub(super) fn too_many_files(most: usize) -> Failure {
    // Not external: another try would find the same.
    Failure::new(Kind::User, format!("the change has more than {most} files, which are too many to fetch"))
        .hint("Split it into smaller ones, or review a clone with `tollgate review A...B`.")
}

/// The settings of the base cannot be fetched, and a review without them would use other rules.
pub(super) fn no_settings(address: &Address, path: &str) -> Failure {
    external(format!("`{}` of the base branch was not to be had from `{address}`", visible(path)))
        .hint("The change is reviewed by what its base says, so there is no review without it. Try again later.")
}

/// The head was replaced.
pub(super) fn head_gone(address: &Address, number: u64, head: &Sha) -> Failure {
    external(format!("the commit {} of pull request {number} is no longer at `{address}`", head.short()))
        .hint("A force push replaced it: review the new head.")
}

/// The tip of the target branch was replaced.
pub(super) fn base_gone(address: &Address, branch: &str, base: &Sha) -> Failure {
    external(format!("the commit {} of `{}` is no longer at `{address}`", base.short(), visible(branch)))
        .hint("A force push replaced it: fetch the pull request again.")
}

/// The last lines of git's error output, without hints and warnings.
fn shortened(said: &str) -> String {
    let is_beside =
        |line: &&str| !line.trim().is_empty() && !line.starts_with("hint:") && !line.starts_with("warning:");
    let mut lines: Vec<&str> = said.lines().filter(is_beside).collect();
    lines.drain(..lines.len().saturating_sub(2));
    let text = lines.join("; ").replace("fatal: ", "").replace("error: ", "");
    if text.is_empty() { "git gave no reason".to_owned() } else { text.chars().take(MAX_SAID).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_password_is_refused_without_it() {
        let failure = bad_address("https://me:hunter2@github.com/a/b");
        insta::assert_snapshot!(failure, @"`github.com/a/b` is not a valid URL of a repository");
    }

    #[test]
    fn messages_of_a_host_are_shortened_and_escaped() {
        let address = Address::parse("https://host/a/b").unwrap();
        let said = "warning: x\nhint: y\none\nfatal: two\u{1b}[31m\nerror: three\n";
        let message = cannot_fetch(&address, said).message;
        insta::assert_snapshot!(message, @r"`https://host/a/b` cannot be fetched: two\u{1b}[31m; three");
        assert!(cannot_fetch(&address, &"x".repeat(9_999)).message.len() < 400);
    }
}
