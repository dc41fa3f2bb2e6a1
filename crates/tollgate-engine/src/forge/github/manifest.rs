//! The last step of making an app: the code that GitHub hands back is changed for its keys.

use std::sync::Arc;

use reqwest::Method;
use serde::Deserialize;

use super::address::Address;
use super::client::{Badge, Client};
use super::clock::MachineClock;
use super::limits::Limits;
use super::request::{Request, To};
use super::trouble;
use crate::forge::host::{Asked, Hidden};

/// An app that was just made.
#[derive(Debug, Clone)]
pub struct NewApp {
    /// Its number.
    pub id: u64,
    /// Its name in addresses, and behind `@`.
    pub slug: String,
    /// Its page.
    pub html_url: String,
    /// Its private key.
    pub pem: Hidden,
    /// What signs its deliveries.
    pub webhook_secret: Hidden,
    /// Its name for users who sign in.
    pub client_id: String,
}

#[derive(Deserialize)]
struct Wire {
    id: u64,
    slug: String,
    #[serde(default)]
    html_url: String,
    pem: String,
    webhook_secret: Option<String>,
    #[serde(default)]
    client_id: String,
}

struct Nobody;

impl Badge for Nobody {
    fn show(&self) -> Asked<Option<Hidden>> {
        Ok(None)
    }

    fn refused(&self, _token: &Hidden, _date_ms: Option<u64>) -> bool {
        false
    }
}

/// Changes the code of a manifest for the app that was made. A code is good for one time and one hour.
pub fn convert_manifest(address: &Address, code: &str) -> Asked<NewApp> {
    convert(&Client::new(address.clone(), Arc::new(MachineClock::new())), code)
}

pub(super) fn convert(client: &Client, code: &str) -> Asked<NewApp> {
    if !(1..=100).contains(&code.len()) || !code.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(trouble::wont_do("what came back is not a code of GitHub".to_owned()));
    }
    let mut request = Request::change(Method::POST, "");
    let path = format!("/app-manifests/{code}/conversions");
    request.to = To::Hidden { path, shown: "/app-manifests/…/conversions" };
    let made: Wire = client.read(&request, &Nobody, &Limits::default())?;
    let webhook_secret = made.webhook_secret.ok_or_else(|| {
        trouble::wont_do("the app was made without a secret for its deliveries, so they could be anybody's".to_owned())
    })?;
    Ok(NewApp {
        id: made.id,
        slug: made.slug,
        html_url: made.html_url,
        pem: Hidden::new(made.pem),
        webhook_secret: Hidden::new(webhook_secret),
        client_id: made.client_id,
    })
}
