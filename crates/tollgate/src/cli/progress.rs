//! Progress on a terminal, for work that takes more than a second.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows nothing.
const QUIET: Duration = Duration::from_secs(1);

/// The thread that shows, and how it is told.
struct Running {
    figures: Sender<(usize, usize)>,
    thread: JoinHandle<()>,
}

/// Shows how far the work is; gone when dropped.
pub(crate) struct Progress {
    running: Option<Running>,
}

impl Progress {
    /// Starts to watch, if standard error is a terminal.
    pub(crate) fn start() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { running: None };
        }
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || show(&receiver));
        Self { running: Some(Running { figures: sender, thread }) }
    }

    /// Tells how many files are done, and of how many.
    pub(crate) fn files(&self, done: usize, total: usize) {
        if let Some(running) = &self.running {
            let _ = running.figures.send((done, total));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(Running { figures, thread }) = self.running.take() {
            drop(figures);
            let _ = thread.join();
        }
    }
}

fn show(receiver: &mpsc::Receiver<(usize, usize)>) {
    let started = std::time::Instant::now();
    let mut latest = (0, 0);
    while let Some(left) = QUIET.checked_sub(started.elapsed()) {
        match receiver.recv_timeout(left) {
            Ok(figures) => latest = figures,
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.set_message(words(latest));
    bar.enable_steady_tick(Duration::from_millis(120));
    while let Ok(figures) = receiver.recv() {
        bar.set_message(words(figures));
    }
    bar.finish_and_clear();
}

fn words((done, total): (usize, usize)) -> String {
    if total == 0 { "reading the change".to_owned() } else { format!("reviewed {done} of {total} files") }
}
