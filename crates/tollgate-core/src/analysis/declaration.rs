//! Removed declarations: public names and tests that a change deletes.
//!
//! A declaration counts as removed when no added line of the file declares the same name. Lines are matched by prefixes per
//! language; nothing is parsed.

use std::collections::HashSet;
use std::sync::OnceLock;

use memchr::memmem;

use crate::diff::line_feeds::Feeds;
use crate::language::Language;

/// The first removed declaration of each kind, as offsets into the hunk bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RemovedDeclarations {
    /// The first public name that is not declared again.
    pub(super) public: Option<usize>,
    /// The first removed test, when the file has fewer tests than before.
    pub(super) tests: Option<usize>,
}

/// The number of removed names that are searched one by one before a hash set of all added names is built.
const N_SEARCHED_SINGLY: usize = 4;

/// Keywords before the name of a Rust item.
const RUST_KEYWORDS: &[&[u8]] = &[
    b"async", b"unsafe", b"const", b"static", b"mut", b"extern", b"fn", b"struct", b"enum", b"trait", b"type", b"mod",
    b"union",
];

/// Keywords before the name of an exported JavaScript or TypeScript item.
const SCRIPT_KEYWORDS: &[&[u8]] = &[
    b"default",
    b"declare",
    b"abstract",
    b"async",
    b"function",
    b"class",
    b"const",
    b"let",
    b"var",
    b"interface",
    b"type",
    b"enum",
    b"namespace",
];

/// The kinds of declaration to search for in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeclarationScope {
    /// Public names, and unit tests next to the code.
    Source,
    /// Tests.
    Tests,
}

/// Finds public names and tests in the removed lines of a file's hunks.
pub(super) fn find_removed(hunks: &[u8], language: Language, wanted: DeclarationScope) -> RemovedDeclarations {
    match wanted {
        DeclarationScope::Source => RemovedDeclarations {
            public: public_keywords(language).and_then(|keywords| removed_public_name(hunks, language, keywords)),
            tests: if language == Language::Rust { removed_rust_test(hunks) } else { None },
        },
        DeclarationScope::Tests => RemovedDeclarations { public: None, tests: removed_test(hunks, language) },
    }
}

