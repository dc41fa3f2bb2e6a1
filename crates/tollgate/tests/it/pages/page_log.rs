//! The console messages and network requests of a page.

use std::path::Path;

use serde_json::Value;

use crate::pages::browser::Browser;

/// The log so far.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    said: Vec<String>,
    requests: Vec<Request>,
    dialogs: Vec<String>,
    forgiven: Vec<String>,
}

/// Something that the page asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    id: String,
    pub(crate) url: String,
    /// `Document`, `Stylesheet`, `Script`, `Fetch`, `WebSocket` …
    pub(crate) kind: String,
    pub(crate) status: u64,
    /// Bytes on the wire: head and body, as they were compressed.
    pub(crate) n_bytes: u64,
    /// The content security policy it came with.
    pub(crate) policy: Option<String>,
    pub(crate) failure: Option<String>,
}

impl Browser {
    /// Says that errors with this text will come, and are no failure of the test.
    pub(crate) fn forgive(&self, text: &str) {
        self.watch.borrow_mut().forgiven.push(text.to_owned());
    }

    /// Forgets errors with this text that came until now; later ones are errors.
    pub(crate) fn overlook(&self, text: &str) {
        let _ = self.notice();
        self.watch.borrow_mut().said.retain(|said| !said.contains(text));
    }

    /// All that was asked of the network, since the beginning or [`Browser::forget`].
    #[track_caller]
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.notice().unwrap();
        self.watch.borrow().requests.clone()
    }

    /// Checks and then clears the network requests so far.
    #[track_caller]
    pub(crate) fn forget(&self) {
        let problems = self.problems();
        assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
        let mut watch = self.watch.borrow_mut();
        *watch = Watch { forgiven: std::mem::take(&mut watch.forgiven), ..Watch::default() };
    }

    /// Everything that went wrong so far and was not forgiven.
    pub(crate) fn problems(&self) -> Vec<String> {
        if let Err(problem) = self.notice() {
            return vec![format!("the browser is gone: {problem}")];
        }
        let watch = self.watch.borrow();
        let own = [format!("http://{}/", self.address), format!("ws://{}/", self.address)];
        // What the browser has inside itself is no host.
        let is_host = |url: &str| ["http", "ws", "ftp"].iter().any(|kind| url.starts_with(kind));
        let is_own = |url: &str| !is_host(url) || own.iter().any(|own| url.starts_with(own));
        let elsewhere = watch.requests.iter().filter(|request| !is_own(&request.url));
        let elsewhere = elsewhere.map(|request| format!("asks another host: {} {}", request.kind, request.url));
        let open =
            watch.requests.iter().filter(|request| request.kind == "Document" && request.url.starts_with("http"));
        let open = open.filter(|request| request.status != 0 && request.policy.is_none());
        let open = open.map(|request| format!("comes without a content security policy: {}", request.url));
        let dialogs = watch.dialogs.iter().map(|text| format!("opens a dialog: {text}"));
        // Chromium's own first page may be left before it is done, and complains.
        let said = watch.said.iter().filter(|text| !text.starts_with("chrome://"));
        let said = said.map(|text| format!("says: {text}"));
        let all = said.chain(dialogs).chain(elsewhere).chain(open);
        all.filter(|problem| !watch.forgiven.iter().any(|text| problem.contains(text.as_str()))).collect()
    }

    /// Takes in what the driver has logged since the last time.
    fn notice(&self) -> Result<(), String> {
        let logs =
            self.run(async |session| Ok((session.get_log("browser").await?, session.get_log("performance").await?)));
        let (said, events) = logs.map_err(|problem| problem.to_string())?;
        let mut watch = self.watch.borrow_mut();
        for entry in said.into_iter().filter(|entry| entry.level == "SEVERE") {
            // An answer that refuses is an answer; Chromium says each at the console.
            let is_answer = entry.source.as_deref() == Some("network")
                && entry.message.contains("/api/")
                && entry.message.contains("responded with a status of 4");
            if !is_answer {
                watch.said.push(entry.message);
            }
        }
        for event in events {
            let event: Value = serde_json::from_str(&event.message).map_err(|problem| problem.to_string())?;
            watch.take(event["message"]["method"].as_str().unwrap_or_default(), &event["message"]["params"]);
        }
        Ok(())
    }

    /// Saves a screenshot and the log of a failed test.
    #[expect(clippy::print_stderr, reason = "shown with the failure of the test")]
    pub(crate) fn leave_a_trace(&self) {
        let name = std::thread::current().name().unwrap_or("test").replace("::", "-");
        let path = std::env::temp_dir().join("tollgate-browser-failures").join(name).with_extension("png");
        let kept = self.picture().and_then(|picture| keep(&path, &picture).map_err(|problem| problem.to_string()));
        let kept = kept.map_or_else(|problem| problem, |()| path.display().to_string());
        eprintln!("the browser was {}\npicture: {kept}\n{}", self.situation(), self.problems().join("\n"));
    }
}

/// Writes a file, and the folder it is in.
pub(crate) fn keep(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    std::fs::write(path, bytes)
}

impl Watch {
    /// Takes in one event of Chromium's protocol.
    fn take(&mut self, method: &str, event: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match method {
            "Network.requestWillBeSent" => {
                let (id, url) = (text(&event["requestId"]), text(&event["request"]["url"]));
                self.requests.push(Request { id, url, kind: text(&event["type"]), ..Request::default() });
            }
            "Network.webSocketCreated" => {
                let (id, url) = (text(&event["requestId"]), text(&event["url"]));
                self.requests.push(Request { id, url, kind: "WebSocket".to_owned(), ..Request::default() });
            }
            "Network.responseReceived" => {
                let answer = &event["response"];
                let policy = answer["headers"].as_object().into_iter().flatten();
                let mut policy = policy.filter(|(name, _)| name.eq_ignore_ascii_case("content-security-policy"));
                let policy = policy.next().map(|(_, value)| text(value));
                let status = answer["status"].as_u64().unwrap_or_default();
                if let Some(request) = self.last(event) {
                    (request.status, request.policy) = (status, policy);
                }
            }
            "Network.loadingFinished" => {
                // A number with a fraction, though bytes have none.
                let n_bytes = event["encodedDataLength"].as_f64().unwrap_or_default();
                if let Some(request) = self.last(event) {
                    request.n_bytes = n_bytes as u64;
                }
            }
            "Network.loadingFailed" => {
                let failure = text(&event["errorText"]);
                if let Some(request) = self.last(event) {
                    request.failure = Some(failure);
                }
            }
            "Page.javascriptDialogOpening" => self.dialogs.push(text(&event["message"])),
            _ => {}
        }
    }

    /// The last request with the name in an event: one that is sent on keeps its name.
    fn last(&mut self, event: &Value) -> Option<&mut Request> {
        self.requests.iter_mut().rev().find(|request| event["requestId"] == request.id.as_str())
    }
}
