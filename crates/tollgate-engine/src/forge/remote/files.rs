//! Selects and fetches the blobs that a review needs.
//!
//! These are the changed files before and after, and the settings in the target branch. The size of a blob is unknown
//! until it is fetched; so the transfer is measured, and a batch that is too large is bisected until the large blobs
//! are found and skipped.

use std::collections::{BTreeSet, VecDeque};

use tollgate_core::path::RepoPath;
use tollgate_core::sha::Sha;

use super::corruption::{self, FetchError};
use super::failure;
use super::fetch::{FetchResult, Fetcher};
use crate::config;
use crate::forge::git::{Blob, Git, GitOutput};
use crate::forge::local::{ATTRIBUTES, GUIDANCE, GUIDANCE_FOLDER, PROJECT_PROMPTS};

/// The maximum number of files of a change.
const MAX_FILES: usize = 30_000;
/// The maximum number of settings files.
const MAX_BASE_FILES: usize = 2_000;
/// The maximum total length of paths to attribute files.
const MAX_FOLDER_BYTES: usize = 256 * 1024;
/// The maximum size of a file that is diffed.
const MAX_FILE_BYTES: u64 = 32 << 20;
/// The maximum size of a batch, packed.
const MAX_BATCH_BYTES: u64 = 128 << 20;
/// The maximum size of all discarded batches of a review.
const MAX_VAIN_BYTES: u64 = 1 << 30;
/// The maximum number of blobs in a batch.
const MAX_BATCH: usize = 10_000;
/// The maximum size of a full fetch.
const MAX_EVERYTHING_BYTES: u64 = 4 << 30;

/// The directory of tollgate's own settings.
const OWN_FOLDER: &str = ".tollgate/";

/// Fetches blobs by name, up to a number of bytes.
type FetchBlobs<'a> = dyn FnMut(&[String], u64) -> Result<FetchResult, FetchError> + 'a;

/// One file of a change.
#[derive(Debug, PartialEq, Eq)]
struct Changed {
    path: RepoPath,
    /// The blobs before and after the change.
    blobs: Vec<String>,
}

/// The commits of a review.
pub(super) struct ReviewCommits<'a> {
    /// The base of the change.
    pub(super) merge_base: &'a Sha,
    /// The head of the change.
    pub(super) head: &'a Sha,
    /// The commit with the settings. The author of a change can choose its base, but not this.
    pub(super) settings: &'a Sha,
}

/// Fetches the missing blobs of a review. Large files are skipped, except settings.
pub(super) fn fetch(git: &Git, get: &Fetcher<'_>, commits: &ReviewCommits<'_>) -> Result<(), FetchError> {
    let changed = changed(git, commits.merge_base, commits.head)?;
    let mut rules = of_base(git, commits.settings)?;
    rules.extend(attributes(git, commits.settings, &changed)?);
    let first: Vec<String> = missing(git, rules.iter().map(|(_, blob)| blob.clone()).collect())?;
    let changed: BTreeSet<String> = changed.into_iter().flat_map(|file| file.blobs).collect();
    let rest = missing(git, changed.into_iter().filter(|name| !first.contains(name)).collect())?;
    if bring(&first, &rest, &mut |names, most| get.files(names, most))? == FetchResult::Refused {
        get.everything(MAX_EVERYTHING_BYTES)?;
    }
    // Guidance and attributes may be missing.
    let (paths, names): (Vec<_>, Vec<_>) = rules.into_iter().filter(|(path, _)| is_needed(path)).unzip();
    let here = sizes(git, &names)?;
    match paths.iter().zip(here).find(|(_, size)| size.is_none()) {
        Some((path, _)) => Err(failure::no_settings(&get.remote.address, path).into()),
        None => Ok(()),
    }
}

/// Fetches the missing files of a commit for agents. Trees with too many files, and large files, are skipped.
pub(super) fn fetch_tree(git: &Git, get: &Fetcher<'_>, commit: &Sha) -> Result<(), FetchError> {
    let names: BTreeSet<String> = listed(git, commit, &[])?.into_iter().map(|(_, name)| name).collect();
    if names.len() <= MAX_FILES {
        let names = missing(git, names.into_iter().collect())?;
        bring(&[], &names, &mut |names, most| get.files(names, most))?;
    }
    Ok(())
}

