//! Prefilter: checks that need more than a regular expression, before a file is parsed.
//!
//! Parsing is by far the most expensive part of a scan, and most files with a
//! rule's anchor have no finding. A prefilter may pass a file without a finding,
//! which costs a parse; it never drops a file with one. It understands brackets,
//! words and strings, but no grammar.

use std::collections::HashSet;

/// A construct that every file with a finding of the rule contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefilter {
    /// An `else if` that repeats the condition of an earlier `if` and contains no call.
    RepeatedCondition,
    /// A statement that begins with `expect(…).resolves` or `expect(…).rejects`.
    UnawaitedExpect,
    /// A `finally { … }` with a `return` in it.
    ReturnInFinally,
}

impl Prefilter {
    /// False when the text cannot contain the construct.
    #[must_use]
    pub(crate) fn may_match(self, text: &[u8]) -> bool {
        match self {
            Self::RepeatedCondition => repeats_a_condition(text),
            Self::UnawaitedExpect => words(text, b"expect").any(|at| is_unawaited(text, at)),
            Self::ReturnInFinally => words(text, b"finally").any(|at| has_return(text, at + b"finally".len())),
        }
    }
}

/// Compares conditions up to their first `)`: equal conditions have equal prefixes.
fn repeats_a_condition(text: &[u8]) -> bool {
    let mut seen = HashSet::new();
    words(text, b"if").any(|at| {
        let open = skip_blanks(text, at + 2);
        let Some(length) = text[open..].iter().position(|&byte| byte == b')') else {
            return false;
        };
        let condition = &text[open..open + length];
        if !condition.starts_with(b"(") || has_call(&condition[1..]) {
            return false;
        }
        let key: Vec<u8> = condition.iter().filter(|byte| !byte.is_ascii_whitespace()).copied().collect();
        let after_else = text[..at].trim_ascii_end().ends_with(b"else");
        !seen.insert(key) && after_else
    })
}

/// True when a bracket directly follows a name that is not an operator.
fn has_call(condition: &[u8]) -> bool {
    const OPERATORS: [&[u8]; 7] = [b"typeof", b"void", b"delete", b"in", b"of", b"instanceof", b"as"];
    memchr::memchr_iter(b'(', condition).any(|open| {
        let before = condition[..open].trim_ascii_end();
        let start = before.iter().rposition(|&byte| !is_word(byte)).map_or(0, |at| at + 1);
        let (rest, name) = before.split_at(start);
        // The rules do not count `new Name(…)` as a call.
        !name.is_empty() && !OPERATORS.contains(&name) && !rest.trim_ascii_end().ends_with(b"new")
    })
}

fn is_unawaited(text: &[u8], at: usize) -> bool {
    let before = text[..at].trim_ascii_end();
    let begins = before.last().is_none_or(|byte| b";{}):/".contains(byte))
        || before.ends_with(b"else")
        || text[before.len()..at].contains(&b'\n');
    let Some(open) = memchr::memchr(b'(', &text[at..]).map(|open| at + open) else {
        return false;
    };
    begins
        && end_of_group(text, open, *b"()").is_none_or(|end| {
            let after = text[end..].trim_ascii_start();
            // A comment may come before the name.
            let name = after.strip_prefix(b".").map(<[u8]>::trim_ascii_start);
            after.starts_with(b"/")
                || name
                    .is_some_and(|name| [&b"resolves"[..], b"rejects", b"/"].iter().any(|word| name.starts_with(word)))
        })
}

fn has_return(text: &[u8], at: usize) -> bool {
    let open = skip_blanks(text, at);
    match text.get(open) {
        Some(b'{') => {
            let end = end_of_group(text, open, *b"{}").unwrap_or(text.len());
            words(&text[open..end], b"return").next().is_some()
        }
        // A comment may come before the block.
        other => other == Some(&b'/'),
    }
}

/// The end of the bracket group that opens at `open`; `None` when it is not closed.
fn end_of_group(text: &[u8], open: usize, [opens, closes]: [u8; 2]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, open);
    while let Some(&byte) = text.get(at) {
        if byte == opens {
            depth += 1;
        } else if byte == closes {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at + 1);
            }
        } else if byte == b'\'' || byte == b'"' {
            at = end_of_string(text, at).unwrap_or(at);
        }
        at += 1;
    }
    None
}

/// The closing quote of the string that opens at `open`; `None` when the line ends first, as after an apostrophe.
fn end_of_string(text: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        match *text.get(at)? {
            b'\n' => return None,
            b'\\' => at += 1,
            byte if byte == text[open] => return Some(at),
            _ => {}
        }
        at += 1;
    }
}

/// The offsets of a whole word.
fn words<'a>(text: &'a [u8], word: &'static [u8]) -> impl Iterator<Item = usize> + 'a {
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|&byte| !is_word(byte));
    memchr::memmem::find_iter(text, word)
        .filter(move |&at| is_edge(at.checked_sub(1).map(|before| &text[before])) && is_edge(text.get(at + word.len())))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

fn skip_blanks(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prefilter: Prefilter, matching: &[&str], no_match: &[&str]) {
        for text in matching {
            assert!(prefilter.may_match(text.as_bytes()), "{prefilter:?} must match {text:?}");
        }
        for text in no_match {
            assert!(!prefilter.may_match(text.as_bytes()), "{prefilter:?} need not match {text:?}");
        }
    }

    #[test]
    fn repeated_conditions_are_found() {
        let matching = [
            "if (a) {} else if (a) {}",
            "if (a === 1) { if (x) {} } else if (b) {} else if (a\n  === 1) {}",
            "if (x == ')') {} else if (x == ')') {}",
            "if (x == '(') {} else if (x == '(') {}",
            "if ((a) || b) {} else if ((a) || b) {}",
            "if (typeof (a) == 'b') {} else if (typeof (a) == 'b') {}",
            "if (a == new B(1)) {} else if (a == new B(1)) {}",
            "if(a){}else if(a){}",
        ];
        let no_match = [
            "if (a) {} else if (b) {}",
            "if (a) {} if (a) {}",
            "if (f(a)) {} else if (f(a)) {}",
            "elif (a) else elif (a)",
            "if (a) {} else if a",
            "if (",
        ];
        check(Prefilter::RepeatedCondition, &matching, &no_match);
    }

    #[test]
    fn unawaited_expects_are_found_at_statement_starts() {
        let matching = [
            "expect(a).resolves.toBe(1);",
            "f()\n  expect(f('(', \"it's )\")).rejects\n.toThrow()",
            "{ expect(async () => { await f(); }).rejects.toThrow() }",
            "expect<A>(a)\n  .resolves.toBe(1)",
            "expect(a) // why\n .resolves.toBe(1)",
            "if (a) expect(a).rejects.toBe(1)",
            "expect((a).rejects",
        ];
        let no_match = [
            "await expect(a).resolves.toBe(1);",
            "return expect(a).rejects.toThrow();",
            "expect(a).toBe(await b.rejects)",
            "const a = [expect(b).rejects.toThrow()]",
            "expect",
        ];
        check(Prefilter::UnawaitedExpect, &matching, &no_match);
    }

    #[test]
    fn returns_in_finally_blocks_are_found() {
        let matching = [
            "try {} finally { return 1 }",
            "finally{ if (a) { b({}) } return }",
            "finally { log('}'); return }",
            "finally /* why */ { return }",
            "finally { return",
        ];
        let no_match =
            ["try {} finally { a({}) } return 1", "p.finally(() => { return 1 })", "finally { returned() }", "finally"];
        check(Prefilter::ReturnInFinally, &matching, &no_match);
    }
}
