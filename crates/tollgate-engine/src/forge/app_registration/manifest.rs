//! The GitHub App manifest: the permissions and events that a new app requests, each with its reason.
//!
//! ```json
//! {"name": "kodiai-3f2a", "url": "https://tollgate.example", "public": false,
//!  "hook_attributes": {"url": "https://tollgate.example/webhooks/github", "active": true},
//!  "redirect_url": "http://127.0.0.1:7420/github/callback",
//!  "default_permissions": {"checks": "write", …}, "default_events": ["pull_request", …]}
//! ```

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::config::github::{parse_public, parse_site};

/// The path of the webhook.
const HOOK: &str = "/webhooks/github";
/// The maximum length of an app's name.
const MAX_NAME: usize = 34;

/// A permission of the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission {
    /// GitHub's name of the permission.
    pub name: &'static str,
    /// `read` or `write`.
    pub access: &'static str,
    /// The reason for the permission.
    pub why: &'static str,
}

/// All permissions of the app.
pub const PERMISSIONS: [Permission; 5] = [
    Permission {
        name: "contents",
        access: "read",
        why: "to fetch the commits under review, and the configuration at their base",
    },
    Permission {
        name: "pull_requests",
        access: "write",
        why: "to read title, author and commits, and to write comments at lines",
    },
    Permission { name: "checks", access: "write", why: "to show the verdict as a check with annotations" },
    Permission { name: "issues", access: "write", why: "to write and edit the summary, which is a comment" },
    Permission { name: "metadata", access: "read", why: "to check whether a user may write to the repository" },
];

/// All webhook events of the app. Installation events go to every app.
pub const EVENTS: [&str; 8] = [
    "pull_request",
    "issue_comment",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "check_run",
    "check_suite",
];

/// A request to create an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppRequest {
    /// The GitHub server, without a trailing slash.
    url: String,
    /// The URL at which GitHub reaches us, without a trailing slash.
    public_url: String,
    /// The owning organization; `None` for the user's own account.
    organization: Option<String>,
}

/// The reason why a request is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{what}`: {why}")]
pub struct AppRequestError {
    /// The invalid field.
    pub what: &'static str,
    /// The reason.
    pub why: String,
}

impl AppRequest {
    /// Validates a request.
    pub fn parse(url: &str, public_url: &str, organization: Option<&str>) -> Result<Self, AppRequestError> {
        let wrong = |what: &'static str| move |why: String| AppRequestError { what, why };
        let url = parse_site(url).map_err(wrong("githubUrl"))?;
        let public_url = parse_public(public_url).map_err(wrong("publicUrl"))?;
        if is_here(&public_url) && !is_here(&url) {
            let why = "GitHub cannot reach this machine by that name; name the address of a proxy or a tunnel";
            return Err(wrong("publicUrl")(why.to_owned()));
        }
        let is_name = |name: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            (1..=39).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with('-')
        };
        if organization.is_some_and(|name| !is_name(name)) {
            return Err(wrong("organization")("expected the name of an organization as in its address".to_owned()));
        }
        Ok(Self { url, public_url, organization: organization.map(str::to_owned) })
    }

    /// The GitHub server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL at which GitHub reaches us.
    pub fn public_url(&self) -> &str {
        &self.public_url
    }

    /// The webhook URL.
    pub fn hook_url(&self) -> String {
        format!("{}{HOOK}", self.public_url)
    }

    /// The URL to which a form posts the manifest; GitHub returns with `state`.
    pub fn action(&self, state: &str) -> String {
        let place = self.organization.as_ref().map_or_else(String::new, |name| format!("/organizations/{name}"));
        format!("{}{place}/settings/apps/new?state={state}", self.url)
    }

    /// The manifest. `from` is the URL at which the browser reaches us.
    pub fn manifest(&self, bot: &str, suffix: &str, from: &str) -> Value {
        let permissions: Map<String, Value> =
            PERMISSIONS.iter().map(|it| (it.name.to_owned(), it.access.into())).collect();
        json!({
            "name": name(bot, suffix),
            "url": self.public_url,
            "description": "Reviews pull requests and decides whether they may pass",
            "hook_attributes": { "url": self.hook_url(), "active": true },
            "redirect_url": format!("{from}/github/callback"),
            "public": false,
            "default_permissions": permissions,
            "default_events": EVENTS,
        })
    }
}

/// The missing permissions of an app, each as `checks: write`.
pub fn lacking(granted: &BTreeMap<String, String>) -> Vec<String> {
    let has = |permission: &Permission| match granted.get(permission.name).map(String::as_str) {
        Some("write" | "admin") => true,
        Some(access) => access == permission.access,
        None => false,
    };
    let lacked = PERMISSIONS.iter().filter(|permission| !has(permission));
    lacked.map(|permission| format!("{}: {}", permission.name, permission.access)).collect()
}

