//! The board as a page, over HTTP.

use insta::assert_snapshot;
use tollgate_core::board::machine::{Event, Status};

use crate::board::Real;
use crate::client::Said;
use crate::stored::transition;
use crate::world::{World, story};

/// Adds a feature and gives back its name.
async fn add(world: &World, project: u64, body: &str) -> String {
    let said = world.ask("POST", &format!("/api/projects/{project}/features"), body).await;
    assert_eq!(said.status, 201, "{said:?}");
    said.json()["id"].as_str().unwrap().to_owned()
}

/// The values of an attribute, in the order of the page.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    page.split(&start).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// The titles of the cards, in the order of the page.
fn titles(said: &Said) -> Vec<&str> {
    let parts = said.body.split("draggable=\"false\">").skip(1);
    parts.map(|rest| rest.split("</a>").next().unwrap()).collect()
}

#[test]
fn a_board_has_its_columns_in_order_and_says_what_each_is_for() {
    story(|| async {
        let real = Real::start();
        let project = real.add_project().await;
        let said = real.world.page(&format!("/projects/{project}")).await;
        assert_eq!(said.status, 200);
        let columns = values(&said.body, "data-column").join(" ");
        assert_snapshot!(columns, @"backlog in_progress code_review waiting_approval verified completed");
        let lanes = values(&said.body, "data-lane").join(" ");
        assert_snapshot!(lanes, @"backlog in_progress code_review.running code_review.needs_you code_review.queued waiting_approval verified completed");
        assert!(said.body.contains("No features yet") && said.body.contains("No agent is set up"), "{}", said.body);
        assert!(said.body.contains("<title>shop board"), "{}", said.body);
        assert_eq!(real.world.page("/projects/77").await.status, 404);
        assert_eq!(real.world.raw("GET", &format!("/projects/{project}"), &[], "").await.status, 401);
    });
}

