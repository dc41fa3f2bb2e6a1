//! Built-in agent presets: names, keys, capabilities and command lines.
//!
//! [`reviewer`] has the read-only command lines, [`implementer`] the command lines that permit edits. Files that a preset needs lie
//! beside the tree, never in it.

use std::ffi::OsString;
use std::path::Path;

pub(crate) mod codex_provider;
pub(crate) mod implementer;
pub(crate) mod reviewer;

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
pub(crate) enum Form {
    Claude,
    Codex,
    Gemini,
    Cursor,
    CursorLines,
    OpenCode,
    Aider,
    Text,
    Json,
    JsonLines,
}

impl Form {
    /// True when the agent prints a line for each step; the others are silent until they are done.
    pub(crate) fn streams(self) -> bool {
        match self {
            Self::Claude | Self::Codex | Self::Gemini | Self::CursorLines | Self::OpenCode | Self::JsonLines => true,
            Self::Cursor | Self::Aider | Self::Text | Self::Json => false,
        }
    }

    /// True when it also prints while its model is thinking, so that silence means that it hangs.
    pub(crate) fn is_live(self) -> bool {
        match self {
            Self::Claude | Self::Gemini | Self::JsonLines => true,
            Self::Codex | Self::OpenCode | Self::Cursor | Self::CursorLines | Self::Aider | Self::Text | Self::Json => {
                false
            }
        }
    }
}

/// The inputs of a preset's command line.
pub(crate) struct Given<'a> {
    pub(crate) model: Option<&'a str>,
    /// The variable of its key, when it has one.
    pub(crate) key: Option<&'a str>,
    /// The scratch folder, for files beside the tree.
    pub(crate) beside: &'a Path,
    /// The file with the prompt.
    pub(crate) prompt: &'a Path,
}

impl Given<'_> {
    /// A command of the user's with its placeholders filled in.
    pub(crate) fn fill(&self, command: &[String], more: &[(&str, &str)]) -> Invocation {
        let prompt = self.prompt.to_string_lossy();
        let blanks = [("{prompt}", &*prompt), ("{model}", self.model.unwrap_or_default())];
        let fill = |arg: &String| {
            let blanks = blanks.iter().chain(more);
            blanks.fold(arg.clone(), |arg, (blank, value)| arg.replace(blank, value)).into()
        };
        Invocation { args: command.iter().skip(1).map(fill).collect(), ..Invocation::default() }
    }
}

/// The command line and files of one run.
#[derive(Debug, Default)]
pub(crate) struct Invocation {
    pub(crate) args: Vec<OsString>,
    /// Files to write beside the tree.
    pub(crate) files: Vec<(&'static str, String)>,
    pub(crate) environment: Vec<(String, String)>,
    /// A file beside the tree in which the agent leaves its last message.
    pub(crate) last: Option<&'static str>,
    /// True when the agent gets the schema by an option instead of the prompt.
    pub(crate) knows_schema: bool,
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

    /// Variables from which the agent reads its key, the usual one first.
    pub(crate) fn key_variables(self) -> &'static [&'static str] {
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

    /// Variables with the address of the service, which the agent reads. Codex has its own ([`codex_provider`]); the others
    /// have it in their configuration.
    pub(super) fn address_variables(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["ANTHROPIC_BASE_URL"],
            Self::Gemini => &["GOOGLE_GEMINI_BASE_URL"],
            Self::Aider => &["ANTHROPIC_BASE_URL", "OLLAMA_API_BASE", "OPENAI_API_BASE"],
            Self::Codex | Self::CursorAgent | Self::OpenCode => &[],
        }
    }

