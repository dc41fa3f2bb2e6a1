//! The page of a feature, rendered in full.

use insta::assert_snapshot;
use tollgate_core::board::machine::{Event, State, Status, Work};
use tollgate_core::board::{Compliance, Criterion, FeatureId, Iteration, Met, NO_ANSWER, Outcome, Override, Remark};
use tollgate_core::finding::{Category, Severity};
use tollgate_core::review::Withheld;
use tollgate_engine::store::board::{Changes, Facts, Field, NewFeature, NewIteration, Transition};

use crate::record::{answered, remark, review, run, with_run, write_audit};
use crate::stored::{transition, with_diff};
use crate::world::{NOW, World, story};

/// What a person reads of a page or a part of one: the text of its elements, one line each.
fn read(html: &str) -> String {
    let start = html.find("<main").unwrap_or(0);
    let html = &html[start..html.find("</main>").unwrap_or(html.len())];
    let html = html.split("<noscript>").map(|part| part.split_once("</noscript>").map_or(part, |(_, rest)| rest));
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for piece in html.collect::<String>().split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
        let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let is_inline =
            ["span", "bdi", "code", "strong", "b", "a", "time", "kbd", "option", "dt", "dd"].contains(&&*name);
        if !is_inline && !line.trim().is_empty() {
            lines.push(std::mem::take(&mut line).split_whitespace().collect::<Vec<_>>().join(" "));
        }
        line.push_str(text);
    }
    lines.join("\n")
}

/// The part of a page with this id.
fn part<'a>(html: &'a str, id: &str) -> &'a str {
    let start = html.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id} in {html}"));
    let rest = &html[start..];
    let end = rest[1..].find("id=\"part-").map_or(rest.len(), |end| end + 1);
    &rest[..end]
}

struct Shown {
    world: World,
    project: u64,
    feature: String,
}

impl Shown {
    /// A feature of which nothing is known but its file.
    async fn added() -> Self {
        let world = World::start();
        let (project, feature) = world.project_with_feature().await;
        Self { world, project, feature }
    }

    /// A feature that went through these reviews.
    async fn reviewed(reviews: Vec<NewIteration>) -> Self {
        let shown = Self::added().await;
        shown.world.review(shown.project, &shown.feature, reviews);
        shown
    }

    /// A feature that waits for a person after two rounds, with two reviews to look at.
    async fn rejected() -> Self {
        let shown = Self::added().await;
        let Self { world, project, feature } = &shown;
        let gone = remark(1, Severity::Critical, "Secret in source");
        let open = remark(2, Severity::High, "Input is run");
        let first = review(1, vec![gone, open.clone()]);
        let mut second =
            review(2, vec![open, remark(3, Severity::Medium, "No test"), remark(4, Severity::Nit, "A typo")]);
        second.late = vec![remark(5, Severity::High, "Said too late")];
        let criterion =
            |number: u32, met| (Criterion { id: format!("C{number}"), text: format!("Point {number}") }, met);
        second.compliance = Compliance {
            criteria: vec![
                criterion(1, Met::Yes { evidence: "src/a.js:3".to_owned() }),
                criterion(2, Met::No { evidence: "it is not there".to_owned() }),
                criterion(3, Met::Unclear { evidence: None }),
            ],
        };
        second.notes = vec!["the change alters `.tollgate.toml`".to_owned()];
        let by =
            |event, who: &str, at_ms| Transition { who: who.to_owned(), at_ms, ..transition(*project, feature, event) };
        world.happen(by(Event::Start, "Ada", NOW - 22 * 60_000));
        world.commit(*project, feature, &"1".repeat(40));
        world.end_review(*project, feature, with_run(first, run()), 1);
        let note = Some("Use the store.".to_owned());
        world.happen(Transition { note, ..by(Event::SendBack, "Grace", NOW - 12 * 60_000) });
        world.commit(*project, feature, &"2".repeat(40));
        world.end_review(*project, feature, with_run(second, run()), 1);
        write_audit(world, (*project, feature), 2, &answered());
        world.write_output(*project, feature, 2, "I wrote it.\n");
        shown
    }

    async fn page(&self, tail: &str) -> String {
        let path = format!("/projects/{}/features/{}{tail}", self.project, self.feature);
        let said = self.world.page(&path).await;
        assert_eq!(said.status, 200, "{tail}: {}", said.body);
        said.body
    }
}

