//! Enclosing definitions of changed lines and syntax checks, by scanning children.
//!
//! Both are optional: a file that stalls or crashes its child is reviewed without the context of its hunks, and a fix that
//! was not checked is not offered. So nothing here fails, and the timeout is shorter than that of the rules.

use std::path::Path;

use tollgate_core::finding::LineRange;
use tollgate_core::plan::Enclosing;
use tollgate_rules::code;
use tollgate_rules::outline::{EnclosingFunction, EnclosingScope, has_definitions};
use tollgate_rules::select::grammar_name;
use tollgate_rules::worker::{EncloseRequest, Request, Response};

use super::pool::Pool;
use crate::config::Limits;

/// A definition with more lines is named by the line that opens it.
const MAX_LINES: u32 = 120;

/// A file with more places than this is a list of data, or made to be slow.
const MAX_PLACES: usize = 2_000;

/// The limit on processor time for one file; short, because a user waits and the gain is small.
const MAX_CPU_SECONDS: u64 = 2;

/// After this many failures the change is taken for an attack, and the rest is skipped.
const MAX_LOST: usize = 3;

/// A file, with the lines whose enclosing definitions are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Outlined<'a> {
    /// Its path, which tells its grammar.
    pub path: &'a [u8],
    /// Its text after the change.
    pub text: &'a [u8],
    /// The lines; without any, no child is started for it.
    pub places: &'a [LineRange],
}

/// Finds the definition that encloses each place of each file; `None` where there is none or the scan failed.
pub fn enclose(executable: &Path, limits: Limits, files: &[Outlined<'_>]) -> Vec<Vec<Option<Enclosing>>> {
    let known = |scope: Option<EnclosingScope>| {
        let EnclosingScope { lines, crumbs, .. } = scope?;
        let is_known = lines.is_some() || !crumbs.is_empty();
        is_known.then(|| Enclosing { lines: lines.and_then(|(start, end)| LineRange::new(start, end)), crumbs })
    };
    scopes(executable, limits, files, &|_, scope| known(scope))
}

/// The name of the scope of lines outside of all definitions.
const TOP_LEVEL: &str = "(top level)";

/// The function around a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name, with the names of the definitions around it.
    pub name: String,
    /// Its lines; `None` at the top level of the file.
    pub lines: Option<LineRange>,
}

/// Finds the function around each place of each file; `None` where the language has none or the scan failed.
#[must_use]
pub fn functions(executable: &Path, limits: Limits, files: &[Outlined<'_>]) -> Vec<Vec<Option<Function>>> {
    scopes(executable, limits, files, &|path, scope| {
        let of_grammar = || code::grammar_of(&String::from_utf8_lossy(path)).is_some_and(has_definitions);
        match scope.and_then(|scope| scope.function) {
            Some(EnclosingFunction { name, lines: (start, end) }) => {
                Some(Function { name, lines: LineRange::new(start, end) })
            }
            None => of_grammar().then(|| Function { name: TOP_LEVEL.to_owned(), lines: None }),
        }
    })
}

/// Reads what a caller wants to know of a scope, by the text of its file.
type ReadScope<'a, T> = &'a dyn Fn(&[u8], Option<EnclosingScope>) -> Option<T>;

/// Finds the scope of each place of each file; `None` where the scan failed.
fn scopes<T: Clone>(
    executable: &Path,
    limits: Limits,
    files: &[Outlined<'_>],
    known: ReadScope<'_, T>,
) -> Vec<Vec<Option<T>>> {
    let asked: Vec<(usize, &'static str, &[u8])> = files
        .iter()
        .enumerate()
        .filter(|(_, file)| (1..=MAX_PLACES).contains(&file.places.len()))
        .filter_map(|(index, file)| Some((index, grammar(file.path, file.text, limits)?, file.text)))
        .collect();
    let request = |index: usize, grammar: &str| {
        let places = files[index].places.iter().map(|place| (place.start(), place.end())).collect();
        Request::Enclose(EncloseRequest { grammar: grammar.to_owned(), places, max_lines: MAX_LINES })
    };
    let mut enclosing: Vec<Vec<Option<T>>> = files.iter().map(|file| vec![None; file.places.len()]).collect();
    for ((index, ..), answer) in asked.iter().zip(ask(executable, limits, &asked, &request)) {
        if let Some(Response::Enclosed(enclosed)) = answer
            && enclosed.len() == enclosing[*index].len()
        {
            enclosing[*index] = enclosed.into_iter().map(|enclosed| known(files[*index].path, enclosed)).collect();
        }
    }
    enclosing
}

/// Counts the syntax errors of each text, given with its path; `None` where the scan failed.
pub fn parse_errors(executable: &Path, limits: Limits, texts: &[(&[u8], &[u8])]) -> Vec<Option<usize>> {
    let asked: Vec<(usize, &'static str, &[u8])> = texts
        .iter()
        .enumerate()
        .filter_map(|(index, (path, text))| Some((index, grammar(path, text, limits)?, *text)))
        .collect();
    let request = |_: usize, grammar: &str| Request::Check { grammar: grammar.to_owned() };
    let mut errors = vec![None; texts.len()];
    for ((index, ..), answer) in asked.iter().zip(ask(executable, limits, &asked, &request)) {
        if let Some(Response::Checked(n_errors)) = answer {
            errors[*index] = n_errors;
        }
    }
    errors
}

/// Sends a request for each text, given with its index and grammar.
fn ask(
    executable: &Path,
    limits: Limits,
    asked: &[(usize, &'static str, &[u8])],
    request: &(dyn Fn(usize, &str) -> Request + Sync),
) -> Vec<Option<Response>> {
    let limits = Limits { cpu_seconds: limits.cpu_seconds.min(MAX_CPU_SECONDS), ..limits };
    let n_bytes = asked.iter().map(|(_, _, text)| text.len()).sum();
    Pool::new(executable, limits).ask_each((asked.len(), n_bytes), MAX_LOST, &|at| {
        let (index, grammar, text) = asked[at];
        (request(index, grammar), text.to_vec())
    })
}

/// The grammar of a text that is not too large to be parsed.
fn grammar(path: &[u8], text: &[u8], limits: Limits) -> Option<&'static str> {
    let grammar = code::grammar_of(&String::from_utf8_lossy(path))?;
    (text.len() as u64 <= limits.file_bytes).then(|| grammar_name(grammar))
}
