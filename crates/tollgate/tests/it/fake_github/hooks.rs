//! Webhooks of the fake GitHub: signed, remembered, sent by a thread of their own, and again when that is asked for.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use aws_lc_rs::hmac;
use serde_json::{Value, json};

use super::http::{self, Answer, Reply};
use super::json::iso;
use super::state::{Actor, State};

/// Marks of deliveries that were not sent yet: held back, waiting, on their way.
pub(crate) const HELD: u16 = 1;
const WAITING: u16 = 2;
const ON_ITS_WAY: u16 = 3;

/// A delivery.
#[derive(Clone)]
pub(crate) struct Delivery {
    pub(crate) id: u64,
    pub(crate) guid: String,
    pub(crate) event: &'static str,
    action: Option<&'static str>,
    pub(crate) body: Vec<u8>,
    /// The response status; 0 for none, or one of the marks above.
    pub(crate) status: u16,
    at_ms: u64,
    is_again: bool,
    /// True for a redelivery.
    pub(crate) is_asked_again: bool,
}

impl Delivery {
    pub(crate) fn is_taken(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn is_pending(&self) -> bool {
        [WAITING, ON_ITS_WAY].contains(&self.status) || self.is_asked_again
    }

    /// As the list of deliveries shows it.
    pub(crate) fn shown(&self, state: &State) -> Value {
        json!({
            "id": self.id, "guid": self.guid, "delivered_at": iso(self.at_ms), "redelivery": self.is_again,
            "duration": 0.03, "status": if self.is_taken() { "OK" } else { "failed" }, "status_code": self.status,
            "event": self.event, "action": self.action, "installation_id": state.app.installation,
            "repository_id": 1, "throttled_at": null,
        })
    }
}

/// A webhook event.
pub(crate) enum Event {
    /// A pull request event, by GitHub's action name.
    Pull(&'static str),
    Synchronized {
        before: String,
    },
    Edited {
        old_title: String,
    },
    Commented {
        id: u64,
    },
    CommentedAtLine {
        id: u64,
    },
    Reviewed {
        id: u64,
    },
    Thread {
        root: u64,
        is_resolved: bool,
    },
    Rerequested {
        check: u64,
    },
}

impl Event {
    fn name(&self) -> (&'static str, &'static str) {
        match self {
            Self::Pull(action) => ("pull_request", action),
            Self::Synchronized { .. } => ("pull_request", "synchronize"),
            Self::Edited { .. } => ("pull_request", "edited"),
            Self::Commented { .. } => ("issue_comment", "created"),
            Self::CommentedAtLine { .. } => ("pull_request_review_comment", "created"),
            Self::Reviewed { .. } => ("pull_request_review", "submitted"),
            Self::Thread { is_resolved: true, .. } => ("pull_request_review_thread", "resolved"),
            Self::Thread { is_resolved: false, .. } => ("pull_request_review_thread", "unresolved"),
            Self::Rerequested { .. } => ("check_run", "rerequested"),
        }
    }
}

impl State {
    /// Makes a delivery of something that happened to a pull request.
    pub(crate) fn tell(&mut self, full: &str, number: u64, event: &Event, by: &Actor) {
        if by.app.is_some() && !self.echoes {
            return;
        }
        let (name, action) = event.name();
        let body = self.payload(full, number, event, by);
        self.post(name, Some(action), &body);
    }

    /// Makes a delivery of a push to a branch.
    pub(crate) fn tell_push(&mut self, full: &str, branch: &str, before: &str, after: &str, by: &Actor) {
        let repo = self.repository(self.repo(full).unwrap());
        let body = json!({
            "ref": format!("refs/heads/{branch}"), "before": before, "after": after, "created": false,
            "deleted": false, "forced": false, "base_ref": null, "compare": self.url, "commits": [],
            "head_commit": null, "repository": repo, "pusher": { "name": by.login, "email": null },
            "sender": self.user(&by.login), "installation": { "id": self.app.installation, "node_id": "I_1" },
        });
        self.post("push", None, &body);
    }

    fn payload(&self, full: &str, number: u64, event: &Event, by: &Actor) -> Value {
        let repo = self.repo(full).unwrap();
        let pull = &repo.pulls[&number];
        let pull_request = self.pull_request(repo, pull);
        let (_, action) = event.name();
        let mut body = json!({
            "action": action, "repository": self.repository(repo), "sender": self.user(&by.login),
            "installation": { "id": self.app.installation, "node_id": "I_1" },
        });
        let at_line = |id: u64| {
            let comment = pull.at_lines.iter().find(|comment| comment.id == id).unwrap();
            self.line_comment(full, number, comment)
        };
        match event {
            Event::Pull(_) => body["number"] = json!(number),
            Event::Synchronized { before } => {
                (body["number"], body["before"], body["after"]) = (json!(number), json!(before), json!(pull.head));
            }
            Event::Edited { old_title } => {
                (body["number"], body["changes"]) = (json!(number), json!({ "title": { "from": old_title } }));
            }
            Event::Commented { id } => {
                let comment = pull.comments.iter().find(|comment| comment.id == *id).unwrap();
                body["comment"] = self.comment(full, number, comment);
                let urls = json!({ "url": pull_request["url"], "html_url": pull_request["html_url"] });
                body["issue"] = json!({
                    "number": number, "title": pull.title, "state": pull_request["state"], "user": pull_request["user"],
                    "id": pull.id, "node_id": "I", "url": pull_request["issue_url"], "labels": [], "locked": false,
                    "pull_request": urls, "body": pull.body, "html_url": pull_request["html_url"],
                });
                return body;
            }
            Event::CommentedAtLine { id } => body["comment"] = at_line(*id),
            Event::Reviewed { id } => {
                let review = pull.reviews.iter().find(|review| review.id == *id).unwrap();
                body["review"] = self.review(full, number, review);
                body["review"]["state"] = json!(review.state.to_lowercase());
            }
            Event::Thread { root, .. } => {
                let answers = pull.at_lines.iter().filter(|comment| comment.answers == Some(*root));
                let comments: Vec<Value> =
                    std::iter::once(at_line(*root)).chain(answers.map(|comment| at_line(comment.id))).collect();
                body["thread"] = json!({ "node_id": format!("PRRT_{root}"), "comments": comments });
            }
            Event::Rerequested { check } => {
                let check = repo.checks.iter().find(|one| one.id == *check).unwrap();
                body["check_run"] = self.check(full, check);
                let end = |name: &str| {
                    json!({
                        "ref": pull_request[name]["ref"], "sha": pull_request[name]["sha"],
                        "repo": { "id": repo.id, "name": repo.name, "url": pull_request["base"]["repo"]["url"] },
                    })
                };
                let of = json!({
                    "id": pull.id, "number": number, "url": pull_request["url"], "head": end("head"),
                    "base": end("base"),
                });
                body["check_run"]["pull_requests"] = json!([of]);
                return body;
            }
        }
        body["pull_request"] = pull_request;
        body
    }

