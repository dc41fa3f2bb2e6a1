//! The validation rules of summary comments, one function each.

use std::collections::HashSet;

use crate::comment::section::{Need, Page, Section, is_placeholder, template};
use crate::comment::tree::{Leaf, LeafKind, Line, Tree};
use crate::comment::{DETAILS_SUMMARY, Kind, Problem, item};
use crate::finding::Severity;
use crate::verdict::{self, MildFindings, VerdictUpdate};

/// Checks the blank lines that GitHub needs between HTML and Markdown.
pub(super) fn blank_lines(tree: &Tree<'_>) -> Vec<Problem> {
    let problem = |swallowed: &crate::comment::tree::Swallowed| {
        let (rule, tag) = match swallowed.after_summary {
            true => ("blank-line-after-summary", "`</summary>`"),
            false => ("blank-line-after-details", "`<details>` or `</details>`"),
        };
        let message = format!("a blank line is missing after {tag}, so the Markdown below it is not rendered");
        Problem { rule, section: None, line: tree.line_number(swallowed.start), message }
    };
    tree.swallowed.iter().map(problem).collect()
}

/// Checks all other rules.
pub(super) fn check(tree: &Tree<'_>, page: &Page) -> Vec<Problem> {
    let mut rules = Rules { tree, page, problems: Vec::new() };
    rules.balanced();
    rules.outside();
    rules.sections();
    rules.order();
    rules.strengths();
    match page.kind {
        Kind::Review => rules.verdict(),
        Kind::ReReview => rules.re_review(),
        Kind::Other => {}
    }
    rules.problems
}

struct Rules<'t, 'a> {
    tree: &'t Tree<'a>,
    page: &'t Page,
    problems: Vec<Problem>,
}

/// A well-formed verdict line.
struct VerdictLine<'l> {
    emoji: &'l str,
    label: &'l str,
    start: usize,
}

impl<'t, 'a> Rules<'t, 'a> {
    fn report(&mut self, rule: &'static str, section: Option<&Section>, at: usize, message: impl Into<String>) {
        let line = self.tree.line_number(at);
        let section = section.map(|section| section.name.clone());
        self.problems.push(Problem { rule, section, line, message: message.into() });
    }

    fn balanced(&mut self) {
        let tree = self.tree;
        if self.page.details.is_none() {
            self.report("unbalanced-details", None, self.page.start, "the summary is not in a `<details>`");
        }
        for details in tree.details.iter().filter(|details| details.end.is_none()).take(10) {
            self.report("unbalanced-details", None, details.start, "unclosed `<details>`, or one inside it");
        }
        for &at in tree.stray.iter().take(10) {
            self.report("unbalanced-details", None, at, "unmatched `</details>`");
        }
    }

    /// Only marker comments and the statistics block may be outside the summary.
    fn outside(&mut self) {
        let (tree, Some(main)) = (self.tree, self.page.details) else { return };
        let figures: Vec<usize> = tree
            .summaries
            .iter()
            .filter(|summary| summary.at_top && summary.text.ends_with(DETAILS_SUMMARY))
            .filter_map(|summary| summary.details)
            .filter(|&details| details != main && tree.details[details].parent.is_none())
            .collect();
        let allowed = |at: usize| {
            // Top-level blocks do not overlap, so only the last one that began can contain this offset.
            let holds = |list: &[usize]| {
                let next = list.partition_point(|&details| tree.details[details].start <= at);
                next > 0 && tree.is_inside(at, list[next - 1])
            };
            tree.is_inside(at, main) || holds(&figures)
        };
        let leaves = tree.leaves.iter().map(|leaf| (leaf.start, leaf.quoted));
        let blocks =
            tree.details.iter().filter(|details| details.parent.is_none()).map(|details| (details.start, false));
        let mut places: Vec<(usize, bool)> = leaves.chain(blocks).collect();
        places.sort_unstable();
        let mut last_allowed = true;
        let mut found = Vec::new();
        for (at, _) in places {
            let is_allowed = allowed(at);
            if last_allowed && !is_allowed {
                found.push(at);
            }
            last_allowed = is_allowed;
        }
        for at in found.into_iter().take(10) {
            let message = "only marker comments and the Review Details block may stand outside the summary";
            self.report("text-outside", None, at, message);
        }
    }

