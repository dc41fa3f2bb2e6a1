//! Keyword search for risks: authentication, cryptography and SQL in added lines.
//!
//! One pass of a vector search over the hunk bytes of a file looks for all keywords at once. A hit counts when it is in an
//! added line and is a whole word of an identifier: `auth`, `user_auth`, `AuthError`, `isAuthorized`, but not `author`.
//! After the first hit of a kind, that kind is no longer searched in the file.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::packed::{Config, MatchKind, Searcher};
use aho_corasick::{AhoCorasick, Span};

use crate::analysis::RiskKind;

/// The kinds of risk that keywords reveal, in the order of their bits.
const KINDS: [RiskKind; 3] = [RiskKind::Auth, RiskKind::Crypto, RiskKind::Sql];

/// Prefixes of keywords, and the bit of their kind. None has less than four bytes: the vector search compares four at
/// once, and shorter prefixes would cost many false hits.
///
/// The order is for speed only. The vector search sorts the words into eight buckets, by their number modulo eight unless
/// they differ from an earlier one only in case, and every pair of words in one bucket makes it stop more often for
/// nothing. Frequent letters therefore come first, one word each, and share their buckets with rare words only.
const BEGINNINGS: &[(&str, u8)] = &[
    ("auth", 1),
    ("login", 1),
    ("passw", 1),
    ("crypt", 2),
    ("cipher", 2),
    ("hmac", 2),
    ("SELECT ", 4),
    ("\"select ", 4),
    ("Auth", 1),
    ("Login", 1),
    ("Passw", 1),
    ("Crypt", 2),
    ("Cipher", 2),
    ("md5(", 2),
    ("INSERT INTO ", 4),
    ("'select ", 4),
    ("AUTH", 1),
    ("MD5(", 2),
    ("PASSW", 1),
    ("CRYPT", 2),
    ("UPDATE ", 4),
    ("HMAC", 2),
    ("DELETE FROM ", 4),
    ("\"insert into ", 4),
    ("ALTER TABLE ", 4),
    ("DROP TABLE ", 4),
    ("CREATE TABLE ", 4),
    ("\"update ", 4),
    ("\"delete from ", 4),
];

/// Words of authentication and authorization.
const AUTH_WORDS: &[&[u8]] = &[
    b"auth",
    b"authn",
    b"authz",
    b"oauth",
    b"authenticate",
    b"authenticated",
    b"authenticates",
    b"authenticating",
    b"authentication",
    b"authenticator",
    b"authorize",
    b"authorized",
    b"authorizes",
    b"authorizing",
    b"authorization",
    b"authorizer",
    b"authorise",
    b"authorised",
    b"authorisation",
    b"unauthorized",
    b"unauthenticated",
    b"login",
    b"logins",
    b"password",
    b"passwords",
    b"passwd",
];

/// Words of cryptography.
const CRYPTO_WORDS: &[&[u8]] = &[
    b"crypt",
    b"crypto",
    b"cryptography",
    b"cryptographic",
    b"encrypt",
    b"encrypts",
    b"encrypted",
    b"encrypting",
    b"encryption",
    b"decrypt",
    b"decrypts",
    b"decrypted",
    b"decrypting",
    b"decryption",
    b"bcrypt",
    b"scrypt",
    b"cipher",
    b"ciphers",
    b"ciphertext",
    b"hmac",
    b"hmacs",
    b"md",
];

/// The longest keyword is shorter; this bounds the work on a line without word boundaries.
const MAX_WORD: usize = 24;

/// The largest distance between `SELECT` and its `FROM`.
const MAX_STATEMENT: usize = 300;

/// The fewest bytes for which the vector search is worth its setup.
const MIN_SEARCHED: usize = 64;

/// The first offset of each kind in the hunks of a file; `added` covers all added lines.
pub(super) fn find(hunks: &[u8], added: impl Iterator<Item = Range<usize>>) -> impl Iterator<Item = (RiskKind, usize)> {
    let n_marks = hunks.iter().take_while(|&&byte| byte == b'@').count().saturating_sub(1).max(1);
    let mut found = KeywordHits { open: 0b111, places: [None; KINDS.len()] };
    for part in added {
        // Other lines are recognized by their diff marker, so a range may be longer than necessary.
        let end = part.end.max(part.start + MIN_SEARCHED).min(hunks.len());
        found.search(hunks, part.start..end, n_marks);
        if found.open == 0 {
            break;
        }
    }
    KINDS.into_iter().zip(found.places).filter_map(|(kind, place)| Some((kind, place?)))
}

/// The first hit of each kind, and the bits of the kinds without a hit.
struct KeywordHits {
    open: u8,
    places: [Option<usize>; KINDS.len()],
}

