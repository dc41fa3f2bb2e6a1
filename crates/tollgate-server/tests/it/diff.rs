//! Parts of a diff, over HTTP.

use tollgate_core::finding::Severity;

use crate::client::Said;
use crate::record::{remark, review};
use crate::stored::with_diff;
use crate::world::{TOKEN, World, story};

const FRAGMENT: &str = "text/vnd.tollgate.fragment";

/// A feature that was reviewed once, and where its iterations are.
struct Reviewed {
    world: World,
    base: String,
}

impl Reviewed {
    async fn new() -> Self {
        let world = World::start();
        let (project, id) = world.project_with_feature().await;
        world.review(project, &id, vec![with_diff(review(1, vec![remark(1, Severity::High, "Input is run")]))]);
        Self { world, base: format!("/projects/{project}/features/{id}/iterations") }
    }

    async fn ask(&self, rest: &str, accept: &str) -> Said {
        let (path, bearer) = (format!("{}/{rest}", self.base), format!("Bearer {TOKEN}"));
        self.world.raw("GET", &path, &[("authorization", &bearer), ("accept", accept)], "").await
    }
}

#[test]
fn a_part_is_a_page_for_people_and_a_fragment_for_scripts() {
    story(|| async {
        let reviewed = Reviewed::new().await;
        let page = reviewed.ask("1/files", "text/html").await;
        assert_eq!(page.status, 200);
        assert!(page.body.contains("<title>Changes of iteration 1") && page.body.contains("<bdi>Whole</bdi>"));
        assert!(page.header("content-security-policy").is_some());
        let fragment = reviewed.ask("1/files?part=delta", FRAGMENT).await;
        assert_eq!(fragment.status, 200);
        assert!(!fragment.body.contains("<html") && fragment.body.contains("<bdi>Delta</bdi>"), "{}", fragment.body);
        let page = reviewed.ask("1/files/0?from=0", "text/html").await;
        assert!(page.body.contains("Back to the review"), "{}", page.body);
    });
}

#[test]
fn missing_parts_of_a_diff_are_not_found() {
    story(|| async {
        let reviewed = Reviewed::new().await;
        for (rest, status) in [
            ("1/files/7", 404),
            ("1/files/x", 404),
            ("1/files/99999999999999999999", 404),
            ("9/files", 404),
            ("1/files/0?gap=3", 404),
            ("1/files/0?line=R9", 404),
            ("1/files/0?line=%F0%9F%A6%80", 404),
            ("1/files?view=sideways", 422),
            ("1/files?from=-1", 422),
            ("1/files/0?top=4294967296&gap=0", 422),
            ("1/files?from=18446744073709551615", 200),
            ("1/files/0?from=18446744073709551615&to=3&at=R1", 200),
        ] {
            for accept in ["text/html", FRAGMENT] {
                let said = reviewed.ask(rest, accept).await;
                assert_eq!(said.status, status, "{rest}: {}", said.body);
            }
        }
    });
}
