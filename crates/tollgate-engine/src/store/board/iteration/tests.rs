//! Stored reviews round trip.

use proptest::prelude::*;

use super::*;

fn remark() -> impl Strategy<Value = Remark> {
    let text = || "\\PC{0,12}";
    let maybe = || prop::option::of("\\PC{0,12}");
    let identity = prop::option::of(("F[0-9]{3}", "[0-9a-f]{32}", prop::option::of("[0-9a-f]{32}")));
    let kind = (0..Category::ALL.len(), 0..Severity::ALL.len(), prop::option::of(any::<u32>()));
    (text(), text(), maybe(), maybe(), maybe(), identity, kind).prop_map(
        |(title, description, suggestion, file, evidence, identity, (category, severity, line))| Remark {
            category: Category::ALL[category],
            severity: Severity::ALL[severity],
            title,
            description,
            suggestion,
            file,
            line,
            evidence,
            identity: identity.map(|(id, fingerprint, key)| Identity { id, fingerprint, key }),
        },
    )
}

fn criterion() -> impl Strategy<Value = (Criterion, Met)> {
    let met = ("\\PC{0,9}", 0..4).prop_map(|(evidence, which)| match which {
        0 => Met::Yes { evidence },
        1 => Met::No { evidence },
        2 => Met::Unclear { evidence: Some(evidence) },
        _ => Met::Unclear { evidence: None },
    });
    ("C[0-9]", "\\PC{0,30}", met).prop_map(|(id, text, met)| (Criterion { id, text }, met))
}

prop_compose! {
    fn iteration()(
        (number, outcome, outdated) in (any::<u32>(), 0..3usize, any::<bool>()),
        (model, provider, reviewed_at, summary) in ("\\PC{0,9}", "\\PC{0,9}", "\\PC{0,9}", "\\PC{0,40}"),
        (commit, base, reason) in (prop::option::of("[0-9a-f]{40}"), prop::option::of("\\PC{0,9}"), prop::option::of("(?s).{0,40}")),
        (findings, late) in (prop::collection::vec(remark(), 0..3), prop::collection::vec(remark(), 0..2)),
        (criteria, notes) in (prop::collection::vec(criterion(), 0..4), prop::collection::vec("\\PC{0,9}", 0..3)),
        after_step in prop::option::of("[a-z]{1,9}"),
        overridden in prop::option::of(("\\PC{0,9}", "\\PC{0,9}", "\\PC{0,9}")),
        note in prop::option::of("\\PC{0,9}"),
    ) -> Iteration {
        Iteration {
            number,
            outcome: [Outcome::Approved, Outcome::Rejected, Outcome::Failed][outcome],
            reviewed_at, model, provider, commit, base, findings, late, summary, reason,
            compliance: Compliance { criteria },
            notes, outdated,
            after_step: after_step.map(|step| StepId::parse(&step).unwrap()),
            overridden: overridden.map(|(who, reason, at)| Override { who, reason, at }),
            note,
        }
    }
}

proptest! {
    #[test]
    fn stored_reviews_round_trip(iteration in iteration()) {
        let stored = to_json(&StoredIteration::from(&iteration)).unwrap();
        let mut back = Iteration::try_from(serde_json::from_str::<StoredIteration>(&stored).unwrap()).unwrap();
        // A person's additions have columns of their own.
        let by = iteration.overridden.as_ref().map(|by| override_of_json(&override_to_json(by).unwrap()).unwrap());
        (back.overridden, back.note) = (by, iteration.note.clone());
        prop_assert_eq!(back, iteration);
    }
}
