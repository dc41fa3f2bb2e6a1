//! What goes wrong with repositories on a code host, said to a person.

use std::path::Path;

use tollgate_core::sha::Sha;
use tollgate_core::visible::visible;

use super::address::Address;
use crate::failure::{Failure, Kind};

/// More of what a host says is not passed on.
const MAX_SAID: usize = 300;

fn external(message: impl Into<String>) -> Failure {
    Failure::new(Kind::External, message)
}

/// The address is none from which anything is fetched.
pub(super) fn bad_address(url: &str) -> Failure {
    // It may hold a password before the host.
    let shown = url.rsplit('@').next().unwrap_or_default();
    let shown: String = shown.chars().take(200).collect();
    Failure::new(Kind::User, format!("`{}` is no address to fetch a repository from", visible(&shown)))
        .hint("Use `https://HOST/OWNER/NAME.git`, without a password; `http` only for this very machine.")
}

/// A token has characters that no header can have.
pub(super) fn bad_authorization(address: &Address) -> Failure {
    Failure::new(Kind::Config, format!("the token for `{address}` has characters that no token has"))
        .hint("Check that it was copied whole, without line breaks.")
}

/// The cache cannot be written.
pub(super) fn no_cache(path: &Path, problem: &dyn std::fmt::Display) -> Failure {
    external(format!("the copy of a remote repository at `{}` cannot be used: {problem}", path.display()))
        .hint("Check the rights and the room on the disk; the folder can be deleted, it is fetched again.")
}

/// Somebody else fetches and does not come to an end.
pub(super) fn busy(path: &Path) -> Failure {
    external(format!("another process has held `{}` for too long", path.display()))
        .hint("Try again later, or find out who holds the file.")
}

/// Whoever asked does not want it any more.
pub(super) fn cancelled() -> Failure {
    external("the fetch was cancelled")
}

/// The copy cannot be read, although it was fetched anew.
pub(super) fn damaged(path: &Path, said: &str) -> Failure {
    no_cache(path, &visible(&shortened(said)))
}

/// The host wants to know who we are, or does not like who we are.
pub(super) fn not_allowed(address: &Address) -> Failure {
    external(format!("`{address}` cannot be fetched with this token"))
        .hint("Check that the token or app may read the contents of the repository.")
}

/// There is no such repository, or we may not know.
pub(super) fn not_found(address: &Address) -> Failure {
    external(format!("there is no repository at `{address}`, or the token may not see it"))
        .hint("Check the address, and that the token or app may read the contents of the repository.")
}

/// It did not work, in git's words.
pub(super) fn cannot_fetch(address: &Address, said: &str) -> Failure {
    external(format!("`{address}` cannot be fetched: {}", visible(&shortened(said)))).hint("Try again later.")
}

/// It takes too long.
pub(super) fn too_slow(address: &Address, seconds: u64) -> Failure {
    external(format!("`{address}` was not fetched within {seconds} s")).hint("Try again later: what came is kept.")
}

/// The history is more than anybody wants to keep.
pub(super) fn too_large(address: &Address, bytes: u64) -> Failure {
    external(format!("the history of `{address}` takes more than {} GiB", bytes >> 30))
        .hint("Repositories of this size cannot be reviewed here; review a clone with `tollgate review A...B`.")
}

/// A change has more files than are fetched.
pub(super) fn too_many_files(most: usize) -> Failure {
    external(format!("the change has more than {most} files, which are too many to fetch"))
        .hint("Split it into smaller ones, or review a clone with `tollgate review A...B`.")
}

/// What the base says about how to review cannot be had, and without it a review would go by other rules.
pub(super) fn no_settings(address: &Address, path: &str) -> Failure {
    external(format!("`{}` of the base branch was not to be had from `{address}`", visible(path)))
        .hint("The change is reviewed by what its base says, so there is no review without it. Try again later.")
}

/// The head is no longer there.
pub(super) fn head_gone(address: &Address, number: u64, head: &Sha) -> Failure {
    external(format!("the commit {} of pull request {number} is no longer at `{address}`", head.short()))
        .hint("Somebody pushed over it: review the new head.")
}

/// The head of the base is no longer there.
pub(super) fn base_gone(address: &Address, branch: &str, base: &Sha) -> Failure {
    external(format!("the commit {} of `{}` is no longer at `{address}`", base.short(), visible(branch)))
        .hint("Somebody pushed over it: look at the pull request once more.")
}

/// The last thing that was said, without what leads to it.
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
        insta::assert_snapshot!(failure, @"`github.com/a/b` is no address to fetch a repository from");
    }

    #[test]
    fn what_a_host_says_is_shortened_and_harmless() {
        let address = Address::parse("https://host/a/b").unwrap();
        let said = "warning: x\nhint: y\none\nfatal: two\u{1b}[31m\nerror: three\n";
        let message = cannot_fetch(&address, said).message;
        insta::assert_snapshot!(message, @r"`https://host/a/b` cannot be fetched: two\u{1b}[31m; three");
        assert!(cannot_fetch(&address, &"x".repeat(9_999)).message.len() < 400);
    }
}
