//! Full-text search of runs by a trigram index.
//!
//! SQLite keeps a trigram index in `run_search_grams`; it finds candidate runs, and their text decides. PostgreSQL has
//! one on `run_search.text` and uses it for `LIKE`.
//!
//! A word of one or two characters has no trigram. Beside a longer word it filters that word's matches; alone, only
//! the newest runs are searched.

use std::fmt::Write as _;

use super::sql::Connection;

/// The maximum number of words; more would not narrow the search.
const MAX_WORDS: usize = 8;
/// The minimum length of an indexed word.
const MIN_CHARS: usize = 3;
/// The number of newest runs searched for a word without trigrams.
pub(super) const MAX_LOOKED_THROUGH: i64 = 10_000;

/// The database engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// The engine of a connection.
    pub(super) fn of(connection: &Connection) -> Self {
        if connection.is_shared() { Self::Postgres } else { Self::Sqlite }
    }
}

/// Conditions on `run_figures`, each with the value for its `?`.
pub(super) fn conditions(engine: Engine, text: &str) -> Vec<(String, String)> {
    // No searched text contains a NUL.
    let words = text.split(|c: char| c.is_whitespace() || c == '\0').filter(|word| !word.is_empty());
    let words: Vec<String> = words.take(MAX_WORDS).map(str::to_lowercase).collect();
    let is_long = |word: &str| word.chars().count() >= MIN_CHARS;
    let mut conditions = Vec::new();
    let long: Vec<&str> = words.iter().map(String::as_str).filter(|word| is_long(word)).collect();
    if engine == Engine::Sqlite && !long.is_empty() {
        let sql = "run IN (SELECT rowid FROM run_search_grams WHERE run_search_grams MATCH ?)";
        conditions.push((sql.to_owned(), grams(&long)));
    }
    let newest = if long.is_empty() {
        format!(" AND run_figures.run > (SELECT coalesce(max(run), 0) FROM run_figures) - {MAX_LOOKED_THROUGH}")
    } else {
        String::new()
    };
    for word in &words {
        let (sql, value) = match engine {
            Engine::Sqlite => {
                let sql =
                    "EXISTS (SELECT 1 FROM run_search AS s WHERE s.run = run_figures.run AND instr(s.text, ?) > 0)";
                (sql, word.clone())
            }
            Engine::Postgres if is_long(word) => {
                ("run IN (SELECT s.run FROM run_search AS s WHERE s.text LIKE ?)", pattern(word))
            }
            Engine::Postgres => {
                let sql = "EXISTS (SELECT 1 FROM run_search AS s WHERE s.run = run_figures.run AND s.text LIKE ?)";
                (sql, pattern(word))
            }
        };
        conditions.push((format!("{sql}{newest}"), value));
    }
    conditions
}

/// An FTS query for all texts with every trigram of every word.
fn grams(words: &[&str]) -> String {
    let mut query = String::new();
    for word in words {
        let chars: Vec<char> = word.chars().collect();
        for gram in chars.windows(MIN_CHARS) {
            let gram: String = gram.iter().collect();
            let and = if query.is_empty() { "" } else { " AND " };
            let _ = write!(query, "{and}\"{}\"", gram.replace('"', "\"\""));
        }
    }
    query
}

/// A `LIKE` pattern for a word.
fn pattern(word: &str) -> String {
    let mut pattern = String::from("%");
    for c in word.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(engine: Engine, text: &str, expected: &[&str]) {
        let values: Vec<String> = conditions(engine, text).into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, expected);
    }

    #[test]
    fn words_are_split_into_trigrams_and_escaped() {
        check(Engine::Sqlite, "Loop", &[r#""loo" AND "oop""#, "loop"]);
        check(Engine::Sqlite, "a\"bc x", &[r#""a""b" AND """bc""#, "a\"bc", "x"]);
        check(Engine::Sqlite, " ab ", &["ab"]);
        check(Engine::Sqlite, "\0 \n", &[]);
        check(Engine::Postgres, r"100%_\ x", &[r"%100\%\_\\%", "%x%"]);
    }

    #[test]
    fn only_a_search_without_a_long_word_is_for_the_newest_runs() {
        for engine in [Engine::Sqlite, Engine::Postgres] {
            let is_cut = |text| conditions(engine, text).iter().any(|(sql, _)| sql.contains("max(run)"));
            assert_eq!(["ab", "a b", "abc", "ab abc"].map(is_cut), [true, true, false, false]);
        }
    }
}
