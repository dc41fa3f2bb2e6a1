//! Validates the URLs that git may connect to.

use std::fmt;

use super::failure;
use crate::failure::Failure;

/// The maximum length of a URL.
const MAX_BYTES: usize = 1_000;

/// The URL of a repository: `https`, or `http` on this machine, without a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    url: String,
    protocol: &'static str,
}

impl Address {
    /// Parses a URL that is nothing but a repository on a host.
    pub(super) fn parse(url: &str) -> Result<Self, Failure> {
        let wrong = || failure::bad_address(url);
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        let (host, path) = rest.split_once('/').ok_or_else(wrong)?;
        let protocol = match scheme {
            "https" => "https",
            "http" if is_this_machine(host) => "http",
            _ => return Err(wrong()),
        };
        let is_host = |it: char| it.is_ascii_alphanumeric() || "-.:[]".contains(it);
        let is_path = |it: char| it.is_ascii_alphanumeric() || "-._~/+".contains(it);
        let fits = url.len() <= MAX_BYTES
            && !host.is_empty()
            && host.chars().all(is_host)
            && !path.is_empty()
            && path.chars().all(is_path)
            && !path.split('/').any(|step| matches!(step, "" | "." | ".."));
        if fits { Ok(Self { url: url.to_owned(), protocol }) } else { Err(wrong()) }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.url
    }

    /// Git's name of the protocol.
    pub(super) fn protocol(&self) -> &'static str {
        self.protocol
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// True for a loopback host, to which the connection cannot be intercepted.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_repository_urls_are_accepted() {
        for (url, protocol) in [
            ("https://github.com/owner/name.git", "https"),
            ("https://git.example.com:8443/a/b", "https"),
            ("http://127.0.0.1:8080/a/b.git", "http"),
            ("http://[::1]:8080/a/b.git", "http"),
            ("http://localhost/a/b.git", "http"),
        ] {
            assert_eq!(Address::parse(url).map(|address| address.protocol()), Ok(protocol), "{url}");
        }
        for url in [
            "",
            "https://github.com",
            "https://github.com/",
            "http://github.com/owner/name",
            "http://127.0.0.1.evil.example/a",
            "https://user:secret@github.com/a/b",
            "https://github.com/a/../b",
            "https://github.com/a//b",
            "https://github.com/a b",
            "https://github.com/a\nb",
            "https://github.com/a?b",
            "https://github.com/a%2e%2e/b",
            "ssh://github.com/a/b",
            "file:///a/b",
            "ext::sh -c x",
            "--upload-pack=x",
            "git@github.com:a/b",
        ] {
            assert!(Address::parse(url).is_err(), "{url:?}");
        }
    }
}
