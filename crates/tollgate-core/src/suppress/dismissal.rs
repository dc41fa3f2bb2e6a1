//! Dismissals: a person's decision that one finding does not count.
//!
//! A dismissal covers the finding that was dismissed, while its code is unchanged: on the lines where the prior review had
//! it, or else in the same function. It covers the finding in other words too, but not a more severe one, not another
//! defect of the same code, and not a copy of the code elsewhere. It applies to the change it was made on, or to the whole
//! repository.

use std::collections::BTreeMap;

use crate::delta::identity::{ComparedFinding, SCOPE, match_findings};
use crate::delta::line_map::LineMap;
use crate::finding::{Finding, Severity, Summary};
use crate::finding_key::FindingKey;
use crate::fingerprint::{self, Fingerprint};
use crate::merge;
use crate::path::FilePath;
use crate::review::{Suppressor, Withheld, WithheldFinding};
use crate::suppress::Suppressed;
use crate::visible::is_hidden;

/// A dismissed finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dismissal {
    /// The fingerprint of the finding.
    pub fingerprint: Fingerprint,
    /// The file of the finding.
    pub file: FilePath,
    /// The title of the finding.
    title: Summary,
    /// The normalized title, compared because fingerprints can collide.
    words: String,
    /// The quoted code; when it changes, the dismissal no longer applies.
    pub evidence: String,
    /// The enclosing function of the finding; `None` when it is unknown.
    pub scope: Option<String>,
    /// The severity of the finding; `None` when it is unknown.
    pub severity: Option<Severity>,
    /// The reason.
    pub reason: String,
    /// The display name: `.tollgate/dismissals.toml`.
    pub name: String,
    /// The person who made it; `None` in the file of a team.
    pub who: Option<String>,
    /// When it was made, as `2026-01-09T14:22:00.000Z`.
    pub at: Option<String>,
    /// True when it holds for the whole repository.
    pub everywhere: bool,
    /// The dismissed findings of the prior review, at their current lines; empty when they are unknown.
    occurrences: Vec<Occurrence>,
}

/// A dismissed finding of the prior review, at its current lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence(pub Finding);

impl Occurrence {
    /// True when a finding is on its lines.
    fn is_at(&self, finding: &Finding) -> bool {
        let (here, there) = (&self.0.location, &finding.location);
        here.file == there.file && here.side == there.side && here.lines.overlaps(there.lines)
    }

    /// True when a finding on its lines is the same in other words, and not more severe.
    fn is_reworded_as(&self, finding: &Finding) -> bool {
        let [then, now] = [&self.0, finding].map(ComparedFinding::from);
        let is_worded_alike = || !match_findings(&[answered(then)], &[now], &LineMap::unchanged()).pairs.is_empty();
        self.is_at(finding) && finding.severity <= self.0.severity && is_worded_alike()
    }
}

