//! The URLs of a GitHub server: web pages, REST API and GraphQL API.
//!
//! ```text
//! https://github.com          https://api.github.com            https://api.github.com/graphql
//! https://octo.ghe.com        https://api.octo.ghe.com          https://api.octo.ghe.com/graphql
//! https://git.example.com     https://git.example.com/api/v3    https://git.example.com/api/graphql
//! ```

use reqwest::Url;
use tollgate_core::pull::Repo;

use crate::failure::{Failure, Kind};
use crate::net::is_loopback;

/// The URLs of a GitHub server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    web: String,
    name: String,
    api: String,
    graphql: String,
}

impl Default for Address {
    fn default() -> Self {
        Self {
            web: "https://github.com".to_owned(),
            name: "github.com".to_owned(),
            api: "https://api.github.com".to_owned(),
            graphql: "https://api.github.com/graphql".to_owned(),
        }
    }
}

impl Address {
    /// Parses the URL of the web pages, and of the API where it is not the default.
    ///
    /// Tokens are sent there, so only `https` is accepted, except on this machine.
    pub fn parse(url: &str, api_url: Option<&str>) -> Result<Self, Failure> {
        let web = plain(url)?;
        let name = web.split_once("://").map_or("", |(_, rest)| rest).to_owned();
        let api = match api_url {
            Some(api) => plain(api)?,
            None => match (name.as_str(), name.strip_suffix(".ghe.com")) {
                ("github.com", _) => "https://api.github.com".to_owned(),
                (_, Some(tenant)) if !tenant.contains('/') => format!("https://api.{tenant}.ghe.com"),
                _ => format!("{web}/api/v3"),
            },
        };
        let graphql = format!("{}/graphql", api.strip_suffix("/v3").unwrap_or(&api));
        Ok(Self { web, name, api, graphql })
    }

    /// The URL of the web pages, without a trailing slash.
    pub fn web(&self) -> &str {
        &self.web
    }

    /// The web URL without its scheme: `github.com`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL of the REST API, without a trailing slash.
    pub fn api(&self) -> &str {
        &self.api
    }

    /// The URL of the GraphQL API.
    pub fn graphql(&self) -> &str {
        &self.graphql
    }

    /// The clone URL of a repository.
    pub fn clone_url(&self, repo: &Repo) -> String {
        format!("{}/{repo}.git", self.web)
    }
}

/// Normalizes a URL that has only scheme, host and path.
fn plain(text: &str) -> Result<String, Failure> {
    let url = Url::parse(text.trim()).map_err(|error| not_an_address(text, &error.to_string()))?;
    let safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    if !safe {
        return Err(not_an_address(text, "it does not begin with `https://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(not_an_address("(hidden)", "there is a name or password in it"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(not_an_address(text, "there is more in it than a host and a path"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn not_an_address(text: &str, why: &str) -> Failure {
    let shown: String = text.chars().take(200).collect();
    Failure::new(Kind::Config, format!("`{shown}` is not the address of a GitHub: {why}"))
        .hint("Write it as `https://github.com` or `https://git.example.com`.")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[track_caller]
    fn check(url: &str, api: Option<&str>, expected: &str) {
        let address = Address::parse(url, api).unwrap();
        assert_eq!(format!("{} {} {}", address.name(), address.api(), address.graphql()), expected);
    }

    #[test]
    fn api_urls_follow_from_the_web_url() {
        check("https://github.com/", None, "github.com https://api.github.com https://api.github.com/graphql");
        check("https://octo.ghe.com", None, "octo.ghe.com https://api.octo.ghe.com https://api.octo.ghe.com/graphql");
        let own = "git.example.com https://git.example.com/api/v3 https://git.example.com/api/graphql";
        check("https://Git.Example.com", None, own);
        check("http://127.0.0.1:1", None, "127.0.0.1:1 http://127.0.0.1:1/api/v3 http://127.0.0.1:1/api/graphql");
        let apart = "127.0.0.1:1 http://127.0.0.1:2 http://127.0.0.1:2/graphql";
        check("http://127.0.0.1:1", Some("http://127.0.0.1:2/"), apart);
        assert_eq!(Address::parse("https://github.com", None).unwrap(), Address::default());
    }

    #[test]
    fn tokens_only_go_to_plain_and_safe_addresses() {
        let refused = |url: &str| Address::parse(url, None).unwrap_err().message;
        assert_snapshot!(refused("http://github.com"), @"`http://github.com` is not the address of a GitHub: it does not begin with `https://`");
        assert_snapshot!(refused("https://me:secret@github.com"), @"`(hidden)` is not the address of a GitHub: there is a name or password in it");
        assert_snapshot!(refused("https://github.com/?a=b"), @"`https://github.com/?a=b` is not the address of a GitHub: there is more in it than a host and a path");
        assert_snapshot!(refused("github.com"), @"`github.com` is not the address of a GitHub: relative URL without a base");
        for bad in ["", "ftp://localhost", "file:///etc", "http://localhost.evil.example"] {
            assert!(Address::parse("https://github.com", Some(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_clone_url_follows_from_the_web_url() {
        let address = Address::parse("https://git.example.com/", None).unwrap();
        assert_eq!(address.clone_url(&Repo::parse("Octo/b").unwrap()), "https://git.example.com/Octo/b.git");
    }
}
