//! Detects additions that cannot be reviewed: very long files and binary files.

use tollgate_core::diff::Status;

use crate::hit::Hit;
use crate::text::File;

const HUGE: &str = "huge-addition";
const BINARY: &str = "binary-program";
const LARGE: &str = "binary-large";

/// Maximum size of a binary file, which every clone carries.
const MAX_BYTES: u64 = 1 << 20;

/// Maximum number of added lines in one source file.
const MAX_ADDED: u32 = 2500;

/// File extensions of executables and archives.
const PROGRAMS: &[&str] = &[
    "exe", "dll", "so", "dylib", "a", "o", "lib", "obj", "class", "jar", "war", "ear", "zip", "tar", "tgz", "gz",
    "bz2", "xz", "zst", "7z", "rar", "apk", "aab", "ipa", "msi", "deb", "rpm", "pyc", "pyd", "whl", "egg", "node",
    "dmg", "iso", "bin", "com", "ko", "sys", "scr", "nupkg", "gem", "crate",
];

pub(super) fn scan(file: &File<'_>, hits: &mut Vec<Hit>) {
    if file.diff.binary && file.diff.status != Status::Deleted {
        hits.extend(binary(file).or_else(|| large(file)));
    } else if file.diff.n_added > MAX_ADDED {
        hits.extend(huge(file));
    }
}

fn binary(file: &File<'_>) -> Option<Hit> {
    let path = String::from_utf8_lossy(file.path()).into_owned();
    let ending = path.rsplit('/').next()?.rsplit_once('.')?.1.to_ascii_lowercase();
    let class = file.class();
    // Gradle and Maven require that their wrapper be committed.
    let wrapper = path.ends_with("gradle-wrapper.jar") || path.ends_with("maven-wrapper.jar");
    if !PROGRAMS.contains(&ending.as_str()) || class.test || wrapper || !file.enabled(BINARY) {
        return None;
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let done = if file.diff.status == Status::Added { "added" } else { "changed" };
    Some(Hit { evidence: format!("binary file {name} {done}"), ..file.hit(BINARY, Some(1), b"") })
}

/// Reports a large binary file; its size is known only where the diff has the content.
fn large(file: &File<'_>) -> Option<Hit> {
    let size = file.diff.binary_size.filter(|size| *size > MAX_BYTES)?;
    if file.class().test || !file.enabled(LARGE) {
        return None;
    }
    let message = format!("large binary file added ({} MB)", size.div_ceil(1 << 20));
    let evidence = format!("binary file of {size} bytes");
    Some(Hit { message: Some(message), evidence, ..file.hit(LARGE, Some(1), b"") })
}

fn huge(file: &File<'_>) -> Option<Hit> {
    let class = file.class();
    let path = String::from_utf8_lossy(file.path()).to_ascii_lowercase();
    let written = class.code && !class.generated && !class.test && !class.translation;
    if !written || says_generated(file) || path.ends_with(".sql") || !file.enabled(HUGE) {
        return None;
    }
    let (number, text) = file.diff.added().next()?;
    let message = format!("{} lines added to one file", file.diff.n_added);
    Some(Hit { message: Some(message), ..file.hit(HUGE, Some(number), text) })
}

/// True when one of the first lines marks the file as generated.
fn says_generated(file: &File<'_>) -> bool {
    file.diff.added().take(20).any(|(_, text)| {
        let lower = String::from_utf8_lossy(text).to_ascii_lowercase();
        ["generated", "do not edit", "do not modify", "autogen"].iter().any(|word| lower.contains(word))
    })
}
