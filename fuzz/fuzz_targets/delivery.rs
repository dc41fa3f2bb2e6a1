//! Fuzzes the parser of webhook deliveries under every supported event name. Properties: no panic, deterministic results,
//! every parsed field occurs in the delivery, and deliveries of bots are ignored.
//!
//! Run with `RUSTC_BOOTSTRAP=1 cargo fuzz run delivery -- -max_total_time=300`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate_core::pull::webhook_event::{PullEvent, WebhookEvent, WebhookEventKind};
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

/// Compares the parsed request with the delivery as parsed by `serde_json`.
fn check(event: &str, body: &[u8], ask: &WebhookEvent) {
    // Ignored fields are skipped without validation, so `serde_json::Value` may refuse them.
    let Ok(said) = serde_json::from_slice::<Value>(body) else { return };
    assert_eq!(ask.installation, said["installation"]["id"].as_u64());
    match &ask.what {
        WebhookEventKind::Pull { repo, number, about } => {
            assert_eq!(said["repository"]["full_name"].as_str(), Some(repo.to_string().as_str()));
            let named = match event {
                "issue_comment" => &said["issue"]["number"],
                "check_run" | "check_suite" => return,
                _ => &said["pull_request"]["number"],
            };
            assert_eq!(named.as_u64(), Some(*number));
            if let PullEvent::Commanded { by, .. } = about {
                assert!(!by.is_bot, "{by:?}");
            }
        }
        WebhookEventKind::Pushed { branch, .. } => assert_eq!(said["ref"].as_str(), Some(format!("refs/heads/{branch}").as_str())),
        WebhookEventKind::Removed { .. } => assert!(ask.installation.is_some()),
    }
}
