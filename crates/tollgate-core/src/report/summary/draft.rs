//! A comment in the making: what must be in it, and what gives way where room is short.

/// Which parts go in first: findings that block before all else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// A blocker that is there.
    Blocker,
    /// A blocker that was there before and still is, or no longer is.
    OldBlocker,
    /// What was not looked at.
    NotReviewed,
    /// A line of figures.
    Figure,
    /// A finding that does not block.
    Finding,
    /// A finding of an earlier review that does not block.
    Old,
    /// Advice and praise.
    Extra,
    /// A finding that does not count.
    Withheld,
}

/// A comment in the making.
#[derive(Default)]
pub(crate) struct Draft {
    parts: Vec<Part>,
}

enum Part {
    /// Is always in.
    Text(String),
    /// Goes in where there is room.
    Item(Item),
    /// Findings that are never listed, only counted.
    Skipped(usize),
    /// Says how many of the items before it, back to the last such part, did not go in.
    More(fn(usize, usize) -> String),
}

/// One line that may be folded away, with more words about it.
pub(crate) struct Item {
    pub(crate) rank: Rank,
    /// How many findings it stands for.
    pub(crate) n_findings: usize,
    pub(crate) line: String,
    /// What is said below it, in its long form and in a short one.
    pub(crate) words: Option<(String, String)>,
    /// What ends the item.
    pub(crate) end: &'static str,
}

/// The room that is kept for a line that says how many items did not go in.
const MORE_LEN: usize = 80;

/// How much of an item goes in.
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

    /// Counts findings that are not listed whatever the room.
    pub(crate) fn skip(&mut self, n_findings: usize) {
        self.parts.push(Part::Skipped(n_findings));
    }

    /// Ends a list of items; `words` takes how many findings did not go in and how many did.
    pub(crate) fn more(&mut self, words: fn(usize, usize) -> String) {
        self.parts.push(Part::More(words));
    }

    /// The text, in at most so many bytes if what must be in it leaves any choice.
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

    /// What goes in: first the lines, the most important ones first, then what is said about them.
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
    fn words_give_way_before_lines_and_the_most_important_line_stays() {
        check(100, "# a\n1\nlong words\n2\nlong words\n3\nlong words\n");
        check(34, "# a\n1\nlong words\n2\nlong words\n3\nshort\n");
        check(12, "# a\n1\n2\nshort\n3\n");
        check(6, "# a\n1\n2\n3\n");
        check(4, "# a\n1\n2\n1 of 3\n");
        check(2, "# a\n2\n2 of 3\n");
        check(0, "# a\n3 of 3\n");
    }
}
