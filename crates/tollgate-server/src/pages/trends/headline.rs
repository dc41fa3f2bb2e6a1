//! The headline figures, each with its change against the period before.

use tollgate_core::visible::grouped;
use tollgate_engine::store::Figures;

use super::resolved_rate;
use crate::pages::words;

/// A figure on top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Headline {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// How it differs from the time before, in words; empty when there is nothing to compare with.
    pub(super) change: String,
}

/// The figures on top. Whether more or less of something is better is for people to say.
pub(super) fn all(now: &Figures, before: &Figures) -> Vec<Headline> {
    let count = |n: f64| grouped(n.round() as u64);
    let percent = |n: f64| format!("{n:.0} %");
    let took = |ms: f64| words::duration(ms as u64);
    let per_review =
        |figures: &Figures| (figures.n_runs > 0).then(|| figures.n_findings() as f64 / figures.n_runs as f64);
    let approved =
        |figures: &Figures| (figures.n_runs > 0).then(|| (figures.n_approved as f64 / figures.n_runs as f64) * 100.0);
    let median = |figures: &Figures| figures.took_ms.map(|spread| spread.median);
    let some = |n: u64| Some(n as f64);
    // Without a single review nothing is known of the time before, not even that it found nothing.
    let was = |value: Option<f64>| value.filter(|_| before.n_runs > 0);
    let tenth = |n: f64| format!("{n:.1}");
    vec![
        headline("Reviews", some(now.n_runs), some(before.n_runs), count),
        headline("Findings per review", per_review(now), was(per_review(before)), tenth),
        headline("Blocking findings", some(now.n_blockers()), was(some(before.n_blockers())), count),
        headline("Approved", approved(now), was(approved(before)), percent),
        headline("Resolved rate", resolved_rate(now), was(resolved_rate(before)), percent),
        headline("Usual time", median(now), was(median(before)), took),
        headline("Cost", Some(now.cost_usd), was(Some(before.cost_usd)), words::cost),
    ]
}

fn headline(name: &'static str, now: Option<f64>, before: Option<f64>, say: impl Fn(f64) -> String) -> Headline {
    let value = now.map_or_else(|| "–".to_owned(), &say);
    let change = match (now, before) {
        (Some(now), Some(before)) if say(now) == say(before) => "same as before".to_owned(),
        (Some(now), Some(before)) if now > before => format!("▲ up from {}", say(before)),
        (Some(_), Some(before)) => format!("▼ down from {}", say(before)),
        _ => String::new(),
    };
    Headline { name, value, change }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tollgate_engine::store::Spread;

    use super::*;

    #[track_caller]
    fn check(now: &Figures, before: &Figures) -> String {
        let line = |headline: Headline| format!("{}: {} {}", headline.name, headline.value, headline.change);
        all(now, before).into_iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn figures_are_told_beside_what_they_were() {
        let now = Figures {
            n_runs: 10,
            n_approved: 4,
            by_severity: [1, 2, 0, 12, 0, 0],
            n_prior: 8,
            n_resolved: 6,
            took_ms: Some(Spread { median: 62_000.0, p90: 90_000.0 }),
            cost_usd: 1.5,
            ..Figures::default()
        };
        let before =
            Figures { n_runs: 20, n_approved: 8, by_severity: [0, 1, 0, 0, 0, 0], cost_usd: 1.5, ..Figures::default() };
        assert_snapshot!(check(&now, &before), @r"
        Reviews: 10 ▼ down from 20
        Findings per review: 1.5 ▲ up from 0.1
        Blocking findings: 3 ▲ up from 1
        Approved: 40 % same as before
        Resolved rate: 75 % 
        Usual time: 1 min 2 s 
        Cost: $1.50 same as before
        ");
    }

    #[test]
    fn without_a_time_before_nothing_is_compared() {
        assert_snapshot!(check(&Figures::default(), &Figures::default()), @r"
        Reviews: 0 same as before
        Findings per review: – 
        Blocking findings: 0 
        Approved: – 
        Resolved rate: – 
        Usual time: – 
        Cost: $0.00
        ");
    }
}
