//! `password = "…"` and its relatives, and passwords in addresses.
//!
//! The name says that a secret follows; whether one does is told by how the
//! value looks. Names and values are bounded, so the work per word is too.

use std::ops::Range;

use super::heuristics::{entropy, is_placeholder, is_random, is_template, is_uuid};
use super::vendor::{self, Vendor};
use crate::text::file_class::FileClass;

/// Parts of the names, in the ways people write them. The search looks for these.
pub(super) static WORDS: &[&str] = &[
    "assw",
    "ASSW",
    "ecret",
    "ECRET",
    "oken",
    "OKEN",
    "pikey",
    "pi_key",
    "pi-key",
    "piKey",
    "PI_KEY",
    "rivate_key",
    "rivateKey",
    "RIVATE_KEY",
    "assphrase",
];

/// Ends of schemes with their `://`; alone it would be too short for a fast search.
pub(super) static SCHEMES: &[&str] = &["s://", "p://", "l://", "b://", "v://"];

/// Longest name and longest value that are looked at.
const MAX_NAME: usize = 64;
const MAX_VALUE: usize = 256;

/// What a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// Chosen by a person.
    Password,
    /// Made by a program.
    Key,
    /// The secret half of an AWS key.
    AwsSecret,
}

/// A secret assigned to a name.
#[derive(Debug)]
pub(super) struct Assigned {
    pub(super) range: Range<usize>,
    pub(super) owner: Owner,
}

/// Whose secret it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner {
    Aws,
    Vendor(&'static Vendor),
    Unknown,
}

/// The secret assigned to the name in which a word was found at `at`.
pub(super) fn find(line: &[u8], at: usize, class: FileClass) -> Option<Assigned> {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let n_after = line[at..].iter().take(MAX_NAME).take_while(is_name).count();
    let end = at + n_after;
    let range = value_after(line, end, class)?;
    let n_before = line[..at].iter().rev().take(MAX_NAME).take_while(is_name).count();
    let promise = promise_of(&line[at - n_before..end])?;
    let value = &line[range.clone()];
    let owner = match vendor::of(&line[at - n_before..end], value) {
        Some(vendor) => Owner::Vendor(vendor),
        None if !keeps(promise, value) => return None,
        None if promise == Promise::AwsSecret => Owner::Aws,
        None => Owner::Unknown,
    };
    Some(Assigned { range, owner })
}

