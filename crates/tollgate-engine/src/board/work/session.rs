//! Remembers the session of a feature's agent, so that a fix round continues it.
//!
//! Sessions are files of the agent on this machine, and so is their name here, beside the transcripts:
//!
//! ```json
//! {"agent": "claude", "folder": "/home/me/shop/.worktrees/login", "session": "6f9c…"}
//! ```

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::FeatureJob;
use crate::agent::{Agent, Program};

/// The longest session id.
const MAX_ID: usize = 128;
const MAX_BYTES: u64 = 64 * 1024;
const FILE: &str = "session.json";

impl FeatureJob<'_> {
    /// The session that this agent has in this folder, if it can continue one.
    pub(super) fn session(&self, agent: &Agent, folder: &Path) -> Option<String> {
        if !has_sessions(agent) {
            return None;
        }
        let path = self.session_file();
        if std::fs::metadata(&path).ok()?.len() > MAX_BYTES {
            return None;
        }
        let value: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        let is_same = value["agent"] == agent.name.as_str() && value["folder"] == *folder.to_string_lossy();
        value["session"].as_str().filter(|id| is_same && is_plain(id)).map(str::to_owned)
    }

    /// Stores the session for the next fix round. Without it, that begins a new one.
    pub(super) fn keep_session(&self, agent: &Agent, folder: &Path, session: &str) {
        if !has_sessions(agent) || !is_plain(session) {
            return;
        }
        let text = json!({ "agent": agent.name, "folder": folder.to_string_lossy(), "session": session }).to_string();
        let path = self.session_file();
        let Some(parent) = path.parent() else { return };
        let _ = super::review::own_folder(parent).and_then(|()| {
            let mut file = tempfile::NamedTempFile::new_in(parent)?;
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            file.persist(&path).map(drop).map_err(|error| error.error)
        });
    }

    /// Forgets a session that cannot be continued.
    pub(super) fn forget_session(&self) {
        let _ = std::fs::remove_file(self.session_file());
    }

    fn session_file(&self) -> PathBuf {
        self.board.records(self.project.id, self.id()).join(FILE)
    }
}

fn has_sessions(agent: &Agent) -> bool {
    matches!(&agent.program, Program::Preset(preset) if preset.has_sessions())
}

/// The id becomes a command line argument, so it must not look like an option.
fn is_plain(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    (1..=MAX_ID).contains(&id.len()) && !id.starts_with('-') && id.bytes().all(plain)
}
