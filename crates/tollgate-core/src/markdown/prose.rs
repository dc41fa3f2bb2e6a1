//! Sanitizes Markdown of reviewers: paragraphs, lists and code are kept, all other markup is escaped.

use crate::markdown::escape::{literal_at_start, shown, visible_lines};
use crate::markdown::fence::{self, FenceKind};

/// Renders sanitized text of several lines.
pub(crate) fn render(text: &str) -> String {
    let text = visible_lines(text.trim());
    let lines: Vec<&str> = text.split('\n').collect();
    let mut shown_lines: Vec<String> = Vec::new();
    let mut code: Vec<&str> = Vec::new();
    for (line, kind) in lines.iter().zip(fence::kinds(&lines)) {
        match kind {
            FenceKind::Text => {
                shown_lines.push(item(line).unwrap_or_else(|| literal_at_start(&shown(line, usize::MAX))))
            }
            FenceKind::Open(_) => {}
            FenceKind::Inside => code.push(line),
            FenceKind::Close => {
                shown_lines.push(code_block(&std::mem::take(&mut code).join("\n"), ""));
            }
        }
    }
    shown_lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    shown_lines.join("\n")
}

/// Code in a fence that its content cannot close; `language` is the fence's tag.
///
/// Bots ignore fences: where a line of the code would be a command to them, the whole block is indented by one space,
/// which a Markdown parser strips again.
pub(crate) fn code_block(code: &str, language: &str) -> String {
    let fence = fence::around(code);
    let block = format!("{fence}{language}\n{code}\n{fence}");
    if !code.lines().any(begins_command) {
        return block;
    }
    let further = |line: &str| if line.is_empty() { String::new() } else { format!(" {line}") };
    block.split('\n').map(further).collect::<Vec<_>>().join("\n")
}

/// True for a line that bots take for a command: `/merge`, `@bors r+`.
pub(crate) fn begins_command(line: &str) -> bool {
    line.starts_with(['/', '@'])
}

/// A list item, which is kept.
fn item(line: &str) -> Option<String> {
    let content = line.trim_start_matches(' ');
    let indent = line.len() - content.len();
    let text = content.strip_prefix("- ").or_else(|| content.strip_prefix("* "))?;
    let text = shown(text, usize::MAX);
    (!text.is_empty()).then(|| format!("{}- {}", if indent >= 2 { "  " } else { "" }, literal_at_start(&text)))
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

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Parser};

    use super::*;

    #[track_caller]
    fn check(code: &str, expected: &str) {
        let block = code_block(code, "java");
        assert_eq!(block, expected);
        let read: String = Parser::new(&block)
            .filter_map(|event| match event {
                Event::Text(text) => Some(text.into_string()),
                _ => None,
            })
            .collect();
        assert_eq!(read, format!("{code}\n"));
    }

    #[test]
    fn code_blocks_keep_their_content_and_hold_no_bot_command() {
        check("a ``` b", "````java\na ``` b\n````");
        check("@Test\n\n  void a();", " ```java\n @Test\n\n   void a();\n ```");
        check("/merge", " ```java\n /merge\n ```");
    }
}
