//! Agents we know: how each is started so that it can read and answer and nothing else.
//!
//! "Read-only" flags are often not what they say, so each line here was tried with a model that asks for writes. A tool
//! that is not there cannot be talked into anything, which is why tools are left out rather than forbidden wherever an
//! agent lets us choose. What a preset needs as a file lies beside the tree, never in it.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};

/// An agent that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor's agent.
    CursorAgent,
    /// OpenCode.
    OpenCode,
    /// Aider.
    Aider,
}

/// How an agent writes its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Claude,
    Codex,
    Gemini,
    Cursor,
    OpenCode,
    Aider,
    Text,
    Json,
    JsonLines,
}

impl Form {
    /// True when the agent prints a line for each thing it does; the others are silent until they are done.
    pub(super) fn streams(self) -> bool {
        match self {
            Self::Claude | Self::Codex | Self::Gemini | Self::OpenCode | Self::JsonLines => true,
            Self::Cursor | Self::Aider | Self::Text | Self::Json => false,
        }
    }

    /// True when it also prints while its model is thinking, so that silence means that it hangs.
    pub(super) fn is_live(self) -> bool {
        match self {
            Self::Claude | Self::Gemini | Self::JsonLines => true,
            Self::Codex | Self::OpenCode | Self::Cursor | Self::Aider | Self::Text | Self::Json => false,
        }
    }
}

/// What a preset is given for one run.
pub(super) struct Given<'a> {
    pub(super) model: Option<&'a str>,
    /// The variable of its key, when it has one.
    pub(super) key: Option<&'a str>,
    pub(super) schema: &'a Value,
    /// The throw-away folder, for files beside the tree.
    pub(super) beside: &'a Path,
    /// Where the prompt is.
    pub(super) prompt: &'a Path,
}

/// How a preset is started for one run.
#[derive(Debug, Default)]
pub(super) struct Invocation {
    pub(super) args: Vec<OsString>,
    /// Files to write beside the tree.
    pub(super) files: Vec<(&'static str, String)>,
    pub(super) environment: Vec<(String, String)>,
    /// A file beside the tree in which the agent leaves its last message.
    pub(super) last: Option<&'static str>,
    /// True when the agent is told the schema by other means than the prompt.
    pub(super) knows_schema: bool,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Claude, Self::Codex, Self::Gemini, Self::CursorAgent, Self::OpenCode, Self::Aider];

    /// The name in settings, which is also the program's.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::CursorAgent => "cursor-agent",
            Self::OpenCode => "opencode",
            Self::Aider => "aider",
        }
    }

    /// Variables of which the agent takes a key, the usual one first.
    #[must_use]
    pub fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"],
            Self::Codex => &["CODEX_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::CursorAgent => &["CURSOR_API_KEY"],
            Self::OpenCode | Self::Aider => {
                &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"]
            }
        }
    }

    /// What to do when the program is not there.
    #[must_use]
    pub fn how_to_install(self) -> &'static str {
        match self {
            Self::Claude => "Install it with `npm install -g @anthropic-ai/claude-code`.",
            Self::Codex => "Install it with `npm install -g @openai/codex`.",
            Self::Gemini => "Install it with `npm install -g @google/gemini-cli`.",
            Self::CursorAgent => "Install it as https://cursor.com/cli describes.",
            Self::OpenCode => "Install it with `npm install -g opencode-ai`.",
            Self::Aider => "Install it with `python -m pip install aider-chat`.",
        }
    }

    /// What to do when it says that it is not logged in.
    #[must_use]
    pub fn how_to_log_in(self) -> &'static str {
        match self {
            Self::Claude => "Start `claude` once and log in, or set `key_env` to a variable that holds an API key.",
            Self::Codex => "Run `codex login`, or set `key_env` to a variable that holds an API key.",
            Self::Gemini => "Start `gemini` once and log in, or set `key_env` to a variable that holds an API key.",
            Self::CursorAgent => "Run `cursor-agent login`, or set `key_env` to a variable that holds an API key.",
            Self::OpenCode => "Run `opencode auth login`, or set `key_env` to a variable that holds an API key.",
            Self::Aider => "Set `key_env` to a variable that holds an API key.",
        }
    }

    /// Variables that say where the agent's log-in is, when it is not where it usually is.
    pub(super) fn homes(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["CLAUDE_CONFIG_DIR"],
            Self::Codex => &["CODEX_HOME"],
            Self::Gemini => &["GEMINI_CLI_HOME"],
            Self::CursorAgent => &["XDG_CONFIG_HOME"],
            Self::OpenCode => &["XDG_CONFIG_HOME", "XDG_DATA_HOME"],
            Self::Aider => &[],
        }
    }

    pub(super) fn form(self) -> Form {
        match self {
            Self::Claude => Form::Claude,
            Self::Codex => Form::Codex,
            Self::Gemini => Form::Gemini,
            Self::CursorAgent => Form::Cursor,
            Self::OpenCode => Form::OpenCode,
            Self::Aider => Form::Aider,
        }
    }

    /// True when the prompt is standard input.
    pub(super) fn reads_stdin(self) -> bool {
        self != Self::Aider
    }

    /// How it is started as a reviewer.
    pub(super) fn invoke(self, given: &Given<'_>) -> Invocation {
        let mut invocation = match self {
            Self::Claude => claude(given),
            Self::Codex => codex(given),
            Self::Gemini => gemini(given),
            Self::CursorAgent => args(&["-p", "--output-format", "json", "--mode", "ask", "--trust"]),
            Self::OpenCode => opencode(),
            Self::Aider => aider(given),
        };
        if let Some(model) = given.model {
            let flag = if matches!(self, Self::Codex | Self::Gemini | Self::OpenCode) { "-m" } else { "--model" };
            invocation.args.extend([flag.into(), model.into()]);
        }
        if self == Self::Codex {
            // The prompt is standard input; this must come last.
            invocation.args.push("-".into());
        }
        invocation
    }
}

