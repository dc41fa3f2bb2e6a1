//! One state of a feature: card, feature page, review pages, API, exports and the Markdown file show the same colour,
//! label and counts.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tollgate_core::board::machine::Event;
use tollgate_core::board::{Compliance, Criterion, DOES_NOT_COUNT, FeatureId, Iteration, Met, Outcome, Remark};
use tollgate_core::coverage::{Coverage, HunkStatus};
use tollgate_core::finding::{Finding, FindingId, NOTHING_QUOTED, Severity, VERIFICATION};
use tollgate_core::path::FilePath;
use tollgate_core::report::head_state::{self, GATE_RESULT, HeadState, LabelCounts};
use tollgate_core::review::{Review, Suppressor, Withheld, WithheldFinding};
use tollgate_core::verdict::Colour;
use tollgate_engine::store::board::{NewIteration, Transition};

use crate::record::{review, run, with_run};
use crate::stored::transition;
use crate::world::{World, story};

/// How many states are rendered.
const N_CASES: usize = 48;

/// A review at the gate, and the decision of a person about it.
#[derive(Debug, Clone)]
struct Case {
    /// Findings with a place, and about the whole change.
    findings: Vec<Severity>,
    whole: Vec<Severity>,
    below_floor: bool,
    criteria: Vec<Met>,
    /// A blocker that is dismissed, and one that an agent proposes to dismiss, which counts.
    dismissed: bool,
    proposed: bool,
    /// A reviewer rejects without a blocker.
    rejects: bool,
    failed: bool,
    overridden: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let severities = || proptest::collection::vec(proptest::sample::select(Severity::ALL.to_vec()), 0..3);
    let met = prop_oneof![
        Just(Met::Yes { evidence: "src/a.js:1".to_owned() }),
        Just(Met::Yes { evidence: "src/a.js:2".to_owned() }),
        Just(Met::No { evidence: "it is not there".to_owned() }),
        Just(Met::Unclear { evidence: None }),
        Just(Met::Unclear { evidence: Some("no file shows it".to_owned()) }),
    ];
    let criteria = proptest::collection::vec(met, 0..3);
    let flags =
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), proptest::bool::weighted(0.15), any::<bool>());
    (severities(), severities(), criteria, flags).prop_map(|(findings, whole, criteria, flags)| {
        let (below_floor, dismissed, proposed, rejects, failed, overridden) = flags;
        Case { findings, whole, below_floor, criteria, dismissed, proposed, rejects, failed, overridden }
    })
}

impl Case {
    fn found(&self) -> Vec<Finding> {
        let proposed = self.proposed.then_some(Severity::High);
        let found = |(index, severity): (usize, Severity)| Finding {
            id: FindingId::at(index),
            ..crate::reviews::finding(&format!("Finding{}", "x".repeat(index)), severity)
        };
        self.findings.iter().copied().chain(proposed).enumerate().map(found).collect()
    }

    fn withheld(&self) -> Vec<WithheldFinding> {
        let n_found = self.found().len();
        let one = |index: usize, severity: Severity, why: Withheld| {
            let finding = crate::reviews::finding(&format!("Held{}", "y".repeat(index)), severity);
            WithheldFinding { finding: Finding { id: FindingId::at(n_found + index), ..finding }, why }
        };
        let whole = self.whole.iter().enumerate().map(|(index, severity)| {
            let mut held = one(index, *severity, Withheld::Unverified("it names no file".to_owned()));
            held.finding.location.file = FilePath::parse("unknown").unwrap();
            held.finding.evidence = NOTHING_QUOTED.to_owned();
            held.finding.extra.insert(VERIFICATION.to_owned(), json!({}));
            held
        });
        let suppressed = Withheld::Suppressed {
            by: "a dismissal by ada".to_owned(),
            reason: Some("a test fixture".to_owned()),
            kind: Suppressor::Dismissal { who: Some("ada".to_owned()), at: None, everywhere: false },
        };
        let mut withheld: Vec<WithheldFinding> = whole.collect();
        withheld.extend(self.below_floor.then(|| one(8, Severity::Nit, Withheld::BelowFloor)));
        withheld.extend(self.dismissed.then(|| one(9, Severity::Critical, suppressed)));
        withheld
    }

    fn iteration(&self) -> Iteration {
        let criterion = |(index, met): (usize, &Met)| {
            (Criterion { id: format!("C{}", index + 1), text: format!("Point {}", index + 1) }, met.clone())
        };
        let compliance = Compliance { criteria: self.criteria.iter().enumerate().map(criterion).collect() };
        let unmet = |met: &&Met| matches!(met, Met::No { .. });
        let not_met = |_: &Met| Remark {
            title: "Not met: a point".to_owned(),
            file: None,
            line: None,
            evidence: None,
            identity: None,
            ..crate::record::remark(1, Severity::High, "Not met")
        };
        let mut findings: Vec<Remark> = self.criteria.iter().filter(unmet).map(not_met).collect();
        let withheld = self.withheld();
        let counted = withheld.iter().filter(|held| held.counts_at_gate()).map(|held| &held.finding);
        findings
            .extend(self.found().iter().chain(counted).filter(|it| it.severity != Severity::Praise).map(Remark::of));
        let is_rejected = self.rejects || findings.iter().any(|remark| remark.severity.blocks());
        let outcome = match (self.failed, is_rejected) {
            (true, _) => Outcome::Failed,
            (false, true) => Outcome::Rejected,
            (false, false) => Outcome::Approved,
        };
        let notes = self.dismissed.then(|| format!("{DOES_NOT_COUNT}Held, suppressed by a dismissal by ada"));
        let reason = (outcome != Outcome::Approved).then(|| "Fix it.".to_owned());
        Iteration { outcome, findings, compliance, reason, notes: notes.into_iter().collect(), ..review(1, vec![]) }
    }

