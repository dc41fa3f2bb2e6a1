//! Prism between a client and the fake GitHub: it holds both to GitHub's own description of its API.
//!
//! An invalid request is rejected with 422, an invalid response becomes a 500, both with a body that says
//! so; and everything is written to a log, which a test looks at in the end. Set up by `scripts/contract-setup`.

use std::fs::File;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::FakeGithub;
use crate::wait::wait_until;

/// A proxy that checks; it ends when it is dropped.
pub(crate) struct Prism {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

/// Where `scripts/contract-setup` puts things.
pub(crate) fn contract() -> PathBuf {
    let folder = |name: &str, rest: &str| std::env::var_os(name).map(|value| PathBuf::from(value).join(rest));
    let found = folder("TOLLGATE_CONTRACT", "")
        .or_else(|| folder("TOLLGATE_CACHE", "contract"))
        .or_else(|| folder("HOME", ".cache/tollgate/contract"))
        .unwrap();
    assert!(found.join("tollgate-ready").exists(), "{} is not there: run scripts/contract-setup", found.display());
    found
}

impl Prism {
    /// Starts it before a fake GitHub and waits until it answers.
    pub(crate) fn before(github: &FakeGithub) -> Self {
        let contract = contract();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new("node");
        command.arg(contract.join("node_modules/@stoplight/prism-cli/dist/index.js"));
        command.args(["proxy", "--errors", "-h", "127.0.0.1", "-p", &port.to_string()]);
        command.arg(contract.join("github.json")).arg(github.url());
        command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut prism = Self { child: command.spawn().unwrap(), port, folder };
        wait_until("Prism listens", || {
            assert!(prism.child.try_wait().unwrap().is_none(), "Prism ended: {}", prism.log());
            prism.log().contains("Prism is listening")
        });
        prism
    }

    /// Its address, which takes the place of the API's.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Everything in which a request or an answer was not as GitHub describes it.
    pub(crate) fn violations(&self) -> Vec<String> {
        let log = self.log();
        let is_one = |line: &&str| line.contains("[VALIDATOR]") && !line.contains("success") || line.contains("✖");
        log.lines().filter(is_one).map(str::to_owned).collect()
    }
}

impl Drop for Prism {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
