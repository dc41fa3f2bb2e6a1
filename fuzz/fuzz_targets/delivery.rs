//! Feeds arbitrary bytes to what reads deliveries, under the name of every event that is heeded, and holds its laws: no
//! panic, the same bytes ask the same, what is asked stands in the delivery, and no program tells us anything.
//!
//! Run with `RUSTC_BOOTSTRAP=1 cargo fuzz run delivery -- -max_total_time=300`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate_core::pull::ask::{About, Ask, What};
use tollgate_engine::forge::github::delivery::read;

const EVENTS: [&str; 10] = [
    "pull_request",
    "issue_comment",
    "pull_request_review_comment",
    "pull_request_review",
    "pull_request_review_thread",
    "push",
    "check_run",
    "check_suite",
    "installation",
    "installation_repositories",
];

fuzz_target!(|body: &[u8]| {
    for event in EVENTS {
        match read(event, body, "gate") {
            Ok(Some(ask)) => {
                assert_eq!(read(event, body, "gate"), Ok(Some(ask.clone())));
                check(event, body, &ask);
            }
            Ok(None) => {}
            Err(refused) => {
                let said = refused.to_string();
                assert!(said.len() < 1000 && !said.contains(char::is_control), "{said:?}");
            }
        }
    }
    assert_eq!(read("ping", b"{}", "gate"), Ok(None));
});

/// Holds what is asked against the delivery, read by another reader.
fn check(event: &str, body: &[u8], ask: &Ask) {
    // What means nothing to us is passed over, not checked: it may hold what this reader refuses.
    let Ok(said) = serde_json::from_slice::<Value>(body) else { return };
    assert_eq!(ask.installation, said["installation"]["id"].as_u64());
    match &ask.what {
        What::Pull { repo, number, about } => {
            assert_eq!(said["repository"]["full_name"].as_str(), Some(repo.to_string().as_str()));
            let named = match event {
                "issue_comment" => &said["issue"]["number"],
                "check_run" | "check_suite" => return,
                _ => &said["pull_request"]["number"],
            };
            assert_eq!(named.as_u64(), Some(*number));
            if let About::Said { by, .. } = about {
                assert!(!by.is_bot, "{by:?}");
            }
        }
        What::Pushed { branch, .. } => assert_eq!(said["ref"].as_str(), Some(format!("refs/heads/{branch}").as_str())),
        What::Removed { .. } => assert!(ask.installation.is_some()),
    }
}
