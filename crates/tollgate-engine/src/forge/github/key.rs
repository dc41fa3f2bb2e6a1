//! The private key of an app, and the JWT it signs, which is valid for ten minutes.
//!
//! ```text
//! base64url({"alg":"RS256","typ":"JWT"}) . base64url({"iat":1700000000,"exp":1700000600,"iss":12345}) . signature
//! ```

use std::fmt;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;

use crate::failure::{Failure, Kind};
use crate::forge::host::{HostError, HostErrorKind, HostResult, Secret};

/// A JWT is backdated by this many seconds, because clocks differ.
const BEFORE: i64 = 60;
/// A JWT expires after this many seconds; GitHub accepts at most ten minutes in all.
const AFTER: i64 = 540;

/// The private key of an app.
pub(super) struct SigningKey(RsaKeyPair);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(hidden)")
    }
}

impl SigningKey {
    /// Parses a key as GitHub issues it (PKCS#1) or as most tools write it (PKCS#8). `from` is its source, for
    /// messages.
    pub(super) fn parse(pem: &Secret, from: &str) -> Result<Self, Failure> {
        let key = PrivateKeyDer::from_pem_slice(pem.expose().as_bytes())
            .map_err(|_| unreadable(from, "there is no private key in it"))?;
        let pair = match &key {
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            _ => return Err(unreadable(from, "it is a key of another kind than RSA")),
        };
        // The library's error may describe the numbers of the key, so it is dropped.
        pair.map(Self).map_err(|_| unreadable(from, "it is no RSA key, or a damaged one"))
    }

    /// Signs a JWT for the app, at a time in seconds since 1970.
    pub(super) fn sign(&self, app_id: u64, now: i64) -> HostResult<Secret> {
        let (begin, end) = (now.saturating_sub(BEFORE), now.saturating_add(AFTER));
        let says = format!(r#"{{"iat":{begin},"exp":{end},"iss":{app_id}}}"#);
        let [kind, says] = [r#"{"alg":"RS256","typ":"JWT"}"#, &says].map(|part| URL_SAFE_NO_PAD.encode(part));
        let text = format!("{kind}.{says}");
        let mut signature = vec![0; self.0.public_modulus_len()];
        self.0
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
            .map_err(|_| HostError::new(HostErrorKind::Unauthorized, "the private key of the app cannot sign"))?;
        Ok(Secret::new(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))))
    }
}

fn unreadable(from: &str, why: &str) -> Failure {
    Failure::new(Kind::Config, format!("the private key of the GitHub App in `{from}` cannot be used: {why}"))
        .hint("Download a new private key on the settings page of the app, and put the `.pem` file there.")
}
