//! Settles prior findings by what reviewers say about them and by what changed since.
//!
//! | the reviewers that were asked say | its lines | the finding is |
//! |---|---|---|
//! | open (any of them) | any | open |
//! | fixed, and its function or a place that is named and quoted changed since | any | resolved |
//! | nothing that counts | any, and reviewed | open, unless its quoted code left the file and was not moved to another |
//! | nothing that counts | any, and an earlier review of this very state resolved it | resolved |
//!
//! The words of a model alone never resolve a finding: *fixed* counts only where code changed that can have fixed it. Any
//! reviewer may call a finding fixed, and one that calls it open outweighs all others. A finding of a rule is resolved by
//! the rule, unless a reviewer calls it open; from then on that reviewer answers for it too.

use std::collections::{BTreeMap, HashMap, HashSet};

use tollgate_core::answer::PriorState;
use tollgate_core::change::{Change, Content};
use tollgate_core::delta::identity::ComparedFinding;
use tollgate_core::delta::line_map::Mapped;
use tollgate_core::diff::{FileDiff, Line, LineKind};
use tollgate_core::finding::{Finding, LineRange, Location, Severity, Side};
use tollgate_core::merge;
use tollgate_core::path::{FilePath, RepoPath};
use tollgate_core::prompt::{PriorFinding, PriorPlace};
use tollgate_core::verify;

use super::{Inspected, MappedPrior, moved};
use crate::pipeline::ReviewRequest;
use crate::pipeline::models::PriorStatement;
use crate::reviewer::embedded;

/// The extension field of a carried finding whose function changed after it was found.
const CHANGED_SINCE: &str = "x_changed_since";
/// The extension field of a finding that a reviewer called open after its quoted code had left the file.
const QUOTE_LEFT: &str = "x_quote_left";
/// The extension field of a carried finding with its index in the prior review, until both are compared.
pub(in crate::pipeline) const CARRIED: &str = "x_carried";
/// A line with fewer letters and digits than this occurs everywhere, so it is no evidence.
const MIN_LINE: usize = 6;
/// The fewest letters and digits of a quoted piece of a line.
const MIN_PIECE: usize = 8;
/// How far above its old lines the place of a changed finding is searched.
const MAX_ABOVE: u32 = 200;

/// True for the names of models and agents.
pub(super) type IsModel<'a> = &'a dyn Fn(&str) -> bool;
/// The lines of findings, by their indices.
type Places = Vec<(usize, LineRange)>;

/// A finding, claim or rejection of a prior review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::pipeline) struct PriorKey {
    /// True for the last review of this very state, false for the one that it is compared with.
    pub(in crate::pipeline) is_here: bool,
    pub(in crate::pipeline) item: PriorItem,
}

/// A finding, claim or rejection, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::pipeline) enum PriorItem {
    /// A finding that counted.
    Finding(usize),
    /// A claim that could not be verified, among the withheld findings.
    Withheld(usize),
    /// A rejection that no finding explains, among the doubts.
    Rejection(usize),
}

/// What became of a prior finding that no reviewer reports again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pipeline) enum Settled {
    Resolved,
    /// Open, at its place of now.
    Open(Box<Finding>),
}

/// The current text of files with prior findings, and the functions around the findings, by their indices.
#[derive(Debug, Default)]
pub(in crate::pipeline) struct Surroundings {
    texts: HashMap<FilePath, String>,
    functions: HashMap<usize, LineRange>,
}

