//! Turns one claim into a verified or a withheld finding.

use serde_json::{Map, Value, json};

use crate::answer::Claim;
use crate::finding::{Finding, FindingId, LineRange, Location, Origin, Side, Summary};
use crate::path::FilePath;
use crate::review::{Withheld, WithheldFinding};
use crate::verify::file_lookup::{self, FileIndex, FileMatch};
use crate::verify::fuzzy_match::{
    ClaimedLines, ContextMatch, MatchElsewhere, MatchQuality, MatchedPlace, QuoteMatch, SearchTexts, find_in_all_files,
    find_quote,
};
use crate::verify::line_anchor::{Anchor, lines_of, nearest_change};
use crate::verify::{NOTHING_QUOTED, ShownChange, VERIFICATION, fix, quote, truncate, withhold_fix};

/// The longest claimed range that is kept.
const MAX_LINES: u32 = 50;
/// Most characters of evidence that are kept.
const MAX_EVIDENCE: usize = 4000;
/// Why a claim without evidence is not verified.
const QUOTES_NOTHING: &str = "it quotes no code";
/// The distance from the claimed line within which mentioned code counts as a quote.
const MENTIONED: u32 = 5;
/// The fewest characters of mentioned code that is searched without a line.
const MENTIONED_ALONE: usize = 12;

/// The outcome of verifying a claim.
pub(super) enum ClaimOutcome {
    /// The claim is verified.
    Counts(Finding),
    /// The claim is not verified.
    Withheld(WithheldFinding),
}

/// The indexed text of the change that claims are verified against.
pub(super) struct ClaimVerifier<'a> {
    shown: ShownChange<'a>,
    texts: SearchTexts<'a>,
    names: FileIndex,
    all_sent: bool,
}

/// Why a claim is not verified, and its file.
struct Refused {
    why: Withheld,
    file: Option<usize>,
    lines: Option<LineRange>,
}

impl<'a> ClaimVerifier<'a> {
    pub(super) fn new(shown: ShownChange<'a>) -> Self {
        let is_sent = |(index, file): (usize, &crate::diff::FileDiff)| {
            (0..file.hunks.len()).all(|hunk| (shown.sent)(index, hunk))
        };
        let all_sent = shown.files.iter().enumerate().all(is_sent);
        Self { shown, texts: SearchTexts::new(shown), names: FileIndex::new(shown.files), all_sent }
    }

    pub(super) fn n_compared(&self) -> u64 {
        self.texts.n_compared()
    }

    pub(super) fn verify_claim(&self, claim: Claim) -> ClaimOutcome {
        let claim = cleaned(claim);
        match self.find(&claim) {
            Ok(found) => self.accept(claim, found),
            Err(refused) => ClaimOutcome::Withheld(self.refuse(claim, *refused)),
        }
    }

    fn find(&self, claim: &Claim) -> Result<MatchedPlace, Box<Refused>> {
        let refused =
            |why: String, file: Option<usize>| Box::new(Refused { why: Withheld::Unverified(why), file, lines: None });
        let evidence = claim.evidence.as_deref().filter(|evidence| !quote::readings(evidence).is_empty());
        let named = claim.file.as_deref().filter(|name| !name.trim().is_empty());
        match named.map(|name| (name, self.names.find(name))) {
            Some((_, Some(FileMatch::One(file)))) => match evidence {
                Some(evidence) => self.by_quote(claim, file, evidence),
                // A line number shows nothing: the program never takes the text of a line for a quote.
                None => self.mentioned(claim, file).ok_or_else(|| refused(QUOTES_NOTHING.to_owned(), Some(file))),
            },
            Some((name, None)) => Err(refused(format!("`{}` is not in the change", shortened(name)), None)),
            Some((name, Some(FileMatch::Several))) => self
                .everywhere(evidence)
                .ok_or_else(|| refused(format!("the change has several files called `{}`", shortened(name)), None)),
            None => self.everywhere(evidence).ok_or_else(|| refused("it names no file".to_owned(), None)),
        }
    }

    fn everywhere(&self, evidence: Option<&str>) -> Option<MatchedPlace> {
        match find_in_all_files(&self.texts, evidence?) {
            MatchElsewhere::Once(found) => Some(found),
            MatchElsewhere::Somewhere | MatchElsewhere::Nowhere => None,
        }
    }

