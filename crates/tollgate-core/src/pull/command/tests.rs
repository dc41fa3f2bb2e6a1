use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn shown(command: Option<Command>) -> String {
    match command {
        None => "none".to_owned(),
        Some(Command::Review) => "review".to_owned(),
        Some(Command::FullReview) => "full review".to_owned(),
        Some(Command::Pause) => "pause".to_owned(),
        Some(Command::Resume) => "resume".to_owned(),
        Some(Command::Help) => "help".to_owned(),
        Some(Command::Dismiss { finding, reason, everywhere }) => {
            let scope = if everywhere { " everywhere" } else { "" };
            format!("dismiss {}{scope}: {reason}", finding.as_deref().unwrap_or("this"))
        }
        Some(Command::Confirm { finding }) => format!("confirm {}", finding.as_deref().unwrap_or("this")),
        Some(Command::Reject { finding }) => format!("reject {}", finding.as_deref().unwrap_or("this")),
        Some(Command::Explain { finding }) => format!("explain {}", finding.as_deref().unwrap_or("this")),
        Some(Command::Unknown { words }) => format!("unknown: {words}"),
    }
}

#[track_caller]
fn check(body: &str, expected: &str) {
    assert_eq!(shown(parse(body, "tollgate")), expected, "{body:?}");
}

#[test]
fn commands_are_parsed() {
    check("@tollgate review", "review");
    check("@tollgate full review", "full review");
    check("@tollgate pause", "pause");
    check("@tollgate resume", "resume");
    check("@tollgate help", "help");
    check("@tollgate explain F003", "explain F003");
    check("@tollgate explain", "explain this");
    check("@tollgate dismiss F003 the input is a constant", "dismiss F003: the input is a constant");
}

#[test]
fn a_dismissal_is_for_the_repository_when_it_says_everywhere() {
    check("@tollgate dismiss F003 --everywhere a fixture", "dismiss F003 everywhere: a fixture");
    check("@tollgate dismiss --everywhere F003 a fixture", "dismiss F003 everywhere: a fixture");
    check("@tollgate dismiss F003 a fixture --everywhere", "dismiss F003 everywhere: a fixture");
    check("@tollgate dismiss F003 --everywhere", "dismiss F003 everywhere: ");
    check("@tollgate dismiss F003 not --everywhere-ish", "dismiss F003: not --everywhere-ish");
    check("@tollgate dismiss F003 it is used everywhere", "dismiss F003: it is used everywhere");
}

#[test]
fn proposals_are_confirmed_and_rejected_by_finding() {
    check("@tollgate confirm F003", "confirm F003");
    check("@tollgate confirm please", "confirm this");
    check("@tollgate reject `f3`.", "reject F003");
    check("@tollgate confirm that this works", "unknown: confirm that this works");
}

#[test]
fn mentions_and_commands_ignore_case_and_politeness() {
    for body in [
        "@Tollgate Review",
        "@TOLLGATE[BOT] review",
        "@tollgate[bot]: review!",
        "@tollgate, please review.",
        "  @tollgate\treview please  ",
        "Thanks for the fix.\n\n@tollgate review\r\n\r\nbye",
        "Thanks!\n@tollgate review",
        "@tollgate review <!-- from a template -->",
    ] {
        check(body, "review");
    }
    check("@tollgate `full review`?", "full review");
    check("@tollgate explain `f3` please", "explain F003");
}

#[test]
fn finding_ids_are_normalised() {
    check("@tollgate dismiss", "dismiss this: ");
    check("@tollgate dismiss it is a constant", "dismiss this: it is a constant");
    check("@tollgate dismiss f1: `x` is _ours_", "dismiss F001: `x` is _ours_");
    check("@tollgate dismiss `FP-0123456789ABCDEF` - a", "dismiss fp-0123456789abcdef: a");
    check("@tollgate dismiss fp-0123456789abcdef-01234567.2 a", "dismiss fp-0123456789abcdef-01234567.2: a");
    for body in ["F0 a", "F a", "fp-0123 a", "F99999999999 a", "fp-0123456789abcdef/../x a", "F1x a"] {
        check(&format!("@tollgate dismiss {body}"), &format!("dismiss this: {body}"));
    }
}

