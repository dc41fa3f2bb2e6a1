use std::sync::Arc;

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::peer::{Heard, Peer, Reply};
use super::{NOW_MS, StillClock, repo};
use crate::forge::github::manifest::convert;
use crate::forge::github::{App, AppSettings, client};
use crate::forge::host::{BotIdentity, HostErrorKind, Secret};

/// A key made for one test.
struct TestKey {
    pkcs8: Vec<u8>,
    public: Vec<u8>,
}

impl TestKey {
    fn new() -> Self {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        Self { pkcs8: pair.as_der().unwrap().as_ref().to_vec(), public: pair.public_key().as_ref().to_vec() }
    }

    fn pkcs8(&self) -> Secret {
        pem("PRIVATE KEY", &self.pkcs8)
    }

    /// The key in PKCS#1: PKCS#8 without its header, which has a fixed length.
    fn pkcs1(&self) -> Secret {
        pem("RSA PRIVATE KEY", &self.pkcs8[26..])
    }

    /// The claims of a JWT, if this key signed it.
    fn read(&self, note: &str) -> Value {
        let (text, signature) = note.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.public).verify(text.as_bytes(), &signature).unwrap();
        let (kind, says) = text.split_once('.').unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(kind).unwrap(), br#"{"alg":"RS256","typ":"JWT"}"#);
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(says).unwrap()).unwrap()
    }
}

