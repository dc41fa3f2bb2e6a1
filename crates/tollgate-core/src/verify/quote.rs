//! Parses quoted evidence into the code that the reviewer may have meant.
//!
//! Reviewers quote with line numbers, with diff markers, in a code fence, or with `…` for omissions. Each variant is tried
//! verbatim before anything is stripped.
//!
//! ```text
//! 42 fn f() {        42: fn f() {          41   42 | fn f() {        +fn f() {        fn f() {
//! 43+    g();        43:     g();               43 |+    g();        +    g();        …
//! ```

use crate::finding::Side;

/// One interpretation of a quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuoteVariant {
    /// The code.
    pub(super) text: String,
    /// The side that its diff markers name.
    pub(super) side: Option<Side>,
    /// The number of its first line, when it has numbers.
    pub(super) number: Option<u32>,
    /// True when the stripped text may be code; then it must match on the exact line.
    pub(super) must_be_there: bool,
}

/// The longest quote that is searched, in bytes.
pub(super) const MAX_QUOTE: usize = 8 << 10;
/// The longest quote that is searched, in lines.
const MAX_LINES: usize = 200;

/// All interpretations of a quote, the plainest first; empty when there is no quote.
pub(super) fn readings(evidence: &str) -> Vec<QuoteVariant> {
    let code = without_fence(evidence);
    let lines: Vec<&str> = head(code).lines().take(MAX_LINES).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let mut readings = vec![QuoteVariant { text: lines.join("\n"), side: None, number: None, must_be_there: false }];
    let lines: Vec<&str> = lines.into_iter().filter(|line| !is_header(line)).map(without_cut).collect();
    readings.extend(without_marks(&lines));
    if let Some(numbered) = without_numbers(&lines) {
        let Numbered { lines, number, must_be_there } = numbered;
        readings.push(QuoteVariant { text: lines.join("\n"), side: None, number, must_be_there });
        readings.extend(without_marks(&lines).map(|reading| QuoteVariant { number, must_be_there, ..reading }));
    }
    readings
}

/// Splits a quote at its ellipses; fewer than two parts when it has none.
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

/// Strips a code fence or backticks around the whole text.
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

/// True for diff headers, which are not lines of the change.
fn is_header(line: &str) -> bool {
    const HEADS: &[&str] = &[
        "@@ ",
        "=== ",
        "\\ No newline",
        "diff --git ",
        "index ",
        "--- a/",
        "+++ b/",
        "--- /dev/null",
        "+++ /dev/null",
    ];
    HEADS.iter().any(|head| line.starts_with(head))
}

/// Strips the truncation note of a long line: ` [cut: 500 of 9000 bytes]`.
fn without_cut(line: &str) -> &str {
    let is_remark = |rest: &str| rest.ends_with(" bytes]") && rest.starts_with(|c: char| c.is_ascii_digit());
    match line.rsplit_once(" [cut: ") {
        Some((code, rest)) if is_remark(rest) => code,
        _ => line,
    }
}

/// Strips diff markers when every line has one.
fn without_marks(lines: &[&str]) -> Option<QuoteVariant> {
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
    let text: Vec<&str> = lines.iter().map(|line| line.strip_prefix(['+', '-', ' ']).unwrap_or(line)).collect();
    Some(QuoteVariant { text: text.join("\n"), side, number: None, must_be_there: false })
}

/// Lines without their numbers.
struct Numbered<'a> {
    lines: Vec<&'a str>,
    number: Option<u32>,
    must_be_there: bool,
}

/// Strips line numbers when every line has one.
fn without_numbers<'a>(lines: &[&'a str]) -> Option<Numbered<'a>> {
    let mut numbered = Numbered { lines: Vec::with_capacity(lines.len()), number: None, must_be_there: true };
    for line in lines {
        let (number, code, is_sure) = without_number(line)?;
        numbered.number = numbered.number.or(number);
        // One unambiguous line decides for the others.
        numbered.must_be_there &= !is_sure;
        numbered.lines.push(code);
    }
    Some(numbered)
}

/// Parses `43+code`, `43|code`, `  42   43 | code`, `43: code`, `L43 code`, `43→code`: the number, the code with its
/// marker, and whether the prefix is unambiguous.
fn without_number(line: &str) -> Option<(Option<u32>, &str, bool)> {
    let indented = line.trim_start();
    // `*43+code`: the line changed since the last review.
    let unmarked = indented.strip_prefix('*').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let indented = unmarked.unwrap_or(indented);
    let named = indented.strip_prefix(['L', 'l']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let rest = named.unwrap_or(indented);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let first = rest[..end].parse().ok();
    // After a marker or a tab, the rest is indentation.
    match rest[end..].chars().next() {
        Some('\t' | '|') if first.is_some() => return Some((first, &rest[end + 1..], true)),
        Some('+' | '-') if first.is_some() => return Some((first, &rest[end..], true)),
        None if first.is_some() => return Some((first, "", false)),
        _ => {}
    }
    // Two columns of numbers, one of them perhaps empty, or one and a bar.
    let columns = rest.find(|c: char| !c.is_ascii_digit() && c != ' ')?;
    let (head, tail) = rest.split_at(columns);
    let last = head.split_whitespace().next_back().and_then(|number| number.parse().ok());
    let bar = tail.strip_prefix(['|', '\u{2502}']);
    let bar = bar.or_else(|| tail.strip_prefix([':', '\u{2192}', ')']).filter(|_| last.is_some()));
    match bar {
        Some(code) => Some((last, code.strip_prefix(' ').unwrap_or(code), true)),
        None if named.is_some() => Some((first, tail, true)),
        None if tail.starts_with(['+', '-']) && line.starts_with(' ') => Some((last, tail, true)),
        // The marker of a context line is a space.
        None if first.is_some() && rest[end..].starts_with(' ') => Some((first, &rest[end..], false)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(evidence: &str, expected: &str) {
        assert!(readings(evidence).iter().any(|reading| reading.text == expected), "{:?}", readings(evidence));
    }

    #[test]
    fn decoration_around_code_is_stripped() {
        for evidence in [
            "fn f() {\n    g();",
            "42 fn f() {\n43+    g();",
            "=== modified, Rust: a.rs\n@@ -41 +42 @@\n42+fn f() {\n43+    g(); [cut: 9 of 900 bytes]",
            "42|fn f() {\n43|    g();",
            "42 fn f() {\n*43+    g();",
            "```rust\nfn f() {\n    g();\n```",
            "````\nfn f() {\n    g();\n````",
            "+fn f() {\n+    g();",
            "@@ -1,2 +3,4 @@ x\n fn f() {\n+    g();",
            "42: fn f() {\n43:     g();",
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
    fn markers_give_the_side_and_numbers_the_line() {
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
