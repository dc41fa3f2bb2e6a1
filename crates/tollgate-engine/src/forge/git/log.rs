//! Lists the commits of a range with their messages.

use tollgate_core::intent::commits::ListedCommit;
use tollgate_core::sha::Sha;

use super::Git;
use crate::failure::Failure;

/// The maximum number of commits.
const MAX_COMMITS: usize = 100_000;
/// The maximum size of their messages.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// `git log` with every setting that could change its output made explicit; a NUL ends each commit.
const LOG: [&str; 11] = [
    "log",
    "-z",
    "--format=tformat:%H%n%B",
    "--encoding=UTF-8",
    "--topo-order",
    "--no-patch",
    "--no-color",
    "--no-decorate",
    "--no-notes",
    "--no-show-signature",
    "--end-of-options",
];

/// Commits with their messages, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commits {
    /// The commits.
    pub listed: Vec<ListedCommit>,
    /// False when older commits were left out.
    pub complete: bool,
}

impl Git {
    /// The commits in `base..head`; without a base, all ancestors of `head`.
    pub fn commits(&self, base: Option<&Sha>, head: &Sha) -> Result<Commits, Failure> {
        let range = base.map_or(head.to_string(), |base| format!("{base}..{head}"));
        let mut args = LOG.to_vec();
        args.extend([range.as_str(), "--"]);
        let mut reader = Reader::new(MAX_COMMITS, MAX_BYTES);
        self.run_into(&args, &mut |chunk| reader.take(chunk))?;
        Ok(reader.finish())
    }
}

/// Collects the output of `git log` in chunks.
struct Reader {
    bytes: Vec<u8>,
    n_commits: usize,
    max_commits: usize,
    max_bytes: usize,
}

impl Reader {
    fn new(max_commits: usize, max_bytes: usize) -> Self {
        Self { bytes: Vec::new(), n_commits: 0, max_commits, max_bytes }
    }

    fn is_full(&self) -> bool {
        self.n_commits > self.max_commits || self.bytes.len() > self.max_bytes
    }

    fn take(&mut self, chunk: &[u8]) -> bool {
        self.bytes.extend_from_slice(chunk);
        self.n_commits += chunk.iter().filter(|&&byte| byte == 0).count();
        !self.is_full()
    }

    fn finish(self) -> Commits {
        let complete = !self.is_full();
        // The bytes after the last NUL are empty or a truncated commit.
        let end = self.bytes.iter().rposition(|&byte| byte == 0).unwrap_or(0);
        let records = self.bytes[..end].split(|&byte| byte == 0).take(self.max_commits);
        let mut listed: Vec<ListedCommit> = records.filter_map(read).collect();
        listed.reverse();
        Commits { listed, complete }
    }
}

fn read(record: &[u8]) -> Option<ListedCommit> {
    let text = String::from_utf8_lossy(record);
    let (sha, message) = text.split_once('\n')?;
    Sha::parse(sha).ok()?;
    Some(ListedCommit { sha: sha.to_owned(), message: message.trim_end().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(max_commits: usize, max_bytes: usize, chunks: &[&str], expected: &str) {
        let sha = |digit: &str| digit.repeat(40);
        let mut reader = Reader::new(max_commits, max_bytes);
        for chunk in chunks {
            if !reader.take(chunk.replace('A', &sha("a")).replace('B', &sha("b")).as_bytes()) {
                break;
            }
        }
        let Commits { listed, complete } = reader.finish();
        let mut said: Vec<String> =
            listed.iter().map(|commit| format!("{}={}", &commit.sha[..1], commit.message)).collect();
        said.extend((!complete).then(|| "cut".to_owned()));
        assert_eq!(said.join(" "), expected);
    }

    #[test]
    fn commits_are_read_oldest_first_from_pieces_of_any_size() {
        check(9, 999, &["A\none\n\n\0B\nt", "wo\n\0"], "b=two a=one");
        check(9, 999, &[], "");
        check(9, 999, &["A\n\0"], "a=");
    }

    #[test]
    fn a_truncated_log_is_reported() {
        check(1, 999, &["A\none\0B\ntwo\0"], "a=one cut");
        check(9, 60, &["A\none\0", "B\ntwo two two", "\0"], "a=one cut");
    }
}