fn pem(kind: &str, der: &[u8]) -> Secret {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    Secret::new(format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n")))
}

/// An app, and a GitHub that plays a script.
struct Stage {
    peer: Peer,
    clock: Arc<StillClock>,
    key: TestKey,
    app: App,
}

fn stage(replies: Vec<Reply>) -> Stage {
    stage_of(replies, false)
}

fn stage_of(replies: Vec<Reply>, resolves_threads: bool) -> Stage {
    let (peer, clock, key) = (Peer::playing(replies), Arc::new(StillClock::at(NOW_MS)), TestKey::new());
    let settings = AppSettings {
        address: peer.address(),
        app_id: 12,
        key_pem: key.pkcs1(),
        key_from: "private-key.pem".to_owned(),
        resolves_threads,
    };
    let app = App::with_clock(settings, clock.clone()).unwrap();
    Stage { peer, clock, key, app }
}

fn bearer(heard: &Heard) -> &str {
    heard.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap()
}

fn about() -> Reply {
    let permissions = json!({"checks": "write"});
    Reply::json(200, &json!({"id": 12, "slug": "gate", "permissions": permissions, "events": ["push"]}))
}

/// A token that is valid for an hour.
fn token(token: &str) -> Reply {
    Reply::json(201, &json!({"token": token, "expires_at": "2023-11-14T23:13:20Z"}))
}

fn comments() -> Reply {
    Reply::json(200, &json!([]))
}

fn refused() -> Reply {
    Reply::json(401, &json!({"message": "Bad credentials"}))
}

#[test]
fn a_jwt_identifies_the_app_for_ten_minutes() {
    let stage = stage(vec![about()]);
    let me = BotIdentity { login: "gate[bot]".to_owned(), mention: "gate".to_owned(), app: Some(12) };
    assert_eq!((stage.app.me(), stage.app.me()), (Ok(me.clone()), Ok(me)));
    let heard = stage.peer.heard();
    assert_eq!((heard.len(), heard[0].line.as_str()), (1, "GET /app"));
    let says = stage.key.read(bearer(&heard[0]));
    assert_eq!(says, json!({"iat": 1_699_999_940, "exp": 1_700_000_540, "iss": 12}));
}

#[test]
fn keys_are_read_in_both_forms_and_nothing_else_is_a_key() {
    let key = TestKey::new();
    let with = |key_pem: Secret| {
        let key_from = "keys/app.pem".to_owned();
        let address = crate::forge::github::Address::default();
        App::new(AppSettings { address, app_id: 1, key_pem, key_from, resolves_threads: false })
    };
    assert!(with(key.pkcs1()).is_ok() && with(key.pkcs8()).is_ok());
    let failure = with(Secret::new("hello".to_owned())).unwrap_err();
    assert_snapshot!(failure, @"the private key of the GitHub App in `keys/app.pem` cannot be used: there is no private key in it");
    assert_snapshot!(failure.hint.unwrap(), @"Download a new private key on the settings page of the app, and put the `.pem` file there.");
    let other = with(pem("EC PRIVATE KEY", b"x")).unwrap_err();
    assert_snapshot!(other, @"the private key of the GitHub App in `keys/app.pem` cannot be used: it is a key of another kind than RSA");
    let damaged = with(pem("RSA PRIVATE KEY", &key.pkcs8[26..900])).unwrap_err();
    assert_snapshot!(damaged, @"the private key of the GitHub App in `keys/app.pem` cannot be used: it is no RSA key, or a damaged one");
}

#[test]
fn an_app_in_debug_output_has_no_secrets() {
    let stage = stage(vec![token("ghs_Zq7x9"), refused(), token("ghs_Zq7x9"), refused()]);
    let error = stage.app.host(34, &repo()).comments(&repo(), 1).unwrap_err();
    let shown = format!("{:?} {error:?} {:?}", stage.app, stage.key.pkcs1());
    assert!(!shown.contains("Zq7x9") && !shown.contains("BEGIN"), "{shown}");
}

#[test]
fn the_permission_to_resolve_threads_is_requested_and_optional() {
    let no =
        || Reply::json(422, &json!({"message": "The permissions requested are not granted to this installation."}));
    let asked = |stage: &Stage| -> Vec<Value> {
        stage.peer.heard().iter().map(|heard| heard.body["permissions"]["contents"].clone()).collect()
    };
    let granted = stage_of(vec![token("ghs_1"), comments()], true);
    granted.app.host(34, &repo()).comments(&repo(), 1).unwrap();
    assert_eq!(asked(&granted), [json!("write"), Value::Null]);
    let denied = stage_of(vec![no(), token("ghs_1"), comments()], true);
    denied.app.host(34, &repo()).comments(&repo(), 1).unwrap();
    assert_eq!(asked(&denied), [json!("write"), json!("read"), Value::Null]);
    // Required permissions are not requested a second time.
    let lacking = stage(vec![no()]);
    assert!(lacking.app.host(34, &repo()).comments(&repo(), 1).is_err());
    assert_eq!(asked(&lacking), [json!("read")]);
}

#[test]
fn a_token_is_for_one_repository_and_no_more_rights_than_we_use() {
    let stage = stage(vec![token("ghs_1"), comments()]);
    stage.app.host(34, &repo()).comments(&repo(), 1).unwrap();
    let heard = stage.peer.heard();
    assert_eq!(heard[0].line, "POST /app/installations/34/access_tokens");
    assert_snapshot!(heard[0].body, @r#"{"repositories":["hello"],"permissions":{"checks":"write","contents":"read","issues":"write","metadata":"read","pull_requests":"write"}}"#);
    assert_eq!(bearer(&heard[1]), "ghs_1");
}

#[test]
fn a_token_is_kept_until_five_minutes_before_its_end() {
    let stage = stage(vec![token("ghs_1"), comments(), comments(), token("ghs_2"), comments()]);
    let host = stage.app.host(34, &repo());
    host.comments(&repo(), 1).unwrap();
    stage.clock.advance(55 * 60_000 - 1);
    // Another host of the same installation and repository shares the token.
    stage.app.host(34, &repo()).comments(&repo(), 1).unwrap();
    stage.clock.advance(1);
    host.comments(&repo(), 1).unwrap();
    let shown: Vec<String> = stage.peer.heard().iter().map(|heard| bearer(heard).to_owned()).collect();
    assert_eq!([&shown[1], &shown[2], &shown[4]], ["ghs_1", "ghs_1", "ghs_2"]);
}

#[test]
fn a_token_is_of_one_installation_and_one_repository() {
    let stage = stage(vec![token("ghs_1"), comments(), token("ghs_2"), comments(), token("ghs_3"), comments()]);
    let other = tollgate_core::pull::Repo::parse("octo/other").unwrap();
    for (installation, repo) in [(34, &repo()), (34, &other), (35, &repo())] {
        stage.app.host(installation, repo).comments(repo, 1).unwrap();
    }
    assert_eq!(stage.peer.heard().len(), 6);
}

#[test]
fn a_token_is_fetched_once_for_concurrent_requests() {
    let mut replies = vec![token("ghs_1")];
    replies.extend((0..8).map(|_| comments()));
    let stage = stage(replies);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| stage.app.host(34, &repo()).comments(&repo(), 1).unwrap());
        }
    });
    assert_eq!(stage.peer.heard().iter().filter(|heard| heard.line.contains("access_tokens")).count(), 1);
}

