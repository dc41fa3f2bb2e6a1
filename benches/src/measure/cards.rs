//! The list of a board from its database: 1,000 and 10,000 features with three reviews and a long file each.

use std::io;
use std::path::Path;

use tollgate_core::board::machine::State;
use tollgate_core::board::{Compliance, FeatureId, Iteration, Outcome};
use tollgate_engine::failure::Failure;
use tollgate_engine::store::Database;
use tollgate_engine::store::board::{CardFilter, Changes, Facts, NewFeature};

use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run;

pub(super) const MEASURE: Measure = Measure { name: "cards", take };

/// A list of 2,000 features may take this long.
const LIMIT_MS: f64 = 100.0;
/// Ten times the features may take this many times as long.
const GROWTH_BAR: f64 = 12.0;
/// The file of a feature, with its diffs in it.
const FILE_BYTES: usize = 20_000;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let database = Database::open(&folder.path().join("tollgate.db")).map_err(io::Error::other)?;
    let mut times = Vec::new();
    for n_features in [1_000, 2_000, 10_000] {
        let project = fill(&database, n_features).map_err(io::Error::other)?;
        let mut best = f64::MAX;
        for _ in 0..setting.n_runs.max(1) {
            let filter = CardFilter { limit: n_features, ..CardFilter::default() };
            let mut cards = Ok(Vec::new());
            best = best.min(run::cpu_of(|| cards = database.cards(project, &filter))?);
            let cards = cards.map_err(io::Error::other)?;
            if cards.len() != n_features || cards.iter().any(|card| card.pips.len() != 3) {
                return Err(io::Error::other("features are missing"));
            }
        }
        times.push(best);
    }
    let row = |measure: &str, ours, peer, bar| Row { measure: measure.to_owned(), ours, peer, unit: "ms", bar };
    Ok(vec![
        row("cards, 2,000", times[1], LIMIT_MS, 1.0),
        row("cards, 10,000 against 1,000", times[2], times[0], GROWTH_BAR),
    ])
}

/// Adds a project with so many features.
fn fill(database: &Database, n_features: usize) -> Result<i64, Failure> {
    let project = database.add_project(Path::new(&format!("/{n_features}")), "bench", 0)?.id;
    let add = |first: usize| {
        (first..n_features).step_by(64).try_for_each(|index| database.insert_feature(feature(project, index)).map(drop))
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..64).map(|first| scope.spawn(move || add(first))).collect();
        writers.into_iter().filter_map(|writer| writer.join().ok()).collect::<Result<(), _>>()
    })?;
    Ok(project)
}

fn feature(project: i64, index: usize) -> NewFeature {
    let title = format!("Feature {index} does what somebody asked for");
    let iteration = |number| Iteration {
        number,
        outcome: Outcome::Rejected,
        reviewed_at: "2026-01-09T14:22:00.000Z".to_owned(),
        model: "tollgate/offline".to_owned(),
        provider: "tollgate".to_owned(),
        commit: None,
        base: None,
        findings: Vec::new(),
        late: Vec::new(),
        summary: "x".repeat(2_000),
        reason: None,
        compliance: Compliance::default(),
        notes: Vec::new(),
        outdated: false,
        after_step: None,
        overridden: None,
        note: None,
    };
    NewFeature {
        project,
        id: FeatureId::parse(&format!("feature-{index}")).unwrap_or_else(|_| unreachable!("digits are safe")),
        state: State { iteration: 3, ..State::new() },
        facts: Facts { first_line: title.clone(), title, priority: 2, ..Facts::default() },
        document: vec![b' '; FILE_BYTES],
        file_hash: None,
        broken: None,
        iterations: (1..=3).map(iteration).collect(),
        set: Changes::default(),
        created_ms: index as u64,
        who: "bench".to_owned(),
        at_ms: 0,
        events: Vec::new(),
    }
}
