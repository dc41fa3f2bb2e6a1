//! One state of a head: every surface shows the same colour, label, explanation and counts.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use tollgate_core::comment::{self, DEFAULT_BOT};
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::finding::{Finding, LineRange, Severity, Side};
use tollgate_core::gate::{self, FailOn, Gate};
use tollgate_core::path::FilePath;
use tollgate_core::pull::check_run::Conclusion;
use tollgate_core::pull::surface::{self, Mode, Surface, SurfaceInput};
use tollgate_core::report::head_state::{HeadState, SINCE_LAST};
use tollgate_core::report::summary::{self, Comment, Since};
use tollgate_core::report::terminal::{self, Look, Paint};
use tollgate_core::report::{Content, Strictness, github, html, json as json_report, junit, markdown, rdjson, sarif};
use tollgate_core::review::{Review, Suppressor, Withheld, WithheldFinding};
use tollgate_core::sha::Sha;
use tollgate_core::verdict::Colour;

use crate::sample;

/// A review of some state, with the delta to the last one.
#[derive(Debug, Clone)]
struct Case {
    review: Review,
    gate: Gate,
    delta: Option<Delta>,
}

#[derive(Debug, Clone)]
struct Delta {
    head: Sha,
    new: Vec<usize>,
    still_open: Vec<usize>,
    resolved: Vec<Finding>,
    dismissed: Vec<WithheldFinding>,
}

impl Case {
    fn since(&self) -> Option<Since<'_>> {
        self.delta.as_ref().map(|delta| Since {
            head: &delta.head,
            new: &delta.new,
            resolved: &delta.resolved,
            dismissed: &delta.dismissed,
            still_open: &delta.still_open,
            n_added: 3,
            n_removed: 1,
            held_back: 0,
            had_findings: true,
        })
    }

    fn comment(&self) -> Comment<'_> {
        Comment {
            bot: DEFAULT_BOT,
            review: &self.review,
            gate: self.gate,
            analysis: None,
            what: None,
            checked: &[],
            keywords: None,
            early_feedback: false,
            commented: None,
            details: &[],
            since: self.since(),
        }
    }

    fn surface(&self, state: &HeadState) -> Surface {
        surface::surface(&SurfaceInput {
            bot: DEFAULT_BOT,
            mention: Some("tollgate"),
            head: &self.review.reviewed,
            review: &self.review,
            files: &[],
            state,
            summary: None,
            new: None,
            known: &BTreeSet::new(),
            cap: None,
            url_of: &|_: &FilePath, _: Option<LineRange>, _: Side| String::new(),
            details_url: None,
            mode: Mode::Standard,
            auto_approve: false,
        })
    }

    /// The review as it is stored, read again.
    fn stored(&self) -> Review {
        let mut review = self.review.clone();
        if let Some(delta) = &self.delta {
            let ids = |indices: &[usize]| -> Vec<String> {
                indices.iter().map(|&index| review.findings[index].id.to_string()).collect()
            };
            let value = |finding: &Finding| json!({ "severity": finding.severity.as_str() });
            let since = json!({
                "new": ids(&delta.new),
                "still_open": ids(&delta.still_open),
                "resolved": delta.resolved.iter().map(value).collect::<Vec<_>>(),
                "dismissed": delta.dismissed.iter().map(|held| value(&held.finding)).collect::<Vec<_>>(),
                "withheld": 1,
            });
            review.extra.insert(SINCE_LAST.to_owned(), since);
        }
        let text = json_report::write(&review, json_report::Options::default());
        json_report::read_strict(text.as_bytes()).unwrap()
    }
}

/// The sign of a state where there are no colours.
fn sign(state: &HeadState) -> char {
    match (state.colour(), state.gate()) {
        (Colour::Red, _) | (_, Gate::Closed) => '✖',
        (_, Gate::Partial | Gate::Skipped) => '◐',
        (Colour::Yellow | Colour::Blue, Gate::Open) => '●',
        (Colour::Green, Gate::Open) => '✔',
    }
}

