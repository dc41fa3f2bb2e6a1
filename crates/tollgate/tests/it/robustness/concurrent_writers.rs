//! Another program writes the file of a feature without a pause, while the feature goes its way.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::server::{Server, exchange};
use crate::desk::{Desk, learns};
use crate::wait::wait_until;

/// How the other program writes.
#[derive(Debug, Clone, Copy)]
enum Style {
    /// Over the old text, so that a reader may see half of it.
    InPlace,
    /// Beside it, and then in its place.
    Rename,
}

/// Counts in its own field of the file and keeps the others; returns the last number.
fn count(file: &Path, style: Style, over: &AtomicBool, (address, ping): (SocketAddr, &[u8])) -> u64 {
    let mut number = 0;
    while !over.load(Ordering::SeqCst) {
        // A half-written file cannot be parsed; it is read again.
        let Ok(mut document) = serde_json::from_slice::<Value>(&std::fs::read(file).unwrap()) else { continue };
        number += 1;
        document["other"] = json!({"n": number, "odd": "\u{202e}"});
        let text = serde_json::to_vec_pretty(&document).unwrap();
        match style {
            Style::InPlace => std::fs::write(file, text).unwrap(),
            Style::Rename => {
                let beside = file.with_extension("json.other");
                std::fs::write(&beside, text).unwrap();
                std::fs::rename(&beside, file).unwrap();
            }
        }
        // Paced by requests, so that the server gets its turn between two writes.
        assert_eq!(exchange(address, ping).unwrap().status, 200);
    }
    number
}

fn check(style: Style) {
    let desk = Desk::new(&format!("sleep 0.3; {}", learns()));
    let server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    let body = json!({"title": "Written by two", "description": "x"});
    let answer = server.post(&format!("/api/projects/{project}/features"), &body);
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    let file = desk.path("project/.automaker/features").join(&id).join("feature.json");
    let over: Arc<AtomicBool> = Arc::default();
    let writer = {
        let (file, over) = (file.clone(), Arc::clone(&over));
        let (address, ping) = (server.address, server.bytes("GET", "/healthz", &[], ""));
        std::thread::spawn(move || count(&file, style, &over, (address, &ping)))
    };
    // What another program has half written may be in the way for a moment.
    wait_until("it is started", || {
        server.post(&format!("/api/projects/{project}/features/{id}/start"), &json!({})).status == 200
    });
    let end = server.settled(project, &id);
    over.store(true, Ordering::SeqCst);
    let n_written = writer.join().unwrap();
    let iteration = &end["codeReviewSpec"]["currentIteration"];
    assert_eq!((&end["status"], iteration), (&json!("waiting_approval"), &json!(2)), "{style:?}: {end}");
    let read = || serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap();
    wait_until("the file says what is stored", || {
        let document = read();
        document["status"] == "waiting_approval" && document["codeReviewSpec"]["status"] == "approved"
    });
    let document = read();
    assert_eq!(document["other"], json!({"n": n_written, "odd": "\u{202e}"}), "{style:?}: {document}");
    assert_eq!((&document["title"], &document["description"]), (&json!("Written by two"), &json!("x")));
    assert_eq!(document["codeReviewSpec"]["iterations"].as_array().map(Vec::len), Some(2), "{document}");
    assert_eq!(server.feature(project, &id)["status"], "waiting_approval");
    println!("outside writer, {style:?}: {n_written} writes, nobody's fields lost");
}

#[test]
fn a_program_that_overwrites_the_file_loses_nothing_and_costs_nothing() {
    check(Style::InPlace);
}

#[test]
fn a_program_that_replaces_the_file_loses_nothing_and_costs_nothing() {
    check(Style::Rename);
}