    fn review(&self, iteration: &Iteration) -> Review {
        let mut review = Review { findings: self.found(), withheld: self.withheld(), ..run() };
        let hunks = review.coverage.take().unwrap().hunks.into_iter();
        review.coverage = Some(Coverage { hunks: hunks.filter(|hunk| hunk.status == HunkStatus::Reviewed).collect() });
        review.extra.insert(GATE_RESULT.to_owned(), HeadState::gate_result(iteration));
        review
    }
}

/// The state of a feature as a surface shows it: the class of its colour, its label in lower case, its counts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    class: &'static str,
    label: String,
    counts: Option<[u64; 4]>,
}

fn class(colour: Colour) -> &'static str {
    match colour {
        Colour::Green => "ok",
        Colour::Yellow | Colour::Blue => "warn",
        Colour::Red => "bad",
    }
}

fn expected(iteration: &Iteration, is_overridden: bool) -> Shown {
    let is_unclear = iteration.compliance.n_unclear() > 0;
    let (colour, label) = match is_overridden {
        true => (Colour::Green, head_state::BY_HAND),
        false => head_state::at_gate(iteration.outcome, is_unclear),
    };
    let counts = LabelCounts::of(iteration.findings.iter().map(|remark| remark.severity));
    let counts = counts.by_severity().map(|(_, n)| n as u64);
    Shown { class: class(colour), label: label.to_lowercase(), counts: Some(counts) }
}

/// The text between two marks.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = text.split_once(start).unwrap_or_else(|| panic!("no {start} in {text}")).1;
    rest.split_once(end).unwrap_or_else(|| panic!("no {end} in {rest}")).0
}

/// The class in this list that an attribute has.
fn known(classes: &str) -> &'static str {
    ["ok", "warn", "bad"].into_iter().find(|known| classes.split_whitespace().any(|it| it == *known)).unwrap()
}

/// The words behind the last sign of a chip or heading, in lower case.
fn words(html: &str) -> String {
    let text = html.rsplit_once("</span>").filter(|(_, text)| !text.trim().is_empty()).map_or(html, |(_, text)| text);
    text.trim().replace("&#39;", "'").to_lowercase()
}

fn counts_of(value: &Value) -> Option<[u64; 4]> {
    let n = |name: &str| value[name].as_u64().unwrap();
    Some([n("critical"), n("high"), n("medium"), n("low") + n("nit")])
}

/// The counts of chips such as `2 high`.
fn counts_of_chips(html: &str) -> Option<[u64; 4]> {
    let mut counts = [0; 4];
    for chip in html.split("<span class=\"chip ").skip(1) {
        let text = words(chip.rsplit_once("</span>").map_or(chip, |(chip, _)| chip));
        let (n, word) = text.split_once(' ').unwrap();
        let index = ["critical", "high", "medium", "low"].iter().position(|known| *known == word);
        match (index, word) {
            (Some(index), _) => counts[index] += n.parse::<u64>().unwrap(),
            (None, "nit") => counts[3] += n.parse::<u64>().unwrap(),
            (None, word) => assert_eq!(word, "praise", "{html}"),
        }
    }
    Some(counts)
}

/// The state of a feature on the surfaces that show features.
async fn of_feature(world: &World, project: u64, id: &str, is_failed: bool) -> Vec<(&'static str, Shown)> {
    let board = world.page(&format!("/projects/{project}?q={id}")).await.body;
    let card = between(&board, &format!("id=\"card-{id}\""), "</li>");
    let review = between(card, "<p class=\"card-review\">", "</p>");
    let chip = review.rsplit_once("<span class=\"chip ").unwrap().1;
    let (classes, text) = chip.split_once("\">").unwrap();
    let card_words = words(text.trim().trim_end_matches("</span>"));
    let page = world.page(&format!("/projects/{project}/features/{id}")).await.body;
    let verdict = between(&page, "<section class=\"verdict panel ", "</section>");
    let heading = between(verdict, "<h2 ", "</h2>");
    let path = format!("/api/projects/{project}/features");
    let listed = world.get(&format!("{path}?q={id}")).await.json()["features"][0].clone();
    let (colour, label) = match (listed["outcomes"][0].as_str().unwrap(), listed["approvedByHand"] == true) {
        (_, true) => (Colour::Green, head_state::BY_HAND),
        (outcome, _) => head_state::at_gate(Outcome::parse(outcome).unwrap(), listed["unchecked"] == true),
    };
    let counts = |counts: Option<[u64; 4]>| counts.filter(|_| !is_failed);
    let shown = |class, label: String, counts| Shown { class, label, counts };
    vec![
        ("card", shown(known(classes), card_words, None)),
        ("feature page", shown(known(verdict.split('"').next().unwrap()), words(heading), None)),
        ("features API", shown(class(colour), label.to_lowercase(), counts(counts_of(&listed["findings"])))),
    ]
}

