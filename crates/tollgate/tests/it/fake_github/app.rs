//! The app at the fake GitHub: its key, its tokens, its deliveries.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::http::{Answer, Request};
use super::json::iso;
use super::route::{Call, invalid, not_found, refused, said};
use super::state::{Actor, State, Token};

/// A private key as PEM and its public half, made once for all tests.
pub(crate) fn key() -> &'static (String, Vec<u8>) {
    static KEY: OnceLock<(String, Vec<u8>)> = OnceLock::new();
    KEY.get_or_init(|| {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der = STANDARD.encode(pair.as_der().unwrap().as_ref());
        let lines: Vec<&str> = (0..der.len()).step_by(64).map(|at| &der[at..der.len().min(at + 64)]).collect();
        let kind = "PRIVATE KEY";
        let pem = format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"));
        (pem, pair.public_key().as_ref().to_vec())
    })
}

impl Token {
    /// A request without a token.
    pub(crate) fn anonymous() -> Self {
        Self { actor: Actor::person(""), repos: Vec::new(), may: BTreeMap::new(), expires_ms: u64::MAX }
    }

    pub(crate) fn is_nobody(&self) -> bool {
        self.actor.login.is_empty()
    }

    pub(crate) fn may_read(&self, name: &str) -> bool {
        let is_its_own = self.repos.is_empty() || self.repos.iter().any(|repo| repo.eq_ignore_ascii_case(name));
        is_its_own && self.may.contains_key("contents")
    }
}

/// The token in `Basic …`, whose user GitHub wants to be `x-access-token`.
pub(crate) fn password(value: &str) -> Option<String> {
    let (scheme, pair) = value.split_once(' ')?;
    let pair = String::from_utf8(STANDARD.decode(pair.trim()).ok()?).ok()?;
    let (user, token) = pair.split_once(':')?;
    (scheme.eq_ignore_ascii_case("basic") && user == "x-access-token").then(|| token.to_owned())
}

/// Checks that a request is the app's own: a token that it signed with its key, good now and not for long.
pub(crate) fn of_the_app(state: &State, request: &Request) -> Result<(), String> {
    let token = super::route::bearer(request).ok_or("A JSON web token could not be decoded")?;
    let parts: Vec<&str> = token.split('.').collect();
    let [header, claims, signature] = parts[..] else {
        return Err("A JSON web token could not be decoded".to_owned());
    };
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| "A JSON web token could not be decoded");
    let signed = format!("{header}.{claims}");
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &state.app.public_key)
        .verify(signed.as_bytes(), &decode(signature)?)
        .map_err(|_| "A JSON web token could not be decoded")?;
    let header: Value = serde_json::from_slice(&decode(header)?).unwrap_or_default();
    let claims: Value = serde_json::from_slice(&decode(claims)?).unwrap_or_default();
    if header["alg"] != "RS256" {
        return Err("A JSON web token could not be decoded".to_owned());
    }
    let now = i64::try_from(state.now_ms() / 1000).unwrap();
    let number = |name: &str| claims[name].as_i64();
    let expires = number("exp").filter(|at| *at > now).ok_or(
        "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
    )?;
    if expires > now + 600 {
        return Err("'Expiration time' claim ('exp') is too far in the future".to_owned());
    }
    number("iat")
        .filter(|at| *at <= now)
        .ok_or("'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")?;
    let is_ours = claims["iss"] == json!(state.app.id) || claims["iss"] == json!(state.app.id.to_string());
    if is_ours { Ok(()) } else { Err("'Issuer' claim ('iss') must be an Integer".to_owned()) }
}

