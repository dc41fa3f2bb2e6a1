//! External changes to a project while a server runs, and the resulting errors.

use insta::assert_snapshot;

use super::hostile_agent::told;
use super::server::Server;
use crate::desk::{Desk, works};
use crate::wait::wait_until;

#[test]
fn a_work_tree_that_somebody_removed_is_named_and_made_again() {
    let desk = Desk::new("");
    let go = desk.path("go");
    let at_work = desk.path("at-work");
    let waits = format!("touch '{}'; while [ ! -e '{}' ]; do sleep 0.05; done", at_work.display(), go.display());
    std::fs::write(desk.path("agent.sh"), format!("#!/bin/sh\nTASK=$(cat)\n{waits}\n{}\n", works())).unwrap();
    let server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    let id = server.begin(project, "Vanishes");
    let worktree = desk.path("project/.worktrees").join(&id);
    wait_until("the agent runs", || at_work.exists());
    std::fs::remove_dir_all(&worktree).unwrap();
    std::fs::write(&go, "").unwrap();
    let end = server.settled(project, &id);
    let error = end["error"].as_str().unwrap_or_default().replace(&id, "ID");
    assert_snapshot!(error, @"the work tree of the branch `feature/ID` is gone. Try again, and the agent starts from the branch.");
    server.post(&format!("/api/projects/{project}/features/{id}/retry"), &serde_json::json!({}));
    assert_eq!(server.settled(project, &id)["status"], "waiting_approval");
}

#[test]
fn a_project_whose_folder_is_gone_is_listed_as_that() {
    let desk = Desk::new(&works());
    let path = desk.path("project").display().to_string();
    told(&desk, &["project", "add", &path]);
    std::fs::rename(&path, desk.path("moved")).unwrap();
    let text = String::from_utf8(told(&desk, &["-C", desk.path("").to_str().unwrap(), "project", "list"])).unwrap();
    let text = text.replace(&desk.path("").display().to_string(), "/");
    assert_snapshot!(text.trim_end(), @"  1  project      0 features  /project (gone)");
}
