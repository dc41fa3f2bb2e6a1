//! Feeds arbitrary text to what reads comments on pull requests and to what answers them, and holds its laws: no panic,
//! nothing in a quote is a command, every answer is known again by its one mark, whatever it repeats.
//!
//! Run with `RUSTC_BOOTSTRAP=1 cargo fuzz run pull -- -max_total_time=120`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_core::pull::command;
use tollgate_core::pull::mark::Mark;
use tollgate_core::pull::reply::{self, To};

fuzz_target!(|text: &[u8]| {
    let text = String::from_utf8_lossy(text).replace('\r', "\n");
    let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
    let _ = command::parse(&text, "bot");
    assert_eq!(command::parse(&quoted, "bot"), None);
    let _ = Mark::all_in(&text);
    let to = To { comment: 7, mention: "bot" };
    for answer in [reply::unknown(&to, &text), reply::failed(&to, &text)] {
        assert_eq!(Mark::all_in(&answer), [Mark::Reply { comment: 7 }]);
        assert_eq!(command::parse(&answer, "bot"), None);
    }
});
