//! The self-test of the sandbox: starts this program in the place of an agent, where it attempts to break out.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Agent, CallFailure, Implement, ImplementLimits, explain, implement};
use crate::config::Sandbox;
use crate::process::sandbox::Layers;
use crate::process::sandbox::break_out::{self, Attempt, Targets};

/// The timeout of the attempts together.
const PATIENCE: Duration = Duration::from_secs(60);

/// The layers that hold for agents with these settings.
#[must_use]
pub fn sandbox_layers(sandbox: &Sandbox) -> Layers {
    super::confine::layers(&probe_agent(sandbox, Path::new("")))
}

/// Attempts to break out of the sandbox that agents get; `own` are files and folders of the operator that must not be
/// readable, by what they are.
pub fn attempt_to_break_out(
    sandbox: &Sandbox,
    executable: &Path,
    own: &[(String, PathBuf)],
) -> Result<Vec<Attempt>, CallFailure> {
    let agent = probe_agent(sandbox, executable);
    let failed = |error: std::io::Error| explain::no_area(&agent, &error);
    let operator = Operator::new().map_err(failed)?;
    let targets = operator.targets(own);
    let text = serde_json::to_string(&targets).map_err(|error| failed(error.into()))?;
    let program = executable.to_string_lossy().into_owned();
    let agent =
        Agent { program: super::Program::Command(vec![program, break_out::ARGUMENT.to_owned(), text]), ..agent };
    let done = implement(&Implement {
        agent: &agent,
        folder: &operator.work_tree(),
        prompt: "",
        session: None,
        images: &[],
        binds: &[],
        state: None,
        limits: ImplementLimits { wall: PATIENCE, idle: PATIENCE, ..ImplementLimits::default() },
        executable,
        cancel: &CancellationToken::new(),
        started: &|_| {},
        heard: &|_| {},
        noted: &|_| {},
    })?;
    Ok(break_out::parse(&done.text))
}

fn probe_agent(sandbox: &Sandbox, executable: &Path) -> Agent {
    let agent = Agent::command("sandbox", vec![executable.to_string_lossy().into_owned()]);
    Agent { sandbox: sandbox.clone(), ..agent }
}

/// An operator with secrets, a project and services, all of them made up.
struct Operator {
    folder: tempfile::TempDir,
    api: TcpListener,
    _socket: UnixListener,
    #[cfg(target_os = "linux")]
    _abstract_socket: UnixListener,
}

impl Operator {
    fn new() -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("tollgate-sandbox-").tempdir()?;
        for name in ["tree", "data", "home/.ssh", "config", "other", "project/.git/objects"] {
            std::fs::create_dir_all(folder.path().join(name))?;
        }
        for name in ["data/token", "home/.ssh/id_ed25519", "config/config.toml", "other/secret", "project/.git/config"]
        {
            std::fs::write(folder.path().join(name), "canary\n")?;
        }
        Ok(Self {
            api: TcpListener::bind("127.0.0.1:0")?,
            _socket: UnixListener::bind(folder.path().join("data/socket"))?,
            #[cfg(target_os = "linux")]
            _abstract_socket: {
                use std::os::linux::net::SocketAddrExt as _;
                let name = folder.path().as_os_str().as_encoded_bytes();
                UnixListener::bind_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?)?
            },
            folder,
        })
    }

    fn work_tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    fn targets(&self, own: &[(String, PathBuf)]) -> Targets {
        let path = |(what, name): (&str, &str)| (what.to_owned(), self.folder.path().join(name));
        let secrets = [
            ("the server's token", "data/token"),
            ("a private key in ~/.ssh", "home/.ssh/id_ed25519"),
            ("another project", "other/secret"),
            ("the operator's configuration", "config/config.toml"),
        ];
        let folders = [
            ("the .git of the main checkout", "project/.git"),
            ("another project", "other"),
            ("the operator's configuration", "config/config.toml"),
            ("the operator's home", "home"),
        ];
        Targets {
            secrets: secrets.map(path).into_iter().chain(own.iter().cloned()).collect(),
            folders: folders.map(path).to_vec(),
            server: std::process::id(),
            api: self.api.local_addr().ok(),
            socket: Some(self.folder.path().join("data/socket")),
            abstract_socket: self.folder.path().to_string_lossy().into_owned(),
        }
    }
}