/// Keywords of which every public declaration has one: a vector search for them skips all other lines.
fn public_keywords(language: Language) -> Option<&'static [memmem::Finder<'static>]> {
    static RUST: OnceLock<[memmem::Finder<'static>; 1]> = OnceLock::new();
    static JAVASCRIPT: OnceLock<[memmem::Finder<'static>; 1]> = OnceLock::new();
    static PYTHON: OnceLock<[memmem::Finder<'static>; 2]> = OnceLock::new();
    static GO: OnceLock<[memmem::Finder<'static>; 4]> = OnceLock::new();
    static PUBLIC: OnceLock<[memmem::Finder<'static>; 1]> = OnceLock::new();
    static KOTLIN: OnceLock<[memmem::Finder<'static>; 5]> = OnceLock::new();
    let find = memmem::Finder::new::<str>;
    Some(match language {
        Language::Rust => RUST.get_or_init(|| ["pub "].map(find)),
        Language::JavaScript | Language::Jsx | Language::TypeScript | Language::Tsx => {
            JAVASCRIPT.get_or_init(|| ["export"].map(find))
        }
        Language::Python => PYTHON.get_or_init(|| ["def ", "class "].map(find)),
        Language::Go => GO.get_or_init(|| ["func ", "type ", "var ", "const "].map(find)),
        Language::Java | Language::CSharp | Language::Php | Language::Swift | Language::Scala => {
            PUBLIC.get_or_init(|| ["public "].map(find))
        }
        Language::Kotlin => KOTLIN.get_or_init(|| ["fun ", "class ", "interface ", "object ", "va"].map(find)),
        _ => return None,
    })
}

/// The offset of the first removed public name that is not declared again.
fn removed_public_name(hunks: &[u8], language: Language, keywords: &[memmem::Finder<'static>]) -> Option<usize> {
    let lines = || keywords.iter().flat_map(|keyword| lines_with(hunks, keyword));
    let named = |(start, line)| Some((start, public_name(language, line)?));
    // In most files one of the first names decides, so only that one is searched and the rest of the file is not read.
    let first = lines().filter(|(start, _)| hunks[*start] == b'-').filter_map(named).take(N_SEARCHED_SINGLY);
    let mut n_kept = 0;
    for (start, name) in first {
        let finder = memmem::Finder::new(name);
        let is_kept = |(start, line)| hunks[start] == b'+' && public_name(language, line) == Some(name);
        if !lines_with(hunks, &finder).any(is_kept) {
            return Some(start);
        }
        n_kept += 1;
    }
    if n_kept < N_SEARCHED_SINGLY {
        return None;
    }
    let (removed, added): (Vec<_>, Vec<_>) = lines().filter_map(named).partition(|(start, _)| hunks[*start] == b'-');
    let kept: HashSet<&[u8]> = added.into_iter().map(|(_, name)| name).collect();
    removed.into_iter().find(|(_, name)| !kept.contains(name)).map(|(start, _)| start)
}

/// The changed lines that contain a word, with their offsets.
fn lines_with<'a>(hunks: &'a [u8], word: &'a memmem::Finder<'_>) -> impl Iterator<Item = (usize, &'a [u8])> {
    let mut last_hit = 0;
    word.find_iter(hunks).filter_map(move |hit| {
        // A second hit in the same line adds nothing; the first line is a hunk header.
        let from = std::mem::replace(&mut last_hit, hit);
        let start = from + memchr::memrchr(b'\n', &hunks[from..hit])? + 1;
        matches!(hunks[start], b'-' | b'+').then(|| (start, line_at(hunks, start + 1)))
    })
}

/// The offset of the first removed test, if more tests are removed than added.
fn removed_test(hunks: &[u8], language: Language) -> Option<usize> {
    let mut tests = marked(hunks, b'-').filter(|(_, line)| is_test(language, line)).map(|(at, _)| at);
    let first = tests.next()?;
    let n_removed = 1 + tests.count();
    let n_added = marked(hunks, b'+').filter(|(_, line)| is_test(language, line)).take(n_removed).count();
    (n_added < n_removed).then_some(first)
}

/// [`removed_test`] for Rust source files, where a search for `test]` skips nearly all lines.
fn removed_rust_test(hunks: &[u8]) -> Option<usize> {
    static MARK: OnceLock<memmem::Finder<'static>> = OnceLock::new();
    let mark = MARK.get_or_init(|| memmem::Finder::new("test]"));
    let tests = lines_with(hunks, mark).filter(|(_, line)| is_test(Language::Rust, line)).map(|(at, _)| at);
    let (removed, added): (Vec<_>, Vec<_>) = tests.partition(|&at| hunks[at] == b'-');
    removed.iter().min().copied().filter(|_| removed.len() > added.len())
}

/// The lines with the given diff marker, with their offsets.
fn marked(hunks: &[u8], mark: u8) -> impl Iterator<Item = (usize, &[u8])> {
    let starts = Feeds::new(hunks).map(|feed| feed + 1).filter(move |&start| hunks.get(start) == Some(&mark));
    starts.map(|start| (start, line_at(hunks, start + 1)))
}

fn line_at(hunks: &[u8], start: usize) -> &[u8] {
    let text = hunks.get(start..).unwrap_or_default();
    memchr::memchr(b'\n', text).map_or(text, |len| &text[..len])
}

/// The name that a line declares public. A declaration without a name, such as `export *`, stands for itself.
fn public_name(language: Language, line: &[u8]) -> Option<&[u8]> {
    match language {
        Language::Rust => {
            let rest = line.trim_ascii_start().strip_prefix(b"pub ")?;
            Some(name_after(rest, |word| RUST_KEYWORDS.contains(&word)))
        }
        Language::JavaScript | Language::Jsx | Language::TypeScript | Language::Tsx => {
            if let Some(rest) = line.strip_prefix(b"exports.").or_else(|| line.strip_prefix(b"module.exports.")) {
                return Some(identifier(rest));
            }
            let rest = line.strip_prefix(b"export ")?;
            Some(name_after(rest, |word| SCRIPT_KEYWORDS.contains(&word)))
        }
        Language::Python => {
            let rest = line.strip_prefix(b"async ").unwrap_or(line);
            let rest = rest.strip_prefix(b"def ").or_else(|| rest.strip_prefix(b"class "))?;
            Some(identifier(rest)).filter(|name| !name.starts_with(b"_"))
        }
        Language::Go => {
            let rest =
                [&b"func "[..], b"type ", b"var ", b"const "].iter().find_map(|word| line.strip_prefix(*word))?;
            // `func (r *Reader) Read()` is the method of a type.
            let rest = match rest.strip_prefix(b"(") {
                Some(receiver) => receiver.get(memchr::memchr(b')', receiver)? + 1..)?.trim_ascii_start(),
                None => rest,
            };
            Some(identifier(rest)).filter(|name| name.first().is_some_and(u8::is_ascii_uppercase))
        }
        Language::Java | Language::CSharp | Language::Php | Language::Swift | Language::Scala => {
            let rest = line.trim_ascii_start().strip_prefix(b"public ")?;
            let end =
                rest.iter().position(|byte| matches!(byte, b'(' | b'{' | b'=' | b';' | b':')).unwrap_or(rest.len());
            let words = rest[..end].trim_ascii_end();
            let start = words.iter().rposition(|byte| byte.is_ascii_whitespace()).map_or(0, |space| space + 1);
            Some(&words[start..])
        }
        Language::Kotlin => {
            let is_keyword = |word: &[u8]| {
                let kinds = matches!(word, b"fun" | b"class" | b"interface" | b"object" | b"val" | b"var" | b"enum");
                kinds || matches!(word, b"data" | b"open" | b"abstract" | b"sealed" | b"suspend")
            };
            is_keyword(identifier(line)).then(|| name_after(line, is_keyword))
        }
        _ => None,
    }
    .filter(|name| !name.is_empty())
}

/// True when a line declares a test.
fn is_test(language: Language, line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    let starts = |words: &[&[u8]]| words.iter().any(|word| text.starts_with(word));
    match language {
        Language::Rust => starts(&[b"#[test", b"#[tokio::test"]),
        Language::Python => starts(&[b"def test_", b"async def test_"]),
        Language::JavaScript | Language::Jsx | Language::TypeScript | Language::Tsx => {
            starts(&[b"it(", b"test(", b"it.each", b"test.each"])
        }
        Language::Go => starts(&[b"func Test", b"func Fuzz"]),
        Language::Java | Language::Kotlin | Language::Groovy | Language::Scala => {
            starts(&[b"@Test", b"@ParameterizedTest"])
        }
        Language::CSharp => starts(&[b"[Fact", b"[Theory", b"[Test]", b"[TestCase", b"[TestMethod"]),
        Language::Ruby => starts(&[b"it \"", b"it '", b"def test_", b"specify "]),
        Language::Php => starts(&[b"public function test", b"function test", b"#[Test]"]),
        Language::Swift => starts(&[b"func test", b"@Test"]),
        Language::Elixir => starts(&[b"test \""]),
        Language::Dart => starts(&[b"test('", b"testWidgets("]),
        Language::Cpp | Language::C => starts(&[b"TEST(", b"TEST_F(", b"TEST_P(", b"TEST_CASE("]),
        _ => false,
    }
}

/// The first word that is not a keyword, or the whole text if there is none, as in `export * from "x"`.
fn name_after(text: &[u8], is_keyword: impl Fn(&[u8]) -> bool) -> &[u8] {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        let word = identifier(rest);
        if word.is_empty() {
            return text;
        }
        if !is_keyword(word) {
            return word;
        }
        rest = rest[word.len()..].strip_prefix(b"*").unwrap_or(&rest[word.len()..]);
    }
}

fn identifier(text: &[u8]) -> &[u8] {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
    &text[..text.iter().take_while(|byte| is_part(byte)).count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(language: Language, removed: &str, added: &str, expected: &str) {
        let hunks = format!("@@ -1,9 +1,9 @@\n-{}\n+{}\n", removed.replace('\n', "\n-"), added.replace('\n', "\n+"));
        let source = find_removed(hunks.as_bytes(), language, DeclarationScope::Source);
        let gone = RemovedDeclarations {
            tests: find_removed(hunks.as_bytes(), language, DeclarationScope::Tests).tests,
            ..source
        };
        let line = |at: Option<usize>| {
            at.map(|at| hunks[at..].lines().next().unwrap_or_default().trim_start_matches('-').trim().to_owned())
        };
        let shown = match (line(gone.public), line(gone.tests)) {
            (None, None) => "nothing".to_owned(),
            (Some(public), None) => format!("public {public}"),
            (None, Some(test)) => format!("test {test}"),
            (Some(public), Some(test)) => format!("public {public}, test {test}"),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_public_name_that_is_not_declared_again_is_reported() {
        check(Language::Rust, "pub fn a() {\npub fn b() {", "pub fn a(x: u8) {", "public pub fn b() {");
        check(
            Language::Rust,
            "    pub async unsafe fn a() {",
            "    pub(crate) fn a() {",
            "public pub async unsafe fn a() {",
        );
        check(Language::TypeScript, "export const a = 1;\nexport default class B {", "", "public export const a = 1;");
        check(Language::TypeScript, "export * from './a';", "export * from './a';\nx", "nothing");
        check(Language::Python, "def _a():\ndef b(x):\n    def c():", "", "public def b(x):");
        check(Language::Go, "func (r *R) read() {\nfunc (r *R) Read() {", "", "public func (r *R) Read() {");
        check(
            Language::Java,
            "  public static int a(int x) {",
            "  private static int a(int x) {",
            "public public static int a(int x) {",
        );
        check(Language::Kotlin, "fun a() {\nprivate fun b() {", "suspend fun a() {", "nothing");
    }

    #[test]
    fn private_names_are_not_reported_as_removed() {
        check(Language::Rust, "fn a() {\npub(crate) fn b() {\npublic", "", "nothing");
        check(Language::JavaScript, "const exported = 1;\n  export a", "", "nothing");
        check(Language::Markdown, "pub fn a()", "", "nothing");
    }

    #[test]
    fn removed_tests_are_reported_when_the_file_has_fewer() {
        check(Language::Rust, "#[test]\nfn a() {}\n    #[test]", "#[test]", "test #[test]");
        check(Language::Python, "    def test_a(self):", "    def test_b(self):", "nothing");
        check(Language::TypeScript, "  it('works', () => {", "", "test it('works', () => {");
        check(
            Language::Go,
            "func TestA(t *testing.T) {",
            "",
            "public func TestA(t *testing.T) {, test func TestA(t *testing.T) {",
        );
    }
}