fn is_needed(path: &str) -> bool {
    path == config::FILE_NAME || path.starts_with(OWN_FOLDER)
}

/// The files of the change `A..B` whose blobs are missing or too large to diff, with the reason.
pub(super) fn absent(git: &Git, range: &str) -> Result<Vec<(RepoPath, String)>, FetchError> {
    let sides = range.split_once("..").map(|(a, b)| (Sha::parse(a), Sha::parse(b)));
    let Some((Ok(base), Ok(head))) = sides else {
        return Ok(Vec::new());
    };
    let changed = changed(git, &base, &head)?;
    let names: Vec<String> = changed.iter().flat_map(|file| file.blobs.iter().cloned()).collect();
    let mut sizes = sizes(git, &names)?.into_iter();
    let mut absent = Vec::new();
    for file in changed {
        let sizes: Vec<Option<u64>> = sizes.by_ref().take(file.blobs.len()).collect();
        let mebibytes = MAX_FILE_BYTES >> 20;
        if sizes.iter().flatten().any(|size| *size > MAX_FILE_BYTES) {
            absent.push((file.path, format!("the file is larger than {mebibytes} MiB")));
        } else if sizes.iter().any(Option::is_none) {
            absent.push((file.path, "its content was too much to fetch".to_owned()));
        }
    }
    Ok(absent)
}

/// Reads a file of a commit; `None` when it does not exist, [`Blob::Missing`] when it was not fetched.
pub(super) fn read(git: &Git, commit: &Sha, path: &str, max_bytes: u64) -> Result<Option<Blob>, FetchError> {
    match listed(git, commit, &[path])?.into_iter().find(|(found, _)| found == path) {
        Some((_, name)) => Ok(Some(git.blobs()?.read(&name, max_bytes)?)),
        None => Ok(None),
    }
}

/// The sizes of objects; `None` for missing ones.
pub(super) fn sizes(git: &Git, names: &[String]) -> Result<Vec<Option<u64>>, FetchError> {
    let input: String = names.iter().map(|name| format!("{name}\n")).collect();
    let answer = git.feed(&["cat-file", "--batch-check=%(objecttype) %(objectsize)"], input.as_bytes())?;
    let said = text_of(answer)?;
    let sizes: Vec<Option<u64>> = said.lines().map(|line| line.split(' ').nth(1)?.parse().ok()).collect();
    if sizes.len() == names.len() { Ok(sizes) } else { Err(FetchError::Damaged("objects cannot be read".to_owned())) }
}

/// The names of missing objects.
fn missing(git: &Git, names: Vec<String>) -> Result<Vec<String>, FetchError> {
    let sizes = sizes(git, &names)?;
    Ok(names.into_iter().zip(sizes).filter(|(_, size)| size.is_none()).map(|(name, _)| name).collect())
}

/// Fetches all of `first` and as much of `rest` as the limits allow. `Refused` when the host serves no single blobs.
fn bring(first: &[String], rest: &[String], get: &mut FetchBlobs<'_>) -> Result<FetchResult, FetchError> {
    // The batches with their size limits.
    let mut heaps: VecDeque<(Vec<String>, u64)> = VecDeque::new();
    if first.len() + rest.len() <= MAX_BATCH {
        heaps.push_back(([first, rest].concat(), MAX_BATCH_BYTES));
    } else {
        heaps.push_back((first.to_vec(), MAX_BATCH_BYTES));
        heaps.extend(rest.chunks(MAX_BATCH).map(|names| (names.to_vec(), MAX_BATCH_BYTES)));
    }
    let mut left = MAX_VAIN_BYTES;
    while let Some((heap, most)) = heaps.pop_front().filter(|(_, most)| left >= *most) {
        if heap.is_empty() {
            continue;
        }
        match get(&heap, most)? {
            FetchResult::All => {}
            FetchResult::TooMuch => {
                left -= most;
                // The settings go first, in a batch of their own.
                let is_mixed = heap.len() > first.len() && !first.is_empty() && heap.starts_with(first);
                let middle = if is_mixed { first.len() } else { heap.len() / 2 };
                if heap.len() > 1 {
                    let (front, back) = heap.split_at(middle);
                    let most = (most / 2).max(MAX_FILE_BYTES);
                    heaps.push_front((back.to_vec(), most));
                    heaps.push_front((front.to_vec(), most));
                }
            }
            ended @ (FetchResult::Refused | FetchResult::TooLate) => return Ok(ended),
        }
    }
    Ok(FetchResult::All)
}