    fn by_quote(&self, claim: &Claim, file: usize, evidence: &str) -> Result<MatchedPlace, Box<Refused>> {
        let claimed_lines = ClaimedLines { lines: claim.lines, side: claim.side };
        match find_quote(&self.texts, file, evidence, claimed_lines) {
            QuoteMatch::Here(found) => return Ok(found),
            QuoteMatch::Outside(found) => {
                let lines = Some(found.lines);
                let outside = Box::new(Refused { why: Withheld::OutsideChange, file: Some(file), lines });
                return self.in_touched_function(file, found).ok_or(outside);
            }
            QuoteMatch::Nowhere => {}
        }
        let why = match find_in_all_files(&self.texts, evidence) {
            MatchElsewhere::Once(found) => return Ok(found),
            MatchElsewhere::Somewhere => format!("its evidence is not in `{}`", self.path(file, Side::Right)),
            MatchElsewhere::Nowhere if self.all_sent => "its evidence is nowhere in the change".to_owned(),
            MatchElsewhere::Nowhere => "its evidence is not in the part of the change that was sent".to_owned(),
        };
        Err(Box::new(Refused { why: Withheld::Unverified(why), file: Some(file), lines: None }))
    }

    /// Anchors unchanged lines of a function that the change touches at its nearest changed line.
    fn in_touched_function(&self, file: usize, found: ContextMatch) -> Option<MatchedPlace> {
        let ContextMatch { lines, state, text } = found;
        let has = |function: &LineRange| function.contains(lines.start()) && function.contains(lines.end());
        let functions = (self.shown.functions)(file);
        let function = functions.into_iter().filter(has).min_by_key(|function| function.end() - function.start())?;
        let anchor = nearest_change(&self.texts, file, function, lines)?;
        let Anchor { side, lines: at, hunk } = anchor;
        Some(MatchedPlace { file, side, lines: at, hunk, state, text, stands: Some(lines) })
    }

    /// Finds code that an answer in prose quotes in backticks, near the claimed line or where it is unique.
    fn mentioned(&self, claim: &Claim, file: usize) -> Option<MatchedPlace> {
        let claimed_lines = ClaimedLines { lines: claim.lines, side: claim.side };
        claim.quotes.iter().find_map(|piece| {
            let QuoteMatch::Here(found) = find_quote(&self.texts, file, piece, claimed_lines) else { return None };
            let good = match claimed_lines.lines {
                Some(lines) => lines.distance(found.lines) <= MENTIONED,
                None => {
                    let n_chars = piece.chars().filter(|character| !character.is_whitespace()).count();
                    let once = matches!(find_in_all_files(&self.texts, piece), MatchElsewhere::Once(_));
                    n_chars >= MENTIONED_ALONE && once
                }
            };
            let good = good && matches!(found.state, MatchQuality::Exact | MatchQuality::Whitespace);
            good.then(|| MatchedPlace { text: piece.clone(), ..found })
        })
    }

    /// The path of a file on one side.
    fn path(&self, file: usize, side: Side) -> FilePath {
        let Some(file) = self.shown.files.get(file) else { return file_lookup::unknown() };
        let old = file.old_path.as_ref().filter(|_| side == Side::Left);
        FilePath::of_repo_path(old.unwrap_or_else(|| file.path()))
    }

    fn accept(&self, claim: Claim, found: MatchedPlace) -> ClaimOutcome {
        let lines = claim.lines.filter(|claimed| keeps(*claimed, &claim, &found)).unwrap_or(found.lines);
        let location = Location { file: self.path(found.file, found.side), lines, side: found.side };
        let mut changed = changes(&claim, &location);
        // When the finding moved, the replacement applies to the quoted lines, if their number matches the claim.
        let n_lines = |lines: LineRange| lines.end() - lines.start();
        let same_size = claim.lines.is_none_or(|claimed| claimed == lines || n_lines(claimed) == n_lines(lines));
        let in_hunk = found.hunk.contains(lines.start()) && found.hunk.contains(lines.end());
        let applies = found.side == Side::Right && same_size && in_hunk && n_lines(lines) < MAX_LINES;
        let there = if applies && claim.replacement.is_some() {
            lines_of(&self.texts, found.file, found.side, lines)
        } else {
            Vec::new()
        };
        let whole = there.len() == n_lines(lines) as usize + 1;
        let replacement = claim.replacement.as_deref();
        let fix = replacement.filter(|_| whole).and_then(|text| fix::fix(text, lines, &there));
        let refused = replacement.filter(|_| fix.is_none()).map(str::to_owned);
        if refused.is_some() {
            changed.push("fix");
        }
        // A refused replacement is never shown as if it could be applied.
        let suggestion = claim.suggestion.clone().or_else(|| fix.as_ref().map(|fix| fix.replacement.clone()));
        let evidence = match (found.state, &claim.evidence) {
            (MatchQuality::Exact, Some(quoted)) => quote::without_fence(quoted).to_owned(),
            _ => found.text.clone(),
        };
        let mut verification = verification(found.state.as_str(), &claim, &changed);
        if let Some(stands) = found.stands {
            verification["anchored"] = json!({ "line_start": stands.start(), "line_end": stands.end() });
        }
        let mut finding = Finding { suggestion, fix, ..self.finding(claim, location, evidence, verification) };
        if let Some(stands) = found.stands {
            let note = anchored_in_words(stands, finding.location.lines);
            finding.reason = Some(finding.reason.map_or_else(|| note.clone(), |reason| format!("{reason}\n\n{note}")));
        }
        if let Some(text) = refused {
            withhold_fix(&mut finding, "it does not replace whole lines of the change", text);
        }
        ClaimOutcome::Counts(finding)
    }

