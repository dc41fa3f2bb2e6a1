//! Backups through the program: while servers write, after they ended, and when the database is gone.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::desk::{Desk, works};
use crate::robustness::server::Server;
use crate::server_process::tollgate;

#[test]
fn a_backup_is_whole_while_the_server_writes_and_can_be_restored() {
    let desk = Desk::in_file(&works());
    let server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    let (over, file) = (AtomicBool::new(false), desk.path("backup.db"));
    let name = file.to_str().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let path = format!("/api/projects/{project}/features");
            while !over.load(Ordering::SeqCst) {
                server.post(&path, &json!({ "title": "x", "description": "y" }));
            }
        });
        tollgate(&desk, &["backup", name]).expect(0);
        over.store(true, Ordering::SeqCst);
    });
    let said = tollgate(&desk, &["backup", name]).expect_refused(2);
    assert!(said.contains("exists already"), "{said}");
    let restored = desk.path("restored.db");
    let store = restored.to_str().unwrap();
    tollgate(&desk, &["restore", name, "--store", store]).expect(0);
    let both = (format!("sqlite:{name}"), format!("sqlite:{store}"));
    tollgate(&desk, &["migrate", "--check", "--from", &both.0, "--to", &both.1]).expect(0);
    let said = tollgate(&desk, &["restore", name, "--store", store]).expect_refused(2);
    assert!(said.contains("is not empty"), "{said}");
}

#[test]
fn the_file_alone_is_whole_after_a_clean_stop() {
    let desk = Desk::in_file(&works());
    let mut server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    for _ in 0..20 {
        server.post(&format!("/api/projects/{project}/features"), &json!({ "title": "x", "description": "y" }));
    }
    server.end();
    let copy = desk.path("copy.db");
    std::fs::copy(desk.path("data/tollgate/tollgate.db"), &copy).unwrap();
    let listed = tollgate(&desk, &["feature", "list", "--format", "json", "--store", copy.to_str().unwrap()]).expect(0);
    assert_eq!(listed.matches("\"title\"").count(), 20, "{listed}");
}

#[test]
fn a_server_whose_database_was_deleted_says_so_and_writes_nothing() {
    let desk = Desk::in_file(&works());
    let server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    assert_eq!(server.get("/readyz").status, 200);
    std::fs::remove_file(desk.path("data/tollgate/tollgate.db")).unwrap();
    let refused =
        server.post(&format!("/api/projects/{project}/features"), &json!({ "title": "x", "description": "y" }));
    assert!(refused.status >= 500 && refused.is_problem(), "{}", refused.status);
    crate::wait::wait_until("the server says that it is not ready", || server.get("/readyz").status == 503);
}
