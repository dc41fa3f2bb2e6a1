//! The self-contained HTML report.

use proptest::prelude::*;
use tollgate_core::diff::{self, FileDiff};
use tollgate_core::finding::{Finding, Fix, LineRange, Severity, Side};
use tollgate_core::gate::Gate;
use tollgate_core::report::html;
use tollgate_core::review::Review;

use crate::arbitrary;
use crate::sample;

const DIFF: &str = "diff --git a/a.rs b/a.rs\nindex 1111111..2222222 100644\n--- a/a.rs\n+++ b/a.rs\n\
    @@ -1,3 +1,3 @@ fn main() {\n one\n-let x = old(1);\n+let x = new(1);\n three\n";

fn files(text: &str) -> Vec<FileDiff> {
    let (files, refused) = diff::parse(text.as_bytes().to_vec());
    assert_eq!(refused, []);
    files
}

fn page(findings: Vec<Finding>, diff: &str) -> String {
    html::write(&sample::with(findings), &files(diff), None)
}

/// The rendered text: tags stripped, entities decoded, one line per block.
fn shown(page: &str) -> String {
    let body = page.split_once("<main>").unwrap().1.split_once("</main>").unwrap().0;
    let mut text = String::new();
    for part in body.split('<') {
        text.push_str(part.split_once('>').map_or(part, |(_, text)| text));
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    let lines = text.replace("&amp;", "&");
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Checks that tags are nested and that only the tags of the template are there.
fn assert_well_formed(page: &str) {
    const VOID: [&str; 1] = ["meta"];
    const KNOWN: [&str; 34] = [
        "html", "head", "title", "style", "body", "a", "header", "p", "h1", "h2", "h3", "h4", "main", "section",
        "span", "ul", "ol", "li", "b", "div", "strong", "code", "pre", "nav", "article", "details", "summary", "del",
        "ins", "footer", "meta", "!doctype", "em", "i",
    ];
    let (head, rest) = page.split_once("<style>").unwrap();
    let rest = rest.split_once("</style>").unwrap().1;
    let markup = [head, rest].concat();
    let mut open = Vec::new();
    for tag in markup.split('<').skip(1).map(|part| part.split_once('>').expect("a tag ends").0) {
        let name = tag.trim_start_matches('/').split(' ').next().unwrap();
        assert!(KNOWN.contains(&name), "unknown tag {name}");
        assert!(tag.matches('"').count().is_multiple_of(2), "quotes in {tag}");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !VOID.contains(&name) && name != "!doctype" {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_finding_stands_under_its_line() {
    let mut finding = sample::finding(Severity::High, "a.rs:2", "Uses `new`");
    finding.fix = Some(Fix { lines: LineRange::line(2), replacement: "let x = best(1);".to_owned() });
    finding.origin.rule = Some("no-new".to_owned());
    insta::assert_snapshot!(shown(&page(vec![finding], DIFF)), @"
    ✖ Needs changes
    1 major finding must be fixed before merging
    1 High
    Findings
    HighUses newa.rs:2
    By file
    a.rs +1 −1
    @@ -1,3 +1,3 @@ fn main() {
    11 one
    2-let x = old(1);
    2+let x = new(1);
    High Uses new
    F001 · Logic · line 2
    It matters.
    Suggested fix
    -let x = new(1);
    +let x = best(1);
    no-new · fp-aab934807815616f
    33 three
    ");
}

#[test]
fn a_finding_on_a_removed_line_stands_under_it() {
    let mut finding = sample::finding(Severity::High, "a.rs:2", "Check removed");
    finding.location.side = Side::Left;
    let text = shown(&page(vec![finding], DIFF));
    let order: Vec<_> = ["old(1)", "Check removed\nF001", "new(1)"].map(|part| text.find(part).unwrap()).to_vec();
    assert!(order.is_sorted(), "{order:?}\n{text}");
}

#[test]
fn changed_words_are_marked() {
    let page = page(Vec::new(), DIFF);
    assert!(page.contains("let x = <del>old</del>(1);") && page.contains("let x = <ins>new</ins>(1);"), "{page}");
}

#[test]
fn without_the_change_the_evidence_is_shown() {
    let text = shown(&html::write(&sample::review(), &[], Some(Gate::Closed)));
    assert!(text.contains("await fetch(url).then(r => r.json())"), "{text}");
    assert!(text.contains("throw new NetworkError('Failed to fetch data', { cause: error });"), "{text}");
}

#[test]
fn nothing_is_loaded_and_nothing_runs() {
    let mut finding = sample::finding(Severity::Low, "a.rs:2", "<script>alert(1)</script>");
    finding.origin.rule = Some("x".to_owned());
    finding.origin.rule_url = Some("javascript:alert(1)".to_owned());
    let page = page(vec![finding], DIFF);
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""));
    for word in ["<script", "<link", "<img", "src=", "url(", "@import", "javascript:"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn truncated_parts_are_counted() {
    let lines: String = (0..30_000).map(|number| format!("+line {number}\n")).collect();
    let long = format!(
        "diff --git a/long b/long\nnew file mode 100644\n--- /dev/null\n+++ b/long\n@@ -0,0 +1,30000 @@\n{lines}"
    );
    let page = page(Vec::new(), &format!("{long}{DIFF}"));
    assert!(shown(&page).contains("30,000 lines of the change are not shown on this page."), "no count");
    assert!(page.contains("let x = <del>old</del>(1);"), "what fits is shown");
}

#[test]
fn a_huge_hunk_with_a_finding_shows_what_is_near_it() {
    let lines: String = (0..50_000).map(|number| format!("+line {number}\n")).collect();
    let long = format!(
        "diff --git a/long b/long\nnew file mode 100644\n--- /dev/null\n+++ b/long\n@@ -0,0 +1,50000 @@\n{lines}"
    );
    let page = page(vec![sample::finding(Severity::Low, "long:25000", "Here")], &long);
    assert!(page.contains("line 24999<") && !page.contains("line 1<"));
    assert!(page.contains("49,975 lines of the change are not shown on this page."), "no count");
}

#[test]
fn an_endless_line_is_cut_with_a_count() {
    let page = page(Vec::new(), &DIFF.replace("new", &"n".repeat(5_000)));
    assert!(page.contains("… 3,012 more characters"), "no count");
    assert!(page.len() < 20_000);
}

#[test]
fn lines_far_from_a_finding_are_folded() {
    let lines: String = (0..100).map(|number| format!("+line {number}\n")).collect();
    let long = format!(
        "diff --git a/long b/long\nnew file mode 100644\n--- /dev/null\n+++ b/long\n@@ -0,0 +1,100 @@\n{lines}"
    );
    let page = page(vec![sample::finding(Severity::Low, "long:50", "Here")], &long);
    let folded: Vec<_> = page.matches(" lines folded").collect();
    assert_eq!(folded.len(), 2);
    assert!(page.contains("line 0<") && page.contains("line 99<"));
}

#[test]
fn invisible_characters_can_be_seen() {
    let page = page(vec![sample::finding(Severity::Low, "a.rs:2", "x\u{202e}y")], &DIFF.replace("new", "n\u{200b}ew"));
    assert!(page.contains("x\\u{202e}y") && page.contains("<span class=\"hidden-char\">\\u{200b}</span>"));
}

/// A diff that has the lines of the first finding.
fn diff_for(review: &Review) -> Vec<FileDiff> {
    let Some(finding) = review.findings.first() else { return Vec::new() };
    let (line, text) = (finding.location.lines.start(), finding.evidence.replace(['\n', '\r'], " "));
    let path = finding.location.file.as_str().replace('"', "x");
    let text = format!(
        "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{line},1 +{line},1 @@ {text}\n-{text}\n+{text}x\n"
    );
    diff::parse(text.into_bytes()).0
}

proptest! {
    #[test]
    fn no_text_becomes_markup(review in arbitrary::review()) {
        let page = html::write(&review, &diff_for(&review), None);
        assert_well_formed(&page);
        prop_assert!(!page.chars().any(tollgate_core::visible::is_hidden));
        for finding in &review.findings {
            let class = finding.severity.as_str().to_lowercase();
            let card = format!("<article class=\"finding {class}\" id=\"{}\"", finding.id);
            prop_assert_eq!(page.matches(&card).count(), 1);
        }
    }
}