    /// How to install the program.
    pub(crate) fn how_to_install(self) -> &'static str {
        match self {
            Self::Claude => "Install it with `npm install -g @anthropic-ai/claude-code`.",
            Self::Codex => "Install it with `npm install -g @openai/codex`.",
            Self::Gemini => "Install it with `npm install -g @google/gemini-cli`.",
            Self::CursorAgent => "Install it as https://cursor.com/cli describes.",
            Self::OpenCode => "Install it with `npm install -g opencode-ai`.",
            Self::Aider => "Install it with `python -m pip install aider-chat`.",
        }
    }

    /// How to log in.
    pub(crate) fn how_to_log_in(self) -> &'static str {
        match self {
            Self::Claude => "Start `claude` once and log in, or set `key_env` to a variable that holds an API key.",
            Self::Codex => "Run `codex login`, or set `key_env` to a variable that holds an API key.",
            Self::Gemini => "Start `gemini` once and log in, or set `key_env` to a variable that holds an API key.",
            Self::CursorAgent => "Run `cursor-agent login`, or set `key_env` to a variable that holds an API key.",
            Self::OpenCode => "Run `opencode auth login`, or set `key_env` to a variable that holds an API key.",
            Self::Aider => "Set `key_env` to a variable that holds an API key.",
        }
    }

    /// Variables with the location of the agent's credentials, when it is not the default.
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

    /// Hosts of the agent's service, which the sandbox lets through.
    pub(super) fn hosts(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"],
            Self::Codex => &["api.openai.com", "auth.openai.com", "chatgpt.com"],
            Self::Gemini => &[
                "generativelanguage.googleapis.com",
                "cloudcode-pa.googleapis.com",
                "oauth2.googleapis.com",
                "www.googleapis.com",
            ],
            Self::CursorAgent => &["*.cursor.sh", "*.cursor.com", "cursor.com"],
            Self::OpenCode | Self::Aider => &[
                "api.anthropic.com",
                "api.openai.com",
                "generativelanguage.googleapis.com",
                "openrouter.ai",
                "opencode.ai",
                "models.dev",
            ],
        }
    }

    /// Files with the agent's log-in and settings that it needs: the variable of their folder, the folder in the home, and
    /// the name.
    pub(super) fn log_in_files(self) -> &'static [(&'static str, &'static str, &'static str)] {
        match self {
            Self::Claude => &[("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json")],
            Self::Codex => &[("CODEX_HOME", ".codex", "auth.json"), ("CODEX_HOME", ".codex", "config.toml")],
            Self::Gemini => &[
                ("", ".gemini", "oauth_creds.json"),
                ("", ".gemini", "google_accounts.json"),
                ("", ".gemini", "settings.json"),
            ],
            Self::CursorAgent => {
                &[("XDG_CONFIG_HOME", ".config", "cursor/auth.json"), ("", ".cursor", "cli-config.json")]
            }
            Self::OpenCode => &[
                ("XDG_DATA_HOME", ".local/share", "opencode/auth.json"),
                ("XDG_CONFIG_HOME", ".config", "opencode/opencode.json"),
                ("XDG_CONFIG_HOME", ".config", "opencode/opencode.jsonc"),
            ],
            Self::Aider => &[("", "", ".aider.conf.yml")],
        }
    }

    /// Folders of the home with the agent's sessions, and the names under which they are kept.
    pub(super) fn session_folders(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Claude => &[(".claude/projects", "claude-projects")],
            Self::Codex => &[(".codex/sessions", "codex-sessions")],
            Self::Gemini => &[(".gemini/tmp", "gemini-tmp")],
            Self::CursorAgent => &[(".cursor/chats", "cursor-chats")],
            Self::OpenCode => &[(".local/share/opencode/storage", "opencode-storage")],
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

    /// The option that names the model.
    fn model_option(self) -> &'static str {
        if matches!(self, Self::Codex | Self::Gemini | Self::OpenCode) { "-m" } else { "--model" }
    }

    /// True when the agent stores its sessions and can continue one.
    pub(crate) fn has_sessions(self) -> bool {
        self != Self::Aider
    }

    /// True when the prompt is standard input.
    pub(crate) fn reads_stdin(self) -> bool {
        self != Self::Aider
    }
}

/// These arguments and nothing else.
fn args(args: &[&str]) -> Invocation {
    Invocation { args: args.iter().map(OsString::from).collect(), ..Invocation::default() }
}

/// A command line, an option a line.
#[cfg(test)]
fn shown(preset: Preset, invocation: &Invocation) -> String {
    let environment = invocation.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let args = invocation.args.iter().map(|arg| arg.to_string_lossy().into_owned());
    let words: Vec<String> = environment.chain([preset.name().to_owned()]).chain(args).collect();
    let line = words.join(" ").replace(" -", "\n-");
    line.replace(&format!(" {}\n", preset.name()), &format!("\n{}\n", preset.name()))
}