/// The state on the surfaces that show stored reviews.
async fn of_run(world: &World) -> Vec<(&'static str, Shown)> {
    let listed = world.get("/api/reviews?limit=1").await.json()["reviews"][0].clone();
    let run = listed["run"].as_i64().unwrap();
    let of_api = |body: &Value| {
        let (colour, label) = (body["state"]["colour"].as_str().unwrap(), body["state"]["label"].as_str().unwrap());
        let class = match colour {
            "green" => "ok",
            "red" => "bad",
            _ => "warn",
        };
        Shown { class, label: label.to_lowercase(), counts: counts_of(&body["findings"]) }
    };
    let one = world.get(&format!("/api/reviews/{run}")).await.json();
    let page = world.page(&format!("/reviews/{run}")).await.body;
    let panel = between(&page, "<section class=\"panel verdict-panel ", "</section>");
    let chips = panel.split_once("<p class=\"chips\">").map_or("", |(_, chips)| chips.split("</p>").next().unwrap());
    let list = world.page("/reviews?limit=1").await.body;
    let row = between(&list, "<td data-name=\"Verdict\">", "<td data-name=\"Since");
    let (result, found) = row.split_once("<td data-name=\"Findings\">").unwrap();
    let found = found.split("</span>\n").next().unwrap();
    let chip = between(result, "<span class=\"chip ", "</td>").split("<p").next().unwrap();
    let label = words(chip.trim().trim_end_matches("</span>"));
    vec![
        ("reviews API", of_api(&listed)),
        ("review API", of_api(&one)),
        (
            "review page",
            Shown {
                class: known(panel.split('"').next().unwrap()),
                label: between(panel, "<span class=\"verdict-words\">", "</span>").to_lowercase(),
                counts: counts_of_chips(chips),
            },
        ),
        (
            "reviews page",
            Shown { class: known(chip.split('"').next().unwrap()), label, counts: counts_of_chips(found) },
        ),
    ]
}

async fn check(world: &World, project: u64, number: usize, case: &Case) {
    let id = format!("feature-1767960000000-x{number:05}");
    world.add_feature(project, &id);
    let iteration = case.iteration();
    world.commit(project, &id, iteration.commit.as_deref().unwrap());
    if case.failed {
        let new = NewIteration { review: None, ..with_run(iteration.clone(), run()) };
        world.happen(Transition { iteration: Some(new), ..transition(project, &id, Event::ReviewRefused) });
    } else {
        world.end_review(project, &id, with_run(iteration.clone(), case.review(&iteration)), 1);
    }
    let is_overridden = case.overridden && iteration.outcome != Outcome::Approved;
    if is_overridden {
        let path = format!("/api/projects/{project}/features/{id}/approve");
        let said = world.ask_as_person("POST", &path, r#"{"reason":"it is a prototype"}"#).await;
        assert_eq!(said.status, 200, "{said:?}");
    }
    let expected = expected(&iteration, is_overridden);
    let mut all = of_feature(world, project, &id, case.failed).await;
    if !case.failed {
        all.extend(of_run(world).await);
    }
    for (surface, shown) in all {
        let same = Shown { counts: shown.counts.and(expected.counts), ..expected.clone() };
        assert_eq!(shown, same, "{surface} of {case:?}");
    }
    let project = i64::try_from(project).unwrap();
    let file = world.board.review_text(project, &FeatureId::parse(&id).unwrap(), 1).unwrap();
    let status = match (iteration.outcome, iteration.is_unchecked()) {
        (Outcome::Approved, true) => "⚠️ APPROVED, REQUIREMENTS NOT CHECKED",
        (Outcome::Approved, false) => "✅ APPROVED",
        (Outcome::Rejected, _) => "❌ REJECTED",
        (Outcome::Failed, _) => "⚠️ FAILED",
    };
    assert!(file.contains(&format!("**Status**: {status}\n")), "{file}");
    assert_eq!(file.contains("**Approved By Hand**: "), is_overridden, "{file}");
    if case.dismissed {
        assert!(file.contains("by ada"), "{file}");
    }
}

// Issue 17, one verdict line.
#[test]
fn every_surface_of_a_feature_shows_the_same_colour_label_and_counts() {
    story(|| async {
        let world = World::start();
        let project = world.add_project().await;
        let mut runner = TestRunner::deterministic();
        for number in 0..N_CASES {
            let case = case().new_tree(&mut runner).unwrap().current();
            check(&world, project, number, &case).await;
        }
    });
}
