//! Compares the line map with `git blame` on real and generated histories.
//!
//! Findings are put on lines that a change adds; more is committed, amended, rebased; then each finding must be at the line
//! that blame reports, or nowhere when blame says that its line is gone. Blame is an independent implementation, so the
//! line map is not tested against itself.
//!
//! Two correct diffs of the same texts may differ: of equal lines (`}`), any may be matched, and of two swapped blocks
//! either may count as moved. So a line that is unique in both files must match exactly, for other lines the content must
//! agree, and in pairs with moved lines a finding may be lost, which is counted.

mod generated;

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tollgate_core::delta::line_map::{LineMap, Mapped};
use tollgate_core::delta::snapshot::Snapshot;
use tollgate_core::diff::{self, FileDiff};
use tollgate_core::finding::{LineRange, Location, Side};
use tollgate_core::path::{FilePath, RepoPath};

/// The most findings that are placed on one pair.
const MAX_FINDINGS: usize = 60;

fn git(dir: &Path, arguments: &[&str]) -> Vec<u8> {
    git_with(dir, arguments, b"")
}

fn git_with(dir: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(["-c", "core.quotePath=false", "-c", "diff.algorithm=myers"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the tests need git");
    let mut stdin = child.stdin.take().unwrap();
    // Write and read concurrently, because the pipes may fill up.
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap().stdout
    })
}

/// The diffs of many pairs of commits `(from, to)`, by one run of git.
fn patches(dir: &Path, pairs: &[(&str, &str)]) -> Vec<Vec<FileDiff>> {
    let asked: String = pairs.iter().map(|(from, to)| format!("{to} {from}\n")).collect();
    let text = git_with(dir, &["diff-tree", "--stdin", "--always", "-r", "-p", "-M"], asked.as_bytes());
    // Each diff follows a line with only the commit id, which no diff contains.
    let mut patches: Vec<Vec<u8>> = Vec::new();
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if line.len() == 41 && line[..40].iter().all(u8::is_ascii_hexdigit) {
            patches.push(Vec::new());
        } else if let Some(patch) = patches.last_mut() {
            patch.extend_from_slice(line);
        }
    }
    assert_eq!(patches.len(), pairs.len());
    patches.into_iter().map(|patch| diff::parse(patch).0).collect()
}

/// A line of a file.
type Spot = (FilePath, u32);

/// The results over many pairs.
#[derive(Debug, Default)]
struct Tally {
    n_pairs: usize,
    n_findings: usize,
    /// Mapped exactly as by blame.
    n_exact: usize,
    /// Mapped to an equal line.
    n_equal: usize,
    /// Gone or changed, as by blame.
    n_gone: usize,
    /// Not found, although blame finds it: the other one of two swapped blocks.
    n_lost: usize,
    /// Found by its text, although blame reports a new line.
    n_kept: usize,
}

/// Files of a commit, by lines.
struct Texts(HashMap<FilePath, Vec<Vec<u8>>>);

impl Texts {
    fn read(dir: &Path, rev: &str, paths: impl Iterator<Item = FilePath>) -> Self {
        let paths: Vec<FilePath> = paths.collect();
        let asked: String = paths.iter().map(|path| format!("{rev}:{path}\n")).collect();
        let mut output = &git_with(dir, &["cat-file", "--batch=%(objectsize)"], asked.as_bytes())[..];
        let mut files = HashMap::new();
        for path in paths {
            let end = output.iter().position(|&byte| byte == b'\n').unwrap();
            let size: usize = std::str::from_utf8(&output[..end]).unwrap().parse().unwrap();
            let text = &output[end + 1..][..size];
            files.insert(path, text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect());
            output = &output[end + 1 + size + 1..];
        }
        Self(files)
    }

    fn lines(&self, file: &FilePath) -> &[Vec<u8>] {
        self.0.get(file).map_or(&[], Vec::as_slice)
    }

    fn line(&self, spot: &Spot) -> &[u8] {
        self.lines(&spot.0).get(spot.1 as usize - 1).map_or(&[], Vec::as_slice)
    }

    fn is_unique(&self, file: &FilePath, text: &[u8]) -> bool {
        self.lines(file).iter().filter(|line| *line == text).count() == 1
    }
}

