//! Queued jobs over the API.

use insta::assert_snapshot;
use tollgate_core::board::machine::Event;

use crate::stored::transition;
use crate::world::{World, story};

#[test]
fn jobs_are_listed_retried_and_cancelled() {
    story(|| async {
        let world = World::start();
        let project = world.add_project().await;
        world.add_feature(project, "login");
        world.happen(transition(project, "login", Event::Start));
        let claim = world.claim_pull(7, 1_700_000_000_000);
        world.finish_pull(&claim, Vec::new(), Some("no such branch"));
        world.board.database().release_pull(claim.token, 0).unwrap().unwrap();
        let said = world.get("/api/jobs?state=dead&repository=octo/app").await;
        assert_eq!(said.status, 200, "{}", said.body);
        assert_snapshot!(said.json(), @r##"{"jobs":[{"id":"pull-1","kind":"review","repository":"octo/app","subject":"#7","state":"dead","attempt":0,"since":"2023-11-14T22:13:20.000Z","next":null,"problem":"no such branch","owner":null,"until":null}]}"##);
        assert_eq!(world.ask("POST", "/api/jobs/pull-1/retry", "").await.status, 204);
        assert_eq!(world.ask("POST", "/api/jobs/pull-1/retry", "").await.status, 409);
        assert_eq!(world.ask("POST", "/api/jobs/work-1-login/cancel", "").await.status, 204);
        assert_eq!(world.ask("POST", "/api/jobs/work-1-login/cancel", "").await.status, 409);
        let left = world.get("/api/jobs").await.json();
        let left: Vec<&str> = left["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap()).collect();
        assert_eq!(left, ["pull-1"]);
        for path in [
            "/api/jobs/nothing/retry",
            "/api/jobs/pull-x/retry",
            "/api/jobs/work-1/cancel",
            "/api/jobs/work-1-nothing/cancel",
        ] {
            assert_eq!(world.ask("POST", path, "").await.status, 404, "{path}");
        }
        let long = format!("repository={}", "x".repeat(301));
        for query in ["state=lost", "limit=0", "limit=1001", &long] {
            assert_eq!(world.get(&format!("/api/jobs?{query}")).await.status, 422, "{query}");
        }
        // Jobs are neither shown nor changed without credentials.
        assert_eq!(world.raw("GET", "/api/jobs", &[], "").await.status, 401);
        assert_eq!(world.raw("POST", "/api/jobs/pull-1/cancel", &[], "").await.status, 401);
    });
}
