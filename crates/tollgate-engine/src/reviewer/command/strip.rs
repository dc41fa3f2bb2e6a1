//! Removes agent configuration from a tree before an agent sees it.
//!
//! The reviewed change can bring instructions, hooks, MCP servers and settings for the very agent that reviews it, and
//! agents run and obey them. So agent configuration is removed, in every folder and in any case, as are environment files
//! that agents load, repositories, and links that lead out of the tree.

use std::io;
use std::path::{Path, PathBuf};

/// Names that are removed, in lower case; `*` at the end stands for anything.
///
/// `.env*` and `bunfig.toml` are read by the runtimes that agents are built on: they can redirect requests that carry
/// the key, or load code. Files named `…ignore` hide code from an agent's search.
const NAMES: &[&str] = &[
    ".git",
    ".claude*",
    "claude.md",
    "claude.local.md",
    ".codex*",
    "agents.md",
    "agents.override.md",
    ".agents",
    ".agent",
    ".gemini*",
    "gemini.md",
    ".cursor*",
    ".opencode*",
    "opencode.json*",
    ".aider*",
    ".mcp*",
    "mcp.json",
    ".windsurf*",
    ".codeium*",
    ".cline*",
    ".roo*",
    ".continue*",
    ".kiro",
    ".amazonq",
    ".junie",
    ".augment*",
    ".goose*",
    ".qwen*",
    "qwen.md",
    ".crush*",
    "crush.json",
    "crush.md",
    ".factory",
    ".trae",
    "warp.md",
    ".rules",
    ".env",
    ".env.*",
    ".envrc",
    "bunfig.toml",
    ".npmrc",
];

/// Paths below a folder that are removed, in lower case: the folder and the names in it.
const BELOW: &[(&str, &[&str])] = &[
    (".github", &["copilot*", "instructions", "prompts", "agents", "chatmodes", "skills"]),
    (".vscode", &["mcp.json", "settings.json", "tasks.json"]),
];

/// Removes agent configuration from a tree and returns the removed paths.
pub(super) fn strip(root: &Path) -> io::Result<Vec<PathBuf>> {
    let root = root.canonicalize()?;
    let mut gone = Vec::new();
    let mut pending = vec![root.clone()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let name = entry.file_name().to_string_lossy().to_lowercase();
            let leaves = kind.is_symlink() && !path.canonicalize().is_ok_and(|target| target.starts_with(&root));
            if leaves || goes(folder.file_name().map(|name| name.to_string_lossy()).as_deref(), &name) {
                remove(&path, kind.is_dir())?;
                gone.push(path.strip_prefix(&root).unwrap_or(&path).to_owned());
            } else if kind.is_dir() {
                pending.push(path);
            }
        }
    }
    gone.sort();
    Ok(gone)
}

fn goes(folder: Option<&str>, name: &str) -> bool {
    let folder = folder.unwrap_or_default().to_lowercase();
    let below = BELOW.iter().filter(|(of, _)| *of == folder).flat_map(|(_, names)| *names);
    NAMES.iter().chain(below).any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}

fn remove(path: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip_files(files: &[&str]) -> (tempfile::TempDir, Vec<String>) {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let gone = strip(root.path()).unwrap();
        let gone = gone.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        (root, gone)
    }

    #[track_caller]
    fn check(file: &str, expected: &str) {
        let (root, gone) = strip_files(&[file, "kept.rs"]);
        assert_eq!(gone.join(" "), expected);
        assert_eq!(root.path().join(file).exists(), expected.is_empty(), "{file}");
        assert!(root.path().join("kept.rs").exists());
    }

    #[test]
    fn configuration_of_agents_goes_from_every_folder() {
        for (file, gone) in [
            (".claude/settings.json", ".claude"),
            ("a/b/.claude/hooks/x.sh", "a/b/.claude"),
            ("CLAUDE.md", "CLAUDE.md"),
            ("sub/CLAUDE.local.md", "sub/CLAUDE.local.md"),
            (".mcp.json", ".mcp.json"),
            (".codex/config.toml", ".codex"),
            ("AGENTS.md", "AGENTS.md"),
            ("AGENTS.override.md", "AGENTS.override.md"),
            (".agents/skills/x/SKILL.md", ".agents"),
            (".gemini/settings.json", ".gemini"),
            ("GEMINI.md", "GEMINI.md"),
            (".cursor/rules/x.mdc", ".cursor"),
            (".cursorrules", ".cursorrules"),
            (".windsurfrules", ".windsurfrules"),
            (".opencode/agent/build.md", ".opencode"),
            ("opencode.json", "opencode.json"),
            ("opencode.jsonc", "opencode.jsonc"),
            (".aider.conf.yml", ".aider.conf.yml"),
            (".github/copilot-instructions.md", ".github/copilot-instructions.md"),
            (".github/instructions/x.md", ".github/instructions"),
            (".vscode/mcp.json", ".vscode/mcp.json"),
            (".env", ".env"),
            (".env.local", ".env.local"),
            ("bunfig.toml", "bunfig.toml"),
            (".git/hooks/pre-commit", ".git"),
        ] {
            check(file, gone);
        }
    }

    #[test]
    fn another_spelling_does_not_save_it() {
        for file in ["Claude.MD", "aGents.md", ".MCP.json", "OPENCODE.json", ".GIT"] {
            check(file, file);
        }
        check(".GitHub/Copilot-Instructions.md", ".GitHub/Copilot-Instructions.md");
    }

    #[test]
    fn similar_names_are_kept() {
        for file in ["claude.rs", "docs/agents.txt", ".github/workflows/ci.yml", ".gitignore", "environment.md", "git"]
        {
            check(file, "");
        }
    }

    #[test]
    #[cfg(unix)]
    fn links_that_lead_out_of_the_tree_go() {
        use std::os::unix::fs::symlink;

        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "canary").unwrap();
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("x/y")).unwrap();
        std::fs::write(root.path().join("file"), "").unwrap();
        symlink("file", root.path().join("inside")).unwrap();
        symlink("../file", root.path().join("x/inside")).unwrap();
        symlink("../..", root.path().join("x/y/top")).unwrap();
        symlink(outside.path(), root.path().join("absolute")).unwrap();
        symlink("../secret", root.path().join("up")).unwrap();
        symlink("nowhere", root.path().join("dangling")).unwrap();
        symlink("loop", root.path().join("loop")).unwrap();
        // Inside when read as text, outside when followed.
        symlink("x/y/top/..", root.path().join("sly")).unwrap();
        let gone: Vec<_> = strip(root.path()).unwrap().iter().map(|path| path.display().to_string()).collect();
        assert_eq!(gone.join(" "), "absolute dangling loop sly up");
        assert!(outside.path().join("secret").exists());
    }
}
