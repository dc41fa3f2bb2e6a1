use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::pull::hostile::{self, assert_harmless};
use crate::pull::sample::{finding, head, review};

const TO: To<'static> = To { comment: 123, mention: "tollgate" };

#[test]
fn help_lists_the_commands() {
    assert_snapshot!(help(&TO), @"
    | write, at the beginning of a line | to |
    |---|---|
    | `@tollgate review` | review what is new since the last review |
    | `@tollgate full review` | review all of the change again |
    | `@tollgate pause` | leave pushes alone until `resume` |
    | `@tollgate resume` | review every push again |
    | `@tollgate dismiss <id> <reason>` | say that a finding is not wanted; in its thread without the id |
    | `@tollgate explain <id>` | read more about a finding; in its thread without the id |
    | `@tollgate help` | see this list |

    What changes something takes the right to write to this repository.

    <!-- tollgate:reply comment=123 -->
    ");
}

#[test]
fn every_command_of_the_list_is_understood() {
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

    What to do:

    Parse it.

    <sub>Found by the rule `js-eval`. If this is wrong, write `@tollgate dismiss fp-3a115a22cc61dc04-54073f8a <reason>`.</sub>

    <!-- tollgate:reply comment=123 -->
    ");
    finding.reason = None;
    finding.suggestion = None;
    finding.origin.rule = None;
    finding.evidence = " ".to_owned();
    assert_snapshot!(explain(&TO, &finding, None), @"
    **Major: Input is run as code**

    At src/a.js (3-4).

    <sub>If this is wrong, write `@tollgate dismiss fp-3a115a22cc61dc04-811c9dc5 <reason>`.</sub>

    <!-- tollgate:reply comment=123 -->
    ");
}

#[test]
fn a_dismissal_is_confirmed_with_its_reason() {
    let high = finding("src/a.js:3", "High", "eval(input)");
    assert_snapshot!(dismissed(&TO, &high, "the input is `ours`, @all"), @"
    Dismissed: **Input is run as code** at src/a.js (3). It stays so while its code does. Reason: ``the input is `ours`, @all``

    <!-- tollgate:reply comment=123 -->
    ");
    assert_snapshot!(needs_reason(&TO, &finding("a.js:3", "Critical", "x")), @"
    A critical finding is dismissed only with a reason: `@tollgate dismiss fp-83d88a0013f5ee09-0162f6e5 <reason>`

    <!-- tollgate:reply comment=123 -->
    ");
}

#[test]
fn a_finding_that_is_not_there_is_answered_with_those_that_are() {
    let findings = review(vec![finding("a.js:3", "High", "x"), finding("b.js:4", "Low", "x")]).findings;
    assert_snapshot!(no_such_finding(&TO, Some("F009"), &findings), @"
    There is no finding `F009` here. There are:

    - F001 or `fp-83d88a0013f5ee09-0162f6e5`: Input is run as code at a.js (3)
    - F002 or `fp-845819109a39ce48-0162f6e5`: Input is run as code at b.js (4)

    <!-- tollgate:reply comment=123 -->
    ");
    assert_snapshot!(no_such_finding(&TO, None, &[]), @"
    Which finding is meant? Name it by its id, or write in its thread. The last review found nothing.

    <!-- tollgate:reply comment=123 -->
    ");
    let many = vec![finding("a.js:3", "High", "x"); 40];
    let several = no_such_finding(&TO, Some("fp-83d88a0013f5ee09"), &many);
    assert!(several.starts_with("`fp-83d88a0013f5ee09` is not one finding but several."), "{several}");
    assert!(no_such_finding(&TO, None, &many).contains("\n- and 10 more\n"));
}

#[test]
fn what_happens_is_said_in_a_sentence() {
    let said = [
        no_review(&TO),
        paused(&TO),
        resumed(&TO),
        begun(&TO, Some(&head()), false),
        begun(&TO, None, true),
        no_permission(&TO),
        failed(&TO, "the host does not answer"),
    ];
    let said = said.map(|reply| reply.replace("\n\n<!-- tollgate:reply comment=123 -->", ""));
    assert_snapshot!(said.join("\n"), @"
    There is no review of this pull request yet. Write `@tollgate review` to have one.
    Paused: pushes are not reviewed, and the check says so. Write `@tollgate resume` to go on, or `@tollgate review` for a single review.
    Resumed: every push is reviewed again, beginning with what is here now.
    A review of aaaaaaa begins. Its check tells how it ends.
    A full review begins. Its check tells how it ends.
    Only those who may write to this repository can do that. Everybody can write `@tollgate explain <id>` and `@tollgate help`.
    That did not work.

    the host does not answer
    ");
}

#[track_caller]
fn check_nearest(said: &str, expected: Option<&str>) {
    assert_eq!(nearest(said), expected, "{said}");
}

#[test]
fn words_that_are_nearly_a_command_are_answered_with_it() {
    check_nearest("reveiw", Some("review"));
    check_nearest("full reviwe", Some("full review"));
    check_nearest("dismis F003 because", Some("dismiss <id> <reason>"));
    check_nearest("resume now", Some("resume"));
    check_nearest("make me a sandwich", None);
    check_nearest("", None);
    let reply = unknown(&TO, "reveiw");
    assert!(reply.starts_with("I do not understand `reveiw`. Did you mean `@tollgate review`?\n\n| write"), "{reply}");
    assert!(unknown(&TO, "").starts_with("What shall I do?\n"));
    assert!(unknown(&TO, "thanks").starts_with("I do not understand `thanks`.\n"));
}

#[test]
fn whatever_is_said_is_only_repeated() {
    let long = "@a <b> ```\n".repeat(20_000);
    for text in hostile::texts().map(str::to_owned).chain([long]) {
        let text = text.as_str();
        let finding = hostile::saying(text, "a.js:3");
        for reply in [
            explain(&TO, &finding, Some(text)),
            dismissed(&TO, &finding, text),
            needs_reason(&TO, &finding),
            no_such_finding(&TO, Some(text), &[finding.clone(), finding.clone()]),
            unknown(&TO, text),
            failed(&TO, text),
        ] {
            assert_harmless(&reply);
            assert_eq!(Mark::all_in(&reply), [Mark::Reply { comment: 123 }], "{reply}");
            // No bot of ours ever answers another.
            assert_eq!(crate::pull::command::parse(&reply, "tollgate"), None, "{reply}");
        }
    }
}

proptest! {
    #[test]
    fn any_mixture_of_words_is_only_repeated(text in hostile::mixture()) {
        let finding = hostile::saying(&text, "a.js:3");
        assert_harmless(&explain(&TO, &finding, Some(&text)));
        assert_harmless(&dismissed(&TO, &finding, &text));
        assert_harmless(&unknown(&TO, &text));
    }
}