    /// Checks for missing, empty, unknown and duplicate sections.
    fn sections(&mut self) {
        let (tree, page) = (self.tree, self.page);
        let mut seen = HashSet::new();
        for section in &page.sections {
            match section.position {
                None => {
                    let message = format!("unknown section `{}` for this kind of summary", section.heading);
                    self.report("unknown-section", Some(section), section.start, message);
                }
                Some(position) if !seen.insert(position) => {
                    let message = format!("duplicate section `{}`", section.name);
                    self.report("duplicate-section", Some(section), section.start, message);
                }
                Some(position) => {
                    let need = template(page.kind)[position].1;
                    let sentences_too = matches!(need, Need::Delta | Need::Optional);
                    if need != Need::HeadingOnly && section.is_empty(tree, sentences_too) {
                        let message = format!("the section `{}` is empty", section.name);
                        self.report("empty-section", Some(section), section.start, message);
                    }
                }
            }
        }
        for (position, (name, need)) in template(page.kind).iter().enumerate() {
            if matches!(need, Need::Required | Need::HeadingOnly) && !seen.contains(&position) {
                let line = tree.line_number(page.start);
                let message = format!("the section `## {name}` is missing");
                self.problems.push(Problem {
                    rule: "missing-section",
                    section: Some((*name).to_owned()),
                    line,
                    message,
                });
            }
        }
        let delta = template(page.kind).iter().enumerate().filter(|(_, (_, need))| *need == Need::Delta);
        let mut delta = delta.map(|(position, _)| position).peekable();
        if delta.peek().is_some() && !delta.any(|position| seen.contains(&position)) {
            let message = "one of `## New Findings`, `## Resolved Findings` and `## Still Open` must be there";
            self.report("no-delta-section", None, page.start, message);
        }
    }

    fn order(&mut self) {
        let known = self.page.sections.iter().filter_map(|section| Some((section, section.position?)));
        let mut furthest: Option<(usize, &Section)> = None;
        let mut found = Vec::new();
        for (section, position) in known {
            match furthest {
                Some((far, before)) if position < far => {
                    let message = format!("`## {}` belongs before `## {}`", section.name, before.name);
                    found.push((section, message));
                }
                _ => furthest = Some((position, section)),
            }
        }
        for (section, message) in found {
            self.report("section-order", Some(section), section.start, message);
        }
    }

    fn strengths(&mut self) {
        let Some(section) = self.page.section("Strengths").filter(|_| self.page.kind == Kind::Review) else { return };
        let boxed: Vec<usize> = section
            .shown(self.tree)
            .filter_map(|leaf| leaf.item.filter(|item| item.checkbox).map(|_| leaf.start))
            .collect();
        for at in boxed.into_iter().take(10) {
            let message = "a strength must not be a checkbox, which readers could tick; write `- :white_check_mark: …`";
            self.report("strengths-checkbox", Some(section), at, message);
        }
    }

    /// Checks that the verdict of a first review agrees with its findings.
    fn verdict(&mut self) {
        let (tree, page) = (self.tree, self.page);
        let Some(section) = page.section("Verdict") else { return };
        let Some(line) = self.verdict_line(section, &["green_circle", "yellow_circle", "red_circle"]) else { return };
        let Some(observations) = page.section("Observations") else { return };
        let blocks = listed(tree, observations).iter().any(|severity| severity.blocks());
        let message = match line.emoji {
            "green_circle" if blocks => "the verdict is green, but a finding that blocks is listed",
            "red_circle" if !blocks => "the verdict is red, but no finding that blocks is listed",
            _ => return,
        };
        self.report("verdict-mismatch", Some(section), line.start, message);
    }

