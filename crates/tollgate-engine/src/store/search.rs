//! Words looked for in what can be searched of a run, by an index of three characters each.
//!
//! SQLite keeps such an index in `run_search_grams`; it names runs that may have a word, and a look into their text says
//! which have. PostgreSQL keeps one on `run_search.text`, and looks there by itself.
//!
//! A word of one or two characters is in no such index. Beside a longer one it is looked for in what that one found;
//! alone, among the newest runs.

use std::fmt::Write as _;

use super::sql::Connection;

/// So many words of a search are looked for; more do not make it narrower.
const MAX_WORDS: usize = 8;
/// A word that is shorter is in no index.
const MIN_CHARS: usize = 3;
/// So many of the newest runs are looked through for a word that is in no index.
pub(super) const MAX_LOOKED_THROUGH: i64 = 10_000;

/// Which database is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// Which one is at the other end of a connection.
    pub(super) fn of(connection: &Connection) -> Self {
        if connection.is_shared() { Self::Postgres } else { Self::Sqlite }
    }
}

/// Conditions on `run_figures`, each with the value for its `?`.
pub(super) fn conditions(engine: Engine, text: &str) -> Vec<(String, String)> {
    // A zero byte is in no text that is searched.
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

/// Asks for all texts that have every three characters of every word, wherever they are.
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

/// Any text with this word in it.
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
    fn words_are_taken_apart_and_no_character_of_them_means_anything() {
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
