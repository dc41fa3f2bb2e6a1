//! Declarations that a change takes away: public names and tests.
//!
//! A declaration counts as gone when the file loses it and does not gain one of the same name. The look of a line
//! decides, language by language; nothing is parsed.

use std::collections::HashSet;

use crate::language::Language;

/// What the removed lines of a file take away.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Gone {
    /// Where the first public name that is gone was declared.
    pub(super) public: Option<usize>,
    /// Where the first test was declared, when there are fewer tests than before.
    pub(super) tests: Option<usize>,
}

/// Looks for public names and tests in the removed lines of a file's hunks.
pub(super) fn gone(hunks: &[u8], language: Language) -> Gone {
    let mut public = Vec::new();
    let mut tests = Vec::new();
    for (at, line) in marked(hunks, b"\n-") {
        if let Some(name) = public_name(language, line) {
            public.push((at, name));
        }
        if is_test(language, line) {
            tests.push(at);
        }
    }
    if public.is_empty() && tests.is_empty() {
        return Gone::default();
    }
    let mut kept = HashSet::new();
    let mut n_added_tests = 0;
    for (_, line) in marked(hunks, b"\n+") {
        kept.extend(public_name(language, line));
        n_added_tests += usize::from(is_test(language, line));
    }
    Gone {
        public: public.into_iter().find(|(_, name)| !kept.contains(name)).map(|(at, _)| at),
        tests: tests.first().copied().filter(|_| tests.len() > n_added_tests),
    }
}

/// The lines with a mark, and where they begin.
fn marked<'a>(hunks: &'a [u8], mark: &'static [u8; 2]) -> impl Iterator<Item = (usize, &'a [u8])> {
    memchr::memmem::find_iter(hunks, mark).map(|at| {
        let text = &hunks[at + 2..];
        (at + 1, memchr::memchr(b'\n', text).map_or(text, |len| &text[..len]))
    })
}

/// The name that a line makes public, if it does. What has no name of its own stands for itself.
fn public_name(language: Language, line: &[u8]) -> Option<&[u8]> {
    match language {
        Language::Rust => {
            let rest = line.trim_ascii_start().strip_prefix(b"pub ")?;
            Some(name_behind(
                rest,
                &[
                    b"async", b"unsafe", b"const", b"static", b"mut", b"extern", b"fn", b"struct", b"enum", b"trait",
                    b"type", b"mod", b"union",
                ],
            ))
        }
        Language::JavaScript | Language::Jsx | Language::TypeScript | Language::Tsx => {
            if let Some(rest) = line.strip_prefix(b"exports.").or_else(|| line.strip_prefix(b"module.exports.")) {
                return Some(identifier(rest));
            }
            let rest = line.strip_prefix(b"export ")?;
            Some(name_behind(
                rest,
                &[
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
                ],
            ))
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
            let words: &[&[u8]] = &[
                b"fun",
                b"class",
                b"interface",
                b"object",
                b"val",
                b"var",
                b"data",
                b"open",
                b"abstract",
                b"sealed",
                b"suspend",
                b"enum",
            ];
            let first = identifier(line);
            words.contains(&first).then(|| name_behind(line, words))
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
        Language::Rust => starts(&[b"#[test]", b"#[tokio::test", b"#[rstest", b"#[test_case"]),
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

/// The first word that is none of the keywords; the whole text where there is none, as in `export * from "x"`.
fn name_behind<'a>(text: &'a [u8], keywords: &[&[u8]]) -> &'a [u8] {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        let word = identifier(rest);
        if word.is_empty() {
            return text;
        }
        if !keywords.contains(&word) {
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
        let gone = gone(hunks.as_bytes(), language);
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
    fn a_public_name_that_does_not_come_back_is_gone() {
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
    fn what_was_never_public_is_not_gone() {
        check(Language::Rust, "fn a() {\npub(crate) fn b() {\npublic", "", "nothing");
        check(Language::JavaScript, "const exported = 1;\n  export a", "", "nothing");
        check(Language::Markdown, "pub fn a()", "", "nothing");
    }

    #[test]
    fn fewer_tests_than_before_are_gone() {
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
