//! The head of a delivery: its signature, its name, and what happened.

use axum::http::HeaderMap;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// The header that is looked at. The older one, of SHA-1, never is.
pub(super) const SIGNATURE: &str = "x-hub-signature-256";
const GUID: &str = "x-github-delivery";
const EVENT: &str = "x-github-event";
/// The longest name of a delivery and of an event.
const MAX_NAME: usize = 64;

/// A signature, by its form. Whether it fits is another question.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signature([u8; 32]);

impl Signature {
    /// The one signature of a request: `sha256=` and 64 hex digits.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let digits = only(headers, SIGNATURE)?.strip_prefix("sha256=")?.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            *byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
        }
        Some(Self(bytes))
    }

    /// True when one of these hashes is it. All are compared, each in the same time.
    pub(super) fn fits(&self, hashes: Vec<Hmac<Sha256>>) -> bool {
        let fitting = hashes.into_iter().map(|hash| hash.verify_slice(&self.0).is_ok());
        fitting.fold(false, |any, fits| any | fits)
    }
}

/// The name of a delivery.
pub(super) fn guid(headers: &HeaderMap) -> Option<String> {
    named(headers, GUID, |byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// What happened.
pub(super) fn event(headers: &HeaderMap) -> Option<String> {
    named(headers, EVENT, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

fn named(headers: &HeaderMap, header: &str, is_plain: fn(u8) -> bool) -> Option<String> {
    let name = only(headers, header)?;
    ((1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_plain)).then(|| name.to_owned())
}

/// The value of a header that occurs once; a duplicate is ambiguous.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).into_iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok()
}

#[cfg(test)]
mod tests {
    use hmac::KeyInit as _;

    use super::*;

    // The example of GitHub's documentation.
    const SECRET: &[u8] = b"It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const GOOD: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    /// Whether a body with this header counts as signed.
    fn check(pairs: &[(&'static str, &str)], secret: &[u8], body: &[u8]) -> bool {
        let hash = Hmac::new_from_slice(secret).unwrap().chain_update(body);
        Signature::of(&headers(pairs)).is_some_and(|signature| signature.fits(vec![hash]))
    }

    #[test]
    fn signatures_of_github_match_and_no_others() {
        assert!(check(&[(SIGNATURE, GOOD)], SECRET, BODY));
        assert!(check(&[(SIGNATURE, &GOOD.to_uppercase().replace("SHA", "sha"))], SECRET, BODY));
        let with = |value: &str| check(&[(SIGNATURE, value)], SECRET, BODY);
        for spoilt in ["", "sha256=", GOOD.trim_start_matches("sha256="), &GOOD[..39], &GOOD[..70], &format!("{GOOD}0")]
        {
            assert!(!with(spoilt), "{spoilt}");
        }
        assert!(!with(&GOOD.replace("sha256", "SHA256")) && !with(&GOOD.replace("sha256=", "sha1=")));
        assert!(!with(&GOOD.replace('7', "g")) && !with(&GOOD.replace("17", "18")) && !with(&format!(" {GOOD} x")));
        assert!(!check(&[(SIGNATURE, GOOD)], SECRET, b"Hello, World! "));
        assert!(!check(&[(SIGNATURE, GOOD)], b"another", BODY));
        assert!(!check(&[], SECRET, BODY) && !check(&[("x-hub-signature", GOOD)], SECRET, BODY));
        assert!(!check(&[(SIGNATURE, GOOD), (SIGNATURE, GOOD)], SECRET, BODY));
    }

    #[test]
    fn each_of_two_secrets_fits_while_they_change_places() {
        let signature = Signature::of(&headers(&[(SIGNATURE, GOOD)])).unwrap();
        let hash = |secret: &[u8]| Hmac::new_from_slice(secret).unwrap().chain_update(BODY);
        assert!(signature.fits(vec![hash(SECRET), hash(b"old")]) && signature.fits(vec![hash(b"new"), hash(SECRET)]));
        assert!(!signature.fits(vec![hash(b"new"), hash(b"old")]) && !signature.fits(vec![]));
    }

    #[test]
    fn names_are_short_and_plain() {
        let name = |value: &str| guid(&headers(&[(GUID, value)]));
        assert_eq!(name("72d3162e-cc78-11E3").as_deref(), Some("72d3162e-cc78-11E3"));
        assert_eq!(name(&"a".repeat(64)).map(|name| name.len()), Some(64));
        for wrong in ["", "x", "a b", "a;b", "ä", &"a".repeat(65)] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
        assert_eq!(event(&headers(&[(EVENT, "pull_request")])).as_deref(), Some("pull_request"));
        assert_eq!(event(&headers(&[(EVENT, "projects_v2_item")])).as_deref(), Some("projects_v2_item"));
        assert_eq!(event(&headers(&[(EVENT, "Pull")])), None);
    }
}
