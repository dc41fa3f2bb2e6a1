//! Detection of input formats.

use tollgate_core::report::{self, Content, InputFormat, MAX_INPUT, Strictness, markdown, rdjson, sarif};

use crate::sample;

#[track_caller]
fn check(text: &str, expected: Option<InputFormat>) {
    assert_eq!(report::detect(text.as_bytes()), expected, "{text}");
}

#[test]
fn formats_are_detected_by_content() {
    let review = sample::review();
    check(sample::REVIEW, Some(InputFormat::Json));
    check(sample::FINDING, Some(InputFormat::Json));
    check("[]", Some(InputFormat::Json));
    check(&format!("\u{feff}\n{}", sample::REVIEW), Some(InputFormat::Json));
    check(&markdown::write(&review), Some(InputFormat::Markdown));
    check(&sarif::write(&review, sarif::Options::default()), Some(InputFormat::Sarif));
    check(&rdjson::write(&review), Some(InputFormat::Rdjson));
    check(&rdjson::write_lines(&review), Some(InputFormat::Rdjsonl));
    for text in ["", "  ", "{}", "{", "hello", "diff --git a/x b/x"] {
        check(text, None);
    }
}

#[test]
fn detected_formats_are_parsed() {
    let review = sample::review();
    let texts = [
        sample::REVIEW.to_owned(),
        markdown::write(&review),
        sarif::write(&review, sarif::Options::default()),
        rdjson::write(&review),
        rdjson::write_lines(&review),
    ];
    for text in texts {
        let format = report::detect(text.as_bytes()).unwrap();
        let read = report::read(text.as_bytes(), format, Strictness::Strict, None).unwrap();
        assert_eq!(
            matches!(read.content, Content::Review(_)),
            matches!(format, InputFormat::Json | InputFormat::Markdown)
        );
        // Praise is not exported as a diagnostic.
        let n_findings = if matches!(format, InputFormat::Rdjson | InputFormat::Rdjsonl) { 2 } else { 3 };
        assert_eq!(read.into_review().findings.len(), n_findings, "{format:?}");
    }
}

#[test]
fn oversized_and_wrongly_encoded_input_is_refused_with_its_position() {
    let huge = vec![b' '; MAX_INPUT + 1];
    let error = report::read(&huge, InputFormat::Json, Strictness::Lenient, None).unwrap_err();
    assert_eq!(error.problems[0].rule, "size");
    let error = report::read(b"# Code Review\n\xff", InputFormat::Markdown, Strictness::Lenient, None).unwrap_err();
    assert_eq!(error.to_string(), "line 2: not valid UTF-8 (utf-8)");
}
