//! The text rules, secrets among them, over added lines against ripsecrets over the same files.

use std::ffi::OsStr;
use std::io;

use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::{peer, run, scene};

pub(super) const MEASURE: Measure = Measure { name: "secrets", take };

const N_FILES: usize = 432;
const N_TIMES: usize = 5;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let ripsecrets = peer::find("ripsecrets", "`cargo install ripsecrets`")?;
    let scene = scene::Scene::new()?;
    for (number, (_, text)) in scene::typescript(setting, N_FILES)?.into_iter().enumerate() {
        std::fs::write(scene.path().join(format!("f{number}.ts")), text)?;
    }
    scene.commit("files")?;
    let diff = scene.git(&["diff", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "HEAD"])?.into_bytes();
    let command: Vec<&OsStr> = vec![ripsecrets.as_ref(), scene.path().as_ref()];
    let mut ours = f64::MAX;
    for _ in 0..setting.n_runs {
        let cpu = run::cpu_of(|| {
            for _ in 0..N_TIMES {
                let (files, _) = tollgate_core::diff::parse(diff.clone());
                for file in &files {
                    std::hint::black_box(tollgate_rules::text::scan(file, &|_| true));
                }
            }
        })?;
        ours = ours.min(cpu / N_TIMES as f64);
    }
    let peer = run::least(setting.n_runs, &command)?;
    let measure = format!("secrets, {} kB, CPU", diff.len() / 1000);
    Ok(vec![Row { measure, ours, peer: peer.cpu_ms, unit: "ms", bar: 0.1 }])
}
