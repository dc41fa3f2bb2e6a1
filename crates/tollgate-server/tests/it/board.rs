//! The routes over the real board: a repository, its files and a database.

use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::Value;
use tollgate_engine::store::Store;
use tollgate_server::events::BoardLog;

use crate::listen::{next, next_seq};
use crate::world::{Setup, World, story};

/// A server whose clients receive the events of its board.
pub(crate) struct Real {
    pub(crate) world: World,
}

impl Real {
    pub(crate) fn start() -> Self {
        let world = Setup::new().start_with(|board, _| Arc::new(BoardLog::new(board.database().clone())));
        Self { world }
    }

    /// The memory of reviews, which the command line uses as well.
    pub(crate) fn store(&self) -> Store {
        Store::open(&self.world.path("board.db")).unwrap()
    }

    pub(crate) async fn add_project(&self) -> u64 {
        self.world.add_project().await
    }
}

#[test]
fn a_feature_is_added_edited_started_and_removed() {
    story(|| async {
        let real = Real::start();
        let project = real.add_project().await;
        let path = format!("/api/projects/{project}/features");
        let body =
            r#"{"title":"Add login","description":"Users can sign in\n- with a password","priority":1,"spec":"long"}"#;
        let said = real.world.ask("POST", &path, body).await;
        assert_eq!(said.status, 201, "{said:?}");
        let id = said.json()["id"].as_str().unwrap().to_owned();
        let file = real.world.path(&format!("shop/.automaker/features/{id}/feature.json"));
        assert!(std::fs::read_to_string(&file).unwrap().contains("Add login"));

        let list = real.world.get(&path).await.json();
        assert_eq!(list["features"][0]["firstLine"], "Users can sign in");
        let one = format!("{path}/{id}");
        let said = real.world.ask("PATCH", &one, r#"{"title":"Sign in","spec":"","priority":2.0}"#).await;
        let feature = said.json();
        assert_eq!(
            (feature["title"].as_str(), feature["spec"].as_str(), feature["priority"].as_u64()),
            (Some("Sign in"), None, Some(2))
        );
        let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!((&written["title"], &written["spec"]), (&Value::from("Sign in"), &Value::Null));

        assert_eq!(real.world.ask("POST", &format!("{one}/start"), "").await.json()["status"], "in_progress");
        assert_eq!(real.world.ask("DELETE", &one, "").await.status, 409);
        assert_eq!(real.world.ask("POST", &format!("{one}/stop"), "").await.json()["status"], "backlog");
        let history = real.world.get(&format!("{one}/history")).await.json();
        let steps: Vec<&str> =
            history["history"].as_array().unwrap().iter().map(|step| step["event"].as_str().unwrap()).collect();
        assert_snapshot!(steps.join(" "), @"added edited start stop");
        assert_eq!(real.world.ask("DELETE", &one, "").await.status, 204);
        assert_eq!(real.world.get(&one).await.status, 404);
    });
}

#[test]
fn events_of_the_board_reach_clients() {
    story(|| async {
        let real = Real::start();
        let project = real.add_project().await;
        let mut socket = real.world.open(real.world.socket(&format!("?project={project}"))).await.unwrap();
        assert!(next(&mut socket).await.unwrap().contains("hello"));
        let path = format!("/api/projects/{project}/features");
        real.world.ask("POST", &path, r#"{"title":"x","description":"y","start":true}"#).await;
        let first = next_seq(&mut socket).await.unwrap();
        assert_eq!(next_seq(&mut socket).await, Some(first + 1));
    });
}

#[test]
fn missing_things_are_not_found_and_invalid_requests_are_refused() {
    story(|| async {
        let real = Real::start();
        let project = real.add_project().await;
        let said = async |method: &str, path: &str, body: &str| {
            let said = real.world.ask(method, path, body).await;
            format!("{} {}", said.status, said.json()["detail"].as_str().unwrap_or_default())
        };
        let path = format!("/api/projects/{project}/features/login");
        assert_snapshot!(said("GET", &path, "").await, @"404 there is no feature `login`");
        assert_snapshot!(said("GET", &format!("{path}/iterations/1/output"), "").await, @"404 there is no feature `login`");
        assert_snapshot!(said("GET", "/api/projects/99/features", "").await, @"404 there is no project 99");
        assert_snapshot!(said("POST", "/api/projects", r#"{"path":"/nowhere/at/all"}"#).await, @"422 `/nowhere/at/all` cannot be opened: No such file or directory (os error 2)");
        let ask = r#"{"projectPath":"/","featureId":"login","iterationNumber":1}"#;
        assert_snapshot!(said("POST", "/api/code-review/generate-review", ask).await, @"404 this folder is no project of the board");
        let shop = real.world.path("shop");
        let ask = serde_json::json!({ "projectPath": shop, "featureId": "login", "iterationNumber": 1 }).to_string();
        assert_snapshot!(said("POST", "/api/code-review/generate-review", &ask).await, @"404 there is no feature `login`");
        assert_eq!(real.world.raw("GET", "/readyz", &[], "").await.status, 200);
    });
}

#[test]
fn prompts_are_kept_where_others_look_for_them() {
    story(|| async {
        let real = Real::start();
        let project = real.add_project().await;
        let body = r#"{"reviewSystemPrompt":{"enabled":true,"value":"Be kind"}}"#;
        for path in ["/api/settings/prompts".to_owned(), format!("/api/projects/{project}/settings/prompts")] {
            let said = real.world.ask("PUT", &path, body).await;
            assert_eq!(said.json()["codeReview"]["reviewSystemPrompt"]["value"], "Be kind", "{said:?}");
        }
        for file in ["settings.json", "shop/.automaker/settings.json"] {
            let text = std::fs::read_to_string(real.world.path(file)).unwrap();
            let settings: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(settings["promptCustomization"]["codeReview"]["reviewSystemPrompt"]["value"], "Be kind");
        }
    });
}