/// What a name such as `dbPassword` or `STRIPE_API_KEY` promises.
fn promise_of(name: &[u8]) -> Option<Promise> {
    let words = words_of(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.iter().any(|word| NOT_SECRET.contains(word)) {
        return None;
    }
    let words = match words.as_slice() {
        [rest @ .., "base" | "value" | "default" | "prod" | "production" | "live" | "str" | "string" | "text"] => rest,
        all => all,
    };
    match words {
        [.., "aws", "secret"] | [.., "secret", "access", "key"] | [.., "aws", "secret", "key"] => {
            Some(Promise::AwsSecret)
        }
        [.., "password" | "passwd" | "passphrase" | "passwort"] => Some(Promise::Password),
        [.., "secret" | "token" | "apikey"] => Some(Promise::Key),
        [.., "api" | "access" | "secret" | "private" | "auth" | "signing" | "encryption" | "master", "key"] => {
            Some(Promise::Key)
        }
        _ => None,
    }
}

/// Words that make a name one of something that may be known.
const NOT_SECRET: &[&str] = &[
    "public",
    "csrf",
    "xsrf",
    "next",
    "page",
    "continuation",
    "cursor",
    "mask",
    "pad",
    "eos",
    "bos",
    "unk",
    "sep",
    "cls",
    "hash",
    "hashed",
    "digest",
    "checksum",
    "label",
    "placeholder",
    "title",
    "message",
    "msg",
    "error",
    "regex",
    "pattern",
    "name",
    "class",
    "selector",
    "css",
    "test",
    "fake",
    "mock",
    "dummy",
    "example",
    "sample",
    "encrypted",
    "sealed",
    "arn",
    "ref",
    "path",
    "file",
    "url",
    "uri",
    "env",
    "var",
    "header",
    "cancellation",
    "design",
    "syntax",
    "sync",
];

/// `dbPassword2` → `db`, `password`.
fn words_of(name: &[u8]) -> Vec<String> {
    let (mut words, mut word, mut last) = (Vec::new(), String::new(), 0u8);
    for (index, &byte) in name.iter().enumerate() {
        let next_is_lower = name.get(index + 1).is_some_and(u8::is_ascii_lowercase);
        let starts =
            byte.is_ascii_uppercase() && (last.is_ascii_lowercase() || (last.is_ascii_uppercase() && next_is_lower));
        if !byte.is_ascii_alphabetic() || starts {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if byte.is_ascii_alphabetic() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
        last = byte;
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// Where the value stands that is given to a name ending at `end`.
fn value_after(line: &[u8], end: usize, class: FileClass) -> Option<Range<usize>> {
    let mut at = end;
    let peek = |at: usize| line.get(at).copied();
    // The name may be quoted or an index: `"password": …`, `config['password'] = …`.
    while matches!(peek(at), Some(b'"' | b'\'' | b'`' | b']')) && at < end + 3 {
        at += 1;
    }
    at = skip_spaces(line, at);
    let spaced = at > end;
    match (peek(at)?, peek(at + 1)) {
        (b'=', Some(b'=' | b'~')) => return None,
        (b':', Some(b':')) => return None,
        (b'=', Some(b'>')) | (b':' | b'?' | b'|', Some(b'=')) => at += 2,
        (b'=', _) => at += 1,
        (b':', _) => {
            at += 1;
            // A type may stand between the name and the value: `password: &str = "…"`.
            let rest = &line[at..line.len().min(at + 32)];
            let type_len =
                rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b" &'<>[]?|_.".contains(byte)).count();
            if rest.get(type_len) == Some(&b'=') && rest.get(type_len + 1) != Some(&b'=') && type_len > 0 {
                at += type_len + 1;
            }
        }
        _ => return None,
    }
    let after_operator = at;
    at = skip_spaces(line, at);
    // Prefixes of strings: `b"…"`, `f"…"`, `@"…"`.
    if matches!(peek(at), Some(b'b' | b'r' | b'u' | b'@' | b'B' | b'L')) && matches!(peek(at + 1), Some(b'"' | b'\'')) {
        at += 1;
    }
    let quote = peek(at)?;
    if matches!(quote, b'"' | b'\'' | b'`') {
        let start = at + 1;
        let len = line[start..].iter().take(MAX_VALUE).position(|&byte| byte == quote)?;
        let joined = line[start + len + 1..].iter().find(|byte| **byte != b' ');
        // `"…" + rest` and `"…".format()` are not the value.
        return (!matches!(joined, Some(b'+' | b'%' | b'.' | b'?'))).then_some(start..start + len);
    }
    let bare = class.config && !(class.code && spaced) && !(spaced && after_operator == at && !is_yaml_like(line, end));
    let len = line[at..]
        .iter()
        .take(MAX_VALUE)
        .take_while(|byte| byte.is_ascii_graphic() && !b"\"'`,;()".contains(byte))
        .count();
    let ends = line[at + len..].iter().all(|byte| byte.is_ascii_whitespace())
        || line.get(at + len).is_some_and(u8::is_ascii_whitespace);
    (bare && ends).then_some(at..at + len)
}

fn is_yaml_like(line: &[u8], end: usize) -> bool {
    line.get(end) == Some(&b':')
}

fn skip_spaces(line: &[u8], at: usize) -> usize {
    at + line[at.min(line.len())..].iter().take(16).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// True when the value is what the name promises.
fn keeps(promise: Promise, value: &[u8]) -> bool {
    if !value.iter().all(u8::is_ascii_graphic) || is_placeholder(value) || is_uuid(value) || is_reference(value) {
        return false;
    }
    match promise {
        Promise::Password => is_password(value),
        Promise::Key => value.len() >= 16 && is_token_text(value) && is_random(value) && !is_words(value),
        Promise::AwsSecret => {
            let fits = value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
            value.len() == 40 && fits && entropy(value) > 4.0
        }
    }
}

/// True for what a person could have chosen as a password, and hardly for anything else.
fn is_password(value: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    let n_kinds = [
        has(u8::is_ascii_lowercase),
        has(u8::is_ascii_uppercase),
        has(u8::is_ascii_digit),
        has(u8::is_ascii_punctuation),
    ]
    .iter()
    .filter(|kind| **kind)
    .count();
    // Paths, addresses, numbers with a unit, keys of translations.
    let other = value.contains(&b'/') && !is_random(value)
        || value.contains(&b' ')
        || value.windows(2).filter(|pair| pair[0] == b'.' && pair[1].is_ascii_alphabetic()).count() > 1
        || is_words(value);
    (8..=64).contains(&value.len()) && has(u8::is_ascii_digit) && n_kinds >= 3 && !other && entropy(value) >= 2.5
}

/// True for names joined by `-`, `_`, `.` or capitals: `reset-password-2`, `userToken`.
pub(crate) fn is_words(value: &[u8]) -> bool {
    value.split(|byte| !byte.is_ascii_alphanumeric()).all(|part| {
        let n_letters = part.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
        let digits_end = part.iter().skip_while(|byte| byte.is_ascii_alphabetic()).all(u8::is_ascii_digit);
        part.is_empty() || n_letters == 0 || (digits_end && part.len() - n_letters <= 1)
    })
}

fn is_token_text(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-+/=.~:!@#$%^&*".contains(byte))
}

/// True when the value names where the secret is: `vault:…`, `arn:…`, a call, an index, an address.
fn is_reference(value: &[u8]) -> bool {
    let prefixes: [&[u8]; 13] = [
        b"vault:",
        b"arn:",
        b"op://",
        b"ssm:",
        b"kms:",
        b"file:",
        b"env:",
        b"ENC[",
        b"!",
        b"http",
        b"projects/",
        b"sha256:",
        b"ENC(",
    ];
    prefixes.iter().any(|prefix| value.starts_with(prefix))
        || value.iter().any(|byte| b"()[]".contains(byte))
        || is_template(value)
        || value.windows(2).any(|pair| pair == b"->" || pair == b"::")
}

/// The password in `scheme://user:password@host`, where `at` is the place of `://`.
pub(super) fn url_password(line: &[u8], at: usize) -> Option<Range<usize>> {
    let scheme_ends = at.checked_sub(1).is_some_and(|before| line[before].is_ascii_alphanumeric());
    let start = at + "://".len();
    let rest = line.get(start..)?;
    let in_user_info = |byte: &&u8| byte.is_ascii_graphic() && !b"/\"'`<>?#,|\\ ()[]".contains(byte);
    let len = rest.iter().take(MAX_VALUE).take_while(in_user_info).count();
    let host_at = rest[..len].iter().rposition(|&byte| byte == b'@')?;
    let colon = rest[..host_at].iter().position(|&byte| byte == b':')?;
    let (user, password, host) = (&rest[..colon], &rest[colon + 1..host_at], &rest[host_at + 1..len]);
    let fits = scheme_ends
        && password.len() >= 6
        && user != password
        && !is_placeholder(password)
        && !is_template(user)
        && !is_template(host)
        && !is_uuid(password)
        && is_foreign(host)
        && !is_words(password);
    fits.then_some(start + colon + 1..start + host_at)
}

/// True for a host that is neither this machine, nor a neighbour in a compose file, nor an example.
fn is_foreign(host: &[u8]) -> bool {
    let name = host.split(|&byte| byte == b':').next().unwrap_or(host).to_ascii_lowercase();
    let name = String::from_utf8_lossy(&name).into_owned();
    let local = [".local", ".test", ".example", ".invalid", ".localhost", ".internal"];
    name.contains('.')
        && !local.iter().any(|end| name.ends_with(end))
        && !["example", "127.0.0.1", "0.0.0.0", "host.", "domain.", "server.", "myhost", "mydomain"]
            .iter()
            .any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, line: &str, expected: Option<&str>) {
        let class = FileClass::of(path.as_bytes());
        let found = WORDS.iter().find_map(|word| {
            line.match_indices(word)
                .find_map(|(at, _)| find(line.as_bytes(), at, class).map(|found| &line[found.range]))
        });
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(words_of(b"dbPassword2"), ["db", "password"]);
        assert_eq!(words_of(b"STRIPE_API_KEY"), ["stripe", "api", "key"]);
        assert_eq!(words_of(b"AWSSecretKey"), ["aws", "secret", "key"]);
    }

    #[test]
    fn secrets_are_found_in_the_ways_languages_assign() {
        let secret = Some("9f8Tq2LmWz7Rk4Yb");
        check("a.py", r#"API_TOKEN = "9f8Tq2LmWz7Rk4Yb""#, secret);
        check("a.js", r#"  apiKey: '9f8Tq2LmWz7Rk4Yb',"#, secret);
        check("a.go", r#"token := "9f8Tq2LmWz7Rk4Yb""#, secret);
        check("a.rs", r#"const API_KEY: &str = "9f8Tq2LmWz7Rk4Yb";"#, secret);
        check("a.ts", r#"const clientSecret: string = '9f8Tq2LmWz7Rk4Yb'"#, secret);
        check("a.rb", r#"  :token => "9f8Tq2LmWz7Rk4Yb","#, secret);
        check("a.php", r#"$config['api_key'] = '9f8Tq2LmWz7Rk4Yb';"#, secret);
        check("a.json", r#"{"client_secret": "9f8Tq2LmWz7Rk4Yb"}"#, secret);
        check(".env", "API_KEY=9f8Tq2LmWz7Rk4Yb", secret);
        check("a.yml", "  token: 9f8Tq2LmWz7Rk4Yb # ours", secret);
        check("a.properties", "db.password = kX9mQ2vLp", Some("kX9mQ2vLp"));
        check("a.tf", r#"  master_password = "kX9mQ2vLp""#, Some("kX9mQ2vLp"));
    }

    #[test]
    fn what_is_no_value_or_no_secret_is_left_alone() {
        for line in [
            "token = get_token(user1, User2)",
            r#"password = os.environ["DB_PASSWORD"]"#,
            r#"if token == "9f8Tq2LmWz7Rk4Yb" {"#,
            r#"publicToken = "9f8Tq2LmWz7Rk4Yb""#,
            r#"csrf_token = "9f8Tq2LmWz7Rk4Yb""#,
            r#"token_url = "https://auth.acme.io/v1/oauth2/token""#,
            r#"password: "user.form.password.label2""#,
            r#"const TOKEN = "auth-refresh-token-v2""#,
            r#"secret = "arn:aws:secretsmanager:eu-1:12:Xy9Zk3""#,
            r#"token = "550e8400-e29b-41d4-a716-446655440000""#,
            r#"password = "${DB_PASSWORD_9xK}""#,
            r#"token = "9f8Tq2LmWz7Rk4Yb" + suffix"#,
            r#"pad_token = "<|9f8Tq2LmWz7Rk4Yb|>""#,
        ] {
            check("a.py", line, None);
        }
        check("a.yml", "token: steps.Auth2.outputs.Token9", None);
    }

    #[track_caller]
    fn check_url(line: &str, expected: Option<&str>) {
        let at = line.find("://").unwrap();
        assert_eq!(url_password(line.as_bytes(), at).map(|range| &line[range]), expected, "{line}");
    }

    #[test]
    fn passwords_in_addresses_are_found() {
        check_url("postgres://app:kX9mQ2vLp@db.acme.io:5432/app", Some("kX9mQ2vLp"));
        check_url("https://bot:9f8Tq2LmWz7Rk4Yb@git.acme.io/x.git", Some("9f8Tq2LmWz7Rk4Yb"));
        check_url("postgres://postgres:postgres@localhost/app", None);
        check_url("postgres://app:kX9mQ2vLp@db/app", None);
        check_url("https://user:password1@acme.io/", None);
        check_url("https://user:$TOKEN9x@acme.io/", None);
        check_url("https://acme.io/a:b@c", None);
        check_url("https://host:8080/x@y", None);
    }
}