    fn refuse(&self, claim: Claim, refused: Refused) -> WithheldFinding {
        let lines = refused.lines.or(claim.lines).unwrap_or(LineRange::line(1));
        let side = if refused.lines.is_some() { Side::Right } else { claim.side.unwrap_or_default() };
        let path = match (refused.file, &claim.file) {
            (Some(file), _) => self.path(file, side),
            (None, Some(name)) => file_lookup::as_path(name),
            (None, None) => file_lookup::unknown(),
        };
        let location = Location { file: path, lines, side };
        let evidence = claim.evidence.clone().unwrap_or_default();
        let verification = verification(refused.why.as_str(), &claim, &changes(&claim, &location));
        let suggestion = claim.suggestion.clone();
        let finding = Finding { suggestion, ..self.finding(claim, location, evidence, verification) };
        WithheldFinding { finding, why: refused.why }
    }

    fn finding(&self, claim: Claim, location: Location, evidence: String, verification: Value) -> Finding {
        let (summary, full) = Summary::shorten(&claim.title);
        let reason = claim.reason.filter(|reason| !reason.trim().is_empty());
        let reason = match (full, reason) {
            (Some(full), Some(reason)) => Some(format!("{full}\n\n{reason}")),
            (full, reason) => full.or(reason),
        };
        let reason = reason.or_else(|| claim.severity.blocks().then(|| summary.as_str().to_owned()));
        let evidence =
            if evidence.trim().is_empty() { NOTHING_QUOTED.to_owned() } else { truncate(evidence, MAX_EVIDENCE) };
        Finding {
            id: FindingId::at(0),
            severity: claim.severity,
            category: claim.category,
            location,
            summary,
            reason,
            evidence,
            suggestion: None,
            fix: None,
            origin: Origin { reviewer: Some(self.shown.reviewer.to_owned()), ..Origin::default() },
            extra: Map::from_iter([(VERIFICATION.to_owned(), verification)]),
        }
    }
}

/// True when the claimed lines overlap the quote in one hunk, so that they can be kept.
fn keeps(claimed: LineRange, claim: &Claim, found: &MatchedPlace) -> bool {
    let around = claimed.contains(found.lines.start()) && claimed.contains(found.lines.end());
    let among = found.lines.contains(claimed.start()) && found.lines.contains(claimed.end());
    let in_hunk = found.hunk.contains(claimed.start()) && found.hunk.contains(claimed.end());
    let same_side = claim.side.unwrap_or_default() == found.side;
    same_side && in_hunk && (around || among) && claimed.end() - claimed.start() < MAX_LINES
}

/// Says where the quoted code of an anchored finding is.
fn anchored_in_words(stands: LineRange, anchor: LineRange) -> String {
    let lines = if stands.start() == stands.end() { "line" } else { "lines" };
    format!(
        "The quoted code is on {lines} {stands}, unchanged; anchored at line {anchor}, the nearest changed line of the \
         function."
    )
}

/// The fields in which the final location differs from the claim.
fn changes(claim: &Claim, location: &Location) -> Vec<&'static str> {
    let mut changed = Vec::new();
    if claim.file.as_deref() != Some(location.file.as_str()) {
        changed.push("file");
    }
    if claim.lines != Some(location.lines) {
        changed.push("line");
    }
    if claim.side.unwrap_or_default() != location.side {
        changed.push("side");
    }
    changed
}

fn verification(state: &str, claim: &Claim, changed: &[&str]) -> Value {
    let mut verification = json!({ "state": state });
    if !changed.is_empty() {
        let mut claimed = Map::new();
        if let Some(file) = &claim.file {
            claimed.insert("file".to_owned(), file.as_str().into());
        }
        if let Some(lines) = claim.lines {
            claimed.insert("line_start".to_owned(), lines.start().into());
            claimed.insert("line_end".to_owned(), lines.end().into());
        }
        verification["claimed"] = claimed.into();
        verification["changed"] = changed.into();
    }
    verification
}

/// Strips NUL characters, which no output format can carry.
fn cleaned(mut claim: Claim) -> Claim {
    let texts =
        [&mut claim.file, &mut claim.reason, &mut claim.evidence, &mut claim.suggestion, &mut claim.replacement];
    for text in texts.into_iter().flatten().chain([&mut claim.title]).filter(|text| text.contains('\0')) {
        *text = text.replace('\0', "");
    }
    claim
}

fn shortened(name: &str) -> String {
    const MAX_NAME: usize = 120;
    let name = file_lookup::cleaned(name);
    truncate(name, MAX_NAME)
}
