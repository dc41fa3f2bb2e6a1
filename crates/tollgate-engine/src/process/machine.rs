//! The name of this machine for servers that share a database.
//!
//! ```text
//! build-7-5d41402a      the host name and a hash of the machine id
//! ```

use sha2::{Digest as _, Sha256};

/// The longest name of a machine.
const MAX_CHARS: usize = 64;

/// The name of this machine, stable across restarts.
///
/// Containers of one image share the machine id, but usually not the host name.
#[must_use]
pub(crate) fn name() -> String {
    let number = ["/etc/machine-id", "/var/lib/dbus/machine-id"].iter().find_map(|path| std::fs::read(path).ok());
    // The machine id is confidential, so only a hash of it is used.
    let hash = Sha256::digest([b"tollgate machine ", number.as_deref().unwrap_or_default()].concat());
    let hash: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{hash}", host())
}

/// The host name.
#[must_use]
pub(super) fn host() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let known = kernel.or_else(|| ["HOSTNAME", "COMPUTERNAME"].iter().find_map(|name| std::env::var(name).ok()));
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || "-_.".contains(*character);
    let name: String = known.unwrap_or_default().chars().filter(is_plain).take(MAX_CHARS).collect();
    if name.is_empty() { "machine".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_called_the_same_each_time() {
        assert_eq!(name(), name());
        assert!(name().starts_with(&host()) && name().len() > host().len(), "{}", name());
    }
}