/// The settings files of a commit, with their blobs.
fn of_base(git: &Git, base: &Sha) -> Result<Vec<(String, String)>, FetchError> {
    let context = format!("{GUIDANCE_FOLDER}/");
    let mut paths = vec![config::FILE_NAME, OWN_FOLDER, PROJECT_PROMPTS, &context];
    paths.extend(GUIDANCE);
    let mut files = listed(git, base, &paths)?;
    files.truncate(MAX_BASE_FILES);
    Ok(files)
}

/// The attribute files of a commit that apply to the changed files.
fn attributes(git: &Git, base: &Sha, changed: &[Changed]) -> Result<Vec<(String, String)>, FetchError> {
    let mut folders = BTreeSet::from([""]);
    for path in changed.iter().filter_map(|file| std::str::from_utf8(file.path.as_bytes()).ok()) {
        folders.extend(path.match_indices('/').map(|(at, _)| &path[..=at]));
    }
    // They are listed by one command line; a change all over the repository goes without attributes.
    if folders.iter().map(|folder| folder.len() + ATTRIBUTES.len()).sum::<usize>() > MAX_FOLDER_BYTES {
        return Ok(Vec::new());
    }
    // A directory name could contain pathspec magic.
    let paths: Vec<String> = folders.iter().map(|folder| format!(":(literal){folder}{ATTRIBUTES}")).collect();
    listed(git, base, &paths.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The files at and below some paths, with their blobs.
fn listed(git: &Git, commit: &Sha, paths: &[&str]) -> Result<Vec<(String, String)>, FetchError> {
    let mut args = vec!["ls-tree", "-r", "-z", "--full-tree", commit.as_str(), "--"];
    args.extend(paths);
    let said = text_of(git.ask(&args)?)?;
    let read = |entry: &str| {
        let (head, path) = entry.split_once('\t')?;
        let mut words = head.split(' ');
        let (mode, kind, name) = (words.next()?, words.next()?, words.next()?);
        (matches!(mode, "100644" | "100755") && kind == "blob").then(|| (path.to_owned(), name.to_owned()))
    };
    Ok(said.split('\0').filter_map(read).collect())
}

/// The files that differ between two commits.
fn changed(git: &Git, base: &Sha, head: &Sha) -> Result<Vec<Changed>, FetchError> {
    // Before git expands them: a few objects can name more paths than fit into memory.
    if git.differs_in_more_than(MAX_FILES as u64, base.as_str(), head.as_str())? {
        return Err(failure::too_many_files(MAX_FILES).into());
    }
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", base.as_str(), head.as_str(), "--"];
    let answer = git.ask(&args)?;
    if !answer.ok {
        return Err(FetchError::Damaged(answer.stderr));
    }
    let changed = entries(&answer.stdout);
    if changed.len() > MAX_FILES { Err(failure::too_many_files(MAX_FILES).into()) } else { Ok(changed) }
}

/// Parses `:100644 100644 <blob> <blob> M` and a path, each terminated by NUL. Submodules have no blobs.
fn entries(bytes: &[u8]) -> Vec<Changed> {
    let mut fields = bytes.split(|&byte| byte == 0);
    let mut changed = Vec::new();
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let head = String::from_utf8_lossy(head);
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, new, _] = words[..] else { continue };
        let is_file = |mode: &str| mode.starts_with("10") || mode == "120000";
        let sides = [(old_mode, old), (new_mode, new)];
        let blobs: Vec<String> =
            sides.into_iter().filter(|(mode, _)| is_file(mode)).map(|(_, name)| name.to_owned()).collect();
        if !blobs.is_empty() {
            changed.push(Changed { path: RepoPath::from_bytes(path), blobs });
        }
    }
    changed
}

