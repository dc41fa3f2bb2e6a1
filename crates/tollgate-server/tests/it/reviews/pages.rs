//! The pages of stored reviews, rendered in full.

use insta::assert_snapshot;
use tollgate_core::finding::{Category, Severity, Summary};
use tollgate_core::path::FilePath;

use super::{Given, finding, given};
use crate::board::Real;
use crate::world::{World, story};

/// Everything that markup, a terminal or a reader could be fooled with.
const HOSTILE: &str = "\"><script>alert(1)</script><img src=x onerror=alert(2)>'\u{202e}evil\u{1b}[31m&amp;";

/// The text of a page without its frame: tags are taken out, and a line has what an element said.
async fn check(world: &World, path: &str) -> String {
    let said = world.page(path).await;
    assert_eq!(said.status, 200, "{}", said.body);
    text(main(&said.body))
}

fn main(page: &str) -> &str {
    let start = page.find("<main").unwrap();
    &page[start..page.find("</main>").unwrap()]
}

fn text(markup: &str) -> String {
    let mut out = String::new();
    for part in markup.split('<') {
        let said = part.split_once('>').map_or(part, |(_, said)| said);
        out.push_str(said);
        let tag = part.split(['>', ' ']).next().unwrap_or_default();
        if ["/p", "/h1", "/h2", "/h3", "/li", "/td", "/th", "/tr", "/dt", "/dd", "/option", "/label", "/summary"]
            .contains(&tag)
        {
            out.push('\n');
        }
    }
    let lines = out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The text between two texts of a page.
fn part<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let start = page.find(from).unwrap_or_else(|| panic!("no {from} in {page}"));
    let length = page[start..].find(to).unwrap_or_else(|| panic!("no {to} in {page}"));
    &page[start..start + length]
}

