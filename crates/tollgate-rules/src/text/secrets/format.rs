//! API keys in a provider's format: a prefix, then a fixed number of characters of an alphabet.
//!
//! ```text
//! ghp_ + 30 characters + 6 characters of checksum
//! AKIA + 16 characters of A-Z2-7
//! ```

use std::ops::Range;

use super::checksum::{bech32, crc32_base62};
use super::heuristics::{contains, entropy, is_made_up};
use crate::text::base64;

/// A provider's format.
#[derive(Debug)]
pub(super) struct Format {
    pub(super) rule: &'static str,
    /// The name of the key in messages.
    pub(super) what: &'static str,
    /// The prefix, found by the literal search.
    pub(super) prefix: &'static str,
    pub(super) head: Head,
    pub(super) alphabet: Alphabet,
    /// Minimum and maximum number of characters after the prefix.
    pub(super) len: (usize, usize),
    /// A further check of the whole key.
    pub(super) verify: fn(&[u8]) -> bool,
    /// True for a key whose checksum proves that it was issued, so that it is reported in tests too.
    pub(super) proves: fn(&[u8]) -> bool,
}

/// The part of a key before the literal that is searched for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Head {
    /// None: the literal is the beginning of the key.
    Prefix,
    /// The number of a Telegram bot.
    Digits,
    /// This many characters of an alphabet.
    Fixed(Alphabet, usize),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Alphabet {
    Alnum,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits, `_` and `-`.
    WordDash,
    /// Letters, digits, `_`, `-` and `.`.
    WordDashDot,
    Hex,
    /// `A`–`Z` and `2`–`7`.
    Base32,
    Base64,
    /// Upper-case letters and digits.
    Upper,
    /// Upper-case letters, digits and `-`.
    UpperDash,
    Digit,
    /// Base64 in the alphabet for addresses, with padding.
    UrlBase64,
    /// Letters, digits, `_`, `-`, `.` and `~`.
    WordDashDotTilde,
    /// Characters of a URL path.
    Path,
    /// Letters, digits, `_`, `-` and `/`.
    PathDash,
    /// Letters, digits, `-`, `@` and `/`.
    UrlPath,
}

impl Alphabet {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::WordDash => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::WordDashDot => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Hex => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
            Self::Base32 => byte.is_ascii_uppercase() || matches!(byte, b'2'..=b'7'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::UpperDash => byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-',
            Self::Digit => byte.is_ascii_digit(),
            Self::UrlBase64 => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'='),
            Self::WordDashDotTilde => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~'),
            Self::PathDash => byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-'),
            Self::UrlPath => byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'@'),
            Self::Path => byte.is_ascii_alphanumeric() || byte == b'/',
        }
    }
}

pub(super) const fn format(
    rule: &'static str,
    what: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    len: (usize, usize),
    verify: fn(&[u8]) -> bool,
) -> Format {
    Format { rule, what, prefix, head: Head::Prefix, alphabet, len, verify, proves: |_| false }
}

const fn github(prefix: &'static str) -> Format {
    // Without a valid checksum it was never issued.
    let verify: fn(&[u8]) -> bool = |key| crc32_base62(key, 4);
    let format = format("secret-github-token", "GitHub token", prefix, Alphabet::Alnum, (36, 36), verify);
    Format { proves: verify, ..format }
}

const fn slack(prefix: &'static str) -> Format {
    format("secret-slack-token", "Slack token", prefix, Alphabet::WordDash, (24, 250), |key| {
        key.iter().filter(|byte| byte.is_ascii_digit()).count() >= 10 && varied(key)
    })
}

const fn shopify(prefix: &'static str) -> Format {
    format("secret-shopify-token", "Shopify token", prefix, Alphabet::Hex, (32, 32), varied)
}

const fn jwt(prefix: &'static str) -> Format {
    format("secret-jwt", "JSON web token", prefix, Alphabet::WordDashDot, (40, 4000), is_jwt)
}

const fn telegram(prefix: &'static str) -> Format {
    let format = format("secret-telegram-token", "Telegram bot token", prefix, Alphabet::WordDash, (32, 32), varied);
    Format { head: Head::Digits, ..format }
}

