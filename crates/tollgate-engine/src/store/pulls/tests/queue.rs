//! Priority within a repository, and concurrency limits.

use super::*;

fn any() -> ConcurrencyLimits {
    ConcurrencyLimits::default()
}

fn again(queue: &Queue, repo: &str, number: u64, at_ms: u64) {
    queue.about(repo, number, PullEvent::ReviewRequested { by: person() }, at_ms);
}

#[test]
fn requests_of_people_go_before_pushes_and_pushes_before_reconciled_heads() {
    let queue = Queue::new();
    assert!(queue.database.request_pull(&repo_of("o/r"), 1, Some(1), 0).unwrap());
    queue.push("o/r", 2, 10);
    queue.push("o/r", 3, 20);
    again(&queue, "o/r", 4, 30);
    let help = PullEvent::Commanded { by: person(), comment: CommentRef::Conversation(1), command: Command::Help };
    queue.about("o/r", 5, help, 40);
    // A queued job moves forward when a person requests it.
    again(&queue, "o/r", 3, 50);
    assert_eq!(queue.turns(10_000, 9, any()), ["o/r#3", "o/r#4", "o/r#5", "o/r#2", "o/r#1"]);
}

#[test]
fn the_priority_of_a_request_lasts_until_it_is_carried_out() {
    let queue = Queue::new();
    again(&queue, "o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 5_000);
    queue.finish(&claim, Vec::new());
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    queue.push("o/r", 1, 10_000);
    again(&queue, "o/r", 2, 10_001);
    assert_eq!(queue.turns(20_000, 9, any()), ["o/r#2", "o/r#1"], "the next is a push like others");
}

#[test]
fn nothing_waits_for_ever_behind_what_matters_more() {
    const HOUR: u64 = 60 * 60_000;
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    again(&queue, "o/r", 2, HOUR - 1);
    again(&queue, "o/r", 3, HOUR + 1);
    assert_eq!(queue.turns(HOUR + 10, 9, any()), ["o/r#2", "o/r#1", "o/r#3"]);
}

#[test]
fn a_person_of_one_repository_does_not_pass_by_the_turn_of_another() {
    let queue = Queue::new();
    for number in 1..=3 {
        again(&queue, "o/a", number, 0);
    }
    queue.push("o/b", 1, 1);
    assert_eq!(queue.turns(10_000, 2, any()), ["o/a#1", "o/b#1"]);
}

#[test]
fn so_many_of_a_repository_and_of_an_installation_are_worked_on_at_once() {
    let queue = Queue::new();
    for number in 1..=3 {
        queue.push("o/a", number, 0);
        queue.push("o/b", number, 0);
        let what = WebhookEventKind::Pull { repo: repo_of("p/c"), number, about: PullEvent::Changed { head: None } };
        queue.deliver(2, what, 0);
    }
    let of_repository = ConcurrencyLimits { of_repository: Some(1), ..any() };
    let served = queue.turns(10_000, 9, of_repository);
    assert_eq!(served, ["o/a#1", "p/c#1", "o/b#1"]);
    // Neither an expired lease nor a released one counts.
    assert_eq!(queue.turns(10_101, 9, of_repository).len(), 3);
    let both = ConcurrencyLimits { of_repository: Some(2), of_installation: Some(3) };
    let served = queue.turns(20_000, 9, both);
    let of = |repo: &str| served.iter().filter(|name| name.starts_with(repo)).count();
    assert_eq!((of("o/"), of("p/c"), of("o/a").max(of("o/b"))), (3, 2, 2), "{served:?}");
    let held = queue.row("p/c", 1);
    assert_eq!(queue.turns(20_000, 9, both), Vec::<String>::new());
    let owners = queue.database.release_owner(store::queue::Queue::Pulls, "me").unwrap();
    assert_eq!((owners, held.number), (5, 1));
    assert_eq!(queue.turns(20_000, 9, any()).len(), 9);
}

#[test]
fn an_installation_at_its_limit_does_not_stand_in_the_way_of_others() {
    let queue = Queue::new();
    for number in 1..=80 {
        queue.push(&format!("o/r{number}"), 1, 0);
    }
    let limits = ConcurrencyLimits { of_installation: Some(1), ..any() };
    assert_eq!(queue.turns(10_000, 9, limits).len(), 1);
    let what =
        WebhookEventKind::Pull { repo: repo_of("p/c"), number: 1, about: PullEvent::ReviewRequested { by: person() } };
    queue.deliver(2, what, 9_000);
    assert_eq!(queue.turns(10_000, 9, limits), ["p/c#1"]);
}

#[test]
fn limits_hold_for_all_that_share_the_database() {
    let queue = Queue::new();
    for number in 1..=40 {
        queue.push("o/r", number, 0);
    }
    let limits = ConcurrencyLimits { of_repository: Some(3), ..any() };
    let claimed: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|at| {
                let database = Database::open_at(queue.database.place()).unwrap();
                scope.spawn(move || {
                    let lease = LeaseRequest { owner: format!("w{at}"), now_ms: 10_000, lease_ms: 100 };
                    let turn = NextClaim { lease, limits, except: Vec::new() };
                    (0..5).filter(|_| database.claim_next(&turn).unwrap().is_some()).count()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(claimed, 3);
}

#[test]
fn a_running_job_is_not_claimed_again_by_its_own_worker() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.next(10_000, any()).unwrap();
    let lease = LeaseRequest { owner: "me".to_owned(), now_ms: 10_101, lease_ms: 100 };
    let mine = NextClaim { lease, limits: any(), except: vec![claim.pull.id] };
    assert_eq!(queue.database.claim_next(&mine).unwrap(), None);
    assert!(queue.next(10_101, any()).is_some(), "another may");
}

#[test]
fn jobs_of_an_earlier_version_stay_queued() {
    let queue = Queue::in_file();
    queue.push("o/r", 1, 0);
    again(&queue, "o/r", 2, 0);
    queue.push("o/r", 3, 0);
    let claim = queue.claim("o/r", 3, 10_000);
    queue.finish(&claim, vec![post(A, PostKind::Note, "a", "b")]);
    queue.database.release_after_failure(claim.token, "down", 15_000).unwrap().unwrap();
    queue.push("o/s", 4, 0);
    let claim = queue.claim("o/s", 4, 10_000);
    queue.finish(&claim, Vec::new());
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    let connection = rusqlite::Connection::open(queue.place.path()).unwrap();
    let columns = || {
        let sql = "SELECT lane || ', ' || coalesce(ready_ms, 'never') || ', ' || priority FROM pull ORDER BY id";
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<Vec<String>>>().unwrap()
    };
    let before = columns();
    assert_eq!(before, ["1 o/r, 2000, 1", "1 o/r, 0, 2", "1 o/r, 15000, 1", "1 o/s, never, 0"]);
    connection.execute_batch(include_str!("../../../../tests/it/before_0007.sql")).unwrap();
    drop(Database::open_at(queue.database.place()).unwrap());
    assert_eq!(columns(), before);
}

#[test]
fn a_push_that_another_process_took_in_is_seen_with_the_next_sign_of_life() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 10_000);
    let beat = |until_ms| queue.database.heartbeat_pull(claim.token, until_ms).unwrap();
    assert_eq!(beat(10_100), Ok(Heartbeat { wanted: 1 }));
    // Another process has the same database, and is given the delivery.
    let other = Database::open_at(queue.database.place()).unwrap();
    let what = WebhookEventKind::Pull { repo: repo_of("o/r"), number: 1, about: PullEvent::Changed { head: None } };
    let ask = WebhookEvent { installation: Some(1), what };
    other.accept(NewDelivery { guid: "other".to_owned(), event: "push".to_owned(), ask, at_ms: 10_050 }).unwrap();
    assert_eq!(beat(10_200), Ok(Heartbeat { wanted: 2 }), "what is under way is ended by whoever watches over it");
    queue.finish(&claim, Vec::new());
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    assert_eq!(queue.candidates(20_000), ["o/r#1"], "and the newer one is still owed");
    // A person at another machine ends it, and the next sign of life says so.
    let claim = queue.claim("o/r", 1, 20_000);
    other.cancel_pull(claim.pull.id, 20_001, None).unwrap().unwrap();
    assert_eq!(queue.database.heartbeat_pull(claim.token, 20_200).unwrap(), Err(LeaseLost));
}

#[test]
fn the_end_of_a_job_claims_the_next_one() {
    let queue = Queue::new();
    for number in 1..=4 {
        queue.push("o/r", number, number);
    }
    let next = || {
        let lease = LeaseRequest { owner: "me".to_owned(), now_ms: 10_000, lease_ms: 100 };
        NextClaim { lease, limits: any(), except: Vec::new() }
    };
    let database = &queue.database;
    let first = queue.next(10_000, any()).unwrap();
    let done = database.finish_and_claim(first.token, finished(first.pull.wanted), next()).unwrap().unwrap();
    let second = done.next.unwrap();
    assert_eq!((done.is_released, first.pull.number, second.pull.number), (true, 1, 2));
    assert!(!database.holds_pull(first.token, 10_000).unwrap() && database.holds_pull(second.token, 10_000).unwrap());
    let lost = database.finish_and_claim(first.token, finished(1), next()).unwrap();
    assert_eq!(lost, Err(LeaseLost), "and nothing is claimed");
    // A job with posts keeps its lease until they are published.
    let posts = vec![post(A, PostKind::Note, "", "x")];
    let done = database.finish_and_claim(second.token, Finished { posts, ..finished(1) }, next()).unwrap().unwrap();
    assert_eq!((done.is_released, done.next), (false, None));
    let third = database.release_and_claim(second.token, 20_000, next()).unwrap().unwrap().unwrap();
    assert_eq!(third.pull.number, 3);
    assert_eq!(database.release_and_claim(second.token, 0, next()).unwrap(), Err(LeaseLost));
    assert_eq!(queue.candidates(10_000), ["o/r#4"]);
    assert_eq!(database.next_due_ms(store::queue::Queue::Pulls, 10_000).unwrap(), Some(2_004));
    queue.next(10_000, any()).unwrap();
    assert_eq!(database.next_due_ms(store::queue::Queue::Pulls, 10_000).unwrap(), Some(10_101), "when a lease ends");
}

#[test]
fn an_enqueued_job_wakes_the_workers_of_other_processes() {
    let queue = Queue::new();
    let other = Database::open_at(queue.database.place()).unwrap();
    let signal = other.job_signal();
    // The first notification may be that of the subscription.
    for number in 1..=3 {
        let seen = signal.count();
        queue.push("o/r", number, 0);
        signal.wait(seen, std::time::Duration::from_secs(60));
        assert!(signal.count() > seen);
    }
}

#[test]
fn deliveries_are_stored_over_new_connections_when_the_old_ones_were_lost() {
    let queue = Queue::new();
    if !queue.place.is_on_server() {
        return;
    }
    queue.push("o/a", 1, 0);
    let end = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
               WHERE pid <> pg_backend_pid() AND datname = current_database()";
    queue.place.carry_out(end).unwrap();
    (2..10).for_each(|number| queue.push("o/a", number, 0));
    assert_eq!(queue.candidates(10_000).len(), 9);
}

#[test]
fn a_push_does_not_put_off_a_command() {
    let queue = Queue::new();
    queue.push("o/a", 1, 0);
    let help = PullEvent::Commanded { by: person(), comment: CommentRef::Conversation(1), command: Command::Help };
    queue.about("o/a", 1, help, 1_000);
    queue.push("o/a", 1, 1_000);
    assert_eq!(queue.candidates(1_000), ["o/a#1"], "the command waits for nothing");
    assert_eq!(queue.row("o/a", 1).review_at_ms, 3_000, "the review waits for more pushes");
}
