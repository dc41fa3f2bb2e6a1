//! Command lines with which each agent may edit files in its folder, without interactive prompts.
//!
//! Each agent gets its own mode for "edit files and run the project's tools"; a full bypass of its permissions belongs
//! into a container. Agents do not commit; the pipeline does.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Form, Given, Invocation, Preset, args};

/// The commands that Claude Code may run without asking: builds, checks, tests and read-only git commands.
const CLAUDE_COMMANDS: [&str; 24] = [
    "cargo",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "bun",
    "node",
    "deno",
    "python",
    "python3",
    "pytest",
    "pip",
    "uv",
    "go",
    "make",
    "mvn",
    "gradle",
    "./gradlew",
    "dotnet",
    "bundle",
    "composer",
    "git status",
    "git diff",
    "git log",
];

/// The command line of an agent as an implementer; `files` are named in the task.
pub(crate) fn invoke(preset: Preset, given: &Given<'_>, files: &[PathBuf]) -> Invocation {
    let mut invocation = match preset {
        Preset::Claude => claude(),
        Preset::Codex => args(&["exec", "--json", "--sandbox", "workspace-write"]),
        Preset::Gemini => gemini(),
        Preset::CursorAgent => args(&["-p", "--output-format", "stream-json", "--force"]),
        Preset::OpenCode => opencode(),
        Preset::Aider => aider(given),
    };
    if let Some(model) = given.model {
        invocation.args.extend([preset.model_option().into(), model.into()]);
    }
    match preset {
        // The prompt is standard input; this must come last.
        Preset::Codex => invocation.args.push("-".into()),
        Preset::Aider => invocation.args.extend(files.iter().map(OsString::from)),
        Preset::Claude | Preset::Gemini | Preset::CursorAgent | Preset::OpenCode => {}
    }
    invocation
}

/// The output format of an agent in this role.
pub(crate) fn form(preset: Preset) -> Form {
    match preset {
        Preset::CursorAgent => Form::CursorLines,
        other => other.form(),
    }
}

/// The partial messages reset the idle timeout while its model writes.
fn claude() -> Invocation {
    let mut invocation = args(&["-p", "--verbose", "--output-format", "stream-json", "--include-partial-messages"]);
    let allowed: Vec<String> = CLAUDE_COMMANDS.iter().map(|command| format!("Bash({command}:*)")).collect();
    invocation.args.extend(["--permission-mode", "acceptEdits", "--allowedTools"].map(OsString::from));
    invocation.args.push(allowed.join(",").into());
    invocation.environment = vec![
        ("DISABLE_AUTOUPDATER".to_owned(), "1".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".to_owned(), "1".to_owned()),
    ];
    invocation
}

fn gemini() -> Invocation {
    args(&["-p", "Do what standard input says.", "-o", "stream-json", "--approval-mode", "auto_edit", "--skip-trust"])
}

fn opencode() -> Invocation {
    // Without a title, OpenCode would ask a model for one.
    let mut invocation = args(&["run", "--format", "json", "--auto", "--title", "implement"]);
    invocation.environment = vec![("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned())];
    invocation
}

/// By default its histories would lie in the tree and be committed; the chat history has the answer of its model.
fn aider(given: &Given<'_>) -> Invocation {
    let mut invocation = args(&["--yes-always"]);
    let no = ["auto-commits", "dirty-commits", "stream", "pretty", "check-update", "analytics", "show-release-notes"];
    let more = ["suggest-shell-commands", "detect-urls", "show-model-warnings", "gitignore"];
    invocation.args.extend(no.iter().chain(&more).map(|option| OsString::from(format!("--no-{option}"))));
    for history in ["chat-history-file", "input-history-file", "llm-history-file"] {
        invocation.args.push(format!("--{history}").into());
        invocation.args.push(given.beside.join("tmp").join(history).into());
    }
    invocation.args.extend(["--message-file".into(), given.prompt.into()]);
    invocation.last = Some("tmp/llm-history-file");
    invocation
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use insta::assert_snapshot;

    use super::*;

    fn line(preset: Preset) -> String {
        let given = Given { model: Some("m"), key: None, beside: Path::new("AREA"), prompt: Path::new("AREA/prompt") };
        super::super::shown(preset, &invoke(preset, &given, &["src/a.rs".into(), "b.md".into()]))
    }

    #[test]
    fn each_preset_is_started_so_that_it_can_write_and_asks_nobody() {
        assert_snapshot!(line(Preset::Claude), @"
        DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
        claude
        -p
        --verbose
        --output-format stream-json
        --include-partial-messages
        --permission-mode acceptEdits
        --allowedTools Bash(cargo:*),Bash(npm:*),Bash(npx:*),Bash(pnpm:*),Bash(yarn:*),Bash(bun:*),Bash(node:*),Bash(deno:*),Bash(python:*),Bash(python3:*),Bash(pytest:*),Bash(pip:*),Bash(uv:*),Bash(go:*),Bash(make:*),Bash(mvn:*),Bash(gradle:*),Bash(./gradlew:*),Bash(dotnet:*),Bash(bundle:*),Bash(composer:*),Bash(git status:*),Bash(git diff:*),Bash(git log:*)
        --model m
        ");
        assert_snapshot!(line(Preset::Codex), @"
        codex exec
        --json
        --sandbox workspace-write
        -m m
        -
        ");
        assert_snapshot!(line(Preset::Gemini), @"
        gemini
        -p Do what standard input says.
        -o stream-json
        --approval-mode auto_edit
        --skip-trust
        -m m
        ");
        assert_snapshot!(line(Preset::CursorAgent), @"
        cursor-agent
        -p
        --output-format stream-json
        --force
        --model m
        ");
        assert_snapshot!(line(Preset::OpenCode), @"
        OPENCODE_DISABLE_AUTOUPDATE=1 opencode run
        --format json
        --auto
        --title implement
        -m m
        ");
        assert_snapshot!(line(Preset::Aider), @"
        aider
        --yes-always
        --no-auto-commits
        --no-dirty-commits
        --no-stream
        --no-pretty
        --no-check-update
        --no-analytics
        --no-show-release-notes
        --no-suggest-shell-commands
        --no-detect-urls
        --no-show-model-warnings
        --no-gitignore
        --chat-history-file AREA/tmp/chat-history-file
        --input-history-file AREA/tmp/input-history-file
        --llm-history-file AREA/tmp/llm-history-file
        --message-file AREA/prompt
        --model m src/a.rs b.md
        ");
    }
}
