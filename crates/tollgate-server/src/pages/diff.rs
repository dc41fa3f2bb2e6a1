//! The change of an iteration with its findings under their lines.
//!
//! A page that shows a change puts [`section`] into it; further parts of it are fragments that the script `diff.js` asks
//! for, and pages of their own where no script runs:
//!
//! ```text
//! GET /projects/1/features/login/iterations/2/files?from=300            the next files
//! GET /projects/1/features/login/iterations/2/files/3?from=500&to=900   rows of one file
//! GET /projects/1/features/login/iterations/2/files/3?at=R120           those around a line
//! GET /projects/1/features/login/iterations/2/files/3?gap=1&top=20      the lines between two hunks
//! GET /projects/1/features/login/iterations/2/files/3?line=R120         a long line as a whole
//! ```
//!
//! Nothing is left out silently: a part that is not on the page is named with its length, the reason and a link.

use askama::Template;
use tollgate_core::analysis::is_generated;
use tollgate_core::board::FeatureId;
use tollgate_core::diff::rows::{DiffBody, DiffRow};
use tollgate_core::diff::{FileDiff, Status};
use tollgate_core::path::RepoPath;
use tollgate_core::visible::grouped;
use tollgate_engine::board::diff_context::{BlobRequest, ReviewedDiff, Source};
use tollgate_engine::board::{Board, Part};

use crate::app::ProjectId;
use crate::pages::finding::{self, FindingView};
use crate::pages::markup::{self, Markup};
use crate::pages::words::count;
use crate::problem::{Kind, Problem};

mod code;
mod place;
mod routes;
mod sheet;

pub(crate) use routes::{file, files};

use place::Findings;
use sheet::{Sheet, Texts};

/// So many rows are on a page at first.
const PAGE_ROWS: usize = 1_500;
/// Files with more changed lines are folded at first.
const MAX_CHANGED: u32 = 800;
/// So many files are on a page at first.
const MAX_FILES: usize = 300;
/// Of a file that begins where the page is almost full, at least so many rows are shown.
const MIN_ROWS: usize = 60;
/// So many parts of a diff that cannot be read are told one by one.
const MAX_REFUSED: usize = 20;

/// How a diff is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum View {
    /// One line after the other.
    #[default]
    Unified,
    /// Before and after side by side.
    Split,
}

impl View {
    /// The word in addresses.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Unified => "unified",
            Self::Split => "split",
        }
    }

    fn rows(self, body: &DiffBody<'_>) -> Vec<DiffRow> {
        match self {
            Self::Unified => body.unified(),
            Self::Split => body.split(),
        }
    }
}

/// The change of an iteration that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiffTarget {
    pub(crate) project: ProjectId,
    pub(crate) feature: FeatureId,
    pub(crate) iteration: u32,
    pub(crate) part: Part,
}

/// How it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Options {
    pub(crate) view: View,
    /// The address of the same page with one line after the other, and with both sides beside each other.
    pub(crate) addresses: [String; 2],
}

/// All of it, as much as a page has room for.
#[derive(Template)]
#[template(path = "diff.html")]
struct Section {
    is_split: bool,
    addresses: [String; 2],
    n_files: usize,
    files_in_words: String,
    figures: Figures,
    list: Vec<Listed>,
    /// Findings on no file of the change.
    elsewhere: Vec<FindingView>,
    refused: Vec<String>,
    files: Vec<FileView>,
    more: Option<MoreFiles>,
}

/// Files that come on demand.
#[derive(Template)]
#[template(path = "diff_files.html")]
struct Files {
    files: Vec<FileView>,
    more: Option<MoreFiles>,
}

/// How much was added and removed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Figures {
    added: String,
    removed: String,
}

impl Figures {
    fn of(n_added: u64, n_removed: u64) -> Self {
        Self { added: grouped(n_added), removed: grouped(n_removed) }
    }

    fn of_file(file: &FileDiff) -> Self {
        Self::of(u64::from(file.n_added), u64::from(file.n_removed))
    }
}

