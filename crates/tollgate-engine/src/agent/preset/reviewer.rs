//! Read-only command lines of each agent.
//!
//! "Read-only" flags often do not keep their promise, so each line here was tried with a model that asks for writes. Tools
//! are removed rather than forbidden wherever an agent permits that, because a prompt injection cannot use a tool that
//! does not exist.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::{Given, Invocation, Preset, args};

/// The command line of an agent as a reviewer that answers in this schema.
pub(crate) fn invoke(preset: Preset, given: &Given<'_>, schema: &Value) -> Invocation {
    let mut invocation = match preset {
        Preset::Claude => claude(schema),
        Preset::Codex => codex(given, schema),
        Preset::Gemini => gemini(given),
        Preset::CursorAgent => args(&["-p", "--output-format", "json", "--mode", "ask", "--trust"]),
        Preset::OpenCode => opencode(),
        Preset::Aider => aider(given),
    };
    if let Some(model) = given.model {
        invocation.args.extend([preset.model_option().into(), model.into()]);
    }
    if preset == Preset::Codex {
        // The prompt is standard input; this must come last.
        invocation.args.push("-".into());
    }
    invocation
}

/// Only the tools that read exist; `--allowedTools` would leave the others there.
fn claude(schema: &Value) -> Invocation {
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
    invocation.args.push(schema.to_string().into());
    invocation.knows_schema = true;
    invocation.environment = vec![
        ("DISABLE_AUTOUPDATER".to_owned(), "1".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".to_owned(), "1".to_owned()),
    ];
    invocation
}

/// Without user configuration no folder is trusted, and so no server of the reviewed tree is started.
fn codex(given: &Given<'_>, schema: &Value) -> Invocation {
    let mut invocation = args(&["exec", "--json", "--sandbox", "read-only", "--ephemeral", "--skip-git-repo-check"]);
    // Web search would leak code, and subagents would not be restricted as this one is.
    for setting in ["project_doc_max_bytes=0", "web_search=\"disabled\"", "features.multi_agent=false"] {
        invocation.args.extend(["-c".into(), setting.into()]);
    }
    invocation.args.extend(["--ignore-user-config", "--ignore-rules", "--output-schema"].map(OsString::from));
    invocation.args.push(given.beside.join("schema.json").into());
    invocation.args.push("-o".into());
    invocation.args.push(given.beside.join("last.json").into());
    invocation.files.push(("schema.json", schema.to_string()));
    invocation.last = Some("last.json");
    invocation.knows_schema = true;
    invocation
}

/// Plan mode alone can be left by a tool call and does not cover the tools of configured MCP servers. So a policy denies
/// everything but reading, and denied tools are not even offered to the model.
const GEMINI_POLICY: &str = r#"[[rule]]
toolName = "*"
decision = "deny"
priority = 998

[[rule]]
toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"]
decision = "allow"
priority = 999
"#;

/// With a base URL set, Gemini CLI takes the key for that of a gateway and rejects it, unless its settings say otherwise.
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
    // Without a title, OpenCode would ask a model for one.
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
    use std::path::Path;

    use insta::assert_snapshot;

    use super::*;

    fn line(preset: Preset) -> String {
        let (schema, beside) = (json!({"type": "object"}), Path::new("AREA"));
        let given = Given { model: Some("m"), key: None, beside, prompt: Path::new("AREA/prompt") };
        super::super::shown(preset, &invoke(preset, &given, &schema))
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
