//! Posting alone, with an outbox in memory as the command line has one.

use std::cell::RefCell;

use tollgate_core::finding_key::FindingKey;
use tollgate_core::pull::check_run::{Annotation, AnnotationLevel, CheckOutput, Conclusion};
use tollgate_core::pull::inline_comment::{InlineComment, LineSpan};
use tollgate_core::pull::marker::Marker;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::host::{Host as _, ReviewEvent};
use tollgate_engine::pulls::post::Post;
use tollgate_engine::pulls::publish::{self, JobError, MemoryOutbox, Outbox, Published, Target};

use super::*;

fn head() -> Sha {
    Sha::parse(&"a".repeat(40)).unwrap()
}

fn publish(hub: &Hub, posts: &[Post], outbox: &dyn Outbox) -> Result<Published, JobError> {
    let (me, repo) = (hub::me(), repo());
    publish::publish(&Target { host: hub, me: &me, repo: &repo, number: 1, check_name: "gate" }, posts, outbox)
}

fn summary(text: &str) -> Post {
    Post::summary(&head(), Marker::Summary { head: head() }.below(text))
}

fn check_with(n_annotations: usize) -> Post {
    let annotation = |line: usize| Annotation {
        path: "a".to_owned(),
        start_line: line as u32 + 1,
        end_line: line as u32 + 1,
        level: AnnotationLevel::Notice,
        title: String::new(),
        message: String::new(),
    };
    let annotations = (0..n_annotations).map(annotation).collect();
    let text = CheckOutput { title: "t".to_owned(), summary: "s".to_owned(), annotations };
    Post::check(&head(), Some(Conclusion::Failure), text, None)
}

#[test]
fn the_summary_is_edited_in_place_and_extra_ones_go() {
    let hub = Hub::new(String::new());
    let outbox = MemoryOutbox::default();
    publish(&hub, &[summary("one")], &outbox).unwrap();
    // A worker whose lease had expired posts another at the same moment.
    hub.comment(&repo(), 1, &Marker::Summary { head: head() }.below("late")).unwrap();
    publish(&hub, &[summary("two")], &outbox).unwrap();
    let state = hub.state();
    let bodies: Vec<&str> = state.comments.iter().map(|comment| comment.body.lines().next().unwrap()).collect();
    assert_eq!(bodies, ["two"]);
    assert_eq!(outbox.remote(""), Some(state.comments[0].id));
}

#[test]
fn an_unchanged_post_is_not_published_again() {
    let hub = Hub::new(String::new());
    publish(&hub, &[summary("one")], &MemoryOutbox::default()).unwrap();
    publish(&hub, &[summary("one")], &MemoryOutbox::default()).unwrap();
    assert_eq!(hub.state().calls.iter().filter(|call| **call == "edit_comment").count(), 0);
}

#[test]
fn annotations_are_sent_in_parts_and_go_on_where_they_ended() {
    let hub = Hub::new(String::new());
    // begin, list, and the second of three parts is not answered.
    hub.state().faults.insert(4, Fault::Unclear);
    let stop = publish(&hub, &[check_with(120)], &MemoryOutbox::default()).unwrap_err();
    assert!(matches!(stop, JobError::Host(_)));
    assert_eq!(hub.state().checks[0].check.conclusion, None, "it has not ended before all is said");
    hub.state().faults.clear();
    publish(&hub, &[check_with(120)], &MemoryOutbox::default()).unwrap();
    let state = hub.state();
    let [shown] = &state.checks[..] else { panic!("{:?}", state.checks) };
    assert_eq!(shown.check.conclusion.as_deref(), Some("failure"));
    let lines: Vec<String> = (1..=120).map(|line| format!("a:{line}")).collect();
    assert_eq!(shown.annotations, lines);
}

/// The outbox of a worker that lost its lease.
#[derive(Default)]
struct Lost {
    noted: RefCell<Vec<String>>,
}

impl Outbox for Lost {
    fn is_ours(&self) -> Result<bool, Failure> {
        Ok(false)
    }

    fn posting(&self, post: &Post) -> Result<(), JobError> {
        self.noted.borrow_mut().push(post.key.clone());
        Ok(())
    }