/// How many findings there are, and how bad the worst is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Marks {
    n_findings: usize,
    words: String,
    kind: &'static str,
    icon: &'static str,
}

impl Marks {
    fn of(findings: &[FindingView]) -> Option<Self> {
        let worst = findings.iter().map(|finding| finding.severity).max()?;
        let n_findings = findings.len();
        let words = count(n_findings as u64, "finding");
        Some(Self { n_findings, words, kind: finding::kind(worst), icon: finding::icon(worst) })
    }
}

/// A file in the list of all.
struct Listed {
    href: String,
    folder: String,
    name: String,
    letter: &'static str,
    status: &'static str,
    figures: Figures,
    marks: Option<Marks>,
}

struct MoreFiles {
    words: String,
    href: String,
}

struct FileView {
    anchor: String,
    name: String,
    old_name: Option<String>,
    letter: &'static str,
    status: &'static str,
    figures: Figures,
    marks: Option<Marks>,
    why_folded: Option<String>,
    notes: Vec<String>,
    /// Findings on no line of the diff.
    elsewhere: Vec<FindingView>,
    body: BodyView,
}

/// The lines of a file.
enum BodyView {
    /// Some or all of them.
    Rows(Markup),
    /// They come on demand.
    Later(Later),
    /// There are none.
    Nothing(&'static str),
}

/// Lines that come on demand.
struct Later {
    n_rows: String,
    href: String,
    /// True when they come as soon as one gets there.
    is_eager: bool,
    findings: Vec<Link>,
}

/// A finding on a line that is not on the page.
struct Link {
    id: String,
    title: String,
    severity: &'static str,
    kind: &'static str,
    icon: &'static str,
    place: String,
    href: String,
}

/// The change of an iteration, with findings under their lines.
pub(crate) fn section(
    board: &Board,
    of: &DiffTarget,
    options: &Options,
    findings: Vec<FindingView>,
) -> Result<Markup, Problem> {
    let shown = board.shown(of.project, &of.feature, of.iteration, of.part)?;
    compose(&shown, of, options, findings, &|wanted| Ok(board.sources(of.project, wanted)?))
}

/// A way to the texts of files.
type Read<'a> = dyn Fn(&[BlobRequest]) -> Result<Vec<Source>, Problem> + 'a;

fn compose(
    shown: &ReviewedDiff,
    of: &DiffTarget,
    options: &Options,
    findings: Vec<FindingView>,
    read: &Read<'_>,
) -> Result<Markup, Problem> {
    let mut page = Paper::new(read, of, options.view, shown, findings);
    let files = page.files(0)?;
    let sum = |n: fn(&FileDiff) -> u32| shown.files.iter().map(|file| u64::from(n(file))).sum();
    let n_refused = shown.refused.len();
    let mut refused: Vec<String> = shown.refused.iter().take(MAX_REFUSED).map(refused_in_words).collect();
    if n_refused > MAX_REFUSED {
        refused.push(format!("{} more", count((n_refused - MAX_REFUSED) as u64, "part")));
    }
    let section = Section {
        is_split: options.view == View::Split,
        addresses: options.addresses.clone(),
        n_files: shown.files.len(),
        files_in_words: count(shown.files.len() as u64, "file"),
        figures: Figures::of(sum(|file| file.n_added), sum(|file| file.n_removed)),
        list: page.list(),
        more: page.more_files(MAX_FILES),
        elsewhere: page.findings.rest(),
        refused,
        files,
    };
    rendered(&section)
}

/// The names of findings in a diff, for links from elsewhere on the page: `d-F003`.
pub(crate) fn finding_anchor(id: &str) -> String {
    format!("d-{id}")
}

fn rendered(template: &impl Template) -> Result<Markup, Problem> {
    markup::rendered(template).map_err(|_| unshowable())
}

fn unshowable() -> Problem {
    Problem::new(Kind::Internal, "the change cannot be shown")
}

fn refused_in_words(refused: &tollgate_core::diff::Refused) -> String {
    format!("line {} of the diff: {}", grouped(u64::from(refused.line_number)), refused.problem)
}

/// A page under construction: its remaining budget of rows and findings.
struct Paper<'a> {
    read: &'a Read<'a>,
    of: &'a DiffTarget,
    view: View,
    shown: &'a ReviewedDiff,
    findings: Findings,
    marks: Vec<Option<Marks>>,
    /// The findings of each file, until they are placed.
    taken: Vec<Vec<FindingView>>,
    n_left: usize,
}

