//! Importing feature files of people and other programs.

use std::collections::BTreeMap;
use std::fs;

use tollgate_engine::board::Board;
use tollgate_engine::store::board::{CardFilter, ProjectRow};

use crate::desk::Desk;

/// More than one batch, and not a multiple of one.
const MANY: usize = 300;

fn name(index: usize) -> String {
    format!("feature-{index}")
}

fn write(desk: &Desk, id: &str, title: &str) {
    let folder = desk.path("project/.automaker/features").join(id);
    fs::create_dir_all(&folder).unwrap();
    let card = serde_json::json!({ "id": id, "title": title, "description": "", "status": "backlog" });
    fs::write(folder.join("feature.json"), card.to_string()).unwrap();
}

/// Titles by name.
fn titles(board: &Board, project: &ProjectRow) -> BTreeMap<String, String> {
    let filter = CardFilter { limit: usize::MAX, ..CardFilter::default() };
    let cards = board.features(project.id, &filter).unwrap();
    cards.into_iter().map(|card| (card.id.to_string(), card.facts.title)).collect()
}

#[test]
fn edits_without_a_server_are_imported_and_only_they_are_announced() {
    let desk = Desk::new("");
    for index in 0..MANY {
        write(&desk, &name(index), "old");
    }
    let board = desk.board();
    let project = board.add_project(&desk.path("project"), None).unwrap();
    assert_eq!(titles(&board, &project).len(), MANY);
    let n_events = board.database().last_seq().unwrap();

    write(&desk, &name(1), "new");
    fs::remove_dir_all(desk.path("project/.automaker/features/feature-2")).unwrap();
    fs::write(desk.path("project/.automaker/features/feature-3/feature.json"), "{").unwrap();
    write(&desk, "another", "new");
    let broken = board.import_all(&project).unwrap();

    assert_eq!(broken.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), [name(3)]);
    let now = titles(&board, &project);
    assert_eq!(now.iter().filter(|(_, title)| *title == "new").count(), 2);
    assert!(!now.contains_key("feature-2") && now.contains_key("feature-3"));
    assert_eq!(now.len(), MANY);
    let told = board.database().events_after(n_events, 1_000, None).unwrap();
    let mut told: Vec<_> = told.iter().map(|row| row.event.feature.as_ref().unwrap().to_string()).collect();
    told.sort();
    assert_eq!(told, ["another", "feature-1", "feature-2", "feature-3"]);

    // A repaired file is no longer reported as broken.
    write(&desk, &name(3), "old");
    assert!(board.import_all(&project).unwrap().is_empty());
    assert!(board.broken(project.id).is_empty());
    let id = tollgate_core::board::FeatureId::parse("feature-3").unwrap();
    assert_eq!(board.feature(project.id, &id).unwrap().broken, None);
}