#[test]
fn an_empty_list_says_what_to_do() {
    story(|| async {
        let world = World::start();
        let page = world.page("/reviews").await.body;
        assert_snapshot!(text(part(&page, "<div class=\"empty\">", "</div>")), @r"
        Nothing was reviewed yet
        Run tollgate review in a repository: it looks at what differs from the main branch, needs no set-up and no key, and its review appears here.
        Features on the board are reviewed by themselves once their work is done.
        ");
        let page = world.page("/trends").await.body;
        assert_snapshot!(text(part(&page, "<div class=\"empty\">", "</div>")), @r"
        There is nothing to add up yet
        Run tollgate review in a repository. Every review is stored, and its figures appear here.
        ");
    });
}

#[test]
fn a_list_shows_what_each_review_found() {
    story(|| async {
        let real = Real::start();
        let first = real.stored(&Given { findings: vec![finding("Error is ignored", Severity::High)], ..given() });
        real.stored(&Given { prior: Some(first), ..given() });
        real.failed("the model did not answer\nand more");
        let page = real.world.page("/reviews").await.body;
        assert_snapshot!(text(part(&page, "<p class=\"muted small\" id=\"count\">", "</table>")), @"
        Showing 3 of 3
        Stored reviews
        Review
        Verdict
        Findings
        Since the last
        Took
        When
        branch work
        #3 branch work · example.com/o/shop · command line
        the model did not answer
        ! failed
        none
        –
        under 1 s
        9 Jan 2026, 14:22
        Pay by invoice
        #2 branch work · example.com/o/shop · command line
        ✔ Approve
        none
        −1 resolved
        4 s$0.25
        claude, rules
        9 Jan 2026, 14:22
        Pay by invoice
        #1 branch work · example.com/o/shop · command line
        ✖ Needs changes
        ✖ 1 high
        –
        4 s$0.25
        claude, rules
        9 Jan 2026, 14:22
        ");
        assert!(page.contains("data-newer=\"/api/reviews?newer=3&amp;limit=1\""), "{page}");
    });
}

#[test]
fn a_list_that_fits_nothing_offers_to_clear_the_filters() {
    story(|| async {
        let real = Real::start();
        real.stored(&given());
        let page = real.world.page("/reviews?q=nothing%20like+it&severity=High&rule=&order=").await.body;
        assert_snapshot!(text(part(&page, "<ul class=\"active-filters\"", "<div class=\"empty\">")), @r"
        text: nothing like it × (remove this filter)
        severity: High × (remove this filter)
        Clear all
        ");
        assert_snapshot!(text(part(&page, "<div class=\"empty\">", "</div>")), @r"
        No matching reviews
        Remove a filter, or clear all of them.
        ");
        assert!(page.contains("href=\"/reviews?severity=High\""), "each filter can be taken away: {page}");
        assert!(page.contains("<option value=\"High\" selected>High</option>"), "the form keeps what was asked for");
        assert_eq!(real.world.page("/reviews?verdict=fine").await.status, 422);
    });
}

#[test]
fn a_long_list_leads_on() {
    story(|| async {
        let real = Real::start();
        for index in 0..52 {
            real.stored(&Given { title: format!("Change {index}"), ..given() });
        }
        let page = real.world.page("/reviews?verdict=approved").await.body;
        assert!(page.contains("Showing 50 of 52"), "{page}");
        let next = part(&page, "id=\"next\"", "</a>");
        assert!(next.contains("href=\"/reviews?verdict=approved&amp;after=3\""), "{next}");
        let page = real.world.page("/reviews?verdict=approved&after=3").await.body;
        assert_snapshot!(text(part(&page, "<p class=\"muted small\" id=\"count\">", "</p>")), @"Showing 2 of 52, further down the list · back to its beginning");
        assert!(!page.contains("id=\"next\"") && page.contains("href=\"/reviews?verdict=approved\""));
    });
}

#[test]
fn one_review_says_why_it_ended_so() {
    story(|| async {
        let real = Real::start();
        let (old, kept) = (finding("Error is ignored", Severity::High), finding("Name is misleading", Severity::Low));
        let first = real.stored(&Given { findings: vec![old, kept.clone()], ..given() });
        let fresh = finding("Total is rounded twice", Severity::Critical);
        let held = finding("Template is evaluated", Severity::Medium);
        let given = Given { findings: vec![fresh, kept], withheld: vec![held], prior: Some(first), ..given() };
        let second = real.stored(&given);
        assert_snapshot!(check(&real.world, &format!("/reviews/{second}")).await, @"
        Reviews / #2
        Pay by invoice
        Export
        Markdown
        JSON
        SARIF
        One HTML page
        ✖ Block
        1 critical finding must be fixed before merging; also 1 minor finding.
        ✖ 1 critical● 1 low
        Since review 1: 1 new, 1 still open, 1 resolved.
        Must be fixed 1
        ✖ Critical
        Logic new F001 src/pay.rs:22 by rules · ignored-error
        Total is rounded twice
        Nobody looks at the error.
        let _ = pay(); // Total is rounded twice
        Suggestion
        Return it.
        Remarks 1
        ● Low
        Logic F002 src/pay.rs:18 by rules · ignored-error
        Name is misleading
        Nobody looks at the error.
        let _ = pay(); // Name is misleading
        Suggestion
        Return it.
        Resolved since review 1 1
        ✖ High
        Logic ✔ resolved F001 src/pay.rs:16 by rules · ignored-error
        Error is ignored
        Nobody looks at the error.
        let _ = pay(); // Error is ignored
        Suggestion
        Return it.
        Withheld 1
        These do not count, each for the reason below it.
        ▲ Medium
        Logic F003 src/pay.rs:21 by rules · ignored-error
        Template is evaluated
        Nobody looks at the error.
        let _ = pay(); // Template is evaluated
        Suggestion
        Return it.
        suppressed by your own dismissal: it is ours
        About
        Repository
        example.com/o/shop
        Reviewed
        branch work
        From
        command line
        Compared
        work against main
        Commit
        aaaaaaaaaaaa
        Against
        bbbbbbbbbbbb
        Ended
        9 Jan 2026, 14:22 UTC
        Took
        4 s
        Lines added
        12
        Reviewers
        claude, rules
        Cost
        $0.25
        Tokens
        1,200
        Made by
        tollgate 0.1.0
        Coverage
        1 of 2 hunks reviewed, 1 skipped by a rule.
        Skipped
        Cargo.lock:1 generated
        Who was asked
        claude
        Model
        large
        Calls
        2
        Tokens
        1,000 read, 200 written
        Cost
        $0.25
        Time
        3 s
        tollgate history show 2 shows the same at a terminal.
        ");
    });
}

#[test]
fn a_review_that_failed_says_why() {
    story(|| async {
        let real = Real::start();
        let run = real.failed("the model did not answer");
        assert_snapshot!(check(&real.world, &format!("/reviews/{run}")).await, @r"
        Reviews / #1
        branch work
        ! failed
        There is no review, and nothing was approved: the model did not answer.
        About
        Repository
        example.com/o/shop
        Reviewed
        branch work
        From
        command line
        Ended
        9 Jan 2026, 14:22 UTC
        Took
        under 1 s
        Lines added
        0
        Made by
        tollgate 0.1.0
        tollgate history show 1 shows the same at a terminal.
        ");
        let said = real.world.page("/reviews/99").await;
        assert_eq!(said.status, 404);
        assert!(said.body.contains("here is no review 99"), "{}", said.body);
    });
}

#[test]
fn many_findings_are_shown_in_parts() {
    story(|| async {
        let real = Real::start();
        let findings = (0..101).map(|index| finding(&format!("Finding {index}"), Severity::Low)).collect();
        let run = real.stored(&Given { findings, ..given() });
        let page = real.world.page(&format!("/reviews/{run}")).await.body;
        assert_eq!(page.matches("<article").count(), 100);
        assert!(page.contains("100 of 101 findings are shown") && page.contains("/reviews/1?show=400"), "{page}");
        let page = real.world.page(&format!("/reviews/{run}?show=400")).await.body;
        assert_eq!(page.matches("<article").count(), 101);
    });
}

#[test]
fn trends_are_drawn_and_told_as_tables() {
    story(|| async {
        let real = Real::start();
        let first = real.stored(&Given { findings: vec![finding("Error is ignored", Severity::High)], ..given() });
        real.stored(&Given { ended_ms: super::NOW + 86_400_000, prior: Some(first), ..given() });
        let page = real.world.page("/trends?from=2026-01-09&to=2026-01-10").await.body;
        assert_snapshot!(text(part(&page, "<dl class=\"headlines\">", "</dl>")), @r"
        Reviews
        2
        ▲ up from 0
        Findings per review
        0.5
        Blocking findings
        1
        Approved
        50 %
        Resolved rate
        100 %
        Usual time
        4 s
        Cost
        $0.50
        ");
        for id in ["severity", "category", "verdicts", "resolved", "time", "cost", "rules", "dismissed"] {
            assert!(page.contains(&format!("aria-labelledby=\"{id}-heading\"")), "{id}");
        }
        assert_eq!(page.matches("<svg class=\"chart\"").count(), 7);
        let verdicts = part(&page, "aria-labelledby=\"verdicts-heading\"", "</section>");
        assert_snapshot!(text(part(verdicts, "<table", "</table>")), @r"
        Time
        approved
        commented
        changes requested
        failed
        2026-01-09
        0
        0
        1
        0
        2026-01-10
        1
        0
        0
        0
        ");
        let resolved = part(&page, "aria-labelledby=\"resolved-heading\"", "</section>");
        assert_snapshot!(text(part(resolved, "<table", "</table>")), @r"
        Time
        resolved
        2026-01-09
        –
        2026-01-10
        100 %
        ");
        assert_snapshot!(text(part(part(&page, "dismissed-heading\"", "</section>"), "<table", "</table>")), @r"
        Rule
        Findings
        Different
        Dismissed
        ignored-error
        1
        1
        none
        ");
        // Where nothing is known there is no chart of it, and nothing is drawn.
        let page = real.world.page("/trends?from=2025-01-09&to=2025-01-10").await.body;
        assert!(page.contains("Nothing was reviewed in this time") && !page.contains("<svg class=\"chart\""), "{page}");
    });
}

#[test]
fn untrusted_text_is_escaped_on_every_page() {
    story(|| async {
        let real = Real::start();
        let mut odd = finding("x", Severity::High);
        odd.summary = Summary::parse(&HOSTILE.chars().take(80).collect::<String>().replace('\u{1b}', "")).unwrap();
        odd.category = Category::Style;
        odd.location.file = FilePath::parse(&HOSTILE.replace(['\u{1b}', '\u{202e}'], "").replace('/', "_")).unwrap();
        for field in [&mut odd.reason, &mut odd.suggestion, &mut odd.origin.reviewer, &mut odd.origin.rule] {
            *field = Some(HOSTILE.to_owned());
        }
        odd.evidence = HOSTILE.to_owned();
        let hostile = || Given {
            branch: HOSTILE.to_owned(),
            title: HOSTILE.to_owned(),
            findings: vec![odd.clone()],
            withheld: vec![odd.clone()],
            ..given()
        };
        let first = real.stored(&hostile());
        let run = real.stored(&Given { prior: Some(first), findings: vec![], ..hostile() });
        let failed = real.failed(HOSTILE);
        let query = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
        let paths = [
            "/reviews".to_owned(),
            format!("/reviews?q={query}&rule={query}&file={query}&reviewer={query}&repository={query}"),
            format!("/reviews/{first}"),
            format!("/reviews/{run}"),
            format!("/reviews/{failed}"),
            "/trends?from=2026-01-09&to=2026-01-10".to_owned(),
            format!("/trends?repository={query}"),
        ];
        for path in paths {
            let said = real.world.page(&path).await;
            assert_eq!(said.status, 200, "{path}");
            let page = said.body;
            assert!(!page.contains("<script>") && !page.contains("<img"), "{path}: {page}");
            assert!(!page.contains(['\u{202e}', '\u{1b}']), "{path}: {page}");
            assert!(page.contains("alert(1)"), "{path} shows it as text: {page}");
            assert_eq!(page.matches("<script").count(), page.matches("<script type=\"module\" src=\"/assets/").count());
        }
    });
}
