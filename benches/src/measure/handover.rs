//! From the end of an agent to the beginning of the review of its commit, against `git add` and `git commit` of the same.
//!
//! The agent is a script that writes twenty files and says, as its last word, what time it is.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_core::board::FeatureId;
use tollgate_core::board::feature_event::{AGENT_FINISHED, REVIEW_PROGRESS, REVIEW_STARTED};
use tollgate_engine::store::Database;

use crate::board::{Desk, Server};
use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::scene;

pub(super) const MEASURE: Measure = Measure { name: "handover", take };

/// The gate may take so many times what committing by hand takes.
const BAR: f64 = 6.0;
const SCRIPT: &str = "cat > /dev/null; mkdir -p src; i=0\n\
    while [ $i -lt 20 ]; do seq -f 'export const n%.0f = 1;' 200 > src/$i.js; i=$((i+1)); done\ndate +%s%N\n";
const PATIENCE: Duration = Duration::from_secs(60);

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let program = setting.program()?;
    let desk = Desk::new()?;
    let script = desk.path("agent.sh");
    fs::write(&script, SCRIPT)?;
    let config = "[pipeline]\nagent = 'script'\n[reviewer.script]\ncommand = ['sh', '";
    fs::write(desk.path("config/tollgate/config.toml"), format!("{config}{}']\n", script.display()))?;
    desk.add_project(&program)?;
    let server = Server::start(&desk, &program)?;
    let (mut names, mut peer) = (Vec::new(), f64::MAX);
    for run in 0..setting.n_runs.max(1) {
        names.push(feature(&server)?);
        peer = peer.min(by_hand(&desk, &script, run)?);
    }
    drop(server);
    let database = Database::open(&desk.path("data/tollgate/tollgate.db")).map_err(io::Error::other)?;
    let events = database.events_after(0, 100_000, None).map_err(io::Error::other)?;
    let (mut noticed, mut started, mut under_way) = (f64::MAX, f64::MAX, f64::MAX);
    for name in &names {
        let output = fs::read_to_string(desk.features().join(name.as_str()).join("agent-output-iteration-1.md"))?;
        let ended: f64 = output.trim().parse().map_err(|_| io::Error::other("the agent did not say the time"))?;
        let at = |kind: &str| {
            let is_it = |event: &&tollgate_engine::store::board::EventRow| {
                event.event.feature.as_ref() == Some(name) && event.event.kind == kind
            };
            events.iter().find(is_it).map_or(f64::MAX, |event| event.at_ms as f64 - ended / 1e6)
        };
        noticed = noticed.min(at(AGENT_FINISHED));
        started = started.min(at(REVIEW_STARTED));
        under_way = under_way.min(at(REVIEW_PROGRESS));
    }
    let row = |measure: &str, ours, bar| Row { measure: measure.to_owned(), ours, peer, unit: "ms", bar };
    Ok(vec![
        // No bar of its own: what of it is noticing that the agent is gone.
        row("handover, end noticed", noticed, f64::INFINITY),
        row("handover, review started", started, BAR),
        row("handover, review under way", under_way, f64::INFINITY),
    ])
}

/// Has a feature made, and waits until it was reviewed.
fn feature(server: &Server) -> io::Result<FeatureId> {
    let mut client = server.client()?;
    let new = json!({ "title": "Twenty files", "description": "Write them.", "start": true });
    let answer = client.ask("POST", "/api/projects/1/features", Some(&new))?;
    let id = answer.json()?["id"].as_str().map(str::to_owned);
    let id = id.ok_or_else(|| io::Error::other(String::from_utf8_lossy(&answer.body).into_owned()))?;
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let feature = client.get(&format!("/api/projects/1/features/{id}"))?.json()?;
        if feature["status"] == "waiting_approval" {
            return FeatureId::parse(&id).map_err(io::Error::other);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(io::Error::other("the feature did not pass"))
}

/// Milliseconds for committing the same in a work tree, as people do.
fn by_hand(desk: &Desk, script: &Path, run: usize) -> io::Result<f64> {
    let tree = desk.path(&format!("by-hand-{run}"));
    let path = tree.to_string_lossy().into_owned();
    desk.git(&["worktree", "add", "-q", "-b", &format!("by-hand-{run}"), &path, "main"])?;
    Command::new("sh").arg(script).current_dir(&tree).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let begun = Instant::now();
    scene::git(&tree, &["add", "-A"])?;
    scene::git(&tree, &["commit", "-q", "-m", "feat: twenty files"])?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}
