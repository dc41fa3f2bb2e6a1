//! Paths inside a repository.

use std::fmt;

use crate::visible::is_hidden;

/// The path of a file in a finding: relative, with forward slashes, not empty, inside the repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FilePath(String);

/// Why a text is not a path inside a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The text is empty.
    #[error("a path must not be empty")]
    Empty,
    /// The path is absolute or has a drive letter.
    #[error("a path must be relative to the repository")]
    Absolute,
    /// The path has a `..` component.
    #[error("a path must not contain `..`")]
    Leaves,
    /// The path contains a backslash.
    #[error("a path must use forward slashes")]
    Backslash,
    /// The path contains a NUL or a line break.
    #[error("a path must not contain control characters that end a line")]
    Control,
}

impl FilePath {
    /// Parses a path. A leading `./` is dropped, so that `./a` and `a` are equal.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let mut rest = text;
        while let Some(shorter) = rest.strip_prefix("./") {
            rest = shorter.trim_start_matches('/');
        }
        let bytes = rest.as_bytes();
        if rest.is_empty() || rest == "." {
            return Err(PathError::Empty);
        }
        let drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
        if bytes[0] == b'/' || (drive && bytes.get(2).is_none_or(|&byte| byte == b'/' || byte == b'\\')) {
            return Err(PathError::Absolute);
        }
        if bytes.contains(&b'\\') {
            return Err(PathError::Backslash);
        }
        if bytes.iter().any(|byte| matches!(byte, 0 | b'\n' | b'\r')) {
            return Err(PathError::Control);
        }
        if rest.split('/').any(|step| step == "..") {
            return Err(PathError::Leaves);
        }
        Ok(Self(rest.to_owned()))
    }

    /// Converts a path of git with any bytes: those not allowed in a finding (invalid UTF-8, backslashes, line breaks) are
    /// replaced by U+FFFD.
    #[must_use]
    pub fn of_repo_path(path: &RepoPath) -> Self {
        let lossy = String::from_utf8_lossy(path.as_bytes());
        if let Ok(path) = Self::parse(&lossy) {
            return path;
        }
        let safe: String = lossy
            .split('/')
            .filter(|step| !matches!(*step, "" | "." | ".."))
            .map(|step| step.replace(['\\', '\0', '\n', '\r', ':'], "\u{fffd}"))
            .collect::<Vec<_>>()
            .join("/");
        Self(if safe.is_empty() { "\u{fffd}".to_owned() } else { safe })
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file name.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A path as git stores it: bytes of any encoding, forward slashes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoPath(Box<[u8]>);

impl RepoPath {
    /// Wraps raw bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The raw bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Why no checkout may write this path; `None` for a path inside the repository and outside of its git directory.
    #[must_use]
    pub fn danger(&self) -> Option<PathDanger> {
        let text = String::from_utf8_lossy(&self.0);
        let is_drive = matches!(self.0.get(..2), Some([letter, b':']) if letter.is_ascii_alphabetic());
        if text.starts_with(['/', '\\']) || is_drive && matches!(self.0.get(2), None | Some(b'/' | b'\\')) {
            return Some(PathDanger::Outside);
        }
        // On Windows a backslash separates steps, too.
        let mut steps = text.split(['/', '\\']);
        steps.find_map(|step| match step {
            ".." => Some(PathDanger::Outside),
            step => is_git_dir(step).then_some(PathDanger::GitDir),
        })
    }
}

/// Why no checkout may write a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathDanger {
    /// The path is absolute or has a `..` step.
    #[error("it is outside of the repository")]
    Outside,
    /// A step of the path is the git directory on some file system.
    #[error("it is inside of the git directory, whose hooks and settings run programs")]
    GitDir,
}

/// True for `.git` as any file system reads it: in any case, with characters that HFS+ ignores or that nobody sees, as the
/// short name of Windows, and with the dots, spaces and streams that NTFS drops.
fn is_git_dir(step: &str) -> bool {
    let plain: String = step.chars().filter(|&letter| !is_hidden(letter) && !is_selector(letter)).collect();
    let plain = plain.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    plain.eq_ignore_ascii_case(".git") || plain.eq_ignore_ascii_case("git~1")
}

/// True for a variation selector, which changes the look of the character before it or nothing.
fn is_selector(character: char) -> bool {
    matches!(character, '\u{fe00}'..='\u{fe0f}')
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoPath({self})")
    }
}

/// Percent-encodes a path for a URI; slashes stay.
#[must_use]
pub fn percent_encode(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(char::from(byte))
            }
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_slash_is_dropped() {
        assert_eq!(FilePath::parse("././src/a.rs").unwrap().as_str(), "src/a.rs");
    }

    #[test]
    fn paths_that_leave_the_repository_are_refused() {
        let cases = [
            ("", PathError::Empty),
            ("./", PathError::Empty),
            ("/etc/passwd", PathError::Absolute),
            ("C:/x", PathError::Absolute),
            ("C:\\x", PathError::Absolute),
            ("a/../../b", PathError::Leaves),
            ("..", PathError::Leaves),
            ("a\\b", PathError::Backslash),
            ("a\nb", PathError::Control),
        ];
        for (text, error) in cases {
            assert_eq!(FilePath::parse(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn dangerous_paths_are_told_from_plain_ones() {
        let outside =
            ["../../etc/passwd", "a/../../b", "..", "/etc/passwd", "C:\\x", "c:/x", "\\\\host\\x", "a\\..\\b"];
        for path in outside {
            assert_eq!(RepoPath::from_bytes(path.as_bytes()).danger(), Some(PathDanger::Outside), "{path}");
        }
        let inside = [
            ".git/hooks/pre-commit",
            ".GIT/config",
            "sub/.git",
            "git~1/config",
            "GIT~1/x",
            ".g\u{200c}it/config",
            ".git\u{feff}/config",
            "\u{200b}.git/config",
            ".git\u{e0041}/config",
            ".git\u{fe0f}/config",
            ".git /config",
            ".git./config",
            ".git::$INDEX_ALLOCATION/config",
            ".git\\hooks\\x",
        ];
        for path in inside {
            assert_eq!(RepoPath::from_bytes(path.as_bytes()).danger(), Some(PathDanger::GitDir), "{path}");
        }
        for path in [".gitignore", ".github/x", "a.git/x", "git/x", "a..b", "...", ".git-blame", "git~2", "a:b", "c:x"]
        {
            assert_eq!(RepoPath::from_bytes(path.as_bytes()).danger(), None, "{path}");
        }
    }

    #[test]
    fn any_path_of_git_can_be_converted() {
        for bytes in [&b"a\xff.rs"[..], b"a\\b", b"x\ny", b"..", b"/", b"", b"C:/x", b"C:\\y"] {
            let path = FilePath::of_repo_path(&RepoPath::from_bytes(bytes));
            assert_eq!(FilePath::parse(path.as_str()).as_ref(), Ok(&path), "{bytes:?}");
        }
    }
}
