//! Detects a security setting that changes from on to off.
//!
//! ```text
//! -    requests.get(url, verify=True)
//! +    requests.get(url, verify=False)
//! ```

use std::ops::Range;

use crate::change::view::{Pattern, Reporter, View, names, patterns, squeeze};

patterns! {
    SWITCH ["erif", "ERIF", "trict", "TRICT", "heck", "HECK", "eject", "EJECT", "alidat", "ALIDAT", "srf", "SRF", "equire", "EQUIRE", "uth", "UTH", "ttp", "TTP", "ecure", "ECURE"] = concat!(
        r#"(?i)\b((?:\w*_)?(?:verify|verify_?ssl|ssl_?verify|verify_?(?:tls|cert\w*|signature|exp|peer"#,
        r#"|host\w*)|strict_?ssl|check_?hostname|reject_?unauthorized|validate_?(?:cert\w*|signature|issuer"#,
        r#"|audience|lifetime)|csrf_?(?:protection|enabled)|require_?(?:auth\w*|login|https|ssl|signature)"#,
        r#"|auth_?(?:enabled|required)|enable_?auth\w*|http_?only|secure_?cookie\w*"#,
        r#"|session_?cookie_?secure))["']?\s*(?:=>|[:=])\s*["']?(true|false|1|0|on|off)\b"#,
    );
    INVERSE ["nsecure", "NSECURE", "kip", "KIP", "llow", "LLOW", "isable", "ISABLE", "danger_accept"] = concat!(
        r#"(?i)\b((?:\w*_)?(?:insecure\w*|skip_?(?:verify|tls|ssl|auth|validation)\w*|insecure_?skip_?verify"#,
        r#"|allow_?(?:insecure|unauthenticated|anonymous|all_?origins)\w*|disable_?(?:auth|csrf|ssl|tls"#,
        r#"|verification|security)\w*|danger_accept_invalid_certs))["']?\s*(?:=>|[:=(])\s*["']?(true|false|1"#,
        r#"|0|on|off)\b"#,
    );
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.stays()) {
        // A flipped setting has a removed line with its old value.
        let flips = |block: &&Range<usize>| block.len() <= 40 && file.removed_in(block).next().is_some();
        for block in file.blocks.iter().filter(flips) {
            for index in block.clone().filter(|&index| file.lines[index].is_added() && !file.lines[index].is_comment())
            {
                let Some((name, false)) = setting(&file.lines[index].text) else { continue };
                let was_on = file.removed_in(block).any(|line| setting(&line.text) == Some((name.clone(), true)));
                if was_on {
                    let message = format!("security check disabled by `{name}`");
                    reporter.report(file, index..index + 1, Some(message));
                }
            }
        }
    }
}

/// The security setting that a line assigns, and whether the value is the safe one.
fn setting(text: &str) -> Option<(String, bool)> {
    let on = |value: &str| matches!(squeeze(value).to_ascii_lowercase().as_str(), "true" | "1" | "on");
    let read = |pattern: &Pattern, inverse: bool| {
        let groups = pattern.captures(text)?;
        let name = names(groups.get(1)?.as_str()).next()?.to_owned();
        Some((name, on(groups.get(2)?.as_str()) != inverse))
    };
    read(&INVERSE, true).or_else(|| read(&SWITCH, false))
}
