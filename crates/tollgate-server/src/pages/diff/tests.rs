//! Diffs as pages show them, rendered in full.

use std::sync::Arc;

use insta::assert_snapshot;
use proptest::prelude::*;
use tollgate_core::board::Remark;
use tollgate_core::board::iteration::Identity;
use tollgate_core::finding::{Category, Severity};
use tollgate_engine::board::diff_context::SourceText;
use tollgate_engine::reviewer::embedded::colour::{Class, Span};

use super::*;
use crate::pages::finding::{Mark, Offers};

fn of() -> DiffTarget {
    let feature = FeatureId::parse("login").expect("a good name");
    DiffTarget { project: 1, feature, iteration: 2, part: Part::Whole }
}

fn options(view: View) -> Options {
    Options { view, addresses: ["?view=unified".to_owned(), "?view=split".to_owned()] }
}

fn remark(file: &str, line: Option<u32>, title: &str) -> Remark {
    Remark {
        category: Category::Security,
        severity: Severity::High,
        title: title.to_owned(),
        description: "Why.".to_owned(),
        suggestion: Some("How.".to_owned()),
        file: Some(file.to_owned()),
        line,
        evidence: Some("code".to_owned()),
        identity: Some(Identity { id: "F001".to_owned(), fingerprint: "abc".to_owned(), key: None }),
    }
}

/// A repository that has nothing any more.
fn gone(wanted: &[BlobRequest]) -> Result<Vec<Source>, Problem> {
    Ok(vec![Source::Gone; wanted.len()])
}

/// A repository in which every file has this text, with keywords where it says `let`.
fn has(text: &'static str) -> impl Fn(&[BlobRequest]) -> Result<Vec<Source>, Problem> {
    move |wanted| {
        let keyword = |(at, word): (usize, &str)| Span(at as u32, (at + word.len()) as u32, Class::Keyword);
        let spans = text.match_indices("let").map(keyword).collect();
        let text = Arc::new(SourceText::new(text.as_bytes().to_vec(), spans));
        Ok(vec![Source::Text(text); wanted.len()])
    }
}

fn page(diff: &[u8], view: View, findings: &[Remark], read: &Read<'_>) -> String {
    let findings = findings.iter().map(FindingView::of).collect();
    compose(&ReviewedDiff::of(diff.to_vec()), &of(), &options(view), findings, read).expect("it can be shown").0
}

/// The markup from one mark to another, for looking at a part of it.
fn between<'a>(html: &'a str, from: &str, to: &str) -> &'a str {
    let start = html.find(from).expect("it begins");
    let end = html[start..].find(to).expect("it ends");
    &html[start..start + end]
}

const SMALL: &[u8] = b"diff --git a/src/a.rs b/src/a.rs\n\
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644\n\
--- a/src/a.rs\n+++ b/src/a.rs\n@@ -2,2 +2,2 @@ fn main() {\n keep\n-let a = 1;\n+let a = 2;\n\\ No newline at end of file\n";