/// The mapping by blame of some files of `old` to `new`, its descendant.
fn blame(dir: &Path, old: &str, new: &str, changed: &[FileDiff]) -> HashMap<Spot, Spot> {
    let mut found = HashMap::new();
    for path in changed.iter().filter_map(|file| Some(FilePath::of_repo_path(file.new_path.as_ref()?))) {
        let text =
            git(dir, &["blame", "--first-parent", "--line-porcelain", &format!("{old}..{new}"), "--", path.as_str()]);
        let (mut from, mut is_old) = ((0, 0), false);
        for line in String::from_utf8_lossy(&text).lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if line.starts_with('\t') {
                is_old = false;
            } else if let ([sha, at, now, ..], true) = (&words[..], words[0].len() == 40) {
                (from, is_old) = ((at.parse().unwrap(), now.parse().unwrap()), *sha == old);
            } else if let Some(name) = line.strip_prefix("filename ").filter(|_| is_old) {
                found.insert((FilePath::parse(name).unwrap(), from.0), (path.clone(), from.1));
            }
        }
    }
    found
}

impl Tally {
    /// Compares a line map with blame, on lines that the old change adds.
    fn check(
        &mut self,
        map: &LineMap,
        truth: &HashMap<Spot, Spot>,
        spots: &[Spot],
        old: &Texts,
        new: &Texts,
        moved: bool,
    ) {
        self.n_pairs += 1;
        for spot in spots {
            self.n_findings += 1;
            let text = old.line(spot);
            let location = Location { file: spot.0.clone(), lines: LineRange::line(spot.1), side: Side::Right };
            let ours = match map.locate(&location) {
                Mapped::At(to) => Some((to.file, to.lines.start())),
                Mapped::Changed | Mapped::Gone => None,
            };
            let theirs = truth.get(spot);
            let place = theirs.or(ours.as_ref()).map(|to| to.0.clone());
            let unique = old.is_unique(&spot.0, text) && place.is_some_and(|file| new.is_unique(&file, text));
            let said = || format!("{spot:?}, `{}`: blame {theirs:?}, ours {ours:?}", String::from_utf8_lossy(text));
            match (theirs, &ours) {
                (Some(theirs), Some(ours)) if theirs == ours => self.n_exact += 1,
                (_, Some(to)) if new.line(to) != text => panic!("another line: {}", said()),
                (None, None) => self.n_gone += 1,
                (None, Some(_)) => self.n_kept += 1,
                (Some(_), Some(_)) if unique => panic!("another place: {}", said()),
                (Some(_), Some(_)) => self.n_equal += 1,
                (Some(_), None) if unique && !moved => panic!("lost: {}", said()),
                (Some(_), None) => self.n_lost += 1,
            }
        }
    }

    /// Nearly everything must agree with blame.
    #[track_caller]
    fn expect(&self, n_pairs: usize) {
        assert!(self.n_pairs >= n_pairs, "{self:?}");
        assert!(self.n_exact * 2 > self.n_findings && self.n_gone > 0, "{self:?}");
        assert!((self.n_lost + self.n_kept + self.n_equal) * 50 <= self.n_findings, "{self:?}");
    }
}

/// Lines that a change adds, evenly spread.
fn spots(change: &[FileDiff], within: &HashSet<FilePath>) -> Vec<Spot> {
    let files = change.iter().filter(|file| file.new_path.is_some());
    let all: Vec<Spot> = files
        .map(|file| (FilePath::of_repo_path(file.path()), file))
        .filter(|(path, _)| within.contains(path))
        .flat_map(|(path, file)| file.added().map(|(number, _)| (path.clone(), number)).collect::<Vec<_>>())
        .collect();
    let step = all.len().div_ceil(MAX_FINDINGS).max(1);
    all.into_iter().step_by(step).collect()
}

/// Files that a diff touches, by their old paths.
fn touched(files: &[FileDiff]) -> HashSet<FilePath> {
    files.iter().filter_map(|file| file.old_path.as_ref()).map(FilePath::of_repo_path).collect()
}

/// Restricts the mapping to lines that are still part of the new change.
fn within_change(truth: HashMap<Spot, Spot>, change: &[FileDiff]) -> HashMap<Spot, Spot> {
    let added: HashSet<Spot> = change
        .iter()
        .flat_map(|file| {
            file.added().map(|(number, _)| (FilePath::of_repo_path(file.path()), number)).collect::<Vec<_>>()
        })
        .collect();
    truth.into_iter().filter(|(_, to)| added.contains(to)).collect()
}

