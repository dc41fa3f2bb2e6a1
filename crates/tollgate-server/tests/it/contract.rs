//! The OpenAPI description is true.

use std::path::PathBuf;

use tokio::process::Command;
use tollgate_server::Served;

use crate::board::Real;
use crate::world::{TOKEN, World, story};

fn api() -> serde_json::Value {
    serde_json::to_value(tollgate_server::openapi()).unwrap()
}

/// Every operation: its path, its method and its description.
fn operations(api: &serde_json::Value) -> Vec<(String, String, serde_json::Value)> {
    let items = api["paths"].as_object().unwrap().iter();
    let of_item = |(path, item): (&String, &serde_json::Value)| {
        let path = path.clone();
        let operations = item.as_object().unwrap().clone().into_iter();
        operations.map(move |(method, operation)| (path.clone(), method, operation)).collect::<Vec<_>>()
    };
    items.flat_map(of_item).collect()
}

#[test]
fn every_operation_is_described() {
    let api = api();
    assert_eq!(api["openapi"], "3.1.0");
    let mut problems = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for (path, method, operation) in operations(&api) {
        let name = operation["operationId"].as_str().unwrap_or_default().to_owned();
        if name.is_empty() || name.contains('_') || !names.insert(name) {
            problems.push(format!("{method} {path} has no name of its own"));
        }
        if operation["summary"].as_str().is_none_or(str::is_empty) || operation["tags"].as_array().is_none() {
            problems.push(format!("{method} {path} is not described"));
        }
        if operation["responses"]["default"].is_null() {
            problems.push(format!("{method} {path} does not say how it fails"));
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["description"].as_str().is_none_or(str::is_empty) {
                problems.push(format!("{method} {path} does not describe {}", parameter["name"]));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn the_server_gives_the_description_it_was_built_with() {
    story(|| async {
        let world = World::start();
        assert_eq!(world.get("/api/openapi.json").await.json(), api());
    });
}

/// The fuzzer, as `scripts/api-setup` leaves it.
fn fuzzer() -> PathBuf {
    let cache = match std::env::var_os("TOLLGATE_CACHE") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/tollgate"),
    };
    let program = cache.join("api/bin/schemathesis");
    assert!(program.is_file(), "run scripts/api-setup first");
    program
}

/// Runs the fuzzer over every route, with valid and invalid requests.
async fn check(world: &World) {
    let folder = tempfile::tempdir().unwrap();
    // A revision that fits the description need not be the current one, a folder need not be a repository, and of a
    // branch git wants more than a pattern can say.
    let settings = "[checks.positive_data_acceptance]\n\
                    expected-statuses = [\"2xx\", 401, 404, 409, 412, 429]\n\
                    [checks.negative_data_rejection]\n\
                    expected-statuses = [400, 401, 404, 409, 413, 415, 422, 429]\n\
                    [[operations]]\n\
                    include-operation-id = \"addProject\"\n\
                    checks.positive_data_acceptance.expected-statuses = [\"2xx\", 409, 422]\n\
                    [[operations]]\n\
                    include-operation-id = \"addFeature\"\n\
                    checks.positive_data_acceptance.expected-statuses = [\"2xx\", 404, 409, 422]\n\
                    [[operations]]\n\
                    include-operation-id = \"confirmDismissal\"\n\
                    checks.positive_data_acceptance.expected-statuses = [\"2xx\", 401, 403, 404, 409, 412, 422, 429]\n\
                    checks.negative_data_rejection.expected-statuses = [400, 401, 403, 404, 409, 413, 415, 422, 429]\n\
                    [[operations]]\n\
                    include-operation-id = \"rejectDismissal\"\n\
                    checks.positive_data_acceptance.expected-statuses = [\"2xx\", 401, 403, 404, 409, 412, 422, 429]\n\
                    checks.negative_data_rejection.expected-statuses = [400, 401, 403, 404, 409, 413, 415, 422, 429]\n\
                    [[operations]]\n\
                    include-operation-id = \"approveFeature\"\n\
                    checks.positive_data_acceptance.expected-statuses = [\"2xx\", 401, 403, 404, 409, 412, 422, 429]\n\
                    checks.negative_data_rejection.expected-statuses = [400, 401, 403, 404, 409, 413, 415, 422, 429]\n\
                    [[operations]]\n\
                    include-operation-id = \"moveFeature\"\n\
                    checks.positive_data_acceptance.expected-statuses = [\"2xx\", 401, 403, 404, 409, 412, 422, 429]\n\
                    checks.negative_data_rejection.expected-statuses = [400, 401, 403, 404, 409, 413, 415, 422, 429]\n";
    std::fs::write(folder.path().join("schemathesis.toml"), settings).unwrap();
    let output = Command::new(fuzzer())
        .current_dir(folder.path())
        .arg("run")
        .arg(format!("{}/api/openapi.json", world.origin()))
        .args(["--header", &format!("Authorization: Bearer {TOKEN}")])
        // A stream has no end that the fuzzer could wait for.
        .args(["--exclude-path", "/api/events"])
        .args(["--checks", "all", "--max-examples", "20", "--seed", "1", "--request-timeout", "30"])
        .args(["--phases", "examples,coverage,fuzzing,stateful", "--continue-on-failure"])
        .args(["--suppress-health-check", "all", "--warnings", "off"])
        .env("NO_COLOR", "1")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    if let Some(figures) = said.lines().find(|line| line.contains(" generated, ")) {
        println!("requests: {}", figures.trim());
    }
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let served = world.served.lock().unwrap();
    let sick: Vec<&Served> = served.iter().filter(|served| served.status >= 500).collect();
    assert!(sick.is_empty() && served.len() > 1_000, "{} requests, {sick:?}", served.len());
}

#[test]
fn no_request_brings_an_answer_that_is_not_described() {
    story(|| async {
        let world = World::start();
        let (project, feature) = world.project_with_feature().await;
        world.commit(project, &feature, "a1b2c3d4");
        check(&world).await;
    });
}

#[test]
fn no_request_to_the_real_board_does_either() {
    story(|| async {
        let real = Real::start();
        real.add_project().await;
        check(&real.world).await;
    });
}