impl KeywordHits {
    fn search(&mut self, hunks: &[u8], part: Range<usize>, n_marks: usize) {
        let mut search = Search::of(self.open);
        let mut at = part.start;
        let mut line_start = memchr::memrchr(b'\n', &hunks[..at]).map_or(0, |feed| feed + 1);
        while let Some((start, end, bit)) = search.next(hunks, at..part.end) {
            if let Some(feed) = memchr::memrchr(b'\n', &hunks[at.min(start)..start]) {
                line_start = at.min(start) + feed + 1;
            }
            let marks = &hunks[line_start..(line_start + n_marks).min(start)];
            if marks.contains(&b'-') || !marks.contains(&b'+') {
                at = memchr::memchr(b'\n', &hunks[start..part.end]).map_or(part.end, |len| start + len);
                continue;
            }
            at = end;
            if is_whole(hunks, line_start + n_marks, start, end, bit) {
                self.places[bit.trailing_zeros() as usize] = Some(start);
                self.open &= !bit;
                if self.open == 0 {
                    break;
                }
                search = Search::of(self.open);
            }
        }
    }
}

/// A compiled search for the keywords of some kinds.
struct Search {
    engine: Engine,
    bits: Vec<u8>,
}

enum Engine {
    Vector(Searcher),
    Automaton(AhoCorasick),
    Nothing,
}

impl Search {
    /// The search for the kinds with these bits. Each is compiled once, on first use.
    fn of(open: u8) -> &'static Self {
        static SEARCHES: [OnceLock<Search>; 8] = [const { OnceLock::new() }; 8];
        SEARCHES[usize::from(open & 0b111)].get_or_init(|| {
            let (words, bits): (Vec<_>, Vec<_>) = BEGINNINGS.iter().copied().filter(|(_, bit)| open & bit != 0).unzip();
            let vector = Config::new().match_kind(MatchKind::LeftmostFirst).builder().extend(&words).build();
            // Machines without vector instructions use the Aho-Corasick automaton.
            let automaton = || AhoCorasick::new(&words).map_or(Engine::Nothing, Engine::Automaton);
            Self { engine: vector.map_or_else(automaton, Engine::Vector), bits }
        })
    }

    fn next(&self, hunks: &[u8], part: Range<usize>) -> Option<(usize, usize, u8)> {
        let found = match &self.engine {
            Engine::Vector(searcher) => searcher.find_in(hunks, Span::from(part)),
            Engine::Automaton(automaton) => automaton.find(aho_corasick::Input::new(hunks).range(part)),
            Engine::Nothing => None,
        }?;
        Some((found.start(), found.end(), *self.bits.get(found.pattern().as_usize())?))
    }
}

/// True when the hit is a whole word of its kind; `line` is the start of the line's text.
fn is_whole(hunks: &[u8], line: usize, start: usize, end: usize, bit: u8) -> bool {
    if bit == 4 {
        return is_statement(hunks, line, start, end);
    }
    let Some(word) = word_around(hunks, line, start, end) else { return false };
    let word = word.to_ascii_lowercase();
    if bit == 1 { AUTH_WORDS.contains(&&word[..]) } else { CRYPTO_WORDS.contains(&&word[..]) }
}

/// The word of an identifier around a hit: `Auth` of `isAuthOk`, `encrypt` of `encrypt_all`.
fn word_around(hunks: &[u8], line: usize, start: usize, end: usize) -> Option<&[u8]> {
    let is_upper = hunks[start..end].iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let same = |byte: &u8| if is_upper { byte.is_ascii_uppercase() } else { byte.is_ascii_lowercase() };
    let floor = line.max(start.saturating_sub(MAX_WORD));
    let before = hunks.get(floor..start)?;
    let starts_hump = hunks[start].is_ascii_uppercase() && !is_upper;
    let n_left = if starts_hump { 0 } else { before.iter().rev().take_while(|byte| same(byte)).count() };
    let mut left = start - n_left;
    // `Oauth`, `Encrypt`: the capital in front belongs to the lower case behind it.
    if !is_upper && !starts_hump && left > floor && hunks[left - 1].is_ascii_uppercase() {
        left -= 1;
    }
    let behind = &hunks[end..hunks.len().min(end + MAX_WORD)];
    let mut n_right = behind.iter().take_while(|byte| same(byte)).count();
    // In `HTTPAuth` and `JWTError` the last capital begins the next word.
    if is_upper && n_right > 0 && behind.get(n_right).is_some_and(u8::is_ascii_lowercase) {
        n_right -= 1;
    } else if is_upper && n_right == 0 && behind.first().is_some_and(u8::is_ascii_lowercase) {
        return None;
    }
    if start - left > MAX_WORD - 2 || n_right > MAX_WORD - 2 {
        return None;
    }
    let word = &hunks[left..end + n_right];
    let n_letters = word.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    Some(&word[..n_letters])
}

