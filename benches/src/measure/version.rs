//! `tollgate --version` against `git --version`: what starting costs.

use std::ffi::OsStr;
use std::io;

use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run;

pub(super) const MEASURE: Measure = Measure { name: "version", take };

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let program = setting.program()?;
    let ours: [&OsStr; 2] = [program.as_ref(), "--version".as_ref()];
    let peer: [&OsStr; 2] = ["git".as_ref(), "--version".as_ref()];
    let (ours, peer) = run::side_by_side(setting.n_runs.max(100), &ours, &peer)?;
    let measure = "version, CPU".to_owned();
    Ok(vec![Row { measure, ours: ours.cpu_ms, peer: peer.cpu_ms, unit: "ms", bar: 1.5 }])
}
