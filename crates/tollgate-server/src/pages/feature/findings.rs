//! The findings of a review, grouped by their effect on the feature, and two reviews compared.

use std::collections::{BTreeSet, HashSet};

use tollgate_core::board::{Iteration, Outcome, Remark, match_remarks};
use tollgate_core::finding::Category;
use tollgate_core::path::FilePath;

use super::Loaded;
use super::query::{Filter, Query, Weight};
use crate::pages::finding::{FindingView, Mark, Offers};
use crate::pages::words::count;

/// The most findings of a group that are listed at once.
const AT_ONCE: usize = 100;

/// One finding of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) finding: FindingView,
    /// Why it does not count, where that is not told by its mark.
    pub(super) why: String,
}

impl Item {
    /// True when the finding needs action.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.finding.mark, Mark::Dismissed { .. } | Mark::Resolved) && self.why.is_empty()
    }
}

/// Findings that mean the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) kind: &'static str,
    pub(super) icon: &'static str,
    pub(super) help: &'static str,
    pub(super) items: Vec<Item>,
    /// How many more there are.
    pub(super) n_more: usize,
    /// True when it is not folded.
    pub(super) is_open: bool,
}

impl Group {
    /// How many there are.
    pub(super) fn n(&self) -> usize {
        self.items.len() + self.n_more
    }
}

/// The findings of a review as they are listed.
pub(super) struct Findings {
    pub(super) groups: Vec<Group>,
    pub(super) filter: Filter,
    pub(super) categories: Vec<&'static str>,
    pub(super) files: Vec<String>,
    /// How many are listed, and how many there are.
    pub(super) n_listed: usize,
    pub(super) n_all: usize,
    /// How many are open.
    n_open: usize,
    /// How many are open, and block.
    pub(super) n_blocking: usize,
    /// The same list with everything in it.
    pub(super) href_all: String,
    /// With open findings only, or with all.
    pub(super) href_open: String,
    /// With long groups as a whole.
    pub(super) href_long: String,
    /// What a form has to send along.
    pub(super) kept: Vec<(&'static str, String)>,
    /// True when there is a review.
    pub(super) is_reviewed: bool,
    /// True when the review approved and left an acceptance criterion unclear.
    pub(super) is_unchecked: bool,
    /// True when the review brought an answer.
    pub(super) is_answered: bool,
}

impl Findings {
    pub(super) fn new(loaded: &Loaded, query: &Query, base: &str) -> Self {
        let filter = query.filter.clone();
        let mut groups = Vec::new();
        let (mut n_all, mut n_open, mut n_blocking) = (0, 0, 0);
        let (mut categories, mut files) = (BTreeSet::new(), BTreeSet::new());
        if let Some(review) = loaded.shown() {
            for (remark, group) in all(loaded, review) {
                n_all += 1;
                categories.insert(remark.category.as_str());
                files.extend(remark.file.clone());
                let item = group.1;
                n_open += usize::from(item.is_open());
                n_blocking += usize::from(item.is_open() && group.0 == 0 && remark.severity.blocks());
                let is_wanted = filter.wants(&remark) && (!filter.is_open_only || item.is_open());
                if is_wanted {
                    put(&mut groups, group.0, item);
                }
            }
        }
        let n_listed = groups.iter().map(Group::n).sum();
        if !query.is_all {
            groups.iter_mut().for_each(shorten);
        }
        groups.sort_by_key(|group| KINDS.iter().position(|kind| kind.0 == group.key));
        let open = Filter { is_open_only: !filter.is_open_only, ..filter.clone() };
        let address = |query: &Query| format!("{base}{}", query.tail());
        Self {
            groups,
            categories: Category::ALL
                .iter()
                .map(|category| category.as_str())
                .filter(|it| categories.contains(it))
                .collect(),
            files: files.into_iter().collect(),
            n_listed,
            n_all,
            n_open,
            n_blocking,
            href_all: address(&query.listing(Filter::default())),
            href_open: address(&query.listing(open)),
            href_long: address(&Query { is_all: true, ..query.clone() }),
            kept: kept(query),
            is_reviewed: loaded.shown().is_some(),
            is_unchecked: loaded.shown().is_some_and(Iteration::is_unchecked),
            is_answered: loaded.shown().is_some_and(|review| review.outcome != Outcome::Failed),
            filter,
        }
    }

    /// How many are listed, in words.
    pub(super) fn in_words(&self) -> String {
        let all = count(self.n_all as u64, "finding");
        match self.n_open {
            _ if self.filter.is_narrow() => format!("{} of {all}", self.n_listed),
            n_open if n_open < self.n_all => format!("{n_open} open of {all}"),
            _ => all,
        }
    }

