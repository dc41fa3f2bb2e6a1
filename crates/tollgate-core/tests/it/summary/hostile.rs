//! Comments about hostile reviews: each one passes the validator.

use super::*;

fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => vec(proptest::sample::select(&PIECES[..]), 0..6).prop_map(|pieces| pieces.concat()),
        2 => arbitrary::text(),
        1 => (proptest::sample::select(&PIECES[..]), 1_usize..1500).prop_map(|(piece, n)| piece.repeat(n)),
        1 => proptest::sample::select(&["same", "none", "other"][..]).prop_map(str::to_owned),
    ]
}

fn hostile_finding() -> impl Strategy<Value = Finding> {
    (arbitrary::finding(), hostile(), hostile(), of(hostile()), of(hostile()), 0..3_usize).prop_map(
        |(finding, title, file, reason, suggestion, same)| {
            let mut finding = Finding { summary: Summary::shorten(&title).0, suggestion, ..finding };
            finding.reason = reason.or(finding.reason);
            let plain = ["a.rs", "a", "src/b.rs"][same];
            let file = file.replace(['\\', '\r', '\n'], "");
            finding.location.file = FilePath::parse(&file).unwrap_or_else(|_| FilePath::parse(plain).unwrap());
            if same == 0 {
                // Also covers equal titles in equal files.
                finding.location.file = FilePath::parse(plain).unwrap();
                finding.summary = Summary::shorten(&title.chars().take(4).collect::<String>()).0;
            }
            finding
        },
    )
}

fn hostile_review() -> impl Strategy<Value = Review> {
    (arbitrary::review(), vec(hostile_finding(), 0..6)).prop_map(|(review, findings)| {
        let review = Review { findings, ..review };
        let numbered = sample::with(review.findings.clone()).findings;
        Review { findings: numbered, ..review }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_first_review_is_valid_for_any_findings(
        review in hostile_review(), what in of(hostile()), keywords in of(hostile()), details in vec(hostile(), 0..4),
        bot in hostile(), cap in of(0_usize..4), early_feedback in any::<bool>(), known in any::<bool>(),
    ) {
        let analysis = analysis();
        let comment = Comment {
            bot: &bot, what: what.as_deref(), keywords: keywords.as_deref(), details: &details, commented: cap,
            early_feedback, analysis: known.then_some(&analysis), ..of_review(&review)
        };
        let reports = review.findings.iter().any(|finding| finding.severity != Severity::Praise);
        let text = summary::write(&comment);
        let is_mild = review.uncounted_blockers().next().is_some();
        prop_assert_eq!(text.is_some(), reports || is_mild);
        if let Some(text) = text.filter(|_| reports) {
            assert_valid(&text, &comment);
        }
        let alone = summary::write_details(&comment);
        prop_assert_eq!(comment::check(&alone, &bot).kind, Kind::Other);
        sections(&alone);
    }

    #[test]
    fn a_re_review_is_valid_for_any_findings(
        review in hostile_review(), resolved in vec(hostile_finding(), 0..4), fates in vec(0..3_u8, 6),
        cap in of(0_usize..4),
        details in vec(hostile(), 0..3), what in of(hostile()), repeat in any::<bool>(),
    ) {
        let n_findings = review.findings.len();
        let with = |fate: u8| (0..n_findings).filter(|&index| fates[index] == fate).collect::<Vec<usize>>();
        let (new, still_open) = (with(0), with(1));
        let mut resolved = resolved;
        if repeat {
            // One of two equal findings was fixed.
            resolved.extend(review.findings.iter().cloned());
        }
        let head = review.base.clone();
        let since =
            Since { head: &head, new: &new, resolved: &resolved, still_open: &still_open, n_added: 3, n_removed: 1, held_back: 1, dismissed: &[], had_findings: true };
        let comment = Comment {
            since: Some(since), details: &details, what: what.as_deref(), commented: cap, ..of_review(&review)
        };
        // Without a delta to report, Review Details stand alone where blockers do not count.
        if let Some(text) = summary::write(&comment).filter(|text| *text != summary::write_details(&comment)) {
            assert_valid(&text, &comment);
        }
    }
}
