//! Scripts inside other files: `<script>` in pages and components, run steps of workflows, cells of notebooks.
//!
//! [`extract`] returns the script with everything else replaced by blanks, line by line, so that a finding in the script
//! is on its line in the file.

use ast_grep_language::SupportLang;

/// A kind of file that holds scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// HTML, Vue, Svelte and Astro.
    Markup,
    /// A workflow of GitHub Actions.
    Workflow,
    /// A Jupyter notebook.
    Notebook,
}

/// The kind of scripts that a file can hold, by its path.
#[must_use]
pub fn host_of(path: &str) -> Option<Host> {
    let ending = path.rsplit('/').next()?.rsplit_once('.')?.1.to_ascii_lowercase();
    match ending.as_str() {
        "html" | "htm" | "xhtml" | "vue" | "svelte" | "astro" => Some(Host::Markup),
        "yml" | "yaml" if path.contains(".github/workflows/") || path.ends_with("action.yml") => Some(Host::Workflow),
        "ipynb" => Some(Host::Notebook),
        _ => None,
    }
}

/// The grammar of a script by the first line of its file: `#!/usr/bin/env python3`.
#[must_use]
pub fn grammar_of_shebang(first_line: &[u8]) -> Option<SupportLang> {
    Some(match interpreter(first_line)?.as_str() {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "bats" => SupportLang::Bash,
        "python" | "pypy" => SupportLang::Python,
        "node" | "nodejs" | "bun" => SupportLang::JavaScript,
        "deno" | "ts-node" | "tsx" => SupportLang::TypeScript,
        "ruby" => SupportLang::Ruby,
        "php" => SupportLang::Php,
        _ => return None,
    })
}

/// The name of the interpreter without its version: `python` of `#!/usr/bin/env -S python3.12 -u`.
#[must_use]
pub fn interpreter(first_line: &[u8]) -> Option<String> {
    let line =
        String::from_utf8_lossy(first_line.strip_prefix(b"#!")?.get(..256.min(first_line.len() - 2))?).into_owned();
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let mut name = words.next()?;
    if name == "env" {
        name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    }
    let name = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    (!name.is_empty()).then(|| name.to_ascii_lowercase())
}

/// The scripts of a file and their grammar, with everything else blank; `None` when there is no script.
#[must_use]
pub fn extract(host: Host, text: &[u8]) -> Option<(SupportLang, Vec<u8>)> {
    let text = std::str::from_utf8(text).ok()?;
    let (grammar, script) = match host {
        Host::Markup => markup(text),
        Host::Workflow => (SupportLang::Bash, workflow(text)),
        Host::Notebook => (SupportLang::Python, notebook(text)),
    };
    script.bytes().any(|byte| !byte.is_ascii_whitespace()).then(|| (grammar, script.into_bytes()))
}

/// The contents of `<script>` elements.
fn markup(text: &str) -> (SupportLang, String) {
    let lower = text.to_ascii_lowercase();
    let (mut script, mut at, mut grammar) = (String::with_capacity(text.len()), 0, SupportLang::JavaScript);
    while let Some(open) = lower[at..].find("<script").map(|found| at + found) {
        let Some(start) = lower[open..].find('>').map(|found| open + found + 1) else {
            break;
        };
        let end = lower[start..].find("</script").map_or(text.len(), |found| start + found);
        blank(&text[at..start], &mut script);
        let tag = &lower[open..start];
        let is_data = tag.contains("json") || tag.contains("text/template") || tag.contains("text/x-");
        if tag.contains("lang=\"ts\"") || tag.contains("lang='ts'") || tag.contains("lang=\"tsx\"") {
            grammar = SupportLang::TypeScript;
        }
        if is_data || tag.ends_with("/>") {
            blank(&text[start..end], &mut script);
        } else {
            script.push_str(&text[start..end]);
        }
        at = end;
    }
    blank(&text[at..], &mut script);
    (grammar, script)
}

