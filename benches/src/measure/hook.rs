//! The smallest job of a hook: `tollgate review` of real 3 kB commits that touch one file, with all embedded rules,
//! against `git diff` and `ast-grep scan` of that file with thirty rules.

use std::ffi::OsStr;
use std::io;

use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run::Memory;
use crate::scene::Scene;
use crate::{peer, run, scene};

pub(super) const MEASURE: Measure = Measure { name: "hook", take };

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let (mut ours, mut peer) = (0.0, 0.0);
    let commits = small_commits(setting)?;
    for commit in &commits {
        let (cost, beside) = one(setting, commit)?;
        ours += cost;
        peer += beside;
    }
    let measure = format!("hook, {} commits, CPU", commits.len());
    Ok(vec![Row { measure, ours, peer, unit: "ms", bar: 1.5 }])
}

/// A commit that changes one TypeScript file.
struct Commit {
    before: String,
    after: String,
}

const N_COMMITS: usize = 10;

/// Real commits whose diff has about 3 kB in one file.
fn small_commits(setting: &Setting) -> io::Result<Vec<Commit>> {
    let corpus = scene::corpus(setting)?;
    let log = ["log", "--no-merges", "--format=%H", "--diff-filter=M", "-n", "3000", "HEAD", "--", "*.ts"];
    let mut commits = Vec::new();
    for commit in scene::git(corpus, &log)?.lines() {
        let parent = format!("{commit}~1");
        let changed = scene::git(corpus, &["diff", "--name-only", &parent, commit])?;
        let [path] = changed.lines().collect::<Vec<_>>()[..] else { continue };
        let size = scene::git(corpus, &["diff", &parent, commit])?.len();
        if path.ends_with(".ts") && (2_500..3_500).contains(&size) {
            let show = |rev: &str| scene::git(corpus, &["show", &format!("{rev}:{path}")]);
            commits.push(Commit { before: show(&parent)?, after: show(commit)? });
        }
        if commits.len() >= N_COMMITS {
            break;
        }
    }
    Ok(commits)
}

fn one(setting: &Setting, commit: &Commit) -> io::Result<(f64, f64)> {
    let (program, ast_grep) = (setting.program()?, peer::ast_grep()?);
    let ours_scene = Scene::new()?;
    let peer_scene = Scene::new()?;
    peer_scene.write_rules()?;
    for scene in [&ours_scene, &peer_scene] {
        scene.commit("start")?;
        std::fs::write(scene.path().join("a.ts"), &commit.before)?;
        scene.commit("before")?;
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
    // The commit before was reviewed, too, as it is where a hook runs.
    let memory = Memory::after(&[&ours])?;
    for scene in [&ours_scene, &peer_scene] {
        std::fs::write(scene.path().join("a.ts"), &commit.after)?;
        scene.commit("after")?;
    }
    let n_runs = setting.n_runs.max(15);
    let (best, diff) = run::remembering(n_runs, (&ours, Some(&memory)), (&diff, None))?;
    let (again, scan) = run::remembering(n_runs, (&ours, Some(&memory)), (&scan, None))?;
    Ok((best.cpu_ms.min(again.cpu_ms), diff.cpu_ms + scan.cpu_ms))
}
