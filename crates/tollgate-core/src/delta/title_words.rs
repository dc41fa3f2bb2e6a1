//! Normalizes the words of a title, to decide whether two titles mean the same.
//!
//! A title becomes stems (`unhandled rejections` → `handl reject`), and separately the parts that must not differ: numbers,
//! identifiers, and negation. Stems are English; other scripts are compared by whole words, and scripts without spaces by
//! pairs of characters.

use crate::fingerprint::normalise;

/// The normalized words of a title.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct TitleWords {
    /// Stems, sorted, with duplicates.
    pub(crate) stems: Vec<String>,
    /// Numbers, sorted, without line numbers, since lines move.
    numbers: Vec<String>,
    /// Identifiers in lower case, sorted.
    names: Vec<String>,
    /// The stems that are neither numbers nor parts of identifiers, sorted, without duplicates.
    frame: Vec<String>,
    negation: Negation,
}

/// Whether a title has a negation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Negation {
    /// `the result is logged`.
    #[default]
    None,
    /// `the result is unchecked`, `missing check of the result`: close to both others.
    Implied,
    /// `the result is not checked`.
    Stated,
}

/// Stop words.
const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "all",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "been",
    "being",
    "but",
    "by",
    "can",
    "could",
    "do",
    "does",
    "for",
    "from",
    "had",
    "has",
    "have",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "may",
    "might",
    "must",
    "of",
    "on",
    "or",
    "possible",
    "possibly",
    "potential",
    "potentially",
    "should",
    "so",
    "some",
    "than",
    "that",
    "the",
    "their",
    "then",
    "there",
    "these",
    "this",
    "those",
    "to",
    "via",
    "was",
    "were",
    "when",
    "where",
    "which",
    "while",
    "will",
    "with",
    "would",
    "you",
    "your",
];

/// Negating words; they are not stems.
const NEGATING: &[&str] =
    &["not", "no", "never", "cannot", "cant", "without", "nor", "neither", "non", "nothing", "none"];
/// Words that imply a negation.
const LACKING: &[&str] = &["missing", "lack", "lacks", "lacking", "absent", "fails", "failing", "forgets", "forgotten"];

impl TitleWords {
    /// Splits a title into its words.
    pub(crate) fn read(title: &str) -> Self {
        let mut words = Self::default();
        let mut after_line = false;
        // Text between backticks is code.
        for (index, part) in title.split('`').enumerate() {
            let is_code = index % 2 == 1;
            for token in part.split_whitespace() {
                words.push(token, is_code, after_line);
                let bare = token.trim_matches(|character: char| !character.is_alphanumeric());
                after_line = matches!(bare.to_ascii_lowercase().as_str(), "line" | "lines");
            }
        }
        for list in [&mut words.stems, &mut words.numbers, &mut words.names, &mut words.frame] {
            list.sort_unstable();
        }
        for list in [&mut words.numbers, &mut words.names, &mut words.frame] {
            list.dedup();
        }
        words
    }

    /// True when two titles cannot mean the same: different numbers, different names, or only one is negated.
    pub(super) fn contradict(&self, other: &Self) -> bool {
        self.differ_in_negation(other)
            || differ(&self.numbers, &other.numbers, |a, b| a == b)
            || differ(&self.names, &other.names, is_same_name)
    }

    /// True when two titles are about different things: different numbers, or disjoint names.
    ///
    /// Weaker than [`Self::contradict`], for titles of different authors, who name different parts of the same code.
    pub(crate) fn are_unrelated(&self, other: &Self) -> bool {
        let share = |a: &[String], b: &[String]| a.iter().any(|one| b.iter().any(|other| is_same_name(one, other)));
        let names = !self.names.is_empty() && !other.names.is_empty() && !share(&self.names, &other.names);
        names || differ(&self.numbers, &other.numbers, |a, b| a == b)
    }

    /// True when only one of the titles is negated.
    pub(crate) fn differ_in_negation(&self, other: &Self) -> bool {
        self.negation.max(other.negation) == Negation::Stated && self.negation.min(other.negation) == Negation::None
    }

    /// True when two titles are the same words around their numbers and identifiers: `x may be null`, `y may be null`.
    pub(crate) fn has_frame_of(&self, other: &Self) -> bool {
        let n_shared = self.frame.iter().filter(|stem| other.frame.binary_search(stem).is_ok()).count();
        let n_all = self.frame.len() + other.frame.len();
        n_shared > 0 && n_shared * 2 * 5 >= n_all * 4
    }

