//! Reading blobs by name, all through one `git cat-file --batch`.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{ChildStdin, ChildStdout, Stdio};

use super::Git;
use crate::failure::{self, Failure};
use crate::process::Group;

/// A running `git cat-file --batch`.
#[derive(Debug)]
pub struct Blobs {
    // Before the group, so that the pipes are closed when it is waited for.
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    _group: Group,
}

/// The blob that git has under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blob {
    /// Its content.
    Whole(Vec<u8>),
    /// The blob is larger than the limit; its size.
    TooLarge(u64),
    /// The repository has no such blob.
    Missing,
}

impl Git {
    /// Starts `git cat-file --batch`.
    pub fn blobs(&self) -> Result<Blobs, Failure> {
        // Its error output tells no more than its exit, so it is discarded.
        let mut group = self.spawn(&["cat-file", "--batch"], Stdio::piped(), Stdio::null())?;
        let pipes = (group.child().stdin.take(), group.child().stdout.take());
        let (Some(stdin), Some(stdout)) = pipes else {
            return Err(failure::git_unreadable("cat-file"));
        };
        Ok(Blobs { stdin, stdout: BufReader::new(stdout), _group: group })
    }
}

impl Blobs {
    /// Reads one blob. A `name` that is not hexadecimal counts as missing.
    pub fn read(&mut self, name: &str, max_bytes: u64) -> Result<Blob, Failure> {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Blob::Missing);
        }
        self.exchange(name, "blob", max_bytes).map_err(|error| failure::git("cat-file", &error.to_string()))
    }

    /// Reads a tree, by its id or as the tree of a commit: `Some(None)` when it is larger than the limit, `None` when the
    /// repository does not have it.
    pub(super) fn read_tree(&mut self, name: &str, max_bytes: u64) -> Result<Option<Option<Vec<u8>>>, Failure> {
        match self.exchange(name, "tree", max_bytes).map_err(|error| failure::git("cat-file", &error.to_string()))? {
            Blob::Whole(content) => Ok(Some(Some(content))),
            Blob::TooLarge(_) => Ok(Some(None)),
            Blob::Missing => Ok(None),
        }
    }

    fn exchange(&mut self, name: &str, wanted_kind: &str, max_bytes: u64) -> io::Result<Blob> {
        self.stdin.write_all(format!("{name}\n").as_bytes())?;
        self.stdin.flush()?;
        let mut head = Vec::new();
        self.stdout.by_ref().take(256).read_until(b'\n', &mut head)?;
        let head = String::from_utf8_lossy(&head);
        let mut words = head.split_whitespace().skip(1);
        let (kind, size) = (words.next(), words.next().and_then(|size| size.parse::<u64>().ok()));
        let (Some(kind), Some(size)) = (kind, size) else {
            return if head.ends_with('\n') { Ok(Blob::Missing) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        };
        let mut content = Vec::new();
        let wanted = kind == wanted_kind && size <= max_bytes;
        let mut body = self.stdout.by_ref().take(size + 1);
        if wanted {
            body.read_to_end(&mut content)? as u64
        } else {
            io::copy(&mut body, &mut io::sink())?
        };
        if !wanted {
            return Ok(if kind == wanted_kind { Blob::TooLarge(size) } else { Blob::Missing });
        }
        if content.pop() != Some(b'\n') || content.len() as u64 != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Blob::Whole(content))
    }
}
