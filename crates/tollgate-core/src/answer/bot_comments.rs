//! Comment formats of other review bots, which put the location of a finding into links and folds.

use crate::answer::draft::{Draft, one_line};
use crate::answer::location;

/// The name of the file in `<summary>src/a.ts (2)</summary>`.
pub(super) fn folded_file(text: &str) -> Option<&str> {
    let at = text.find("<summary>")? + "<summary>".len();
    let (inner, _) = text[at..].split_once("</summary>")?;
    let name = inner.split_once(" (").map_or(inner, |(name, _)| name).trim();
    (location::is_path(name) && !name.contains(' ')).then_some(name)
}

/// A title that links to lines of the change: `<a href='…#diff-…R65-R81'><strong>title</strong></a>`.
pub(super) fn linked(text: &str) -> Option<Draft> {
    let (_, rest) = text.split_once("#diff-")?;
    let (address, rest) = rest.split_once(['\'', '"', '>'])?;
    let lines = address.split_once('R').and_then(|(_, lines)| location::parse_lines(lines))?;
    let (_, rest) = rest.split_once("<strong>")?;
    let (title, _) = rest.split_once("</strong>")?;
    Some(Draft { lines: Some(lines), title: Some(one_line(title)), ..Draft::default() })
}

/// A line that is only a location, or contains a link to one.
pub(super) fn place_line(text: &str) -> Option<&str> {
    let place = location::parse(text);
    let is_place = place.lines.is_some() && place.file.as_deref().is_some_and(location::is_path);
    blob_address(text).or(is_place.then_some(text))
}

/// The URL of a line range in a blob.
pub(super) fn blob_address(text: &str) -> Option<&str> {
    let at = text.find("/blob/")?;
    let start = text[..at]
        .rfind(|part: char| part.is_whitespace() || matches!(part, '(' | '<' | '['))
        .map_or(0, |start| start + 1);
    let end = text[at..]
        .find(|part: char| part.is_whitespace() || matches!(part, ')' | '>' | ']'))
        .map_or(text.len(), |end| at + end);
    Some(&text[start..end]).filter(|address| address.contains("#L"))
}

/// True for a line that is only an HTML tag.
pub(super) fn is_tag(text: &str) -> bool {
    let names = [
        "<details",
        "</details",
        "<summary",
        "</summary",
        "<blockquote",
        "</blockquote",
        "<br",
        "<hr",
        "<table",
        "</table",
        "<tr",
        "</tr",
        "<td",
        "</td",
        "<sub",
        "</sub",
        "<div",
        "</div",
        "<p>",
        "</p>",
        "<a ",
        "<img",
        "<picture",
        "<source",
        "</picture",
    ];
    names.iter().any(|name| text.starts_with(name))
}

/// True for boilerplate that bots append to a finding.
pub(super) fn is_footer(text: &str) -> bool {
    text.starts_with("Useful? React with") || text.starts_with("[Fix in ") || text.starts_with("*Was this helpful")
}
