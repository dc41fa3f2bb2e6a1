//! Fits a comment into a size limit: fixed text, and items that are shortened or folded by rank.

/// The priority of an item: blocking findings first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// A blocking finding.
    Blocker,
    /// A blocking finding of an earlier review, open or resolved.
    OldBlocker,
    /// A hunk that was not reviewed.
    NotReviewed,
    /// A line of Review Details.
    Figure,
    /// A finding that is not blocking.
    Finding,
    /// A finding of an earlier review that is not blocking.
    Old,
    /// Suggestions and strengths.
    Extra,
    /// A withheld finding.
    Withheld,
}

/// A comment under construction.
#[derive(Default)]
pub(crate) struct Draft {
    parts: Vec<Part>,
}

enum Part {
    /// Fixed text.
    Text(String),
    /// An item, which may be folded.
    Item(Item),
    /// Findings that are only counted.
    Skipped(usize),
    /// The count of items since the last such part that were folded.
    More(fn(usize, usize) -> String),
}

/// A line with an explanation; both may be folded.
pub(crate) struct Item {
    pub(crate) rank: Rank,
    /// The number of findings it stands for.
    pub(crate) n_findings: usize,
    pub(crate) line: String,
    /// The explanation below it, long and short.
    pub(crate) words: Option<(String, String)>,
    /// The text behind the item.
    pub(crate) end: &'static str,
}

/// The room reserved for the count of folded items.
const MORE_LEN: usize = 80;

/// The rendering of an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Folded,
    Line,
    Short,
    Long,
}

impl Draft {
    pub(crate) fn push(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Text(text.into()));
    }

    pub(crate) fn item(&mut self, item: Item) {
        self.parts.push(Part::Item(item));
    }

    /// Counts findings that are not listed.
    pub(crate) fn skip(&mut self, n_findings: usize) {
        self.parts.push(Part::Skipped(n_findings));
    }

    /// Ends a list of items; `words` takes the counts of folded and listed findings.
    pub(crate) fn more(&mut self, words: fn(usize, usize) -> String) {
        self.parts.push(Part::More(words));
    }

    /// The text, in at most `max_len` bytes unless the fixed text is longer.
    pub(crate) fn finish(self, max_len: usize) -> String {
        let forms = self.forms(max_len);
        let mut text = String::new();
        let (mut n_folded, mut n_shown) = (0, 0);
        for (part, form) in self.parts.into_iter().zip(forms) {
            match part {
                Part::Text(part) => text.push_str(&part),
                Part::Skipped(n_findings) => n_folded += n_findings,
                Part::Item(item) if form == Form::Folded => n_folded += item.n_findings,
                Part::Item(item) => {
                    n_shown += item.n_findings;
                    text.push_str(&item.line);
                    match (form, &item.words) {
                        (Form::Long, Some((words, _))) | (Form::Short, Some((_, words))) => {
                            text.push('\n');
                            text.push_str(words);
                        }
                        _ => {}
                    }
                    text.push_str(item.end);
                }
                Part::More(words) => {
                    if n_folded > 0 {
                        text.push_str(&words(n_folded, n_shown));
                    }
                    (n_folded, n_shown) = (0, 0);
                }
            }
        }
        text
    }

    /// Chooses the renderings: lines by rank first, then explanations.
    fn forms(&self, max_len: usize) -> Vec<Form> {
        let fixed: usize = self.parts.iter().map(Part::fixed_len).sum();
        let mut left = max_len.saturating_sub(fixed);
        let mut forms = vec![Form::Folded; self.parts.len()];
        let items = self.parts.iter().enumerate().filter_map(|(index, part)| match part {
            Part::Item(item) => Some((index, item)),
            Part::Text(_) | Part::Skipped(_) | Part::More(_) => None,
        });
        let mut items: Vec<(usize, &Item)> = items.collect();
        items.sort_by_key(|(_, item)| item.rank);
        for (index, item) in &items {
            if let Some(rest) = left.checked_sub(item.line.len() + item.end.len()) {
                (left, forms[*index]) = (rest, Form::Line);
            }
        }
        for (index, item) in &items {
            let Some((long, short)) = item.words.as_ref().filter(|_| forms[*index] == Form::Line) else { continue };
            for (words, form) in [(long, Form::Long), (short, Form::Short)] {
                if let Some(rest) = left.checked_sub(words.len() + 1) {
                    (left, forms[*index]) = (rest, form);
                    break;
                }
            }
        }
        forms
    }
}

impl Part {
    fn fixed_len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Item(_) | Self::Skipped(_) => 0,
            Self::More(_) => MORE_LEN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(rank: Rank, line: &str) -> Item {
        let words = Some(("long words".to_owned(), "short".to_owned()));
        Item { rank, n_findings: 1, line: line.to_owned(), words, end: "\n" }
    }

    #[track_caller]
    fn check(room: usize, expected: &str) {
        let mut draft = Draft::default();
        draft.push("# a\n");
        draft.item(item(Rank::Finding, "1"));
        draft.item(item(Rank::Blocker, "2"));
        draft.item(item(Rank::Finding, "3"));
        draft.more(|n_folded, n_shown| format!("{n_folded} of {}\n", n_folded + n_shown));
        assert_eq!(draft.finish(4 + MORE_LEN + room), expected);
    }

    #[test]
    fn explanations_are_dropped_before_lines_and_the_top_rank_stays() {
        check(100, "# a\n1\nlong words\n2\nlong words\n3\nlong words\n");
        check(34, "# a\n1\nlong words\n2\nlong words\n3\nshort\n");
        check(12, "# a\n1\n2\nshort\n3\n");
        check(6, "# a\n1\n2\n3\n");
        check(4, "# a\n1\n2\n1 of 3\n");
        check(2, "# a\n2\n2 of 3\n");
        check(0, "# a\n3 of 3\n");
    }
}
