//! Every webhook that GitHub publishes as an example is taken or politely refused, and never breaks anything.

use serde_json::Value;

use super::test_server::TestServer;
use crate::fake_github::{FakeGithub, contract, deliver};

#[test]
fn every_published_example_of_a_webhook_is_taken_or_politely_refused() {
    let path = contract().join("node_modules/@octokit/webhooks-examples/api.github.com/index.json");
    let events: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let github = FakeGithub::start();
    let mut server = TestServer::start(&github);
    let url = server.hook();
    let (mut n_sent, mut statuses) = (0, std::collections::BTreeMap::<u16, Vec<String>>::new());
    let events = events.as_array().unwrap();
    for event in events {
        let name = event["name"].as_str().unwrap();
        for example in event["examples"].as_array().unwrap() {
            n_sent += 1;
            let guid = format!("{n_sent:08x}-1111-4000-8000-000000000000");
            let status = deliver(&url, TestServer::SECRET, name, &guid, example.to_string().as_bytes());
            statuses.entry(status).or_default().push(name.to_owned());
        }
    }
    assert!(!server.is_dead());
    let counts: Vec<String> = statuses.iter().map(|(status, names)| format!("{status}: {}", names.len())).collect();
    println!("{} events, {n_sent} examples: {}", events.len(), counts.join(", "));
    assert_eq!((events.len(), n_sent), (58, 329));
    let is_fine = |status: &u16| (200..300).contains(status) || (400..500).contains(status);
    assert!(statuses.keys().all(is_fine), "{statuses:?}");
    // The published examples are real payloads, so all of them must parse.
    assert_eq!(statuses.keys().copied().filter(|status| *status >= 300).collect::<Vec<_>>(), [0; 0], "{statuses:?}");
}
