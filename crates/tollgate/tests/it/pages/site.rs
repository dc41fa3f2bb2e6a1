//! A server over a real repository with a scripted agent, for browsers to open.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::pages::browser::Browser;
use crate::robustness::server::{Launch, Server};

/// True in a page with an open event stream.
pub(crate) const LIVE: &str = "document.querySelector('#link-state')?.dataset.state === 'live'";

/// A desk, its server, and the number of its project.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) desk: Desk,
    pub(crate) project: u64,
}

impl Site {
    /// A board with one project; `script` is its agent.
    #[track_caller]
    pub(crate) fn new(script: &str) -> Self {
        Self::of(Desk::new(script))
    }

    /// The board of a desk, with its project added.
    #[track_caller]
    pub(crate) fn of(desk: Desk) -> Self {
        let server = Server::start(&desk);
        let project = server.add_project(&desk.path("project"));
        Self { server, desk, project }
    }

    /// A signed-in browser, by the URL that the server printed.
    #[track_caller]
    pub(crate) fn open(&self) -> Browser {
        Browser::signed_in(self.server.address, &self.server.token)
    }

    /// A browser that the server does not know.
    #[track_caller]
    pub(crate) fn open_as_stranger(&self) -> Browser {
        Browser::new(self.server.address)
    }

    /// Adds a feature and returns its name.
    #[track_caller]
    pub(crate) fn add(&self, title: &str) -> String {
        self.create(&json!({ "title": title, "description": title }))
    }

    /// Adds a feature as the API takes it, and returns its name.
    #[track_caller]
    pub(crate) fn create(&self, feature: &Value) -> String {
        let answer = self.server.post(&format!("/api/projects/{}/features", self.project), feature);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// Does something to a feature as a person: `start`, `stop`, `resume`, `approve`, `reject`, `retry`, `move`.
    #[track_caller]
    pub(crate) fn act(&self, feature: &str, act: &str, body: &Value) {
        let path = format!("/api/projects/{}/features/{feature}/{act}", self.project);
        let answer = self.server.exchange(&self.server.bytes_of_person("POST", &path, &body.to_string())).unwrap();
        assert!(answer.status < 300, "{answer:?}");
    }

    /// Adds a feature, starts it, and waits until it has no queued work.
    #[track_caller]
    pub(crate) fn finish(&self, title: &str) -> String {
        let id = self.server.begin(self.project, title);
        self.server.settled(self.project, &id);
        id
    }

    /// The page of a feature.
    pub(crate) fn page_of(&self, feature: &str) -> String {
        format!("/projects/{}/features/{feature}", self.project)
    }

    /// The page of the board.
    pub(crate) fn board(&self) -> String {
        format!("/projects/{}", self.project)
    }

    /// Kills the server and returns its address.
    pub(crate) fn stop(&mut self) -> SocketAddr {
        self.server.kill();
        self.server.address
    }

    /// Starts the server again, at the same address.
    #[track_caller]
    pub(crate) fn restart(&mut self) {
        let listen = self.stop();
        self.server = Server::launch(&self.desk, &Launch { listen: Some(listen), ..Launch::default() });
    }
}
