//! The cookie of a browser that showed the token once.
//!
//! It holds when it ends and a signature made with the token: `1767960000.Bwc…11….q0Z…43…`. There is nothing to keep on
//! the server and nothing to look up; a new token makes every cookie void.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::access::token::Token;

/// How long a cookie is good.
pub const SECONDS: u64 = 30 * 24 * 60 * 60;

/// Makes the value of a cookie that is good until `expiry`, in seconds of Unix time.
pub fn sign(token: &Token, expiry: u64, nonce: [u8; 8]) -> String {
    let nonce = BASE64_URL_SAFE_NO_PAD.encode(nonce);
    let signature = mac(token, expiry, &nonce).finalize().into_bytes();
    format!("{expiry}.{nonce}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

/// True for a value that we signed and whose time is not over.
pub fn is_valid(token: &Token, value: &str, now: u64) -> bool {
    let mut parts = value.splitn(3, '.');
    let (Some(expiry), Some(nonce), Some(signature)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let (Ok(expiry), Ok(signature)) = (expiry.parse::<u64>(), BASE64_URL_SAFE_NO_PAD.decode(signature)) else {
        return false;
    };
    // `verify_slice` takes the same time wherever they differ.
    mac(token, expiry, nonce).verify_slice(&signature).is_ok() && now < expiry
}

fn mac(token: &Token, expiry: u64, nonce: &str) -> Hmac<Sha256> {
    let mut mac =
        <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(token.expose().as_bytes()).expect("a key may have any length");
    // The purpose is signed too, so that no signature of ours can ever be taken for another.
    mac.update(format!("tollgate session\n{expiry}\n{nonce}").as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token(letter: &str) -> Token {
        Token::parse(&format!("{}A", letter.repeat(42))).unwrap()
    }

    #[test]
    fn a_value_is_good_until_it_ends_and_for_its_token_only() {
        let value = sign(&token("A"), 100, [1; 8]);
        assert!(is_valid(&token("A"), &value, 99));
        assert!(!is_valid(&token("A"), &value, 100));
        assert!(!is_valid(&token("B"), &value, 99));
    }

    proptest! {
        #[test]
        fn a_value_with_one_other_character_is_void(position in 0usize..60, character in "[A-Za-z0-9_.-]") {
            let value = sign(&token("A"), 10_000_000_000, [1; 8]);
            let position = position % value.len();
            let mut other = value.clone();
            other.replace_range(position..=position, &character);
            prop_assume!(other != value);
            // The last character of base64 carries bits that decode to nothing.
            prop_assert!(!is_valid(&token("A"), &other, 0) || position == value.len() - 1);
        }

        #[test]
        fn no_text_panics(text in ".{0,80}") {
            prop_assert!(!is_valid(&token("A"), &text, 0));
        }
    }
}
