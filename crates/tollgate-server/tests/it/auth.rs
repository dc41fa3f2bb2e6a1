//! Authentication.

use insta::assert_snapshot;

use crate::client;
use crate::world::{TOKEN, World, story};

/// Every route of the API, with something in the place of names.
fn every_route() -> Vec<(String, String)> {
    let api = serde_json::to_value(tollgate_server::openapi()).unwrap();
    let mut routes = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        let path = path.replace("{project}", "1").replace("{feature}", "login").replace("{iteration}", "1");
        for method in item.as_object().unwrap().keys() {
            routes.push((method.to_ascii_uppercase(), path.clone()));
        }
    }
    routes
}

#[test]
fn every_route_but_three_needs_the_token() {
    story(|| async {
        let world = World::start();
        let mut open = Vec::new();
        let routes = every_route();
        assert!(routes.len() > 35, "{}", routes.len());
        for (method, path) in routes {
            for headers in [vec![], vec![("authorization", "Bearer wrong")], vec![("cookie", "tollgate_session=1.a.b")]]
            {
                let said = world.raw(&method, &path, &headers, "").await;
                if said.status != 401 {
                    open.push(format!("{method} {path} {}", said.status));
                }
            }
        }
        open.dedup();
        assert_snapshot!(open.join("\n"), @r"
        POST /api/auth/login 415
        GET /healthz 200
        GET /readyz 200
        ");
        assert_eq!(world.raw("GET", "/api/nothing", &[], "").await.status, 401);
        // A page shows the sign-in form, whether it exists or not.
        let said = world.raw("GET", "/projects/1", &[("accept", "text/html")], "").await;
        assert_eq!((said.status, said.body.contains("<h1 id=\"sign-in\">Sign in</h1>")), (401, true));
    });
}

#[test]
fn the_token_is_not_taken_from_the_address() {
    story(|| async {
        let world = World::start();
        for query in ["token", "access_token", "apiKey", "wsToken"] {
            assert_eq!(world.raw("GET", &format!("/api/projects?{query}={TOKEN}"), &[], "").await.status, 401);
        }
    });
}

#[test]
fn a_browser_signs_in_once_and_out_again() {
    story(|| async {
        let world = World::start();
        let origin = world.origin();
        let json = ("content-type", "application/json");
        let body = format!(r#"{{"token":"{TOKEN}"}}"#);
        let said = world.raw("POST", "/api/auth/login", &[("origin", &origin), json], &body).await;
        assert_eq!(said.status, 204);
        let cookie = said.header("set-cookie").unwrap().to_owned();
        let (pair, rest) = cookie.split_once(';').unwrap();
        assert!(pair.starts_with(&format!("tollgate_session_{}=", world.address.port())), "{pair}");
        assert!(!cookie.contains(TOKEN));
        assert_snapshot!(rest, @" HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000");
        assert_eq!(world.raw("GET", "/api/projects", &[("cookie", pair)], "").await.status, 200);
        let said = world.raw("POST", "/api/auth/logout", &[("cookie", pair), ("origin", &origin)], "").await;
        assert!(said.header("set-cookie").unwrap().ends_with("Max-Age=0"));
    });
}

#[test]
fn a_page_that_came_over_tls_gets_a_cookie_that_goes_no_other_way() {
    story(|| async {
        let world = World::start();
        let headers =
            [("host", "board.example"), ("origin", "https://board.example"), ("content-type", "application/json")];
        let bytes = client::request("POST", "/api/auth/login", &headers, &format!(r#"{{"token":"{TOKEN}"}}"#));
        let said = client::exchange(world.address, &bytes).await;
        assert!(said.header("set-cookie").is_some_and(|cookie| cookie.contains("; Secure; HttpOnly;")), "{said:?}");
    });
}

#[test]
fn a_cookie_alone_changes_nothing() {
    story(|| async {
        let world = World::start();
        let body = format!(r#"{{"token":"{TOKEN}"}}"#);
        let json = ("content-type", "application/json");
        let said = world.raw("POST", "/api/auth/login", &[json], &body).await;
        let cookie = said.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let project = world.new_project("shop");
        let said = world.raw("POST", "/api/projects", &[("cookie", &cookie), json], &project).await;
        assert_eq!(
            (said.status, world.get("/api/projects").await.json()["projects"].as_array().unwrap().len()),
            (403, 0)
        );
        let origin = world.origin();
        let said =
            world.raw("POST", "/api/projects", &[("cookie", &cookie), json, ("origin", &origin)], &project).await;
        assert_eq!(said.status, 201);
    });
}

#[test]
fn guesses_are_counted() {
    story(|| async {
        let world = World::start();
        let json = [("content-type", "application/json")];
        let mut statuses = Vec::new();
        for _ in 0..12 {
            statuses.push(world.raw("POST", "/api/auth/login", &json, r#"{"token":"guess"}"#).await.status);
        }
        assert_eq!(statuses, [vec![401; 10], vec![429; 2]].concat());
        let body = format!(r#"{{"token":"{TOKEN}"}}"#);
        let said = world.raw("POST", "/api/auth/login", &json, &body).await;
        assert!(said.status == 429 && said.header("retry-after").is_some(), "{said:?}");
        assert_eq!(world.get("/api/projects").await.status, 200);
    });
}

#[test]
fn the_log_names_routes_and_nothing_a_client_wrote() {
    story(|| async {
        let world = World::start();
        world.get("/api/projects/1/features/secret-name?q=secret").await;
        world.raw("GET", &format!("/api/{TOKEN}"), &[], "").await;
        world.raw("BREW", "/healthz", &[], "").await;
        let served = world.served.lock().unwrap();
        let lines: Vec<String> =
            served.iter().map(|served| format!("{} {} {}", served.method, served.route, served.status)).collect();
        assert_snapshot!(lines.join("\n"), @r"
        GET /api/projects/{project}/features/{feature} 404
        GET  401
        other /healthz 405
        ");
    });
}