/// Answers what only the app may ask.
pub(crate) fn answer(state: &mut State, request: &Request, call: &Call<'_>) -> Answer {
    match call.name {
        "app.get" => said(200, &state.app()),
        "repos.installation" => match state.repo(&call.full) {
            Some(_) => said(200, &state.installation()),
            None => not_found(),
        },
        "tokens.create" => create_token(state, request, call),
        "deliveries.list" => deliveries(state, request),
        _ => match state.deliveries.iter().position(|delivery| delivery.id == call.number(0)) {
            Some(position) => {
                state.deliveries[position].is_asked_again = true;
                said(202, &json!({}))
            }
            None => not_found(),
        },
    }
}

fn create_token(state: &mut State, request: &Request, call: &Call<'_>) -> Answer {
    if call.number(0) != state.app.installation {
        return not_found();
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    let repos: Vec<String> =
        body["repositories"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let is_known = |name: &String| state.repos.values().any(|repo| repo.name.eq_ignore_ascii_case(name));
    if !repos.iter().all(is_known) {
        let why =
            "There is at least one repository that does not exist or is not accessible to the parent installation.";
        return refused(422, why);
    }
    let granted = state.permissions();
    let wanted = body["permissions"].as_object().cloned().unwrap_or(granted.as_object().unwrap().clone());
    let is_granted = |(what, how): (&String, &Value)| granted[what] == *how || granted[what] == "write";
    if !wanted.iter().all(is_granted) {
        return refused(422, "The permissions requested are not granted to this installation.");
    }
    let token = format!("ghs_{:036}", state.new_id());
    let expires_ms = state.now_ms() + 3_600_000;
    let actor = Actor { login: format!("{}[bot]", state.app.slug), app: Some(state.app.id) };
    let may = wanted.iter().map(|(what, how)| (what.clone(), how.as_str().unwrap_or_default().to_owned())).collect();
    state.tokens.insert(token.clone(), Token { actor, repos, may, expires_ms });
    let mut answer = json!({ "token": token, "expires_at": iso(expires_ms), "permissions": wanted });
    answer["repository_selection"] = json!(if body["repositories"].is_array() { "selected" } else { "all" });
    said(201, &answer)
}

/// Deliveries, newest first. Pages follow one another by a cursor.
fn deliveries(state: &State, request: &Request) -> Answer {
    let per_page = request.number("per_page").unwrap_or(30).clamp(1, 100);
    let before = request.asked("cursor").and_then(|cursor| cursor.trim_start_matches("v1_").parse::<u64>().ok());
    let is_wanted = |delivery: &&super::hooks::Delivery| {
        let is_failed = !(200..300).contains(&delivery.status);
        delivery.status != super::hooks::HELD
            && before.is_none_or(|before| delivery.id < before)
            && match request.asked("status") {
                Some("failure") => is_failed,
                Some("success") => !is_failed,
                _ => true,
            }
    };
    let found: Vec<_> = state.deliveries.iter().rev().filter(is_wanted).collect();
    let shown: Vec<Value> = found.iter().take(per_page).map(|delivery| delivery.shown(state)).collect();
    let mut answer = said(200, &Value::Array(shown));
    if found.len() > per_page {
        let cursor = found[per_page - 1].id;
        let next = format!("<{}{}?per_page={per_page}&cursor=v1_{cursor}>; rel=\"next\"", state.url, request.path);
        answer.headers.push(("link".to_owned(), next));
    }
    answer
}

/// A new app from a manifest; each code is good once.
pub(crate) fn convert(state: &mut State, call: &Call<'_>) -> Answer {
    let code = call.rest.first().copied().unwrap_or_default();
    let Some(secret) = state.app.codes.remove(code) else { return not_found() };
    let mut app = state.app();
    for (name, value) in [("client_secret", "s3cret"), ("webhook_secret", &secret), ("pem", &state.app.pem)] {
        app[name] = json!(value);
    }
    said(201, &app)
}

/// The errors of a refusal, as objects.
pub(crate) fn wrong(resource: &str, field: &str, message: &str) -> Answer {
    let error = json!({ "resource": resource, "code": "custom", "field": field, "message": message });
    invalid("Validation Failed", &json!([error]))
}
