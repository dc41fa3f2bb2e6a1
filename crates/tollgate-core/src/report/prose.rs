//! Text of reviewers in a file: its paragraphs, lists and code are kept, and nothing else of its markup.

use crate::report::escape::{literal_at_start, shown};
use crate::report::markdown::escape::visible_lines;
use crate::report::markdown::fence::{self, Kind};

/// Shows a text of several lines.
pub(crate) fn render(text: &str) -> String {
    let text = visible_lines(text.trim());
    let lines: Vec<&str> = text.split('\n').collect();
    let mut shown_lines: Vec<String> = Vec::new();
    let mut code: Vec<&str> = Vec::new();
    for (line, kind) in lines.iter().zip(fence::kinds(&lines)) {
        match kind {
            Kind::Text => shown_lines.push(item(line).unwrap_or_else(|| at_start(&shown(line, usize::MAX)))),
            Kind::Open(_) => {}
            Kind::Inside => code.push(line),
            Kind::Close => {
                let code = std::mem::take(&mut code).join("\n");
                let fence = fence::around(&code);
                shown_lines.push(format!("{fence}\n{code}\n{fence}"));
            }
        }
    }
    shown_lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    shown_lines.join("\n")
}

/// Markdown that shows a line as it is. Some hosts take a line that begins with a slash for a command.
pub(crate) fn at_start(line: &str) -> String {
    if line.starts_with('/') { format!("\\{}", literal_at_start(line)) } else { literal_at_start(line) }
}

/// The item of a list, which stays one.
fn item(line: &str) -> Option<String> {
    let content = line.trim_start_matches(' ');
    let indent = line.len() - content.len();
    let text = content.strip_prefix("- ").or_else(|| content.strip_prefix("* "))?;
    let text = shown(text, usize::MAX);
    (!text.is_empty()).then(|| format!("{}- {}", if indent >= 2 { "  " } else { "" }, at_start(&text)))
}

/// True for several lines of which at least half look like code and none is a fence.
pub(crate) fn is_code(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let looks = |line: &&&str| {
        let end = line.trim_end();
        line.starts_with("  ") || line.starts_with('\t') || end.ends_with(['{', '}', ';', '(', ')', ',', ']'])
    };
    let is_item = |line: &&str| line.trim_start().starts_with("- ") || line.trim_start().starts_with("* ");
    let has_fence = lines.iter().any(|line| line.trim_start().starts_with("```"));
    let n_code = lines.iter().filter(looks).count();
    lines.len() > 1 && !has_fence && !lines.iter().any(is_item) && n_code * 2 >= lines.len()
}