impl MappedPrior {
    /// The prior findings, unverified claims and rejections that reviewers are asked about; at a gate also mild claims
    /// about the whole change.
    pub(in crate::pipeline) fn questions(&self, is_gate: bool) -> Vec<(PriorKey, PriorFinding)> {
        let counted = self.review.findings.iter().enumerate().filter_map(|(index, finding)| {
            let (finding, place) = self.placed(finding)?;
            Some((PriorItem::Finding(index), PriorFinding { finding, place }))
        });
        let claims = self.unsettled().filter(|(_, held)| is_gate || held.is_unverified_blocker());
        let claims = claims.filter_map(|(index, held)| {
            let whole = || (held.finding.clone(), PriorPlace::WholeChange);
            let placed = self.placed(&held.finding).filter(|_| !verify::is_about_whole_change(&held.finding));
            let (finding, place) = placed.unwrap_or_else(whole);
            let is_gone = self.is_gone(&held.finding.location);
            (!is_gone).then_some((PriorItem::Withheld(index), PriorFinding { finding, place }))
        });
        let rejections = self.rejections().map(|(index, finding)| {
            (PriorItem::Rejection(index), PriorFinding { finding, place: PriorPlace::WholeChange })
        });
        let asked = counted.chain(claims).chain(rejections);
        let asked = asked.filter(|(_, prior)| prior.finding.severity != Severity::Praise);
        asked.map(|(item, prior)| (PriorKey { is_here: self.is_here, item }, prior)).collect()
    }

    /// A finding at its place of now; `None` when its file is gone.
    fn placed(&self, finding: &Finding) -> Option<(Finding, PriorPlace)> {
        let file = self.map.path(&finding.location.file, finding.location.side)?.clone();
        Some(match self.map.locate(&finding.location) {
            Mapped::At(at) => (moved(finding, Some(at)), PriorPlace::Lines),
            Mapped::Changed | Mapped::Gone => {
                let at = Location { file, ..finding.location.clone() };
                (moved(finding, Some(at)), PriorPlace::ChangedLines)
            }
        })
    }

