//! What a reviewer wrote as evidence, as the code it may have meant.
//!
//! Reviewers quote what they were shown: with its line numbers, with the marks of a diff, in a code fence, with `…`
//! where they left something out. Each reading is tried as it stands before anything is taken off it.
//!
//! ```text
//!   41   42 | fn f() {        42: fn f() {        +fn f() {        fn f() {
//!        43 |+    g();        43:     g();        +    g();        …
//! ```

use crate::finding::Side;

/// One way to read a quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    /// The code.
    pub(super) text: String,
    /// The side that its marks name.
    pub(super) side: Option<Side>,
    /// The number of its first line, when it has numbers.
    pub(super) number: Option<u32>,
}

/// Most bytes of a quote that are looked for.
pub(super) const MAX_QUOTE: usize = 8 << 10;
/// Most lines, likewise.
const MAX_LINES: usize = 200;

/// All ways to read a quote, the plainest first; empty when it quotes nothing.
pub(super) fn readings(evidence: &str) -> Vec<Reading> {
    let code = without_fence(evidence);
    let lines: Vec<&str> = head(code).lines().take(MAX_LINES).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let mut readings = vec![Reading { text: lines.join("\n"), side: None, number: None }];
    readings.extend(without_marks(&lines, None));
    if let Some((number, bare)) = without_numbers(&lines) {
        readings.push(Reading { text: bare.join("\n"), side: None, number });
        readings.extend(without_marks(&bare, number));
    }
    readings
}