    fn push(&mut self, token: &str, is_code: bool, after_line: bool) {
        let bare = token.trim_matches(|character: char| !character.is_alphanumeric() && !"_$".contains(character));
        if bare.is_empty() {
            return;
        }
        let starts_with_digit = bare.starts_with(|character: char| character.is_ascii_digit());
        if starts_with_digit && !is_code {
            let number: String = bare
                .chars()
                .take_while(|c| c.is_ascii_digit() || ".,_".contains(*c))
                .filter(char::is_ascii_digit)
                .collect();
            if !after_line {
                self.stems.push(number.clone());
                self.numbers.push(number);
            }
            return;
        }
        if is_code || is_name(token, bare) {
            self.names.push(bare.to_lowercase());
            pieces(bare).for_each(|piece| self.push_word(&piece));
            return;
        }
        if bare.contains("n't") || bare.contains("n’t") {
            self.negation = Negation::Stated;
            return;
        }
        let n_before = self.stems.len();
        normalise(bare).split(' ').for_each(|word| self.push_word(word));
        self.frame.extend_from_slice(&self.stems[n_before..]);
    }

    fn push_word(&mut self, word: &str) {
        if word.is_empty() || STOP_WORDS.contains(&word) {
            return;
        }
        if NEGATING.contains(&word) {
            self.negation = Negation::Stated;
            return;
        }
        let implied = LACKING.contains(&word);
        let positive = word.strip_prefix("un").filter(|rest| is_denied_adjective(rest));
        if implied || positive.is_some() {
            self.negation = self.negation.max(Negation::Implied);
        }
        if implied {
            return;
        }
        if word.contains(is_unspaced) {
            let characters: Vec<char> = word.chars().collect();
            self.stems.extend(characters.windows(2).map(String::from_iter));
            return;
        }
        match positive.unwrap_or(word) {
            "hardcoded" | "hardcode" | "hardcodes" => self.stems.extend(["hard".to_owned(), "cod".to_owned()]),
            "exception" | "exceptions" => self.stems.push(stem("error")),
            word => self.stems.push(stem(word)),
        }
    }
}

/// True for `handled` in `unhandled`, but not for `ited` in `united`.
fn is_denied_adjective(rest: &str) -> bool {
    rest.len() >= 4
        && !matches!(rest, "ited" | "ified")
        && ["ed", "able", "caught", "safe", "set"].iter().any(|end| rest.ends_with(end))
}

/// True for scripts without spaces between words.
pub(crate) fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{e00}'..='\u{eff}')
}

/// True when a word looks like an identifier: `user_id`, `userId`, `req.body`, `std::mem`, `f()`, `sha1`.
fn is_name(token: &str, bare: &str) -> bool {
    let bytes = bare.as_bytes();
    let inner = |test: fn(u8, u8) -> bool| bytes.windows(2).any(|two| test(two[0], two[1]));
    let joined = |mark: u8| {
        bytes
            .windows(3)
            .any(|three| three[1] == mark && three[0].is_ascii_alphabetic() && three[2].is_ascii_alphanumeric())
    };
    let abbreviation = bare.split('.').all(|part| part.len() == 1);
    bare.contains(['_', '$'])
        || token.contains("()")
        || bare.contains("::")
        || bare.contains("->")
        || (joined(b'.') && !abbreviation)
        || inner(|a, b| a.is_ascii_lowercase() && b.is_ascii_uppercase())
        || inner(|a, b| a.is_ascii_alphabetic() && b.is_ascii_digit())
}

/// The words of an identifier.
fn pieces(name: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::with_capacity(name.len() + 8);
    let mut after_lower = false;
    for character in name.chars() {
        if character.is_uppercase() && after_lower {
            spaced.push(' ');
        }
        after_lower = character.is_lowercase();
        spaced.push(character);
    }
    let words: Vec<String> = normalise(&spaced).split(' ').map(str::to_owned).collect();
    words.into_iter()
}

/// True for equal names, and for `name` and `user.name`.
fn is_same_name(a: &str, b: &str) -> bool {
    let ends = |long: &str, short: &str| {
        let before = long.strip_suffix(short);
        before.is_some_and(|before| before.is_empty() || before.ends_with(['.', ':', '>']))
    };
    ends(a, b) || ends(b, a)
}

