//! Host and Origin checks: the names of this server, and the sites whose pages may use it.
//!
//! A page of any site can make a browser send requests to a loopback address, and can give its own name that address
//! (DNS rebinding). So a request must name us as we are called (`Host`), one that changes something or opens a socket
//! must come from our own pages (`Origin`) or carry the token, and what a browser marks as coming from another site
//! (`Sec-Fetch-Site`) is refused.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};

use crate::access::Proof;
use crate::policy::Access;
use crate::problem::{Kind, Problem};

/// The host names of a server, each with the origins of its pages.
#[derive(Debug, Clone)]
pub struct Names {
    fixed: HashMap<String, Vec<String>>,
    public: Arc<PublicAddress>,
}

/// The public address of a server (`github.public_url`), which can become known while the server runs.
#[derive(Debug, Default)]
pub struct PublicAddress(RwLock<Option<PublicName>>);

/// The name in a public address.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PublicName {
    /// The host with the port of the address, and without it: proxies pass on either.
    hosts: [String; 2],
    origin: String,
}

impl PublicAddress {
    /// Sets the address; text that is no `http` or `https` URL names nothing.
    pub fn set(&self, url: &str) {
        let name = PublicName::of(url);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = name;
    }

    /// The host in the address.
    pub(crate) fn host(&self) -> Option<String> {
        self.name().map(|name| name.hosts[0].clone())
    }

    fn name(&self) -> Option<PublicName> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl PublicName {
    fn of(url: &str) -> Option<Self> {
        let url: Uri = url.parse().ok()?;
        let scheme = url.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"))?;
        let host = url.host()?.to_ascii_lowercase();
        let usual = if scheme == "https" { 443 } else { 80 };
        let authority = match url.port_u16().filter(|port| *port != usual) {
            Some(port) => format!("{host}:{port}"),
            None => host.clone(),
        };
        Some(Self { origin: format!("{scheme}://{authority}"), hosts: [authority, host] })
    }
}

impl Names {
    /// The names of a server on this port, besides the loopback names those an operator configured: `board.example`, or
    /// with a port if it is reached by another than ours.
    pub fn new(port: u16, configured: &[String], public: Arc<PublicAddress>) -> Self {
        let mut names = HashMap::new();
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            let authority = format!("{host}:{port}");
            names.insert(authority.clone(), vec![format!("http://{authority}")]);
            if port == 80 {
                names.insert(host.to_owned(), vec![format!("http://{host}")]);
            }
        }
        for name in configured.iter().map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty()) {
            let has_port = name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            if !has_port {
                let authority = format!("{name}:{port}");
                let origins = vec![format!("http://{authority}"), format!("https://{authority}")];
                names.insert(authority, origins);
            }
            let origins = vec![format!("http://{name}"), format!("https://{name}")];
            names.insert(name, origins);
        }
        Self { fixed: names, public }
    }

    /// The origins that belong to the name a request uses; a problem when it is not one of ours.
    fn origins(&self, uri: &Uri, headers: &HeaderMap) -> Result<Vec<String>, Problem> {
        let mut hosts = headers.get_all(header::HOST).into_iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(misdirected()) };
        // A request in absolute form names the host twice, and the two must agree.
        let agree = uri.authority().is_none_or(|authority| authority.as_str().as_bytes() == host.as_bytes());
        let host = host.to_str().unwrap_or_default().to_ascii_lowercase();
        let public = || self.public.name().filter(|name| name.hosts.contains(&host)).map(|name| vec![name.origin]);
        self.fixed.get(&host).cloned().or_else(public).filter(|_| agree).ok_or_else(misdirected)
    }
}

/// The kind of a request, by method and route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Read,
    /// Changes something.
    Change,
    /// Signs in, with the token in the body.
    SignIn,
    /// Opens a WebSocket.
    Socket,
}

impl RequestKind {
    pub(crate) fn of(method: &Method, access: Access, headers: &HeaderMap) -> Self {
        let is_safe = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        match access {
            Access::SignIn if !is_safe => Self::SignIn,
            // A ticket opens a WebSocket of the event stream and nothing else.
            Access::Events if *method == Method::GET && headers.contains_key(header::UPGRADE) => Self::Socket,
            _ if is_safe => Self::Read,
            _ => Self::Change,
        }
    }
}

/// Refuses a request for another host or from a page of another site. Comes before all other checks.
pub(crate) fn check_site(names: &Names, kind: RequestKind, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let ours = names.origins(uri, headers)?;
    let foreign = match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => false,
        // A link on another site may lead to a page of ours, never to what programs use.
        Some(_) => kind != RequestKind::Read || uri.path().starts_with("/api/") || !is_navigation(headers),
    };
    if foreign {
        return Err(foreign_site());
    }
    let origins: Vec<&HeaderValue> = headers.get_all(header::ORIGIN).into_iter().collect();
    let is_ours = |origin: &&HeaderValue| ours.iter().any(|our| our.as_bytes() == origin.as_bytes());
    if origins.len() > 1 || !origins.iter().all(is_ours) { Err(foreign_site()) } else { Ok(()) }
}

/// Refuses a request with a cookie alone and no `Origin`: a page of another site could have sent it.
pub(crate) fn check_proof(kind: RequestKind, proof: Proof, headers: &HeaderMap) -> Result<(), Problem> {
    let needs_origin = matches!(kind, RequestKind::Change | RequestKind::Socket) && proof == Proof::Cookie;
    if needs_origin && !headers.contains_key(header::ORIGIN) { Err(no_origin()) } else { Ok(()) }
}

fn is_navigation(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate")
}

