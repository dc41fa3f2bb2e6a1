//! Command lines with which each agent may edit files in its folder, without interactive prompts.
//!
//! Each agent gets its own mode for "edit files and run the project's tools"; a full bypass of its permissions belongs
//! into a container. Agents do not commit; the pipeline does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

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

/// The parts of a task that are on the command line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Assignment<'a> {
    /// Files of the folder that the prompt names.
    pub(crate) files: &'a [PathBuf],
    /// The session to continue.
    pub(crate) session: Option<&'a str>,
    /// Images that the prompt names.
    pub(crate) images: &'a [PathBuf],
}

/// The command line of an agent as an implementer.
pub(crate) fn invoke(preset: Preset, given: &Given<'_>, task: &Assignment<'_>) -> Invocation {
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
    invocation.args.extend(images(preset, task.images));
    if let Some(session) = task.session {
        invocation.args.extend(resume(preset, session));
    }
    match preset {
        // The prompt is standard input; this must come last.
        Preset::Codex => invocation.args.push("-".into()),
        Preset::Aider => invocation.args.extend(task.files.iter().map(OsString::from)),
        Preset::Claude | Preset::Gemini | Preset::CursorAgent | Preset::OpenCode => {}
    }
    invocation
}

/// The options that let an agent look at images outside of its folder.
fn images(preset: Preset, images: &[PathBuf]) -> Vec<OsString> {
    let mut folders: Vec<&Path> = images.iter().filter_map(|image| image.parent()).collect();
    folders.sort();
    folders.dedup();
    let each = |option: &str, paths: Vec<&Path>| -> Vec<OsString> {
        paths.into_iter().flat_map(|path| [option.into(), path.into()]).collect()
    };
    match preset {
        Preset::Claude => each("--add-dir", folders),
        Preset::Gemini => each("--include-directories", folders),
        Preset::Codex => each("-i", images.iter().map(PathBuf::as_path).collect()),
        Preset::CursorAgent | Preset::OpenCode | Preset::Aider => Vec::new(),
    }
}

/// The options that continue a session.
fn resume(preset: Preset, session: &str) -> Vec<OsString> {
    let words: &[&str] = match preset {
        Preset::Claude | Preset::CursorAgent => &["--resume", session],
        Preset::Codex => &["resume", session],
        Preset::Gemini => &["-r", session],
        Preset::OpenCode => &["-s", session],
        Preset::Aider => &[],
    };
    words.iter().map(OsString::from).collect()
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
        let files = ["src/a.rs".into(), "b.md".into()];
        super::super::shown(preset, &invoke(preset, &given, &Assignment { files: &files, ..Assignment::default() }))
    }

    #[track_caller]
    fn check_end(preset: Preset, expected: &str) {
        let given = Given { model: None, key: None, beside: Path::new("AREA"), prompt: Path::new("AREA/prompt") };
        let images = ["/p/images/a.png".into(), "/p/images/b.png".into()];
        let task = Assignment { session: Some("S"), images: &images, ..Assignment::default() };
        let args: Vec<String> =
            invoke(preset, &given, &task).args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let line = args.join(" ");
        assert!(line.ends_with(expected), "{line}");
    }

    #[test]
    fn a_session_is_continued_and_images_can_be_looked_at() {
        check_end(Preset::Claude, " --add-dir /p/images --resume S");
        check_end(Preset::Codex, " -i /p/images/a.png -i /p/images/b.png resume S -");
        check_end(Preset::Gemini, " --include-directories /p/images -r S");
        check_end(Preset::CursorAgent, " --force --resume S");
        check_end(Preset::OpenCode, " -s S");
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
