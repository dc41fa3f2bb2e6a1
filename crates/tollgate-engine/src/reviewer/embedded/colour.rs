//! Syntax highlighting by scanning children.
//!
//! Highlighting is optional and a user waits for it: a text that stalls or crashes its child, that is long, or in a
//! language without a query is shown without colours, and the timeout is shorter than that of the rules.

use std::path::Path;

use tollgate_rules::code;
use tollgate_rules::select::grammar_name;
use tollgate_rules::worker::{Request, Response};

use super::pool::Pool;
use crate::config::Limits;

pub use tollgate_rules::highlight::{Class, Span};

/// Longer texts are shown without colours.
const MAX_BYTES: u64 = 512 * 1024;

/// The limits on processor time and on time for one text.
const MAX_SECONDS: u64 = 2;

/// After this many failures the change is taken for an attack, and the rest is shown without colours.
const MAX_LOST: usize = 2;

/// The grammar for the highlighting of a file, as rule files name it; `None` when there is none.
pub fn grammar(path: &[u8]) -> Option<&'static str> {
    code::grammar_of(&String::from_utf8_lossy(path)).map(grammar_name)
}

/// Highlights texts, each given with its grammar; `None` for a text that could not be highlighted.
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

/// Validates the spans, because a child may have been taken over by its input.
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