const fn stripe(prefix: &'static str) -> Format {
    format("secret-stripe-key", "Stripe live key", prefix, Alphabet::Alnum, (20, 247), varied)
}

/// All formats. The literal search finds the prefix; the rest is checked at the match.
pub(super) static FORMATS: &[Format] = &[
    format("secret-aws-key-id", "AWS access key id", "AKIA", Alphabet::Base32, (16, 16), varied),
    format("secret-aws-key-id", "AWS temporary access key id", "ASIA", Alphabet::Base32, (16, 16), varied),
    github("ghp_"),
    github("gho_"),
    github("ghu_"),
    github("ghs_"),
    github("ghr_"),
    format("secret-github-token", "GitHub token", "github_pat_", Alphabet::Word, (82, 82), varied),
    format("secret-gitlab-token", "GitLab token", "glpat-", Alphabet::WordDashDot, (20, 300), |key| {
        let dotted = contains(key, b".");
        varied(key) && if dotted { key.len() >= 40 } else { key.len() <= 6 + 20 }
    }),
    slack("xoxa-"),
    slack("xoxb-"),
    slack("xoxe-"),
    slack("xoxp-"),
    slack("xoxs-"),
    format("secret-slack-token", "Slack webhook", "hooks.slack.com/services/", Alphabet::Path, (40, 50), |key| {
        let parts: Vec<&[u8]> = key.split(|&byte| byte == b'/').skip(2).collect();
        parts.len() == 3 && parts[0].starts_with(b"T") && parts[1].starts_with(b"B") && varied(parts[2])
    }),
    stripe("sk_live_"),
    stripe("rk_live_"),
    format("secret-google-api-key", "Google API key", "AIza", Alphabet::WordDash, (35, 35), varied),
    format("secret-google-oauth", "Google OAuth client secret", "GOCSPX-", Alphabet::WordDash, (28, 28), varied),
    format("secret-anthropic-key", "Anthropic API key", "sk-ant-", Alphabet::WordDash, (80, 140), varied),
    Format {
        proves: |key| crc32_base62(key, 4),
        ..format("secret-npm-token", "npm token", "npm_", Alphabet::Alnum, (36, 36), |key| crc32_base62(key, 4))
    },
    Format {
        proves: is_pypi,
        ..format("secret-pypi-token", "PyPI token", "pypi-AgE", Alphabet::WordDash, (80, 1000), is_pypi)
    },
    format("secret-azure-storage-key", "Azure storage account key", "AccountKey=", Alphabet::Base64, (88, 88), |key| {
        key.ends_with(b"==") && !is_azurite(key) && varied(&key[11..])
    }),
    jwt("eyJ0"),
    jwt("eyJh"),
    jwt("eyJr"),
    telegram(":AAE"),
    telegram(":AAF"),
    telegram(":AAG"),
    telegram(":AAH"),
    shopify("shpat_"),
    shopify("shpss_"),
    format("secret-digitalocean-token", "DigitalOcean token", "dop_v1_", Alphabet::Hex, (64, 64), varied),
    format("secret-vault-token", "Vault token", "hvs.", Alphabet::WordDash, (24, 300), varied),
    format("secret-databricks-token", "Databricks token", "dapi", Alphabet::Hex, (32, 32), varied),
    Format {
        proves: bech32,
        ..format("secret-age-key", "age secret key", "AGE-SECRET-KEY-1", Alphabet::Upper, (58, 58), varied)
    },
    format("secret-heroku-key", "Heroku API key", "HRKU-", Alphabet::WordDash, (36, 70), varied),
];

/// The marker inside OpenAI keys, whose prefix is not distinctive.
pub(super) const OPENAI_MARK: &str = "T3BlbkFJ";

impl Format {
    /// True when the key's checksum proves that it was issued.
    pub(super) fn is_proven(&self, key: &[u8]) -> bool {
        (self.proves)(key)
    }

