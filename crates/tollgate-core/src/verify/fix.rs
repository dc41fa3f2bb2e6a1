//! Fixes: replacements that can be applied without edits.

use crate::finding::{Fix, LineRange};
use crate::verify::quote;

/// The most lines that a fix may replace or insert.
const MAX_LINES: usize = 100;
/// The largest replacement, in bytes.
const MAX_BYTES: usize = 16 << 10;

/// Applies a fix to the text of a file; `None` when the file does not have these lines.
///
/// ```
/// use tollgate_core::finding::{Fix, LineRange};
/// use tollgate_core::verify::fixed;
///
/// let fix = Fix { lines: LineRange::line(2), replacement: "two\nand a half".to_owned() };
/// assert_eq!(fixed("1\n2\n3\n", &fix).as_deref(), Some("1\ntwo\nand a half\n3\n"));
/// ```
#[must_use]
pub fn fixed(text: &str, fix: &Fix) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (start, end) = (fix.lines.start() as usize - 1, fix.lines.end() as usize);
    let replaced = lines.get(start..end)?;
    let mut fixed: String = lines[..start].concat();
    if !fix.replacement.is_empty() {
        let last = replaced.last()?;
        let end = if last.ends_with("\r\n") { "\r\n" } else { "\n" };
        fixed.push_str(&fix.replacement.replace("\r\n", "\n").replace('\n', end));
        if last.ends_with('\n') {
            fixed.push_str(end);
        }
    }
    fixed.extend(lines[end..].iter().copied());
    Some(fixed)
}

/// Turns a replacement into a fix; `None` when it cannot be applied or changes nothing.
pub(super) fn fix(replacement: &str, lines: LineRange, there: &[String]) -> Option<Fix> {
    let text = quote::without_fence(replacement).replace("\r\n", "\n");
    let text = text.trim_end_matches('\n');
    let there: Vec<&str> = there.iter().map(|line| line.trim_end_matches('\r')).collect();
    let small = there.len() <= MAX_LINES && text.lines().count() <= MAX_LINES && text.len() <= MAX_BYTES;
    // A replacement that looks like a diff or has line numbers is for people only.
    let n_readings = quote::readings(text).iter().filter(|reading| !reading.must_be_there).count();
    let plain = n_readings <= 1 || there.iter().any(|line| line.starts_with(['+', '-']));
    if there.is_empty() || !small || !plain || text.contains('\0') {
        return None;
    }
    let text = indented(text, &there);
    (text != there.join("\n")).then_some(Fix { lines, replacement: text })
}

/// Indents an unindented replacement like the replaced lines, since reviewers omit indentation.
fn indented(text: &str, there: &[&str]) -> String {
    let least = |lines: &mut dyn Iterator<Item = &str>| -> Option<String> {
        let indents =
            lines.filter(|line| !line.trim().is_empty()).map(|line| &line[..line.len() - line.trim_start().len()]);
        indents.min_by_key(|indent| indent.len()).map(str::to_owned)
    };
    let (wanted, found) = (least(&mut there.iter().copied()), least(&mut text.lines()));
    match (wanted, found) {
        (Some(wanted), Some(found)) if found.is_empty() && !wanted.is_empty() => {
            let lines =
                text.lines().map(|line| if line.is_empty() { String::new() } else { format!("{wanted}{line}") });
            lines.collect::<Vec<_>>().join("\n")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, lines: (u32, u32), replacement: &str, expected: Option<&str>) {
        let lines = LineRange::new(lines.0, lines.1).unwrap();
        let fix = Fix { lines, replacement: replacement.to_owned() };
        assert_eq!(fixed(text, &fix).as_deref(), expected);
    }

    #[test]
    fn whole_lines_are_replaced_and_the_rest_stays() {
        check("a\nb\nc\n", (2, 2), "B", Some("a\nB\nc\n"));
        check("a\nb\nc\n", (1, 2), "", Some("c\n"));
        check("a\nb", (2, 2), "B\nC", Some("a\nB\nC"));
        check("a\r\nb\r\nc\r\n", (2, 2), "B\nC", Some("a\r\nB\r\nC\r\nc\r\n"));
        check("a\n", (2, 2), "x", None);
        check("", (1, 1), "x", None);
        check("a\n", (u32::MAX, u32::MAX), "x", None);
    }

    #[track_caller]
    fn offered(replacement: &str, there: &[&str], expected: Option<&str>) {
        let there: Vec<String> = there.iter().map(|line| (*line).to_owned()).collect();
        let fix = fix(replacement, LineRange::line(1), &there);
        assert_eq!(fix.map(|fix| fix.replacement).as_deref(), expected);
    }

    #[test]
    fn applicable_replacements_become_fixes() {
        offered("b();", &["a();"], Some("b();"));
        offered("```js\nb();\n```\n", &["a();"], Some("b();"));
        offered("if x:\n    b()", &["    a()"], Some("    if x:\n        b()"));
        offered("    b()\n", &["    a()\r"], Some("    b()"));
        offered("", &["a();"], Some(""));
        offered("- one", &["- two"], Some("- one"));
        offered("200 OK", &["404 Not Found"], Some("200 OK"));
    }

    #[test]
    fn replacements_without_effect_or_code_are_not_offered() {
        offered("a();", &["a();"], None);
        offered("a();\n", &["a();\r"], None);
        offered("-a();\n+b();", &["a();"], None);
        offered("12: b();\n13: c();", &["a();"], None);
        offered("b();", &[], None);
        offered(&"b();\n".repeat(101), &["a();"], None);
    }
}
