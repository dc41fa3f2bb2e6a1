//! What is owed, over the API.

use insta::assert_snapshot;
use tollgate_engine::store::jobs::{Job, JobId, JobState};

use crate::world::{World, story};

fn job(id: &str, state: JobState) -> Job {
    Job {
        id: JobId::parse(id).unwrap(),
        kind: "review".to_owned(),
        place: "octo/app".to_owned(),
        subject: "#7".to_owned(),
        state,
        attempt: 3,
        since_ms: 1_700_000_000_000,
        next_ms: None,
        problem: Some("no such branch".to_owned()),
        owner: None,
        until_ms: None,
    }
}

#[test]
fn what_is_owed_is_listed_tried_again_and_ended() {
    story(|| async {
        let world = World::start();
        world.desk.owes(vec![job("pull-1", JobState::Dead), job("work-2-login", JobState::Queued)]);
        let said = world.get("/api/jobs?state=dead&repository=octo/app").await;
        assert_eq!(said.status, 200, "{}", said.body);
        assert_snapshot!(said.json(), @r##"{"jobs":[{"id":"pull-1","kind":"review","repository":"octo/app","subject":"#7","state":"dead","attempt":3,"since":"2023-11-14T22:13:20.000Z","next":null,"problem":"no such branch","owner":null,"until":null}]}"##);
        assert_eq!(world.ask("POST", "/api/jobs/pull-1/retry", "").await.status, 204);
        assert_eq!(world.ask("POST", "/api/jobs/pull-1/retry", "").await.status, 409);
        assert_eq!(world.ask("POST", "/api/jobs/work-2-login/cancel", "").await.status, 204);
        assert_eq!(world.ask("POST", "/api/jobs/work-2-login/cancel", "").await.status, 404);
        let left = world.get("/api/jobs").await.json();
        let left: Vec<&str> = left["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap()).collect();
        assert_eq!(left, ["pull-1"]);
        for path in ["/api/jobs/nothing/retry", "/api/jobs/pull-x/retry", "/api/jobs/work-1/cancel"] {
            assert_eq!(world.ask("POST", path, "").await.status, 404, "{path}");
        }
        let long = format!("repository={}", "x".repeat(301));
        for query in ["state=lost", "limit=0", "limit=1001", &long] {
            assert_eq!(world.get(&format!("/api/jobs?{query}")).await.status, 422, "{query}");
        }
        // Nobody who is not signed in sees or moves anything.
        assert_eq!(world.raw("GET", "/api/jobs", &[], "").await.status, 401);
        assert_eq!(world.raw("POST", "/api/jobs/pull-1/cancel", &[], "").await.status, 401);
    });
}
