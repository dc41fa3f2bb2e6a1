//! Line-based heuristics for statements, declarations, tests and assertions.
//!
//! A diff shows only parts of a file, so nothing here parses. Each function gives
//! an answer only where the text of a line and its indentation are unambiguous.

use std::collections::HashSet;
use std::ops::Range;

use crate::change::path::Language;
use crate::change::view::{File, Line, Pattern, View, names, patterns};

patterns! {
    RUST_TEST ["#["] = r"^\s*#\[(?:\w+::)*(?:test|rstest)\b";
    PYTHON_TEST ["def test_"] = r"^\s*(?:async )?def (test_\w+)";
    SCRIPT_TEST ["it(", "it.", "test(", "test."] = r#"^\s*(?:it|test)(?:\.only|\.each\([^)]*\))?\(\s*(?:"([^"]+)"|'([^']+)'|`([^`]+)`)"#;
    GO_TEST ["func Test"] = r"^func (Test\w+)\(";
    JAVA_TEST ["Test"] = r"^\s*@(?:Test|ParameterizedTest|RepeatedTest)\b";
    CSHARP_TEST ["["] = r"^\s*\[(?:Fact|Theory|Test|TestMethod|TestCase)\b";
    RUBY_TEST ["test", "it ", "specify", "scenario"] = r#"^\s*(?:def (test_\w+)|(?:it|test|specify|scenario) (?:"([^"]+)"|'([^']+)'))"#;
    PHP_TEST ["test", "it("] = r#"^\s*(?:public )?function (test\w+)|^\s*(?:it|test)\(\s*'([^']+)'"#;
    ASSERTION ["ssert", "xpect", "Equal", "Same", "True", "False", "Null", "equire.", "t.Error", "t.Fatal", "verify(", "should", "refute", "to"] = concat!(
        r"^\s*(?:await |yield |return |self\.|this\.|Assert\.|\}?\.)*(?:assert\w*!?(?:\.\w+)*\s*[( ]",
        r"|expect(?:_\w+)?[({. ]|(?:Are|Is|Not)?(?:Equal|Same|True|False|Null)\w*\(|require\.\w+\(",
        r"|t\.(?:Error|Fatal)f?\(|verify\(|should[. ]|refute\w*[( ]|\.should|to(?:Be|Equal|Have|Match",
        r"|Throw)\w*\()",
    );
    CLOSER = r"^\s*(?:[})\]]+[;,]?|end|fi|done|esac|\}\)?;?|\}\);?)\s*$";
    BRANCH ["el", "catch", "except", "rescue", "finally", "ensure", "case", "when", "default"] = r"^\s*\}?\s*(?:else|elif|elsif|catch|except|rescue|finally|ensure|case|when|default)\b";
    FUNCTION ["fn", "def", "func", "class", "struct", "trait", "interface", "enum", "impl", "module"] = r"^\s*(?:@?\w+ )*(?:fn|def|func|function|class|struct|trait|interface|enum|impl|module)\s+\(?\w";
    METHOD = r"^\s*(?:public|private|protected|internal|static|override|async|virtual|export|suspend|open|fun)\s.*\(";
}

/// The lines of a statement that begins at `index`, when the change removes all of it.
///
/// `None` when its end stays, or when it has further branches.
pub(crate) fn removed_statement(file: &File<'_>, index: usize) -> Option<Range<usize>> {
    let head = file.lines.get(index).filter(|line| line.is_removed())?;
    let (indent, text) = (head.indent(), head.text.trim());
    let opens = |text: &str| text.ends_with(['{', '(', '[', ':']) || text.ends_with(" do") || text.ends_with("then");
    let mut open = opens(text) || (file.language == Language::Ruby && text.starts_with(['i', 'u']));
    let mut end = index + 1;
    for line in file.lines.get(index + 1..)?.iter().take(60) {
        let text = line.text.trim();
        if !line.is_blank() && line.indent() <= indent && BRANCH.is_match(text) {
            return None;
        }
        if !line.is_removed() {
            break;
        }
        let same = line.indent() == indent;
        if same && CLOSER.is_match(text) && open {
            return Some(index..end + 1);
        }
        if line.is_blank() {
            if !open {
                break;
            }
        } else if same && (text == "{" || text.starts_with(')')) {
            open = true;
        } else if line.indent() <= indent {
            break;
        }
        end += 1;
    }
    while end > index + 1 && file.lines[end - 1].is_blank() {
        end -= 1;
    }
    // A block delimited by indentation has no closing line.
    (!open || file.language.is_indented()).then_some(index..end)
}

/// True when a line only closes a block.
pub(crate) fn is_closer(line: &Line<'_>) -> bool {
    CLOSER.is_match(&line.text)
}

