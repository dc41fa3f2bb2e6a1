//! Deliveries of GitHub, by its published examples.

use std::collections::BTreeMap;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;
use tollgate_core::pull::webhook_event::{PullEvent, WebhookEventKind};
use tollgate_engine::forge::github::delivery::read;

/// Every published example, with its event.
fn examples() -> Vec<(String, Value)> {
    let cache = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/tollgate/contract");
    let folder = std::env::var_os("TOLLGATE_CONTRACT").map_or_else(cache, PathBuf::from);
    let path = folder.join("node_modules/@octokit/webhooks-examples/api.github.com/index.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        panic!("there is no `{}`: run `scripts/contract-setup` first", path.display());
    };
    let events: Vec<Value> = serde_json::from_str(&text).unwrap();
    let of = |event: Value| {
        let name = event["name"].as_str().unwrap().to_owned();
        event["examples"].as_array().unwrap().iter().map(|example| (name.clone(), example.clone())).collect::<Vec<_>>()
    };
    events.into_iter().flat_map(of).collect()
}

fn kind(what: &WebhookEventKind) -> &'static str {
    match what {
        WebhookEventKind::Pull { about: PullEvent::Changed { .. }, .. } => "changed",
        WebhookEventKind::Pull { about: PullEvent::ReviewRequested { .. }, .. } => "again",
        WebhookEventKind::Pull { about: PullEvent::Closed, .. } => "closed",
        WebhookEventKind::Pull { about: PullEvent::Commanded { .. }, .. } => "said",
        WebhookEventKind::Pull { about: PullEvent::Thread { .. }, .. } => "thread",
        WebhookEventKind::Pushed { .. } => "pushed",
        WebhookEventKind::Removed { .. } => "removed",
    }
}

#[test]
fn every_published_delivery_is_understood_or_politely_ignored() {
    let examples = examples();
    assert!(examples.len() >= 300, "{} examples are not all of them", examples.len());
    let mut understood: BTreeMap<String, u32> = BTreeMap::new();
    for (event, example) in examples {
        let asked = read(&event, example.to_string().as_bytes(), "gate");
        let asked = asked.unwrap_or_else(|bad| panic!("{event}: {bad}: {example}"));
        if let Some(ask) = asked {
            let action = example["action"].as_str().unwrap_or_default();
            *understood.entry(format!("{event} {action}: {}", kind(&ask.what))).or_default() += 1;
        }
    }
    let lines: Vec<String> = understood.iter().map(|(line, n_times)| format!("{line} x {n_times}")).collect();
    assert_snapshot!(lines.join("\n"), @r"
    check_suite rerequested: again x 2
    installation deleted: removed x 2
    installation suspend: removed x 1
    installation_repositories removed: removed x 1
    pull_request closed: closed x 2
    pull_request converted_to_draft: changed x 3
    pull_request opened: changed x 4
    pull_request ready_for_review: changed x 3
    pull_request reopened: changed x 2
    pull_request synchronize: changed x 1
    pull_request_review_thread resolved: thread x 2
    pull_request_review_thread unresolved: thread x 1
    push : pushed x 2
    ");
}
