//! F12 and F15: the server is asked to end under load, or is killed over an agent with a tree of its own.

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tollgate_core::board::FeatureId;
use tollgate_engine::store::queue::Queue;

use super::rounds;
use super::server::{PATIENCE, Server, exchange, nothing_is_left, processes_of, read_answer};
use crate::desk::{Desk, learns, works};
use crate::wait::wait_until;

/// The responses to clients during a shutdown.
#[derive(Default)]
struct Told {
    /// Features that were promised.
    promised: Vec<String>,
    n_answered: usize,
    /// Connections that the system took and the server never saw, at the very end.
    n_too_late: usize,
    /// Requests that were begun and not answered, with how that looked.
    unanswered: Vec<String>,
}

/// A request that the server has begun to read, and that it gets the rest of later.
struct Begun {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl Begun {
    fn new(server: &Server, project: u64) -> Self {
        let body = json!({"title": "Begun", "description": "before the end"}).to_string();
        let mut bytes = server.bytes("POST", &format!("/api/projects/{project}/features"), &[], &body);
        let rest = bytes.split_off(bytes.len() - 10);
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&bytes).unwrap();
        Self { stream, rest }
    }

    #[track_caller]
    fn end(mut self) -> String {
        self.stream.write_all(&self.rest).unwrap();
        let answer = read_answer(&mut self.stream).unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }
}

/// Clients that send requests in a loop until the server is gone.
fn crowd(server: &Server, project: u64) -> (Vec<std::thread::JoinHandle<()>>, Arc<Mutex<Told>>, Arc<AtomicBool>) {
    let told: Arc<Mutex<Told>> = Arc::default();
    let over: Arc<AtomicBool> = Arc::default();
    let features = format!("/api/projects/{project}/features");
    let body = json!({"title": "From the crowd", "description": "x"}).to_string();
    let requests = [
        server.bytes("GET", &features, &[], ""),
        server.bytes("POST", &features, &[], &body),
        server.bytes("GET", "/api/projects", &[], ""),
    ];
    let clients = requests.into_iter().map(|bytes| {
        let (address, told, over) = (server.address, Arc::clone(&told), Arc::clone(&over));
        std::thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                let answer = exchange(address, &bytes);
                let mut told = told.lock().unwrap();
                match answer {
                    Ok(answer) => {
                        told.n_answered += 1;
                        if answer.status == 201 {
                            told.promised.push(answer.json()["id"].as_str().unwrap().to_owned());
                        }
                    }
                    Err(error) if error.starts_with("cannot connect") => return,
                    // A reset without a byte after the listener closed: the connection came too late.
                    Err(error) if error.contains("reset by peer") && TcpStream::connect(address).is_err() => {
                        told.n_too_late += 1;
                        return;
                    }
                    Err(error) => told.unanswered.push(error),
                }
            }
        })
    });
    (clients.collect(), told, over)
}

