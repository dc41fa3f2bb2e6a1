use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::pull::hostile::{self, assert_harmless};
use crate::pull::sample::{finding, head, review};

const TO: ReplyTarget<'static> = ReplyTarget { comment: 123, mention: "tollgate" };

#[test]
fn help_lists_the_commands() {
    assert_snapshot!(help(&TO), @"
    | command, at the beginning of a line | effect |
    |---|---|
    | `@tollgate review` | review the commits since the last review |
    | `@tollgate full review` | review the whole change again |
    | `@tollgate pause` | stop reviewing pushes until `resume` |
    | `@tollgate resume` | review every push again |
    | `@tollgate dismiss <id> <reason>` | dismiss a finding here, or `--everywhere` in the repository; omit the id in its thread |
    | `@tollgate confirm <id>` | confirm a dismissal that an agent proposed |
    | `@tollgate reject <id>` | reject a dismissal that an agent proposed |
    | `@tollgate explain <id>` | explain a finding; omit the id in its thread |
    | `@tollgate help` | show this list |

    All commands except `explain` and `help` need write access to this repository.

    <!-- tollgate:reply comment=123 -->
    ");
}

#[test]
fn every_listed_command_parses() {
    for (command, _) in COMMANDS {
        let said = command.replace("<id>", "F001").replace("<reason>", "why");
        let read = crate::pull::command::parse(&format!("@tollgate {said}"), "tollgate").unwrap();
        assert!(!matches!(read, crate::pull::command::Command::Unknown { .. }), "{command}");
    }
}

#[test]
fn a_finding_is_explained() {
    let mut finding = finding("src/a.js:3-4", "High", "/x/.test(a)\neval(input)");
    finding.suggestion = Some("Parse it.".to_owned());
    assert_snapshot!(explain(&TO, &finding, Some("`eval` runs any text as code.\n\n- never use it")), @"
    **Major: Input is run as code**

    At src/a.js (3-4).

    Whoever sends the request runs what they like.

     ```
     /x/.test(a)
     eval(input)
     ```

    `eval` runs any text as code.

    - never use it

    Suggested fix:

    Parse it.

    <sub>Found by the rule `js-eval`. If this is wrong, write `@tollgate dismiss f-6779a341 <reason>`.</sub>

    <!-- tollgate:reply comment=123 -->
    ");
    finding.reason = None;
    finding.suggestion = None;
    finding.origin.rule = None;
    finding.evidence = " ".to_owned();
    assert_snapshot!(explain(&TO, &finding, None), @"
    **Major: Input is run as code**

    At src/a.js (3-4).

    <sub>If this is wrong, write `@tollgate dismiss f-35041d41 <reason>`.</sub>

    <!-- tollgate:reply comment=123 -->
    ");
}

#[test]
fn a_dismissal_is_confirmed_with_its_reason() {
    let high = finding("src/a.js:3", "High", "eval(input)");
    assert_snapshot!(dismissed(&TO, &high, "the input is `ours`, @all"), @"
    Dismissed: **Input is run as code** at src/a.js (3). It stays dismissed while its code is unchanged. Reason: ``the input is `ours`, @all``

    <!-- tollgate:reply comment=123 -->
    ");
    assert_snapshot!(needs_reason(&TO, &finding("a.js:3", "Critical", "x")), @"
    A critical finding needs a reason to be dismissed: `@tollgate dismiss f-58afa5b2 <reason>`

    <!-- tollgate:reply comment=123 -->
    ");
}

#[test]
fn an_unknown_finding_is_answered_with_the_known_ones() {
    let findings = review(vec![finding("a.js:3", "High", "x"), finding("b.js:4", "Low", "x")]).findings;
    assert_snapshot!(no_such_finding(&TO, Some("F009"), &findings), @"
    No finding matches `F009`. Findings:

    - `f-58afa5b2`: Input is run as code at a.js (3)
    - `f-9faec5bc`: Input is run as code at b.js (4)

    <!-- tollgate:reply comment=123 -->
    ");
    assert_snapshot!(no_such_finding(&TO, None, &[]), @"
    Name a finding by its id, or reply in its thread. The last review has no findings.

    <!-- tollgate:reply comment=123 -->
    ");
    let many = vec![finding("a.js:3", "High", "x"); 40];
    let several = no_such_finding(&TO, Some("fp-83d88a0013f5ee09"), &many);
    assert!(several.starts_with("`fp-83d88a0013f5ee09` matches several findings."), "{several}");
    assert!(no_such_finding(&TO, None, &many).contains("\n- and 10 more\n"));
}

// Issue 17: commands that cannot work were offered on closed pull requests.
#[test]
fn a_closed_pull_request_is_offered_no_reviews() {
    let said = [
        help_when_closed(&TO),
        closed(&TO),
        no_review_when_closed(&TO),
        unknown_when_closed(&TO, "revew"),
        unknown_when_closed(&TO, "paus"),
    ];
    for text in said {
        assert!(text.contains("closed"), "{text}");
        for command in ["@tollgate review", "@tollgate full review", "@tollgate pause", "@tollgate resume"] {
            assert!(!text.contains(command), "{text}");
        }
    }
    assert!(unknown_when_closed(&TO, "explan F001").contains("Did you mean `@tollgate explain <id>`?"));
}

#[test]
fn replies_are_one_sentence_each() {
    let said = [
        no_review(&TO),
        paused(&TO),
        resumed(&TO),
        review_queued(&TO, Some(&head()), false),
        review_queued(&TO, None, true),
        no_permission(&TO),
        failed(&TO, "the host does not answer"),
    ];
    let said = said.map(|reply| reply.replace("\n\n<!-- tollgate:reply comment=123 -->", ""));
    assert_snapshot!(said.join("\n"), @"
    This pull request has no review yet. Write `@tollgate review` to request one.
    Paused: pushes are not reviewed until you write `@tollgate resume`. Write `@tollgate review` for a single review.
    Resumed: every push is reviewed again, starting with the current head.
    A review of aaaaaaa is queued. The check shows its result.
    A full review is queued. The check shows its result.
    This command needs write access to this repository. `@tollgate explain <id>` and `@tollgate help` work without it.
    The command failed.

    the host does not answer
    ");
}

#[track_caller]
fn check_nearest(said: &str, expected: Option<&str>) {
    assert_eq!(nearest(said), expected, "{said}");
}

#[test]
fn similar_words_suggest_a_command() {
    check_nearest("reveiw", Some("review"));
    check_nearest("full reviwe", Some("full review"));
    check_nearest("dismis F003 because", Some("dismiss <id> <reason>"));
    check_nearest("resume now", Some("resume"));
    check_nearest("make me a sandwich", None);
    check_nearest("", None);
    let reply = unknown(&TO, "reveiw");
    assert!(reply.starts_with("Unknown command `reveiw`. Did you mean `@tollgate review`?\n\n| command"), "{reply}");
    assert!(unknown(&TO, "").starts_with("No command given.\n"));
    assert!(unknown(&TO, "thanks").starts_with("Unknown command `thanks`.\n"));
}

#[test]
fn hostile_text_in_replies_is_inert() {
    let long = "@a <b> ```\n".repeat(20_000);
    for text in hostile::texts().map(str::to_owned).chain([long]) {
        let text = text.as_str();
        let finding = hostile::saying(text, "a.js:3");
        for reply in [
            explain(&TO, &finding, Some(text)),
            dismissed(&TO, &finding, text),
            dismissed_everywhere(&TO, &finding, text),
            proposed(&TO, &finding, text),
            rejected(&TO, &finding),
            no_proposal(&TO, &finding),
            needs_reason(&TO, &finding),
            no_such_finding(&TO, Some(text), &[finding.clone(), finding.clone()]),
            unknown(&TO, text),
            failed(&TO, text),
        ] {
            assert_harmless(&reply);
            assert_eq!(Marker::all_in(&reply), [Marker::Reply { comment: 123 }], "{reply}");
            // No bot of ours ever answers another.
            assert_eq!(crate::pull::command::parse(&reply, "tollgate"), None, "{reply}");
        }
    }
}

proptest! {
    #[test]
    fn any_mixture_of_hostile_text_in_replies_is_inert(text in hostile::mixture()) {
        let finding = hostile::saying(&text, "a.js:3");
        assert_harmless(&explain(&TO, &finding, Some(&text)));
        assert_harmless(&dismissed(&TO, &finding, &text));
        assert_harmless(&proposed(&TO, &finding, &text));
        assert_harmless(&unknown(&TO, &text));
    }
}
