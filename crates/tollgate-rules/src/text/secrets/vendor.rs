//! API keys without a searchable prefix, recognised by the provider's name on the line.
//!
//! ```text
//! TWILIO_AUTH_TOKEN=…    32 hexadecimal digits
//! DISCORD_TOKEN=…        three parts, the first a number in base64
//! ```

use super::heuristics::{contains, entropy, is_made_up, is_uuid};
use super::providers;
use crate::text::base64;

/// A provider whose keys have no distinctive format.
#[derive(Debug)]
pub(super) struct Vendor {
    pub(super) rule: &'static str,
    pub(super) what: &'static str,
    /// The provider's name in lower case.
    name: &'static str,
    is_key: fn(&[u8]) -> bool,
}

static VENDORS: &[Vendor] = &[
    Vendor {
        rule: "secret-twilio-key",
        what: "Twilio key",
        name: "twilio",
        // The account id (`AC…`) is public; the secret has no prefix.
        is_key: |value| is_hex_of(value.strip_prefix(b"SK").unwrap_or(value), 32),
    },
    Vendor {
        rule: "secret-mailgun-key",
        what: "Mailgun key",
        name: "mailgun",
        is_key: |value| value.strip_prefix(b"key-").is_some_and(|body| is_hex_of(body, 32)),
    },
    Vendor {
        rule: "secret-sendgrid-key",
        what: "SendGrid API key",
        name: "",
        is_key: |value| value.starts_with(b"SG.") && value.len() == 69 && value.get(25) == Some(&b'.'),
    },
    Vendor { rule: "secret-discord-token", what: "Discord bot token", name: "", is_key: is_discord },
    Vendor { rule: "secret-heroku-key", what: "Heroku API key", name: "heroku", is_key: is_uuid },
    Vendor { rule: providers::RULE, what: "Snyk API token", name: "snyk", is_key: is_uuid },
    Vendor { rule: providers::RULE, what: "HubSpot API key", name: "hubspot", is_key: is_uuid },
    Vendor { rule: providers::RULE, what: "Codecov token", name: "codecov", is_key: is_uuid },
    Vendor { rule: providers::RULE, what: "Kraken key", name: "kraken", is_key: is_uuid },
    Vendor {
        rule: providers::RULE,
        what: "Airtable token",
        name: "airtable",
        is_key: |value| value.starts_with(b"pat") && value.len() == 82 && value.get(17) == Some(&b'.'),
    },
    Vendor {
        rule: providers::RULE,
        what: "Okta API token",
        name: "okta",
        is_key: |value| value.starts_with(b"00") && value.len() == 42,
    },
];

/// The provider of a value that is assigned to a secret-like name.
pub(super) fn of(line_before: &[u8], value: &[u8]) -> Option<&'static Vendor> {
    if value.len() < 32 || is_made_up(value) || entropy(value) < 3.0 {
        return None;
    }
    let lower = line_before.to_ascii_lowercase();
    VENDORS.iter().find(|vendor| (vendor.is_key)(value) && contains(&lower, vendor.name.as_bytes()))
}

fn is_hex_of(text: &[u8], len: usize) -> bool {
    text.len() == len && text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

/// True for three parts, of which the first is the bot's number in base64.
fn is_discord(value: &[u8]) -> bool {
    let parts: Vec<&[u8]> = value.split(|&byte| byte == b'.').collect();
    let [id, time, signature] = parts.as_slice() else {
        return false;
    };
    let number = base64::decode(id).unwrap_or_default();
    (17..=20).contains(&number.len())
        && number.iter().all(u8::is_ascii_digit)
        && (5..=7).contains(&time.len())
        && (27..=40).contains(&signature.len())
}