/// A finding that is known, so that only one in similar words is the same.
fn answered(claim: ComparedFinding<'_>) -> ComparedFinding<'_> {
    ComparedFinding { is_answered: true, ..claim }
}

/// The fewest words of a reason.
const MIN_WORDS: usize = 2;
/// The fewest letters and digits of a reason in several words.
const MIN_LETTERS_OF_WORDS: usize = 5;
/// The fewest letters and digits of a reason in one word.
const MIN_LETTERS: usize = 8;
/// The first character of the scripts that write a word in few characters and without spaces.
const FIRST_IDEOGRAPH: char = '\u{2e80}';

/// The reason of a dismissal, trimmed: two words, or one long one. Blanks, punctuation, invisible characters and single
/// letters are no reason.
pub fn reason(text: &str) -> Result<&str, String> {
    let text = text.trim();
    let weight = |character: char| if character >= FIRST_IDEOGRAPH { 4 } else { 1 };
    let is_letter = |character: char| character.is_alphanumeric() && !is_hidden(character);
    let words = text.split(|character| !is_letter(character)).map(|word| word.chars().map(weight).sum::<usize>());
    let words: Vec<usize> = words.filter(|letters| *letters > 0).collect();
    let n_letters: usize = words.iter().sum();
    if n_letters >= MIN_LETTERS || (words.len() >= MIN_WORDS && n_letters >= MIN_LETTERS_OF_WORDS) {
        Ok(text)
    } else {
        Err("a dismissal needs a reason in words: two words, or one of eight letters".to_owned())
    }
}

impl Dismissal {
    /// Validates the fields of a dismissal; the error is a human-readable message.
    pub fn parse(file: &str, title: &str, evidence: String, reason: String, name: &str) -> Result<Self, String> {
        let path = FilePath::parse(file).map_err(|error| format!("`{file}` is not a path: {error}"))?;
        let summary = Summary::parse(title).map_err(|error| format!("`{title}` is not a title: {error}"))?;
        let reason = self::reason(&reason)?.to_owned();
        Ok(Self {
            fingerprint: Fingerprint::new(&path, &summary),
            file: path,
            words: fingerprint::normalise(summary.as_str()),
            title: summary,
            evidence,
            scope: None,
            severity: None,
            reason,
            name: name.to_owned(),
            who: None,
            at: None,
            everywhere: true,
            occurrences: Vec::new(),
        })
    }

    /// The dismissal of a finding in this function, of this severity, as far as they are known.
    #[must_use]
    pub fn limited_to(self, scope: Option<String>, severity: Option<Severity>) -> Self {
        Self { scope, severity, ..self }
    }

    /// The dismissal with its author, its time and its scope.
    #[must_use]
    pub fn made(self, who: Option<&str>, at: String, everywhere: bool) -> Self {
        let scope = if everywhere { " for the whole repository" } else { "" };
        let name = format!("a dismissal by {}{scope}", who.unwrap_or("an unnamed person"));
        Self { name, who: who.map(str::to_owned), at: Some(at), everywhere, ..self }
    }

    /// Names the agent that proposed it, if one did.
    pub fn confirms(&mut self, agent: Option<&str>) {
        if let Some(agent) = agent {
            self.name.push_str(&format!(", proposed by {agent}"));
        }
    }

    /// The kind of its suppressions.
    #[must_use]
    pub fn suppressor(&self) -> Suppressor {
        Suppressor::Dismissal { who: self.who.clone(), at: self.at.clone(), everywhere: self.everywhere }
    }

    /// The dismissal of a finding; the error is a human-readable message.
    pub fn of_finding(finding: &Finding, reason: &str) -> Result<Self, String> {
        let (file, title) = (finding.location.file.as_str(), finding.summary.as_str());
        let dismissal = Self::parse(file, title, finding.evidence.clone(), reason.to_owned(), "")?;
        Ok(dismissal.limited_to(scope(finding).map(str::to_owned), Some(finding.severity)))
    }

    /// The title of the finding.
    #[must_use]
    pub fn title(&self) -> &Summary {
        &self.title
    }

    /// The dismissal for a renamed file.
    #[must_use]
    pub fn moved_to(&self, file: &FilePath) -> Self {
        Self { fingerprint: Fingerprint::new(file, &self.title), file: file.clone(), ..self.clone() }
    }

    /// The dismissal of these findings of the prior review: it covers them, in any words, and no later copy of their code.
    #[must_use]
    pub fn of(self, occurrences: Vec<Occurrence>) -> Self {
        Self { occurrences, ..self }
    }

    /// True when it was made of this finding, in its file and in the words of now or of its first report.
    #[must_use]
    pub fn is_of(&self, finding: &Finding) -> bool {
        let prints = [Fingerprint::of(finding), FindingKey::of(finding).fingerprint()];
        prints.contains(&self.fingerprint) && self.covers(finding)
    }

    /// True when a finding is the dismissed one by its title, code, function and severity, in any file.
    #[must_use]
    pub fn covers(&self, finding: &Finding) -> bool {
        self.is_titled(finding) && self.quotes(finding) && self.is_within(finding) && self.is_severe_as(finding)
    }

    fn is_titled(&self, finding: &Finding) -> bool {
        self.words == fingerprint::normalise(finding.summary.as_str())
            || FindingKey::of(finding).fingerprint() == self.fingerprint
    }

    /// True when a finding has the same title, or is a dismissed one in other words, regardless of its evidence.
    fn names(&self, finding: &Finding) -> bool {
        let is_reworded = || self.occurrences.iter().any(|occurrence| occurrence.is_reworded_as(finding));
        self.is_severe_as(finding) && (self.is_titled(finding) || is_reworded())
    }

    /// True when the dismissed code is quoted where it was dismissed, as far as that is known.
    fn holds(&self, finding: &Finding) -> bool {
        let is_here = || match self.occurrences.as_slice() {
            [] => self.is_within(finding),
            // Code that was put into another function is not what was dismissed, even where its lines are the same.
            occurrences => occurrences.iter().any(|known| known.is_at(finding)) && self.is_within(finding),
        };
        self.quotes(finding) && is_here()
    }

    fn quotes(&self, finding: &Finding) -> bool {
        self.evidence.split_whitespace().eq(finding.evidence.split_whitespace())
    }

    /// False when a finding is in another function.
    fn is_within(&self, finding: &Finding) -> bool {
        self.scope.as_deref().zip(scope(finding)).is_none_or(|(here, there)| here == there)
    }

    /// False when a finding is more severe than the dismissed one.
    fn is_severe_as(&self, finding: &Finding) -> bool {
        self.severity.is_none_or(|severity| finding.severity <= severity)
    }
}

fn scope(finding: &Finding) -> Option<&str> {
    finding.extra.get(SCOPE).and_then(serde_json::Value::as_str)
}

/// Withholds the dismissed findings of all reviewers, before they are merged: a finding of another reviewer about the same
/// code is covered where it is worded alike, and counts otherwise.
#[must_use]
pub fn dismiss(findings: Vec<Finding>, dismissals: &[Dismissal]) -> Suppressed {
    let mut suppressed = Suppressed::default();
    if dismissals.is_empty() {
        suppressed.kept = findings;
        return suppressed;
    }
    let mut by_file: BTreeMap<&FilePath, Vec<usize>> = BTreeMap::new();
    for (index, dismissal) in dismissals.iter().enumerate() {
        by_file.entry(&dismissal.file).or_default().push(index);
    }
    let mut covered: BTreeMap<usize, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        let of_file = by_file.get(&finding.location.file).map(Vec::as_slice).unwrap_or_default();
        match dismissal_of(&finding, of_file, dismissals, &mut suppressed.notes) {
            Some(index) => covered.entry(index).or_default().push(finding),
            None => suppressed.kept.push(finding),
        }
    }
    for (index, mut findings) in covered {
        let dismissal = &dismissals[index];
        if dismissal.scope.is_none() && dismissal.occurrences.is_empty() {
            let others = keep_one_function(&mut findings);
            if let Some(other) = others.first() {
                let (name, place) = (&dismissal.name, &other.location);
                let said = format!("{name} does not say which function it is about, so it covers the first one only");
                suppressed.notes.push(format!("{}:{}: {said}", place.file, place.lines.start()));
            }
            suppressed.kept.extend(others);
        }
        take_reworded(&mut findings, &mut suppressed.kept);
        for mut finding in merge::merge(findings) {
            // In other words this time; by its key the next review knows that it was dismissed.
            FindingKey::new(dismissal.fingerprint, &dismissal.evidence).keep(&mut finding);
            let (by, reason) = (dismissal.name.clone(), Some(dismissal.reason.clone()));
            let why = Withheld::Suppressed { by, reason, kind: dismissal.suppressor() };
            suppressed.withheld.push(WithheldFinding { finding, why });
        }
    }
    suppressed
}

