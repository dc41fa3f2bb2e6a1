//! What a hostile page, program or client tries.

use tokio::io::AsyncWriteExt as _;

use crate::client::{self, request};
use crate::world::{TOKEN, World, story};

const JSON: (&str, &str) = ("content-type", "application/json");

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

async fn n_projects(world: &World) -> usize {
    world.get("/api/projects").await.json()["projects"].as_array().unwrap().len()
}

async fn cookie(world: &World) -> String {
    let said = world.raw("POST", "/api/auth/login", &[JSON], &format!(r#"{{"token":"{TOKEN}"}}"#)).await;
    said.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

#[test]
fn another_name_for_our_address_gets_nothing() {
    story(|| async {
        let world = World::start();
        let (cookie, bearer) = (cookie(&world).await, bearer());
        let port = world.address.port();
        for host in
            ["evil.example".to_owned(), format!("evil.example:{port}"), format!("localhost.evil.example:{port}")]
        {
            let origin = format!("http://{host}");
            for path in ["/healthz", "/api/projects", "/api/events", "/nothing"] {
                let headers =
                    [("host", host.as_str()), ("origin", &origin), ("cookie", &cookie), ("authorization", &bearer)];
                let said = client::exchange(world.address, &request("GET", path, &headers, "")).await;
                assert_eq!((said.status, said.header("content-type")), (421, Some("application/problem+json")));
            }
        }
        let said = client::exchange(world.address, &request("GET", "/healthz", &[], "")).await;
        assert!(said.status == 421 || said.status == 400, "{said:?}");
    });
}

#[test]
fn pages_of_other_sites_change_nothing() {
    story(|| async {
        let world = World::start();
        let (cookie, body) = (cookie(&world).await, world.new_project("other"));
        let port = world.address.port();
        let origins = [
            "null".to_owned(),
            format!("http://localhost:{}", port.wrapping_add(1)),
            "http://localhost".to_owned(),
            format!("http://localhost.evil.example:{port}"),
            format!("https://localhost:{port}"),
        ];
        for origin in &origins {
            let headers = [("cookie", cookie.as_str()), ("origin", origin.as_str()), JSON];
            assert_eq!(world.raw("POST", "/api/projects", &headers, &body).await.status, 403, "{origin}");
        }
        let ours = world.origin();
        for site in ["cross-site", "same-site"] {
            let headers = [("cookie", cookie.as_str()), ("origin", ours.as_str()), JSON, ("sec-fetch-site", site)];
            assert_eq!(world.raw("POST", "/api/projects", &headers, &body).await.status, 403, "{site}");
        }
        for kind in
            ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain;application/json"]
        {
            let headers = [("cookie", cookie.as_str()), ("origin", ours.as_str()), ("content-type", kind)];
            assert_eq!(world.raw("POST", "/api/projects", &headers, &body).await.status, 415, "{kind}");
        }
        assert_eq!(n_projects(&world).await, 0);
        // Also where a body may be missing.
        let (project, feature) = world.project_with_feature().await;
        let path = format!("/api/projects/{project}/features/{feature}/resume");
        let headers = [("cookie", cookie.as_str()), ("origin", ours.as_str()), ("content-type", "text/plain")];
        assert_eq!(world.raw("POST", &path, &headers, "{}").await.status, 415);
    });
}

#[test]
fn pages_of_other_sites_open_no_sockets() {
    story(|| async {
        let world = World::start();
        let cookie = cookie(&world).await;
        let upgrade = [
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let ours = world.origin();
        for (origin, expected) in [("http://evil.example", 403), ("null", 403), ("", 403), (ours.as_str(), 101)] {
            let mut headers = vec![("cookie", cookie.as_str()), ("origin", origin)];
            headers.extend(upgrade);
            assert_eq!(world.raw("GET", "/api/events", &headers, "").await.status, expected, "{origin}");
        }
        let mut headers = vec![("cookie", cookie.as_str())];
        headers.extend(upgrade);
        assert_eq!(world.raw("GET", "/api/events", &headers, "").await.status, 403);
    });
}

#[test]
fn names_that_lead_elsewhere_name_nothing() {
    story(|| async {
        let world = World::start();
        let (project, _) = world.project_with_feature().await;
        let long = "x".repeat(300);
        let bad = [
            "..",
            "%2e%2e",
            "..%2f..%2fetc%2fpasswd",
            "%2fetc%2fpasswd",
            "a%00b",
            "%00",
            "%ff",
            "%c0%ae%c0%ae",
            "a%2fb",
            "a%5cb",
            "a b",
            "a%20b",
            "-rf",
            "--output%3dx",
            "a.b",
            ".git",
            "%2e",
            "~",
            "~root",
            "$(x)",
            "%60x%60",
            "a;b",
            "a%0ab",
            "a%0db",
            "%1b%5b31m",
            "a'b",
            "a%22b",
            "a*b",
            "a%3fb",
            "a%23b",
            "é",
            "%e2%80%ae",
            "%ef%bb%bf",
            "a:b",
            "C:",
            "con%2e",
            "a%25b",
            "%252e%252e",
            "%252f",
            "a@b",
            "a=b",
            "a&b",
            "a|b",
            "a<b",
            "a>b",
            "a{b",
            "a}b",
            "a[b",
            "a]b",
            "a^b",
            "a,b",
            "a!b",
            "a+b",
            "(a)",
            "%7f",
            "%80",
            "%f0%9f%92%a9",
            "%",
            "%2",
            "%zz",
            long.as_str(),
        ];
        assert!(bad.len() >= 60, "{}", bad.len());
        for name in bad {
            for path in [
                format!("/api/projects/{project}/features/{name}"),
                format!("/api/projects/{project}/features/{name}/iterations/1/output"),
                format!("/api/projects/{name}"),
            ] {
                let said = world.get(&path).await;
                assert!((400..500).contains(&said.status), "{path}: {said:?}");
            }
        }
    });
}

#[test]
fn odd_numbers_name_nothing() {
    story(|| async {
        let world = World::start();
        let (project, feature) = world.project_with_feature().await;
        for number in ["0", "-1", "+1", "01", "1.0", "1e0", "0x1", "18446744073709551616", "9223372036854775808", "１"]
        {
            assert_eq!(world.get(&format!("/api/projects/{number}")).await.status, 404, "{number}");
            let path = format!("/api/projects/{project}/features/{feature}/iterations/{number}");
            assert_eq!(world.get(&path).await.status, 404, "{number}");
        }
    });
}

#[test]
fn bodies_are_read_strictly() {
    story(|| async {
        let world = World::start();
        let deep = format!(r#"{{"path":{}1{}}}"#, "[".repeat(3000), "]".repeat(3000));
        for (body, expected) in [
            ("{", 400),
            (r#"{"path":"/a","path":"/b"}"#, 400),
            (deep.as_str(), 400),
            ("[]", 422),
            ("{}", 422),
            (r#"{"path":7}"#, 422),
            (r#"{"path":"/a","nmae":"x"}"#, 422),
        ] {
            let said = world.ask("POST", "/api/projects", body).await;
            let kind = said.header("content-type");
            assert_eq!((said.status, kind), (expected, Some("application/problem+json")), "{body:.80} {said:?}");
        }
        assert_eq!(n_projects(&world).await, 0);
    });
}

/// Bytes of memory that the process has now.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn a_gigabyte_is_refused_before_it_is_read() {
    story(|| async {
        let world = World::start();
        let (host, bearer) = (world.host(), bearer());
        let before = resident();
        let headers = [("host", host.as_str()), ("authorization", &bearer), JSON];
        let declared = [&headers[..], &[("content-length", "1073741824")]].concat();
        let chunked = [&headers[..], &[("transfer-encoding", "chunked")]].concat();
        for headers in [declared, chunked] {
            let mut tcp = client::connect(world.address).await;
            tcp.write_all(&request("POST", "/api/projects", &headers, "")).await.unwrap();
            let (mut reader, mut writer) = tcp.into_split();
            let writing = tokio::spawn(async move {
                let chunk = [b"10000\r\n".to_vec(), vec![b'x'; 0x10000], b"\r\n".to_vec()].concat();
                let mut n_bytes = 0;
                while n_bytes < 1 << 30 && writer.write_all(&chunk).await.is_ok() {
                    n_bytes += chunk.len();
                }
                n_bytes
            });
            let mut answer = Vec::new();
            let _ = tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut answer).await;
            assert!(answer.starts_with(b"HTTP/1.1 413 "), "{}", String::from_utf8_lossy(&answer));
            writing.abort();
        }
        // Tests beside this one take some of it, too; a body that was kept would be ten times as much.
        assert!(resident().saturating_sub(before) < 200 << 20, "{} -> {}", before, resident());
        assert_eq!(world.get("/api/projects").await.status, 200);
    });
}

#[test]
fn a_client_that_sends_everything_before_it_reads_still_learns_that_it_was_too_much() {
    story(|| async {
        let world = World::start();
        let (host, bearer) = (world.host(), bearer());
        let length = (16 << 20).to_string();
        let headers = [("host", host.as_str()), ("authorization", &bearer), JSON, ("content-length", &length)];
        let mut tcp = client::connect(world.address).await;
        tcp.write_all(&request("POST", "/api/projects", &headers, "")).await.unwrap();
        tcp.write_all(&vec![b'x'; 16 << 20]).await.unwrap();
        assert_eq!(client::read(&mut tcp).await.unwrap().status, 413);
    });
}

#[test]
fn every_answer_tells_browsers_to_be_careful() {
    story(|| async {
        let world = World::start();
        for path in ["/healthz", "/api/projects", "/nothing"] {
            let said = world.get(path).await;
            for (name, value) in [
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
                ("cache-control", "no-store"),
                ("cross-origin-resource-policy", "same-origin"),
                ("cross-origin-opener-policy", "same-origin"),
            ] {
                assert_eq!(said.header(name), Some(value), "{path}");
            }
            let policy = said.header("content-security-policy").unwrap();
            assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
            assert!(said.headers.iter().all(|(name, _)| !name.starts_with("access-control-")), "{said:?}");
        }
    });
}
