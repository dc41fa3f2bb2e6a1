//! Translates statements from the dialect of SQLite to that of PostgreSQL.
//!
//! Statements use what both engines know, such as `coalesce`, `CASE`, `ON CONFLICT DO NOTHING` and
//! `IS NOT DISTINCT FROM`. The rest is translated:
//!
//! ```text
//! ?1, or ? in order     $1
//! INDEXED BY name       nothing: PostgreSQL chooses by itself
//! instr(text, part)     strpos(text, part)
//! /* lock p */          FOR UPDATE OF p SKIP LOCKED: locked rows of the table p are skipped
//! /* row lock p */      FOR UPDATE OF p: a locked row is waited for
//! ```

/// The statement for PostgreSQL.
pub(super) fn of_postgres(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len() + 16);
    let (mut rest, mut n_plain) = (sql, 0_usize);
    while let Some(at) = rest.find(['?', '\'', '/', 'I', 'i']) {
        let (before, found) = rest.split_at(at);
        let is_word_start = !text_ends_in_word(before, &text);
        text.push_str(before);
        let (put, n_taken) = match found.as_bytes().first() {
            Some(b'\'') => (None, quoted(found)),
            Some(b'?') if found.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => (Some("$"), 1),
            Some(b'?') => {
                n_plain += 1;
                text.push_str(&format!("${n_plain}"));
                (Some(""), 1)
            }
            Some(b'/') => match lock(found) {
                Some((clause, n_taken)) => {
                    text.push_str(&clause);
                    (Some(""), n_taken)
                }
                None => (None, 1),
            },
            Some(b'I') if is_word_start && found.starts_with(INDEXED) => (Some(""), indexed(found)),
            Some(b'i') if is_word_start && found.starts_with("instr(") => (Some("strpos("), "instr(".len()),
            _ => (None, 1),
        };
        let (taken, left) = found.split_at(n_taken);
        text.push_str(put.unwrap_or(taken));
        rest = left;
    }
    text.push_str(rest);
    text
}

const INDEXED: &str = "INDEXED BY ";

/// The locking clause for a comment, and the length of the comment.
fn lock(text: &str) -> Option<(String, usize)> {
    let (inner, _) = text.strip_prefix("/* ")?.split_once(" */")?;
    let clause = match inner.split(' ').collect::<Vec<_>>()[..] {
        ["lock"] => "FOR UPDATE SKIP LOCKED".to_owned(),
        ["lock", table] => format!("FOR UPDATE OF {table} SKIP LOCKED"),
        ["row", "lock"] => "FOR UPDATE".to_owned(),
        ["row", "lock", table] => format!("FOR UPDATE OF {table}"),
        _ => return None,
    };
    Some((clause, inner.len() + "/*  */".len()))
}

fn text_ends_in_word(before: &str, text: &str) -> bool {
    let last = before.chars().next_back().or_else(|| text.chars().next_back());
    last.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The length of a quoted text; a doubled quote makes two texts, which does no harm.
fn quoted(text: &str) -> usize {
    text.get(1..).and_then(|inner| inner.find('\'')).map_or(text.len(), |end| end + 2)
}

/// The length of `INDEXED BY name`.
fn indexed(text: &str) -> usize {
    let name = text.get(INDEXED.len()..).unwrap_or_default();
    INDEXED.len() + name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_for_one_is_a_text_for_the_other() {
        for (sqlite, postgres) in [
            ("SELECT a FROM b WHERE c = ?1 AND d = ?12", "SELECT a FROM b WHERE c = $1 AND d = $12"),
            ("SELECT '?1 it''s /* lock */', ?1", "SELECT '?1 it''s /* lock */', $1"),
            ("SELECT id FROM pull INDEXED BY pull_owed WHERE x", "SELECT id FROM pull  WHERE x"),
            ("instr(a, ?1) > 0 AND minstr(x) AND In", "strpos(a, $1) > 0 AND minstr(x) AND In"),
            ("SELECT 1 LIMIT 2 /* lock */", "SELECT 1 LIMIT 2 FOR UPDATE SKIP LOCKED"),
            ("SELECT 1 /* row lock */ -- 6/2", "SELECT 1 FOR UPDATE -- 6/2"),
            ("a /* row lock w */ /* lock p */ /* x */", "a FOR UPDATE OF w FOR UPDATE OF p SKIP LOCKED /* x */"),
            ("SELECT 'open", "SELECT 'open"),
            ("a = ? AND b = ?", "a = $1 AND b = $2"),
            ("é ?1 'é' INDEXED BY", "é $1 'é' INDEXED BY"),
        ] {
            assert_eq!(of_postgres(sqlite), postgres);
        }
    }
}
