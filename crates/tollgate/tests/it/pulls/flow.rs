//! A pull request is opened, pushed to and talked about; what people see of it is right at each step.

use insta::assert_snapshot;

use super::test_server::{BAD, GOOD, TestServer};
use crate::fake_github::{FakeGithub, Opening, PullRequest, Seen};

const START: &[(&str, &str)] = &[("README.md", "# app\n")];

/// An agent that approves only complete changes.
pub(crate) const LOOKS_AROUND: &str = "cat > /dev/null\ngrep -q JSON.parse far/away.js || exit 9\n\
    echo '{\"decision\": \"approved\", \"findings\": [], \"summary\": \"fine\"}'\n";

fn open<'a>(github: &'a FakeGithub, title: &str, files: &[(&str, &str)]) -> PullRequest<'a> {
    github.repository("octo/app", START);
    github.open("octo/app", &Opening { title, files, ..Opening::default() })
}

/// A summary of the visible posts and the conclusion.
fn glance(seen: &Seen) -> String {
    let checks: Vec<String> = seen
        .checks
        .iter()
        .map(|check| {
            let is_head = if check.head == seen.head { "head" } else { "old" };
            format!(
                "{is_head} {} “{}”",
                check.conclusion.as_deref().unwrap_or("-"),
                check.title.as_deref().unwrap_or("-")
            )
        })
        .collect();
    let n = (seen.summaries.len(), seen.reviews.len(), seen.inline.len(), seen.others.len());
    assert_eq!(seen.problems(), [""; 0]);
    format!("summaries {}, reviews {}, inline {}, other {}; {}", n.0, n.1, n.2, n.3, checks.join(", "))
}

#[test]
fn a_pull_request_is_reviewed_and_each_push_as_a_delta() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    let pull = open(&github, "feat: parse", &[("a.js", BAD)]);
    let seen = server.settled(&pull);
    assert_snapshot!(glance(&seen), @"summaries 1, reviews 1, inline 1, other 0; head failure “Needs changes -- 1 major finding must be fixed before merging”");
    assert_snapshot!(seen.summaries[0].body, @"
    <details>
    <summary>Kodiai Review Summary</summary>

    ## What Changed
    Parse.

    1 file changed, 1 line added and 0 removed.

    Reviewed: core logic

    ## Observations

    ### Major
    a.js (1): dynamic code execution (F001)
    Input that reaches this text runs with all privileges of the program. Parse data with `JSON.parse`, look functions up in an object, or use an expression parser.

    ## Verdict
    :yellow_circle: **Needs changes** -- 1 major finding must be fixed before merging

    </details>

    <details>
    <summary>Review Details</summary>

    - Commit: 22bf8bc against 25ae644
    - Files: 1 changed, 1 reviewed
    - Lines: 1 added, 0 removed
    - Findings: 0 critical, 1 major, 0 medium, 0 minor
    - Coverage: 1 of 1 hunk reviewed, 0 not reviewed
    - Conventional type: feat in title
    - Commits scanned: 1 of 1
    - type feat in title: no breaking change is declared, so removed or changed public API is one severity higher
    - Reviewers: rules

    </details>

    <!-- tollgate:summary head=22bf8bc6465dffff8b4ac31f3d8f4a5f9e0c96bd -->
    ");
    assert_snapshot!(seen.inline[0].body, @r"
    **Major: dynamic code execution**

    Input that reaches this text runs with all privileges of the program. Parse data with `JSON.parse`, look functions up in an object, or use an expression parser.

    <sub>f-7905970f · `js-eval-dynamic` · false positive? reply `@tollgate dismiss` with a reason</sub>

    <!-- tollgate:finding fp-de25111f7976130d-628a1187 -->
    ");

    pull.push("more", &[("b.js", GOOD)]);
    let seen = server.settled(&pull);
    assert_snapshot!(glance(&seen), @"summaries 1, reviews 1, inline 1, other 0; old failure “Needs changes -- 1 major finding must be fixed before merging”, head failure “Blockers remain -- 1 blocking issue(s) still open”");
    pull.push("fix", &[("a.js", GOOD)]);
    let seen = server.settled(&pull);
    assert_snapshot!(glance(&seen), @"summaries 1, reviews 1, inline 1, other 0; old failure “Needs changes -- 1 major finding must be fixed before merging”, old failure “Blockers remain -- 1 blocking issue(s) still open”, head success “Blockers resolved -- Ready to merge”");
    assert_snapshot!(seen.summaries[0].body, @r"
    <details>
    <summary>Kodiai Re-Review Summary</summary>

    ## Re-review -- Changes since 9885bbf

    ## What Changed
    Fix.

    1 line added and 1 removed since 9885bbf.

    Reviewed: core logic

    ## Resolved Findings
    :white_check_mark: [MAJOR] a.js: dynamic code execution -- resolved

    ## Verdict Update
    :green_circle: **Blockers resolved** -- Ready to merge

    </details>

    <details>
    <summary>Review Details</summary>

    - Commit: fdfb908 against 25ae644
    - Files: 2 changed, 1 reviewed
    - Lines: 2 added, 0 removed
    - Findings: 0 critical, 0 major, 0 medium, 0 minor
    - Coverage: 1 of 2 hunks reviewed, 1 unchanged since the review of 9885bbf, 0 not reviewed
    - Since 9885bbf: 0 new, 1 resolved, 0 still open
    - Conventional type: feat in title
    - Commits scanned: 3 of 3
    - type feat in title: no breaking change is declared, so removed or changed public API is one severity higher
    - Reviewers: rules

    </details>

    <!-- tollgate:summary head=fdfb90893bf7e774ddeec7e00738545ee4e53991 -->
    ");

    pull.force_push("start over", &[("c.js", BAD)]);
    let seen = server.settled(&pull);
    assert_snapshot!(glance(&seen), @"summaries 1, reviews 2, inline 2, other 0; old failure “Needs changes -- 1 major finding must be fixed before merging”, old failure “Blockers remain -- 1 blocking issue(s) still open”, old success “Blockers resolved -- Ready to merge”, head failure “Needs changes -- 1 major finding must be fixed before merging”");
}

#[test]
fn a_clean_pull_request_gets_a_green_check_and_no_words() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    let pull = open(&github, "feat: parse", &[("a.js", GOOD)]);
    assert_snapshot!(glance(&server.settled(&pull)), @"summaries 0, reviews 0, inline 0, other 0; head success “Approve -- no findings”");
}

#[test]
fn a_fork_has_no_say_in_its_own_review() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    github.repository("octo/app", START);
    let fork = github.fork("octo/app", "mallory");
    let settings = "[rules]\ndisable = ['*']\n[review]\nfail_on = 'never'\n";
    let hidden = format!("// tollgate:ignore\n{BAD}");
    let files = [(".tollgate.toml", settings), ("a.js", hidden.as_str())];
    let opening = Opening {
        title: "[minimal-review] x",
        author: "mallory",
        from: Some(&fork),
        files: &files,
        ..Opening::default()
    };
    let pull = github.open("octo/app", &opening);
    assert_snapshot!(glance(&server.settled(&pull)), @"summaries 1, reviews 1, inline 2, other 0; head failure “Needs changes -- 1 major finding must be fixed before merging; also 1 medium finding”");
}