    /// The one verdict line of a section.
    fn verdict_line(&mut self, section: &'t Section, emojis: &[&str]) -> Option<VerdictLine<'t>> {
        let (tree, main) = (self.tree, self.page.details);
        let lines = section
            .shown(tree)
            .filter(|leaf| leaf.kind == LeafKind::Text && leaf.item.is_none() && leaf.details == main)
            .flat_map(|leaf| &leaf.lines);
        let mut candidates = lines.filter_map(|line| Some((line, looks_like_verdict(line)?)));
        let Some((line, (emoji, rest))) = candidates.next() else {
            if !section.is_empty(tree, false) {
                let message = "a line `:emoji: **Label** -- explanation` is missing";
                self.report("verdict-line", Some(section), section.start, message);
            }
            return None;
        };
        if let Some((second, _)) = candidates.next() {
            self.report("verdict-line", Some(section), second.start, "there may be only one verdict line");
            return None;
        }
        if !emojis.contains(&emoji) {
            let known = emojis.iter().map(|emoji| format!("`:{emoji}:`")).collect::<Vec<_>>().join(", ");
            let message = format!("unknown verdict emoji `:{emoji}:`, expected {known}");
            self.report("verdict-line", Some(section), line.start, message);
            return None;
        }
        let Some(label) = label(line, rest) else {
            let message = "the verdict line must read `:emoji: **Label** -- explanation`";
            self.report("verdict-line", Some(section), line.start, message);
            return None;
        };
        Some(VerdictLine { emoji, label, start: line.start })
    }

    fn re_review(&mut self) {
        let (tree, page) = (self.tree, self.page);
        if let Some(section) = page.section("Re-review").filter(|section| !names_commit(&section.heading)) {
            let message =
                "the heading must name the commit of the last review: `## Re-review -- Changes since abc1234`";
            self.report("prior-commit", Some(section), section.start, message);
        }
        self.still_open();
        let Some(section) = page.section("Verdict Update") else { return };
        let emojis = ["green_circle", "yellow_circle", "large_blue_circle"];
        let Some(line) = self.verdict_line(section, &emojis) else { return };
        let severities = |name: &str| page.section(name).map(|section| tagged(tree, section)).unwrap_or_default();
        let expected =
            verdict::update(severities("New Findings"), severities("Resolved Findings"), severities("Still Open"));
        let all = [
            VerdictUpdate::NewBlockers(0),
            VerdictUpdate::BlockersResolved,
            VerdictUpdate::BlockersRemain(0),
            VerdictUpdate::StillReady,
        ];
        if line.label == verdict::BLOCKERS_DISMISSED {
            let has_blocker = severities("Dismissed Findings").iter().any(|severity| severity.blocks());
            return self.dismissed(section, &line, (has_blocker, expected));
        }
        if [verdict::NOW_READY, verdict::STILL_NEEDS_CHANGES].contains(&line.label) {
            let is_medium = |name: &str| severities(name).contains(&Severity::Medium);
            let had_medium = ["Resolved Findings", "Still Open", "Dismissed Findings"].into_iter().any(is_medium);
            let has_medium = ["New Findings", "Still Open"].into_iter().any(is_medium);
            return self.after_medium(section, &line, (had_medium, has_medium, expected));
        }
        if [verdict::PARTLY_REVIEWED, verdict::GATE_CLOSED].contains(&line.label) {
            return self.reserved(section, &line, expected);
        }
        let Some(said) = all.into_iter().find(|update| update.label() == line.label) else {
            let known = all.map(|update| format!("`{}`", update.label())).join(", ");
            let message = format!("`{}` is not a verdict update, expected {known}", line.label);
            return self.report("verdict-label", Some(section), line.start, message);
        };
        if said.emoji() != line.emoji {
            let message = format!("`{}` is marked with `:{}:`", said.label(), said.emoji());
            return self.report("verdict-label", Some(section), line.start, message);
        }
        if said.as_str() != expected.as_str() {
            let message = format!("the findings listed make this `{}`, not `{}`", expected.label(), said.label());
            self.report("verdict-mismatch", Some(section), line.start, message);
        }
    }

    /// Checks the label of a head whose blockers were dismissed.
    fn dismissed(
        &mut self,
        section: &'t Section,
        line: &VerdictLine<'_>,
        (has_blocker, expected): (bool, VerdictUpdate),
    ) {
        if line.emoji != "green_circle" {
            let message = format!("`{}` is marked with `:green_circle:`", line.label);
            self.report("verdict-label", Some(section), line.start, message);
        } else if !has_blocker {
            let message = format!("no dismissed blocker is listed, so this is not `{}`", line.label);
            self.report("verdict-mismatch", Some(section), line.start, message);
        } else if expected != VerdictUpdate::StillReady {
            let message = format!("the findings listed make this `{}`, not `{}`", expected.label(), line.label);
            self.report("verdict-mismatch", Some(section), line.start, message);
        }
    }

    /// Checks the label of a head that had Medium findings and no blockers.
    fn after_medium(
        &mut self,
        section: &'t Section,
        line: &VerdictLine<'_>,
        (had_medium, has_medium, expected): (bool, bool, VerdictUpdate),
    ) {
        let mild = MildFindings { has_medium, had_medium, ..MildFindings::default() };
        let (colour, label, _) = expected.said(mild);
        if label != line.label {
            let message = format!("the findings listed make this `{label}`, not `{}`", line.label);
            self.report("verdict-mismatch", Some(section), line.start, message);
        } else if line.emoji != colour.emoji() {
            let message = format!("`{label}` is marked with `:{}:`", colour.emoji());
            self.report("verdict-label", Some(section), line.start, message);
        }
    }

    /// Checks a label that withholds the approval although no blocker is listed.
    fn reserved(&mut self, section: &'t Section, line: &VerdictLine<'_>, expected: VerdictUpdate) {
        if line.emoji != "yellow_circle" {
            let message = format!("`{}` is marked with `:yellow_circle:`", line.label);
            self.report("verdict-label", Some(section), line.start, message);
        } else if matches!(expected, VerdictUpdate::NewBlockers(_) | VerdictUpdate::BlockersRemain(_)) {
            let message = format!("the findings listed make this `{}`, not `{}`", expected.label(), line.label);
            self.report("verdict-mismatch", Some(section), line.start, message);
        }
    }

    /// Checks that the list of open findings has the stated length and is not repeated elsewhere.
    fn still_open(&mut self) {
        let (tree, page) = (self.tree, self.page);
        let Some(section) = page.section("Still Open") else { return };
        let items = items(tree, section);
        let n_listed: usize = items.iter().map(|line| item::more(&line.text).unwrap_or(1)).sum();
        let prose = section.shown(tree).filter(|leaf| leaf.item.is_none() && leaf.details == page.details);
        let prose = prose.flat_map(|leaf| &leaf.lines).filter(|line| item::tag(line.source).is_none());
        match prose.filter_map(|line| Some((line, first_number(&line.text)?))).next() {
            Some((line, n_said)) if n_said != n_listed => {
                let message = format!("{n_said} are stated to be open, {n_listed} are listed");
                self.report("still-open-count", Some(section), line.start, message);
            }
            None if !section.is_empty(tree, true) => {
                let message = "the section must say how many findings remain open";
                self.report("still-open-count", Some(section), section.start, message);
            }
            _ => {}
        }
        let open: HashSet<String> = items.iter().map(|line| item::key(&line.text)).collect();
        for name in ["New Findings", "Resolved Findings"] {
            let Some(section) = page.section(name) else { continue };
            // Badges and tags may be missing; the first line of a paragraph is a finding nevertheless.
            let heads = section.shown(tree).filter_map(|leaf| leaf.lines.first());
            let mut lines: Vec<&Line<'_>> = self::items(tree, section).into_iter().chain(heads).collect();
            lines.sort_by_key(|line| line.start);
            lines.dedup_by_key(|line| line.start);
            let repeated: Vec<&Line<'_>> = lines
                .into_iter()
                .filter(|line| item::more(&line.text).is_none() && open.contains(&item::key(&line.text)))
                .collect();
            for line in repeated.into_iter().take(10) {
                let message = format!("this finding is listed as still open and must not be repeated in `{name}`");
                self.report("still-open-repeated", Some(section), line.start, message);
            }
        }
    }
}

/// The emoji of a line that looks like a verdict, and the rest of the line.
fn looks_like_verdict<'l>(line: &'l Line<'_>) -> Option<(&'l str, &'l str)> {
    let (emoji, rest) = line.source.strip_prefix(':')?.split_once(':')?;
    let is_name = !emoji.is_empty() && emoji.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte));
    (is_name && (emoji.ends_with("_circle") || rest.trim_start().starts_with("**"))).then_some((emoji, rest))
}