/// True when both are non-empty and neither contains the other.
fn differ(a: &[String], b: &[String], is_same: impl Fn(&str, &str) -> bool) -> bool {
    let within = |a: &[String], b: &[String]| a.iter().all(|one| b.iter().any(|other| is_same(one, other)));
    !a.is_empty() && !b.is_empty() && !within(a, b) && !within(b, a)
}

/// Stems a word, so that `validate`, `validated` and `validation` are equal.
pub(crate) fn stem(word: &str) -> String {
    const ENDINGS: &[&str] = &[
        "izations", "isations", "ization", "isation", "ations", "ation", "ating", "ators", "ated", "ates", "ator",
        "ate", "izing", "ising", "ized", "ised", "izes", "ises", "ize", "ise", "ences", "ence", "ments", "ment",
        "ings", "ing", "ions", "ion", "ness", "ibly", "ably", "able", "ible", "ers", "ors", "ies", "ed", "er", "or",
        "es", "ly", "ty", "al", "y", "e", "s",
    ];
    if !word.is_ascii() {
        return word.to_owned();
    }
    let cut = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.len() >= 3));
    let cut = cut.unwrap_or(word);
    // `logging` is `log`, but `calling` is `call`.
    let bytes = cut.as_bytes();
    let doubled = matches!(bytes, [.., a, b] if a == b && !b"lsz".contains(a) && bytes.len() > 3);
    if doubled { cut[..cut.len() - 1].to_owned() } else { cut.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(title: &str, stems: &str, rest: &str) {
        let words = TitleWords::read(title);
        assert_eq!(words.stems.join(" "), stems, "{title}");
        let said = format!("{} | {} | {:?}", words.numbers.join(" "), words.names.join(" "), words.negation);
        assert_eq!(said, rest, "{title}");
    }

    #[test]
    fn titles_become_stems() {
        check("Validation of the input", "input valid", " |  | None");
        check("Inputs are validated while logging", "input log valid", " |  | None");
        check("Hard-coded password", "cod hard password", " |  | None");
        check("Hardcoded passwords", "cod hard password", " |  | None");
        check("空指针引用", "引用 指针 空指 针引", " |  | None");
    }

    #[test]
    fn names_and_numbers_are_kept_apart() {
        check("`userId` is read 3 times", "3 id read tim user", "3 | userid | None");
        check("fetch_user() at lines 12-14", "fetch lin user", " | fetch_user | None");
        check("SHA1, e.g. 1.5", "15 e g sha1", "15 | sha1 | None");
    }

    #[test]
    fn negation_is_stated_or_implied() {
        check("The error isn't logged", "err log", " |  | Stated");
        check("Unlogged error", "err log", " |  | Implied");
        check("Missing log of the error", "err log", " |  | Implied");
        check("Error under load", "err load und", " |  | None");
    }

    #[track_caller]
    fn contradict(a: &str, b: &str) -> bool {
        let (a, b) = (TitleWords::read(a), TitleWords::read(b));
        assert_eq!(a.contradict(&b), b.contradict(&a));
        a.contradict(&b)
    }

    #[test]
    fn another_number_name_or_negation_contradicts() {
        assert!(contradict("retries 3 times", "retries 5 times"));
        assert!(contradict("`a` may be null", "`b` may be null"));
        assert!(contradict("The error is logged", "The error is not logged"));
        assert!(contradict("md5 used for passwords", "SHA1 used for passwords"));
        assert!(contradict("copies user_id and user_name", "copies user_id and user_key"));
    }

    #[test]
    fn details_in_only_one_title_do_not_contradict() {
        assert!(!contradict("retries 3 times", "retries endlessly"));
        assert!(!contradict("`req.body.name` may be null", "`name` may be null"));
        assert!(!contradict("overflow at line 3", "overflow at line 5"));
        assert!(!contradict("Unchecked result", "The result is not checked"));
        assert!(!contradict("Unchecked result", "The result is ignored"));
    }

    proptest! {
        #[test]
        fn no_title_makes_it_panic(title in any::<String>(), other in "[-a-zA-Z0-9_.:>`'’ nt]{0,40}") {
            let (a, b) = (TitleWords::read(&title), TitleWords::read(&other));
            prop_assert!(!a.contradict(&a) && !b.contradict(&b));
            prop_assert_eq!(a.contradict(&b), b.contradict(&a));
        }
    }
}