#[test]
fn the_rules_are_those_of_the_branch_now_wherever_a_pull_request_began() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    let pull = open(&github, "feat: parse", &[("a.js", "console.log(1);\n")]);
    assert_eq!(server.settled(&pull).conclusion(), Some("success"));
    let rule = "id: no-log\nlanguage: JavaScript\nseverity: error\nmessage: nothing is logged\n\
                rule: { pattern: console.log($$$) }\n";
    github.push_to_main("octo/app", &[(".tollgate/rules/no-log.yml", rule)]);
    pull.push("more", &[("b.js", "console.log(2);\n")]);
    let seen = server.settled(&pull);
    assert_eq!((seen.conclusion(), seen.problems()), (Some("failure"), Vec::new()));
}

#[test]
fn authors_with_write_access_can_skip_a_review_and_others_cannot() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    github.repository("octo/app", START);
    for (author, expected) in [("ada", "neutral"), ("mallory", "action_required")] {
        let files = [("a.js", BAD)];
        let opening = Opening { title: "[no-review] x", author, files: &files, ..Opening::default() };
        let pull = github.open("octo/app", &opening);
        let seen = server.settled(&pull);
        assert_eq!(seen.conclusion(), Some(expected), "{author}");
        assert_eq!((seen.summaries.len(), seen.others.len(), seen.inline.len()), (0, 1, 0), "{author}");
        // One review per head, regardless of further deliveries.
        pull.retitle(author, "[no-review] y");
        let seen = server.settled(&pull);
        assert_eq!((seen.conclusion(), seen.others.len()), (Some(expected), 1), "{author}");
        pull.retitle(author, "y");
        wait_until_concluded(&server, &pull, "failure");
        assert_eq!(pull.seen().problems(), [""; 0]);
    }
}

#[track_caller]
fn wait_until_concluded(server: &TestServer<'_>, pull: &PullRequest<'_>, expected: &str) {
    let what = format!("a check that ends with {expected}");
    crate::wait::wait_until(&what, || pull.seen().conclusion() == Some(expected) && server.n_owed() == 0);
}