/// The label in ` **Label** -- explanation`.
fn label<'l>(line: &Line<'_>, rest: &'l str) -> Option<&'l str> {
    let (label, explanation) = rest.strip_prefix(" **")?.split_once("** -- ")?;
    let bold_at = line.start + (line.source.len() - rest.len()) + 1;
    let whole = !label.trim().is_empty() && !label.contains('*') && !explanation.trim().is_empty();
    (whole && line.bold.contains(&bold_at)).then_some(label)
}

/// The severities of the findings in a section: by tags, and by non-empty headings.
fn listed(tree: &Tree<'_>, section: &Section) -> Vec<Severity> {
    let mut severities = tagged(tree, section);
    let mut current = None;
    for leaf in section.shown(tree) {
        match leaf.kind {
            LeafKind::Heading(_) => current = leaf.lines.first().and_then(|line| item::severity(&line.text)),
            _ if says_something(leaf) => severities.extend(current),
            _ => {}
        }
    }
    severities
}

fn says_something(leaf: &Leaf<'_>) -> bool {
    leaf.kind == LeafKind::Code || leaf.lines.iter().any(|line| !is_placeholder(&line.text, true))
}

/// The severities of the lines with a tag.
fn tagged(tree: &Tree<'_>, section: &Section) -> Vec<Severity> {
    let lines = section.shown(tree).flat_map(|leaf| &leaf.lines);
    lines.filter_map(|line| item::tag(line.source)).collect()
}

