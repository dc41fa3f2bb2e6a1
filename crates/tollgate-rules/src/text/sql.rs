//! Detects SQL statements that lose data, lock tables or grant access to all users.

use tollgate_core::diff::Status;

use crate::hit::Hit;
use crate::text::File;
use crate::text::file_class::is_sql;
use crate::text::secrets::is_placeholder;
use crate::text::statement::{HunkLine, Statement, hunk_lines, statements};

const GRANT: &str = "sql-grant-all";
const NO_WHERE: &str = "sql-no-where";
const DROP: &str = "sql-drop-in-migration";
const NOT_NULL: &str = "sql-not-null-without-default";
const INDEX: &str = "sql-index-locks-table";
const PASSWORD: &str = "sql-plaintext-password";

/// Properties of the SQL file that the rules depend on.
struct Script {
    migration: bool,
    /// Tables that the file creates, which are still empty.
    made: Vec<String>,
    postgres: bool,
}

pub(super) fn scan(file: &File<'_>, hits: &mut Vec<Hit>) {
    if !is_sql(file.path()) || file.diff.n_added == 0 || file.class().test || file.class().generated {
        return;
    }
    let path = String::from_utf8_lossy(file.path()).to_ascii_lowercase();
    if ["seed", "fixture", "dump", "backup", "rollback", "undo"].iter().any(|word| path.contains(word)) {
        return;
    }
    let down = path.ends_with("down.sql") || path.contains("/down/");
    let parts: Vec<(Vec<HunkLine<'_>>, Vec<Statement>)> = file
        .diff
        .hunks
        .iter()
        .map(|hunk| {
            let lines = hunk_lines(file.diff, hunk);
            let statements = statements(&lines, hunk.new_start <= 1 || file.diff.status == Status::Added);
            (lines, statements)
        })
        .collect();
    let script = Script {
        migration: ["migration", "migrate", "alembic", "flyway", "changelog"].iter().any(|word| path.contains(word))
            && !down,
        made: parts.iter().flat_map(|(_, statements)| statements).filter_map(made_table).collect(),
        postgres: parts.iter().flat_map(|(_, statements)| statements).any(is_postgres),
    };
    for (lines, statements) in &parts {
        for statement in statements {
            for (rule, at) in violations(statement, &script) {
                let line = statement.tokens.get(at).and_then(|token| lines.get(token.line_index));
                if let Some(line) = line.filter(|line| line.added && file.enabled(rule)) {
                    hits.push(hit(file, rule, line, statement));
                }
            }
        }
    }
}

fn hit(file: &File<'_>, rule: &str, line: &HunkLine<'_>, statement: &Statement) -> Hit {
    let hit = file.hit(rule, Some(line.number), line.text.as_bytes());
    if rule != PASSWORD {
        return hit;
    }
    // The password is a string on this line, so strings are masked.
    let words: Vec<&str> = statement.tokens.iter().take(3).map(|token| token.text.as_str()).collect();
    Hit { evidence: format!("{} … '…'", words.join(" ")), ..hit }
}

/// The rules that a statement violates, each with the token to report.
fn violations(statement: &Statement, script: &Script) -> Vec<(&'static str, usize)> {
    let mut found = Vec::new();
    let verb = (0..statement.tokens.len())
        .find(|&at| !matches!(statement.word(at), "BEGIN" | "THEN" | "ELSE" | "$" | "AS"))
        .unwrap_or(0);
    found.extend(grant(statement, verb).map(|at| (GRANT, at)));
    found.extend(password(statement, verb).map(|at| (PASSWORD, at)));
    if statement.whole && no_where(statement, verb, script) {
        found.push((NO_WHERE, verb));
    }
    if script.migration && !statement.undoes {
        found.extend(drops(statement, verb, script).map(|at| (DROP, at)));
        found.extend(not_null(statement, verb, script).map(|at| (NOT_NULL, at)));
        found.extend(index(statement, verb, script).map(|at| (INDEX, at)));
    }
    found
}

fn made_table(statement: &Statement) -> Option<String> {
    let at = statement.find(&["CREATE", "TABLE"]).or_else(|| statement.find(&["TABLE", "IF", "NOT", "EXISTS"]))?;
    table_after(statement, statement.find(&["TABLE"]).unwrap_or(at) + 1)
}

/// The table named at a token, without its schema.
fn table_after(statement: &Statement, at: usize) -> Option<String> {
    let skipped = ["IF", "NOT", "EXISTS", "ONLY"];
    let mut at = (at..statement.tokens.len()).find(|&at| !skipped.contains(&statement.word(at)))?;
    while statement.word(at + 1) == "." {
        at += 2;
    }
    Some(statement.word(at).to_owned())
}

fn is_postgres(statement: &Statement) -> bool {
    let words = [
        "JSONB",
        "TIMESTAMPTZ",
        "PLPGSQL",
        "BIGSERIAL",
        "CONCURRENTLY",
        "TSVECTOR",
        "CITEXT",
        "PG_CATALOG",
        "GIN",
        "GIST",
    ];
    words.iter().any(|word| statement.has(word)) || statement.find(&[":", ":"]).is_some()
}

fn grant(statement: &Statement, verb: usize) -> Option<usize> {
    let all = statement.is_at(verb, &["GRANT", "ALL"]);
    let writes = statement.is_at(verb, &["GRANT"])
        && ["INSERT", "UPDATE", "DELETE", "ALL"].iter().any(|right| statement.has(right));
    let to_public = statement.find(&["TO", "PUBLIC"]).is_some();
    let on_everything = statement.find(&["ON", "*", ".", "*"]).is_some();
    ((writes && to_public) || (all && on_everything)).then_some(verb)
}

fn password(statement: &Statement, verb: usize) -> Option<usize> {
    let user = matches!(statement.word(verb), "CREATE" | "ALTER" | "SET" | "GRANT");
    let text = |at: usize| statement.word(at).strip_prefix('\'');
    let given = |at: usize| match statement.word(at) {
        "PASSWORD" => text(at + 1).or_else(|| (statement.word(at + 1) == "=").then(|| text(at + 2)).flatten()),
        "IDENTIFIED" if statement.word(at + 1) == "BY" => text(at + 2),
        _ => None,
    };
    let hashed = |text: &str| ["md5", "SCRAM-", "*", "$", "0x"].iter().any(|prefix| text.starts_with(prefix));
    let real =
        |text: &str| text.len() >= 4 && !hashed(text) && !is_placeholder(text.as_bytes()) && !text.starts_with(':');
    user.then(|| (verb..statement.tokens.len()).find(|&at| given(at).is_some_and(real))).flatten()
}

fn no_where(statement: &Statement, verb: usize, script: &Script) -> bool {
    let deletes = statement.is_at(verb, &["DELETE", "FROM"]);
    // Migrations update all rows to fill a new column.
    let updates = statement.is_at(verb, &["UPDATE"]) && statement.has("SET") && !script.migration;
    let narrowed = ["WHERE", "LIMIT", "JOIN", "USING", "FROM"]
        .iter()
        .any(|word| statement.tokens.iter().skip(verb + 2).any(|token| token.text == *word));
    let table = table_after(statement, verb + if deletes { 2 } else { 1 }).unwrap_or_default();
    let temporary = script.made.contains(&table) || is_temporary(&table);
    (deletes || updates) && !narrowed && !temporary
}

/// True for the name of a temporary table.
fn is_temporary(table: &str) -> bool {
    table.starts_with("TMP") || table.starts_with("TEMP") || table.starts_with(['@', '#', ':'])
}

fn drops(statement: &Statement, verb: usize, script: &Script) -> Option<usize> {
    if statement.is_at(verb, &["DROP", "TABLE"]) {
        let table = table_after(statement, verb + 2)?;
        // A temporary table is gone with its session anyway.
        let temporary = is_temporary(&table);
        return (!temporary && !script.made.contains(&table)).then_some(verb);
    }
    let alters = statement.is_at(verb, &["ALTER", "TABLE"]);
    statement.find(&["DROP", "COLUMN"]).filter(|_| alters)
}

fn not_null(statement: &Statement, verb: usize, script: &Script) -> Option<usize> {
    if !statement.is_at(verb, &["ALTER", "TABLE"])
        || table_after(statement, verb + 2).is_some_and(|table| script.made.contains(&table))
    {
        return None;
    }
    let mut depth = 0;
    let mut clause = verb;
    for at in verb..=statement.tokens.len() {
        match statement.word(at) {
            "(" => depth += 1,
            ")" => depth -= 1,
            "" | "," if depth <= 0 => {
                if let Some(found) = adds_not_null(statement, clause, at) {
                    return statement.whole.then_some(found);
                }
                clause = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// The position of `ADD` in a clause that adds a `NOT NULL` column without a default.
fn adds_not_null(statement: &Statement, from: usize, to: usize) -> Option<usize> {
    let words: Vec<&str> = (from..to).map(|at| statement.word(at)).collect();
    let add = words.iter().position(|word| *word == "ADD")?;
    let constraint =
        ["CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "INDEX", "KEY", "FULLTEXT", "PARTITION", "VALUE"];
    let given =
        ["DEFAULT", "GENERATED", "IDENTITY", "AUTO_INCREMENT", "SERIAL", "BIGSERIAL", "AUTOINCREMENT", "ROWVERSION"];
    let is_column = words.get(add + 1).is_some_and(|word| !constraint.contains(word));
    let not_null = words.windows(2).any(|pair| pair == ["NOT", "NULL"]);
    (is_column && not_null && !words.iter().any(|word| given.contains(word))).then_some(from + add)
}

fn index(statement: &Statement, verb: usize, script: &Script) -> Option<usize> {
    let creates = statement.is_at(verb, &["CREATE", "INDEX"]) || statement.is_at(verb, &["CREATE", "UNIQUE", "INDEX"]);
    let table = statement.find(&["ON"]).and_then(|at| table_after(statement, at + 1))?;
    (script.postgres && creates && !statement.has("CONCURRENTLY") && !script.made.contains(&table)).then_some(verb)
}