/// The output of a command that must not fail.
fn text_of(answer: GitOutput) -> Result<String, FetchError> {
    if !answer.ok || corruption::is_said_by(&answer.stderr) {
        return Err(FetchError::Damaged(answer.stderr));
    }
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_difference_is_read_with_contents_of_files_and_links_only() {
        let (a, b, none) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let raw = format!(
            ":100644 100755 {a} {b} M\0x y\0:000000 120000 {none} {b} A\0link\0:160000 160000 {a} {b} M\0sub\0\
             :100644 000000 {a} {none} D\0gone\0:100644 160000 {a} {b} T\0was\0"
        );
        let found: Vec<String> = entries(raw.as_bytes())
            .iter()
            .map(|file| {
                let blobs: Vec<&str> = file.blobs.iter().map(|name| &name[..1]).collect();
                format!("{}={}", file.path, blobs.join("+"))
            })
            .collect();
        assert_eq!(found, ["x y=a+b", "link=b", "gone=a", "was=a"]);
        assert!(entries(b"").is_empty());
        assert!(entries(b"nonsense\0x\0:1 2\0y").is_empty());
    }

    /// Fetches blobs of these sizes in MiB; the first `n_first` are settings. Returns the fetched ones and the total
    /// transfer.
    fn brought(n_first: usize, mebibytes: &[u64]) -> (Vec<usize>, u64) {
        let names: Vec<String> = (0..mebibytes.len()).map(|number| number.to_string()).collect();
        let (first, rest) = names.split_at(n_first);
        let (mut came, mut n_moved) = (Vec::new(), 0);
        let got = bring(first, rest, &mut |names, most| {
            let numbers: Vec<usize> = names.iter().map(|name| name.parse().unwrap()).collect();
            let n_bytes: u64 = numbers.iter().map(|number| mebibytes[*number] << 20).sum();
            n_moved += n_bytes.min(most);
            if n_bytes > most {
                return Ok(FetchResult::TooMuch);
            }
            came.extend(numbers);
            Ok(FetchResult::All)
        });
        assert_eq!(got.ok(), Some(FetchResult::All));
        came.sort_unstable();
        (came, n_moved >> 20)
    }

    #[test]
    fn a_small_batch_is_fetched_at_once() {
        assert_eq!(brought(1, &[1, 2, 3]), (vec![0, 1, 2], 6));
        assert_eq!(brought(0, &[]), (vec![], 0));
    }

    #[test]
    fn a_large_blob_is_found_by_bisection_and_skipped() {
        assert_eq!(brought(1, &[1, 1, 500, 1]).0, [0, 1, 3]);
        assert_eq!(brought(0, &[30, 30, 30, 30, 30, 1]).0, [0, 1, 2, 3, 4, 5]);
        assert_eq!(brought(1, &[1, 999]).0, [0]);
        assert_eq!(brought(0, &[999]).0, Vec::<usize>::new());
    }

    proptest::proptest! {
        #[test]
        fn transfers_are_bounded_and_settings_always_arrive(
            sizes in proptest::collection::vec(0_u64..400, 0..60),
        ) {
            let mebibytes: Vec<u64> = [1, 1].into_iter().chain(sizes).collect();
            let (came, n_moved) = brought(2, &mebibytes);
            proptest::prop_assert!(came.starts_with(&[0, 1]));
            let n_useful: u64 = came.iter().map(|number| mebibytes[*number]).sum();
            proptest::prop_assert!(n_moved <= n_useful + (MAX_VAIN_BYTES >> 20));
            let mut once = came.clone();
            once.dedup();
            proptest::prop_assert_eq!(once, came);
        }
    }
}