    fn done(&self, post: &Post, _: Option<u64>) -> Result<(), JobError> {
        self.posting(post)
    }

    fn put_back(&self, post: &Post, _: &str) -> Result<(), JobError> {
        self.posting(post)
    }

    fn refused(&self, post: &Post, _: &str) -> Result<bool, JobError> {
        self.posting(post).map(|()| false)
    }
}

#[test]
fn a_worker_without_its_lease_posts_nothing() {
    let inline = InlineComment {
        path: "a".to_owned(),
        at: Some(LineSpan { start: 1, line: 1, side: tollgate_core::finding::Side::Right }),
        body: "x".to_owned(),
        key: "fp-0123456789abcdef-01234567".to_owned(),
    };
    for post in [
        summary("one"),
        Post::review(&head(), Marker::Review { head: head() }.below("r"), ReviewEvent::Comment, vec![inline.clone()]),
        Post::inline(&head(), inline),
        check_with(0),
    ] {
        let hub = Hub::new(String::new());
        let outbox = Lost::default();
        assert_eq!(publish(&hub, &[post], &outbox), Err(JobError::LeaseLost));
        let state = hub.state();
        let n_there = state.comments.len() + state.reviews.len() + state.line_comments.len() + state.checks.len();
        assert_eq!((n_there, outbox.noted.borrow().len()), (0, 0));
    }
}

#[test]
fn a_permanently_refused_post_does_not_block_the_others() {
    let hub = Hub::new(String::new());
    hub.state().faults.insert(1, Fault::Refuse(HostErrorKind::Forbidden));
    let published = publish(&hub, &[summary("one"), check_with(0)], &MemoryOutbox::default()).unwrap();
    assert_eq!((published.n_done, published.refused.len()), (1, 1));
    assert_eq!(hub.state().checks[0].check.conclusion.as_deref(), Some("failure"));
}

#[test]
fn a_check_whose_annotations_are_refused_ends_without_them() {
    let hub = Hub::new(String::new());
    hub.state().faults.insert(3, Fault::Refuse(HostErrorKind::Invalid(vec!["path is too long".to_owned()])));
    publish(&hub, &[check_with(3)], &MemoryOutbox::default()).unwrap();
    let state = hub.state();
    assert_eq!((state.checks[0].check.conclusion.as_deref(), state.checks[0].annotations.len()), (Some("failure"), 0));
}

#[test]
fn an_approval_that_is_refused_is_said_as_a_comment() {
    let hub = Hub::new(String::new());
    hub.state().faults.insert(1, Fault::Refuse(HostErrorKind::Invalid(vec!["can not approve your own".to_owned()])));
    let review = Post::review(&head(), Marker::Review { head: head() }.below("fine"), ReviewEvent::Approve, Vec::new());
    publish(&hub, &[review], &MemoryOutbox::default()).unwrap();
    assert_eq!(hub.state().reviews[0].0, ReviewEvent::Comment);
}

#[test]
fn a_moved_suggestion_is_shown_and_not_committable() {
    for (is_bad_file, expected) in [(false, "at its file"), (true, "in the text")] {
        let hub = Hub::new(String::new());
        hub.state().bad_lines.insert("a.js".to_owned());
        if is_bad_file {
            hub.state().bad_files.insert("a.js".to_owned());
        }
        let key = FindingKey::parse("fp-0123456789abcdef-01234567").unwrap();
        let inline = InlineComment {
            path: "a.js".to_owned(),
            at: Some(LineSpan { start: 3, line: 4, side: tollgate_core::finding::Side::Right }),
            body: Marker::Finding { key }.below("**Major: x**\n\n```suggestion\nsafe()\n```"),
            key: key.to_string(),
        };
        let body = Marker::Review { head: head() }.below("r");
        publish(&hub, &[Post::review(&head(), body, ReviewEvent::Comment, vec![inline])], &MemoryOutbox::default())
            .unwrap();
        let state = hub.state();
        let said = match is_bad_file {
            false => &state.line_comments[0].1.body,
            true => &state.reviews[0].1.body,
        };
        assert!(said.contains("Suggested fix for lines 3-4:\n\n```javascript\nsafe()\n```"), "{expected}: {said}");
    }
}
