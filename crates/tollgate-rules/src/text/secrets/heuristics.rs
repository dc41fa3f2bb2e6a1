//! Heuristics for values: entropy, randomness, placeholders, templates.

/// Shannon entropy of a text, in bits per byte.
pub(super) fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for &byte in text {
        counts[usize::from(byte)] += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "texts here are short")]
    let len = text.len() as f64;
    let bits = |&count: &u32| {
        let share = f64::from(count) / len;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(bits).sum()
}

/// Words that mark a value as a placeholder.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "changeme",
    "change_me",
    "change-me",
    "changeit",
    "placeholder",
    "your",
    "dummy",
    "fake",
    "test",
    "mock",
    "sample",
    "xxx",
    "redacted",
    "secret",
    "passw",
    "passwd",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "default",
    "todo",
    "replace",
    "insert",
    "foobar",
    "foo_bar",
    "foo-bar",
    "hunter2",
    "undefined",
    "null",
    "none",
    "lorem",
    "abc123",
    "12345",
    "qwerty",
    "letmein",
    "asdf",
    "deadbeef",
    "decafbad",
    "cafebabe",
    "badc0ffee",
    "localhost",
    "development",
    "demo",
    "notreal",
    "not-real",
    "not_real",
    "invalid",
    "bogus",
    "temp",
    "admin",
    "guest",
    "root",
    "postgres",
    "hidden",
    "masked",
    "unused",
    "ignored",
    "supersecure",
    "some",
    "user",
    "login",
    "value",
    "string",
    "field",
    "please",
    "generate",
    "hoge",
];

/// Words that mark a placeholder even inside a long random-looking value.
const STRONG_PLACEHOLDERS: &[&str] =
    &["example", "xxxx", "placeholder", "redacted", "changeme", "dummy", "your_", "your-", "fake"];

/// True for a placeholder of a real value.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    PLACEHOLDERS.iter().any(|word| contains(&lower, word.as_bytes())) || is_template(value) || is_monotonous(value)
}

/// True for a placeholder in a provider's format, where a short word can occur by chance.
pub(super) fn is_made_up(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    STRONG_PLACEHOLDERS.iter().any(|word| contains(&lower, word.as_bytes()))
        || is_template(value)
        || is_monotonous(value)
}

/// True for a template: `${…}`, `{{…}}`, `%(…)s`, `<…>`, `$NAME`, `process.env`.
pub(crate) fn is_template(value: &[u8]) -> bool {
    let marks: [&[u8]; 17] = [
        b"${",
        b"{{",
        b"%(",
        b"<",
        b"$(",
        b"#{",
        b"%s",
        b"%v",
        b"{0}",
        b"process.env",
        b"os.environ",
        b"getenv",
        b"ENV[",
        b"secrets.",
        b"...",
        b"\xe2\x80\xa6",
        b"${{",
    ];
    value.first() == Some(&b'$')
        || value.first() == Some(&b'%')
        || (value.first() == Some(&b'{') && value.last() == Some(&b'}'))
        || marks.iter().any(|mark| contains(value, mark))
}

/// True for sequences such as `aaaaaa`, `abcdef`, `123456`, and for few distinct characters.
fn is_monotonous(value: &[u8]) -> bool {
    let (mut same, mut rising) = (1, 1);
    for pair in value.windows(2) {
        same = if pair[0] == pair[1] { same + 1 } else { 1 };
        let next = pair[0].is_ascii_alphanumeric() && pair[1] == pair[0].wrapping_add(1);
        rising = if next { rising + 1 } else { 1 };
        if same >= 6 || rising >= 6 {
            return true;
        }
    }
    let mut seen = [false; 256];
    value.iter().for_each(|&byte| seen[usize::from(byte)] = true);
    let n_distinct = seen.iter().filter(|seen| **seen).count();
    value.len() >= 16 && n_distinct < 7
}

/// True for a random value: mixed character classes with high entropy.
pub(super) fn is_random(value: &[u8]) -> bool {
    let class = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let mut n_changes = 0;
    for (index, pair) in value.windows(2).enumerate() {
        // `getToken` and `Token` are words, in which a change of class is no sign of randomness.
        let ends_word = value.get(index + 2).is_some_and(|&byte| class(byte) != 1);
        let changes = match (class(pair[0]), class(pair[1])) {
            (2, 1) | (3, _) | (_, 3) => false,
            (1, 2) => ends_word,
            (before, after) => before != after,
        };
        n_changes += usize::from(changes);
    }
    let has_digit = value.iter().any(u8::is_ascii_digit);
    has_digit && n_changes * 7 >= value.len() && entropy(value) >= min_entropy(value)
}

fn min_entropy(value: &[u8]) -> f64 {
    // Random hexadecimal digits reach at most 4 bits, and 16 of them about 3.2.
    if value.iter().all(u8::is_ascii_hexdigit) { 3.0 } else { 3.3 }
}

/// True for `550e8400-e29b-41d4-a716-446655440000`.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// True when `part` is in `text`.
pub(super) fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_recognised() {
        let values = [
            "changeme",
            "your-api-key-here",
            "${DB_PASSWORD}",
            "{{ vault_password }}",
            "%(password)s",
            "<password>",
            "xxxxxxxxxxxx",
            "aaaaaaaaaaaaaaaa",
            "abcdefghijkl",
            "1234567890",
            "$DB_PASSWORD",
            "process.env.TOKEN",
        ];
        for value in values {
            assert!(is_placeholder(value.as_bytes()), "{value}");
        }
        for value in ["kX9#mQ2vLp", "9f8Tq2LmWz7Rk4Yb", "Tr0ub4dor&3"] {
            assert!(!is_placeholder(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn names_and_words_are_not_random() {
        let words = [
            "user-service-v2",
            "com.acme.auth.Service",
            "GetUserById2",
            "refresh_interval_30",
            "AuthService",
            "sha256-hmac",
            "/var/run/app/v1/key1",
        ];
        for value in words {
            assert!(!is_random(value.as_bytes()), "{value}");
        }
        for value in
            ["9f8Tq2LmWz7Rk4Yb", "3f2a9c4e8b1d7f60", "Zk3v9QpL1xT8mB5nR2wY", "a8f5f167f44f4964e6c998dee827110c"]
        {
            assert!(is_random(value.as_bytes()), "{value}");
        }
    }
}