#[test]
fn one_line_stands_after_the_other_with_its_findings() {
    let html =
        page(SMALL, View::Unified, &[remark("src/a.rs", Some(3), "Odd number")], &has("use x;\nkeep\nlet a = 2;"));
    assert_snapshot!(between(&html, "<details class=\"diff-file\"", "</details>"), @r##"
    <details class="diff-file" id="f0" open>
    <summary class="file-head"><span class="file-status modified" title="modified"><span aria-hidden="true">M</span><span class="sr-only">modified:</span></span>
    <span class="file-name"><bdi>src/a.rs</bdi></span>

    <span class="chip bad"><span aria-hidden="true">✖</span> 1 finding</span>
    <span class="figures"><span class="plus">+1</span> <span class="minus">−1</span></span></summary>




    <div class="chunk"><table class="lines unified" aria-label="Lines of src/a.rs">
    <colgroup><col class="no"><col class="no"><col></colgroup>

    <tbody class="gap" id="f0-g0">
    <tr class="gap-row"><td colspan="3"><span class="steps"><a class="step" href="/projects/1/features/login/iterations/2/files/0?view=unified&amp;part=whole&amp;gap=0&amp;top=0&amp;bottom=1" data-load="gap" title="Show the line" aria-label="Show the line"><span aria-hidden="true">↕</span></a></span><span class="gap-words">1 line not shown</span> <span class="section">fn main() {</span></td></tr>
    </tbody>


    <tbody>
    <tr class="same"><td class="no"><a id="f0-L2" href="#f0-L2" tabindex="-1">2</a></td><td class="no"><a id="f0-R2" href="#f0-R2" tabindex="-1">2</a></td><td class="code same">keep</td></tr>
    <tr class="del"><td class="no"><a id="f0-L3" href="#f0-L3" tabindex="-1">3</a></td><td class="no"></td><td class="code del"><span class="k">let</span> a = <del>1</del>;</td></tr>
    <tr class="add"><td class="no"></td><td class="no"><a id="f0-R3" href="#f0-R3" tabindex="-1">3</a></td><td class="code add"><span class="k">let</span> a = <ins>2</ins>;<span class="no-newline">no newline at end of file</span></td></tr>
    <tr class="finding-row"><td colspan="3"><article class="finding bad" id="d-F001" tabindex="-1"
     data-finding="F001" data-fingerprint="abc">
      <header class="finding-head">
        <span class="chip bad"><span aria-hidden="true">✖</span> High</span>
        <span class="chip muted">Security</span> <span class="finding-id">F001</span> <span class="finding-place"><bdi>src/a.rs:3</bdi></span>
    </header>
      <p class="finding-title" dir="auto">Odd number</p>
    <p class="finding-text" dir="auto">Why.</p>
    <pre class="finding-code" tabindex="0" aria-label="evidence"><code>code</code></pre>
    <p class="finding-label">Suggestion</p>
      <p class="finding-text" dir="auto">How.</p>
    </article></td></tr>
    </tbody>


    </table></div>
    "##);
}

#[test]
fn both_sides_stand_beside_each_other() {
    let html = page(SMALL, View::Split, &[], &gone);
    assert_snapshot!(between(&html, "<p class=\"file-note\">", "</details>"), @r##"
    <p class="file-note">The repository does not have this version any more, so the file is shown without what is around its hunks, and without colours.</p>




    <div class="chunk"><table class="lines split" aria-label="Lines of src/a.rs">
    <colgroup><col class="no"><col><col class="no"><col></colgroup>

    <tbody class="gap" id="f0-g0">
    <tr class="gap-row"><td colspan="4"><span class="steps"></span><span class="gap-words">1 line not shown</span> <span class="section">fn main() {</span></td></tr>
    </tbody>


    <tbody>
    <tr><td class="no"><a id="f0-L2" href="#f0-L2" tabindex="-1">2</a></td><td class="code same">keep</td><td class="no"><a id="f0-R2" href="#f0-R2" tabindex="-1">2</a></td><td class="code same">keep</td></tr>
    <tr><td class="no"><a id="f0-L3" href="#f0-L3" tabindex="-1">3</a></td><td class="code del">let a = <del>1</del>;</td><td class="no"><a id="f0-R3" href="#f0-R3" tabindex="-1">3</a></td><td class="code add">let a = <ins>2</ins>;<span class="no-newline">no newline at end of file</span></td></tr>
    </tbody>


    </table></div>
    "##);
}

#[test]
fn a_finding_is_shown_with_all_its_words_and_marks() {
    let mut finding = FindingView::of(&remark("a.rs", Some(3), "<b>Title</b>"));
    finding.reviewer = Some("claude".to_owned());
    finding.mark = Mark::Dismissed { by: "ann".to_owned(), reason: "known".to_owned() };
    finding.offers = Offers { dismiss: false, restore: true, settle: false, copy: true };
    let shown =
        compose(&ReviewedDiff::default(), &of(), &options(View::Unified), vec![finding], &gone).expect("shown").0;
    assert_snapshot!(between(&shown, "<div class=\"elsewhere panel\"", "</section>"), @r#"
    <div class="elsewhere panel"><h3>On no file of this change</h3>
    <article class="finding bad dismissed" tabindex="-1"
     data-finding="F001" data-fingerprint="abc">
      <header class="finding-head">
        <span class="chip bad"><span aria-hidden="true">✖</span> High</span>
        <span class="chip muted">Security</span> <span class="chip muted">dismissed</span> <span class="finding-id">F001</span> <span class="finding-place"><bdi>a.rs:3</bdi></span> <span class="finding-by">by <bdi>claude</bdi></span>
    </header>
      <p class="finding-title" dir="auto">&lt;b&gt;Title&lt;/b&gt;</p>
    <p class="finding-dismissed" dir="auto">Dismissed by <bdi>ann</bdi>: known</p>
    <p class="finding-text" dir="auto">Why.</p>
    <pre class="finding-code" tabindex="0" aria-label="evidence"><code>code</code></pre>
    <p class="finding-label">Suggestion</p>
      <p class="finding-text" dir="auto">How.</p>
    <p class="finding-acts" data-needs-script hidden> <button type="button" class="button quiet" data-act="restore">Count it again</button> <button type="button" class="button quiet" data-act="copy">Copy as prompt</button>
    </p>
    </article></div>

    <div class="empty"><p>Nothing changed: there is no line to show.</p></div>
    "#);
}

#[test]
fn rows_beyond_the_page_are_counted_and_can_be_loaded() {
    let lines = |n: usize| (0..n).map(|index| format!("+let a{index} = {index};\n")).collect::<String>();
    let file = |name: &str, n: usize| {
        format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -0,0 +1,{n} @@\n{}", lines(n))
    };
    let names: Vec<String> = (0..5).map(|index| format!("src/f{index}.rs")).collect();
    let mut diff = file("big.rs", 801) + &file("package-lock.json", 3);
    diff += &names.iter().map(|name| file(name, 700)).collect::<String>();
    let html = page(diff.as_bytes(), View::Unified, &[remark("big.rs", Some(600), "Deep inside")], &gone);
    let said: Vec<&str> = ["<span class=\"chip muted why\">", "data-load=\"rows\">", "data-load=\"at\">"]
        .iter()
        .flat_map(|mark| html.match_indices(mark).map(|(at, _)| html[at..].lines().next().unwrap_or_default()))
        .collect();
    assert_snapshot!(said.join("\n"), @r#"
    <span class="chip muted why">folded: 801 changed lines</span>
    <span class="chip muted why">folded: 3 changed lines, written by a program</span>
    data-load="rows">Show 801 lines</a></p>
    data-load="rows">Show 3 lines</a></p>
    data-load="rows">Show 200 more lines</a></p>
    data-load="rows">Show 200 more lines</a></p>
    data-load="rows">Show 200 more lines</a></p>
    data-load="rows">Show 700 lines</a></p>
    data-load="rows">Show 700 lines</a></p>
    data-load="at"><span class="chip bad"><span aria-hidden="true">✖</span> High</span> F001 line 600</a> <span dir="auto">Deep inside</span></li>
    "#);
    let hrefs: Vec<&str> = html
        .match_indices("href=\"/projects")
        .map(|(at, _)| html[at + 6..].split('"').next().unwrap_or_default())
        .collect();
    assert_snapshot!(hrefs.join("\n"), @"
    /projects/1/features/login/iterations/2/files/0?view=unified&amp;part=whole&amp;at=R600#f0-R600
    /projects/1/features/login/iterations/2/files/0?view=unified&amp;part=whole&amp;from=0
    /projects/1/features/login/iterations/2/files/1?view=unified&amp;part=whole&amp;from=0
    /projects/1/features/login/iterations/2/files/2?view=unified&amp;part=whole&amp;from=500
    /projects/1/features/login/iterations/2/files/3?view=unified&amp;part=whole&amp;from=500
    /projects/1/features/login/iterations/2/files/4?view=unified&amp;part=whole&amp;from=500
    /projects/1/features/login/iterations/2/files/5?view=unified&amp;part=whole&amp;from=0
    /projects/1/features/login/iterations/2/files/6?view=unified&amp;part=whole&amp;from=0
    ");
}

#[test]
fn every_kind_of_file_says_what_it_is() {
    let diff = b"\
diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n\
diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n\
diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n\
diff --git a/sub b/sub\nindex 1111111..2222222 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n-Subproject commit 1111111\n+Subproject commit 2222222\n\
diff --git \"a/\\377\\303\\244.txt\" \"b/\\377\\303\\244.txt\"\nindex 1..2 100644\n--- \"a/\\377\\303\\244.txt\"\n+++ \"b/\\377\\303\\244.txt\"\n@@ -1 +1 @@\n-a\n+b\n\
diff --git a/gone b/gone\ndeleted file mode 100644\nindex e69de29..0000000\n";
    let html = page(diff, View::Unified, &[], &gone);
    let mut said = Vec::new();
    for file in html.split("<details class=\"diff-file\"").skip(1) {
        said.push(between(file, "<span class=\"sr-only\">", "</span></span>").replace("<span class=\"sr-only\">", ""));
        said.push(between(file, "<bdi>", "<span class=\"figures\"").to_owned());
        said.extend(
            file.match_indices("file-note\">")
                .map(|(at, mark)| between(&file[at + mark.len()..], "", "</p>").to_owned()),
        );
    }
    assert_snapshot!(said.join("\n"), @r#"
    renamed:
    <bdi>new name</bdi> <span class="muted">← <bdi>old name</bdi></span></span>



    Renamed without a change.
    modified:
    <bdi>run.sh</bdi></span>



    Mode 100644 → 100755: the file became executable.
    No line changed.
    modified:
    <bdi>logo.png</bdi></span>



    Binary file: there are no lines to show.
    added:
    <bdi>empty</bdi></span>



    The new file is empty.
    modified:
    <bdi>sub</bdi></span>



    A submodule: the line names a commit of another repository.
    modified:
    <bdi>\xffä.txt</bdi></span>



    The repository does not have this version any more, so the file is shown without what is around its hunks, and without colours.
    deleted:
    <bdi>gone</bdi></span>



    The deleted file was empty.
    "#);
}

#[test]
fn nothing_of_a_change_is_markup() {
    let hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{202e}\u{2066}\u{200b}";
    let name = "a<script>\\\"b";
    let diff = format!(
        "diff --git \"a/{name}\" \"b/{name}\"\n--- \"a/{name}\"\n+++ \"b/{name}\"\n\
         @@ -1,2 +1,2 @@ {hostile}\n {hostile}\n-old {hostile}\n+new {hostile}\n\
         diff --git a/<i>.bin b/<i>.bin\nBinary files a/<i>.bin and b/<i>.bin differ\n"
    );
    let mut all = remark(hostile, Some(1), hostile);
    (all.description, all.suggestion, all.evidence) =
        (hostile.to_owned(), Some(hostile.to_owned()), Some(hostile.to_owned()));
    all.identity =
        Some(Identity { id: hostile.to_owned(), fingerprint: hostile.to_owned(), key: Some(hostile.to_owned()) });
    let here = Remark { file: Some("a<script>\"b".to_owned()), ..all.clone() };
    for view in [View::Unified, View::Split] {
        let html = page(diff.as_bytes(), view, &[all.clone(), here.clone()], &gone);
        assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("<i>"), "{html}");
        assert!(!html.contains(['\u{202e}', '\u{2066}', '\u{200b}']), "{html}");
        assert!(html.matches("\\u{202e}").count() >= 8, "{html}");
    }
}

#[test]
fn secrets_are_covered_also_where_only_the_file_tells_that_they_are_some() {
    let diff = b"diff --git a/k b/k\nindex 1111111..2222222 100644\n--- a/k\n+++ b/k\n@@ -2,1 +2,2 @@\n \
MIIEpAIBAAKCAQEAx9Kd02mVqLz7Rk4YbXc3NpWt8sHjGfEuQaZvB1n5Oi6Ty0Ue\n+abc\n";
    let covered =
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE************************************************************\nabc\n";
    let html = page(diff, View::Unified, &[], &has(covered));
    assert!(html.contains("MIIE****") && !html.contains("x9Kd02mV"), "{html}");
}

#[test]
fn a_gap_opens_from_its_ends_and_never_further_than_it_is() {
    let text: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let diff = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -5,1 +5,1 @@\n-a\n+line 5\n@@ -50,1 +50,1 @@\n-b\n+line 50\n";
    let shown = ReviewedDiff::of(diff.to_vec());
    let texts = Texts { old: None, new: Some(Arc::new(SourceText::new(text.into_bytes(), vec![]))) };
    let sheet = Sheet::new(&shown.files[0], 3, View::Unified, "/f?view=unified", texts);
    let opened = |gap: usize, top: u32, bottom: u32| {
        let html = sheet.gap(gap, top, bottom).expect("rendered").map(|markup| markup.0);
        html.map(|html| {
            let numbers: Vec<&str> = html
                .match_indices("id=\"f3-R")
                .map(|(at, mark)| html[at + mark.len()..].split('"').next().unwrap_or(""))
                .collect();
            let steps: Vec<&str> = html
                .match_indices("aria-label=\"Show")
                .map(|(at, _)| html[at + 12..].split('"').next().unwrap_or(""))
                .collect();
            format!("{} [{}]", numbers.join(" "), steps.join(", "))
        })
    };
    assert_snapshot!(opened(0, 0, 0).expect("a gap"), @" [Show all 4 lines]");
    assert_snapshot!(opened(1, 0, 0).expect("a gap"), @" [Show 20 lines below the hunk above, Show 20 lines above the hunk below, Show all 44 lines]");
    assert_snapshot!(opened(1, 2, 1).expect("a gap"), @"6 7 49 [Show 20 lines below the hunk above, Show 20 lines above the hunk below, Show all 41 lines]");
    assert_snapshot!(opened(2, 99, 99).expect("a gap"), @"51 52 53 54 55 56 57 58 59 60 []");
    assert_snapshot!(opened(1, u32::MAX, u32::MAX).expect("a gap").len(), @"130");
    assert_eq!(opened(3, 1, 1), None);
}

/// The text of any diff of one file: hunks in order, with any lines.
fn any_diff() -> impl Strategy<Value = String> {
    let line = ("[ +-]", "[a-c =]{0,5}").prop_map(|(mark, text)| format!("{mark}{text}\n"));
    let hunk = (0_u32..9, prop::collection::vec(line, 1..12));
    prop::collection::vec(hunk, 1..5).prop_map(|hunks| {
        let (mut old, mut new, mut text) = (1, 1, String::from("diff --git a/x b/x\n--- a/x\n+++ b/x\n"));
        for (gap, lines) in hunks {
            (old, new) = (old + gap, new + gap);
            let count = |not: char| {
                let n_lines = lines.iter().filter(|line| !line.starts_with(not)).count();
                u32::try_from(n_lines).unwrap_or_default()
            };
            let (n_old, n_new) = (count('+'), count('-'));
            let start = |at: u32, n: u32| if n == 0 { at - 1 } else { at };
            text += &format!("@@ -{},{n_old} +{},{n_new} @@\n{}", start(old, n_old), start(new, n_new), lines.concat());
            (old, new) = (old + n_old, new + n_new);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Parts loaded in any order fit together, and no row comes twice.
    #[test]
    fn parts_fit_together(n_lines in 1_u32..2_600, at in 1_u32..2_600) {
        let lines: String = (1..=n_lines).map(|n| format!("+{n}\n")).collect();
        let diff = format!("diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,{n_lines} @@\n{lines}");
        let shown = ReviewedDiff::of(diff.into_bytes());
        let sheet = Sheet::new(&shown.files[0], 0, View::Unified, "/f?v=u", Texts::default());
        let query = |href: &str, name: &str| -> Option<usize> {
            href.split(['?', '&']).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
        };
        let mut todo: Vec<(usize, Option<usize>, Option<String>)> = vec![(0, None, Some(format!("R{at}")))];
        let mut seen: Vec<u32> = Vec::new();
        while let Some((from, to, at)) = todo.pop() {
            let html = sheet.part(from, to, at.as_deref()).expect("rendered").0;
            let numbers = html.match_indices(" id=\"f0-R").map(|(at, mark)| html[at + mark.len()..].split('"').next());
            let numbers: Vec<u32> = numbers.filter_map(|number| number?.parse().ok()).collect();
            prop_assert!(numbers.len() <= sheet::ROWS);
            prop_assert!(!numbers.is_empty());
            seen.extend(numbers);
            for (at, _) in html.match_indices("href=\"/f?") {
                let href = html[at + 6..].split('"').next().unwrap_or_default().replace("&amp;", "&");
                todo.push((query(&href, "from").unwrap_or(0), query(&href, "to"), None));
            }
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (1..=n_lines).collect::<Vec<_>>());
    }

    /// A page of any diff of any sizes renders, and names every finding.
    #[test]
    fn no_finding_is_lost(text in any_diff(), line in 0_u32..40, is_here in any::<bool>()) {
        let file = if is_here { "x" } else { "y" };
        for view in [View::Unified, View::Split] {
            let html = page(text.as_bytes(), view, &[remark(file, Some(line), "Look here")], &gone);
            prop_assert_eq!(html.matches("Look here").count(), 1);
        }
    }
}
