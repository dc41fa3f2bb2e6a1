//! What the operating system says of this process.

use std::sync::OnceLock;

use super::page::{Page, Type};
use crate::app;

/// When the process began, as near as we know.
static BEGUN: OnceLock<u64> = OnceLock::new();

/// Remembers that the process begins now.
pub(super) fn begin() {
    BEGUN.get_or_init(app::now);
}

pub(super) fn render(page: &mut Page) {
    let mut build = page.family("tollgate_build_info", Type::Gauge, "Always 1; the version of the program.");
    build.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let help = "When the server began, in seconds since 1970.";
    page.family("process_start_time_seconds", Type::Gauge, help).sample(&[], BEGUN.get_or_init(app::now));
    let help = "Memory that the process holds, where the system says.";
    let mut memory = page.family("process_resident_memory_bytes", Type::Gauge, help);
    if let Some(n_bytes) = resident_bytes() {
        memory.sample(&[], n_bytes);
    }
}

/// Only Linux has this file.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|n_kb| n_kb * 1024)
}