/// A unique name for the app, from the name of the bot.
fn name(bot: &str, suffix: &str) -> String {
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
    let bot: String = bot.to_lowercase().replace([' ', '_', '.'], "-").chars().filter(is_plain).collect();
    let bot: String = bot.trim_matches('-').chars().take(MAX_NAME - 1 - suffix.len().min(MAX_NAME - 1)).collect();
    let bot = if bot.is_empty() { "tollgate".to_owned() } else { bot };
    format!("{bot}-{suffix}")
}

/// True for a loopback URL.
fn is_here(url: &str) -> bool {
    let authority = url.split("://").nth(1).unwrap_or_default().split('/').next().unwrap_or_default();
    let host = if authority.starts_with('[') { authority.split(']').next() } else { authority.split(':').next() };
    let host = host.unwrap_or_default().to_ascii_lowercase();
    ["localhost", "[::1", "0.0.0.0"].contains(&host.as_str()) || host.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn wish(organization: Option<&str>) -> AppRequest {
        AppRequest::parse("https://github.com/", "https://tollgate.example/x/", organization).unwrap()
    }

    #[test]
    fn the_manifest_requests_exactly_the_needed_permissions() {
        assert_snapshot!(format!("{:#}", wish(None).manifest("Kodiai", "3f2a", "http://127.0.0.1:7420")), @r#"
        {
          "name": "kodiai-3f2a",
          "url": "https://tollgate.example/x",
          "description": "Reviews pull requests and decides whether they may pass",
          "hook_attributes": {
            "url": "https://tollgate.example/x/webhooks/github",
            "active": true
          },
          "redirect_url": "http://127.0.0.1:7420/github/callback",
          "public": false,
          "default_permissions": {
            "contents": "read",
            "pull_requests": "write",
            "checks": "write",
            "issues": "write",
            "metadata": "read"
          },
          "default_events": [
            "pull_request",
            "issue_comment",
            "pull_request_review",
            "pull_request_review_comment",
            "pull_request_review_thread",
            "push",
            "check_run",
            "check_suite"
          ]
        }
        "#);
    }

    #[test]
    fn every_permission_and_event_is_documented() {
        let page = include_str!("../../../../../docs/github.md");
        let rows: Vec<&str> =
            page.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 4).collect();
        let granted = |line: &&&str| line.contains(" | read | ") || line.contains(" | write | ");
        let documented: Vec<&str> = rows.iter().filter(granted).copied().collect();
        let expected = PERMISSIONS.map(|it| format!("| `{}` | {} | {} |", it.name, it.access, it.why));
        assert_eq!(documented, expected);
        for event in EVENTS {
            assert!(page.contains(&format!("`{event}`")), "{event}");
        }
    }

    #[test]
    fn the_form_goes_to_the_person_or_the_organization() {
        assert_snapshot!(wish(None).action("s"), @"https://github.com/settings/apps/new?state=s");
        assert_snapshot!(wish(Some("acme")).action("s"), @"https://github.com/organizations/acme/settings/apps/new?state=s");
    }

    #[test]
    fn an_invalid_request_is_rejected_before_any_call() {
        let wrong =
            |url: &str, public: &str, name: Option<&str>| AppRequest::parse(url, public, name).unwrap_err().what;
        let (github, public) = ("https://github.com", "https://tollgate.example");
        assert_eq!(wrong("http://github.com", public, None), "githubUrl");
        assert_eq!(wrong("https://github.com/x", public, None), "githubUrl");
        for here in ["http://localhost:7420", "http://127.0.0.1", "https://[::1]:1", "http://0.0.0.0:7420", "x", ""] {
            assert_eq!(wrong(github, here, None), "publicUrl", "{here}");
        }
        for name in ["", " ", "../x", "a b", "-a", "a/b", "a?b"] {
            assert_eq!(wrong(github, public, Some(name)), "organization", "{name}");
        }
        // A GitHub server on this machine can reach it.
        assert!(AppRequest::parse("http://127.0.0.1:1", "http://127.0.0.1:2", None).is_ok());
    }

    #[test]
    fn a_name_fits_the_limit_of_github() {
        for (bot, expected) in [
            ("Kodiai", "kodiai-3f2a"),
            ("Team Bot_2", "team-bot-2-3f2a"),
            ("Ü", "tollgate-3f2a"),
            ("-", "tollgate-3f2a"),
        ] {
            assert_eq!(name(bot, "3f2a"), expected);
        }
        assert_eq!(name(&"x".repeat(40), "3f2a").len(), MAX_NAME);
    }

    #[test]
    fn additional_permissions_are_accepted() {
        let granted = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let all: BTreeMap<String, String> = granted(&PERMISSIONS.map(|it| (it.name, it.access)));
        assert!(lacking(&all).is_empty());
        let mut more = all.clone();
        more.insert("contents".to_owned(), "write".to_owned());
        assert!(lacking(&more).is_empty());
        more.insert("checks".to_owned(), "read".to_owned());
        more.remove("metadata");
        assert_eq!(lacking(&more), ["checks: write", "metadata: read"]);
    }
}