/// The states of one change: its base and head, before and after more work.
struct States<'a> {
    old_base: &'a str,
    old: &'a str,
    new_base: &'a str,
    new: &'a str,
    /// A commit with the files of `new` that descends from `old`.
    joined: &'a str,
    moved: bool,
}

/// The results of both kinds of line map.
#[derive(Debug, Default)]
struct Tallies {
    of_diff: Tally,
    between: Tally,
}

impl Tallies {
    fn of(dir: &Path, states: &[States<'_>]) -> Self {
        let mut tallies = Self::default();
        let pairs: Vec<(&str, &str)> = states
            .iter()
            .flat_map(|state| [(state.old, state.joined), (state.old_base, state.old), (state.new_base, state.new)])
            .collect();
        for (state, patches) in states.iter().zip(patches(dir, &pairs).chunks(3)) {
            tallies.check(dir, state, patches);
        }
        tallies
    }

    fn check(&mut self, dir: &Path, states: &States<'_>, patches: &[Vec<FileDiff>]) {
        let [step, old_change, new_change] = patches else { panic!("three diffs") };
        // Other files have no findings.
        let in_change: HashSet<&RepoPath> = old_change.iter().filter_map(|file| file.new_path.as_ref()).collect();
        let with_findings = |file: &&FileDiff| file.old_path.as_ref().is_some_and(|path| in_change.contains(path));
        let step: &[FileDiff] = &step.iter().filter(with_findings).cloned().collect::<Vec<_>>();
        let truth = blame(dir, states.old, states.joined, step);
        let spots = spots(old_change, &touched(step));
        let old = Texts::read(dir, states.old, touched(step).into_iter());
        let paths = step.iter().filter_map(|file| file.new_path.as_ref()).map(FilePath::of_repo_path);
        let new = Texts::read(dir, states.joined, paths);
        self.of_diff.check(&LineMap::of_diff(step, &[]), &truth, &spots, &old, &new, states.moved);

        let map = LineMap::between(&Snapshot::of(old_change), &Snapshot::of(new_change));
        self.between.check(&map, &within_change(truth, new_change), &spots, &old, &new, states.moved);
    }
}

#[test]
fn findings_of_generated_histories_map_as_by_blame() {
    let dir = tempfile::TempDir::new().unwrap();
    let dir = dir.path();
    let pairs = generated::make(dir, 210);
    let states: Vec<States<'_>> = pairs
        .iter()
        .map(|generated::Pair { old_base, old, new_base, new, joined, moved }| States {
            old_base,
            old,
            new_base,
            new,
            joined,
            moved: *moved,
        })
        .collect();
    let tallies = Tallies::of(dir, &states);
    tallies.of_diff.expect(200);
    // Blame uses the same diff.
    let Tally { n_equal, n_lost, n_kept, .. } = tallies.of_diff;
    assert_eq!((n_equal, n_lost, n_kept), (0, 0, 0));
    tallies.between.expect(200);
}

#[test]
fn findings_of_our_own_history_map_as_by_blame() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = String::from_utf8(git(here, &["rev-parse", "--show-toplevel"])).unwrap();
    let dir = if root.is_empty() { here } else { Path::new(root.trim()) };
    let log = git(here, &["log", "--first-parent", "--no-merges", "--format=%H", "-n", "400"]);
    let commits: Vec<String> = String::from_utf8(log).unwrap().lines().map(str::to_owned).collect();
    // Each change is one commit against its parent, followed by the next three.
    let windows = commits.windows(5).step_by((commits.len() / 40).max(1));
    let states: Vec<States<'_>> = windows
        .filter_map(|window| match window {
            [new, _, _, old, base] => {
                Some(States { old_base: base, old, new_base: base, new, joined: new, moved: true })
            }
            _ => None,
        })
        .collect();
    let tallies = Tallies::of(dir, &states);
    // A shallow clone has little or no history, so the rates are checked only with enough findings.
    if tallies.of_diff.n_findings > 500 {
        tallies.of_diff.expect(20);
        tallies.between.expect(20);
    }
}