/// True when a line begins another branch of the statement above it.
pub(crate) fn is_branch(text: &str) -> bool {
    BRANCH.is_match(text)
}

/// True when a line declares a function or a type.
pub(crate) fn is_declaration(line: &Line<'_>) -> bool {
    !line.is_comment() && (FUNCTION.is_match(&line.text) || METHOD.is_match(&line.text))
}

/// The name that a line declares, if the line contains it.
pub(crate) fn declared_name(text: &str) -> Option<&str> {
    const WORDS: &[&str] = &["fn", "def", "func", "function", "class", "struct", "trait", "interface", "enum", "fun"];
    let mut words = names(text);
    words.by_ref().find(|word| WORDS.contains(word))?;
    let name = words.next()?;
    // The receiver of a Go method comes first.
    if text.trim_start().starts_with("func (") {
        let (_, rest) = text.split_once(')')?;
        return names(rest).next();
    }
    Some(name)
}

/// The name of the test that a line declares; for an attribute, the name of the function below it.
pub(crate) fn test_name(file: &File<'_>, index: usize) -> Option<String> {
    let text = &file.lines.get(index)?.text;
    let group = |pattern: &Pattern| {
        let groups = pattern.captures(text)?;
        groups.iter().skip(1).flatten().next().map(|name| name.as_str().to_owned())
    };
    let below = |pattern: &Pattern| {
        pattern.is_match(text).then_some(())?;
        let kind = file.lines[index].kind;
        let next = file.lines.get(index + 1..)?.iter().take(8).filter(|line| line.kind == kind);
        let line =
            next.into_iter().find(|line| line.text.contains('(') && !line.text.trim().starts_with(['@', '[', '#']))?;
        let head = line.text.split('(').next()?;
        names(head).last().map(str::to_owned)
    };
    match file.language {
        Language::Rust => below(&RUST_TEST),
        Language::Python => group(&PYTHON_TEST),
        Language::Script => group(&SCRIPT_TEST),
        Language::Go => group(&GO_TEST),
        Language::Java | Language::Kotlin => below(&JAVA_TEST),
        Language::CSharp => below(&CSHARP_TEST),
        Language::Ruby => group(&RUBY_TEST),
        Language::Php => group(&PHP_TEST),
        Language::C | Language::Other => None,
    }
}

/// True when a line is an assertion of a test.
pub(crate) fn is_assertion(line: &Line<'_>) -> bool {
    // In Rust, `.expect("…")` unwraps a result and is no assertion.
    let unwraps = line.text.trim_start().starts_with(".expect(\"");
    !line.is_comment() && !unwraps && ASSERTION.is_match(&line.text)
}

/// True when the line is in a test file or in the test module of a Rust file.
pub(crate) fn in_test(file: &File<'_>, index: usize) -> bool {
    if file.is_test {
        return true;
    }
    if file.language != Language::Rust {
        return false;
    }
    let section = file.section(index);
    let marked = |text: &str| text.contains("#[test]") || text.contains("cfg(test)") || text.contains("mod tests");
    let named = |text: &str| text.trim_start().starts_with("fn test_") || text.contains(" fn test_");
    let hunk = file.hunk_of(index);
    let above = &file.lines[hunk.start..index.min(hunk.end)];
    marked(&section) || named(&section) || above.iter().rev().take(200).any(|line| marked(&line.text))
}

/// True when the change removes a function or type from the program, so that its tests go with it.
pub(crate) fn removes_code(view: &View<'_>) -> bool {
    let sources = view.files.iter().filter(|file| file.is_source());
    sources.into_iter().any(|file| {
        file.removed().any(|(index, line)| {
            is_declaration(line)
                && !in_test(file, index)
                && declared_name(&line.text).is_none_or(|name| !view.adds_name(name) && !view.adds_similar(&line.text))
        })
    })
}

/// True when the change touches more than tests; refactoring of tests alone loses no coverage.
pub(crate) fn touches_program(view: &View<'_>) -> bool {
    view.files.iter().any(|file| {
        file.is_source()
            && file.lines.iter().enumerate().any(|(index, line)| {
                (line.is_added() || line.is_removed())
                    && !line.is_blank()
                    && !line.is_comment()
                    && !in_test(file, index)
            })
    })
}

/// The names on removed lines of the program that no added line contains.
pub(crate) fn gone_names<'v>(view: &'v View<'_>) -> HashSet<&'v str> {
    let sources = view.files.iter().filter(|file| !file.is_test);
    let lines =
        sources.flat_map(|file| file.removed().filter(|&(index, _)| !in_test(file, index)).map(|(_, line)| line));
    lines.flat_map(|line| names(&line.text)).filter(|name| name.len() > 3 && !view.adds_name(name)).collect()
}