#[test]
fn a_server_that_is_asked_to_end_answers_gives_back_and_loses_nothing() {
    let n_wanted = rounds(3, 50);
    let (mut n_ended, mut n_answered, mut n_too_late, mut slowest) = (0, 0, 0, Duration::ZERO);
    let mut unanswered = Vec::new();
    while n_ended < n_wanted {
        let desk = Desk::new(&format!("sleep 0.5; {}", learns()));
        let mut server = Server::start(&desk);
        let project = server.add_project(&desk.path("project"));
        let ids: Vec<String> = (0..3).map(|number| server.begin(project, &format!("Feature {number}"))).collect();
        let mut promised = Vec::new();
        for round in 0..3 {
            if n_ended == n_wanted {
                break;
            }
            let (clients, told, over) = crowd(&server, project);
            let n_before = 30 + 40 * ((n_ended * 7 + round) % 5);
            wait_until("the clients are answered", || told.lock().unwrap().n_answered >= n_before);
            let begun: Vec<Begun> = (0..5).map(|_| Begun::new(&server, project)).collect();
            // Connections are taken in their order, so those before this one were.
            assert_eq!(server.get("/healthz").status, 200);
            let asked = server.ask_to_end();
            promised.extend(begun.into_iter().map(Begun::end));
            slowest = slowest.max(server.ended(asked));
            over.store(true, Ordering::SeqCst);
            for client in clients {
                client.join().unwrap();
            }
            n_ended += 1;
            let told = std::mem::take(&mut *told.lock().unwrap());
            n_answered += told.n_answered + 5;
            n_too_late += told.n_too_late;
            promised.extend(told.promised);
            unanswered.extend(told.unanswered);
            nothing_is_left(&desk, &format!("end {n_ended}"));
            assert_eq!(
                desk.board().database().lease_owners(Queue::Features).unwrap(),
                Vec::<String>::new(),
                "claims are given back"
            );
            server = Server::start(&desk);
        }
        for id in &ids {
            let end = server.settled(project, id);
            let iteration = &end["codeReviewSpec"]["currentIteration"];
            assert_eq!((&end["status"], iteration), (&json!("waiting_approval"), &json!(2)), "{end}");
            assert_eq!(desk.git(&["rev-list", "--count", &format!("main..feature/{id}")]), "2");
        }
        for id in &promised {
            assert_eq!(server.feature(project, id)["id"], **id);
        }
        let board = desk.board();
        for id in &ids {
            let id = FeatureId::parse(id).unwrap();
            assert_eq!(board.iterations(i64::try_from(project).unwrap(), &id).unwrap().len(), 2);
        }
    }
    let slowest_ms = slowest.as_millis();
    println!("F12: ended {n_ended} times, slowest {slowest_ms} ms, {n_answered} answered, {n_too_late} came too late");
    assert!(slowest < Duration::from_secs(10), "{slowest:?}");
    assert_eq!(unanswered, Vec::<String>::new(), "{n_answered} were answered");
}

#[test]
fn an_end_in_the_middle_of_a_hook_is_not_the_hooks_fault() {
    let desk = Desk::new(&works());
    let mark = desk.path("hook-ran");
    let hook = desk.path("project/.git/hooks/pre-commit");
    let text = format!("#!/bin/sh\nif [ ! -e '{0}' ]; then touch '{0}'; sleep 1000; fi\n", mark.display());
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, text).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    let id = server.begin(project, "Has a slow hook");
    wait_until("the hook runs", || mark.exists());
    assert!(server.end() < Duration::from_secs(10));
    nothing_is_left(&desk, "the hook");
    let server = Server::start(&desk);
    let end = server.settled(project, &id);
    assert_eq!(end["status"], "waiting_approval", "{end}");
}

#[test]
fn a_server_that_is_killed_leaves_nothing_of_an_agent_that_resists() {
    let n_wanted = rounds(3, 50);
    let tree = "trap '' TERM INT HUP\n\
                sh -c 'setsid sh -c \"sleep 1001 & exec sleep 1002\" & sh -c \"sleep 1003 & wait\"' &\n\
                sh -c 'sh -c \"exec sleep 1004\"; true' &\nwait";
    let desk = Desk::new(tree);
    let mut server = Server::start(&desk);
    let project = server.add_project(&desk.path("project"));
    let id = server.begin(project, "Resists");
    let sleeps = || processes_of(&desk.path("")).iter().filter(|line| line.contains(" sleep 100")).count();
    for round in 1..=n_wanted {
        wait_until("the tree stands", || {
            // Interrupted work may be paused.
            if server.feature(project, &id)["work"] == "nothing" {
                server.post(&format!("/api/projects/{project}/features/{id}/resume"), &json!({}));
            }
            sleeps() >= 4
        });
        server.kill();
        nothing_is_left(&desk, &format!("kill {round}"));
        server = Server::start(&desk);
    }
    println!("F15: killed {n_wanted} times over a tree of three levels, nothing left within five seconds");
    assert!(server.end() < PATIENCE);
    nothing_is_left(&desk, "the end");
}
