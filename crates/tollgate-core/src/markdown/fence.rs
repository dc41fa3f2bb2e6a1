//! Finds code fences in Markdown.

/// The position of a line relative to fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FenceKind {
    /// Outside any fence.
    Text,
    /// Opens a fence that is closed further down; the number of spaces before it.
    Open(usize),
    /// Between an opening and its closing line.
    Inside,
    /// Closes a fence.
    Close,
}

/// The fence characters at the start of a line.
#[derive(Debug, Clone, Copy)]
struct Mark {
    character: u8,
    len: usize,
    indent: usize,
    /// Nothing but blanks behind it: may close a fence.
    bare: bool,
}

/// Classifies each line. A fence that is never closed is text.
pub(crate) fn kinds(lines: &[&str]) -> Vec<FenceKind> {
    let marks: Vec<Option<Mark>> = lines.iter().map(|line| mark(line)).collect();
    let longest_after = longest_closing_after(&marks);
    let mut kinds = vec![FenceKind::Text; lines.len()];
    let mut index = 0;
    while index < lines.len() {
        let opening = marks[index].filter(|mark| longest_after[index][slot(*mark)] >= mark.len);
        let closing = opening.and_then(|open| {
            let closes = |mark: &Mark| mark.bare && mark.character == open.character && mark.len >= open.len;
            let found = marks[index + 1..].iter().position(|mark| mark.as_ref().is_some_and(closes))?;
            Some((open.indent, index + 1 + found))
        });
        if let Some((indent, end)) = closing {
            kinds[index] = FenceKind::Open(indent);
            kinds[index + 1..end].fill(FenceKind::Inside);
            kinds[end] = FenceKind::Close;
            index = end;
        }
        index += 1;
    }
    kinds
}

/// The longest closing fence below each line, so that no search runs to the end in vain.
fn longest_closing_after(marks: &[Option<Mark>]) -> Vec<[usize; 2]> {
    let mut longest = vec![[0; 2]; marks.len()];
    let mut so_far = [0; 2];
    for (index, mark) in marks.iter().enumerate().rev() {
        longest[index] = so_far;
        if let Some(mark) = mark.filter(|mark| mark.bare) {
            so_far[slot(mark)] = so_far[slot(mark)].max(mark.len);
        }
    }
    longest
}

fn slot(mark: Mark) -> usize {
    usize::from(mark.character == b'~')
}

fn mark(line: &str) -> Option<Mark> {
    let rest = line.trim_start_matches(' ');
    let indent = line.len() - rest.len();
    let character = *rest.as_bytes().first()?;
    if indent > 3 || !matches!(character, b'`' | b'~') {
        return None;
    }
    let len = rest.bytes().take_while(|byte| *byte == character).count();
    let info = rest[len..].trim_matches([' ', '\t']);
    let valid = len >= 3 && (character == b'~' || !info.contains('`'));
    valid.then_some(Mark { character, len, indent, bare: info.is_empty() })
}

/// A fence that no line of the text closes.
pub(crate) fn around(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}
