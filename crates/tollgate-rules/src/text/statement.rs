//! A tokenizer for SQL statements in the new lines of a hunk.
//!
//! A statement may begin above the hunk or end below it; `whole` says whether it
//! is complete.

use std::borrow::Cow;

use tollgate_core::diff::{FileDiff, Hunk, LineKind};

/// A line of a hunk in the file after the change.
#[derive(Debug)]
pub(super) struct HunkLine<'a> {
    pub(super) number: u32,
    pub(super) text: Cow<'a, str>,
    pub(super) added: bool,
}

/// The lines of a hunk in the file after the change.
pub(super) fn hunk_lines<'a>(file: &'a FileDiff, hunk: &Hunk) -> Vec<HunkLine<'a>> {
    let lines = file.lines(hunk).filter(|line| line.kind != LineKind::Removed);
    lines
        .map(|line| HunkLine {
            number: line.new.unwrap_or(1),
            text: String::from_utf8_lossy(line.text),
            added: line.kind == LineKind::Added,
        })
        .collect()
}

/// A SQL statement.
#[derive(Debug, Default)]
pub(super) struct Statement {
    pub(super) tokens: Vec<Token>,
    /// True when its first and its last token are in the hunk.
    pub(super) whole: bool,
    /// True in the down part of a migration.
    pub(super) undoes: bool,
}

/// An upper-cased word, a punctuation mark, or a string that begins with `'`.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) text: String,
    /// The index of its line in the hunk.
    pub(super) line_index: usize,
}

impl Statement {
    /// The position of a sequence of words.
    pub(super) fn find(&self, words: &[&str]) -> Option<usize> {
        (0..self.tokens.len()).find(|&at| self.is_at(at, words))
    }

    /// True when the sequence of words is at a position.
    pub(super) fn is_at(&self, at: usize, words: &[&str]) -> bool {
        let tokens = self.tokens.get(at..).unwrap_or_default();
        tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| token.text == *word)
    }

    /// True when the statement contains the word.
    pub(super) fn has(&self, word: &str) -> bool {
        self.tokens.iter().any(|token| token.text == word)
    }

    /// The token at a position; empty past the end.
    pub(super) fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }
}

/// Splits lines of SQL into statements. With `from_top`, no statement can have begun above them.
pub(super) fn statements(lines: &[HunkLine<'_>], from_top: bool) -> Vec<Statement> {
    let mut reader = Reader { done: Vec::new(), open: Statement::default(), began: from_top, undoes: false };
    let mut state = State::Code;
    for (line_index, line) in lines.iter().enumerate() {
        state = reader.line(&line.text, line_index, state);
    }
    reader.end(false);
    reader.done
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    Text,
    Comment,
}

struct Reader {
    done: Vec<Statement>,
    open: Statement,
    /// True when the current statement begins inside the hunk.
    began: bool,
    undoes: bool,
}

impl Reader {
    fn end(&mut self, closed: bool) {
        let mut statement = std::mem::take(&mut self.open);
        statement.whole = self.began && closed;
        statement.undoes = self.undoes;
        self.began = self.began || closed;
        if !statement.tokens.is_empty() {
            self.done.push(statement);
        }
    }

    fn line(&mut self, line: &str, line_index: usize, mut state: State) -> State {
        let mut characters = line.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            match (state, character) {
                (State::Comment, '*') if next == Some('/') => {
                    characters.next();
                    state = State::Code;
                }
                (State::Comment, _) => {}
                (State::Text, '\'') if next == Some('\'') => {
                    characters.next();
                }
                (State::Text, '\'') => state = State::Code,
                (State::Text, _) => self.extend(character),
                (State::Code, '-') if next == Some('-') => {
                    self.comment(&line[at..]);
                    return state;
                }
                (State::Code, '/') if next == Some('*') => {
                    characters.next();
                    state = State::Comment;
                }
                (State::Code, '\'') => {
                    self.push("'".to_owned(), line_index);
                    state = State::Text;
                }
                (State::Code, ';') => self.end(true),
                (State::Code, '"' | '`' | '[' | ']') => {}
                (State::Code, character) if character.is_alphanumeric() || character == '_' => {
                    let rest = &line[at..];
                    let len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                    self.push(rest[..len].to_uppercase(), line_index);
                    while characters.peek().is_some_and(|(next, _)| *next < at + len) {
                        characters.next();
                    }
                }
                (State::Code, character) if character.is_whitespace() => {}
                (State::Code, character) => self.push(character.to_string(), line_index),
            }
        }
        state
    }

    fn push(&mut self, text: String, line_index: usize) {
        self.open.tokens.push(Token { text, line_index });
    }

    fn extend(&mut self, character: char) {
        if let Some(token) = self.open.tokens.last_mut().filter(|token| token.text.len() < 200) {
            token.text.push(character);
        }
    }

    /// Recognises the comments of migration tools that separate the up and down parts.
    fn comment(&mut self, comment: &str) {
        let lower = comment.to_ascii_lowercase();
        let is = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if is(&["goose down", "migrate:down", "migrate down", "rollback", "-- down", "-- undo", "--down"]) {
            self.undoes = true;
        } else if is(&["goose up", "migrate:up", "migrate up", "-- up", "changeset"]) {
            self.undoes = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &str, from_top: bool, expected: &[&str]) {
        let lines: Vec<HunkLine<'_>> = sql
            .lines()
            .zip(1..)
            .map(|(line, number)| HunkLine { number, text: Cow::Borrowed(line), added: true })
            .collect();
        let show = |statement: &Statement| {
            let words: Vec<&str> = statement.tokens.iter().map(|token| token.text.as_str()).collect();
            format!("{}{}", if statement.whole { "" } else { "part: " }, words.join(" "))
        };
        assert_eq!(statements(&lines, from_top).iter().map(show).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn strings_and_comments_do_not_end_a_statement() {
        check(
            "delete from t -- where; x\n/* ;\n; */ where a = 'it''s;';\nselect 1;",
            true,
            &["DELETE FROM T WHERE A = 'its;", "SELECT 1"],
        );
    }

    #[test]
    fn a_statement_cut_off_by_a_hunk_is_incomplete() {
        check("where a = 1;\nselect 1;\nselect", false, &["part: WHERE A = 1", "SELECT 1", "part: SELECT"]);
    }
}
