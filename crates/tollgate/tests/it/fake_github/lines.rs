//! Which lines of a pull request may be commented: those of its diff, as GitHub counts them.

use std::collections::BTreeMap;
use std::path::Path;

use super::git::git;

const OPTIONS: [&str; 6] = ["-c", "core.quotePath=false", "diff", "--no-color", "--find-renames", "--no-ext-diff"];

/// The diff of a pull request: the hunks of each file.
pub(crate) struct Lines {
    files: BTreeMap<String, Vec<Hunk>>,
}

#[derive(Default)]
struct Hunk {
    text: String,
    /// Removed lines by their old number; added and unchanged ones by their new.
    left: Vec<u64>,
    right: Vec<u64>,
}

impl Hunk {
    fn has(&self, side: &str, line: u64) -> bool {
        (if side == "LEFT" { &self.left } else { &self.right }).contains(&line)
    }
}

/// Where a comment shall stand.
pub(crate) struct Spot<'a> {
    pub(crate) path: &'a str,
    pub(crate) line: u64,
    pub(crate) side: &'a str,
    pub(crate) start: Option<(u64, &'a str)>,
}

impl Lines {
    /// The names of its files.
    pub(crate) fn names_of(dir: &Path, base: &str, head: &str) -> Vec<String> {
        let range = format!("{base}...{head}");
        let names = git(dir, &[&OPTIONS[..], &["--name-only", "-z", &range]].concat());
        names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// Reads the diff from where a branch left another to its head.
    pub(crate) fn of(dir: &Path, base: &str, head: &str) -> Self {
        let range = format!("{base}...{head}");
        let names = Self::names_of(dir, base, head);
        let mut files: BTreeMap<String, Vec<Hunk>> = names.into_iter().map(|name| (name, Vec::new())).collect();
        let (mut old, mut path, mut at) = (String::new(), String::new(), (0, 0));
        for line in git(dir, &[&OPTIONS[..], &["--src-prefix=a/", "--dst-prefix=b/", &range]].concat()).lines() {
            let in_hunk = at != (0, 0);
            if line.starts_with("diff --git ") {
                at = (0, 0);
            } else if let Some(name) = line.strip_prefix("--- ").filter(|_| !in_hunk) {
                old = named(name);
            } else if let Some(name) = line.strip_prefix("+++ ").filter(|_| !in_hunk) {
                path = if name == "/dev/null" { old.clone() } else { named(name) };
            } else if line.starts_with("@@ ") {
                at = begins(line);
                files.entry(path.clone()).or_default().push(Hunk { text: line.to_owned(), ..Hunk::default() });
            } else if let Some(hunk) = files.get_mut(&path).and_then(|hunks| hunks.last_mut()).filter(|_| in_hunk) {
                hunk.text.push_str(&format!("\n{line}"));
                match line.bytes().next() {
                    Some(b'-') => {
                        hunk.left.push(at.0);
                        at.0 += 1;
                    }
                    Some(b'+') => {
                        hunk.right.push(at.1);
                        at.1 += 1;
                    }
                    Some(b'\\') => {}
                    _ => {
                        hunk.right.push(at.1);
                        at = (at.0 + 1, at.1 + 1);
                    }
                }
            }
        }
        Self { files }
    }

    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The hunk of a line comment, or GitHub's validation error.
    pub(crate) fn place(&self, spot: &Spot<'_>) -> Result<String, &'static str> {
        let hunks = self.files.get(spot.path).ok_or("Path could not be resolved")?;
        let hunk = hunks
            .iter()
            .find(|hunk| hunk.has(spot.side, spot.line))
            .ok_or("Pull request review thread line must be part of the diff")?;
        if let Some((line, side)) = spot.start {
            if side == spot.side && line >= spot.line {
                return Err("Pull request review thread start line must precede the end line.");
            }
            if !hunk.has(side, line) {
                return Err("Pull request review thread start line must be part of the same hunk as the line.");
            }
        }
        Ok(hunk.text.clone())
    }
}

/// A name without its side, as it was before git quoted it: `"b/a\nb"`. One with a space in it has a tab behind it.
fn named(shown: &str) -> String {
    let shown = shown.trim_end_matches('\t');
    let Some(inside) = shown.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return shown[2..].to_owned();
    };
    let (mut name, mut rest) = (Vec::new(), inside.bytes().peekable());
    while let Some(byte) = rest.next() {
        name.push(match (byte, rest.peek()) {
            (b'\\', Some(b'0'..=b'7')) => rest.by_ref().take(3).fold(0, |value: u8, digit| value * 8 + (digit - b'0')),
            (b'\\', Some(_)) => match rest.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                other => other.unwrap_or_default(),
            },
            _ => byte,
        });
    }
    String::from_utf8_lossy(&name)[2..].to_owned()
}

/// Where a hunk begins on both sides: `@@ -3,4 +5,6 @@`.
fn begins(header: &str) -> (u64, u64) {
    let mut sides = header.split(' ').skip(1).map(|side| {
        let number = side.trim_start_matches(['-', '+']).split(',').next().unwrap_or_default();
        number.parse().unwrap_or(0)
    });
    (sides.next().unwrap_or(0), sides.next().unwrap_or(0))
}
