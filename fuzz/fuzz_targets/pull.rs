//! Fuzzes the parser of bot commands in pull request comments, and the replies. Properties: no panic, no command inside a
//! quote, and every reply is recognized by exactly one marker, for any repeated text.
//!
//! Run with `RUSTC_BOOTSTRAP=1 cargo fuzz run pull -- -max_total_time=120`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_core::pull::command;
use tollgate_core::pull::marker::Marker;
use tollgate_core::pull::reply::{self, ReplyTarget};

fuzz_target!(|text: &[u8]| {
    let text = String::from_utf8_lossy(text).replace('\r', "\n");
    let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
    let _ = command::parse(&text, "bot");
    assert_eq!(command::parse(&quoted, "bot"), None);
    let _ = Marker::all_in(&text);
    let to = ReplyTarget { comment: 7, mention: "bot" };
    for answer in [reply::unknown(&to, &text), reply::failed(&to, &text)] {
        assert_eq!(Marker::all_in(&answer), [Marker::Reply { comment: 7 }]);
        assert_eq!(command::parse(&answer, "bot"), None);
    }
});