/// Every surface as text, with the words of the state behind an emoji or a sign.
fn lines(case: &Case, state: &HeadState) -> Vec<(&'static str, String)> {
    let (conclusion, check) = case.surface(state).check;
    let line = state.markdown();
    assert!(check.summary.starts_with(&line), "{}", check.summary);
    assert!(check.summary.contains(&format!("- Findings: {}\n", state.counts().in_words())), "{}", check.summary);
    let must = line.contains(" must ") || line.contains("Address ");
    assert!(!(conclusion == Conclusion::Success && must && case.gate == Gate::Closed), "{line}");
    assert!(!(conclusion == Conclusion::Success && line.contains(" must ")), "{line}");
    let is_ready = matches!(state.colour(), Colour::Green | Colour::Blue);
    assert!(!is_ready || conclusion == Conclusion::Success, "{line} beside {conclusion:?}");
    let mut all = vec![("check", check.title)];
    if let Some(text) = summary::write(&case.comment()) {
        let checked = comment::check(&text, DEFAULT_BOT);
        assert!(checked.errors.is_empty(), "{:?}\n{text}", checked.errors);
        assert!(text.contains(&format!("{line}\n")), "{line} is not in\n{text}");
        assert!(text.contains(&format!("- Findings: {}\n", state.counts().in_words())), "{text}");
    }
    let look =
        Look { paint: Paint { unicode: true, ..Paint::default() }, width: 5000, verbose: false, only_new: false };
    let since = case.since();
    let text = terminal::render(&case.review, &[], case.gate, since.as_ref(), &look);
    let sign = sign(state);
    let said = text.lines().find_map(|line| line.strip_prefix(sign)).unwrap_or_else(|| panic!("no {sign} in\n{text}"));
    all.push(("terminal", said.trim().to_owned()));
    let page = html::write(&case.stored(), &[], Some(case.gate));
    let section = page.split("<section class=\"verdict").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(section.contains(&format!("aria-hidden=\"true\">{sign}</span>")), "{section}");
    assert_eq!(section.starts_with(" good\""), state.colour() == Colour::Green, "{section}");
    let (label, rest) = section.split_once("</span> ").unwrap().1.split_once("</h2>\n<p>").unwrap();
    all.push(("html", format!("{label} -- {}", rest.split("</p>").next().unwrap())));
    all
}

/// The review in every format, as a person sees it: comments of Markdown and HTML are left out.
fn formats(case: &Case, fail_on: FailOn) -> Vec<(&'static str, String)> {
    let review = &case.review;
    let look =
        Look { paint: Paint { unicode: true, ..Paint::default() }, width: 5000, verbose: false, only_new: false };
    let report = markdown::write(review);
    let read = markdown::read(&report, Strictness::Strict).unwrap();
    assert_eq!(read.content, Content::Review(Box::new(review.clone())), "{report}");
    let visible = report.lines().filter(|line| !line.starts_with("<!--")).collect::<Vec<_>>().join("\n");
    vec![
        ("pretty", terminal::render(review, &[], case.gate, None, &look)),
        ("json", json_report::write(review, json_report::Options::default())),
        ("markdown", visible),
        ("sarif", sarif::write(review, sarif::Options::default())),
        ("rdjson", rdjson::write(review)),
        ("rdjsonl", rdjson::write_lines(review)),
        ("github", github::write(review).text),
        ("junit", junit::write(review, fail_on)),
        ("html", html::write(review, &[], Some(case.gate))),
        ("summary", summary::write(&Comment { since: None, ..case.comment() }).unwrap_or_default()),
    ]
}

fn severity() -> impl Strategy<Value = Severity> {
    proptest::sample::select(Severity::ALL.to_vec())
}

fn findings(name: &'static str) -> impl Strategy<Value = Vec<Finding>> {
    vec((severity(), 1_u32..4), 0..5).prop_map(move |made| {
        let one = |(index, (severity, line)): (usize, (Severity, u32))| {
            // Some share file and title, and are one item.
            sample::finding(severity, &format!("a.rs:{line}"), &format!("{name} {}", index % 3))
        };
        made.into_iter().enumerate().map(one).collect()
    })
}

fn withheld() -> impl Strategy<Value = WithheldFinding> {
    let why = prop_oneof![
        "[a-z]{1,8}".prop_map(|who| Withheld::Suppressed {
            by: format!("a dismissal by {who}"),
            reason: Some("a fixture".to_owned()),
            kind: Suppressor::Configuration,
        }),
        Just(Withheld::NoConsensus { voices: 1, needed: 2 }),
        Just(Withheld::Unverified("nowhere".to_owned())),
        Just(Withheld::BelowFloor),
    ];
    (severity(), why)
        .prop_map(|(severity, why)| WithheldFinding { finding: sample::finding(severity, "w.rs:1", "Held"), why })
}

