//! The public API of a library, as far as a diff and the repository's paths show it.
//!
//! Public functions of an application have no external callers, so a file counts
//! only when the paths show that it belongs to a library.

use crate::change::path::{self, Language};
use crate::change::syntax;
use crate::change::view::{File, Line, Pattern, View, patterns};

patterns! {
    RUST ["pub "] = r#"^pub (?:const |async |unsafe |extern "[^"]*" )*(?:fn|struct|enum|trait|type|const|static|union) (\w+)"#;
    SCRIPT ["export"] = concat!(
        r"^(?:export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|const|let",
        r"|interface|type|enum)|(?:module\.)?exports\.)\s*([\w$]+)",
    );
    PYTHON ["def ", "class "] = r"^(?:(?:async )?def|class) ([A-Za-z]\w*)";
    GO ["func ", "type "] = r"^(?:func (?:\(\w+ \*?[A-Z]\w*(?:\[[^\]]*\])?\) )?|type )([A-Z]\w*)";
    TYPE = r"\b(?:class|struct|interface|enum|record|type|trait)\s";
    JVM = concat!(
        r"^\s*(?:public |abstract |open |suspend |static |final |override |default |fun |interface |class ",
        r"|record |enum |virtual |sealed |async )+(?:<[^>]*> )?(?:[\w<>\[\], ?.]+ )?(\w+)\s*[({<:]",
    );
}

/// A declaration in the public API of a library.
pub(crate) struct PublicItem {
    pub(crate) index: usize,
    pub(crate) name: String,
}

/// True when the file can be part of a library's public API.
pub(crate) fn is_public_api(view: &View<'_>, file: &File<'_>) -> bool {
    let path = file.path.as_str();
    let hidden = path.split('/').any(|step| {
        matches!(step, "internal" | "cmd" | "bin" | "private" | "impl" | "migrations" | "management" | "app" | "apps")
            || (step.starts_with(['_', '.']) && step != "__init__.py")
    });
    if hidden || path.contains(".pb.") || !file.is_source() || view.declared.breaking {
        return false;
    }
    let has = |wanted: &str| view.has_path(wanted);
    match file.language {
        Language::Rust => {
            let root = path.find("src/").map(|at| &path[..at]);
            root.is_some_and(|root| path == format!("{root}src/lib.rs") || has(&format!("{root}src/lib.rs")))
                && !path.ends_with("main.rs")
                && !view.is_application()
        }
        Language::Script => {
            let name = path::name(path);
            let at_root = matches!(path::folder(path), "" | "src/" | "lib/") || path.starts_with("packages/");
            name.ends_with(".d.ts") || (name.starts_with("index.") && at_root)
        }
        Language::Python => (has("setup.py") || has("pyproject.toml")) && !view.is_application() && path.contains('/'),
        Language::Go => has("go.mod") && !view.is_application(),
        Language::Java | Language::Kotlin | Language::CSharp => {
            path.split('/').any(|step| step.eq_ignore_ascii_case("api")) && path::folder(path).contains("src/main/")
        }
        _ => false,
    }
}

/// The public items that the removed or the added lines of a file declare.
pub(crate) fn declarations(file: &File<'_>, added: bool) -> Vec<PublicItem> {
    let lines = file.lines.iter().enumerate();
    let side = lines.filter(|(_, line)| if added { line.is_added() } else { line.is_removed() });
    side.filter_map(|(index, line)| Some(PublicItem { index, name: name(file.language, line)? }))
        .filter(|public| !syntax::in_test(file, public.index))
        .collect()
}

fn name(language: Language, line: &Line<'_>) -> Option<String> {
    let pattern: &Pattern = match language {
        Language::Rust => &RUST,
        Language::Script => &SCRIPT,
        Language::Python => &PYTHON,
        Language::Go => &GO,
        Language::Java | Language::CSharp if line.text.contains("public ") => &JVM,
        Language::Kotlin
            if line.indent() <= 4 && !line.text.contains("private ") && !line.text.contains("internal ") =>
        {
            &JVM
        }
        _ => return None,
    };
    let name = pattern.captures(&line.text)?.get(1)?.as_str();
    (!line.is_comment() && !name.is_empty()).then(|| name.to_owned())
}

/// Counts the required arguments, when one line shows all parameters.
pub(crate) fn n_required(text: &str) -> Option<usize> {
    if TYPE.is_match(text) {
        return None;
    }
    let open = text.find('(')?;
    // The receiver of a Go method comes first.
    let open = if text.starts_with("func (") { open + 1 + text[open + 1..].find('(')? } else { open };
    let (mut depth, mut n_required, mut current) = (0_u32, 0, String::new());
    let counts = |parameter: &str| {
        let parameter = parameter.trim();
        !parameter.is_empty()
            && !parameter.contains('=')
            && !parameter.contains("?:")
            && !parameter.starts_with(['*', '/', '.'])
            && !matches!(parameter.split([':', ' ']).next(), Some("self" | "cls" | "mut"))
            && !parameter.trim_start_matches(['&', ' ']).starts_with("self")
            && !parameter.contains("...")
    };
    for character in text[open..].chars() {
        match character {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            '>' if !current.ends_with(['-', '=']) => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 || (depth == 1 && character == ',') {
            n_required += usize::from(counts(current.trim_start_matches('(')));
            current.clear();
            if depth == 0 {
                return Some(n_required);
            }
        } else {
            current.push(character);
        }
    }
    None
}