    /// What reviewers say about a finding, claim or rejection of this review.
    pub(super) fn said<'a>(&self, statements: &'a [PriorStatement], item: PriorItem) -> Vec<&'a PriorStatement> {
        let key = PriorKey { is_here: self.is_here, item };
        statements.iter().filter(|said| said.about == key).collect()
    }

    /// Settles the findings that models have a say in, by their indices: their own, and those that one calls open.
    ///
    /// A finding that a rule made as well is not resolved here: that takes the rule, too.
    pub(in crate::pipeline) fn settle(
        &self,
        request: &ReviewRequest<'_>,
        change: &Change,
        inspected: &Inspected,
        (statements, is_model): (&[PriorStatement], IsModel<'_>),
    ) -> HashMap<usize, Settled> {
        let said = |index: usize| self.said(statements, PriorItem::Finding(index));
        let is_open = |index: usize| said(index).iter().any(|said| said.state == PriorState::Open);
        let is_settled_here = |(index, finding): &(usize, &Finding)| {
            merge::reviewers(finding).iter().any(|maker| is_model(maker)) || is_open(*index)
        };
        let findings: Vec<(usize, &Finding)> =
            self.review.findings.iter().enumerate().filter(is_settled_here).collect();
        let around = self.surroundings(request, change, &findings);
        let evidence = FreshCode::of(self, change);
        let settled = findings.into_iter().filter_map(|(index, finding)| {
            let settled = self.settle_one(index, finding, &said(index), (change, inspected), (&around, &evidence));
            let is_of_models = merge::reviewers(finding).iter().all(|maker| is_model(maker));
            (is_of_models || settled != Settled::Resolved).then_some((index, settled))
        });
        settled.collect()
    }

    /// The prior findings that a reviewer called open or fixed. Another finding of its answer about the same code is another
    /// defect, unless it is worded like the prior one.
    pub(in crate::pipeline) fn answered(&self, statements: &[PriorStatement]) -> HashSet<usize> {
        let is_answer =
            |said: &&PriorStatement| said.state != PriorState::Unknown && said.about.is_here == self.is_here;
        let about = |said: &PriorStatement| match said.about.item {
            PriorItem::Finding(index) => Some(index),
            PriorItem::Withheld(_) | PriorItem::Rejection(_) => None,
        };
        statements.iter().filter(is_answer).filter_map(about).collect()
    }

    fn settle_one(
        &self,
        index: usize,
        finding: &Finding,
        said: &[&PriorStatement],
        (change, inspected): (&Change, &Inspected),
        (around, fresh): (&Surroundings, &FreshCode),
    ) -> Settled {
        let there = self.moved_code(change, finding);
        let file = self.map.path(&finding.location.file, finding.location.side);
        let Some(file) = file.or(there.as_ref().map(|there| &there.file)) else { return Settled::Resolved };
        let mapped = self.map.locate(&finding.location);
        let function = around.functions.get(&index).copied();
        let is_touched = match &mapped {
            Mapped::At(at) => {
                let own = self.changed_in(change, &at.file, at.lines);
                own || function.is_some_and(|lines| self.changed_in(change, &at.file, lines))
            }
            Mapped::Changed | Mapped::Gone => true,
        } || finding.extra.contains_key(CHANGED_SINCE);
        let makers = merge::reviewers(finding);
        let state = weigh(said, |said| is_touched || fresh.shows(&said.evidence));
        let is_asked = !said.is_empty() || makers.iter().any(|maker| inspected.models.contains_key(maker));
        // A rule that made the finding too has to run again for it to be resolved, so it need not be asked about here.
        let is_reviewed = finding.origin.rule.is_some() || is_asked;
        let is_reviewed = is_reviewed && self.inspected_all_of(&ComparedFinding::from(finding), inspected);
        // Code that was moved to another file is still there.
        let has_left = there.is_none() && around.texts.get(file).is_some_and(|text| !quotes(text, &finding.evidence));
        let is_resolved = match state {
            Some(PriorState::Open) => false,
            Some(PriorState::Fixed) => true,
            Some(PriorState::Unknown) | None if self.resolved_now.contains(&index) => true,
            Some(PriorState::Unknown) | None => is_reviewed && has_left && !finding.extra.contains_key(QUOTE_LEFT),
        };
        if is_resolved {
            return Settled::Resolved;
        }
        let mut open = moved(finding, Some(self.place_now(finding, mapped, (change, around))));
        if is_touched {
            open.extra.insert(CHANGED_SINCE.to_owned(), true.into());
        }
        if has_left {
            open.extra.insert(QUOTE_LEFT.to_owned(), true.into());
        }
        open.extra.insert(CARRIED.to_owned(), index.into());
        for said in said.iter().filter(|said| said.state == PriorState::Open) {
            merge::add_reviewer(&mut open, &said.reviewer);
        }
        Settled::Open(Box::new(open))
    }

    /// The line that was added since the prior review on which the quoted code of a finding begins, if there is one.
    fn moved_code(&self, change: &Change, finding: &Finding) -> Option<Location> {
        let there = moved_code(change, &finding.evidence).filter(|_| finding.location.side == Side::Right)?;
        self.is_new_line(&there.file, there.lines.start(), there.side).then_some(there)
    }

    /// True when lines of the new file changed since the prior review, or lines were taken out of them.
    fn changed_in(&self, change: &Change, file: &FilePath, lines: LineRange) -> bool {
        if self.fresh.touches(file, lines, Side::Right) || self.fresh.is_beside_gap(file, lines) {
            return true;
        }
        let of_file = change.files.iter().filter(|diff| diff.new_path.as_ref().is_some_and(|path| is_at(path, file)));
        of_file.flat_map(removed_lines).any(|(diff, line, at)| lines.contains(at) && self.is_fresh_line(diff, &line))
    }

    fn changed_at_all(&self, file: &FilePath) -> bool {
        let is_beside_gap = || LineRange::new(1, u32::MAX).is_some_and(|all| self.fresh.is_beside_gap(file, all));
        self.fresh.files().any(|changed| changed == file) || is_beside_gap()
    }

    fn is_fresh_line(&self, file: &FileDiff, line: &Line<'_>) -> bool {
        let (path, number, side) = match line.kind {
            LineKind::Removed => (file.old_path.as_ref(), line.old, Side::Left),
            LineKind::Added | LineKind::Context => (file.new_path.as_ref(), line.new, Side::Right),
        };
        path.zip(number).is_some_and(|(path, number)| self.fresh.contains(&FilePath::of_repo_path(path), number, side))
    }

    /// The place of an open finding: its mapped lines, else where its quoted code is, in its file or moved to another one,
    /// else behind the last line above it that is still there. The line exists as far as the file was read.
    fn place_now(&self, finding: &Finding, mapped: Mapped, (change, around): (&Change, &Surroundings)) -> Location {
        let Location { file, lines, side } = &finding.location;
        let at = |line: u32| Location {
            file: self.map.path(file, *side).unwrap_or(file).clone(),
            lines: LineRange::line(line),
            side: *side,
        };
        if let Mapped::At(location) = mapped {
            return location;
        }
        let text = around.texts.get(&at(1).file).filter(|_| *side == Side::Right);
        if let Some(line) = text.and_then(|text| line_of(text, &finding.evidence)) {
            return at(line);
        }
        if let Some(there) = self.moved_code(change, finding) {
            return there;
        }
        let above = (1..lines.start()).rev().take(MAX_ABOVE as usize).find_map(|number| {
            let above = Location { lines: LineRange::line(number), ..finding.location.clone() };
            match self.map.locate(&above) {
                Mapped::At(there) => Some(there.lines.end().saturating_add(1)),
                Mapped::Changed | Mapped::Gone => None,
            }
        });
        let n_lines = text.map_or(u32::MAX, |text| u32::try_from(text.lines().count()).unwrap_or(u32::MAX));
        at(above.unwrap_or(lines.start()).min(n_lines.max(1)))
    }

    /// Reads the files of findings that changed since, and finds the functions around untouched findings in them.
    fn surroundings(
        &self,
        request: &ReviewRequest<'_>,
        change: &Change,
        findings: &[(usize, &Finding)],
    ) -> Surroundings {
        let mut wanted: BTreeMap<&FilePath, Vec<(usize, LineRange)>> = BTreeMap::new();
        for (index, finding) in findings.iter().filter(|(_, finding)| finding.location.side == Side::Right) {
            let Some(file) = self.map.path(&finding.location.file, Side::Right) else { continue };
            if !self.changed_at_all(file) {
                continue;
            }
            let places = wanted.entry(file).or_default();
            if let Mapped::At(at) = self.map.locate(&finding.location) {
                places.push((*index, at.lines));
            }
        }
        let mut contents = request.forge.contents();
        let limits = request.settings.limits;
        let mut read: Vec<(&FilePath, Vec<u8>, Places)> = Vec::new();
        for (file, places) in wanted {
            let mut files = change.files.iter();
            let diff = files.find(|diff| diff.new_path.as_ref().is_some_and(|path| is_at(path, file)));
            if let Some(Ok(Content::Whole(text))) = diff.map(|diff| contents.read(diff, limits.file_bytes)) {
                read.push((file, text, places));
            }
        }
        let lines: Vec<Vec<LineRange>> =
            read.iter().map(|(_, _, places)| places.iter().map(|(_, lines)| *lines).collect()).collect();
        let outlined = read.iter().zip(&lines).map(|((file, text, _), places)| embedded::Outlined {
            path: file.as_str().as_bytes(),
            text,
            places,
        });
        let functions = embedded::functions(&request.runtime.executable, limits, &outlined.collect::<Vec<_>>());
        let mut around = Surroundings::default();
        for ((file, text, places), functions) in read.into_iter().zip(functions) {
            let known = places.into_iter().zip(functions);
            around.functions.extend(known.filter_map(|((index, _), function)| Some((index, function?.lines?))));
            around.texts.insert(file.clone(), String::from_utf8_lossy(&text).into_owned());
        }
        around
    }
}