fn args(args: &[&str]) -> Invocation {
    Invocation { args: args.iter().map(OsString::from).collect(), ..Invocation::default() }
}

/// Only the tools that read exist; `--allowedTools` would leave the others there.
fn claude(given: &Given<'_>) -> Invocation {
    let mut invocation = args(&["-p", "--verbose", "--output-format", "stream-json", "--include-partial-messages"]);
    let rest = [
        "--tools",
        "Read,Grep,Glob",
        "--permission-mode",
        "dontAsk",
        "--setting-sources",
        "user",
        "--strict-mcp-config",
    ];
    invocation.args.extend(rest.map(OsString::from));
    invocation.args.extend(["--no-session-persistence".into(), "--json-schema".into()]);
    invocation.args.push(given.schema.to_string().into());
    invocation.knows_schema = true;
    invocation.environment = vec![
        ("DISABLE_AUTOUPDATER".to_owned(), "1".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".to_owned(), "1".to_owned()),
    ];
    invocation
}

/// Without user configuration no folder is trusted, and so no server of the reviewed tree is started.
fn codex(given: &Given<'_>) -> Invocation {
    let mut invocation = args(&["exec", "--json", "--sandbox", "read-only", "--ephemeral", "--skip-git-repo-check"]);
    // Searching the web would carry code away; other agents would not be bound by what binds this one.
    for setting in ["project_doc_max_bytes=0", "web_search=\"disabled\"", "features.multi_agent=false"] {
        invocation.args.extend(["-c".into(), setting.into()]);
    }
    invocation.args.extend(["--ignore-user-config", "--ignore-rules", "--output-schema"].map(OsString::from));
    invocation.args.push(given.beside.join("schema.json").into());
    invocation.args.push("-o".into());
    invocation.args.push(given.beside.join("last.json").into());
    invocation.files.push(("schema.json", given.schema.to_string()));
    invocation.last = Some("last.json");
    invocation.knows_schema = true;
    invocation
}

/// Plan mode alone is left by a tool call, and knows nothing of the tools of servers that the user has set up. So
/// everything is denied by policy but reading, and what is denied is not even offered.
const GEMINI_POLICY: &str = r#"[[rule]]
toolName = "*"
decision = "deny"
priority = 998

[[rule]]
toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"]
decision = "allow"
priority = 999
"#;

/// It takes the key for a gateway's when a base URL is set, and then refuses it, unless it is told in its settings.
const GEMINI_SETTINGS: &str =
    r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}"#;

fn gemini(given: &Given<'_>) -> Invocation {
    let mut invocation = args(&["-p", "Do what standard input says.", "-o", "stream-json", "--approval-mode", "plan"]);
    // No server and no extension goes by the name `none`.
    invocation.args.extend(["-e", "none", "--allowed-mcp-server-names", "none", "--skip-trust"].map(OsString::from));
    invocation.args.extend(["--policy".into(), given.beside.join("ro.toml").into()]);
    invocation.files.push(("ro.toml", GEMINI_POLICY.to_owned()));
    if given.key == Some("GEMINI_API_KEY") {
        invocation.files.push(("home/.gemini/settings.json", GEMINI_SETTINGS.to_owned()));
    }
    invocation
}