    pub(super) fn is_weight(&self, word: &str) -> bool {
        self.filter.weight.is_some_and(|weight| weight.as_str() == word)
    }

    pub(super) fn is_category(&self, word: &str) -> bool {
        self.filter.category.is_some_and(|category| category.as_str() == word)
    }

    pub(super) fn is_file(&self, file: &str) -> bool {
        self.filter.file.as_deref() == Some(file)
    }

    pub(super) fn text(&self) -> &str {
        self.filter.text.as_deref().unwrap_or_default()
    }
}

/// The groups in their order: name, title, class, sign, meaning.
const KINDS: [(&str, &str, &str, &str, &str); 6] = [
    ("error", "Errors", "bad", "✖", ""),
    ("warning", "Warnings", "warn", "▲", ""),
    ("info", "Info", "info", "●", ""),
    ("late", "Late", "muted", "◷", "Said of lines that the review before passed: too late to reject."),
    ("resolved", "Resolved since the last review", "ok", "✔", ""),
    ("left-out", "Left out", "muted", "–", "Found, and does not count; each says why."),
];
const LATE: usize = 3;
const RESOLVED: usize = 4;
const LEFT_OUT: usize = 5;

fn put(groups: &mut Vec<Group>, kind: usize, item: Item) {
    let (key, title, class, icon, help) = KINDS[kind.min(KINDS.len() - 1)];
    let at = groups.iter().position(|group| group.key == key).unwrap_or_else(|| {
        let is_open = kind < LATE;
        groups.push(Group { key, title, kind: class, icon, help, items: Vec::new(), n_more: 0, is_open });
        groups.len() - 1
    });
    if let Some(group) = groups.get_mut(at) {
        group.items.push(item);
    }
}

fn shorten(group: &mut Group) {
    group.n_more = group.items.len().saturating_sub(AT_ONCE);
    group.items.truncate(AT_ONCE);
}

/// What a form has to send beside its fields, so that the rest of the address stays.
fn kept(query: &Query) -> Vec<(&'static str, String)> {
    let bare = query.listing(Filter::default()).tail();
    let pairs = bare.trim_start_matches('?').split('&').filter_map(|pair| pair.split_once('='));
    let names = ["iteration", "compare", "view", "all"];
    pairs.filter_map(|(name, value)| Some((*names.iter().find(|known| **known == name)?, value.to_owned()))).collect()
}

/// Every finding of a review with the group it belongs to.
fn all(loaded: &Loaded, review: &Iteration) -> Vec<(Remark, (usize, Item))> {
    let previous = loaded.before(review.number);
    let before = previous.into_iter().flat_map(|previous| previous.findings.iter().chain(&previous.late));
    let withheld = loaded.run.iter().flat_map(|run| &run.withheld);
    let current = review.findings.iter().chain(&review.late).chain(withheld.clone().map(|(remark, _)| remark));
    let (again, known): (HashSet<usize>, HashSet<usize>) = match_remarks(before, current).into_iter().unzip();
    let mut found = Vec::new();
    for (index, remark) in review.findings.iter().enumerate() {
        let mark = if previous.is_none() || known.contains(&index) { Mark::None } else { Mark::New };
        let kind = Weight::ALL.iter().position(|weight| *weight == Weight::of(remark)).unwrap_or(2);
        found.push((remark.clone(), (kind, item(loaded, remark, mark))));
    }
    for remark in &review.late {
        found.push((remark.clone(), (LATE, item(loaded, remark, Mark::Late))));
    }
    // Findings below the floor and late ones are withheld and listed above; each has its own number in the review.
    let id = |remark: &Remark| remark.identity.as_ref().map(|identity| identity.id.clone());
    let listed: HashSet<String> = review.findings.iter().chain(&review.late).filter_map(id).collect();
    for (remark, why) in withheld {
        if !id(remark).is_some_and(|id| listed.contains(&id)) {
            found.push((remark.clone(), (LEFT_OUT, left_out(loaded, remark, why))));
        }
    }
    // A finding in a hunk that was not reviewed is not resolved.
    let looked = review.outcome != Outcome::Failed && review.commit.is_some();
    let before = previous.filter(|_| looked).into_iter().flat_map(|previous| &previous.findings);
    for (index, remark) in before.enumerate() {
        if !again.contains(&index) {
            let finding = FindingView { mark: Mark::Resolved, ..FindingView::of(remark) };
            found.push((remark.clone(), (RESOLVED, Item { finding, why: String::new() })));
        }
    }
    found
}

/// A finding as the list and the diff show it.
fn item(loaded: &Loaded, remark: &Remark, mark: Mark) -> Item {
    let dismissed = loaded.dismissed(remark);
    let has_name = remark.identity.is_some() && remark.file.is_some();
    let offers = Offers::of(has_name, dismissed);
    let mut finding = FindingView { mark: dismissed.map_or(mark, Mark::of), offers, ..FindingView::of(remark) };
    if !finding.id.is_empty() {
        finding.anchor = format!("f-{}", finding.id);
    }
    Item { finding, why: String::new() }
}

fn left_out(loaded: &Loaded, remark: &Remark, why: &str) -> Item {
    // A proposal is of no effect on a finding that does not count anyway.
    let dismissed = loaded.dismissed(remark).filter(|dismissed| !dismissed.is_proposal());
    let offers = Offers { restore: dismissed.is_some(), ..Offers::default() };
    let mark = dismissed.map_or_else(Mark::default, Mark::of);
    let why = if mark == Mark::None { why.to_owned() } else { String::new() };
    Item { finding: FindingView { mark, offers, ..FindingView::of(remark) }, why }
}

/// Gives the findings of a list their places in the diff of the page, which has these files.
pub(super) fn link(findings: &mut Findings, files: &[FilePath]) {
    let groups = findings.groups.iter_mut().filter(|group| !["resolved", "left-out"].contains(&group.key));
    for finding in groups.flat_map(|group| &mut group.items).map(|item| &mut item.finding) {
        let Some(place) = finding.place.as_mut() else { continue };
        let (file, line) = match place.text.rsplit_once(':') {
            Some((file, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => (file, Some(line)),
            _ => (place.text.as_str(), None),
        };
        let index = files.iter().position(|known| known.as_str() == file);
        place.href = index.map(|index| match line {
            Some(line) => format!("#f{index}-R{line}"),
            None => format!("#f{index}"),
        });
    }
}

/// Two reviews beside each other.
pub(super) struct Compared {
    pub(super) one: u32,
    pub(super) other: u32,
    pub(super) columns: [Column; 3],
    /// The reviews to choose from, each with the address of the comparison that ends with it.
    pub(super) choices: Vec<u32>,
    /// True when nothing was reviewed between the two.
    pub(super) is_next: bool,
    /// What the counts come to, in words.
    pub(super) in_words: String,
}

/// Findings with one fate.
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) kind: &'static str,
    pub(super) icon: &'static str,
    pub(super) items: Vec<Item>,
    pub(super) n_more: usize,
}

impl Compared {
    pub(super) fn new(loaded: &Loaded, one: &Iteration, other: &Iteration) -> Self {
        let of = |review: &Iteration| review.findings.iter().chain(&review.late).cloned().collect::<Vec<Remark>>();
        let (before, after) = (of(one), of(other));
        let (again, known): (HashSet<usize>, HashSet<usize>) = match_remarks(&before, &after).into_iter().unzip();
        let list = |remarks: Vec<&Remark>, mark: &Mark| -> (Vec<Item>, usize) {
            let n_more = remarks.len().saturating_sub(AT_ONCE);
            (remarks.into_iter().take(AT_ONCE).map(|remark| item(loaded, remark, mark.clone())).collect(), n_more)
        };
        let column = |title, kind, icon, (items, n_more)| Column { title, kind, icon, items, n_more };
        let resolved = before.iter().enumerate().filter(|(index, _)| !again.contains(index));
        let resolved = resolved.map(|(_, remark)| remark).collect();
        let is_known = |index: &usize| known.contains(index);
        let (open, new): (Vec<usize>, Vec<usize>) = (0..after.len()).partition(is_known);
        let of = |indices: Vec<usize>| indices.into_iter().map(|index| &after[index]).collect();
        let (open, new) = (of(open), of(new));
        let mut columns = [
            column("Resolved", "ok", "✔", list(resolved, &Mark::Resolved)),
            column("Still open", "warn", "▲", list(open, &Mark::None)),
            column("New", "bad", "✖", list(new, &Mark::New)),
        ];
        // The same number names another finding in each of the two.
        for finding in columns.iter_mut().flat_map(|column| &mut column.items).map(|item| &mut item.finding) {
            finding.anchor.clear();
        }
        if let Some(resolved) = columns.first_mut() {
            resolved.items.iter_mut().for_each(|item| item.finding.offers = Offers::default());
        }
        let n = |index: usize| columns.get(index).map_or(0, |column| column.items.len() + column.n_more);
        let in_words = format!("{} resolved, {} still open, {} new", n(0), n(1), n(2));
        let is_next = loaded.before(other.number).is_some_and(|before| before.number == one.number);
        let choices = loaded.reviews.iter().map(|review| review.number).collect();
        Self { one: one.number, other: other.number, columns, choices, is_next, in_words }
    }
}
