//! What all pages have in common.

use crate::client::Said;
use crate::world::{TOKEN, World, story};

const HTML: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");

impl World {
    /// Goes to a page as a browser that is signed in does.
    pub(crate) async fn page(&self, path: &str) -> Said {
        let bearer = format!("Bearer {TOKEN}");
        self.raw("GET", path, &[("authorization", &bearer), HTML], "").await
    }

    async fn sign_in(&self, body: &str, origin: &str) -> Said {
        let form = ("content-type", "application/x-www-form-urlencoded");
        self.raw("POST", "/login", &[HTML, form, ("origin", origin)], body).await
    }
}

#[test]
fn an_unauthenticated_browser_gets_the_sign_in_form_at_any_address() {
    story(|| async {
        let world = World::start();
        for path in ["/", "/projects/7?q=a%20b", "/nothing/there"] {
            let said = world.raw("GET", path, &[HTML], "").await;
            assert_eq!(said.status, 401, "{path}");
            assert!(said.body.contains(&format!("name=\"next\" value=\"{path}\"")), "{}", said.body);
        }
        // A program is told in its own form.
        let said = world.raw("GET", "/projects/7", &[("accept", "*/*")], "").await;
        assert_eq!((said.status, said.header("content-type")), (401, Some("application/problem+json")));
    });
}

#[test]
fn one_signs_in_without_a_script() {
    story(|| async {
        let world = World::start();
        let origin = world.origin();
        let said = world.sign_in(&format!("token={TOKEN}&next=/projects/7"), &origin).await;
        assert_eq!((said.status, said.header("location")), (303, Some("/projects/7")));
        let cookie = said.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        assert_eq!(world.raw("GET", "/api/projects", &[("cookie", &cookie)], "").await.status, 200);
        let said = world.sign_in(&format!("token={TOKEN}&next=//evil.example"), &origin).await;
        assert_eq!(said.header("location"), Some("/"));
        let said = world.sign_in("token=wrong&next=/projects/7", &origin).await;
        assert_eq!((said.status, said.header("set-cookie")), (401, None));
        assert!(said.body.contains("This is not the server&#39;s token."), "{}", said.body);
        assert!(said.body.contains("value=\"/projects/7\""), "{}", said.body);
        assert_eq!(world.sign_in("next=/", &origin).await.status, 400);
        assert_eq!(world.sign_in(&format!("token={TOKEN}"), "http://evil.example").await.status, 403);
        // Nowhere else is a form taken.
        let form = ("content-type", "application/x-www-form-urlencoded");
        let bearer = format!("Bearer {TOKEN}");
        let said = world.raw("POST", "/api/projects", &[("authorization", &bearer), form], "path=/x").await;
        assert_eq!(said.status, 415);
    });
}

#[test]
fn a_page_that_is_not_there_is_a_page() {
    story(|| async {
        let world = World::start();
        let said = world.page("/nothing").await;
        assert_eq!(said.status, 404);
        assert!(said.body.contains("<h1 id=\"problem\">Not found</h1>"), "{}", said.body);
        let policy = said.header("content-security-policy").unwrap();
        assert!(policy.contains("script-src 'self';") && policy.contains("require-trusted-types-for 'script'"));
        assert!(!policy.contains("unsafe") && !policy.contains("data:"), "{policy}");
        assert_eq!(world.get("/nothing").await.header("content-type"), Some("application/problem+json"));
    });
}

#[test]
fn scripts_and_styles_are_for_everybody_and_small() {
    story(|| async {
        let world = World::start();
        let page = world.page("/nothing").await.body;
        let start = page.find("/assets/").unwrap();
        let base = &page[start..start + page[start..].find("/icon.svg").unwrap()];
        let kinds = [("style.css", "text/css"), ("app.js", "text/javascript"), ("icon.svg", "image/svg+xml")];
        for (name, kind) in kinds {
            let said = world.raw("GET", &format!("{base}/{name}"), &[], "").await;
            assert_eq!(said.status, 200, "{name}");
            assert!(said.header("content-type").unwrap().starts_with(kind), "{said:?}");
            assert!(!said.body.is_empty() && said.header("content-encoding").is_none());
        }
        let said = world.raw("GET", &format!("{base}/style.css"), &[("accept-encoding", "gzip")], "").await;
        assert_eq!(said.header("content-encoding"), Some("gzip"));
        for missing in ["nothing.css", "..%2f..%2fCargo.toml", "style"] {
            assert_eq!(world.raw("GET", &format!("{base}/{missing}"), &[], "").await.status, 404, "{missing}");
        }
    });
}
