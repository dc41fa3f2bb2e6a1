//! F11: few file handles, little memory, and mistakes of our own.

use std::net::TcpStream;

use serde_json::json;

use super::server::{Launch, Server};
use crate::desk::{Desk, learns};
use crate::wait::wait_until;

/// Features go their way and promises are kept, while `pester` makes it hard.
fn check(how: &Launch<'_>, pester: impl Fn(&Server, u64)) -> (Desk, Server) {
    let desk = Desk::new(&learns());
    let mut server = Server::launch(&desk, how);
    let pid = server.pid();
    let project = server.add_project(&desk.path("project"));
    let ids: Vec<String> = (0..3).map(|number| server.begin(project, &format!("Feature {number}"))).collect();
    pester(&server, project);
    for id in &ids {
        let end = server.settled(project, id);
        let iteration = &end["codeReviewSpec"]["currentIteration"];
        assert_eq!((&end["status"], iteration), (&json!("waiting_approval"), &json!(2)), "{end}\n{}", server.log());
    }
    assert!(server.is_running() && server.pid() == pid);
    (desk, server)
}

#[test]
fn few_file_handles_are_enough() {
    let how = Launch { before: "ulimit -n 64", ..Launch::default() };
    let (_desk, server) = check(&how, |server, project| {
        // More idle connections than file handles, and requests that still must be answered.
        let silent: Vec<TcpStream> = (0..200).filter_map(|_| TcpStream::connect(server.address).ok()).collect();
        let path = format!("/api/projects/{project}/features");
        let mut n_stored = 0;
        wait_until("requests get through", || {
            let bytes = server.bytes("POST", &path, &[], r#"{"description":"x"}"#);
            let answer = server.exchange(&bytes);
            n_stored += usize::from(answer.as_ref().is_ok_and(|answer| answer.status == 201));
            n_stored >= 5
        });
        drop(silent);
        let cards = server.get(&path).json();
        assert!(cards["total"].as_u64().unwrap() >= 8, "{cards}");
    });
    println!("F11: 64 handles and 200 silent connections are enough; it said {} lines", server.log().lines().count());
}

#[test]
fn little_memory_is_enough() {
    // Of memory that can be written, 256 MiB; stacks count in full.
    let how = Launch { before: "ulimit -d 262144", ..Launch::default() };
    let (_desk, server) = check(&how, |server, project| {
        let path = format!("/api/projects/{project}/features");
        let body = json!({"description": "x".repeat(190_000), "spec": "y".repeat(490_000)}).to_string();
        let threads: Vec<_> = (0..16)
            .map(|_| {
                let (address, bytes) = (server.address, server.bytes("POST", &path, &[], &body));
                std::thread::spawn(move || super::server::exchange(address, &bytes).unwrap().status)
            })
            .collect();
        for thread in threads {
            assert!(matches!(thread.join().unwrap(), 201 | 503));
        }
    });
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim().to_owned();
    let n_kib: u64 = most.split_whitespace().next().unwrap().parse().unwrap();
    println!("F11: at most {most} of memory");
    assert!(n_kib < 256 * 1024, "{most}");
}

#[test]
fn a_mistake_of_ours_costs_one_request_or_one_try() {
    for point in ["route", "work", "look", "beat", "watch", "events"] {
        let variables = [("TOLLGATE_PANIC_AT", point)];
        let (desk, server) = check(&Launch { variables: &variables, ..Launch::default() }, |server, project| {
            let path = format!("/api/projects/{project}/features");
            let mut statuses = Vec::new();
            for _ in 0..3 {
                statuses.push(server.get(&path).status);
            }
            assert!(statuses.iter().filter(|status| **status != 200).count() <= 1, "{statuses:?}");
        });
        // Other requests are answered, and the errors are logged.
        let new = server.post("/api/projects/1/features", &json!({"description": "x", "title": "old"})).json();
        let id = new["id"].as_str().unwrap();
        let file = desk.path("project/.automaker/features").join(id).join("feature.json");
        let text = std::fs::read_to_string(&file).unwrap().replace("\"old\"", "\"new\"");
        std::fs::write(&file, text).unwrap();
        wait_until("an edit is seen", || server.feature(1, id)["title"] == "new");
        let n_events = desk.board().database().last_seq().unwrap();
        wait_until("everything is told", || server.last_seq() >= n_events);
        wait_until("it happened", || server.log().contains("TOLLGATE_PANIC_AT"));
        println!("F11: survived a panic at `{point}`");
    }
}

#[test]
fn a_mistake_that_comes_again_is_left_to_a_person() {
    let desk = Desk::new(&learns());
    let variables = [("TOLLGATE_PANIC_AT", "commit!")];
    let mut server = Server::launch(&desk, &Launch { variables: &variables, ..Launch::default() });
    let project = server.add_project(&desk.path("project"));
    let id = server.begin(project, "Feature");
    // The second time it goes wrong behind an agent's work, whose claim leads on to the commit.
    for _ in 0..2 {
        let end = server.settled(project, &id);
        assert_eq!(end["paused"]["reason"], "commit-failed", "{end}\n{}", server.log());
        let retried = server.post(&format!("/api/projects/{project}/features/{id}/retry"), &json!({}));
        assert!((200..300).contains(&retried.status), "{}", retried.status);
    }
    server.settled(project, &id);
    assert!(server.is_running());
}