/// Adds the headers that every response has.
pub(crate) fn harden(headers: &mut HeaderMap) {
    const ALWAYS: [(&str, &str); 7] = [
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ];
    for (name, value) in ALWAYS {
        // A header that the route has set stays.
        headers.entry(name).or_insert_with(|| HeaderValue::from_static(value));
    }
}

fn misdirected() -> Problem {
    Problem::new(Kind::Misdirected, "this server does not go by the name in the header `Host`").hint(
        "Use the address that the server printed. `github.public_url` is allowed by itself, and `tollgate serve \
             --allow-host NAME` allows another name.",
    )
}

fn foreign_site() -> Problem {
    Problem::new(Kind::Forbidden, "the request comes from a page of another site")
        .hint("Open the server's own pages, or send the token as `Authorization: Bearer TOKEN` from a program.")
}

fn no_origin() -> Problem {
    Problem::new(Kind::Forbidden, "a request with a cookie needs the header `Origin` to change anything")
        .hint("Send the token as `Authorization: Bearer TOKEN` instead.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = header::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    /// The status of a request with these headers; 200 when nothing is wrong with it.
    #[track_caller]
    fn check(method: &Method, pairs: &[(&str, &str)], expected: u16) {
        let public = Arc::new(PublicAddress::default());
        public.set("https://Tollgate.example:8444/x");
        let names = Names::new(7420, &["board.example".to_owned(), "Proxy.example:8443".to_owned()], public);
        let (uri, headers) = (Uri::from_static("/api/events"), headers(pairs));
        let kind = RequestKind::of(method, Access::Events, &headers);
        let found = check_site(&names, kind, &uri, &headers)
            .and_then(|()| check_proof(kind, Proof::Cookie, &headers))
            .map_or_else(|problem| problem.kind().status().as_u16(), |()| 200);
        assert_eq!(found, expected, "{method} {pairs:?}");
    }

    #[test]
    fn only_our_names_with_our_port_are_served() {
        for host in ["localhost:7420", "127.0.0.1:7420", "[::1]:7420", "LOCALHOST:7420", "board.example"] {
            check(&Method::GET, &[("host", host)], 200);
        }
        check(&Method::GET, &[("host", "proxy.example:8443")], 200);
        for host in ["evil.example", "evil.example:7420", "localhost", "localhost:80", "localhost:7421", "", "[::1]"] {
            check(&Method::GET, &[("host", host)], 421);
        }
        check(&Method::GET, &[("host", "localhost.evil.example:7420")], 421);
        check(&Method::GET, &[("host", "proxy.example")], 421);
        check(&Method::GET, &[], 421);
        check(&Method::GET, &[("host", "localhost:7420"), ("host", "localhost:7420")], 421);
    }

    // Issue 17: requests for the public address were answered with 421.
    #[test]
    fn the_public_address_is_one_of_our_names() {
        for host in ["tollgate.example:8444", "tollgate.example", "TOLLGATE.example"] {
            check(&Method::GET, &[("host", host)], 200);
            check(&Method::POST, &[("host", host), ("origin", "https://tollgate.example:8444")], 200);
            for origin in ["http://tollgate.example:8444", "https://tollgate.example", "https://evil.example"] {
                check(&Method::POST, &[("host", host), ("origin", origin)], 403);
            }
        }
        check(&Method::GET, &[("host", "tollgate.example:7420")], 421);
        let public = PublicAddress::default();
        for (url, host) in [
            ("https://a.example", Some("a.example")),
            ("https://a.example:443/x/", Some("a.example")),
            ("http://a.example:8080", Some("a.example:8080")),
            ("ftp://a.example", None),
            ("a.example", None),
            ("", None),
        ] {
            public.set(url);
            assert_eq!(public.host().as_deref(), host, "{url}");
        }
    }

    #[test]
    fn a_request_in_absolute_form_must_name_the_same_host() {
        let names = Names::new(7420, &[], Arc::default());
        let uri = Uri::from_static("http://evil.example/api/projects");
        let headers = headers(&[("host", "localhost:7420")]);
        assert!(check_site(&names, RequestKind::Read, &uri, &headers).is_err());
    }

    #[test]
    fn changes_come_from_our_own_pages() {
        let host = ("host", "localhost:7420");
        check(&Method::POST, &[host, ("origin", "http://localhost:7420")], 200);
        for origin in [
            "null",
            "http://localhost",
            "http://localhost:7421",
            "https://localhost:7420",
            "http://127.0.0.1:7420",
            "http://localhost.evil.example:7420",
            "http://evil.example",
            "HTTP://LOCALHOST:7420",
            "",
        ] {
            check(&Method::POST, &[host, ("origin", origin)], 403);
            check(&Method::GET, &[host, ("origin", origin), ("upgrade", "websocket")], 403);
        }
        check(&Method::POST, &[host, ("origin", "http://localhost:7420"), ("origin", "null")], 403);
        check(&Method::POST, &[host], 403);
        check(&Method::GET, &[host, ("upgrade", "websocket")], 403);
        check(&Method::GET, &[host], 200);
        check(&Method::POST, &[("host", "board.example"), ("origin", "https://board.example")], 200);
    }

    #[test]
    fn requests_that_a_browser_marks_as_foreign_are_refused() {
        let host = ("host", "localhost:7420");
        for site in ["cross-site", "same-site", "what-ever"] {
            check(&Method::GET, &[host, ("sec-fetch-site", site)], 403);
            check(&Method::GET, &[host, ("sec-fetch-site", site), ("sec-fetch-mode", "navigate")], 403);
        }
        for site in ["same-origin", "none"] {
            check(&Method::GET, &[host, ("sec-fetch-site", site)], 200);
        }
    }
}
