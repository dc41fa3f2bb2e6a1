//! A browser with one page: navigation, assertions, and a check of its log at the end.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thirtyfour::error::WebDriverResult;
use thirtyfour::{Capabilities, WebDriver};
use tokio::runtime::Runtime;

use crate::pages::chromium::Driver;
use crate::pages::page_log::Watch;
use crate::wait::pause;

/// How long anything may take before a test gives up. Nothing depends on it but the end of a broken test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Comes back when the page has changed, or after a moment: not every change can be observed.
const NEXT_CHANGE: &str = "new Promise((done) => {
    const observer = new MutationObserver(() => { observer.disconnect(); setTimeout(done) });
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    setTimeout(done, 100);
})";

/// A Chromium of its own, which ends with this.
pub(crate) struct Browser {
    session: Option<WebDriver>,
    runtime: Runtime,
    pub(crate) driver: Driver,
    pub(crate) address: SocketAddr,
    pub(crate) watch: RefCell<Watch>,
    /// False when pages have no JavaScript.
    pub(crate) has_script: Cell<bool>,
    /// The emulated media features.
    pub(crate) media: RefCell<Vec<(String, String)>>,
}

impl Browser {
    /// A browser without a session, for the server at an address.
    #[track_caller]
    pub(crate) fn new(address: SocketAddr) -> Self {
        let driver = Driver::start();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let wanted = Capabilities::from(driver.capabilities());
        let session = runtime.block_on(async { WebDriver::new(driver.address(), wanted).await }).unwrap();
        let browser = Self {
            session: Some(session),
            runtime,
            driver,
            address,
            watch: RefCell::default(),
            has_script: Cell::new(true),
            media: RefCell::default(),
        };
        browser.width(1280);
        browser.allow_to_carry();
        browser
    }

    /// A signed-in browser, by the URL that the server printed.
    #[track_caller]
    pub(crate) fn signed_in(address: SocketAddr, token: &str) -> Self {
        let browser = Self::new(address);
        browser.sign_in("/", token);
        browser
    }

    /// Opens a page by an address with the token in it, and waits until it is there.
    #[track_caller]
    pub(crate) fn sign_in(&self, path: &str, token: &str) {
        self.go(&format!("{path}#token={token}"));
        self.until("'signedIn' in document.body.dataset && document.readyState === 'complete'");
        // The previous page was the sign-in form.
        self.overlook("401 (Unauthorized)");
    }

    // Where it is.

    /// Opens a page of the server and waits until it is loaded.
    #[track_caller]
    pub(crate) fn go(&self, path: &str) {
        let url = format!("http://{}{path}", self.address);
        let wanted = path.split('#').next().unwrap_or_default();
        // A page that is navigating (after a form submission) can make the driver believe that this one
        // is there, or win over it: then it is asked for once more. One that leads elsewhere does so twice.
        for _ in 0..2 {
            self.run(async |session| session.goto(&url).await).unwrap();
            self.until("document.body && document.readyState === 'complete'");
            if self.is(&format!("location.pathname + location.search === {}", json!(wanted))) {
                return;
            }
        }
    }

    #[track_caller]
    pub(crate) fn reload(&self) {
        self.run(async |session| session.refresh().await).unwrap();
    }

    #[track_caller]
    pub(crate) fn back(&self) {
        self.run(async |session| session.back().await).unwrap();
    }

    /// Path, query and fragment of the page.
    #[track_caller]
    pub(crate) fn place(&self) -> String {
        self.string("location.pathname + location.search + location.hash")
    }

    // Assertions.

    /// The value of an expression.
    #[track_caller]
    pub(crate) fn value(&self, expression: &str) -> Value {
        self.evaluate(expression).unwrap_or_else(|problem| panic!("{expression}: {problem}"))
    }

    #[track_caller]
    pub(crate) fn string(&self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is no text but {value}")).to_owned()
    }

