//! Transcripts as they are shown, and the remarks that a dismissal covers.

use insta::assert_snapshot;
use tollgate_core::board::iteration::Identity;
use tollgate_core::finding::{Category, Severity};

use super::*;

const HEAD: &str = r#"{"tollgate_record":1,"version":"0.1.0","boundary":7}"#;

fn exchange(call: u32, reply: &str) -> String {
    let question = r#"{"system":"You review.","shared":"The change:\n","part":"+eval(x)\n"}"#;
    format!(r#"{{"reviewer":"claude","pass":1,"call":{call},"round":1,"question":{question},{reply}}}"#)
}

fn reply(text: &str) -> String {
    format!(r#""reply":{{"text":"{text}","stop":"finished","input":10,"cached":0,"output":5,"model":"opus"}}"#)
}

/// The audit of iteration 1 with these transcripts.
#[track_caller]
fn check(records: &[(&str, String)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in records {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut files = super::records(folder.path(), 1);
    files.sort_unstable();
    let shown = files.into_iter().map(|(number, file)| {
        let shown = read_try(file);
        let told = shown.told.iter().map(|told| match &told.reply {
            Ok(reply) => format!("{:?} -> {:?} {:?} {:?}", told.question, reply.text, reply.model, reply.tokens),
            Err(problem) => format!("{:?} failed: {problem}", told.question),
        });
        let told: Vec<String> = told.collect();
        format!("{number}: {} and {} more {:?}", told.join("; "), shown.n_more, shown.problem)
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn exchanges_are_shown_by_attempt() {
    let failed = r#""failure":{"why":"too-slow","message":"no answer in 60 s","tries":3}"#;
    let shown = check(&[
        ("review-1-12.jsonl", format!("{HEAD}\n{}\n", exchange(1, &reply("[APPROVED]")))),
        ("review-1-9.jsonl", format!("{HEAD}\n{}\n", exchange(1, failed))),
        ("review-11-13.jsonl", HEAD.to_owned()),
        ("other.txt", String::new()),
    ]);
    assert_snapshot!(shown, @r#"
    9: "The change:\n\n+eval(x)" failed: no answer in 60 s and 0 more None
    12: "The change:\n\n+eval(x)" -> "[APPROVED]" Some("opus") (10, 5) and 0 more None
    "#);
}

#[test]
fn an_unreadable_transcript_is_reported() {
    let shown = check(&[("review-1-1.jsonl", "nonsense".to_owned())]);
    assert_snapshot!(shown, @r#"1:  and 0 more Some("`review-1-1.jsonl` is not a record of a review")"#);
    assert_eq!(super::records(Path::new("/nowhere"), 1), []);
}

#[test]
fn a_long_transcript_is_cut_and_the_rest_counted() {
    let long = "x".repeat(MAX_TEXT + 10);
    let mut text = format!("{HEAD}\n");
    for call in 0..MAX_TOLD as u32 + 2 {
        text.push_str(&exchange(call, &reply(if call == 0 { &long } else { "ok" })));
        text.push('\n');
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("review-1-1.jsonl");
    std::fs::write(&file, text).unwrap();
    let shown = read_try(file);
    assert_eq!((shown.told.len(), shown.n_more), (MAX_TOLD, 2));
    assert!(shown.told[0].reply.as_ref().unwrap().text.ends_with("x\n[cut: 262,144 of 262,154 bytes]"));
}

fn remark(evidence: Option<&str>) -> Remark {
    let mut remark = Remark {
        category: Category::Security,
        severity: Severity::High,
        title: "Input is evaluated".to_owned(),
        description: String::new(),
        suggestion: None,
        file: Some("a.js".to_owned()),
        line: Some(1),
        evidence: evidence.map(str::to_owned),
        identity: None,
    };
    let print = dismissal(&remark, "it is ours").unwrap().fingerprint.to_string();
    remark.identity = Some(Identity { id: "F001".to_owned(), fingerprint: print, key: None });
    remark
}

#[test]
fn a_dismissal_holds_for_the_code_it_was_made_for() {
    let made = dismissal(&remark(Some("eval(x)")), "it is ours").unwrap();
    assert!(is_dismissed(&made, &remark(Some("  eval(x)\n"))));
    assert!(!is_dismissed(&made, &remark(Some("eval(y)"))));
    assert!(!is_dismissed(&made, &remark(None)));
    assert!(!is_dismissed(&made, &Remark { identity: None, ..remark(Some("eval(x)")) }));
    assert!(is_dismissed(&dismissal(&remark(None), "it is ours").unwrap(), &remark(None)));
}