/// Appends as many blanks and line breaks as the text has.
fn blank(text: &str, script: &mut String) {
    script.extend(text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
}

/// The bodies of `run: |` and `run: …`, except steps with another shell.
fn workflow(text: &str) -> String {
    let mut script = String::with_capacity(text.len());
    // The indentation of the key while its block goes on.
    let mut block: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end();
        let indent = body.len() - body.trim_start().len();
        if let Some(key) = block {
            if body.trim().is_empty() || indent > key {
                script.push_str(line);
                continue;
            }
            block = None;
        }
        let item = body.trim_start().trim_start_matches("- ").trim_start();
        match item.strip_prefix("run:").map(str::trim) {
            Some(value) if value.starts_with(['|', '>']) || value.is_empty() => {
                block = Some(body.len() - item.len());
                blank(line, &mut script);
            }
            Some(value) if !value.starts_with(['"', '\'', '&', '*']) => {
                let start = body.len() - value.len();
                blank(&line[..start], &mut script);
                script.push_str(&line[start..]);
            }
            _ => blank(line, &mut script),
        }
    }
    script
}

/// The source lines of code cells, each on the line of its JSON string.
fn notebook(text: &str) -> String {
    let mut script = String::with_capacity(text.len());
    let (mut is_code, mut in_source) = (false, false);
    for line in text.split_inclusive('\n') {
        let item = line.trim();
        if item.starts_with("\"cell_type\"") {
            is_code = item.contains("\"code\"");
        }
        let string = item.trim_end_matches(',');
        if in_source && string.starts_with('"') && string.ends_with('"') && string.len() >= 2 {
            let source = serde_json::from_str::<String>(string).unwrap_or_default();
            // Commands of the notebook are no Python.
            let source = if source.trim_start().starts_with(['%', '!']) { String::new() } else { source };
            script.push_str(&source.replace(['\n', '\r'], " "));
            script.push('\n');
            continue;
        }
        in_source = if item.starts_with("\"source\"") {
            is_code && item.ends_with('[')
        } else {
            in_source && item != "]" && item != "],"
        };
        blank(line, &mut script);
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: Option<(SupportLang, &str)>) {
        let found = host_of(path).and_then(|host| extract(host, text.as_bytes()));
        let found = found.map(|(grammar, script)| (grammar, String::from_utf8(script).unwrap()));
        if let Some((_, script)) = &found {
            assert_eq!(script.lines().count(), text.lines().count(), "{path}");
        }
        let found = found.map(|(grammar, script)| (grammar, script.split_whitespace().collect::<Vec<_>>().join(" ")));
        assert_eq!(found, expected.map(|(grammar, script)| (grammar, script.to_owned())), "{path}");
    }

    #[test]
    fn scripts_of_pages_and_components_are_found() {
        let page =
            "<p>a</p>\n<script>\neval(x)\n</script>\n<style>b</style>\n<script type=\"application/json\">{}</script>\n";
        check("a.html", page, Some((SupportLang::JavaScript, "eval(x)")));
        let component = "<script setup lang=\"ts\">\nconst a: number = 1\n</script>\n<template><b/></template>\n";
        check("A.vue", component, Some((SupportLang::TypeScript, "const a: number = 1")));
        check("a.html", "<p>no script</p>\n", None);
        check("a.html", "<script", None);
    }

    #[test]
    fn run_steps_of_workflows_are_found() {
        let text = "on: push\njobs:\n  a:\n    steps:\n      - uses: x@v1\n      - run: |\n          curl x | sh\n\n          echo\n        env: {}\n      - run: make\n";
        check(".github/workflows/a.yml", text, Some((SupportLang::Bash, "curl x | sh echo make")));
        check("a.yml", text, None);
    }

    #[test]
    fn code_cells_of_notebooks_are_found() {
        let text = "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"source\": [\n    \"eval\\n\"\n   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"outputs\": [],\n   \"source\": [\n    \"%pip install x\\n\",\n    \"eval(\\\"x\\\")\\n\"\n   ]\n  }\n ]\n}\n";
        check("a.ipynb", text, Some((SupportLang::Python, "eval(\"x\")")));
    }

    #[test]
    fn a_shebang_names_the_language() {
        let grammar = |line: &str| grammar_of_shebang(line.as_bytes());
        assert_eq!(grammar("#!/bin/sh"), Some(SupportLang::Bash));
        assert_eq!(grammar("#!/usr/bin/env -S python3.12 -u"), Some(SupportLang::Python));
        assert_eq!(grammar("#! /usr/bin/env bash"), Some(SupportLang::Bash));
        assert_eq!(grammar("#!/usr/bin/node"), Some(SupportLang::JavaScript));
        assert_eq!((grammar("#!/usr/bin/perl"), interpreter(b"#!/usr/bin/perl").as_deref()), (None, Some("perl")));
        for other in ["", "#!", "#!/usr/bin/env", "# sh", "sh"] {
            assert_eq!(grammar(other), None, "{other}");
        }
    }
}