impl<'a> Paper<'a> {
    fn new(
        read: &'a Read<'a>,
        of: &'a DiffTarget,
        view: View,
        shown: &'a ReviewedDiff,
        findings: Vec<FindingView>,
    ) -> Self {
        let mut findings = Findings::new(findings);
        let anchored = |mut finding: FindingView| {
            if !finding.id.is_empty() {
                finding.anchor = finding_anchor(&finding.id);
            }
            finding
        };
        let taken: Vec<Vec<FindingView>> =
            shown.files.iter().map(|file| findings.take(file).into_iter().map(anchored).collect()).collect();
        let marks = taken.iter().map(|of_file| Marks::of(of_file)).collect();
        Self { read, of, view, shown, findings, marks, taken, n_left: PAGE_ROWS }
    }

    /// The files from an index on, as many as a page has.
    fn files(&mut self, from: usize) -> Result<Vec<FileView>, Problem> {
        let end = self.shown.files.len().min(from.saturating_add(MAX_FILES));
        let indices: Vec<usize> = (from..end).collect();
        let plans: Vec<Plan> = indices.iter().map(|&index| self.plan(index)).collect();
        let wanted: Vec<usize> = indices
            .iter()
            .zip(&plans)
            .filter(|(_, plan)| matches!(plan, Plan::Show(_)))
            .map(|(index, _)| *index)
            .collect();
        let mut texts = self.texts(&wanted)?.into_iter();
        let mut files = Vec::with_capacity(indices.len());
        for (index, plan) in indices.into_iter().zip(plans) {
            let texts = if matches!(plan, Plan::Show(_)) { texts.next().unwrap_or_default() } else { Found::default() };
            files.push(self.file(index, plan, texts)?);
        }
        Ok(files)
    }

    /// What becomes of a file, as long as there is room.
    fn plan(&mut self, index: usize) -> Plan {
        let file = &self.shown.files[index];
        if file.hunks.is_empty() {
            return Plan::Nothing;
        }
        if let Some(why) = why_folded(file) {
            return Plan::Fold(why);
        }
        let n_rows = self.view.rows(&DiffBody::new(file, None)).len();
        if n_rows > self.n_left && self.n_left < MIN_ROWS {
            return Plan::Later;
        }
        let n_shown = n_rows.min(self.n_left).min(sheet::ROWS);
        self.n_left -= n_shown;
        Plan::Show(n_shown)
    }

    fn file(&mut self, index: usize, plan: Plan, found: Found) -> Result<FileView, Problem> {
        let file = &self.shown.files[index];
        let findings = std::mem::take(&mut self.taken[index]);
        let mut sheet = self.sheet(index, found.texts);
        sheet.place(findings);
        let elsewhere = std::mem::take(&mut sheet.placed.elsewhere);
        let why_folded = if let Plan::Fold(why) = &plan { Some(why.clone()) } else { None };
        let body = match plan {
            Plan::Nothing => BodyView::Nothing(why_empty(file)),
            Plan::Show(n_rows) => BodyView::Rows(sheet.first(n_rows).map_err(|_| unshowable())?),
            Plan::Fold(_) => BodyView::Later(self.later(&sheet, index, false)),
            Plan::Later => BodyView::Later(self.later(&sheet, index, true)),
        };
        let old_name =
            file.old_path.as_ref().filter(|old| Some(*old) != file.new_path.as_ref() && file.new_path.is_some());
        let (letter, status) = status_words(file.status);
        Ok(FileView {
            anchor: format!("f{index}"),
            name: path_text(file.path()),
            old_name: old_name.map(path_text),
            letter,
            status,
            figures: Figures::of_file(file),
            marks: self.marks[index].clone(),
            why_folded,
            notes: notes(file, found.note),
            elsewhere,
            body,
        })
    }