/// True for `SELECT … FROM` and `UPDATE … SET`; other statements need no second keyword.
fn is_statement(hunks: &[u8], line: usize, start: usize, end: usize) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if start > line && is_part(&hunks[start - 1]) && is_part(&hunks[start]) {
        return false;
    }
    let needed: &[u8] = match hunks[start..end].to_ascii_uppercase().trim_ascii() {
        b"SELECT" | b"\"SELECT" | b"'SELECT" => b"FROM",
        b"UPDATE" | b"\"UPDATE" => b"SET",
        _ => return true,
    };
    let behind = &hunks[end..hunks.len().min(end + MAX_STATEMENT)];
    let mut words = behind.split(|byte| !is_part(byte));
    words.any(|word| word.eq_ignore_ascii_case(needed))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::merged_ranges::MergedRanges;
    use crate::diff::{DiffEvent, Events};

    fn find_everywhere(hunks: &[u8]) -> impl Iterator<Item = (RiskKind, usize)> {
        find(hunks, std::iter::once(0..hunks.len()))
    }

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let hunks = format!("@@ -1 +1,2 @@\n context\n+{line}\n");
        let kinds: Vec<_> = find_everywhere(hunks.as_bytes()).map(|(kind, _)| kind.name()).collect();
        assert_eq!(kinds.join(" "), expected, "{line}");
    }

    #[test]
    fn whole_words_of_identifiers_count() {
        for line in ["auth", "user_auth(x)", "AuthError", "isAuthorized", "OAuth2", "oauth", "AUTH_TOKEN", "x.login()"]
        {
            check(line, "auth");
        }
        for line in
            ["encrypt(x)", "Decrypt", "bcrypt::hash", "doEncryptNow", "HMAC_KEY", "md5(x)", "use crypto;", "MD5(x)"]
        {
            check(line, "crypto");
        }
    }

    #[test]
    fn pieces_of_other_words_do_not_count() {
        for line in
            ["author", "Authority", "AUTHORS", "coauthored", "plugin", "cryptic", "encryptorium", "cmd5(x)", "authx"]
        {
            check(line, "");
        }
    }

    #[test]
    fn statements_count_prose_does_not() {
        for line in
            ["q(\"SELECT a FROM b\")", "\"select a from b\"", "INSERT INTO t", "UPDATE t SET a = 1", "DROP TABLE t"]
        {
            check(line, "sql");
        }
        for line in ["select a from b", "SELECT the best", "please UPDATE it", "UNSELECT x FROM", "\"update the file\""]
        {
            check(line, "");
        }
    }

    #[test]
    fn only_added_lines_count() {
        let hunks = b"@@ -1,2 +1,2 @@ fn auth()\n auth\n-auth\n+none\n\\ No newline: auth\n";
        assert_eq!(find_everywhere(hunks).count(), 0);
        let merge = b"@@@ -1 -1 +1 @@@\n- auth\n +hmac\n";
        assert_eq!(find_everywhere(merge).map(|(kind, _)| kind).collect::<Vec<_>>(), [RiskKind::Crypto]);
    }

    #[test]
    fn every_kind_is_found_at_its_first_occurrence() {
        let hunks = b"@@ -0,0 +1,4 @@\n+x\n+auth auth\n+hmac SELECT a FROM b\n+auth\n";
        let found: Vec<_> = find_everywhere(hunks).map(|(kind, at)| (kind.name(), at)).collect();
        assert_eq!(found, [("auth", 20), ("crypto", 31), ("sql", 36)]);
    }

    proptest! {
        #[test]
        fn searching_only_added_ranges_finds_the_same_hits(
            hunks in prop::collection::vec(prop::collection::vec(line(), 1..40), 1..4),
        ) {
            let header = "--- a/x\n+++ b/x\n";
            let text = hunks.iter().fold(header.to_owned(), |text, lines| text + &hunk(lines));
            let mut added = MergedRanges::default();
            for event in Events::new(text.as_bytes()) {
                if let DiffEvent::Hunk(hunk) = event {
                    added.push(hunk.added);
                }
            }
            let hunks = &text.as_bytes()[header.len()..];
            let found: Vec<_> = find(hunks, added.relative_to(header.len())).collect();
            prop_assert_eq!(found, find_everywhere(hunks).collect::<Vec<_>>());
        }
    }

    fn line() -> impl Strategy<Value = (char, String)> {
        let mark = prop::sample::select(vec![' ', ' ', '-', '+']);
        let word = prop::sample::select(vec!["auth", "hmac", "author", "UPDATE t SET a", "x", "some words of no kind"]);
        (mark, prop::collection::vec(word, 0..6).prop_map(|words| words.join(" ")))
    }

    fn hunk(lines: &[(char, String)]) -> String {
        let n_without = |mark| lines.iter().filter(|line| line.0 != mark).count();
        // The search ignores line numbers, so those of several hunks need not be consistent.
        let head = format!("@@ -1,{} +1,{} @@\n", n_without('+'), n_without('-'));
        lines.iter().fold(head, |hunk, (mark, text)| format!("{hunk}{mark}{text}\n"))
    }
}