#[test]
fn a_draft_waits_until_it_is_ready() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    github.repository("octo/app", START);
    let pull = github.open("octo/app", &Opening { is_draft: true, files: &[("a.js", GOOD)], ..Opening::default() });
    assert_snapshot!(glance(&server.settled(&pull)), @"summaries 0, reviews 0, inline 0, other 0; head action_required “Not reviewed: this is a draft”");
    pull.make_ready();
    wait_until_concluded(&server, &pull, "success");
}

#[test]
fn marks_that_others_write_mean_nothing() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    github.hold_deliveries(true);
    let pull = open(&github, "feat: parse", &[("a.js", BAD)]);
    let head = pull.head();
    for kind in ["summary", "review"] {
        pull.say("mallory", &format!("done\n\n<!-- tollgate:{kind} head={head} -->"));
    }
    github.hold_deliveries(false);
    github.held().into_iter().for_each(|delivery| github.send(delivery));
    let seen = server.settled(&pull);
    assert_eq!((seen.summaries.len(), seen.inline.len(), seen.conclusion()), (1, 1, Some("failure")));
}

#[test]
fn people_who_may_write_tell_the_bot_what_to_do() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    let pull = open(&github, "feat: parse", &[("a.js", BAD)]);
    server.settled(&pull);

    // A stranger's command has no effect and gets no reply.
    pull.say("mallory", "@tollgate pause");
    let helped = pull.say("mallory", "@tollgate help");
    assert!(server.answered(&pull, helped).contains("dismiss"));
    assert_eq!(pull.seen().others.len(), 1);
    let paused = pull.say("ada", "@tollgate pause");
    server.answered(&pull, paused);
    pull.push("while it is paused", &[("b.js", GOOD)]);
    wait_until_concluded(&server, &pull, "action_required");
    let asked = pull.say("ada", "@tollgate review");
    server.answered(&pull, asked);
    wait_until_concluded(&server, &pull, "failure");
    let resumed = pull.say("ada", "@tollgate resume");
    server.answered(&pull, resumed);

    let root = pull.seen().inline[0].id;
    let explained = pull.answer("ada", root, "@tollgate explain");
    server.answered(&pull, explained);
    let dismissed = pull.answer("ada", root, "@tollgate dismiss it is only run on our own text");
    server.answered(&pull, dismissed);
    wait_until_concluded(&server, &pull, "success");
    assert_eq!(pull.seen().problems(), [""; 0]);

    // Comments of bots and mentions of others are ignored.
    let n_answers = pull.seen().others.len();
    pull.say("other[bot]", "@tollgate pause");
    pull.say("ada", "thanks @tollgate");
    pull.push("again", &[("d.js", GOOD)]);
    wait_until_concluded(&server, &pull, "success");
    assert_eq!(pull.seen().others.len(), n_answers);
}

#[test]
fn commands_that_cannot_work_on_a_closed_pull_request_are_answered_plainly() {
    let github = FakeGithub::start();
    let server = TestServer::start(&github);
    let pull = open(&github, "feat: parse", &[("a.js", BAD)]);
    let before = server.settled(&pull);
    pull.close();
    for command in ["review", "full review", "resume"] {
        let asked = pull.say("ada", &format!("@tollgate {command}"));
        let said = server.answered(&pull, asked);
        assert!(said.contains("This pull request is closed, so it is not reviewed."), "{command}: {said}");
    }
    let seen = pull.seen();
    assert_eq!((seen.summaries.len(), seen.inline.len()), (before.summaries.len(), before.inline.len()));
}

#[test]
fn a_dismissal_on_one_pull_request_does_not_make_another_one_green() {
    let github = FakeGithub::start();
    let mut server = TestServer::new(&github, "");
    server.launch(None);
    let first = open(&github, "feat: parse", &[("a.js", BAD)]);
    server.settled(&first);
    let dismissed = first.say("ada", "@tollgate dismiss F001 only our own text");
    server.answered(&first, dismissed);
    wait_until_concluded(&server, &first, "success");
    let second = github.open("octo/app", &Opening { files: &[("a.js", BAD)], ..Opening::default() });
    assert_eq!(server.settled(&second).conclusion(), Some("failure"));
    let everywhere = second.say("ada", "@tollgate dismiss F001 --everywhere only our own text");
    assert!(server.answered(&second, everywhere).contains("Dismissed in the whole repository"));
    wait_until_concluded(&server, &second, "success");
    let third = github.open("octo/app", &Opening { files: &[("a.js", BAD)], ..Opening::default() });
    assert_eq!(server.settled(&third).conclusion(), Some("success"));
}