/// Keeps the findings in the function of the first one, and returns the others: a dismissal is about one occurrence.
fn keep_one_function(findings: &mut Vec<Finding>) -> Vec<Finding> {
    let Some(first) = findings.iter().min_by_key(|finding| finding.location.lines.start()) else { return Vec::new() };
    let function = scope(first).map(str::to_owned);
    let (here, others) =
        std::mem::take(findings).into_iter().partition(|finding| scope(finding) == function.as_deref());
    *findings = here;
    others
}

/// Moves the findings that say the same as covered ones, and are not more severe, to these.
fn take_reworded(covered: &mut Vec<Finding>, kept: &mut Vec<Finding>) {
    loop {
        let known: Vec<ComparedFinding<'_>> = covered.iter().map(|finding| answered(finding.into())).collect();
        let others: Vec<ComparedFinding<'_>> = kept.iter().map(ComparedFinding::from).collect();
        let pairs = match_findings(&known, &others, &LineMap::unchanged()).pairs;
        let is_covered = |&(i, j): &(usize, usize)| {
            let (known, other): (&Finding, &Finding) = (&covered[i], &kept[j]);
            other.severity <= known.severity && merge::reviewers(known) != merge::reviewers(other)
        };
        let mut taken: Vec<usize> = pairs.into_iter().filter(is_covered).map(|(_, j)| j).collect();
        if taken.is_empty() {
            return;
        }
        taken.sort_unstable();
        covered.extend(taken.into_iter().rev().map(|j| kept.remove(j)));
    }
}