#[test]
fn a_token_that_is_refused_is_fetched_once_more() {
    let written = || Reply::json(201, &json!({"id": 5}));
    let stage = stage(vec![token("ghs_1"), refused(), token("ghs_2"), written(), refused(), token("ghs_3"), refused()]);
    let host = stage.app.host(34, &repo());
    assert_eq!(host.comment(&repo(), 1, "hi"), Ok(5), "a refused write was surely not done");
    let error = host.comment(&repo(), 1, "hi").unwrap_err();
    assert_eq!(error.kind, HostErrorKind::Unauthorized);
    assert_eq!(stage.peer.heard().len(), 7);
}

#[test]
fn clock_skew_is_corrected_by_the_date_header() {
    let date = "date: Tue, 14 Nov 2023 23:13:20 GMT";
    let stage = stage(vec![refused().with(date), about()]);
    assert!(stage.app.me().is_ok());
    let heard = stage.peer.heard();
    assert_eq!(stage.key.read(bearer(&heard[1]))["iat"], 1_700_003_540, "an hour later");
}

#[test]
fn a_rejected_jwt_without_skew_is_not_retried() {
    let date = "date: Tue, 14 Nov 2023 22:13:22 GMT";
    let stage = stage(vec![refused().with(date), about()]);
    assert_eq!(stage.app.me().unwrap_err().kind, HostErrorKind::Unauthorized);
    assert_eq!(stage.peer.heard().len(), 1);
}

#[test]
fn a_token_expires_by_the_clock_of_github() {
    // Our clock is an hour behind: by it, the token would be valid for two.
    let ahead = "date: Tue, 14 Nov 2023 23:13:20 GMT";
    let token = |name: &str| Reply::json(201, &json!({"token": name, "expires_at": "2023-11-15T00:13:20Z"}));
    let stage = stage(vec![refused().with(ahead), token("ghs_1"), comments(), token("ghs_2"), comments()]);
    let host = stage.app.host(34, &repo());
    host.comments(&repo(), 1).unwrap();
    stage.clock.advance(56 * 60_000);
    host.comments(&repo(), 1).unwrap();
    assert_eq!(bearer(&stage.peer.heard()[4]), "ghs_2");
}

#[test]
fn a_lost_lease_allows_reads_and_refuses_writes() {
    let stage = stage(vec![token("ghs_1"), comments()]);
    let host = stage.app.host_while(34, &repo(), Arc::new(|| false));
    host.comments(&repo(), 1).unwrap();
    let error = host.comment(&repo(), 1, "hi").unwrap_err();
    assert_eq!(error.kind, HostErrorKind::Unavailable);
    assert_snapshot!(error.message, @"`POST /repos/octo/hello/issues/1/comments` was not asked for, because the time for it had run out");
    assert_eq!(stage.peer.heard().len(), 2);
}

#[test]
fn an_app_that_was_removed_from_a_repository_finds_nothing_there() {
    let words = "There is at least one repository that does not exist or is not accessible to the parent installation.";
    let stage = stage(vec![Reply::json(422, &json!({"message": words}))]);
    let error = stage.app.host(34, &repo()).comments(&repo(), 1).unwrap_err();
    assert_eq!(error.kind, HostErrorKind::NotFound);
}

#[test]
fn limits_hold_for_an_installation_and_not_for_others() {
    let limited = Reply::json(403, &json!({"message": "secondary rate limit"})).with("retry-after: 60");
    let stage = stage(vec![token("ghs_1"), limited, token("ghs_2"), comments()]);
    stage.app.host(34, &repo()).comments(&repo(), 1).unwrap_err();
    let error = stage.app.host(34, &repo()).comments(&repo(), 1).unwrap_err();
    assert_eq!(error.kind, HostErrorKind::Limited { wait_ms: 60_000 });
    assert!(stage.app.host(35, &repo()).comments(&repo(), 1).is_ok());
}

