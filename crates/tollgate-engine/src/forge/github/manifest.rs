//! The last step of the app manifest flow: exchanges GitHub's temporary code for the credentials of the new app.

use std::sync::Arc;

use reqwest::Method;
use serde::Deserialize;

use super::address::Address;
use super::client::{Client, Credentials};
use super::clock::MachineClock;
use super::error;
use super::limits::Limits;
use super::request::{Request, RequestTarget};
use crate::forge::host::{HostResult, Secret};

/// A newly created app.
#[derive(Debug, Clone)]
pub struct NewApp {
    /// Its number.
    pub id: u64,
    /// Its slug in URLs and mentions.
    pub slug: String,
    /// Its page.
    pub html_url: String,
    /// Its private key.
    pub pem: Secret,
    /// Its webhook secret.
    pub webhook_secret: Secret,
    /// Its OAuth client ID.
    pub client_id: String,
}

#[derive(Deserialize)]
struct ManifestResponse {
    id: u64,
    slug: String,
    #[serde(default)]
    html_url: String,
    pem: String,
    webhook_secret: Option<String>,
    #[serde(default)]
    client_id: String,
}

struct Anonymous;

impl Credentials for Anonymous {
    fn token(&self) -> HostResult<Option<Secret>> {
        Ok(None)
    }

    fn token_refused(&self, _token: &Secret, _date_ms: Option<u64>) -> bool {
        false
    }
}

/// Exchanges a manifest code for the app that was created. A code is valid once and for an hour.
pub fn convert_manifest(address: &Address, code: &str) -> HostResult<NewApp> {
    convert(&Client::new(address.clone(), Arc::new(MachineClock::new())), code)
}

pub(super) fn convert(client: &Client, code: &str) -> HostResult<NewApp> {
    if !(1..=100).contains(&code.len()) || !code.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(error::wont_do("what came back is not a code of GitHub".to_owned()));
    }
    let mut request = Request::change(Method::POST, "");
    let path = format!("/app-manifests/{code}/conversions");
    request.to = RequestTarget::Redacted { path, shown: "/app-manifests/…/conversions" };
    let made: ManifestResponse = client.read(&request, &Anonymous, &Limits::default())?;
    let webhook_secret = made.webhook_secret.ok_or_else(|| {
        error::wont_do("the app was created without a webhook secret, so its deliveries could be forged".to_owned())
    })?;
    Ok(NewApp {
        id: made.id,
        slug: made.slug,
        html_url: made.html_url,
        pem: Secret::new(made.pem),
        webhook_secret: Secret::new(webhook_secret),
        client_id: made.client_id,
    })
}
