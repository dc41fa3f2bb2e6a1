//! Long titles, texts, comments and lines.
//!
//! GitHub takes less than this itself; what it takes tomorrow, or another host does, is not ours to say.

use super::super::station::{BAD, Station};
use super::{START, outcome};
use crate::hub::{Hub, Opening};

/// So many characters, some of which take more than one byte.
fn long(words: &str) -> String {
    words.chars().cycle().take(100_000).collect()
}

#[test]
fn words_of_any_length_are_read_to_their_end_and_what_is_answered_is_short() {
    let hub = Hub::start();
    let station = Station::start(&hub);
    hub.repository("octo/app", START);
    let title = format!("feat: {} [strict-review]", long("größer "));
    let body = format!("{}\n\nBREAKING CHANGE: all of it\n", long("wörter und `code`\n\n> quoted\n\n"));
    let line = format!("{} // {}\n", BAD.trim_end(), long("ä"));
    let files = [("a.js", line.as_str())];
    let opening = Opening { title: &title, body: Some(&body), files: &files, ..Opening::default() };
    let pull = hub.open("octo/app", &opening);
    let found = outcome(&hub, &station, &pull, "a title, a text and a line of 100,000 characters");
    assert_eq!((found.seen.conclusion(), found.n_named(), found.n_annotations), (Some("failure"), 1, 1));
    for said in ["Breaking change in body: BREAKING CHANGE: all of it", "[strict-review] in title"] {
        assert!(found.summary().contains(said), "{said}: {}", found.summary());
    }

    let root = found.seen.inline[0].id;
    let explain = pull.answer("ada", root, &format!("{}\n@tollgate explain", long("wörter\n")));
    assert!(station.answered(&pull, explain).contains("js-eval-dynamic"), "{}", station.answered(&pull, explain));
    for said in ["@tollgate help", "@tollgate", "@tollgate explain"] {
        let asked = pull.say("mallory", &format!("{said} {}", long("wörter ")));
        assert!(station.answered(&pull, asked).contains("I do not understand"), "{said}");
    }
    let dismiss = pull.say("ada", &format!("@tollgate dismiss F001 {}", long("wörter ")));
    assert!(station.answered(&pull, dismiss).contains("Dismissed"), "{}", station.answered(&pull, dismiss));
    let found = outcome(&hub, &station, &pull, "comments of 100,000 characters");
    assert_eq!((found.seen.conclusion(), found.seen.others.len(), found.seen.answers.len()), (Some("success"), 4, 1));
    assert!(found.bodies().iter().all(|body| body.chars().count() < 3_000));
}