#[test]
fn the_search_is_part_of_the_address() {
    story(|| async {
        let real = Real::start();
        let (world, project) = (&real.world, real.add_project().await);
        add(world, project, r#"{"title":"Log in","description":"x","priority":3,"category":"Core"}"#).await;
        add(world, project, r#"{"title":"Log out","description":"x","priority":1}"#).await;
        let started = add(world, project, r#"{"title":"Pay","description":"x","category":"Core","start":true}"#).await;
        let look = async |query: &str| world.page(&format!("/projects/{project}{query}")).await;
        assert_eq!(titles(&look("").await), ["Log out", "Log in", "Pay"], "the most urgent first");
        assert_eq!(titles(&look("?q=LOG&priority=&category=").await), ["Log out", "Log in"]);
        assert_eq!(titles(&look("?priority=1").await), ["Log out"]);
        assert_eq!(titles(&look("?category=Core&q=log").await), ["Log in"]);
        let said = look("?status=in_progress").await;
        assert_eq!(titles(&said), ["Pay"]);
        assert!(said.body.contains("1 of 3 features match"), "{}", said.body);
        let said = look("?needs=1").await;
        assert_eq!(titles(&said), Vec::<&str>::new());
        assert!(
            said.body.contains("No matching features") && said.body.contains("0 of 3 features match"),
            "{}",
            said.body
        );
        for (query, why) in [("?priority=9", "`priority` is not 1, 2 or 3"), ("?status=%3Cb%3E", "no such column")] {
            let said = look(query).await;
            assert_eq!(said.status, 422);
            assert!(said.body.contains(why), "{}", said.body);
        }
        // A program can ask for the same.
        let api = async |query: &str| world.get(&format!("/api/projects/{project}/features?{query}")).await;
        assert_eq!(api("category=Core&q=log&priority=3").await.json()["features"][0]["title"], "Log in");
        assert_eq!(api("needsPerson=true").await.json()["total"], 0);
        assert_eq!((api("priority=4").await.status, api("needsPerson=perhaps").await.status), (422, 422));
        let columns = world.page(&format!("/projects/{project}/board?q=pay")).await;
        assert_eq!(titles(&columns), ["Pay"]);
        assert!(!columns.body.contains("<html"));
        // A card that does not fit is not there, and everything is counted.
        let card = world.page(&format!("/projects/{project}/features/{started}/card?q=log")).await;
        assert_eq!((titles(&card), values(&card.body, "data-fitting")), (vec![], vec!["2"]));
        let card = world.page(&format!("/projects/{project}/features/{started}/card")).await;
        assert_eq!((titles(&card), values(&card.body, "data-fitting")), (vec!["Pay"], vec!["3"]));
        let card = world.page(&format!("/projects/{project}/features/nobody/card")).await;
        assert_eq!((card.status, titles(&card)), (200, vec![]));
    });
}

#[test]
fn a_long_column_is_shown_in_parts() {
    story(|| async {
        let real = Real::start();
        let (world, project) = (&real.world, real.add_project().await);
        for number in 0..120 {
            add(world, project, &format!(r#"{{"title":"Feature {number:03}","description":"x"}}"#)).await;
        }
        let path = format!("/projects/{project}");
        let mut said = world.page(&path).await;
        assert!(said.body.contains("Show 50 more of 120"), "{}", said.body);
        let (mut seen, mut sizes) = (Vec::new(), Vec::new());
        loop {
            seen.extend(titles(&said).into_iter().map(str::to_owned));
            sizes.push(titles(&said).len());
            let Some(next) = values(&said.body, "data-part").first().map(|next| next.replace("&amp;", "&")) else {
                break;
            };
            said = world.page(&next).await;
            assert_eq!(said.status, 200, "{said:?}");
        }
        assert_eq!(sizes, [50, 50, 20]);
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 120, "none is shown twice, none is missing");
        assert_eq!(world.page(&format!("{path}/columns/nowhere")).await.status, 404);
        assert_eq!(world.page(&format!("{path}?status=backlog&after=nobody")).await.status, 200);
    });
}

#[test]
fn available_actions_are_those_of_the_state_machine() {
    story(|| async {
        let world = World::start();
        let (project, id) = world.project_with_feature().await;
        let path = format!("/projects/{project}/features/{id}/acts");
        let said = world.page(&path).await;
        assert_eq!(values(&said.body, "data-act").first(), Some(&"start"), "{}", said.body);
        for event in [Event::Start, Event::AgentStarted] {
            world.happen(transition(project, &id, event));
        }
        let said = world.page(&path).await;
        assert_eq!(values(&said.body, "data-act").first(), Some(&"stop"), "{}", said.body);
        assert!(said.body.contains("Now: an agent is working on it."), "{}", said.body);
        assert_eq!(world.page(&format!("/projects/{project}/features/nobody/acts")).await.status, 404);
        let board = world.page(&format!("/projects/{project}")).await;
        assert_eq!(values(&board.body, "data-place"), ["in_progress"]);
    });
}

#[test]
fn the_server_says_what_a_description_asks_for() {
    story(|| async {
        let world = World::start();
        let body =
            r#"{"description":"Login.\n- passwords have 8 characters\n- errors must not tell which part was wrong"}"#;
        let said = world.ask("POST", "/api/criteria", body).await;
        assert_snapshot!(said.body, @r#"{"criteria":[{"id":"C1","text":"passwords have 8 characters"},{"id":"C2","text":"errors must not tell which part was wrong"}]}"#);
        assert_eq!(world.ask("POST", "/api/criteria", r#"{"description":""}"#).await.body, r#"{"criteria":[]}"#);
        let long = format!(r#"{{"description":"{}"}}"#, "x".repeat(200_001));
        assert_eq!(world.ask("POST", "/api/criteria", &long).await.status, 422);
        assert_eq!(world.ask("POST", "/api/criteria", "{}").await.status, 422);
    });
}

// Issue 17: "Nothing waits for you" stood beside two cards that wait.
#[test]
fn a_card_that_waits_for_approval_is_counted_and_nothing_says_that_nothing_waits() {
    story(|| async {
        let world = World::start();
        let (project, feature) = world.project_with_feature().await;
        let passed = crate::record::review(1, vec![]);
        world.review(project, &feature, vec![crate::stored::with_diff(passed)]);
        let page = world.page(&format!("/projects/{project}")).await.body;
        let card = page.split(&format!("id=\"card-{feature}\"")).nth(1).unwrap().split("</li>").next().unwrap();
        assert!(card.contains("✓</span> approved"), "{card}");
        let is_waiting = world.feature(project, &feature).state.status == Status::WaitingApproval;
        assert_eq!(card.contains("approved, awaiting your approval"), is_waiting, "{card}");
        assert!(!page.contains("Nothing waits for you"), "{page}");
        let waiting = world.page(&format!("/projects/{project}?needs=1")).await;
        assert_eq!(titles(&waiting).len(), usize::from(is_waiting), "{}", waiting.body);
    });
}
