//! Fuzzes the answer parser. Properties: no panic, no claim without a title, no more claims than the limit, deterministic
//! results, and no approval from a truncated answer.
//!
//! Run with `RUSTC_BOOTSTRAP=1 cargo fuzz run answer -- -max_total_time=120`; the samples in
//! `crates/tollgate-core/tests/it/answers` are a good initial corpus.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_core::answer::{self, Decision};

fuzz_target!(|text: &[u8]| {
    let text = String::from_utf8_lossy(text);
    let read = answer::read(&text);
    assert_eq!(answer::read(&text), read);
    let structured = serde_json::from_str(&text).ok().map(|value| answer::read_structured(&value));
    for answer in [Some(read), structured].into_iter().flatten().flatten() {
        assert!(answer.claims.len() <= answer::MAX_CLAIMS);
        assert!(answer.claims.iter().all(|claim| !claim.title.trim().is_empty()));
        assert!(!(answer.truncated && answer.decision == Some(Decision::Approved)));
        let json = answer::json::write(&answer);
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    }
});