fn opencode() -> Invocation {
    // With a title given, no model is asked for one.
    let mut invocation = args(&["run", "--format", "json", "--pure", "--title", "review"]);
    let allowed = json!({"permission": {
        "*": "deny", "read": "allow", "grep": "allow", "glob": "allow", "list": "allow",
    }});
    invocation.environment = vec![
        ("OPENCODE_CONFIG_CONTENT".to_owned(), allowed.to_string()),
        ("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned()),
    ];
    invocation
}

/// In ask mode nothing is edited; its histories and caches would lie in the tree.
fn aider(given: &Given<'_>) -> Invocation {
    let mut invocation = args(&["--chat-mode", "ask", "--dry-run", "--no-git", "--yes-always"]);
    let no = ["auto-commits", "dirty-commits", "stream", "pretty", "check-update", "analytics", "show-release-notes"];
    let more = ["suggest-shell-commands", "detect-urls", "show-model-warnings", "auto-lint", "auto-test", "gitignore"];
    invocation.args.extend(no.iter().chain(&more).map(|option| OsString::from(format!("--no-{option}"))));
    invocation.args.extend(["--map-tokens", "0"].map(OsString::from));
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
    use insta::assert_snapshot;

    use super::*;

    fn line(preset: Preset) -> String {
        let (schema, beside) = (json!({"type": "object"}), Path::new("AREA"));
        let given = Given { model: Some("m"), key: None, schema: &schema, beside, prompt: Path::new("AREA/prompt") };
        let invocation = preset.invoke(&given);
        let environment = invocation.environment.iter().map(|(name, value)| format!("{name}={value}"));
        let args = invocation.args.iter().map(|arg| arg.to_string_lossy().into_owned());
        let words: Vec<String> = environment.chain([preset.name().to_owned()]).chain(args).collect();
        words
            .join(" ")
            .replace(" -", "\n-")
            .replace(&format!(" {}\n", preset.name()), &format!("\n{}\n", preset.name()))
    }

    #[test]
    fn each_preset_is_started_so_that_it_can_only_read() {
        assert_snapshot!(line(Preset::Claude), @r#"
        DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
        claude
        -p
        --verbose
        --output-format stream-json
        --include-partial-messages
        --tools Read,Grep,Glob
        --permission-mode dontAsk
        --setting-sources user
        --strict-mcp-config
        --no-session-persistence
        --json-schema {"type":"object"}
        --model m
        "#);
        assert_snapshot!(line(Preset::Codex), @r#"
        codex exec
        --json
        --sandbox read-only
        --ephemeral
        --skip-git-repo-check
        -c project_doc_max_bytes=0
        -c web_search="disabled"
        -c features.multi_agent=false
        --ignore-user-config
        --ignore-rules
        --output-schema AREA/schema.json
        -o AREA/last.json
        -m m
        -
        "#);
        assert_snapshot!(line(Preset::Gemini), @r"
        gemini
        -p Do what standard input says.
        -o stream-json
        --approval-mode plan
        -e none
        --allowed-mcp-server-names none
        --skip-trust
        --policy AREA/ro.toml
        -m m
        ");
        assert_snapshot!(line(Preset::CursorAgent), @r"
        cursor-agent
        -p
        --output-format json
        --mode ask
        --trust
        --model m
        ");
        assert_snapshot!(line(Preset::OpenCode), @r#"
        OPENCODE_CONFIG_CONTENT={"permission":{"*":"deny","read":"allow","grep":"allow","glob":"allow","list":"allow"}} OPENCODE_DISABLE_AUTOUPDATE=1 opencode run
        --format json
        --pure
        --title review
        -m m
        "#);
        assert_snapshot!(line(Preset::Aider), @r"
        aider
        --chat-mode ask
        --dry-run
        --no-git
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
        --no-auto-lint
        --no-auto-test
        --no-gitignore
        --map-tokens 0
        --chat-history-file AREA/tmp/chat-history-file
        --input-history-file AREA/tmp/input-history-file
        --llm-history-file AREA/tmp/llm-history-file
        --message-file AREA/prompt
        --model m
        ");
    }
}
