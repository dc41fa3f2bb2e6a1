//! Tells corruption of the local cache from errors of the remote host.

use crate::failure::Failure;

/// The error of a fetch.
#[derive(Debug)]
pub(super) enum FetchError {
    /// An error that fetching again does not fix.
    Failure(Failure),
    /// The cache entry is corrupt; git's error output.
    Damaged(String),
}

impl From<Failure> for FetchError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// Git's messages about a corrupt repository.
const WORDS: [&str; 10] = [
    "is corrupt",
    "corrupt loose object",
    "bad object",
    "bad tree object",
    "unable to read",
    "not a git repository",
    "bad config",
    "could not open pack",
    "unable to rename temporary",
    "does not match index",
];

/// True when git's error is about the local repository and not about the host.
pub(super) fn is_said_by(stderr: &str) -> bool {
    let ours = stderr.lines().filter(|line| !line.starts_with("remote:") && !line.contains("remote error:"));
    let mut ours = ours.flat_map(|line| WORDS.iter().filter(move |word| line.contains(*word)));
    ours.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::is_said_by;

    #[test]
    fn errors_of_the_host_are_not_corruption() {
        assert!(is_said_by("error: inflate: data stream error\nfatal: loose object 1 (stored in x) is corrupt\n"));
        assert!(is_said_by("fatal: bad object 1234\n"));
        assert!(!is_said_by("remote: fatal: bad object 1234\n"));
        assert!(!is_said_by("fatal: remote error: upload-pack: bad object\n"));
        assert!(!is_said_by("fatal: unable to access 'https://x/': Could not resolve host: x\n"));
    }
}
