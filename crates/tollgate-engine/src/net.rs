//! The way out: one runtime and one pool of connections for all who talk to services.
//!
//! It knows no service: whom to ask, what and how often is for those who ask. [`patience`] reads how long to wait.
//!
//! Nothing is started before the first question is asked, so a review offline pays nothing. The spine is
//! synchronous (decision 1): a call blocks its thread, the runtime has one of its own.

pub(crate) mod backoff;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Url};
use tokio::runtime::Runtime;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// The way out of the process, shared by whoever holds a copy.
#[derive(Clone, Default)]
pub struct Net(Arc<Inner>);

#[derive(Default)]
struct Inner {
    runtime: OnceLock<Result<Runtime, String>>,
    near: OnceLock<Result<Client, String>>,
    near_tls: OnceLock<Result<Client, String>>,
    far: OnceLock<Result<Client, String>>,
}

impl Net {
    /// A way out that is made when it is needed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What drives the calls.
    pub(crate) fn runtime(&self) -> Result<&Runtime, String> {
        let make = || {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder
                .worker_threads(1)
                .thread_name("tollgate-net")
                .enable_all()
                .build()
                .map_err(|error| error.to_string())
        };
        self.0.runtime.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    /// What speaks HTTP with this address: by the environment's proxy, unless it is on this machine.
    pub(crate) fn client(&self, url: &Url) -> Result<&Client, String> {
        let (slot, builder) = match (is_loopback(url), url.scheme()) {
            // Reading the system's certificates takes longer than all the rest, and nobody needs them here.
            (true, "http") => (&self.0.near, builder().no_proxy().tls_certs_only([])),
            (true, _) => (&self.0.near_tls, builder().no_proxy()),
            (false, _) => (&self.0.far, builder()),
        };
        slot.get_or_init(|| builder.build().map_err(|error| error.to_string())).as_ref().map_err(Clone::clone)
    }
}

fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("tollgate/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        // A redirect would carry the key to whoever the other side names.
        .redirect(reqwest::redirect::Policy::none())
        // We count our tries ourselves.
        .retry(reqwest::retry::never())
        .tcp_nodelay(true)
}

/// True for addresses that never leave this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Net")
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Waiting for a name server that does not answer would hold up the end of the program.
        if let Some(Ok(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_near() {
        let near = |url: &str| is_loopback(&Url::parse(url).unwrap());
        for url in [
            "http://localhost:1/v1",
            "http://127.0.0.1",
            "https://127.9.9.9/",
            "http://[::1]:8080",
            "http://a.localhost",
        ] {
            assert!(near(url), "{url}");
        }
        for url in
            ["http://localhost.evil.example", "http://10.0.0.1", "http://0.0.0.0", "http://example.com", "http://[::2]"]
        {
            assert!(!near(url), "{url}");
        }
    }
}
