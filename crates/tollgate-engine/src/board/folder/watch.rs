//! Watches the feature files of a project for changes of other programs.
//!
//! File system notifications trigger a check, debounced; in addition all files are polled every few seconds, so that
//! nothing is missed where notifications fail: network file systems, too many directories, a lost event. Files are not
//! read here. Our own writes are noticed as well.

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use super::{FEATURE, Folder, Stamp, failure};
use crate::failure::Failure;

/// The polling interval.
pub const EVERY: Duration = Duration::from_secs(5);
/// The debounce: how long it has to be quiet before a change is reported, and the maximum delay.
const QUIET: Duration = Duration::from_millis(50);
const MAX_DELAY: Duration = Duration::from_millis(500);
/// The maximum number of queued notifications; beyond it all files are checked.
const MAX_WAITING: usize = 4096;
/// The maximum number of unread reports; later changes are merged.
const MAX_UNHEARD: usize = 16;
/// Two writes within this time may leave the same stamp, so the file is reported again.
const SAME_TICK: Duration = Duration::from_millis(100);

/// A report of changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// The feature folders whose files were created, changed or deleted.
    pub names: BTreeSet<String>,
    /// A warning, sent once: why changes are noticed late.
    pub note: Option<String>,
}

/// A watcher, stopped when dropped.
#[derive(Debug)]
pub struct Watcher {
    wake: SyncSender<WatchMessage>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum WatchMessage {
    /// A notification about a feature folder, or about anything.
    Changed(Option<String>),
    /// Notifications are incomplete.
    Incomplete(String),
    Stop,
}

impl Watcher {
    /// Starts a watcher; `every` is usually [`EVERY`].
    ///
    /// The current state is not a change: reading the files afterwards misses nothing.
    pub fn start(folder: Arc<Folder>, every: Duration) -> Result<(Self, Receiver<Changes>), Failure> {
        let (wake, woken) = sync_channel(MAX_WAITING);
        let (tell, told) = sync_channel(MAX_UNHEARD);
        let mut tracker = FileTracker::new(folder);
        let listener = listen(tracker.folder.features_path(), wake.clone());
        if let Err(why) = &listener {
            tracker.warn_incomplete(why, every);
        }
        // Checked after the watch began, so that nothing in between is missed.
        tracker.look_at_all();
        tracker.pending.names.clear();
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
            let _listener = listener;
            tracker.watch(&woken, &tell, every);
        });
        let thread = thread.map_err(|error| failure::cannot_watch(&error))?;
        Ok((Self { wake, thread: Some(thread) }, told))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // The queue may be full; the watcher thread drains it.
        let _ = self.wake.send(WatchMessage::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The known state of the files.
struct FileTracker {
    folder: Arc<Folder>,
    seen: HashMap<String, Stamp>,
    /// Files written so shortly before the check that a second write could go unnoticed; they are reported again.
    fresh: BTreeSet<String>,
    pending: Changes,
    is_incomplete: bool,
}

impl FileTracker {
    fn new(folder: Arc<Folder>) -> Self {
        let (seen, fresh, pending) = (HashMap::new(), BTreeSet::new(), Changes::default());
        Self { folder, seen, fresh, pending, is_incomplete: false }
    }

    fn watch(&mut self, woken: &Receiver<WatchMessage>, tell: &SyncSender<Changes>, every: Duration) {
        let mut next_look = Instant::now() + every;
        let mut touched: Option<Notifications> = None;
        loop {
            let deadline = touched.as_ref().map_or(next_look, |touched| touched.due().min(next_look));
            let deadline = if self.is_telling() { deadline.min(Instant::now() + QUIET) } else { deadline };
            match woken.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(WatchMessage::Changed(name)) => touched.get_or_insert_with(Notifications::new).add(name),
                Ok(WatchMessage::Incomplete(why)) => self.warn_incomplete(&why, every),
                Ok(WatchMessage::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            crate::process::panic_point("watch");
            let now = Instant::now();
            if let Some(done) = touched.take_if(|touched| touched.due() <= now) {
                self.look_at(done.names);
            }
            if next_look <= now {
                self.look_at_all();
                next_look = now + every;
            }
            if !self.tell(tell) {
                return;
            }
        }
    }

    fn is_telling(&self) -> bool {
        self.pending != Changes::default()
    }

    /// Reports pending changes, now or later; false when the receiver is gone.
    fn tell(&mut self, tell: &SyncSender<Changes>) -> bool {
        if !self.is_telling() {
            return true;
        }
        match tell.try_send(std::mem::take(&mut self.pending)) {
            Ok(()) => true,
            Err(TrySendError::Full(changes)) => {
                self.pending = changes;
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }

    fn warn_incomplete(&mut self, why: &str, every: Duration) {
        if !std::mem::replace(&mut self.is_incomplete, true) {
            let note = format!("changes to features are noticed every {} s only: {why}", every.as_secs());
            self.pending.note = Some(note);
        }
    }

    /// Compares some files, or all, with their known stamps.
    fn look_at(&mut self, names: Option<BTreeSet<String>>) {
        let Some(names) = names else {
            return self.look_at_all();
        };
        for name in names {
            let stamp = self.folder.stamp(&name);
            self.compare(name, stamp);
        }
    }

    fn look_at_all(&mut self) {
        // An unreadable directory is checked again later; its files do not count as deleted.
        let Ok(stamps) = self.folder.stamps() else {
            return;
        };
        self.pending.names.append(&mut self.fresh);
        let now: BTreeSet<&String> = stamps.iter().map(|(name, _)| name).collect();
        let gone: Vec<String> = self.seen.keys().filter(|name| !now.contains(name)).cloned().collect();
        for name in gone {
            self.compare(name, None);
        }
        for (name, stamp) in stamps {
            self.compare(name, stamp);
        }
    }

    fn compare(&mut self, name: String, stamp: Option<Stamp>) {
        let before = match stamp {
            Some(stamp) => self.seen.insert(name.clone(), stamp),
            None => self.seen.remove(&name),
        };
        if before == stamp {
            return;
        }
        if stamp.is_some_and(|stamp| stamp.is_fresh(SystemTime::now(), SAME_TICK)) {
            self.fresh.insert(name.clone());
        }
        self.pending.names.insert(name);
    }
}

/// The notifications since the last quiet period.
struct Notifications {
    /// `None` means all files.
    names: Option<BTreeSet<String>>,
    first: Instant,
    last: Instant,
}

impl Notifications {
    fn new() -> Self {
        let now = Instant::now();
        Self { names: Some(BTreeSet::new()), first: now, last: now }
    }

    fn add(&mut self, name: Option<String>) {
        self.last = Instant::now();
        match (name, &mut self.names) {
            (Some(name), Some(names)) if names.len() < MAX_WAITING => {
                names.insert(name);
            }
            _ => self.names = None,
        }
    }

    fn due(&self) -> Instant {
        (self.last + QUIET).min(self.first + MAX_DELAY)
    }
}

fn listen(features: PathBuf, wake: SyncSender<WatchMessage>) -> Result<RecommendedWatcher, String> {
    // The system may report another path of the directory.
    let features = features.canonicalize().unwrap_or(features);
    let root = features.clone();
    let lost = std::sync::atomic::AtomicBool::new(false);
    let handler = move |event: notify::Result<notify::Event>| {
        use std::sync::atomic::Ordering::Relaxed;
        let wakes: Vec<WatchMessage> = match event {
            Ok(event) if event.need_rescan() => vec![WatchMessage::Changed(None)],
            Ok(event) if event.kind.is_access() => return,
            Ok(event) => event.paths.iter().filter_map(|path| touched(&root, path)).collect(),
            Err(error) => vec![WatchMessage::Incomplete(error.to_string())],
        };
        for message in wakes {
            // A lost notification is made up for by checking everything, once the queue has room.
            let message = if lost.swap(false, Relaxed) { WatchMessage::Changed(None) } else { message };
            if wake.try_send(message).is_err() {
                lost.store(true, Relaxed);
            }
        }
    };
    let config = notify::Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(handler, config).map_err(|error| error.to_string())?;
    watcher.watch(&features, RecursiveMode::Recursive).map_err(|error| error.to_string())?;
    Ok(watcher)
}

/// The feature of a path, if any.
fn touched(root: &Path, path: &Path) -> Option<WatchMessage> {
    let Ok(below) = path.strip_prefix(root) else {
        return Some(WatchMessage::Changed(None));
    };
    let mut steps = below.components();
    let Some(Component::Normal(name)) = steps.next() else {
        return Some(WatchMessage::Changed(None));
    };
    let is_card = steps.next().is_none_or(|step| step.as_os_str() == FEATURE);
    is_card.then(|| WatchMessage::Changed(Some(name.to_string_lossy().into_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<Option<&str>>) {
        let found = touched(Path::new("/p/features"), Path::new(path)).map(|wake| match wake {
            WatchMessage::Changed(name) => name,
            WatchMessage::Incomplete(_) | WatchMessage::Stop => panic!("something else"),
        });
        assert_eq!(found.as_ref().map(Option::as_deref), expected, "{path}");
    }

    #[test]
    fn only_cards_and_their_folders_count() {
        check("/p/features/a/feature.json", Some(Some("a")));
        check("/p/features/a", Some(Some("a")));
        check("/p/features", Some(None));
        check("/elsewhere/a", Some(None));
        check("/p/features/a/agent-output.md", None);
        check("/p/features/a/.tollgate-1-2-3-4", None);
        check("/p/features/a/images/feature.json", None);
    }

    #[test]
    fn too_many_notifications_check_all_files() {
        let mut touched = Notifications::new();
        for number in 0..=MAX_WAITING {
            touched.add(Some(number.to_string()));
        }
        assert_eq!(touched.names, None);
        touched.add(Some("a".to_owned()));
        assert_eq!(touched.names, None);
    }

    /// A watcher without notifications, after its first check.
    fn tracker(folder: &Arc<Folder>) -> FileTracker {
        let mut tracker = FileTracker::new(Arc::clone(folder));
        tracker.look_at_all();
        tracker.pending = Changes::default();
        tracker.fresh.clear();
        tracker
    }

    #[test]
    fn created_changed_and_deleted_cards_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::make(dir.path(), super::super::DEFAULT_NAME).unwrap());
        let put = |name: &str, text: &str| {
            let handle = folder.features_path().join(name);
            std::fs::create_dir_all(&handle).unwrap();
            std::fs::write(handle.join(FEATURE), text).unwrap();
        };
        for name in ["same", "other", "gone", "gone-with-folder"] {
            put(name, "{}");
        }
        let mut tracker = tracker(&folder);
        put("new", "{}");
        put("other", "{ }");
        std::fs::remove_file(folder.features_path().join("gone").join(FEATURE)).unwrap();
        std::fs::remove_dir_all(folder.features_path().join("gone-with-folder")).unwrap();
        std::fs::create_dir(folder.features_path().join("without")).unwrap();
        tracker.look_at_all();
        let told: Vec<String> = std::mem::take(&mut tracker.pending).names.into_iter().collect();
        assert_eq!(told, ["gone", "gone-with-folder", "new", "other"]);
        // Files possibly written twice in one clock tick are reported once more.
        tracker.look_at_all();
        let again = std::mem::take(&mut tracker.pending).names;
        assert!(again.iter().all(|name| name == "new" || name == "other"), "{again:?}");
        tracker.look_at_all();
        assert_eq!(tracker.pending, Changes::default());
    }

    #[test]
    fn a_slow_receiver_gets_merged_changes() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::make(dir.path(), super::super::DEFAULT_NAME).unwrap());
        let mut tracker = tracker(&folder);
        let (tell, told) = sync_channel(1);
        for name in ["a", "b", "c"] {
            tracker.pending.names.insert(name.to_owned());
            assert!(tracker.tell(&tell));
        }
        assert_eq!(told.recv().unwrap().names.len(), 1);
        assert!(tracker.tell(&tell));
        assert_eq!(told.recv().unwrap().names.into_iter().collect::<Vec<_>>(), ["b", "c"]);
        drop(told);
        tracker.warn_incomplete("a limit", EVERY);
        assert!(!tracker.tell(&tell));
    }

    #[test]
    fn missing_notifications_are_reported_once() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::make(dir.path(), super::super::DEFAULT_NAME).unwrap());
        let mut tracker = tracker(&folder);
        tracker.warn_incomplete("no more watches", EVERY);
        let note = tracker.pending.note.take();
        assert_eq!(note.as_deref(), Some("changes to features are noticed every 5 s only: no more watches"));
        tracker.warn_incomplete("another", EVERY);
        assert_eq!(tracker.pending.note, None);
    }
}
