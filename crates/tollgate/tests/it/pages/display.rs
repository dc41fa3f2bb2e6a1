//! How a page is looked at: its theme, its width, with or without JavaScript or motion; and pictures of it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::pages::browser::Browser;
use crate::pages::page_log::keep;

/// The colours that the system asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    Light,
    Dark,
}

impl Theme {
    pub(crate) const BOTH: [Self; 2] = [Self::Light, Self::Dark];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// What a page costs the browser.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Metrics {
    /// Elements of the document.
    pub(crate) n_elements: usize,
    /// Nodes of the document: elements, texts, comments.
    pub(crate) n_nodes: usize,
    /// The longest time that the page did not answer, in milliseconds.
    pub(crate) longest_task: f64,
    /// When it was there to be used, in milliseconds after it was asked for.
    pub(crate) interactive: f64,
}

/// Puts something fixed in place of what differs from run to run, so that pictures change only when pages do.
const STEADY: &str = r"(() => {
    for (const time of document.querySelectorAll('time[datetime]')) {
        time.textContent = 'since' in time.dataset ? '3 min' : '2 min. ago';
        time.removeAttribute('datetime');
    }
    const steady = [
        [/\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/g, (sha) => '3f9c2ab71d5e804c'.repeat(4).slice(0, sha.length)],
        [/\/tmp\/\.?[A-Za-z0-9_-]+/g, () => '/home/ada'],
        [/\b[0-9]+(\.[0-9]+)? m?s\b/g, () => '2 s'],
        [/(localhost|127\.0\.0\.1|\[::1\]):[0-9]+/g, '$1:7420'],
        [/\b[0-9]+ connections/g, () => '2 connections'],
        [/\b20[0-9]{2}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+Z?)?/g, () => '2026-01-09'],
    ];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const { data, parentElement } = walker.currentNode;
        // The axes of charts are worth as they are.
        if (parentElement.closest('svg')) continue;
        const now = steady.reduce((text, [what, by]) => text.replace(what, by), data);
        if (now !== data) walker.currentNode.data = now;
    }
    return document.fonts.ready.then(() => true);
})()";

/// The tallest picture that is made of a page, in pixels.
const TALLEST: f64 = 1000.0;

impl Browser {
    /// Asks for colours as the system does.
    #[track_caller]
    pub(crate) fn theme(&self, theme: Theme) {
        self.prefer("prefers-color-scheme", theme.name());
    }

    /// Asks for less motion as the system does.
    #[track_caller]
    pub(crate) fn reduced_motion(&self) {
        self.prefer("prefers-reduced-motion", "reduce");
    }

    #[track_caller]
    fn prefer(&self, feature: &str, value: &str) {
        let mut media = self.media.borrow_mut();
        media.retain(|(name, _)| name != feature);
        media.push((feature.to_owned(), value.to_owned()));
        let features: Vec<Value> = media.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        self.must("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Sets the window width in pixels.
    #[track_caller]
    pub(crate) fn width(&self, width: u32) {
        self.window(f64::from(width), if width < 600 { 812.0 } else { 800.0 }).unwrap();
    }

    /// Pages that are loaded from now on have no JavaScript.
    #[track_caller]
    pub(crate) fn javascript_off(&self) {
        self.must("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
        self.has_script.set(false);
    }

    /// How many pixels the page is wider than its window.
    #[track_caller]
    pub(crate) fn sideways(&self) -> f64 {
        self.number("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    }

    /// A picture of the whole page, or of its beginning when it is very tall.
    pub(crate) fn picture(&self) -> Result<Vec<u8>, String> {
        let asked = |name: &str| self.evaluate(name).map(|value| value.as_f64().unwrap_or(800.0));
        let (width, height) = (asked("innerWidth")?, asked("innerHeight")?);
        // In a window of the page's height, since content outside the viewport may not be drawn. Newly drawn content may
        // have another height then.
        for _ in 0..2 {
            let whole = asked("document.documentElement.scrollHeight")?.clamp(height, TALLEST);
            self.window(width, whole)?;
        }
        let picture = self.command("Page.captureScreenshot", json!({ "format": "png" }));
        self.window(width, height)?;
        decode(picture?["data"].as_str().unwrap_or_default()).ok_or_else(|| "no picture".to_owned())
    }

    fn window(&self, width: f64, height: f64) -> Result<Value, String> {
        let (width, height) = (width.round() as i64, height.round() as i64);
        let window = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.command("Emulation.setDeviceMetricsOverride", window)
    }

    /// Takes a screenshot into the temporary folder.
    #[track_caller]
    pub(crate) fn screenshot(&self, name: &str) -> PathBuf {
        self.screenshot_in(&std::env::temp_dir().join("tollgate-screens"), name)
    }

    /// Takes a screenshot for `docs/screens` if `TOLLGATE_SCREENS=1` is set.
    #[track_caller]
    pub(crate) fn screenshot_to_keep(&self, name: &str) -> PathBuf {
        match std::env::var_os("TOLLGATE_SCREENS") {
            Some(_) => self.screenshot_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/screens"), name),
            None => self.screenshot(name),
        }
    }

    #[track_caller]
    fn screenshot_in(&self, folder: &Path, name: &str) -> PathBuf {
        self.value(STEADY);
        let path = folder.join(name).with_extension("png");
        keep(&path, &self.picture().unwrap()).unwrap();
        path
    }

    /// What the page costs.
    #[track_caller]
    pub(crate) fn metrics(&self) -> Metrics {
        let measured = self.value(
            "new Promise((done) => {
                const tasks = [];
                const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries()));
                observer.observe({ type: 'longtask', buffered: true });
                const walker = document.createTreeWalker(document);
                let nodes = 1;
                while (walker.nextNode()) nodes += 1;
                setTimeout(() => {
                    tasks.push(...observer.takeRecords());
                    const [load] = performance.getEntriesByType('navigation');
                    const ends = tasks.map((task) => task.startTime + task.duration);
                    done({
                        elements: document.getElementsByTagName('*').length,
                        nodes,
                        longest: Math.max(0, ...tasks.map((task) => task.duration)),
                        interactive: Math.max(load.domContentLoadedEventEnd, ...ends),
                    });
                }, 50);
            })",
        );
        let count = |name: &str| usize::try_from(measured[name].as_u64().unwrap()).unwrap();
        let time = |name: &str| measured[name].as_f64().unwrap();
        Metrics {
            n_elements: count("elements"),
            n_nodes: count("nodes"),
            longest_task: time("longest"),
            interactive: time("interactive"),
        }
    }
}

/// Reads base64 without a library: the driver writes it plainly, and nothing else here needs it.
fn decode(text: &str) -> Option<Vec<u8>> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().try_fold(0_u32, |bits, byte| Some(bits << 6 | u32::from(value(*byte)?)))?;
        let bits = bits << (6 * (4 - four.len()));
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    Some(bytes)
}