#[test]
fn the_installation_of_a_repository_is_found() {
    let stage = stage(vec![Reply::json(200, &json!({"id": 34, "app_id": 12}))]);
    assert_eq!(stage.app.installation_of(&repo()), Ok(34));
    assert_eq!(stage.peer.lines(), "GET /repos/octo/hello/installation");
}

fn delivery(id: u64, guid: &str, minute: u8, status: u16) -> Value {
    json!({"id": id, "guid": guid, "delivered_at": format!("2023-11-14T22:{minute:02}:00Z"), "status_code": status})
}

#[test]
fn failed_deliveries_exclude_those_that_succeeded_later() {
    let link = "link: <http://127.0.0.1:1/app/hook/deliveries?per_page=100&cursor=v1_7>; rel=\"next\"";
    let first = json!([delivery(9, "a", 12, 200), delivery(8, "b", 11, 502), delivery(7, "c", 10, 0)]);
    let second = json!([delivery(6, "a", 9, 500), delivery(5, "b", 8, 500), delivery(4, "d", 1, 500)]);
    let stage = stage(vec![Reply::json(200, &first).with(link), Reply::json(200, &second).with(link)]);
    let five_past = NOW_MS - (8 * 60 + 20) * 1000;
    let failed = stage.app.failed_deliveries(five_past).unwrap();
    assert_eq!(failed.iter().map(|failed| (failed.id, failed.guid.as_str())).collect::<Vec<_>>(), [(8, "b"), (7, "c")]);
    assert_snapshot!(stage.peer.lines(), @r"
    GET /app/hook/deliveries?per_page=100
    GET /app/hook/deliveries?per_page=100&cursor=v1_7
    ");
}

#[test]
fn an_invalid_cursor_ends_the_list() {
    let link = "link: <http://127.0.0.1:1/app?cursor=../../x>; rel=\"next\"";
    let stage = stage(vec![Reply::json(200, &json!([delivery(9, "a", 12, 500)])).with(link)]);
    assert_eq!(stage.app.failed_deliveries(0).unwrap().len(), 1);
    assert_eq!(stage.peer.heard().len(), 1);
}

#[test]
fn a_redelivery_is_requested() {
    let stage = stage(vec![Reply::json(202, &json!({}))]);
    stage.app.redeliver(9).unwrap();
    assert_eq!(stage.peer.lines(), "POST /app/hook/deliveries/9/attempts");
}

#[test]
fn a_manifest_code_is_exchanged_for_an_app() {
    let made = json!({"id": 5, "slug": "gate", "html_url": "https://github.com/apps/gate", "pem": "KEY-Zq7x9",
                      "webhook_secret": "secret-Zq7x9", "client_id": "Iv1", "client_secret": "more"});
    let peer = Peer::playing(vec![Reply::json(201, &made), Reply::json(404, &json!({"message": "Not Found"}))]);
    let client = client::Client::new(peer.address(), Arc::new(StillClock::at(NOW_MS)));
    let app = convert(&client, "c0de").unwrap();
    assert_eq!((app.id, app.slug.as_str(), app.client_id.as_str()), (5, "gate", "Iv1"));
    assert_eq!((app.pem.expose(), app.webhook_secret.expose()), ("KEY-Zq7x9", "secret-Zq7x9"));
    assert!(!format!("{app:?}").contains("Zq7x9"));
    assert_eq!(peer.lines(), "POST /app-manifests/c0de/conversions");
    assert_snapshot!(convert(&client, "c0de").unwrap_err(), @"`POST /app-manifests/…/conversions` is not there, or we may not see it (HTTP 404): “Not Found”");
    for code in ["", "a/b", "a b", "../app", &"a".repeat(101)] {
        assert_eq!(convert(&client, code).unwrap_err().message, "what came back is not a code of GitHub");
    }
    assert_eq!(peer.heard().len(), 2);
}
