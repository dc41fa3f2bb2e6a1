//! Registration of a GitHub App: its page, its form, and the return from GitHub.

use std::sync::{Arc, Mutex};

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use insta::assert_snapshot;
use serde_json::json;

use crate::client::Said;
use crate::world::{Setup, TOKEN, World, story};

const WISH: &str = r#"{"publicUrl":"https://tollgate.example","organization":"acme"}"#;

/// A server whose GitHub is a listener on this machine that makes an app of any code.
struct Hub {
    world: World,
    codes: Arc<Mutex<Vec<String>>>,
}

impl std::ops::Deref for Hub {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Hub {
    async fn start() -> Self {
        let codes = Arc::new(Mutex::new(Vec::new()));
        let app = axum::Router::new()
            .route("/app-manifests/{code}/conversions", post(convert))
            .with_state(Arc::clone(&codes));
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let api = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async { axum::serve(listener, app).await });
        Self { world: Setup::new().configured(&format!("[github]\napi_url = \"{api}\"\n")).start(), codes }
    }

    /// The code of which the last app was made.
    fn made_of(&self) -> Option<String> {
        self.codes.lock().unwrap().last().cloned()
    }
}

async fn convert(
    State(codes): State<Arc<Mutex<Vec<String>>>>,
    Path(code): Path<String>,
) -> (StatusCode, Json<serde_json::Value>) {
    codes.lock().unwrap().push(code);
    let app = json!({ "id": 12, "slug": "kodiai-<b>", "html_url": "https://github.com/apps/kodiai", "pem": "key",
        "webhook_secret": "secret", "client_id": "Iv1" });
    (StatusCode::CREATED, Json(app))
}

impl World {
    /// A page, as a browser that is signed in asks for it.
    async fn look(&self, path: &str) -> Said {
        let bearer = format!("Bearer {TOKEN}");
        self.raw("GET", path, &[("authorization", &bearer), ("accept", "text/html")], "").await
    }

