//! The tools, driven by the official SDK of another language.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use tokio::process::Command;

use super::{BAD, http, story};
use crate::scratch::{Scratch, program};

/// Python with the SDK, as `scripts/mcp-setup` leaves it.
fn python() -> PathBuf {
    let cache = match std::env::var_os("TOLLGATE_CACHE") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/tollgate"),
    };
    let program = cache.join("mcp/bin/python");
    assert!(program.exists(), "run scripts/mcp-setup first");
    program
}

/// Runs the script and returns its output.
async fn run(arguments: [&str; 3], data: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp/official.py");
    let mut command = Command::new(python());
    command.arg(script).args(arguments).env("HOME", data).env("PYTHONDONTWRITEBYTECODE", "1").kill_on_drop(true);
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_python_client_reviews_on_standard_input_and_output() {
    story(async {
        let scratch = Scratch::on_a_branch();
        scratch.write("b.js", BAD);
        let data = tempfile::tempdir().unwrap();
        let (program, folder) = (program().display().to_string(), scratch.path().display().to_string());
        let said = run(["stdio", &program, &folder], data.path()).await;
        assert_snapshot!(said, @r"
        8 tools
        gate closed progress True
        findings 1
        refused True
        ");
    });
}

#[test]
fn the_python_client_reviews_over_http() {
    story(async {
        let (desk, server) = http::begin();
        let (address, token) = (format!("http://{}/mcp", server.address), http::token(&desk));
        let said = run(["http", &address, &token], &desk.path("home")).await;
        assert_snapshot!(said, @r"
        8 tools
        gate closed progress True
        findings 1
        refused True
        ");
    });
}
