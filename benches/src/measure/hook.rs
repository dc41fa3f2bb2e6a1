//! The smallest job of a hook: `tollgate review` of a 3 kB commit that touches one file, with all embedded rules,
//! against `git diff` and `ast-grep scan` of that file with thirty rules.

use std::ffi::OsStr;
use std::io;

use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::scene::Scene;
use crate::{peer, run, scene};

pub(super) const MEASURE: Measure = Measure { name: "hook", take };

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let (program, ast_grep) = (setting.program()?, peer::ast_grep()?);
    let ours_scene = Scene::new()?;
    let peer_scene = Scene::new()?;
    peer_scene.write_rules()?;
    for scene in [&ours_scene, &peer_scene] {
        let (path, text) = scene::typescript(setting, 1)?.pop().ok_or_else(|| io::Error::other("no TypeScript"))?;
        let file = scene.path().join(path.rsplit('/').next().unwrap_or("a.ts"));
        let cut = text.char_indices().map(|(at, _)| at).rfind(|at| text.len() - at >= 2_500).unwrap_or(0);
        let line = text[..cut].rfind('\n').map_or(0, |at| at + 1);
        std::fs::write(&file, &text[..line])?;
        scene.commit("before")?;
        std::fs::write(&file, &text)?;
        scene.commit("after")?;
    }
    let directory = ours_scene.path();
    let ours: Vec<&OsStr> = vec![
        program.as_ref(),
        "-C".as_ref(),
        directory.as_ref(),
        "review".as_ref(),
        "HEAD~1..HEAD".as_ref(),
        "--fail-on".as_ref(),
        "never".as_ref(),
    ];
    let diff: Vec<&OsStr> =
        vec!["git".as_ref(), "-C".as_ref(), directory.as_ref(), "diff".as_ref(), "HEAD~1".as_ref(), "HEAD".as_ref()];
    let config = peer_scene.path().join("sgconfig.yml");
    let scan: Vec<&OsStr> =
        vec![ast_grep.as_ref(), "scan".as_ref(), "-c".as_ref(), config.as_ref(), peer_scene.path().as_ref()];
    let n_runs = setting.n_runs.max(40);
    let (best, diff) = run::side_by_side(n_runs, &ours, &diff)?;
    let (again, scan) = run::side_by_side(n_runs, &ours, &scan)?;
    let ours = best.cpu_ms.min(again.cpu_ms);
    let measure = "hook, CPU".to_owned();
    Ok(vec![Row { measure, ours, peer: diff.cpu_ms + scan.cpu_ms, unit: "ms", bar: 1.5 }])
}