    fn later(&self, sheet: &Sheet<'_>, index: usize, is_eager: bool) -> Later {
        let mut placed: Vec<(&usize, &Vec<FindingView>)> = sheet.placed.by_line.iter().collect();
        placed.sort_by_key(|(line, _)| **line);
        let link = |line: usize, finding: &FindingView| Link {
            id: finding.id.clone(),
            title: finding.title.clone(),
            severity: finding.severity.as_str(),
            kind: finding.kind(),
            icon: finding.icon(),
            place: finding.line.map_or(String::new(), |line| format!("line {line}")),
            href: sheet.place_of(line).1,
        };
        let findings = placed.into_iter().flat_map(|(line, list)| list.iter().map(move |finding| link(*line, finding)));
        Later {
            n_rows: count(sheet.n_rows() as u64, "line"),
            href: format!("{}&from=0", self.href(index)),
            is_eager,
            findings: findings.collect(),
        }
    }

    fn sheet(&self, index: usize, texts: Texts) -> Sheet<'a> {
        Sheet::new(&self.shown.files[index], index, self.view, &self.href(index), texts)
    }

    /// Where the parts of a file are, with a query to which more can be added.
    fn href(&self, index: usize) -> String {
        format!("{}/{index}?view={}&part={}", base(self.of), self.view.as_str(), part_word(self.of.part))
    }

    fn more_files(&self, from: usize) -> Option<MoreFiles> {
        let n_left = self.shown.files.len().checked_sub(from).filter(|n| *n > 0)?;
        let query = format!("view={}&part={}&from={from}", self.view.as_str(), part_word(self.of.part));
        Some(MoreFiles { words: count(n_left as u64, "more file"), href: format!("{}?{query}", base(self.of)) })
    }

    fn list(&self) -> Vec<Listed> {
        let files = self.shown.files.iter().enumerate();
        let listed = |(index, file): (usize, &FileDiff)| {
            let path = path_text(file.path());
            let (folder, name) = path.rsplit_once('/').map_or(("", path.as_str()), |(folder, name)| (folder, name));
            let (letter, status) = status_words(file.status);
            // Beyond what the page has, the list leads to the page that has it.
            let href = if index < MAX_FILES { format!("#f{index}") } else { format!("{}#f{index}", self.href(index)) };
            Listed {
                href,
                folder: if folder.is_empty() { String::new() } else { format!("{folder}/") },
                name: name.to_owned(),
                letter,
                status,
                figures: Figures::of_file(file),
                marks: self.marks[index].clone(),
            }
        };
        files.take(10 * MAX_FILES).map(listed).collect()
    }

    /// The texts of files before and after the change.
    fn texts(&self, indices: &[usize]) -> Result<Vec<Found>, Problem> {
        let blobs = |index: usize| {
            let file = &self.shown.files[index];
            let is_text = !file.binary && !file.is_submodule();
            let wanted = |blob: &Option<String>, path: &Option<RepoPath>| {
                let path = path.as_ref().unwrap_or(file.path()).as_bytes().to_vec();
                blob.clone().filter(|_| is_text).map(|blob| BlobRequest { blob, path })
            };
            [wanted(&file.old_blob, &file.old_path), wanted(&file.new_blob, &file.new_path)]
        };
        let asked: Vec<[Option<BlobRequest>; 2]> = indices.iter().map(|&index| blobs(index)).collect();
        let wanted: Vec<BlobRequest> = asked.iter().flatten().flatten().cloned().collect();
        let mut sources = if wanted.is_empty() { Vec::new() } else { (self.read)(&wanted)? }.into_iter();
        let found = asked.into_iter().map(|[old, new]| {
            let mut found = Found::default();
            found.texts.old = old.and_then(|_| found.take(sources.next()));
            found.texts.new = new.and_then(|_| found.take(sources.next()));
            found
        });
        Ok(found.collect())
    }
}

