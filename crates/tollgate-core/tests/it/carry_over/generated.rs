//! A deterministic generated repository with many pairs of states.
//!
//! Each pair is a change before and after more work: its author inserted, deleted, edited, moved, indented and renamed;
//! other people's work came in below it (a rebase), and perhaps part of it was merged. Everything is written by one run
//! of `git fast-import`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

/// The commits of one pair.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    /// The base of the old change.
    pub(super) old_base: String,
    pub(super) old: String,
    /// The base of the new change.
    pub(super) new_base: String,
    pub(super) new: String,
    /// The files of `new`, with `old` as the parent, so that blame can go from one to the other.
    pub(super) joined: String,
    /// True when lines were moved.
    pub(super) moved: bool,
}

/// A line with a stable id while its text and position change.
#[derive(Debug, Clone)]
struct Line {
    id: u32,
    text: String,
}

#[derive(Debug, Clone)]
struct File {
    path: String,
    lines: Vec<Line>,
}

/// A deterministic random number generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

struct Generator {
    dice: Dice,
    n_lines: u32,
    script: String,
    n_commits: usize,
}

/// Makes the repository in a folder.
pub(super) fn make(dir: &Path, n_pairs: usize) -> Vec<Pair> {
    let mut generator = Generator { dice: Dice(42), n_lines: 0, script: String::new(), n_commits: 0 };
    let pairs: Vec<Pair> = (0..n_pairs).map(|index| generator.pair(index)).collect();
    super::git(dir, &["init", "-q"]);
    super::git_with(dir, &["fast-import", "--quiet", "--force"], generator.script.as_bytes());
    let refs = super::git(dir, &["for-each-ref", "--format=%(refname) %(objectname)"]);
    let refs = String::from_utf8(refs).unwrap();
    let shas: HashMap<&str, &str> = refs.lines().filter_map(|line| line.split_once(' ')).collect();
    let sha = |name: &String| shas[name.as_str()].to_owned();
    let resolved = |pair: &Pair| Pair {
        old_base: sha(&pair.old_base),
        old: sha(&pair.old),
        new_base: sha(&pair.new_base),
        new: sha(&pair.new),
        joined: sha(&pair.joined),
        moved: pair.moved,
    };
    pairs.iter().map(resolved).collect()
}

impl Generator {
    fn pair(&mut self, index: usize) -> Pair {
        let mut base: Vec<File> = (0..3).map(|number| self.file(&format!("src/file_{number}.rs"))).collect();
        let n_known = self.n_lines;
        let mut change = base.clone();
        let n_edits = 2 + self.dice.below(5);
        for _ in 0..n_edits {
            self.edit(&mut change, 0, false);
        }
        let old_base = self.commit(&base, None);
        let old = self.commit(&change, Some(&old_base));

        // Edits of other authors, on lines that both have.
        for _ in 0..self.dice.below(4) * usize::from(!index.is_multiple_of(3)) {
            self.edit_both(&mut base, &mut change);
        }
        if index % 5 == 4 {
            merge_some(&mut base, &change);
        }
        let mut moved = false;
        for _ in 0..self.dice.below(7) {
            moved |= self.edit(&mut change, n_known, index % 4 == 3);
        }
        if index % 4 == 1 {
            change[0].path = format!("src/renamed_{index}.rs");
        }
        let new_base = self.commit(&base, None);
        let new = self.commit(&change, Some(&new_base));
        let joined = self.commit(&change, Some(&old));
        Pair { old_base, old, new_base, new, joined, moved }
    }

    fn file(&mut self, path: &str) -> File {
        let n_lines = 20 + self.dice.below(60);
        File { path: path.to_owned(), lines: (0..n_lines).map(|_| self.line()).collect() }
    }

    /// Three of four lines are unique.
    fn line(&mut self) -> Line {
        self.n_lines += 1;
        let id = self.n_lines;
        let text = match self.dice.below(12) {
            0 => "}".to_owned(),
            1 => String::new(),
            2 => "    return Ok(());".to_owned(),
            _ => format!("    let value_{id} = compute({});", self.dice.below(1000)),
        };
        Line { id, text }
    }

