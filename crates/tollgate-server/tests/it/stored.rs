//! Features, reviews and pull requests as tests need them, stored as a worker of the board stores them.

use tollgate_core::board::machine::{Event, Rules, Status, Work};
use tollgate_core::board::{FeatureId, Iteration, Outcome};
use tollgate_core::pull::Repo;
use tollgate_core::pull::webhook_event::{PullEvent, WebhookEvent, WebhookEventKind};
use tollgate_core::sha::Sha;
use tollgate_engine::store::board::{FeatureRow, NewIteration, Transition};
use tollgate_engine::store::pulls::{
    Claim, ConcurrencyLimits, Finished, LeaseRequest, NewDelivery, NewPost, NextClaim, PostKind,
};

use crate::world::{NOW, World};

/// The diff of a review, whole and since the review before.
pub(crate) fn with_diff(iteration: Iteration) -> NewIteration {
    let diff = |name: &str| Some(format!("diff --git a/{name} b/{name}\n").into_bytes());
    NewIteration { iteration, diff: diff("Whole"), delta: diff("Delta"), review: None }
}

/// A transition of the worker's.
pub(crate) fn transition(project: u64, id: &str, event: Event) -> Transition {
    Transition::new(i64::try_from(project).unwrap(), &FeatureId::parse(id).unwrap(), event, "tollgate", NOW)
}

impl World {
    /// Adds a feature with a name of its own, as another program does: by its file.
    pub(crate) fn add_feature(&self, project: u64, id: &str) {
        let document = serde_json::json!({ "id": id, "title": "Add login", "description": "Users can sign in" });
        self.add_document(project, id, &document);
    }

    pub(crate) fn add_document(&self, project: u64, id: &str, document: &serde_json::Value) {
        let row = self.board.project(i64::try_from(project).unwrap()).unwrap();
        let folder = row.path.join(".automaker/features").join(id);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("feature.json"), document.to_string()).unwrap();
        assert_eq!(self.board.import_all(&row).unwrap(), []);
    }

    pub(crate) fn feature(&self, project: u64, id: &str) -> FeatureRow {
        self.board.feature(i64::try_from(project).unwrap(), &FeatureId::parse(id).unwrap()).unwrap()
    }

    #[track_caller]
    pub(crate) fn happen(&self, transition: Transition) {
        self.board.database().transition(transition).unwrap();
    }

    /// Brings a feature so far that the agent's commit is to be reviewed.
    pub(crate) fn commit(&self, project: u64, id: &str, commit: &str) {
        if self.feature(project, id).state.work == Work::Nothing {
            self.happen(transition(project, id, Event::Start));
        }
        for event in [Event::AgentStarted, Event::AgentDone, Event::Committed(commit.to_owned())] {
            self.happen(transition(project, id, event));
        }
    }

    /// Has a feature implemented and reviewed as often as there are reviews; after the last rejection it is paused.
    pub(crate) fn review(&self, project: u64, id: &str, reviews: Vec<NewIteration>) {
        let max_rounds = u32::try_from(reviews.len()).unwrap();
        for review in reviews {
            let commit = review.iteration.commit.clone().unwrap();
            self.commit(project, id, &commit);
            self.end_review(project, id, review, max_rounds);
        }
    }

    /// Ends the review of a feature that is under review.
    pub(crate) fn end_review(&self, project: u64, id: &str, review: NewIteration, max_rounds: u32) {
        let commit = review.iteration.commit.clone().unwrap();
        let event = match review.iteration.outcome {
            Outcome::Approved => Event::Approved(commit),
            Outcome::Rejected => Event::Rejected { commit, same_again: false },
            Outcome::Failed => Event::ReviewFailed,
        };
        let rules = Rules { max_rounds, ..Rules::default() };
        self.happen(Transition { iteration: Some(review), rules, ..transition(project, id, event) });
    }

    /// Waits until work of this kind is to be done for a feature.
    pub(crate) async fn until(&self, project: u64, id: &str, status: &Status, work: Work) {
        let database = self.board.database().clone();
        loop {
            let seq = database.last_seq().unwrap();
            let state = self.feature(project, id).state;
            if (&state.status, state.work) == (status, work) {
                return;
            }
            let database = database.clone();
            let wait = move || database.wait_for_events(seq, crate::client::PATIENCE);
            assert!(tokio::task::spawn_blocking(wait).await.unwrap().unwrap(), "{id} is {}", state.in_words());
        }
    }

    /// A pull request of `octo/app` that was delivered and is claimed by a worker.
    pub(crate) fn claim_pull(&self, number: u64, at_ms: u64) -> Claim {
        let what = WebhookEventKind::Pull {
            repo: Repo::parse("octo/app").unwrap(),
            number,
            about: PullEvent::Changed { head: None },
        };
        let ask = WebhookEvent { installation: Some(1), what };
        let (guid, event) = (format!("pull-{number}"), "pull_request".to_owned());
        self.board.database().accept(NewDelivery { guid, event, ask, at_ms }).unwrap();
        let lease = LeaseRequest { owner: "a worker".to_owned(), now_ms: at_ms + 60_000, lease_ms: 60_000 };
        let next = NextClaim { lease, limits: ConcurrencyLimits::default(), except: Vec::new() };
        self.board.database().claim_next(&next).unwrap().unwrap()
    }

    /// Ends the review of a pull request with these posts, or with a problem for which it is given up.
    pub(crate) fn finish_pull(&self, claim: &Claim, posts: Vec<NewPost>, problem: Option<&str>) {
        let (up_to, problem) = (claim.pull.wanted, problem.map(str::to_owned));
        let finished = Finished { up_to, record: None, reviewed: None, posts, is_closed: false, problem, at_ms: NOW };
        self.board.database().finish_review(claim.token, finished).unwrap().unwrap();
    }

    /// Has the summary of a pull request refused by the host for good.
    pub(crate) fn refuse_summary(&self, claim: &Claim, problem: &str, at_ms: u64) {
        let (head, key, body) = (Sha::parse(&"a".repeat(40)).unwrap(), String::new(), "b".to_owned());
        self.finish_pull(claim, vec![NewPost { head, kind: PostKind::Summary, key, body, is_final: true }], None);
        let database = self.board.database();
        let post = database.posts_due(claim.pull.id).unwrap()[0].id;
        database.begin_post(claim.token, post, at_ms).unwrap().unwrap();
        assert!(!database.refuse_post(claim.token, post, problem, 1).unwrap().unwrap());
    }

    /// Locks the database for writing, as a program that hangs in a transaction does.
    pub(crate) fn lock_database(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.path("board.db")).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection
    }

    /// What the agent of an iteration wrote.
    pub(crate) fn write_output(&self, project: u64, id: &str, iteration: u32, text: &str) {
        let row = self.board.project(i64::try_from(project).unwrap()).unwrap();
        let folder = row.path.join(".automaker/features").join(id);
        std::fs::write(folder.join(format!("agent-output-iteration-{iteration}.md")), text).unwrap();
    }
}