/// The lines that are findings: list items, and lines with a badge or a tag.
fn items<'t, 'a>(tree: &'t Tree<'a>, section: &Section) -> Vec<&'t Line<'a>> {
    let mut items = Vec::new();
    let mut last_item = None;
    for leaf in section.shown(tree).filter(|leaf| leaf.kind == LeafKind::Text) {
        match leaf.item {
            Some(item) if last_item != Some(item.start) => {
                last_item = Some(item.start);
                items.extend(leaf.lines.first());
            }
            Some(_) => {}
            None => {
                let is_item = |line: &&Line<'_>| {
                    item::tag(line.source).is_some() || has_badge(line) || item::more(&line.text).is_some()
                };
                items.extend(leaf.lines.iter().filter(is_item));
            }
        }
    }
    items
}

fn has_badge(line: &Line<'_>) -> bool {
    item::has_badge(line.source) && looks_like_verdict(line).is_none()
}

fn first_number(text: &str) -> Option<usize> {
    let digits = text.split(|character: char| !character.is_ascii_digit() && character != ',');
    digits.map(|digits| digits.replace(',', "")).find(|digits| !digits.is_empty())?.parse().ok()
}

/// True for a heading with a commit id: seven hex digits or more.
fn names_commit(heading: &str) -> bool {
    let Some(rest) = heading.strip_prefix("Re-review -- Changes since ") else { return false };
    let digits = rest.trim().trim_matches('`');
    (7..=64).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