#[test]
fn the_summary_keeps_keywords_figures_and_reviewers_after_a_dismissal() {
    let github = FakeGithub::start();
    let mut server = TestServer::new(&github, "");
    server.launch(None);
    let pull = open(&github, "feat: parse", &[("a.js", BAD), ("b.js", BAD)]);
    let before = server.settled(&pull).summaries[0].body.clone();
    let dismissed = pull.say("ada", "@tollgate dismiss F001 only our own text");
    server.answered(&pull, dismissed);
    wait_until_concluded(&server, &pull, "failure");
    crate::wait::wait_until("the summary without the finding", || pull.seen().summaries[0].body != before);
    let after = pull.seen().summaries[0].body.clone();
    let kept =
        ["- Files: ", "- Lines: ", "- Conventional type: ", "- Commits scanned: ", "- Reviewers: ", "Reviewed: "];
    for begins in kept {
        let line = |body: &str| body.lines().find(|line| line.starts_with(begins)).map(str::to_owned);
        assert_eq!(line(&after), line(&before), "{begins}\n{after}");
        assert!(line(&after).is_some(), "{begins}\n{after}");
    }
    assert!(after.contains("a dismissal by ada: only our own text"), "{after}");
}

#[test]
fn a_bot_proposes_a_dismissal_and_a_person_with_write_access_confirms_it() {
    let github = FakeGithub::start();
    let mut server = TestServer::new(&github, "");
    server.launch(None);
    let pull = open(&github, "feat: parse", &[("a.js", BAD)]);
    server.settled(&pull);
    let proposed = pull.say("helper[bot]", "@tollgate dismiss F001 the text is ours");
    let answer = server.answered(&pull, proposed);
    assert!(answer.contains("Proposed to dismiss") && answer.contains("@tollgate confirm f-"), "{answer}");
    assert_eq!(pull.seen().conclusion(), Some("failure"));
    // Two bots do not talk forever.
    let n_answers = pull.seen().others.len();
    pull.say("helper[bot]", "@tollgate dismiss F001 the text is ours, as I said");
    pull.say("mallory", "@tollgate confirm F001");
    let confirmed = pull.say("ada", "@tollgate confirm F001");
    let answer = server.answered(&pull, confirmed);
    assert_eq!(pull.seen().others.len(), n_answers + 1);
    assert!(answer.contains("Dismissed") && answer.contains("the text is ours"), "{answer}");
    wait_until_concluded(&server, &pull, "success");
    let seen = server.settled(&pull);
    let summary = &seen.summaries[0].body;
    assert!(summary.contains("a dismissal by ada, proposed by helper\\[bot\\]: the text is ours"), "{summary}");
    assert_eq!(seen.problems(), [""; 0]);
}

#[test]
fn a_check_leads_to_the_review_of_its_commit() {
    let github = FakeGithub::start();
    let mut server = TestServer::new(&github, "[github]\npublic_url = 'https://gate.example'\n");
    server.launch(None);
    let pull = open(&github, "feat: parse", &[("a.js", BAD)]);
    server.settled(&pull);
    github.open("octo/app", &Opening { files: &[("b.js", GOOD)], ..Opening::default() });
    pull.push("fix", &[("a.js", GOOD)]);
    let checks = server.settled(&pull).checks;
    assert_eq!(checks.len(), 2);
    for check in checks {
        let address = check.details_url.as_deref().unwrap();
        let path = address.strip_prefix("https://gate.example").unwrap();
        assert!(check.summary.as_deref().unwrap().contains(&format!("]({address})")), "{:?}", check.summary);
        let listed = server.get(&format!("/api{path}")).json();
        let heads: Vec<&str> =
            listed["reviews"].as_array().unwrap().iter().map(|one| one["head"].as_str().unwrap()).collect();
        assert_eq!(heads, [check.head.as_str()], "{listed:#}");
        let page = server.get(path);
        let link = format!("href=\"/reviews/{}\"", listed["reviews"][0]["run"]);
        assert!(page.status == 200 && page.body.contains(&link), "{link} in {}", page.body);
    }
}

#[test]
fn an_agent_sees_the_files_that_the_change_leaves_alone() {
    let github = FakeGithub::start();
    let folder = tempfile::tempdir().unwrap();
    let agent = folder.path().join("agent.sh");
    std::fs::write(&agent, LOOKS_AROUND).unwrap();
    let settings =
        format!("[review]\nreviewers = ['looker']\n[reviewer.looker]\ncommand = ['sh', '{}']\n", agent.display());
    let mut server = TestServer::new(&github, &settings);
    server.launch(None);
    github.repository("octo/app", &[("far/away.js", GOOD)]);
    let pull = github.open("octo/app", &Opening { files: &[("a.js", GOOD)], ..Opening::default() });
    assert_snapshot!(glance(&server.settled(&pull)), @"summaries 0, reviews 0, inline 0, other 0; head success “Approve -- no findings”");
}