/// What reviewers say about a finding, as far as it counts: *open* before *fixed*, which needs support in the code.
pub(super) fn weigh(said: &[&PriorStatement], is_supported: impl Fn(&PriorStatement) -> bool) -> Option<PriorState> {
    let is_open = said.iter().any(|said| said.state == PriorState::Open);
    let is_fixed = || said.iter().any(|said| said.state == PriorState::Fixed && is_supported(said));
    if is_open { Some(PriorState::Open) } else { is_fixed().then_some(PriorState::Fixed) }
}

/// The lines that changed since the prior review, without white space, by file.
pub(super) struct FreshCode {
    lines: Vec<(FilePath, String)>,
}

impl FreshCode {
    pub(super) fn of(prior: &MappedPrior, change: &Change) -> Self {
        let mut lines = Vec::new();
        for file in &change.files {
            let path = FilePath::of_repo_path(file.path());
            let changed = file.hunks.iter().flat_map(|hunk| file.lines(hunk));
            let changed = changed.filter(|line| line.kind != LineKind::Context && prior.is_fresh_line(file, line));
            let code = changed.map(|line| squeezed(&String::from_utf8_lossy(line.text)));
            lines.extend(code.filter(|code| is_distinctive(code)).map(|code| (path.clone(), code)));
        }
        Self { lines }
    }