    fn post(&mut self, event: &'static str, action: Option<&'static str>, body: &Value) {
        if self.hook.is_none() {
            return;
        }
        let (id, at_ms) = (self.new_id(), self.now_ms());
        let status = if self.holds { HELD } else { WAITING };
        let guid = format!("{id:08x}-0000-4000-8000-{:012x}", std::process::id());
        let body = body.to_string().into_bytes();
        let (is_again, is_asked_again) = (false, false);
        self.deliveries.push(Delivery { id, guid, event, action, body, status, at_ms, is_again, is_asked_again });
    }

    /// Sends a delivery that was held back or sent before; with another number, as GitHub does it.
    pub(crate) fn send_again(&mut self, id: u64) {
        let Some(position) = self.deliveries.iter().position(|delivery| delivery.id == id) else { return };
        if self.deliveries[position].status == HELD {
            self.deliveries[position].status = WAITING;
            return;
        }
        let again = Delivery {
            id: self.new_id(),
            status: WAITING,
            at_ms: self.now_ms(),
            is_again: true,
            is_asked_again: false,
            ..self.deliveries[position].clone()
        };
        self.deliveries.push(again);
    }

    pub(crate) fn has_mail(&self) -> bool {
        self.deliveries.iter().any(Delivery::is_pending)
    }
}

/// The signature of a body, as GitHub writes it.
pub(crate) fn sign(secret: &str, body: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body);
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

/// Sends one delivery and returns the status of the answer; 0 when there is none.
pub(crate) fn deliver(url: &str, secret: &str, event: &str, guid: &str, body: &[u8]) -> u16 {
    let signature = sign(secret, body);
    let headers = [
        ("content-type", "application/json"),
        ("user-agent", "GitHub-Hookshot/abc1234"),
        ("x-github-event", event),
        ("x-github-delivery", guid),
        ("x-github-hook-installation-target-type", "integration"),
        ("x-hub-signature-256", &signature),
    ];
    http::ask("POST", url, &headers, body).map_or(0, |(status, _)| status)
}

/// Starts the thread that sends deliveries in order.
pub(crate) fn start(state: &Arc<Mutex<State>>, bell: &Arc<Condvar>, stop: &Arc<AtomicBool>) {
    let (state, bell, stop) = (Arc::clone(state), Arc::clone(bell), Arc::clone(stop));
    std::thread::spawn(move || {
        while !stop.load(Ordering::SeqCst) {
            let mut held = state.lock().unwrap();
            let asked = |one: &mut Delivery| std::mem::take(&mut one.is_asked_again).then_some(one.id);
            let again: Vec<u64> = held.deliveries.iter_mut().filter_map(asked).collect();
            again.into_iter().for_each(|id| held.send_again(id));
            let next = held.deliveries.iter_mut().find(|delivery| delivery.status == WAITING).map(|delivery| {
                delivery.status = ON_ITS_WAY;
                delivery.clone()
            });
            let Some(next) = next else {
                // Senders notify this thread; request handlers do not, hence the timeout.
                drop(bell.wait_timeout(held, std::time::Duration::from_millis(5)).unwrap());
                continue;
            };
            let (url, secret) = held.hook.clone().unwrap_or_default();
            drop(held);
            let status = deliver(&url, &secret, next.event, &next.guid, &next.body);
            let mut held = state.lock().unwrap();
            if let Some(delivery) = held.deliveries.iter_mut().find(|delivery| delivery.id == next.id) {
                delivery.status = status;
            }
            bell.notify_all();
        }
    });
}

/// Starts a webhook receiver and returns its address: it gets the event, the id and the body of each delivery, and returns
/// with which status it is answered.
pub(crate) fn listen(
    stop: &Arc<AtomicBool>,
    take: impl Fn(&str, &str, &[u8]) -> u16 + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    http::serve(listener, Arc::clone(stop), move |request| {
        let header = |name: &str| request.header(name).unwrap_or_default();
        let status = take(header("x-github-event"), header("x-github-delivery"), &request.body);
        Reply::Send(Answer { status, headers: Vec::new(), body: Vec::new() })
    });
    url
}
