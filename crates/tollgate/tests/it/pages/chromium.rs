//! The processes of a browser: chromedriver, and the Chromium that it starts, which never outlive the test.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Map, Value, json};

/// How long a browser may take to start. Nothing depends on it but the end of a broken test.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it may find its port taken.
const TRIES: usize = 5;

/// Keeps a program and all that it starts until standard input ends, which is when we close it or are gone ourselves,
/// however that came. Then nothing is left of them, nor of their folder.
const KEEPER: &str = r#"
exec 3<&0
folder=$1; shift
"$@" </dev/null &
read -r _ <&3
trap '' TERM
kill -TERM 0
wait
rm -rf "$folder"
kill -KILL 0
"#;

/// A chromedriver that runs.
pub(crate) struct Driver {
    keeper: Child,
    folder: PathBuf,
    port: u16,
}

impl Driver {
    /// Starts one. It takes a port twice, once for each kind of address, and gives up when the second is not free any more,
    /// so it is tried again.
    #[track_caller]
    pub(crate) fn start() -> Self {
        let mut tries = std::iter::repeat_with(Self::try_start).take(TRIES);
        tries.find_map(|driver| driver).expect("chromedriver starts")
    }

    fn try_start() -> Option<Self> {
        let folder = tempfile::Builder::new().prefix("tollgate-browser-").tempdir().unwrap().keep();
        let driver = named("TOLLGATE_CHROMEDRIVER", "chromedriver");
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "sh"]).arg(&folder).arg(driver).arg("--port=0");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", &folder);
        command.env("TMPDIR", &folder).env("TZ", "UTC").env("LC_ALL", "C.UTF-8").process_group(0);
        let mut keeper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(keeper.stdout.take().unwrap());
        let (found, port) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if let Some((_, port)) = line.split_once("started successfully on port ") {
                    let _ = found.send(port.trim_end_matches('.').parse::<u16>().unwrap());
                } else if line.starts_with("Unable to") || line.contains("Exiting") {
                    // The keeper process stays, so nothing else reports the exit.
                    break;
                }
            }
        });
        let port = port.recv_timeout(PATIENCE);
        // Made before it is known whether the driver runs, so that the keeper ends in any case.
        let driver = Self { keeper, folder, port: *port.as_ref().unwrap_or(&0) };
        port.is_ok().then_some(driver)
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The download folder of the browser.
    pub(crate) fn downloads(&self) -> PathBuf {
        self.folder.join("downloads")
    }

    /// What a session is asked to be.
    pub(crate) fn capabilities(&self) -> Map<String, Value> {
        let profile = format!("--user-data-dir={}", self.folder.join("profile").display());
        let mut arguments = FLAGS.to_vec();
        arguments.push(&profile);
        let wanted = json!({
            "browserName": "chrome",
            "unhandledPromptBehavior": "dismiss",
            "goog:chromeOptions": {
                "binary": named("TOLLGATE_CHROMIUM", "chromium"),
                "args": arguments,
                "perfLoggingPrefs": { "enableNetwork": true, "enablePage": true },
            },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let Value::Object(wanted) = wanted else { unreachable!("an object was written") };
        wanted
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Nothing of its own accord, nothing that differs from machine to machine.
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--force-device-scale-factor=1",
    "--font-render-hinting=none",
    "--lang=en-US",
    "--window-size=1280,800",
    // Instead of the page for new tabs, which loads hundreds of scripts.
    "about:blank",
];

/// The program that a variable names, or the one of the path.
#[track_caller]
fn named(variable: &str, name: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(variable) {
        let path = PathBuf::from(path);
        assert!(path.is_file(), "`{variable}` names `{}`, which is no program", path.display());
        return path;
    }
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("there is no `{name}`: run `scripts/test`, or `scripts/browser-setup`"))
}

/// A file that `scripts/browser-setup` brought.
#[track_caller]
pub(crate) fn brought(name: &str) -> PathBuf {
    let home = || Path::new(&std::env::var_os("HOME").unwrap()).join(".cache/tollgate");
    let cache = std::env::var_os("TOLLGATE_CACHE").map_or_else(home, PathBuf::from);
    let path = cache.join("browser/node_modules").join(name);
    assert!(path.is_file(), "there is no `{}`: run `scripts/test`, or `scripts/browser-setup`", path.display());
    path
}
