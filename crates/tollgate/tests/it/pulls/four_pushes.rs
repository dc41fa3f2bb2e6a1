//! One pull request with a model behind the app: a first review, a reworded repeat, a fix by a guard, and a dismissal.
//! Every surface of a head shows the same state.
//!
//! `cargo test -p tollgate --test it four_pushes -- --nocapture` prints all surfaces of each head.

use serde_json::{Value, json};

use super::test_server::TestServer;
use crate::fake_github::{FakeGithub, Opening, PullRequest, Seen};
use crate::fake_model::{FakeModel, finding};
use crate::wait::wait_until;

const FILE: &str = "billing/invoice.py";
const TOTAL: &str = "def total(invoice):\n    return sum(line.amount for line in invoice.lines)\n";
const QUOTE: &str = "return amount / len(invoice.lines)";
const GUARD: &str = "if not invoice.lines:";
const NOTE: &str = "# Amounts are in cents.";

/// A version of the file: the function that the model finds fault with begins with some lines.
fn version(lines: &[&str]) -> String {
    let begins: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    format!("{TOTAL}\n\ndef average(invoice):\n{begins}    amount = total(invoice)\n    {QUOTE}\n")
}

/// A model that words its finding differently once the file has a note, and calls it fixed once there is a guard.
fn model() -> FakeModel {
    FakeModel::answering(|question| {
        let is_shown = question.contains(QUOTE);
        let (is_guarded, is_noted) = (question.contains(GUARD) || !is_shown, question.contains(NOTE));
        let title = match is_noted {
            true => "An invoice without lines makes average() crash",
            false => "Division by zero for an empty invoice",
        };
        let found = [finding("High", FILE, 7, title, QUOTE)];
        let (decision, findings) = if is_guarded { ("APPROVED", &found[..0]) } else { ("REJECTED", &found[..]) };
        let (state, evidence) = if is_guarded { ("fixed", GUARD) } else { ("open", QUOTE) };
        let is_asked = question.contains("Answer each of these by its name");
        let prior: Vec<Value> =
            is_asked.then(|| json!({ "id": "P1", "state": state, "evidence": evidence })).into_iter().collect();
        let summary = "Adds the average amount of an invoice.";
        json!({ "prior": prior, "decision": decision, "summary": summary, "findings": findings }).to_string()
    })
}

/// The verdict line of the summary, and the title of the check: the same state in both.
#[track_caller]
#[expect(clippy::print_stdout, reason = "the surfaces are printed to be read")]
fn state(step: &str, seen: &Seen) -> String {
    let check = seen.check_of(&seen.head).unwrap();
    let (title, summary) = (check.title.clone().unwrap(), seen.summaries.last().map(|one| one.body.clone()));
    println!("\n===== {step}: {} {:?}\n{title}\n\n{}", seen.head, check.conclusion, check.summary.as_deref().unwrap());
    println!("----- summary\n{}", summary.as_deref().unwrap_or("(none)"));
    for comment in seen.inline.iter().chain(&seen.answers) {
        println!("----- at {}:{:?}, resolved: {}\n{}", comment.path, comment.line, comment.is_resolved, comment.body);
    }
    assert_eq!(seen.problems(), [""; 0], "{step}");
    if let Some(summary) = summary {
        let plain = summary.replace("**", "");
        assert!(plain.contains(&title), "{step}: the summary does not say {title:?}:\n{summary}");
    }
    format!("{} {title}", check.conclusion.as_deref().unwrap_or("-"))
}

#[track_caller]
fn concluded(server: &TestServer<'_>, pull: &PullRequest<'_>, expected: &str) -> Seen {
    wait_until(expected, || pull.seen().conclusion() == Some(expected) && server.n_owed() == 0);
    pull.seen()
}

#[test]
fn every_surface_of_a_head_shows_one_state_through_four_pushes() {
    let github = FakeGithub::start();
    github.let_apps_resolve();
    let stub = model();
    let settings = format!("[github]\nresolve_threads = true\n[review]\nreviewers = ['m']\n{}", stub.table("m"));
    let mut server = TestServer::new(&github, &settings);
    server.launch(None);
    github.repository("octo/app", &[("README.md", "# app\n"), (FILE, TOTAL)]);

    let first = version(&[]);
    let files = [(FILE, first.as_str())];
    let opening = Opening { title: "feat: average of an invoice", files: &files, ..Opening::default() };
    let pull = github.open("octo/app", &opening);
    let seen = server.settled(&pull);
    assert_eq!(state("first review", &seen), "failure Needs changes -- 1 major finding must be fixed before merging");
    assert_eq!(seen.inline.len(), 1);

    pull.push("docs: say which unit", &[(FILE, &version(&[NOTE]))]);
    let seen = server.settled(&pull);
    assert_eq!(state("reworded repeat", &seen), "failure Blockers remain -- 1 blocking issue(s) still open");
    assert_eq!((seen.inline.len(), seen.answers.len()), (1, 0), "the repeat is no second comment");
    assert!(!seen.summaries[0].body.contains("## New Findings"), "{}", seen.summaries[0].body);

    let head = pull.push("fix: invoices without lines", &[(FILE, &version(&[NOTE, GUARD, "    return 0"]))]);
    let seen = server.settled(&pull);
    assert_eq!(state("fix by a guard", &seen), "success Blockers resolved -- Ready to merge");
    let replies: Vec<&str> = seen.answers.iter().map(|one| one.body.lines().next().unwrap_or_default()).collect();
    assert_eq!(replies, [format!("Resolved in {}", &head[..7])]);
    assert!(seen.inline[0].is_resolved);

    pull.push("feat: formulas", &[("web/formula.js", "export const f = (text) => eval(text);\n")]);
    let seen = server.settled(&pull);
    // All earlier findings are resolved, so this is a review with five sections again.
    assert_eq!(state("new blocker", &seen), "failure Needs changes -- 1 major finding must be fixed before merging");
    let root = seen.inline.iter().find(|one| one.path == "web/formula.js").unwrap().id;
    pull.answer("ada", root, "@tollgate dismiss formulas are ours alone");
    let seen = concluded(&server, &pull, "success");
    let said = state("dismissal", &seen);
    assert!(said.contains("1 blocking finding suppressed by a dismissal by ada: formulas are ours alone"), "{said}");
}