    /// True when evidence names a file and quotes code of it that changed since: a whole line, or a piece of one in
    /// backticks or behind the place.
    pub(super) fn shows(&self, evidence: &str) -> bool {
        let all = squeezed(evidence);
        let ticked = evidence.split('`').skip(1).step_by(2);
        let behind = evidence.split_once(char::is_whitespace).map(|(_, behind)| behind);
        let pieces: Vec<String> =
            ticked.chain(behind).map(squeezed).filter(|piece| has_letters(piece, MIN_PIECE)).collect();
        self.lines.iter().any(|(file, code)| {
            let is_named = evidence.contains(file.as_str());
            is_named && (all.contains(code.as_str()) || pieces.iter().any(|piece| code.contains(piece.as_str())))
        })
    }
}

fn is_at(path: &RepoPath, file: &FilePath) -> bool {
    FilePath::of_repo_path(path) == *file
}

/// The removed lines of a file, each with the number of the line that follows in the new file.
fn removed_lines(file: &FileDiff) -> impl Iterator<Item = (&FileDiff, Line<'_>, u32)> {
    file.hunks.iter().flat_map(move |hunk| {
        let mut next = hunk.new_start.saturating_add(u32::from(hunk.new_len == 0));
        file.lines(hunk).filter_map(move |line| {
            next = line.new.map_or(next, |number| number.saturating_add(1));
            (line.kind == LineKind::Removed).then_some((file, line, next))
        })
    })
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

fn is_distinctive(code: &str) -> bool {
    has_letters(code, MIN_LINE)
}

fn has_letters(code: &str, n_letters: usize) -> bool {
    code.chars().filter(|character| character.is_alphanumeric()).take(n_letters).count() == n_letters
}

/// True when the quoted code is in a text, white space aside; also when there is too little of it to tell.
fn quotes(text: &str, evidence: &str) -> bool {
    let quoted = squeezed(evidence);
    !is_distinctive(&quoted) || squeezed(text).contains(&quoted)
}

/// The added line of the change on which the quoted code begins, if there is one such line.
fn moved_code(change: &Change, evidence: &str) -> Option<Location> {
    let first = evidence.lines().map(squeezed).find(|line| is_distinctive(line))?;
    let added = change.files.iter().flat_map(|file| {
        let lines = file.hunks.iter().flat_map(move |hunk| file.lines(hunk));
        lines.filter(|line| line.kind == LineKind::Added).map(move |line| (file, line))
    });
    let is_it = |line: &Line<'_>| squeezed(&String::from_utf8_lossy(line.text)) == first;
    let mut found = added.filter(|(_, line)| is_it(line)).filter_map(|(file, line)| {
        let file = FilePath::of_repo_path(file.new_path.as_ref()?);
        Some(Location { file, lines: LineRange::line(line.new?), side: Side::Right })
    });
    found.next().filter(|_| found.next().is_none())
}

/// The line on which the quoted code begins, if there is one such line.
fn line_of(text: &str, evidence: &str) -> Option<u32> {
    let first = evidence.lines().map(squeezed).find(|line| is_distinctive(line))?;
    let mut found = text.lines().zip(1..).filter(|(line, _)| squeezed(line) == first).map(|(_, number)| number);
    found.next().filter(|_| found.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(reviewer: &str, state: PriorState, evidence: &str) -> PriorStatement {
        let about = PriorKey { is_here: false, item: PriorItem::Finding(0) };
        PriorStatement { reviewer: reviewer.to_owned(), about, state, evidence: evidence.to_owned() }
    }

    /// What counts of statements `m fixed!, n open` about a finding; a `!` says that the code supports it.
    #[track_caller]
    fn check(statements: &str, expected: Option<PriorState>) {
        let parse = |text: &str| {
            let (reviewer, word) = text.trim().split_once(' ').unwrap();
            let (word, evidence) = word.strip_suffix('!').map_or((word, ""), |word| (word, "!"));
            let states = [PriorState::Fixed, PriorState::Open, PriorState::Unknown];
            said(reviewer, states.into_iter().find(|state| state.as_str() == word).unwrap(), evidence)
        };
        let all: Vec<PriorStatement> = statements.split(',').filter(|text| !text.is_empty()).map(parse).collect();
        let all: Vec<&PriorStatement> = all.iter().collect();
        assert_eq!(weigh(&all, |said| said.evidence == "!"), expected, "{statements}");
    }

    #[test]
    fn open_by_any_reviewer_counts_more_than_fixed() {
        let (fixed, open) = (Some(PriorState::Fixed), Some(PriorState::Open));
        check("", None);
        check("m fixed!", fixed);
        check("m open", open);
        check("m unknown", None);
        check("m fixed!, n open", open);
        check("n fixed!, m open", open);
        check("n fixed!, m unknown", fixed);
    }

    #[test]
    fn fixed_without_support_in_the_code_does_not_count() {
        check("m fixed", None);
        check("m fixed, n open", Some(PriorState::Open));
        check("m fixed, n fixed!", Some(PriorState::Fixed));
    }

    #[test]
    fn evidence_names_a_file_and_quotes_code_that_changed_in_it() {
        let line = |file: &str, code: &str| (FilePath::parse(file).unwrap(), squeezed(code));
        let fresh = FreshCode {
            lines: vec![line("src/a.js", "  if (n === 0) return null;"), line("src/b.js", "const limit = 10;")],
        };
        for evidence in [
            "src/a.js:2 if (n === 0) return null;",
            "src/a.js:2 `if (n===0)  return null;`",
            "guarded in src/a.js by `n === 0) return`",
            "src/a.js (2): if (n === 0) return null; stands above it",
            "src/a.js:2 n === 0) return null",
        ] {
            assert!(fresh.shows(evidence), "{evidence}");
        }
        for evidence in [
            "",
            "src/a.js:2",
            "if (n === 0) return null;",
            "src/c.js:2 if (n === 0) return null;",
            "src/b.js:2 if (n === 0) return null;",
            "src/a.js:2 a guard was added",
            "src/a.js:2 `n`",
            "src/a.js:2 return",
        ] {
            assert!(!fresh.shows(evidence), "{evidence}");
        }
    }

    #[test]
    fn quoted_code_is_found_whatever_its_spaces() {
        assert!(quotes("a\n  return  n / 3;\n", "return n / 3;"));
        assert!(!quotes("return n / 2;", "return n / 3;"));
        assert!(quotes("x", "}"), "too little to tell");
        assert_eq!(line_of("a\n  return n / 3;\nb\n", "return n / 3;\nb"), Some(2));
        assert_eq!(line_of("return n / 3;\nreturn n / 3;\n", "return n / 3;"), None);
    }
}
