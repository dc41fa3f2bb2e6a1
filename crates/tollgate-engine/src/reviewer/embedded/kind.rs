//! What kind of file a path is, as far as the rules want to know.

/// True for files that a program writes.
pub(super) fn is_generated(path: &[u8]) -> bool {
    path.ends_with(b".lock") || path.ends_with(b"package-lock.json") || path.ends_with(b".min.js")
}

/// True for files that hold tests.
pub(super) fn is_test(path: &[u8]) -> bool {
    let path = String::from_utf8_lossy(path);
    path.split('/').any(|step| matches!(step, "test" | "tests" | "__tests__" | "spec")) || path.contains(".test.")
}
