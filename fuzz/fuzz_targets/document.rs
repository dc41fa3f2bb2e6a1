//! Fuzzes `feature.json` editing: unedited files round-trip byte for byte, and an edit changes only its own field.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_core::board::Document;

fuzz_target!(|bytes: &[u8]| {
    let Ok(read) = Document::parse(bytes) else {
        return;
    };
    assert_eq!(read.to_bytes(), bytes);
    let value = read.keys().next().and_then(|key| read.raw(key)).unwrap_or("[{\"a\":[]}]").to_owned();
    let mut edited = read.clone();
    if edited.set_raw("tollgate", &value).is_err() {
        assert_eq!(edited, read);
        return;
    }
    assert_eq!(Document::parse(&edited.to_bytes()).as_ref(), Ok(&edited));
    for key in read.keys().filter(|key| *key != "tollgate") {
        assert_eq!(read.raw(key), edited.raw(key));
    }
    edited.remove("tollgate");
    assert_eq!(edited.raw("tollgate"), None);
});