#[test]
fn comments_without_a_mention_are_ignored() {
    for body in [
        "",
        "review",
        "thanks @tollgate",
        "Could @tollgate review this?",
        "mail tollgate@tollgate.example",
        "@tollgate-dev review",
        "@tollgates review",
        "@tollgate/team review",
        "@tollgate.example review",
        "@other review",
        "\\@tollgate review",
        "&#64;tollgate review",
        "**@tollgate review**",
        "[@tollgate](x) review",
    ] {
        check(body, "none");
    }
    assert_eq!(parse("@ review", ""), None);
}

#[test]
fn code_quotes_lists_and_hidden_text_are_no_commands() {
    for body in [
        "`@tollgate review`",
        "    @tollgate review",
        "```\n@tollgate review\n```",
        "~~~\n@tollgate review",
        "> @tollgate review",
        "> somebody wrote\n@tollgate review",
        "- @tollgate review",
        "1. x\n\n   @tollgate review",
        "<!-- @tollgate review -->",
        "<!--\n\n@tollgate review\n\n-->",
        "a <!--\n@tollgate review\n-->",
        "a `b\n@tollgate review`",
        "<pre>\n@tollgate review\n</pre>",
        "a <code>\n@tollgate review\n</code>",
        "a <code>\n@tollgate review",
        "a <code>\n@tollgate review\n`b`</code>",
        "# @tollgate review",
        "| a |\n|---|\n| @tollgate review |",
        "[^1]: @tollgate review",
    ] {
        check(body, "none");
    }
    check("> @tollgate pause\n\n`@tollgate resume`\n\n@tollgate review", "review");
}

#[test]
fn the_first_command_counts() {
    check("@tollgate pause\n@tollgate resume", "pause");
    check("@tollgate nonsense\n\n@tollgate review", "unknown: nonsense");
}

#[test]
fn unknown_commands_keep_their_words() {
    check("@tollgate", "unknown: ");
    check("@tollgate reveiw", "unknown: reveiw");
    check("@tollgate review and merge", "unknown: review and merge");
    check("@tollgate explain F003 to me", "unknown: explain F003 to me");
    check(&format!("@tollgate {}", "é".repeat(300)), &format!("unknown: {}", "é".repeat(200)));
}

#[test]
fn a_mention_may_carry_the_bot_tag() {
    assert_eq!(parse("@a-b review", "a-b[bot]"), Some(Command::Review));
}

#[test]
fn only_commands_with_effects_need_write_access() {
    for (body, needs_write) in
        [("review", true), ("pause", true), ("dismiss a", true), ("help", false), ("explain F001", false), ("x", false)]
    {
        let command = parse(&format!("@a {body}"), "a").unwrap();
        assert_eq!(command.needs_write(), needs_write, "{body}");
    }
}

#[test]
fn a_body_of_a_hundred_thousand_characters_is_read_in_one_pass() {
    let end = "\n\n@tollgate review";
    for piece in ["> ", "- ", "<a ", "`", "[", "**a ", "@tollgate", "<!--", "_a", "![](", "| a ", "a\n", "&#", "\\`"] {
        let mut body = piece.repeat(100_000 / piece.len());
        let _ = write!(body, "{end}");
        // The result does not matter here: parsing must end.
        let _ = parse(&body, "tollgate");
    }
    check(&format!("{}{end}", "word ".repeat(20_000)), "review");
    check(&format!("{}{end}", "@tollgate-x `a` <b> ".repeat(5_000)), "review");
}

proptest! {
    #[test]
    fn any_comment_is_parsed(pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..12)) {
        let body = pieces.concat();
        if let Some(Command::Dismiss { finding: Some(finding), .. } | Command::Explain { finding: Some(finding) }) =
            parse(&body, "bot")
        {
            prop_assert!(finding.starts_with('F') || finding.starts_with("fp-"));
        }
        // A quote is never a command.
        let quoted: String = body.lines().map(|line| format!("> {line}\n")).collect();
        prop_assert_eq!(parse(&quoted, "bot"), None);
    }
}

const PIECES: [&str; 27] = [
    "@bot",
    "@bot ",
    "@bot dismiss ",
    "@BOT[bot] explain ",
    "F001",
    "fp-0123456789abcdef",
    " ",
    "\n",
    "\n\n",
    "\r\n",
    "`",
    "```",
    "> ",
    "- ",
    "<!--",
    "-->",
    "<code>",
    "</code>",
    "<pre>",
    "é",
    "\u{202e}",
    "*",
    "[",
    "](x)",
    "\t",
    "review",
    "\\",
];
