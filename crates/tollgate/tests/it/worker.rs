//! `tollgate worker`: the work of a server in a process of its own.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use tollgate_engine::store::queue::Queue;

use crate::desk::{Desk, learns, works};
use crate::server_process::{Server, add, add_project, appears, command, place};

#[test]
fn a_worker_does_what_a_server_leaves_to_it() {
    let desk = Desk::new(&learns());
    add_project(&desk);
    let mut server = Server::start_with(&desk, &["--no-work"]);
    server.hears("agents and reviews are left to another process");
    let id = add(&desk, "Read JSON", &["--start"]);
    let mut worker = Server::worker(&desk, &[]);
    worker.hears("the review of iteration 1 rejects it: 1 error");
    worker.hears("the review of iteration 2 approves it");
    // The server reports the same from the database.
    server.hears("the review of iteration 2 approves it");
    let (code, said) = worker.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(place(&desk, &id), "waiting_approval - [rejected approved]");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn a_worker_that_ends_gives_back_what_it_has_claimed() {
    let desk =
        Desk::new("touch $0.begun; if [ -e $0.go ]; then echo 'export const two = 2;' > b.js; else sleep 600; fi");
    add_project(&desk);
    let id = add(&desk, "Read JSON", &["--start"]);
    let worker = Server::worker(&desk, &[]);
    let begun = desk.path("agent.sh.begun");
    while !begun.exists() {
        std::thread::yield_now();
    }
    let database = desk.database();
    let owners = database.lease_owners(Queue::Features).unwrap();
    let [owner] = &owners[..] else { panic!("{owners:?}") };
    assert!(owner.split('/').count() == 3 && owner.contains(&format!("/{}-", worker.pid())), "{owner}");
    let (code, said) = worker.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("ending; what is under way (1) goes on at the next start"), "{said}");
    assert_eq!(database.lease_owners(Queue::Features).unwrap(), Vec::<String>::new());
    std::fs::write(desk.path("agent.sh.go"), "").unwrap();
    let mut next = Server::worker(&desk, &[]);
    next.hears("the review of iteration 1 approves it");
    next.end();
    assert_eq!(place(&desk, &id), "waiting_approval - [approved]");
}

#[test]
fn several_servers_take_the_token_of_one_file() {
    let desk = Desk::new(&works());
    let token_file = desk.path("shared-token");
    let start = || {
        let mut command = command(&desk, &["serve", "--listen", "127.0.0.1:0", "--no-work"]);
        command.env("TOLLGATE_TOKEN_FILE", &token_file);
        Server::of(command)
    };
    let mut servers = [start(), start()];
    appears(&token_file);
    let token = std::fs::read_to_string(&token_file).unwrap();
    for server in &mut servers {
        server.hears(&format!("the token for the API is in {}", token_file.display()));
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let (host, token) = (&server.address, token.trim());
        let request = format!(
            "GET /api/projects HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert!(!desk.path("data/tollgate/token").exists());
}
