//! What a reviewer wrote as evidence, as the code it may have meant.
//!
//! Reviewers quote what they were shown: with its line numbers, with the marks of a diff, in a code fence, with `…`
//! where they left something out. Each reading is tried as it stands before anything is taken off it.
//!
//! ```text
//! 42 fn f() {        42: fn f() {          41   42 | fn f() {        +fn f() {        fn f() {
//! 43+    g();        43:     g();               43 |+    g();        +    g();        …
//! ```

use crate::finding::Side;

/// One way to read a quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuoteVariant {
    /// The code.
    pub(super) text: String,
    /// The side that its marks name.
    pub(super) side: Option<Side>,
    /// The number of its first line, when it has numbers.
    pub(super) number: Option<u32>,
    /// True when what was taken off may be code: then it must really be on that line.
    pub(super) must_be_there: bool,
}

/// Most bytes of a quote that are looked for.
pub(super) const MAX_QUOTE: usize = 8 << 10;
/// Most lines, likewise.
const MAX_LINES: usize = 200;

/// All ways to read a quote, the plainest first; empty when it quotes nothing.
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

/// What stands above and between lines of a change, and is none.
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

/// Takes the remark off that a long line ends with: ` [cut: 500 of 9000 bytes]`.
fn without_cut(line: &str) -> &str {
    let is_remark = |rest: &str| rest.ends_with(" bytes]") && rest.starts_with(|c: char| c.is_ascii_digit());
    match line.rsplit_once(" [cut: ") {
        Some((code, rest)) if is_remark(rest) => code,
        _ => line,
    }
}

/// Takes `+` and `-` off, when every line has a mark.
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

/// Takes line numbers off, when every line has one.
fn without_numbers<'a>(lines: &[&'a str]) -> Option<Numbered<'a>> {
    let mut numbered = Numbered { lines: Vec::with_capacity(lines.len()), number: None, must_be_there: true };
    for line in lines {
        let (number, code, is_sure) = without_number(line)?;
        numbered.number = numbered.number.or(number);
        // One line that can be nothing else tells what the others are.
        numbered.must_be_there &= !is_sure;
        numbered.lines.push(code);
    }
    Some(numbered)
}

/// `43+code`, `43|code`, `  42   43 | code`, `43: code`, `L43 code`, `43→code`: the number, the code with its mark, and
/// whether that cannot be code itself.
fn without_number(line: &str) -> Option<(Option<u32>, &str, bool)> {
    let indented = line.trim_start();
    let named = indented.strip_prefix(['L', 'l']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let rest = named.unwrap_or(indented);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let first = rest[..end].parse().ok();
    // A mark or a tab right behind the number: what follows is indentation.
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
        // A context line has a space for a mark.
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
    fn what_reviewers_put_around_code_is_taken_off() {
        for evidence in [
            "fn f() {\n    g();",
            "42 fn f() {\n43+    g();",
            "=== modified, Rust: a.rs\n@@ -41 +42 @@\n42+fn f() {\n43+    g(); [cut: 9 of 900 bytes]",
            "42|fn f() {\n43|    g();",
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
