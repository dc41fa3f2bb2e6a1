//! The protocol between the review and its scanning child process.
//!
//! The parent writes requests and reads one [`Response`] for each [`Request`]. A
//! message is two little-endian lengths, a JSON header and a raw body:
//!
//! ```text
//! 00 00 00 2a  00 00 01 f4  {"Scan":{"path":"a.ts",…}}  const a = 1;…
//! ```
//!
//! A child that stalls, crashes or violates the protocol costs only the file it was
//! scanning. The engine starts, limits and replaces the children.

use std::io::{self, Read, Write};
use std::str::FromStr as _;

use ast_grep_language::SupportLang;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::code::{ScanInput, Scanner};
use crate::highlight::{Highlighter, Span};
use crate::hit::Hit;
use crate::lines::LineSet;
use crate::outline::{self, EnclosingScope};
use crate::select::RuleIndex;
use crate::user::{BadRule, RuleSource, UserRule, UserRuleInfo};

/// Maximum length of a header or body.
pub const MAX_MESSAGE: usize = 64 * 1024 * 1024;

/// A request of the parent.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Use these custom rules from now on.
    UseRules(Vec<RuleSource>),
    /// Scan the text in the body.
    Scan(Scan),
    /// Find the enclosing scopes of line ranges in the text in the body.
    Enclose(EncloseRequest),
    /// Highlight the text in the body.
    Highlight {
        /// The grammar, as rule files name it.
        grammar: String,
    },
    /// Count the parse errors of the text in the body.
    Check {
        /// The grammar, as rule files name it.
        grammar: String,
    },
}

/// Line ranges of a file whose enclosing scopes are requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncloseRequest {
    /// The grammar of the file, as rule files name it.
    pub grammar: String,
    /// The ranges, as first and last line.
    pub places: Vec<(u32, u32)>,
    /// A longer definition is given by its opening line only.
    pub max_lines: u32,
}

/// A file, or a part of one, to scan.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scan {
    /// The path.
    pub path: String,
    /// The grammar, as rule files name it.
    pub grammar: String,
    /// The line number of the text's first line in the file.
    pub first_line: u32,
    /// The lines that findings may be on.
    pub added: LineSet,
    /// The embedded rules to run.
    pub rules: Vec<RuleIndex>,
}

/// A response of the child.
#[derive(Debug, Serialize, Deserialize)]
pub enum Response {
    /// The custom rules, accepted and rejected.
    Rules {
        /// The accepted rules.
        rules: Vec<UserRuleInfo>,
        /// The rejected rule files.
        bad: Vec<BadRule>,
    },
    /// The hits in the file.
    Scanned(Vec<Hit>),
    /// The enclosing scope of each range.
    Enclosed(Vec<Option<EnclosingScope>>),
    /// The tokens; `None` when the grammar has no query or the body is not UTF-8.
    Highlighted(Option<Vec<Span>>),
    /// The number of parse errors; `None` for an unknown grammar.
    Checked(Option<usize>),
}

/// Handles requests until the input ends. `before_scan` resets the limits before each scan.
pub fn serve(mut input: impl Read, mut output: impl Write, mut before_scan: impl FnMut()) -> io::Result<()> {
    let mut scanner = Scanner::default();
    let mut highlighter = Highlighter::default();
    while let Some((request, body)) = read_message::<Request>(&mut input)? {
        let answer = match request {
            Request::UseRules(sources) => {
                let (rules, bad) = UserRule::read_all(&sources);
                let infos = rules.iter().map(UserRule::info).collect();
                scanner = Scanner::new(rules);
                Response::Rules { rules: infos, bad }
            }
            Request::Scan(scan) => {
                before_scan();
                Response::Scanned(run(&mut scanner, &scan, &body))
            }
            Request::Enclose(EncloseRequest { grammar, places, max_lines }) => {
                before_scan();
                let enclose = |grammar| outline::enclose(grammar, &String::from_utf8_lossy(&body), &places, max_lines);
                Response::Enclosed(SupportLang::from_str(&grammar).map_or_else(|_| vec![None; places.len()], enclose))
            }
            Request::Highlight { grammar } => {
                before_scan();
                // Spans are byte offsets, so invalid UTF-8 must not be replaced.
                let text = str::from_utf8(&body).ok();
                let spans = SupportLang::from_str(&grammar).ok().zip(text);
                Response::Highlighted(spans.and_then(|(grammar, text)| highlighter.highlight(grammar, text)))
            }
            Request::Check { grammar } => {
                before_scan();
                let grammar = SupportLang::from_str(&grammar).ok();
                Response::Checked(grammar.map(|grammar| outline::errors(grammar, &String::from_utf8_lossy(&body))))
            }
        };
        write_message(&mut output, &answer, &[])?;
    }
    Ok(())
}

fn run(scanner: &mut Scanner, scan: &Scan, body: &[u8]) -> Vec<Hit> {
    let Ok(grammar) = SupportLang::from_str(&scan.grammar) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(body);
    scanner.scan(&ScanInput {
        path: &scan.path,
        grammar,
        text: &text,
        first_line: scan.first_line.max(1),
        added: &scan.added,
        rules: &scan.rules,
        exact: text.as_bytes() == body,
    })
}

/// Writes one message.
pub fn write_message(output: &mut impl Write, head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    let length = |bytes: &[u8]| {
        u32::try_from(bytes.len()).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "message too long"))
    };
    output.write_all(&length(&head)?.to_le_bytes())?;
    output.write_all(&length(body)?.to_le_bytes())?;
    output.write_all(&head)?;
    output.write_all(body)?;
    output.flush()
}

/// Reads one message; `None` when the input ends before it.
pub fn read_message<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut lengths = [0; 8];
    match input.read_exact(&mut lengths) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let [a, b, c, d, e, f, g, h] = lengths;
    let head = read_part(input, u32::from_le_bytes([a, b, c, d]))?;
    let body = read_part(input, u32::from_le_bytes([e, f, g, h]))?;
    Ok(Some((serde_json::from_slice(&head)?, body)))
}

fn read_part(input: &mut impl Read, length: u32) -> io::Result<Vec<u8>> {
    let length = length as usize;
    if length > MAX_MESSAGE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "message too long"));
    }
    let mut part = vec![0; length];
    input.read_exact(&mut part)?;
    Ok(part)
}
