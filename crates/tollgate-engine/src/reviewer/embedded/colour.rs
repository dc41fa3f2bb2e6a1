//! What the words of texts are, asked of scanning children, for showing them in colours.
//!
//! A person waits for it and nothing depends on it: a text that stalls or crashes its child, that is long, or in a
//! language without a query is shown without colours, and less time is given than to the rules.

use std::path::Path;

use tollgate_rules::code;
use tollgate_rules::select::grammar_name;
use tollgate_rules::worker::{Request, Response};

use super::pool::Pool;
use crate::config::Limits;

pub use tollgate_rules::highlight::{Class, Span};

/// Longer texts are shown without colours.
const MAX_BYTES: u64 = 512 * 1024;

/// How much processor time, and how long at all, one text may take.
const MAX_SECONDS: u64 = 2;

/// When so many texts were lost, the change is made to be slow, and the rest is not asked about.
const MAX_LOST: usize = 2;

/// The grammar by which a file is coloured, as rule files name it; `None` when there is none.
#[must_use]
pub fn grammar(path: &[u8]) -> Option<&'static str> {
    code::grammar_of(&String::from_utf8_lossy(path)).map(grammar_name)
}

/// Says for each text, given with its grammar, what its words are; `None` where nobody knows.
#[must_use]
pub fn colour(executable: &Path, limits: Limits, texts: &[(&str, &[u8])]) -> Vec<Option<Vec<Span>>> {
    let asked: Vec<usize> = (0..texts.len())
        .filter(|&index| texts[index].1.len() as u64 <= limits.file_bytes.min(MAX_BYTES))
        .filter(|&index| !texts[index].1.is_empty())
        .collect();
    let limits = Limits {
        cpu_seconds: limits.cpu_seconds.min(MAX_SECONDS),
        file_seconds: limits.file_seconds.min(2 * MAX_SECONDS),
        ..limits
    };
    let n_bytes = asked.iter().map(|&index| texts[index].1.len()).sum();
    let answers = Pool::new(executable, limits).ask_each((asked.len(), n_bytes), MAX_LOST, &|at| {
        let (grammar, text) = texts[asked[at]];
        (Request::Highlight { grammar: grammar.to_owned() }, text.to_vec())
    });
    let mut spans = vec![None; texts.len()];
    for (index, answer) in asked.into_iter().zip(answers) {
        if let Some(Response::Highlighted(found)) = answer {
            spans[index] = found.filter(|spans| are_sound(spans, texts[index].1.len()));
        }
    }
    spans
}

/// A child that was taken over by what it read could say anything.
fn are_sound(spans: &[Span], n_bytes: usize) -> bool {
    let mut end = 0;
    spans.iter().all(|Span(start, next, _)| {
        let is_next = end <= *start && start < next && *next as usize <= n_bytes;
        end = *next;
        is_next
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_no_scanner_costs_the_colours_and_nothing_else() {
        for program in ["/bin/true", "/bin/cat", "/nowhere/at/all"] {
            let texts: [(&str, &[u8]); 2] = [("Rust", b"fn a() {}"), ("Rust", b"")];
            assert_eq!(colour(Path::new(program), Limits::default(), &texts), [None, None], "{program}");
        }
    }

    #[test]
    fn spans_that_cannot_be_are_not_believed() {
        let k = Class::Keyword;
        for (spans, expected) in [
            (vec![], true),
            (vec![Span(0, 2, k), Span(2, 9, k)], true),
            (vec![Span(0, 10, k)], false),
            (vec![Span(3, 3, k)], false),
            (vec![Span(0, 4, k), Span(3, 5, k)], false),
        ] {
            assert_eq!(are_sound(&spans, 9), expected, "{spans:?}");
        }
    }
}
