//! Whether something went wrong out there, or the cache itself cannot be read.

use crate::failure::Failure;

/// What went wrong with a fetch.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Something that fetching anew does not mend.
    Failure(Failure),
    /// The repository in the cache cannot be read; what git said.
    Damaged(String),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// What git says of a repository in which something is broken.
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

/// True when git complains about the repository here and not about the other side.
pub(super) fn is_said_by(stderr: &str) -> bool {
    let ours = stderr.lines().filter(|line| !line.starts_with("remote:") && !line.contains("remote error:"));
    let mut ours = ours.flat_map(|line| WORDS.iter().filter(move |word| line.contains(*word)));
    ours.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::is_said_by;

    #[test]
    fn what_the_other_side_says_is_no_damage_here() {
        assert!(is_said_by("error: inflate: data stream error\nfatal: loose object 1 (stored in x) is corrupt\n"));
        assert!(is_said_by("fatal: bad object 1234\n"));
        assert!(!is_said_by("remote: fatal: bad object 1234\n"));
        assert!(!is_said_by("fatal: remote error: upload-pack: bad object\n"));
        assert!(!is_said_by("fatal: unable to access 'https://x/': Could not resolve host: x\n"));
    }
}