    #[track_caller]
    pub(crate) fn number(&self, expression: &str) -> f64 {
        let value = self.value(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is no number but {value}"))
    }

    #[track_caller]
    pub(crate) fn is(&self, expression: &str) -> bool {
        self.value(&format!("Boolean({expression})")) == true
    }

    /// How many there are.
    #[track_caller]
    pub(crate) fn count(&self, selector: &str) -> usize {
        let count = self.value(&format!("document.querySelectorAll({}).length", json!(selector)));
        usize::try_from(count.as_u64().unwrap()).unwrap()
    }

    /// The text of the first, as it is shown.
    #[track_caller]
    pub(crate) fn text(&self, selector: &str) -> String {
        let found = format!("document.querySelector({})", json!(selector));
        self.until(&format!("{found} !== null"));
        self.string(&format!("{found}.innerText"))
    }

    /// All text that is shown.
    #[track_caller]
    pub(crate) fn all_text(&self) -> String {
        self.string("document.body.innerText")
    }

    /// Waits until a text is shown.
    #[track_caller]
    pub(crate) fn sees(&self, text: &str) {
        self.until(&format!("document.body?.innerText.includes({})", json!(text)));
    }

    /// Waits until a text is no longer shown.
    #[track_caller]
    pub(crate) fn sees_no_more(&self, text: &str) {
        self.until(&format!("document.body && !document.body.innerText.includes({})", json!(text)));
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub(crate) fn until(&self, expression: &str) {
        let mut last = String::new();
        let is_so = self.wait(|| match self.evaluate(&format!("Boolean({expression})")) {
            Ok(value) => value == true,
            Err(problem) => {
                last = problem;
                false
            }
        });
        assert!(is_so, "waited in vain: {expression}\n{last}\n{}", self.situation());
    }

    /// Looks until something is so, again with each change of the page; false when it never was.
    pub(crate) fn wait(&self, mut is_so: impl FnMut() -> bool) -> bool {
        let begun = Instant::now();
        loop {
            if is_so() {
                return true;
            }
            if begun.elapsed() > PATIENCE {
                return false;
            }
            if self.has_script.get() {
                // A page that goes away takes the promise with it: then there is a new page to look at.
                let _ = self.evaluate(NEXT_CHANGE);
            } else {
                // Without scripts there are no change notifications.
                pause();
            }
        }
    }

    /// The URL and text of the page, for failure messages.
    pub(crate) fn situation(&self) -> String {
        let value = |expression: &str| match self.evaluate(expression) {
            Ok(Value::String(text)) => text,
            other => format!("{other:?}"),
        };
        format!("at {}, which shows:\n{}", value("location.href"), value("document.body.innerText.slice(0, 4000)"))
    }

    // The protocol below.

    /// Runs a command of Chromium's own protocol.
    pub(crate) fn command(&self, method: &str, parameters: Value) -> Result<Value, String> {
        self.run(async |session| session.cdp().send_raw(method, parameters).await).map_err(|error| error.to_string())
    }

    /// Runs a command that must succeed.
    #[track_caller]
    pub(crate) fn must(&self, method: &str, parameters: Value) -> Value {
        self.command(method, parameters).unwrap_or_else(|problem| panic!("{method}: {problem}"))
    }

    /// The value of an expression or its promise, or the thrown error.
    pub(crate) fn evaluate(&self, expression: &str) -> Result<Value, String> {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        result(self.command("Runtime.evaluate", parameters)?)
    }

    /// Runs something with the session.
    pub(crate) fn run<T>(&self, act: impl AsyncFnOnce(&WebDriver) -> WebDriverResult<T>) -> WebDriverResult<T> {
        let session = self.session.as_ref().expect("there is a session until the browser is dropped");
        self.runtime.block_on(act(session))
    }
}

/// What an evaluation gave, or threw.
pub(crate) fn result(answer: Value) -> Result<Value, String> {
    match answer.get("exceptionDetails") {
        None => Ok(answer["result"].get("value").cloned().unwrap_or(Value::Null)),
        Some(thrown) => {
            let said = thrown["exception"]["description"].as_str().or(thrown["text"].as_str());
            Err(said.unwrap_or("something was thrown").to_owned())
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let is_lost = std::thread::panicking();
        if is_lost {
            self.leave_a_trace();
        }
        let problems = if is_lost { Vec::new() } else { self.problems() };
        if let Some(session) = self.session.take() {
            let _ = self.runtime.block_on(async { session.quit().await });
        }
        assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
    }
}
