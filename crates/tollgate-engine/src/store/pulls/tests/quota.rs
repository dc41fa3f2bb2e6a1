//! How often models are asked.

use super::*;

pub(super) fn by(author: &str, (of_repository, of_author): (Option<u32>, Option<u32>), now_ms: u64) -> QuotaRequest {
    QuotaRequest { author: author.to_owned(), allowance: DailyLimits { of_repository, of_author }, now_ms }
}

/// Asks for leave to ask models about a pull request, as often as it is due.
#[track_caller]
fn leave(queue: &Queue, repo: &str, author: &str, allowance: (Option<u32>, Option<u32>), now_ms: u64) -> Quota {
    queue.about(repo, 1, PullEvent::ReviewRequested { by: person() }, now_ms);
    let claim = queue.claim(repo, 1, now_ms);
    let leave = queue.database.take_quota(claim.token, by(author, allowance, now_ms)).unwrap().unwrap();
    queue.finish(&claim, Vec::new());
    queue.database.release_pull(claim.token, 0).unwrap().unwrap();
    leave
}

#[test]
fn models_are_asked_less_and_less_often_until_it_was_calm() {
    let queue = Queue::new();
    let at = |seconds: u64| leave(&queue, "o/r", "ada", (None, None), 1_000 * seconds);
    let mut given = Vec::new();
    for seconds in (10..2_000).step_by(10) {
        match at(seconds) {
            Quota::Granted => given.push(seconds),
            Quota::RetryAt(next) => assert!(next > 1_000 * seconds && next <= 1_000 * (seconds + 300)),
            Quota::Exhausted(_) => unreachable!("there is no limit"),
        }
    }
    assert_eq!(given, [10, 30, 70, 150, 310, 610, 910, 1_210, 1_510, 1_810]);
    assert_eq!(at(2_409), Quota::Granted);
    assert_eq!(at(2_700), Quota::RetryAt(2_709_000), "it was not calm for long enough");
    assert_eq!((at(3_309), at(3_320), at(3_329)), (Quota::Granted, Quota::RetryAt(3_329_000), Quota::Granted));
    assert_eq!(at(1), Quota::Granted, "what another clock said does not hold");
}

#[test]
fn a_review_that_was_put_off_is_not_hastened_by_pushes() {
    let queue = Queue::new();
    queue.push("o/r", 1, 0);
    let claim = queue.claim("o/r", 1, 31_000);
    queue.database.put_off_review(claim.token, 50_000).unwrap().unwrap();
    for at_ms in [31_000, 40_000, 49_999] {
        queue.push("o/r", 1, at_ms);
        assert_eq!(queue.candidates(49_999), Vec::<String>::new(), "after a push at {at_ms}");
    }
    assert_eq!(queue.candidates(50_000), ["o/r#1"]);
    queue.about(
        "o/r",
        1,
        PullEvent::Commanded { by: person(), comment: CommentRef::Conversation(1), command: Command::Help },
        49_999,
    );
    assert_eq!(queue.candidates(49_999), ["o/r#1"], "who says something is answered at once");
    let claim = queue.claim("o/r", 1, 50_000);
    queue.finish(&claim, Vec::new());
    assert_eq!(queue.row("o/r", 1).wanted, 4);
    queue.push("o/r", 1, 50_000);
    assert_eq!(queue.row("o/r", 1).review_at_ms, 52_000, "it is made, and the next one is another");
    let claim = queue.claim("o/r", 1, 60_000);
    queue.database.put_off_review(claim.token, 9_000_000).unwrap().unwrap();
    queue.push("o/r", 1, 61_000);
    assert_eq!(queue.row("o/r", 1).review_at_ms, 63_000, "what another clock said does not hold");
}

#[test]
fn a_repository_and_an_author_have_so_many_reviews_with_models_a_day() {
    const DAY: u64 = 24 * 60 * 60_000;
    let queue = Queue::new();
    let both = (Some(3), Some(2));
    let ask = |repo, author, at_ms| leave(&queue, repo, author, both, at_ms);
    let spent = Quota::Exhausted;
    assert_eq!(ask("o/a", "ada", 1), Quota::Granted);
    assert_eq!(ask("o/b", "Ada", 1_000_000), Quota::Granted);
    assert_eq!(ask("o/c", "ada", 1_000_000), spent(SpentQuota::Author(2)), "in all repositories together");
    assert_eq!(ask("o/a", "bob", 1_000_000), Quota::Granted);
    assert_eq!(ask("o/a", "eve", 2_000_000), Quota::Granted);
    assert_eq!(ask("o/a", "sue", 3_000_000), spent(SpentQuota::Repository(3)));
    assert_eq!(leave(&queue, "o/a", "ada", (None, None), 3_000_000), Quota::Granted, "nobody set a limit");
    assert_eq!(ask("o/c", "ada", DAY), spent(SpentQuota::Author(2)));
    assert_eq!(queue.database.prune_quota(DAY).unwrap(), 0);
    assert_eq!(ask("o/d", "eve", DAY + 1), Quota::Granted, "what was a day ago does not count");
    assert_eq!(queue.database.prune_quota(DAY + 1).unwrap(), 1);
    assert_eq!(ask("o/d", "eve", DAY + 1_000_000), spent(SpentQuota::Author(2)));
}

/// Plays pushes of a minute, and works whenever something is due; gives back when models were asked, in seconds.
fn storm(n_pushes: u64, is_ended_by_pushes: bool) -> Vec<u64> {
    let queue = Queue::new();
    let mut given = Vec::new();
    let mut next_push = 0;
    for now_ms in (0..1_000_000).step_by(250) {
        while next_push < n_pushes && next_push * 60_000 / n_pushes <= now_ms {
            queue.push("o/r", 1, next_push * 60_000 / n_pushes);
            next_push += 1;
        }
        let Some(claim) = queue.row("o/r", 1).is_owed().then(|| queue.bid(1, now_ms)).flatten() else { continue };
        match queue.database.take_quota(claim.token, by("ada", (None, None), now_ms)).unwrap().unwrap() {
            Quota::RetryAt(next) => queue.database.put_off_review(claim.token, next).unwrap().unwrap(),
            Quota::Exhausted(_) => unreachable!("there is no limit"),
            Quota::Granted => {
                given.push(now_ms / 1_000);
                if next_push == n_pushes || !is_ended_by_pushes {
                    queue.finish(&claim, Vec::new());
                }
                queue.database.release_pull(claim.token, 0).unwrap().unwrap();
            }
        }
    }
    assert!(!queue.row("o/r", 1).is_owed(), "the last one was reviewed");
    given
}

#[test]
fn five_hundred_pushes_in_a_minute_are_three_reviews_with_models() {
    assert_eq!(storm(500, true), [30, 50, 90], "each is ended by the next push");
    assert_eq!(storm(500, false), [30, 60], "none is");
}