fn case() -> impl Strategy<Value = Case> {
    let fail_on = prop_oneof![Just(FailOn::default()), Just(FailOn::Never), severity().prop_map(FailOn::Severity),];
    let delta = (findings("resolved"), vec(withheld(), 0..3), vec(any::<bool>(), 5));
    let hunks = (0_usize..3, 0_usize..2);
    (findings("open"), vec(withheld(), 0..4), fail_on, proptest::option::of(delta), hunks).prop_map(
        |(found, held, fail_on, delta, (n_missing, n_skipped))| {
            let mut review = sample::with(found);
            let hunk = |status| CoveredHunk {
                file: FilePath::parse("a.rs").unwrap(),
                lines: Some(LineRange::line(1)),
                status,
            };
            let mut hunks = vec![hunk(HunkStatus::Reviewed)];
            hunks.extend((0..n_missing).map(|_| hunk(HunkStatus::NotReviewed("the call failed".to_owned()))));
            hunks.extend((0..n_skipped).map(|_| hunk(HunkStatus::Skipped("generated".to_owned()))));
            review.coverage = Some(Coverage { hunks });
            review.withheld = held;
            let delta = delta.map(|(resolved, mut dismissed, fates)| {
                dismissed.retain(|held| matches!(held.why, Withheld::Suppressed { .. }));
                // A dismissed finding of the last review is withheld in this one.
                review.withheld.extend(dismissed.iter().cloned());
                let (new, still_open) = (0..review.findings.len()).partition(|&index| fates[index]);
                Delta { head: review.base.clone(), new, still_open, resolved, dismissed }
            });
            let n_findings = review.findings.len();
            for (index, held) in review.withheld.iter_mut().enumerate() {
                held.finding.id = tollgate_core::finding::FindingId::at(n_findings + index);
            }
            let gate = gate::check(&review, fail_on);
            Case { review, gate, delta }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_surface_of_a_head_shows_the_same_colour_label_and_counts(case in case()) {
        let state = case.comment().state();
        prop_assert_eq!(&HeadState::stored(&case.stored(), Some(case.gate)), &state);
        let plain = state.plain();
        for (surface, said) in lines(&case, &state) {
            let said = said.replace('\u{200b}', "").replace("&#39;", "'").replace("&quot;", "\"");
            // The title of a check is cut.
            let is_same = said == plain || (surface == "check" && said.ends_with('…') && plain.starts_with(said.trim_end_matches('…')));
            prop_assert!(is_same, "{}: {} is not {}", surface, said, plain);
        }
        let n_suppressed_blockers = case.review.withheld.iter().filter(|held| {
            matches!(held.why, Withheld::Suppressed { .. }) && held.finding.severity.blocks()
        }).count();
        prop_assert_eq!(plain.contains("suppressed"), n_suppressed_blockers > 0, "{}", plain);
    }

    #[test]
    fn every_format_names_the_blockers_that_do_not_count(case in case()) {
        for (format, text) in formats(&case, FailOn::default()) {
            for held in case.review.suppressed_blockers() {
                // The verdict line names three reasons, and counts the others.
                let is_line = matches!(format, "pretty" | "html");
                let Withheld::Suppressed { by, reason, .. } = &held.why else { continue };
                let is_named = text.contains(by.as_str()) && text.contains(reason.as_deref().unwrap()) || is_line && text.contains("more suppressed");
                prop_assert!(is_named, "{}: {}", format, text);
            }
            if case.review.not_agreed_blockers().next().is_some() {
                let marks = ["not agreed", "no-consensus", "needed reviewers"];
                prop_assert!(marks.iter().any(|mark| text.contains(mark)), "{}: {}", format, text);
            }
        }
    }

    #[test]
    fn a_partial_or_closed_gate_is_never_green(case in case()) {
        let state = case.comment().state();
        let is_ready = matches!(state.colour(), Colour::Green | Colour::Blue);
        prop_assert!(!is_ready || case.gate == Gate::Open && case.review.is_complete(), "{}", state.plain());
    }
}

#[track_caller]
fn check(review: &Review, fail_on: FailOn, delta: Option<Delta>, expected: &str) {
    let case = Case { review: review.clone(), gate: gate::check(review, fail_on), delta };
    assert_eq!(case.comment().state().markdown(), expected);
}

fn found(severities: &[Severity]) -> Review {
    let one = |(index, severity): (usize, &Severity)| {
        sample::finding(*severity, &format!("a.rs:{}", index + 1), &format!("Title {index}"))
    };
    sample::with(severities.iter().enumerate().map(one).collect())
}

fn dismissed(severity: Severity) -> WithheldFinding {
    let why = Withheld::Suppressed {
        by: "a dismissal by alice".to_owned(),
        reason: Some("a *test* fixture".to_owned()),
        kind: Suppressor::Configuration,
    };
    WithheldFinding { finding: sample::finding(severity, "a.rs:9", "Held"), why }
}

fn delta(new: &[usize], still_open: &[usize], resolved: &[Severity], dismissed: Vec<WithheldFinding>) -> Option<Delta> {
    let resolved = resolved.iter().map(|severity| sample::finding(*severity, "b.rs:1", "Was")).collect();
    let head = Sha::parse(&"c".repeat(40)).unwrap();
    Some(Delta { head, new: new.to_vec(), still_open: still_open.to_vec(), resolved, dismissed })
}

#[test]
fn a_verdict_that_is_green_because_of_a_dismissal_names_it() {
    let mut review = found(&[]);
    review.withheld = vec![dismissed(Severity::Critical), dismissed(Severity::Low)];
    check(
        &review,
        FailOn::default(),
        None,
        ":green_circle: **Approve** -- no findings; 1 blocking finding suppressed by a dismissal by alice: a \\*test\\* fixture",
    );
    check(
        &review,
        FailOn::default(),
        delta(&[], &[], &[], vec![dismissed(Severity::Critical)]),
        ":green_circle: **Blockers dismissed** -- Ready to merge; \
         1 blocking finding suppressed by a dismissal by alice: a \\*test\\* fixture",
    );
}

#[test]
fn open_medium_findings_are_counted_in_the_update() {
    use Severity::{High, Low, Medium};
    let review = found(&[Medium, Low, Medium]);
    let resolved = delta(&[], &[0, 1, 2], &[High], Vec::new());
    check(
        &review,
        FailOn::default(),
        resolved,
        ":green_circle: **Blockers resolved** -- 3 non-blocking finding(s) remain",
    );
    let before = delta(&[], &[0, 1, 2], &[], Vec::new());
    check(
        &review,
        FailOn::default(),
        before,
        ":yellow_circle: **Still needs changes** -- 3 non-blocking finding(s) remain",
    );
    let new = delta(&[0], &[1, 2], &[], Vec::new());
    check(
        &review,
        FailOn::default(),
        new,
        ":yellow_circle: **Still needs changes** -- No new blocking issues; 3 non-blocking finding(s) remain",
    );
}

#[test]
fn a_gate_closed_by_configuration_is_never_ready() {
    use Severity::{High, Low, Medium};
    let low = FailOn::Severity(Low);
    check(
        &found(&[Low]),
        low,
        None,
        ":yellow_circle: **Needs changes** -- 1 minor finding must be fixed before merging",
    );
    let still_open = delta(&[], &[0], &[High], Vec::new());
    check(
        &found(&[Medium]),
        low,
        still_open,
        ":yellow_circle: **Gate closed** -- 1 medium finding must be fixed before merging",
    );
}

#[test]
fn blockers_that_the_configured_gate_lets_pass_are_not_said_to_be_required() {
    use Severity::{Critical, High};
    check(
        &found(&[Critical, High]),
        FailOn::Never,
        None,
        ":red_circle: **Block** -- 1 critical and 1 major finding, which the configured gate lets pass",
    );
    check(
        &found(&[High]),
        FailOn::Never,
        delta(&[], &[0], &[], Vec::new()),
        ":yellow_circle: **Blockers remain** -- 1 blocking issue(s) still open; the configured gate lets them pass",
    );
}

#[test]
fn a_blocker_without_consensus_is_named_beside_the_verdict() {
    let mut review = found(&[]);
    let why = Withheld::NoConsensus { voices: 1, needed: 2 };
    review.withheld = vec![WithheldFinding { finding: sample::finding(Severity::High, "a.rs:9", "Alone"), why }];
    check(
        &review,
        FailOn::default(),
        None,
        ":green_circle: **Approve** -- no findings; 1 blocking finding not agreed by enough reviewers",
    );
}