/// The parts of a quote between its ellipses; fewer than two when it has none.
pub(super) fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        let bare =
            line.trim_matches(|character: char| character.is_whitespace() || "/#*-<>![](){}".contains(character));
        if matches!(bare, "..." | "…" | "....") {
            parts.push(String::new());
            continue;
        }
        for (index, piece) in line.split('…').flat_map(|piece| piece.split("...")).enumerate() {
            if index > 0 {
                parts.push(String::new());
            }
            if let Some(last) = parts.last_mut() {
                last.push_str(piece);
                last.push('\n');
            }
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Code between backticks in prose.
pub(super) fn in_backticks(prose: &str) -> impl Iterator<Item = &str> {
    const MAX_PIECES: usize = 16;
    let pieces = head(prose).split('`').enumerate().filter(|(index, _)| index % 2 == 1).map(|(_, piece)| piece);
    pieces.filter(|piece| !piece.trim().is_empty()).take(MAX_PIECES)
}

/// The code of a fence or between backticks, when the whole text is one.
pub(super) fn without_fence(text: &str) -> &str {
    let trimmed = text.trim_matches(['\n', '\r']);
    let inner = trimmed.trim();
    for fence in ["```", "~~~"] {
        let Some(rest) = inner.strip_prefix(fence) else { continue };
        let rest = rest.trim_start_matches(['`', '~']);
        let Some((_, body)) = rest.split_once('\n') else { continue };
        let body = body.trim_end().strip_suffix(fence).map_or(body, |body| body.trim_end_matches(['`', '~']));
        return body.trim_matches(['\n', '\r']);
    }
    let bare = inner.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    bare.filter(|bare| !bare.contains('`') && !bare.trim().is_empty()).unwrap_or(trimmed)
}

fn head(text: &str) -> &str {
    let mut end = text.len().min(MAX_QUOTE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Takes `+` and `-` off, and the headers of a diff.
fn without_marks(lines: &[&str], number: Option<u32>) -> Option<Reading> {
    let is_header = |line: &&str| {
        ["@@ ", "diff --git ", "--- a/", "+++ b/", "index ", "--- /dev/null", "+++ /dev/null"]
            .iter()
            .any(|head| line.starts_with(head))
    };
    let lines: Vec<&str> = lines.iter().copied().filter(|line| !is_header(line)).collect();
    let is_marked = |mark: char| lines.iter().any(|line| line.starts_with(mark));
    let all_marked = lines.iter().all(|line| line.starts_with(['+', '-', ' ', '\t']));
    let (added, removed) = (is_marked('+'), is_marked('-'));
    if !all_marked || !(added || removed) {
        return None;
    }
    let side = match (added, removed) {
        (true, false) => Some(Side::Right),
        (false, true) => Some(Side::Left),
        _ => None,
    };
    let text = lines.iter().map(|line| line.strip_prefix(['+', '-', ' ']).unwrap_or(line)).collect::<Vec<_>>();
    Some(Reading { text: text.join("\n"), side, number })
}

/// Takes line numbers off, when every line has one; the first number comes with the lines.
fn without_numbers<'a>(lines: &[&'a str]) -> Option<(Option<u32>, Vec<&'a str>)> {
    let mut first = None;
    let mut bare = Vec::with_capacity(lines.len());
    for line in lines {
        let (number, code) = without_number(line)?;
        first = first.or(number);
        bare.push(code);
    }
    Some((first, bare))
}

/// `  42   43 | code`, `43: code`, `L43 code`, `43→code`.
fn without_number(line: &str) -> Option<(Option<u32>, &str)> {
    let rest = line.trim_start();
    let rest =
        rest.strip_prefix(['L', 'l']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(rest);
    // A tab ends the number, and what follows is indentation.
    let tab = rest.find('\t').filter(|tab| *tab > 0 && rest[..*tab].bytes().all(|byte| byte.is_ascii_digit()));
    if let Some(tab) = tab {
        return Some((rest[..tab].parse().ok(), &rest[tab + 1..]));
    }
    let columns = rest.find(|character: char| !character.is_ascii_digit() && character != ' ')?;
    let (head, tail) = rest.split_at(columns);
    let number = head.split_whitespace().next_back().filter(|number| number.len() <= 7).unwrap_or_default();
    let named = line.trim_start().starts_with(['L', 'l']) && !number.is_empty();
    let bar = tail.strip_prefix(['|', '\u{2502}']);
    let bar = bar.or_else(|| tail.strip_prefix([':', '\u{2192}', ')']).filter(|_| !number.is_empty()));
    let code = match bar {
        Some(code) => code.strip_prefix(' ').unwrap_or(code),
        // Without a bar, only what cannot be a number in code: `L43 code`, or `  42   43 +code`.
        None if named => tail,
        None if tail.starts_with(['+', '-']) && line.starts_with(' ') => tail,
        None => return None,
    };
    Some((number.parse().ok(), code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(evidence: &str, expected: &str) {
        assert!(readings(evidence).iter().any(|reading| reading.text == expected), "{:?}", readings(evidence));
    }

    #[test]
    fn what_reviewers_put_around_code_is_taken_off() {
        for evidence in [
            "fn f() {\n    g();",
            "```rust\nfn f() {\n    g();\n```",
            "````\nfn f() {\n    g();\n````",
            "+fn f() {\n+    g();",
            "@@ -1,2 +3,4 @@ x\n fn f() {\n+    g();",
            "42: fn f() {\n43:     g();",
            "42| fn f() {\n43|     g();",
            "L42: fn f() {\nL43:     g();",
            "  41   42 | fn f() {\n       43 |     g();",
            "  41   42 |  fn f() {\n       43 | +    g();",
            "42\tfn f() {\n43\t    g();",
        ] {
            check(evidence, "fn f() {\n    g();");
        }
        check("`user.name`", "user.name");
        check("- old();", " old();");
        check("  12 -old();\n     +new();", "old();\nnew();");
    }

    #[test]
    fn marks_tell_the_side_and_numbers_the_line() {
        let last = |evidence| readings(evidence).pop().unwrap();
        assert_eq!(last("-old()").side, Some(Side::Left));
        assert_eq!(last("+new()").side, Some(Side::Right));
        assert_eq!(last("-old()\n+new()").side, None);
        assert_eq!(last("  41   42 | f()").number, Some(42));
        assert_eq!(readings("x = 1\ny = 2").len(), 1);
        assert_eq!(readings(" \n"), []);
        assert_eq!(readings("```\n```"), []);
    }

    #[test]
    fn a_quote_is_cut_at_its_ellipses() {
        assert_eq!(parts("a();\n// ...\nb();"), ["a();\n", "b();\n"]);
        assert_eq!(parts("call(one, … two)"), ["call(one, \n", " two)\n"]);
        assert_eq!(parts("...\nb();"), ["b();\n"]);
    }
}
