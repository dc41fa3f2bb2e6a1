//! The part of GitHub at which apps are made: a person confirms, and a code is changed for an app's key and secret.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::fake_github::FakeGithub;

/// The code that is handed back.
pub(crate) const CODE: &str = "a1b2c3d4";
/// The secret of the app that is made.
pub(crate) const SECRET: &str = "made-at-random";

/// It ends with the process.
pub(crate) struct FakeAppSetup {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeAppSetup {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
        let kept = Arc::clone(&asked);
        let pem = FakeGithub::start().private_key();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kept, url) = (Arc::clone(&kept), format!("http://{address}"));
                std::thread::spawn(move || answer(stream, &kept, &url, pem));
            }
        });
        Self { address, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The manifests that people sent, and the codes that were changed: each as it came.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(stream: TcpStream, asked: &Mutex<Vec<String>>, url: &str, pem: &str) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let path = head.split(' ').nth(1)?.to_owned();
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let (status, kind, text) = if path.contains("/settings/apps/new?state=") {
        let manifest = manifest(&body);
        asked.lock().unwrap().push(format!("{path} {manifest}"));
        let state = path.split("state=").nth(1)?;
        let back = format!("{}?code={CODE}&amp;state={state}", manifest["redirect_url"].as_str()?);
        (200, "text/html", format!("<!doctype html><title>x</title><a href=\"{back}\">Create GitHub App</a>"))
    } else if path == format!("/api/v3/app-manifests/{CODE}/conversions") {
        asked.lock().unwrap().push(path);
        let app = json!({
            "id": 815, "slug": "kodiai-test", "name": "kodiai-test", "html_url": format!("{url}/apps/kodiai-test"),
            "client_id": "Iv1.x", "client_secret": "never-kept", "webhook_secret": SECRET, "pem": pem,
        });
        (201, "application/json", app.to_string())
    } else {
        (404, "application/json", json!({ "message": "Not Found" }).to_string())
    };
    let length = text.len();
    let head =
        format!("HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n");
    let policy = "content-security-policy: default-src 'none'\r\n";
    reader.get_mut().write_all(format!("{head}{policy}\r\n{text}").as_bytes()).ok()
}

/// The manifest in a form, as a browser encodes it.
fn manifest(form: &str) -> Value {
    let encoded = form.strip_prefix("manifest=").unwrap_or_default().replace('+', " ");
    let mut bytes = Vec::new();
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        let mut digits = || [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
        bytes.push(if byte == b'%' { hex(digits()) } else { byte });
    }
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn hex(digits: [u8; 2]) -> u8 {
    u8::from_str_radix(&String::from_utf8_lossy(&digits), 16).unwrap_or_default()
}
