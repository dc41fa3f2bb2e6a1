//! What a hunk shows of a file after the change, cut into statements.
//!
//! A hunk is a window: a statement may begin above it or end below it. Rules
//! that need a whole one ask.

use std::borrow::Cow;

use tollgate_core::diff::{FileDiff, Hunk, LineKind};

/// A line that a hunk shows of the file after the change.
#[derive(Debug)]
pub(super) struct HunkLine<'a> {
    pub(super) number: u32,
    pub(super) text: Cow<'a, str>,
    pub(super) added: bool,
}

/// The lines that a hunk shows of the file after the change.
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

/// A statement of SQL.
#[derive(Debug, Default)]
pub(super) struct Statement {
    pub(super) tokens: Vec<Token>,
    /// True when its first and its last token are in the hunk.
    pub(super) whole: bool,
    /// True when a comment above it begins the part that takes a migration back.
    pub(super) undoes: bool,
}

/// A word in capitals, a mark, or a text that begins with `'`.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) text: String,
    /// Which of the seen lines it is on.
    pub(super) line_index: usize,
}

impl Statement {
    /// Where these words stand one after another.
    pub(super) fn find(&self, words: &[&str]) -> Option<usize> {
        (0..self.tokens.len()).find(|&at| self.is_at(at, words))
    }

    /// True when these words stand at a place, one after another.
    pub(super) fn is_at(&self, at: usize, words: &[&str]) -> bool {
        let tokens = self.tokens.get(at..).unwrap_or_default();
        tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| token.text == *word)
    }

    /// True when the word is anywhere in it.
    pub(super) fn has(&self, word: &str) -> bool {
        self.tokens.iter().any(|token| token.text == word)
    }

    /// The token at a place; empty when there is none.
    pub(super) fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }
}

/// Cuts lines of SQL into statements. `from_top` tells that no statement can have begun above them.
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
    /// True when the open statement's beginning was seen.
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

    /// Comments by which migration tools tell the way up from the way down.
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
    fn texts_and_comments_do_not_end_a_statement() {
        check(
            "delete from t -- where; x\n/* ;\n; */ where a = 'it''s;';\nselect 1;",
            true,
            &["DELETE FROM T WHERE A = 'its;", "SELECT 1"],
        );
    }

    #[test]
    fn what_a_hunk_cuts_off_is_only_a_part() {
        check("where a = 1;\nselect 1;\nselect", false, &["part: WHERE A = 1", "SELECT 1", "part: SELECT"]);
    }
}