/// What becomes of a file on a page.
enum Plan {
    /// It has no lines.
    Nothing,
    /// So many rows of it are shown.
    Show(usize),
    /// It is folded, and why.
    Fold(String),
    /// It comes when one gets there.
    Later,
}

/// The texts of a file, and the reason for a missing one.
#[derive(Default)]
struct Found {
    texts: Texts,
    note: Option<String>,
}

impl Found {
    fn take(
        &mut self,
        source: Option<Source>,
    ) -> Option<std::sync::Arc<tollgate_engine::board::diff_context::SourceText>> {
        match source? {
            Source::Text(text) => return Some(text),
            Source::TooLarge(size) => {
                let size = grouped(size);
                self.note = Some(format!(
                    "The file has {size} bytes, so it is shown without what is around its hunks, and without colours."
                ));
            }
            Source::Gone => {
                let words = "The repository does not have this version any more, so the file is shown without what is around its hunks, and without colours.";
                self.note = Some(words.to_owned());
            }
        }
        None
    }
}

/// Where the files of a change are.
fn base(of: &DiffTarget) -> String {
    format!("/projects/{}/features/{}/iterations/{}/files", of.project, of.feature, of.iteration)
}

fn part_word(part: Part) -> &'static str {
    match part {
        Part::Whole => "whole",
        Part::Delta => "delta",
    }
}

/// Why a file is folded at first, if it is.
fn why_folded(file: &FileDiff) -> Option<String> {
    let n_changed = file.n_added.saturating_add(file.n_removed);
    if is_generated(file.path().as_bytes()) {
        Some(format!("{}, written by a program", count(u64::from(n_changed), "changed line")))
    } else if n_changed > MAX_CHANGED {
        Some(count(u64::from(n_changed), "changed line"))
    } else {
        None
    }
}

/// Why a file has no lines to show.
fn why_empty(file: &FileDiff) -> &'static str {
    match file.status {
        _ if file.binary => "Binary file: there are no lines to show.",
        Status::Renamed => "Renamed without a change.",
        Status::Copied => "Copied without a change.",
        Status::Added => "The new file is empty.",
        Status::Deleted => "The deleted file was empty.",
        Status::Modified => "No line changed.",
    }
}

/// What else is to be known of a file.
fn notes(file: &FileDiff, missing: Option<String>) -> Vec<String> {
    let mut notes = Vec::new();
    match (file.old_mode, file.new_mode) {
        (Some(old), Some(new)) if old != new => {
            let words = match (old & 0o111 != 0, new & 0o111 != 0) {
                (false, true) => ": the file became executable",
                (true, false) => ": the file is executable no more",
                _ => "",
            };
            notes.push(format!("Mode {old:o} → {new:o}{words}."));
        }
        (_, Some(0o120_000)) => notes.push("A symbolic link: the line is where it leads.".to_owned()),
        (None, Some(mode)) if mode & 0o111 != 0 && file.status == Status::Added && !file.is_submodule() => {
            notes.push(format!("Mode {mode:o}: the file is executable."));
        }
        _ => {}
    }
    if file.is_submodule() {
        notes.push("A submodule: the line names a commit of another repository.".to_owned());
    }
    if let Some(size) = file.binary_size {
        notes.push(format!("{} bytes.", grouped(size)));
    }
    notes.extend(missing);
    notes
}

fn status_words(status: Status) -> (&'static str, &'static str) {
    match status {
        Status::Added => ("A", "added"),
        Status::Deleted => ("D", "deleted"),
        Status::Modified => ("M", "modified"),
        Status::Renamed => ("R", "renamed"),
        Status::Copied => ("C", "copied"),
    }
}

/// A path as text; bytes that are none are shown as `\xff`.
fn path_text(path: &RepoPath) -> String {
    let mut text = String::new();
    for chunk in path.as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

#[cfg(test)]
mod tests;
