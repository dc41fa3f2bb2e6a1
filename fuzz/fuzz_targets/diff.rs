//! Fuzzes the diff parser. Properties: no panic, counts that match the lines, a print and parse round trip for fully parsed
//! diffs, and the same analysis from the parsed and the streamed diff.
//!
//! Run with `RUSTC_BOOTSTRAP=1 cargo fuzz run diff -- -max_total_time=300`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_core::{analysis, diff};

fuzz_target!(|text: &[u8]| {
    let (files, refused) = diff::parse(text.to_vec());
    for file in &files {
        let lines = || file.hunks.iter().flat_map(|hunk| file.lines(hunk));
        assert_eq!(file.n_added as usize, lines().filter(|line| line.kind == diff::LineKind::Added).count());
        assert_eq!(file.n_removed as usize, lines().filter(|line| line.kind == diff::LineKind::Removed).count());
    }
    let counts = |files: &[diff::FileDiff]| -> Vec<_> {
        files.iter().map(|file| (file.path().clone(), file.status, file.n_added, file.n_removed)).collect()
    };
    // Refused parts are not printed, so only a fully parsed diff round-trips.
    if refused.is_empty() {
        assert_eq!(counts(&diff::parse(diff::print(&files)).0), counts(&files));
    }

    let mut fast = analysis::analyze_bytes(text);
    assert_eq!(std::mem::take(&mut fast.refused), refused);
    assert_eq!(fast, analysis::analyze(&files));
    let _ = analysis::render(&fast);
});
