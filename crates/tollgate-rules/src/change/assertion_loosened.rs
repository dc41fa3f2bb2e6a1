//! Detects an assertion on a value that became an existence check.
//!
//! ```text
//! -    assert_eq!(total(&cart), 42);
//! +    assert!(total(&cart) > 0);
//! ```

use crate::change::view::{Reporter, View, names, patterns};

patterns! {
    EXACT ["ssert", "equire", "toBe", "toEqual", "toStrictEqual"] = concat!(
        r"\b(?:assertEquals?|assert_eq!|assert_equal|assertSame|assertStrictEquals?|toBe|toEqual",
        r"|toStrictEqual|(?:Assert|assert|require)\.(?:Equal|AreEqual|Same|equal|strictEqual|deepEqual",
        r"|deepStrictEqual))\s*\(|^\s*assert .* == ",
    );
    LOOSE ["ssert", "equire", "toBe", "toHave"] = concat!(
        r"\b(?:assertIsNotNone|assertNotNull|assert_not_nil|toBeTruthy|toBeDefined|toBeGreaterThan\w*",
        r"|toHaveBeenCalled|(?:Assert|assert|require)\.(?:NotNull|NotNil|NotEmpty|isOk|IsNotNull))\s*\(",
        r"|\b(?:assert!|assertTrue|assert\.ok)\s*\(.*(?:> 0|!=|is_some\(\)|is_ok\(\)|!is_empty|>= )",
        r"|^\s*assert [^=<>]*(?:$|,| is not None)",
    );
    COMPARES = concat!(
        r"==|\bis\b (?:[^n]|n[^o])|\.equals\(|\.eq\(|matches!|is_some_and|starts_with|contains|\bin\b|Equal",
        r"|includes|isEqual|compare",
    );
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.stays()) {
        for block in &file.blocks {
            let exact: Vec<_> = file.removed_in(block).filter(|line| EXACT.is_match(&line.text)).collect();
            if exact.is_empty() || block.len() > 24 || file.added_in(block).any(|line| EXACT.is_match(&line.text)) {
                continue;
            }
            let loosened = block.clone().find(|&index| {
                let line = &file.lines[index];
                line.is_added()
                    && LOOSE.is_match(&line.text)
                    && !COMPARES.is_match(&line.text)
                    && exact.iter().any(|before| has_same_subject(&before.text, &line.text))
            });
            if let Some(index) = loosened {
                reporter.report(file, index..index + 1, None);
            }
        }
    }
}

/// True when both assertions name the same values.
fn has_same_subject(before: &str, after: &str) -> bool {
    let inside = |text: &str| text.split_once(['(', ' ']).map_or("", |(_, inside)| inside).to_owned();
    let (before, after) = (inside(before.trim()), inside(after.trim()));
    let mut subjects = names(&after)
        .filter(|name| name.len() > 2 && !name.starts_with("to") && !name.starts_with("assert"))
        .peekable();
    subjects.peek().is_some() && subjects.all(|name| names(&before).any(|other| other == name))
}
