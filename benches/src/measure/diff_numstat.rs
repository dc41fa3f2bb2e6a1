//! `tollgate analyze --diff` against `git apply --numstat`: whole processes over 60 MB of real diffs.

use std::ffi::OsStr;
use std::io;

use crate::corpus;
use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run;

pub(super) const MEASURE: Measure = Measure { name: "diff-numstat", take };

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let dir = tempfile::tempdir()?;
    let file = run::file_with(dir.path(), "real.diff", &corpus::diffs(setting, corpus::N_BYTES)?)?;
    let ours = setting.analyze(&file)?;
    let ours: Vec<&OsStr> = ours.iter().map(AsRef::as_ref).collect();
    let peer: Vec<&OsStr> = vec!["git".as_ref(), "apply".as_ref(), "--numstat".as_ref(), file.as_ref()];
    let (ours, peer) = run::side_by_side(setting.n_runs, &ours, &peer)?;
    let measure = "diff-numstat, CPU".to_owned();
    Ok(vec![Row { measure, ours: ours.cpu_ms, peer: peer.cpu_ms, unit: "ms", bar: 0.8 }])
}