/// The dismissal of a finding; an outdated one is noted.
fn dismissal_of(
    finding: &Finding,
    of_file: &[usize],
    dismissals: &[Dismissal],
    notes: &mut Vec<String>,
) -> Option<usize> {
    let of_it: Vec<usize> = of_file.iter().copied().filter(|&index| dismissals[index].names(finding)).collect();
    let holding = of_it.iter().copied().find(|&index| dismissals[index].holds(finding));
    let is_outdated = |dismissal: &&Dismissal| !dismissal.quotes(finding) && dismissal.is_within(finding);
    let outdated = of_it.iter().map(|&index| &dismissals[index]).find(is_outdated);
    if let (None, Some(outdated)) = (holding, outdated) {
        let place = format!("{}:{}", finding.location.file, finding.location.lines.start());
        let (print, name) = (outdated.fingerprint, &outdated.name);
        notes.push(format!("{place}: the dismissal of {print} ({name}) no longer applies because the code changed"));
    }
    holding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Category, FindingId, LineRange, Location, Origin, Side};

    fn finding(severity: Severity, line_number: u32) -> Finding {
        let (file, lines) = (FilePath::parse("a.js").unwrap(), LineRange::line(line_number));
        let origin =
            Origin { rule: Some("js-eval".to_owned()), reviewer: Some("rules".to_owned()), ..Origin::default() };
        Finding {
            id: FindingId::at(0),
            severity,
            category: Category::Security,
            location: Location { file, lines, side: Side::Right },
            summary: Summary::parse("eval of input").unwrap(),
            reason: Some("why".to_owned()),
            evidence: "eval(x)".to_owned(),
            suggestion: None,
            fix: None,
            origin,
            extra: serde_json::Map::new(),
        }
    }

    fn of_model(severity: Severity, title: &str, reason: &str) -> Finding {
        let origin = Origin { reviewer: Some("stub".to_owned()), ..Origin::default() };
        let (summary, reason) = (Summary::parse(title).unwrap(), Some(reason.to_owned()));
        Finding { summary, reason, origin, ..finding(severity, 2) }
    }

    fn in_function(name: &str, mut finding: Finding) -> Finding {
        finding.extra.insert(SCOPE.to_owned(), name.into());
        finding
    }

    #[track_caller]
    fn check_dismissal(title: &str, evidence: &str, n_kept: usize, notes: &[&str]) {
        let dismissal =
            Dismissal::parse("a.js", title, evidence.to_owned(), "it is ours".to_owned(), "your own dismissal")
                .unwrap();
        let suppressed = dismiss(vec![finding(Severity::Critical, 2)], &[dismissal]);
        assert_eq!(suppressed.kept.len(), n_kept);
        assert_eq!(suppressed.notes, notes);
    }

    #[test]
    fn a_dismissed_finding_stays_dismissed_while_its_evidence_is_unchanged() {
        let title = finding(Severity::High, 2).summary;
        check_dismissal(title.as_str(), "  eval(x)\n", 0, &[]);
        let print = Fingerprint::of(&finding(Severity::High, 2));
        let note =
            format!("a.js:2: the dismissal of {print} (your own dismissal) no longer applies because the code changed");
        check_dismissal(title.as_str(), "eval(y)", 1, &[&note]);
        check_dismissal("another title", "eval(x)", 1, &[]);
    }

    #[test]
    fn a_dismissal_covers_its_occurrence_in_any_words_and_no_later_copy() {
        let dismissed = finding(Severity::High, 2);
        let dismissal =
            Dismissal::parse("a.js", "eval of input", "eval(x)".to_owned(), "it is ours".to_owned(), "x").unwrap();
        let dismissal = dismissal.of(vec![Occurrence(dismissed.clone())]);
        let reworded = Finding { summary: Summary::parse("Input is run as code").unwrap(), ..dismissed.clone() };
        let kept = |finding: Finding| dismiss(vec![finding], std::slice::from_ref(&dismissal)).kept.len();
        assert_eq!(kept(dismissed.clone()), 0);
        assert_eq!(kept(reworded.clone()), 0);
        assert_eq!(kept(finding(Severity::High, 80)), 1);
        assert_eq!(kept(Finding { evidence: "eval(y)".to_owned(), ..dismissed.clone() }), 1);
        assert_eq!(kept(Finding { severity: Severity::Critical, ..reworded.clone() }), 1);
        let mild = Occurrence(Finding { severity: Severity::Low, ..dismissed });
        assert_eq!(dismiss(vec![reworded], &[dismissal.of(vec![mild])]).kept.len(), 1);
    }

    #[test]
    fn a_dismissal_covers_no_other_defect_of_the_same_code() {
        let dismissal = Dismissal::of_finding(&finding(Severity::High, 2), "it is ours").unwrap();
        let dismissal = dismissal.of(vec![Occurrence(finding(Severity::High, 2))]);
        let kept = |finding: Finding| dismiss(vec![finding], std::slice::from_ref(&dismissal)).kept.len();
        let other = |severity| of_model(severity, "No permission is checked", "Anyone may call this handler.");
        assert_eq!((kept(other(Severity::Critical)), kept(other(Severity::High))), (1, 1));
        let same =
            |severity| of_model(severity, "Eval of the input", "The input is passed to eval, so it runs as code.");
        assert_eq!((kept(same(Severity::High)), kept(same(Severity::Critical))), (0, 1));
        // Beside the dismissed finding of the rule they are told apart as well, also when no review was stored.
        let dismissal = Dismissal::of_finding(&finding(Severity::High, 2), "it is ours").unwrap();
        let all = vec![finding(Severity::High, 2), same(Severity::High), other(Severity::High)];
        let suppressed = dismiss(all, &[dismissal]);
        assert_eq!(
            suppressed.kept.iter().map(|it| it.summary.as_str()).collect::<Vec<_>>(),
            ["No permission is checked"]
        );
        assert_eq!(suppressed.withheld.len(), 1, "one finding of two reviewers");
    }

    #[test]
    fn a_dismissal_covers_its_function_and_not_its_severity_upwards() {
        let one = in_function("admin", finding(Severity::High, 2));
        let dismissal = Dismissal::of_finding(&one, "it is ours").unwrap();
        let kept = |finding: Finding| dismiss(vec![finding], std::slice::from_ref(&dismissal)).kept.len();
        assert_eq!(kept(in_function("admin", finding(Severity::High, 90))), 0);
        assert_eq!(kept(in_function("login", finding(Severity::High, 2))), 1);
        assert_eq!(kept(finding(Severity::High, 2)), 0, "the function is not known");
        assert_eq!(kept(in_function("admin", finding(Severity::Critical, 2))), 1);
        let dismissal = Dismissal::of_finding(&one, "it is ours").unwrap().of(vec![Occurrence(one)]);
        let kept = |finding: Finding| dismiss(vec![finding], std::slice::from_ref(&dismissal)).kept.len();
        assert_eq!(kept(in_function("admin", finding(Severity::High, 2))), 0);
        assert_eq!(kept(in_function("login", finding(Severity::High, 2))), 1, "its line is in another function now");
    }

    #[test]
    fn a_dismissal_is_of_its_finding_in_the_words_of_now_and_of_its_first_report() {
        let first = finding(Severity::High, 2);
        let mut again = Finding { summary: Summary::parse("Input is run as code").unwrap(), ..first.clone() };
        FindingKey::of(&first).keep(&mut again);
        let made = |finding: &Finding| Dismissal::of_finding(finding, "it is ours").unwrap();
        assert!(made(&first).is_of(&first) && made(&first).is_of(&again) && made(&again).is_of(&again));
        assert!(!made(&again).is_of(&first));
        assert!(!made(&first).is_of(&Finding { evidence: "eval(y)".to_owned(), ..again }));
        let file = FilePath::parse("b.js").unwrap();
        let elsewhere = Finding { location: Location { file, ..first.location.clone() }, ..first.clone() };
        assert!(!made(&first).is_of(&elsewhere));
    }

    #[test]
    fn a_dismissal_without_a_function_covers_the_first_one_only() {
        let within = |line_number: u32, function: &str| {
            let mut finding = finding(Severity::High, line_number);
            finding.extra.insert(SCOPE.to_owned(), function.into());
            finding
        };
        let title = finding(Severity::High, 2).summary.as_str().to_owned();
        let evidence = finding(Severity::High, 2).evidence;
        let entry = Dismissal::parse("a.js", &title, evidence, "it is ours".to_owned(), "dismissals.toml").unwrap();
        let suppressed = dismiss(vec![within(90, "login"), within(2, "admin")], &[entry]);
        let lines = |findings: &[&Finding]| findings.iter().map(|it| it.location.lines.start()).collect::<Vec<_>>();
        assert_eq!(lines(&suppressed.kept.iter().collect::<Vec<_>>()), [90]);
        assert_eq!(lines(&suppressed.withheld.iter().map(|held| &held.finding).collect::<Vec<_>>()), [2]);
        assert!(suppressed.notes[0].starts_with("a.js:90: dismissals.toml does not say"), "{:?}", suppressed.notes);
    }

    #[test]
    fn a_dismissal_needs_a_reason_and_a_finding() {
        let parse = |file, title, reason: &str| Dismissal::parse(file, title, String::new(), reason.to_owned(), "x");
        let short = ["x", "ok", "x y", "a, b", "ours", "#12", "1 2 3"];
        let empty = ["", " \n", "...", "-", "!?", "\u{200b}\u{2060}", "\u{3164}\u{ffa0}", "👍"];
        for no_reason in empty.into_iter().chain(short) {
            let refused = parse("a.js", "t", no_reason).unwrap_err();
            assert!(refused.starts_with("a dismissal needs a reason in words"), "{no_reason:?}");
        }
        for reason in ["it's ours", " see #12 ", "これは固定値", "не используется", "intentional"] {
            assert_eq!(parse("a.js", "t", reason).unwrap().reason, reason.trim());
        }
        assert!(parse("../a.js", "t", "it is ours").unwrap_err().contains("is not a path"));
        assert!(parse("a.js", "", "it is ours").unwrap_err().contains("is not a title"));
    }
}