#[test]
fn the_head_says_where_it_stands_and_why_and_what_can_be_done() {
    story(|| async {
        let shown = Shown::rejected().await;
        assert_snapshot!(read(part(&shown.page("").await, "part-head")), @"
        Board › feature-000002
        Add login
        ▶ In progress
        It waits for you: the iteration limit was reached. Resume it with a note to the agent, approve it with a reason, or dismiss what is wrong and review it again.
        Resume …
        Approve anyway …
        Send back …
        Review again
        Actions
        StartNot now: it is paused: the iteration limit was reached.
        StopNot now: it is paused: the iteration limit was reached.
        Resume …Lets it go on with all rounds anew. The agent reads your note first.
        Approve anyway … aApproves it against the review. Your reason is recorded.
        Send back … xHas an agent work on it once more. It reads your note first.
        Review again rHas the same commit reviewed once more, e.g. after you dismissed findings.
        To the backlogNobody works on it until it is started again.
        CompleteNot now: it is paused: the iteration limit was reached.
        Edit … eChanges its title, description and settings.
        Remove the work tree …Not now: it has no work tree.
        Delete …Takes it off the board; its folder is put aside, its branch and history stay.
        Copy as prompt
        Export
        Markdown
        JSON
        SARIF
        HTML
        The reviewer answers
        Verdict: ✖ Rejected
        Fix what is wrong.
        Iteration 1, rejected Iteration 2, rejected Compare round 1 of 3
        Commit2222222222
        Compared with0000000000
        Reviewed byopus (anthropic)
        Review took4 s
        Priority2
        GroupUncategorized
        ");
    });
}

#[test]
fn findings_are_grouped_by_what_they_mean() {
    story(|| async {
        let shown = Shown::rejected().await;
        assert_snapshot!(read(part(&shown.page("").await, "part-findings")), @"
        Findings
        4 open of 6 findings Unresolved only
        Filter
        Text
        Severity
        Allerrorwarninginfo
        Category
        AllSecurityLogic
        File
        Allsrc/a.jssrc/pay.rs
        Unresolved only
        Apply
        ✖ Errors 1
        ✖High: Input is run src/a.js:2 Security · F002
        What a user types is run.
        eval(2)
        Suggestion
        Parse it.
        Dismiss …
        Copy as prompt
        ▲ Warnings 1
        ▲Medium: No test src/a.js:3 Security · F003 new
        What a user types is run.
        eval(3)
        Suggestion
        Parse it.
        Dismiss …
        Copy as prompt
        ● Info 1
        ●Nit: A typo src/a.js:4 Security · F004 new
        What a user types is run.
        eval(4)
        Suggestion
        Parse it.
        Dismiss …
        Copy as prompt
        ◷ Late 1
        Said of lines that the review before passed: too late to reject.
        ✖High: Said too late src/a.js:5 Security · F005
        What a user types is run.
        eval(5)
        Suggestion
        Parse it.
        Dismiss …
        Copy as prompt
        ✔ Resolved since the last review 1
        ✖Critical: Secret in source src/a.js:1 Security · F001
        What a user types is run.
        eval(1)
        Suggestion
        Parse it.
        – Left out 1
        Found, and does not count; each says why.
        ●Low: Long line src/pay.rs:9 Logic · F009
        Does not count: milder than the floor.
        Nobody looks at the error.
        let _ = pay(); // Long line
        Suggestion
        Return it.
        ");
    });
}

#[test]
fn output_criteria_coverage_and_timeline_stand_beside_the_review() {
    story(|| async {
        let shown = Shown::rejected().await;
        assert_snapshot!(read(part(&shown.page("").await, "part-about")), @"
        Agent output
        iteration 2
        Follow
        Show earlier
        I wrote it.
        Acceptance criteria
        1 of 3 met, 1 not met, 1 unclear
        ✔ met C1 Point 1
        src/a.js:3
        ✖ not met C2 Point 2
        it is not there
        ? unclear C3 Point 3
        Coverage
        ▲ 1 of 3 hunks not looked at
        main..feature · stored review 2
        Not looked at
        src/a.js The budget was used up.
        Skipped
        src/a.js:20–29 generated
        Looked at
        src/a.js 1 hunk
        Who looked
        built-in rules
        claude (opus) 2 calls, 1200 tokens $0.25
        Timeline
        11 events
        9 Jan 2026, 14:22 the review sent it back
        9 Jan 2026, 14:22 its work was committed
        9 Jan 2026, 14:22 the agent was done
        9 Jan 2026, 14:22 an agent began
        9 Jan 2026, 14:22 the review sent it back
        9 Jan 2026, 14:22 its work was committed
        9 Jan 2026, 14:22 the agent was done
        9 Jan 2026, 14:22 an agent began
        9 Jan 2026, 14:22 added to the board
        9 Jan 2026, 14:10 sent back to the agent by Grace
        Use the store.
        9 Jan 2026, 14:00 started by Ada
        Description
        Users can sign in
        Notes of the review
        1
        the change alters `.tollgate.toml`
        Prompt and answer
        for audit
        What reviewers were asked and said in iteration 2
        ");
    });
}

/// The titles of the findings that are listed, in order.
fn titles(html: &str) -> Vec<String> {
    let items = part(html, "part-findings").split("class=\"fi-title\" dir=\"auto\">").skip(1);
    items.map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
}

#[test]
fn the_address_says_which_findings_are_listed() {
    story(|| async {
        let shown = Shown::rejected().await;
        let check = async |tail: &str, expected: &[&str]| {
            let page = shown.page(tail).await;
            assert_eq!(titles(&page), expected, "{tail}");
        };
        check("?severity=error", &["Input is run", "Said too late", "Secret in source"]).await;
        check("?severity=warning", &["No test"]).await;
        check("?q=TYPO", &["A typo"]).await;
        check("?file=src/b.js", &[]).await;
        check("?category=Perf", &[]).await;
        check("?open=1", &["Input is run", "No test", "A typo", "Said too late"]).await;
        check("?iteration=1", &["Secret in source", "Input is run", "Long line"]).await;
        check("?iteration=1&severity=error&q=secret", &["Secret in source"]).await;
        let page = shown.page("?q=nothing").await;
        assert!(page.contains("No matching findings."), "{page}");
        // A form sends the rest of the address along.
        let page = shown.page("?iteration=1&q=x").await;
        assert!(page.contains(r#"<input type="hidden" name="iteration" value="1">"#), "{page}");
    });
}

#[test]
fn two_reviews_are_compared_in_columns() {
    story(|| async {
        let shown = Shown::rejected().await;
        assert_snapshot!(read(part(&shown.page("?compare=2,1").await, "part-findings")), @"
        Iteration 1 and 2
        1 resolved, 1 still open, 3 new
        Earlier
        12
        Later
        12
        Compare
        ✔ Resolved 1
        ✖Critical: Secret in source src/a.js:1 Security · F001
        What a user types is run.
        eval(1)
        Suggestion
        Parse it.
        ▲ Still open 1
        ✖High: Input is run src/a.js:2 Security · F002
        What a user types is run.
        eval(2)
        Suggestion
        Parse it.
        Dismiss …
        Copy as prompt
        ✖ New 3
        ▲Medium: No test src/a.js:3 Security · F003 new
        What a user types is run.
        eval(3)
        Suggestion
        Parse it.
        Dismiss …
        Copy as prompt
        ●Nit: A typo src/a.js:4 Security · F004 new
        What a user types is run.
        eval(4)
        Suggestion
        Parse it.
        Dismiss …
        Copy as prompt
        ✖High: Said too late src/a.js:5 Security · F005 new
        What a user types is run.
        eval(5)
        Suggestion
        Parse it.
        Dismiss …
        Copy as prompt
        ");
    });
}

#[test]
fn a_dismissed_finding_says_who_and_why_and_can_be_taken_back() {
    story(|| async {
        let shown = Shown::rejected().await;
        let path =
            format!("/api/projects/{}/features/{}/iterations/2/findings/F002/dismiss", shown.project, shown.feature);
        assert_eq!(
            shown.world.ask_as_person("POST", &path, r#"{"reason":"It is ours.","by":"Ada"}"#).await.status,
            200
        );
        let page = shown.page("").await;
        assert!(page.contains("Dismissed by <bdi>Ada</bdi>: It is ours."), "{page}");
        let item = page.split("id=\"f-F002\"").nth(1).unwrap().split("</li>").next().unwrap();
        assert!(item.contains("data-act=\"restore\"") && !item.contains("data-act=\"dismiss\""), "{item}");
        assert!(read(part(&page, "part-about")).contains("a finding was dismissed: Input is run by Ada"), "{page}");
        assert_eq!(titles(&shown.page("?open=1").await), ["No test", "A typo", "Said too late"]);
    });
}

#[test]
fn a_proposed_dismissal_is_shown_with_its_finding_and_waits_for_a_person() {
    story(|| async {
        let shown = Shown::rejected().await;
        let path =
            format!("/api/projects/{}/features/{}/iterations/2/findings/F002/dismiss", shown.project, shown.feature);
        assert_eq!(shown.world.ask("POST", &path, r#"{"reason":"It is ours."}"#).await.status, 200);
        let page = shown.page("").await;
        let item = page.split("id=\"f-F002\"").nth(1).unwrap().split("</li>").next().unwrap();
        assert!(item.contains("Dismissal proposed by <bdi>a program with the API token</bdi>."), "{item}");
        assert!(
            item.contains("data-act=\"confirm-dismissal\"") && item.contains("data-act=\"reject-dismissal\""),
            "{item}"
        );
        assert!(!item.contains("data-act=\"dismiss\"") && !item.contains("data-act=\"restore\""), "{item}");
        let about = read(part(&page, "part-about"));
        assert!(about.contains("an agent proposed to dismiss a finding: Input is run"), "{about}");
        assert!(titles(&shown.page("?open=1").await).contains(&"Input is run".to_owned()), "it counts: {page}");
    });
}

#[test]
fn nothing_blocking_says_what_was_looked_at() {
    story(|| async {
        let shown = Shown::reviewed(vec![with_run(review(1, vec![]), run())]).await;
        let said = read(part(&shown.page("").await, "part-findings"));
        assert!(said.contains("✔ Nothing blocking Here is what was looked at:\nsrc/a.js 1 hunk"), "{said}");
    });
}

#[test]
fn a_feature_that_nobody_started_says_what_to_do() {
    story(|| async {
        let shown = Shown::added().await;
        let page = shown.page("").await;
        for words in ["Not reviewed yet", "There is no review yet", "What an agent changes is shown here once"] {
            assert!(page.contains(words), "{words}: {page}");
        }
        assert!(page.contains("<code>tollgate feature start feature-000002</code>"), "{page}");
        assert!(!page.contains("id=\"export-menu\"") && !page.contains("id=\"audit\""), "{page}");
    });
}

#[test]
fn a_program_with_the_api_token_cannot_open_the_gate() {
    story(|| async {
        let last = review(1, vec![remark(1, Severity::High, "Input is run")]);
        let shown = Shown::reviewed(vec![with_diff(last)]).await;
        let path = format!("/api/projects/{}/features/{}", shown.project, shown.feature);
        let refused = shown.world.ask("POST", &format!("{path}/approve"), r#"{"reason":"It is a toy."}"#).await;
        assert_eq!(refused.status, 403, "{}", refused.body);
        assert!(refused.body.contains("only a person can approve a feature"), "{}", refused.body);
        for column in ["waiting_approval", "verified", "completed"] {
            let refused =
                shown.world.ask("POST", &format!("{path}/move"), &format!(r#"{{"status":"{column}"}}"#)).await;
            assert_eq!(refused.status, 403, "{column}: {}", refused.body);
        }
        assert_ne!(shown.world.ask("POST", &format!("{path}/move"), r#"{"status":"backlog"}"#).await.status, 403);
    });
}

#[test]
fn a_person_who_let_it_pass_is_named() {
    story(|| async {
        let last = review(1, vec![remark(1, Severity::High, "Input is run")]);
        let shown = Shown::reviewed(vec![with_diff(last)]).await;
        let path = format!("/api/projects/{}/features/{}/approve", shown.project, shown.feature);
        assert_eq!(
            shown.world.ask_as_person("POST", &path, r#"{"reason":"It is a toy.","by":"Ada"}"#).await.status,
            200
        );
        let said = read(part(&shown.page("").await, "part-head"));
        assert!(said.contains("✔ Approved by hand\nAda let it pass: It is a toy."), "{said}");
    });
}

#[test]
fn missing_parts_are_not_found() {
    story(|| async {
        let shown = Shown::rejected().await;
        let base = format!("/projects/{}/features/{}", shown.project, shown.feature);
        for tail in ["?iteration=9", "?compare=1,9", "/part/nothing", "/iterations/9/audit"] {
            assert_eq!(shown.world.page(&format!("{base}{tail}")).await.status, 404, "{tail}");
        }
        assert_eq!(shown.world.page(&format!("/projects/{}/features/nobody", shown.project)).await.status, 404);
        assert_eq!(shown.world.page(&format!("{base}?iteration=x&severity=worst&compare=1")).await.status, 200);
    });
}

#[test]
fn parts_are_those_of_the_page() {
    story(|| async {
        let shown = Shown::rejected().await;
        let page = shown.page("?iteration=1").await;
        let all = shown.page("/part/all?iteration=1").await;
        assert!(all.trim_start().starts_with("<header") && !all.contains("<html"), "{all}");
        for id in ["part-head", "part-findings"] {
            assert_eq!(read(part(&all, id)), read(part(&page, id)));
        }
        assert!(!all.contains("id=\"part-changes\""));
        assert!(shown.page("/part/changes?iteration=1").await.contains("id=\"diff\""));
        assert!(shown.page("/part/all?q=secret&iteration=1").await.contains("Secret in source"));
    });
}

#[test]
fn an_audit_shows_word_for_word_what_was_asked_and_said() {
    story(|| async {
        let shown = Shown::rejected().await;
        assert_snapshot!(shown.world.plain(&read(&shown.page("/iterations/2/audit").await)), @"
        Back to the review
        Audit of review 2 · Add login
        claude, call 1 opus, 100 tokens in, 20 out
        What it was told about its role
        You review.
        What it was asked
        The change: +eval(1)
        What it said
        [REJECTED] it evaluates
        All of it is in /srv/records/1-feature-000002/review-2-4.jsonl on the server's machine; secrets are masked.
        ");
        assert!(shown.page("/iterations/1/audit").await.contains("Only the built-in rules looked at iteration 1"));
    });
}

#[test]
fn a_long_list_is_cut_and_says_so() {
    story(|| async {
        let many: Vec<Remark> =
            (1..=250).map(|number| remark(number, Severity::High, &format!("No. {number}"))).collect();
        let shown = Shown::reviewed(vec![with_diff(review(1, many))]).await;
        let page = shown.page("").await;
        assert_eq!(titles(&page).len(), 100);
        assert!(page.contains("?all=1\">Show 150 more</a>"), "{}", part(&page, "part-findings"));
        assert_eq!(titles(&shown.page("?all=1").await).len(), 250);
    });
}

/// Text that would be more than text in a page that is not careful.
const HOSTILE: &str =
    "</pre></textarea><script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}\u{1b}[2J\"'`{{7*7}}";

#[test]
fn untrusted_text_is_escaped_in_every_field() {
    story(|| async {
        let world = World::start();
        let (project, feature) = (world.add_project().await, "evil");
        let evil = || HOSTILE.to_owned();
        let finding = |number| Remark {
            description: evil(),
            suggestion: Some(evil()),
            category: Category::Doc,
            ..remark(number, Severity::High, "<script>alert(1)</script><img src=x>")
        };
        let commit = "2".repeat(40);
        let mut last = review(2, vec![finding(1)]);
        last.late = vec![Remark { file: Some(evil()), evidence: Some(evil()), ..finding(2) }];
        last.notes = vec![evil()];
        (last.summary, last.reason, last.model, last.provider) = (evil(), Some(evil()), evil(), evil());
        (last.commit, last.base) = (Some(commit.clone()), Some(evil()));
        let criterion = Criterion { id: evil(), text: evil() };
        last.compliance = Compliance { criteria: vec![(criterion, Met::No { evidence: evil() })] };
        let overridden = Override { who: evil(), reason: evil(), at: evil() };
        let first = Iteration { commit: Some(evil()), overridden: Some(overridden), ..review(1, vec![finding(3)]) };
        let mut seen = run();
        seen.compared = Some(evil());
        seen.withheld[0].why = Withheld::Unverified(evil());
        seen.withheld[0].finding.reason = Some(evil());
        let asked = serde_json::json!([{ "name": HOSTILE, "model": HOSTILE, "problem": HOSTILE }]);
        seen.extra.insert("x_reviewers".to_owned(), asked);
        // What no program of ours would store, and a file of another one may hold.
        let document = serde_json::json!({ "id": feature, "title": HOSTILE, "description": format!("- must {HOSTILE}"),
            "spec": HOSTILE, "category": HOSTILE, "dependencies": [HOSTILE], "model": HOSTILE });
        let facts = Facts {
            title: evil(),
            first_line: evil(),
            priority: 2,
            dependencies: vec![evil()],
            category: Some(evil()),
            model: Some(evil()),
            skip_tests: true,
        };
        let state = State { status: Status::CodeReview, work: Work::Reviewing, iteration: 2, round: 1, ..State::new() };
        let set = Changes { branch: Field::Set(evil()), problem: Field::Set(evil()), ..Changes::default() };
        let new = NewFeature {
            project: i64::try_from(project).unwrap(),
            id: FeatureId::parse(feature).unwrap(),
            state: State { commit: Some(commit.clone()), committed: true, ..state },
            facts,
            document: document.to_string().into_bytes(),
            file_hash: None,
            broken: Some(evil()),
            iterations: vec![first],
            set,
            created_ms: NOW,
            who: evil(),
            at_ms: NOW,
            events: Vec::new(),
        };
        world.board.database().insert_feature(new).unwrap().unwrap();
        world.end_review(project, feature, with_run(last, seen), 1);
        let other = Event::Edited(Status::Other(evil()));
        world.happen(Transition { who: evil(), note: Some(evil()), ..transition(project, feature, other) });
        let mut exchange = answered();
        exchange["reviewer"] = HOSTILE.into();
        exchange["question"] = serde_json::json!({ "system": HOSTILE, "shared": HOSTILE, "part": HOSTILE });
        exchange["reply"]["text"] = HOSTILE.into();
        exchange["reply"]["model"] = HOSTILE.into();
        write_audit(&world, (project, feature), 2, &exchange);
        std::fs::create_dir_all(world.path("shop/.automaker/features/evil")).unwrap();
        world.write_output(project, feature, 2, HOSTILE);
        let shown = Shown { world, project, feature: feature.to_owned() };
        let dismiss = format!("/api/projects/{project}/features/{feature}/iterations/2/findings/F001/dismiss");
        let body = serde_json::json!({ "reason": HOSTILE, "by": "<script>alert(3)</script>" }).to_string();
        assert_eq!(shown.world.ask_as_person("POST", &dismiss, &body).await.status, 200);
        let tails =
            ["", "?iteration=1", "?compare=1,2", "?q=%3Cscript%3Ealert(1)%22%3E", "/part/all", "/iterations/2/audit"];
        for tail in tails {
            let page = shown.page(tail).await;
            assert!(page.contains("&lt;script&gt;alert(1)"), "{tail}: nothing hostile was shown");
            for wrong in ["<script>alert", "<img", "\u{202e}", "\u{1b}", "</textarea>", "onerror=alert(2)>"] {
                assert!(!page.contains(wrong), "{tail}: {wrong:?}");
            }
        }
    });
}

// Issue 17: "Reviewed by rules only" stood beside "The review brought no answer".
#[test]
fn a_review_without_an_answer_has_no_reviewer() {
    story(|| async {
        let shown = Shown::added().await;
        let Shown { world, project, feature } = &shown;
        world.commit(*project, feature, &"1".repeat(40));
        let failed = Iteration {
            outcome: Outcome::Failed,
            model: "tollgate/offline".to_owned(),
            summary: NO_ANSWER.to_owned(),
            reason: Some("the service answered 503".to_owned()),
            ..review(1, vec![])
        };
        let iteration = Some(with_diff(failed));
        world.happen(Transition { iteration, ..transition(*project, feature, Event::ReviewRefused) });
        let page = read(&shown.page("").await);
        assert!(page.contains("Review failed") && page.contains("the service answered 503"), "{page}");
        assert!(!page.contains("Reviewed by") && !page.contains("rules only"), "{page}");
    });
}