    /// One edit of the author; returns true when lines were moved.
    fn edit(&mut self, files: &mut [File], n_known: u32, may_move: bool) -> bool {
        let file = self.dice.below(files.len());
        let at = self.place(&files[file].lines, n_known);
        let lines = &mut files[file].lines;
        let len = (1 + self.dice.below(4)).min(lines.len() - at);
        match self.dice.below(if may_move { 6 } else { 5 }) {
            0 | 1 => {
                let new: Vec<Line> = (0..=len).map(|_| self.line()).collect();
                files[file].lines.splice(at..at, new);
            }
            2 if lines.len() > 10 => drop(lines.drain(at..at + len)),
            3 => {
                let id = self.line().id;
                lines[at].text = format!("    let edited_{id} = {};", lines[at].text.trim());
            }
            4 => lines[at..at + len].iter_mut().for_each(|line| line.text = format!("    {}", line.text)),
            5 => {
                let block: Vec<Line> = lines.drain(at..at + len).collect();
                let to = self.dice.below(lines.len() + 1);
                files[file].lines.splice(to..to, block);
                return true;
            }
            _ => {}
        }
        false
    }

    /// A position to edit, mostly among the lines that the change added.
    fn place(&mut self, lines: &[Line], n_known: u32) -> usize {
        let added: Vec<usize> = (0..lines.len()).filter(|&at| n_known > 0 && lines[at].id > n_known).collect();
        match added.get(self.dice.below(added.len() * 4 / 3)) {
            Some(&at) => at,
            None => self.dice.below(lines.len()),
        }
    }

    /// One edit of another author, where the change has not touched the line.
    fn edit_both(&mut self, base: &mut [File], change: &mut [File]) {
        let file = self.dice.below(base.len());
        let at = self.dice.below(base[file].lines.len());
        let Line { id, text } = base[file].lines[at].clone();
        let Some(there) = change[file].lines.iter().position(|line| line.id == id && line.text == text) else { return };
        if self.dice.below(3) == 0 {
            let edited = format!("    let theirs_{} = 1;", self.line().id);
            base[file].lines[at].text.clone_from(&edited);
            change[file].lines[there].text = edited;
        } else {
            let block: Vec<Line> = (0..1 + self.dice.below(6)).map(|_| self.line()).collect();
            base[file].lines.splice(at..at, block.clone());
            change[file].lines.splice(there..there, block);
        }
    }

    fn commit(&mut self, files: &[File], parent: Option<&str>) -> String {
        self.n_commits += 1;
        let name = format!("refs/heads/c{}", self.n_commits);
        let script = &mut self.script;
        let _ = write!(
            script,
            "commit {name}\ncommitter a <a@example.com> {} +0000\ndata 1\nx\n",
            1_000_000 + self.n_commits
        );
        if let Some(parent) = parent {
            let _ = writeln!(script, "from {parent}");
        }
        let _ = writeln!(script, "deleteall");
        for file in files {
            let text: String = file.lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect();
            let _ = write!(script, "M 100644 inline {}\ndata {}\n{text}\n", file.path, text.len());
        }
        name
    }
}

/// Merges the first block of added lines into the base.
fn merge_some(base: &mut [File], change: &[File]) {
    for (base, change) in base.iter_mut().zip(change) {
        let known = |line: &Line| base.lines.iter().position(|other| other.id == line.id);
        let Some(from) = change.lines.iter().position(|line| known(line).is_none()) else { continue };
        let block: Vec<Line> = change.lines[from..].iter().take_while(|line| known(line).is_none()).cloned().collect();
        let at = from.checked_sub(1).and_then(|before| known(&change.lines[before])).map_or(0, |before| before + 1);
        base.lines.splice(at..at, block);
        return;
    }
}
