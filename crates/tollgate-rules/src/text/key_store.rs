//! Private keys in binary files, recognised by their first bytes and never by their names.
//!
//! A store that holds nothing but certificates is no secret: the entries of a Java key store are read, and a PKCS#12
//! store is reported by the object id of its key bags.

use memchr::memmem;

/// The object id of keys in PKCS#12, up to the last number: `keyBag` or `pkcs8ShroudedKeyBag`.
const KEY_BAG: &[u8] = &[0x06, 0x0b, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01];

/// The magic numbers of Java key stores: JKS and JCEKS.
const JKS: [u8; 4] = [0xfe, 0xed, 0xfe, 0xed];
const JCEKS: [u8; 4] = [0xce, 0xce, 0xce, 0xce];

/// The magic number of a KeePass database.
const KEEPASS: [u8; 4] = [0x03, 0xd9, 0xa2, 0x9a];

/// Names the private key in a binary file, if there is one.
pub(super) fn find(bytes: &[u8]) -> Option<&'static str> {
    let head: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
    match head {
        JKS | JCEKS => has_java_key(bytes).then_some("Java key store with a private key"),
        KEEPASS => Some("KeePass database"),
        [0x30, ..] if is_pkcs12(bytes) => Some("PKCS#12 store with a private key"),
        [0x30, ..] if is_der_key(bytes) => Some("private key"),
        // A secret key packet of OpenPGP, in the old and the new form, of version 4 or later.
        [0x94, _, 4..=6, _] | [0x95, _, _, 4..=6] | [0xc5, _, 4..=6, _] if bytes.len() > 60 => {
            Some("OpenPGP private key")
        }
        _ => None,
    }
}

/// The content of the sequence that the bytes are, whatever its length is encoded as.
fn sequence(bytes: &[u8]) -> Option<&[u8]> {
    match *bytes {
        [0x30, len, ..] if len <= 0x80 => bytes.get(2..),
        [0x30, 0x81, ..] => bytes.get(3..),
        [0x30, 0x82, ..] => bytes.get(4..),
        [0x30, 0x83, ..] => bytes.get(5..),
        _ => None,
    }
}

/// True for version 3 and a key bag.
fn is_pkcs12(bytes: &[u8]) -> bool {
    let version = sequence(bytes).and_then(|content| content.get(..3));
    let is_key = |at: usize| matches!(bytes.get(at + KEY_BAG.len()), Some(1 | 2));
    version == Some(&[0x02, 0x01, 0x03]) && memmem::find_iter(bytes, KEY_BAG).any(is_key)
}

/// True for a private key in DER: PKCS#1, PKCS#8 or SEC 1.
fn is_der_key(bytes: &[u8]) -> bool {
    let Some(content) = sequence(bytes) else {
        return false;
    };
    match content {
        // PKCS#8: a version, the algorithm, the key. PKCS#1: a version and a modulus of at least 128 bytes.
        [0x02, 0x01, 0x00 | 0x01, 0x30, _, 0x06, ..] => true,
        [0x02, 0x01, 0x00, 0x02, 0x81 | 0x82, ..] => bytes.len() > 300,
        // SEC 1: version 1 and a key of 16 to 66 bytes.
        [0x02, 0x01, 0x01, 0x04, 16..=66, ..] => true,
        _ => false,
    }
}

/// True when an entry of a Java key store is a private or a secret key.
fn has_java_key(bytes: &[u8]) -> bool {
    let number = |at: usize| {
        let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(u32::from_be_bytes(four))
    };
    let short = |at: usize| {
        let two: [u8; 2] = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(usize::from(u16::from_be_bytes(two)))
    };
    // Magic, version, number of entries; then each with its kind, alias and date.
    let mut at = 12;
    while let Some(kind) = number(at) {
        if kind != 2 {
            return matches!(kind, 1 | 3);
        }
        let next = || {
            let name = at + 4;
            let format = name + 2 + short(name)? + 8;
            let length = format + 2 + short(format)?;
            (length + 4).checked_add(usize::try_from(number(length)?).ok()?)
        };
        match next() {
            Some(next) => at = next,
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    // Real stores are made and reviewed in `crates/tollgate/tests/it/private_keys.rs`.
    #[test]
    fn other_binary_files_hold_no_key() {
        let certificate = [0x30, 0x82, 0x03, 0x0a, 0x30, 0x82, 0x01, 0xf2, 0xa0, 0x03, 0x02, 0x01, 0x02];
        let images = [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff\xe0", b"GIF89a", b"\x7fELF", b"PK\x03\x04", b"", b"0"];
        for bytes in images.into_iter().chain([&certificate[..]]) {
            assert_eq!(find(bytes), None, "{bytes:?}");
        }
        let mut trusted =
            [&JKS[..], &[0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0]].concat();
        trusted.extend([0, 5, b'X', b'.', b'5', b'0', b'9', 0, 0, 0, 2, 0x30, 0]);
        assert_eq!(find(&trusted), None);
        let key = [&JKS[..], &[0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, b'a']].concat();
        assert_eq!(find(&key), Some("Java key store with a private key"));
        // Lengths that lead nowhere.
        let broken = [&JKS[..], &[0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff]].concat();
        assert_eq!(find(&broken), None);
    }
}
