//! One severity for each class of defect, in every language.

use tollgate_core::finding::Severity;
use tollgate_rules::catalog;

/// The classes: the severity, and the rules.
const CLASSES: &[(&str, Severity, &[&str])] = &[
    (
        "command built from values",
        Severity::Medium,
        &[
            "c-command-injection",
            "go-shell-format",
            "java-command-concat",
            "js-shell-command",
            "php-command-injection",
            "py-shell-injection",
            "ruby-shell-interpolation",
            "rust-shell-format",
        ],
    ),
    ("command from a request", Severity::Critical, &["js-shell-request-input", "py-shell-request-input"]),
    (
        "SQL built from values",
        Severity::High,
        &[
            "csharp-sql-text",
            "go-sql-format",
            "js-sql-injection",
            "kotlin-sql-template",
            "php-sql-interpolation",
            "py-sql-injection",
            "ruby-sql-interpolation",
            "rust-sql-format",
        ],
    ),
    // Constants are concatenated so often in Java that the form proves less.
    ("SQL concatenated in Java", Severity::Medium, &["java-sql-concat"]),
    (
        "secret from a predictable generator",
        Severity::Medium,
        &[
            "c-rand-for-secret",
            "csharp-random-for-secret",
            "go-rand-for-secret",
            "java-random-for-secret",
            "js-weak-random-secret",
            "kotlin-random-for-secret",
            "py-weak-random-secret",
            "ruby-rand-for-secret",
        ],
    ),
    (
        "weak hash of a password",
        Severity::Medium,
        &[
            "go-weak-password-hash",
            "js-weak-password-hash",
            "php-weak-password-hash",
            "py-weak-password-hash",
            "ruby-weak-password-hash",
            "rust-weak-password-hash",
        ],
    ),
    (
        "weak cipher",
        Severity::Medium,
        &[
            "c-weak-cipher",
            "csharp-weak-cipher",
            "go-weak-cipher",
            "java-weak-cipher",
            "js-weak-cipher",
            "py-weak-cipher",
        ],
    ),
    (
        "certificate verification off in a script or setting",
        Severity::Medium,
        &["bash-tls-verification-off", "docker-tls-check-off", "yaml-tls-verification-off"],
    ),
    (
        "error swallowed",
        Severity::Low,
        &[
            "java-empty-catch",
            "js-empty-catch",
            "kotlin-empty-catch",
            "php-empty-catch",
            "py-except-pass",
            "ruby-empty-rescue",
        ],
    ),
    (
        "query in a loop",
        Severity::Low,
        &["csharp-query-in-loop", "go-query-in-loop", "java-query-in-loop", "js-query-in-loop", "py-query-in-loop"],
    ),
    (
        "condition repeated",
        Severity::Medium,
        &[
            "c-duplicate-condition",
            "csharp-duplicate-condition",
            "java-duplicate-condition",
            "js-duplicate-condition",
            "py-duplicate-condition",
            "rust-duplicate-condition",
        ],
    ),
    (
        "exception lost by a return",
        Severity::Medium,
        &["java-return-in-finally", "js-return-in-finally", "py-return-in-finally", "ruby-return-in-ensure"],
    ),
    ("external entities in XML", Severity::Medium, &["java-xxe", "php-xml-entities"]),
    ("script from the network", Severity::Low, &["bash-curl-pipe-shell", "docker-curl-pipe-shell"]),
    (
        "test without an assertion",
        Severity::Low,
        &["java-test-without-assertion", "js-test-no-assertion", "py-test-no-assertion"],
    ),
];

#[test]
fn a_defect_has_the_same_severity_in_every_language() {
    for (class, severity, rules) in CLASSES {
        for id in *rules {
            let rule = catalog::find(id).unwrap_or_else(|| panic!("{id}: no such rule"));
            assert_eq!(rule.severity, *severity, "{id}: {class}");
        }
    }
}

// Issue 19: these were wrong too often to close a gate.
#[test]
fn a_rule_about_removed_code_does_not_block() {
    for id in
        ["api-changed", "api-removed", "auth-guard-removed", "guard-removed", "licence-header-removed", "test-removed"]
    {
        let rule = catalog::find(id).unwrap_or_else(|| panic!("{id}: no such rule"));
        assert!(!rule.severity.blocks(), "{id}");
    }
}
