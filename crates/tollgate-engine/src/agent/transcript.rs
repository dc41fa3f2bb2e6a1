//! The transcript of a run: a file that only grows, up to a bound.
//!
//! It is written while the agent works, so that a crash loses nothing that was told; whoever shows it live is told which
//! bytes are new. When it is full, that is said in it once, and the rest is dropped.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::Path;

use crate::held::Held;

/// What is written when there is no more room.
const FULL: &str = "\n[the rest is not kept]\n";

/// A transcript that is being written.
#[derive(Debug)]
pub struct Transcript {
    file: File,
    held: Held,
    n_bytes: u64,
    max_bytes: u64,
    is_full: bool,
}

impl Transcript {
    /// Opens a transcript and goes on at its end; what is in `held` is kept out of it. No link is followed.
    pub fn open(path: &Path, max_bytes: u64, held: Held) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            // Without NONBLOCK, opening a named pipe would wait for a reader.
            let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
            options.mode(0o644).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
        }
        let file = options.open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let n_bytes = metadata.len();
        Ok(Self { file, held, n_bytes, max_bytes, is_full: n_bytes >= max_bytes })
    }

    /// Writes a text at the end; which bytes of the file are new.
    pub fn append(&mut self, text: &str) -> io::Result<Range<u64>> {
        let start = self.n_bytes;
        if self.is_full {
            return Ok(start..start);
        }
        let text = self.held.hide(text);
        let left = usize::try_from(self.max_bytes.saturating_sub(start)).unwrap_or(usize::MAX);
        self.is_full = text.len() > left;
        let kept = &text[..text.floor_char_boundary(left.min(text.len()))];
        let full = if self.is_full { FULL } else { "" };
        self.file.write_all(format!("{kept}{full}").as_bytes())?;
        self.n_bytes += (kept.len() + full.len()) as u64;
        Ok(start..self.n_bytes)
    }

    /// How long the file is.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Makes sure that everything is on the disk; how long the file is.
    pub fn finish(self) -> io::Result<u64> {
        self.file.sync_all()?;
        Ok(self.n_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> Held {
        Held::new(vec!["sk-0123456789".to_owned()])
    }

    #[test]
    fn a_transcript_goes_on_where_it_was_and_tells_what_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.md");
        let mut transcript = Transcript::open(&path, 1000, held()).unwrap();
        assert_eq!(transcript.append("one\n").unwrap(), 0..4);
        assert_eq!(transcript.append("é\n").unwrap(), 4..7);
        assert_eq!(transcript.finish().unwrap(), 7);
        let mut transcript = Transcript::open(&path, 1000, held()).unwrap();
        assert_eq!(transcript.append("key sk-0123456789\n").unwrap(), 7..24);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\né\nkey [hidden key]\n");
    }

    #[test]
    fn a_full_transcript_says_so_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.md");
        let mut transcript = Transcript::open(&path, 8, held()).unwrap();
        transcript.append("12345").unwrap();
        transcript.append("67é9").unwrap();
        assert!(transcript.append("more").unwrap().is_empty());
        assert_eq!(transcript.n_bytes(), std::fs::metadata(&path).unwrap().len());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("1234567{FULL}"));
        assert!(Transcript::open(&path, 8, held()).unwrap().append("x").unwrap().is_empty());
    }

    #[test]
    #[cfg(unix)]
    fn links_and_what_is_no_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        std::fs::write(&target, "mine").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(Transcript::open(&link, 8, held()).is_err());
        assert!(Transcript::open(folder.path(), 8, held()).is_err());
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(Transcript::open(&pipe, 8, held()).is_err());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
    }
}