    /// The range of the key whose prefix was found at `at`.
    pub(super) fn find(&self, line: &[u8], at: usize) -> Option<Range<usize>> {
        let start = match self.head {
            Head::Prefix => at,
            Head::Digits => telegram_start(line, at)?,
            Head::Fixed(alphabet, len) => fixed_start(line, at, alphabet, len)?,
        };
        if start.checked_sub(1).is_some_and(|before| is_joined(line, before)) && !self.prefix.contains(['=', '/']) {
            return None;
        }
        let body = at + self.prefix.len();
        let rest = line.get(body..)?;
        let len = rest.iter().take(self.len.1 + 1).take_while(|&&byte| self.alphabet.has(byte)).count();
        // A final dot is punctuation and not part of the key.
        let len = len - rest[..len].iter().rev().take_while(|&&byte| byte == b'.').count();
        let ends = rest.get(len).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        if len < self.len.0 || len > self.len.1 || !ends {
            return None;
        }
        let key = &line[start..body + len];
        ((self.verify)(key) && !is_made_up(key)).then_some(start..body + len)
    }
}

/// True when the prefix continues a word or a longer key.
fn is_joined(line: &[u8], before: usize) -> bool {
    // A token is the user part of an address: `https://glpat-…@git.acme.io`.
    if line[..=before].ends_with(b"://") {
        return false;
    }
    let escape = before > 0 && line[before - 1] == b'\\' && matches!(line[before], b'n' | b't' | b'r' | b'"');
    (line[before].is_ascii_alphanumeric() || matches!(line[before], b'_' | b'+' | b'/' | b'.')) && !escape
        || (line[before] == b'-' && before > 0 && line[before - 1].is_ascii_alphanumeric())
}

/// The range of the OpenAI key around its marker.
pub(super) fn openai(line: &[u8], at: usize) -> Option<Range<usize>> {
    let in_key = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let n_before = line[..at].iter().rev().take(120).take_while(in_key).count();
    let n_after = line[at..].iter().take(140).take_while(in_key).count();
    let range = at - n_before..at + n_after;
    let key = &line[range.clone()];
    let fits = (n_after >= 28 && n_before >= 23) && key.starts_with(b"sk-");
    (fits && varied(key) && !is_made_up(key)).then_some(range)
}

/// The start of a Telegram token, which begins with the bot's number.
fn telegram_start(line: &[u8], at: usize) -> Option<usize> {
    let n_digits = line[..at].iter().rev().take(12).take_while(|byte| byte.is_ascii_digit()).count();
    (8..=10).contains(&n_digits).then(|| at - n_digits)
}

/// The start of a key whose literal has a part of fixed length before it.
fn fixed_start(line: &[u8], at: usize, alphabet: Alphabet, len: usize) -> Option<usize> {
    let start = at.checked_sub(len)?;
    line[start..at].iter().all(|byte| alphabet.has(*byte)).then_some(start)
}

/// True when the entropy is that of a real key.
pub(super) fn varied(key: &[u8]) -> bool {
    let tail = &key[key.len() - key.len().min(32)..];
    entropy(tail) >= if tail.len() < 20 { 2.8 } else { 3.0 }
}

/// True for a macaroon of `pypi.org`, whose bytes begin with the version and the location.
fn is_pypi(key: &[u8]) -> bool {
    let head = key.get(5..37).and_then(base64::decode).unwrap_or_default();
    contains(&head, b"pypi.org")
}

/// True unless the key is the documented one of Microsoft's emulator.
fn is_azurite(key: &[u8]) -> bool {
    contains(key, b"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq")
}

/// True for three parts, of which the first two are JSON objects.
fn is_jwt(key: &[u8]) -> bool {
    let mut parts = key.split(|&byte| byte == b'.');
    let (Some(head), Some(body), Some(signature), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let object = |part: &[u8]| {
        base64::decode(part)
            .and_then(|bytes| serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes).ok())
    };
    let (Some(head), Some(body)) = (object(head), object(body)) else {
        return false;
    };
    let text = serde_json::Value::Object(body).to_string().to_ascii_lowercase();
    let made_up =
        ["john doe", "1234567890", "example", "test", "demo", "foo", "joe"].iter().any(|word| text.contains(word));
    head.contains_key("alg") && signature.len() >= 20 && !made_up
}
