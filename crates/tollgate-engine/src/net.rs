//! HTTP clients: one runtime and one connection pool for all calls to services.
//!
//! It knows no service; the callers choose requests and retry policy. [`backoff`] computes the delays of retries.
//!
//! The runtime is started with the first request, so an offline review pays nothing. The pipeline is synchronous
//! (decision 1): a call blocks its thread, the runtime has one of its own.

pub(crate) mod backoff;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Url};
use tokio::runtime::Runtime;

/// The timeout for connecting.
const CONNECT: Duration = Duration::from_secs(10);

/// The shared runtime and HTTP clients; clones are cheap.
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
    /// Creates it without starting anything yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The runtime, started on first use.
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

    /// The HTTP client for a URL: through the proxy of the environment, unless it is a loopback address.
    pub(crate) fn client(&self, url: &Url) -> Result<&Client, String> {
        let (slot, builder) = match (is_loopback(url), url.scheme()) {
            // Loading the system's certificates is slow, and loopback connections do not need them.
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
        // A redirect would send the key to a host that the service names.
        .redirect(reqwest::redirect::Policy::none())
        // The callers retry by their own policy.
        .retry(reqwest::retry::never())
        .tcp_nodelay(true)
}

/// True for loopback addresses.
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
        // A name lookup that hangs must not delay the exit of the program.
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
