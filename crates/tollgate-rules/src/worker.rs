//! Scanning in a child process: what is said over the pipe.
//!
//! The parent writes one [`Request`] after the other and reads one [`Response`]
//! for each. A message is two little-endian lengths, a JSON head and a raw body:
//!
//! ```text
//! 00 00 00 2a  00 00 01 f4  {"Scan":{"path":"a.ts",…}}  const a = 1;…
//! ```
//!
//! A child that stalls, crashes or talks nonsense costs the file it was working
//! on; who starts it, limits it and replaces it is not decided here.

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

/// The longest head or body that is read.
pub const MAX_MESSAGE: usize = 64 * 1024 * 1024;

/// What the parent asks.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Take these rules of the user's from now on.
    UseRules(Vec<RuleSource>),
    /// Scan the text in the body.
    Scan(Scan),
    /// Say what encloses places in the text in the body.
    Enclose(EncloseRequest),
    /// Say what the words of the text in the body are.
    Highlight {
        /// Its grammar, as rule files name it.
        grammar: String,
    },
    /// Count what cannot be parsed of the text in the body.
    Check {
        /// Its grammar, as rule files name it.
        grammar: String,
    },
}

/// Places in a file of which is asked what encloses them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncloseRequest {
    /// The grammar of the file, as rule files name it.
    pub grammar: String,
    /// The places, as first and last lines.
    pub places: Vec<(u32, u32)>,
    /// A definition with more lines is named, not given.
    pub max_lines: u32,
}

/// A file, or a part of one, to be scanned.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scan {
    /// Its path.
    pub path: String,
    /// Its grammar, as rule files name it.
    pub grammar: String,
    /// The number of the text's first line in the file.
    pub first_line: u32,
    /// The lines that findings may be on.
    pub added: LineSet,
    /// The embedded rules to run.
    pub rules: Vec<RuleIndex>,
}

/// What the child answers.
#[derive(Debug, Serialize, Deserialize)]
pub enum Response {
    /// The user's rules as understood, and those that were not.
    Rules {
        /// Rules that will run.
        rules: Vec<UserRuleInfo>,
        /// Rules that will not.
        bad: Vec<BadRule>,
    },
    /// What the rules say of the file.
    Scanned(Vec<Hit>),
    /// What encloses each place.
    Enclosed(Vec<Option<EnclosingScope>>),
    /// What the words are; `None` when nobody knows, or the text is none.
    Highlighted(Option<Vec<Span>>),
    /// How many places cannot be parsed; `None` when there is no such grammar.
    Checked(Option<usize>),
}

/// Answers requests until the input ends. `before_scan` is called before each scan, to set limits anew.
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
                // Places are those of the very bytes, so nothing may be replaced.
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