    /// A page, as a browser asks for it that another site led here.
    async fn come_back(&self, path: &str) -> Said {
        let headers = [("accept", "text/html"), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        self.raw("GET", path, &headers, "").await
    }

    /// Begins to make an app; the name of it.
    async fn begin(&self, wish: &str) -> String {
        let said = self.ask("POST", "/api/github/setup", wish).await;
        assert_eq!(said.status, 201, "{}", said.body);
        let page = said.json()["page"].as_str().unwrap().to_owned();
        page.strip_prefix("/github/setup/").unwrap().to_owned()
    }
}

fn lines(said: &Said, parts: &[&str]) -> String {
    let lines = said.body.lines().filter(|line| parts.iter().any(|part| line.contains(part)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_person_sees_what_is_asked_for_and_the_form_goes_to_github_alone() {
    story(|| async {
        let world = World::start();
        let name = world.begin(WISH).await;
        let said = world.look(&format!("/github/setup/{name}")).await;
        let port = world.address.port().to_string();
        let shown = lines(&said, &["<form", "Deliveries go to", "manifest\""]);
        let shown = shown.replace(&name, "NAME").replace(&port, "PORT").replace("&quot;", "'");
        let suffix: String = name.chars().filter(char::is_ascii_alphanumeric).take(4).collect();
        assert_snapshot!(shown.replace(&suffix.to_lowercase(), "SUFFIX"), @r#"
        <dt>Deliveries go to</dt><dd><code dir="auto">https://tollgate.example/webhooks/github</code></dd>
        <form method="post" action="https://github.com/organizations/acme/settings/apps/new?state=NAME" id="manifest-form">
        <input type="hidden" name="manifest" value="{'name':'kodiai-SUFFIX','url':'https://tollgate.example','description':'Reviews pull requests and decides whether they may pass','hook_attributes':{'url':'https://tollgate.example/webhooks/github','active':true},'redirect_url':'http://localhost:PORT/github/callback','public':false,'default_permissions':{'contents':'read','pull_requests':'write','checks':'write','issues':'write','metadata':'read'},'default_events':['pull_request','issue_comment','pull_request_review','pull_request_review_comment','pull_request_review_thread','push','check_run','check_suite']}">
        "#);
        let policy = said.header("content-security-policy").unwrap();
        assert!(policy.contains("form-action https://github.com;"), "{policy}");
        // No other page may send a form there.
        let policy = world.look("/settings/github").await.header("content-security-policy").unwrap().to_owned();
        assert!(policy.contains("form-action 'self'"), "{policy}");
        assert_eq!(world.look("/github/setup").await.header("location"), Some("/settings/github"));
    });
}

#[test]
fn the_return_from_github_registers_one_app() {
    story(|| async {
        let world = Hub::start().await;
        let name = world.begin(WISH).await;
        let path = format!("/github/callback?code=abc123&state={name}");
        // Another site led here, so the browser shows no cookie: a page of ours leads on.
        let said = world.come_back(&path).await;
        assert_eq!(said.status, 200);
        assert!(
            said.body.contains(&format!("content=\"0;url={}&amp;led=1\"", path.replace('&', "&amp;"))),
            "{}",
            said.body
        );
        assert_eq!(world.made_of(), None);
        // Still no cookie: the browser is not signed in.
        let said = world.come_back(&format!("{path}&led=1")).await;
        assert_eq!((said.status, said.body.contains("Sign in")), (401, true));
        assert_eq!(world.made_of(), None);
        let said = world.look(&format!("{path}&led=1")).await;
        assert_eq!((said.status, said.header("location")), (303, Some("/settings/github")));
        assert_eq!(world.made_of().as_deref(), Some("abc123"));
        // The name is used up.
        assert_eq!(world.look(&path.replace("abc123", "def456")).await.status, 404);
        assert_eq!(world.look(&format!("/github/setup/{name}")).await.status, 404);
        assert_eq!(world.made_of().as_deref(), Some("abc123"));
        let said = world.look("/settings/github").await;
        assert_snapshot!(world.plain(&lines(&said, &["<dt>", "Install"])), @r#"
        <dt>App</dt><dd><strong dir="auto">@kodiai-&lt;b&gt;</strong> <span class="muted">number 12 at <span dir="auto">https://github.com</span></span></dd>
        <dt>Deliveries</dt><dd><span class="chip ok">✓ taken</span> <span class="muted">at <code dir="auto">https://tollgate.example/webhooks/github</code></span></dd>
        <dt>Check</dt><dd><code dir="auto">kodiai</code></dd>
        <dt>Private key</dt><dd><code dir="auto">/srv/github/private-key.pem</code></dd>
        <dt>Webhook secret</dt><dd><code dir="auto">/srv/github/webhook-secret</code></dd>
        <p><a class="button primary" href="https://github.com/apps/kodiai/installations/new" rel="noreferrer">Install it in repositories</a></p>
        "#);
    });
}

#[test]
fn pull_requests_in_trouble_are_listed() {
    story(|| async {
        let world = World::start();
        assert!(!world.look("/settings/github").await.body.contains("Failing pull requests"));
        let begun = 1_700_000_000_000;
        let claim = world.claim_pull(8, begun);
        world.refuse_summary(&claim, "we may not", begun);
        world.board.database().release_pull(claim.token, 0).unwrap().unwrap();
        let claim = world.claim_pull(7, begun);
        let database = world.board.database();
        database.fail_review(claim.token, "`GET /x` failed <b>", begun + 60_000).unwrap().unwrap();
        let said = world.look("/settings/github").await;
        assert_snapshot!(lines(&said, &["octo/app"]), @r#"
        <tr><th scope="row"><a href="https://github.com/octo/app/pull/7" rel="noreferrer" dir="auto">octo/app#7</a></th><td class="wrap" dir="auto"><code>GET /x</code> failed &lt;b&gt;.</td><td><time datetime="2023-11-14T22:13:20.000Z">14 Nov 2023, 22:13</time></td><td><time datetime="2023-11-14T22:14:20.000Z">14 Nov 2023, 22:14</time></td><td><button class="button small" type="button" data-act data-retry="pull-2" aria-label="Try octo/app#7 again now" hidden>Try now</button></td></tr>
        <tr><th scope="row"><a href="https://github.com/octo/app/pull/8" rel="noreferrer" dir="auto">octo/app#8</a></th><td class="wrap" dir="auto">The summary was given up: we may not.</td><td><time datetime="2023-11-14T22:13:20.000Z">14 Nov 2023, 22:13</time></td><td>not by itself</td><td><button class="button small" type="button" data-act data-retry="post-1" aria-label="Try octo/app#8 again now" hidden>Try now</button></td></tr>
        "#);
    });
}

#[test]
fn an_app_needs_a_pending_name_and_a_code_of_github() {
    story(|| async {
        let world = Hub::start().await;
        world.begin(WISH).await;
        for query in ["", "?code=abc", "?state=x", "?code=&state=x"] {
            let said = world.look(&format!("/github/callback{query}")).await;
            assert!([400, 404].contains(&said.status), "{query}: {}", said.status);
        }
        for code in ["a/../b", "a%22b", "a%0d%0ab", "%3Cscript%3E", &"a".repeat(201)] {
            let said = world.look(&format!("/github/callback?code={code}&state=x")).await;
            assert_eq!(said.status, 400, "{code}");
            assert!(!said.body.contains("<script>"));
        }
        assert_eq!(world.look("/github/callback?code=abc&state=guessed").await.status, 404);
        assert_eq!(world.made_of(), None);
        // Without the token nothing is begun, and no page of another site begins anything.
        let json = ("content-type", "application/json");
        assert_eq!(world.raw("POST", "/api/github/setup", &[json], WISH).await.status, 401);
        let foreign = [json, ("origin", "https://evil.example")];
        assert_eq!(world.raw("POST", "/api/github/setup", &foreign, WISH).await.status, 403);
    });
}

#[test]
fn an_existing_app_is_replaced_only_on_request() {
    story(|| async {
        let world = Hub::start().await;
        let make = async |wish: &str, code: &str| {
            let name = world.begin(wish).await;
            world.look(&format!("/github/callback?code={code}&state={name}")).await.status
        };
        assert_eq!(make(WISH, "first").await, 303);
        let said = world.ask("POST", "/api/github/setup", WISH).await;
        assert_eq!((said.status, said.json()["hint"].as_str().unwrap()), (409, "`replace` puts it aside."));
        let replace = json!({ "publicUrl": "https://tollgate.example", "replace": true }).to_string();
        assert_eq!(make(&replace, "second").await, 303);
        assert_eq!(world.made_of().as_deref(), Some("second"));
        let shown = world.get("/api/github").await.json();
        assert_eq!((shown["id"].as_u64(), shown["takesDeliveries"].as_bool()), (Some(12), Some(true)));
    });
}

#[test]
fn invalid_app_requests_are_refused_at_once() {
    story(|| async {
        let world = World::start();
        for (wish, field) in [
            (json!({ "publicUrl": "http://127.0.0.1:7420" }), "`publicUrl`"),
            (json!({ "publicUrl": "tollgate.example" }), "`publicUrl`"),
            (json!({ "publicUrl": "https://t.example", "organization": "../x" }), "`organization`"),
            (json!({ "publicUrl": "https://t.example", "githubUrl": "http://evil.example" }), "`githubUrl`"),
            (json!({ "publicUrl": "https://t.example", "githubUrl": "https://evil.example;x" }), "`githubUrl`"),
        ] {
            let said = world.ask("POST", "/api/github/setup", &wish.to_string()).await;
            assert_eq!(said.status, 422, "{wish}");
            assert!(said.json()["detail"].as_str().unwrap().starts_with(field), "{}", said.body);
        }
    });
}
