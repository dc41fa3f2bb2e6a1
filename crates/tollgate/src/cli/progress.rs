//! The progress spinner on a terminal, shown for work that takes more than a second.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tollgate_core::visible::visible;

/// Shorter work shows no spinner, so that quick commands do not flicker.
const QUIET: Duration = Duration::from_secs(1);

/// The drawing thread and the channel to it.
struct Running {
    words: Sender<String>,
    thread: JoinHandle<()>,
}

/// A progress spinner; dropping it clears the line.
pub(crate) struct Progress {
    running: Option<Running>,
}

impl Progress {
    /// Starts the spinner if standard error is a terminal.
    pub(crate) fn start() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { running: None };
        }
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || show(&receiver));
        Self { running: Some(Running { words: sender, thread }) }
    }

    /// Updates the message, which is formatted only if there is a spinner.
    pub(crate) fn tell(&self, words: impl FnOnce() -> String) {
        if let Some(running) = &self.running {
            let _ = running.words.send(words());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(Running { words, thread }) = self.running.take() {
            drop(words);
            let _ = thread.join();
        }
    }
}

fn show(receiver: &mpsc::Receiver<String>) {
    let started = std::time::Instant::now();
    let mut latest = "reading the change".to_owned();
    while let Some(left) = QUIET.checked_sub(started.elapsed()) {
        match receiver.recv_timeout(left) {
            Ok(words) => latest = words,
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
        bar.set_style(style);
    }
    // The message can contain file names of the change, which are untrusted.
    bar.set_message(visible(&latest).into_owned());
    bar.enable_steady_tick(Duration::from_millis(120));
    while let Ok(words) = receiver.recv() {
        bar.set_message(visible(&words).into_owned());
    }
    bar.finish_and_clear();
}
