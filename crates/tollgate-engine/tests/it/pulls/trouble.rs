//! The host is in trouble: nothing is lost, nothing is there twice.

use super::*;

/// A review with a finding, then a push that resolves it and brings another, then a question.
fn work(world: &World) {
    world.push_file("a.conf", BAD);
    world.scratch.commit("a.conf", "a\n");
    world.push_file("b.conf", BAD);
    world.say("ann", Command::Help);
    world.settle();
}

#[test]
fn a_host_in_trouble_costs_time_and_nothing_is_lost_or_there_twice() {
    let tidy = World::new();
    work(&tidy);
    let (expected, n_calls) = (tidy.seen(), tidy.hub.state().calls.len());
    let faults = [
        Fault::Unclear,
        Fault::Refuse(HostErrorKind::Unavailable),
        Fault::Refuse(HostErrorKind::Limited { wait_ms: 60_000 }),
    ];
    for (call, fault) in wrong(n_calls, &faults) {
        let world = World::new();
        world.hub.state().faults.insert(call, fault.clone());
        work(&world);
        let name = world.hub.state().calls[call];
        assert_eq!(world.seen(), expected, "{fault:?} at call {call}, {name}");
    }
}

#[test]
fn a_finding_whose_line_is_refused_stands_at_its_file_or_in_the_text() {
    let world = World::new();
    world.scratch.commit("good.conf", BAD);
    world.scratch.commit("line.conf", BAD);
    world.hub.state().bad_lines.insert("line.conf".to_owned());
    world.hub.state().bad_files.insert("file.conf".to_owned());
    world.push_file("file.conf", BAD);
    assert_snapshot!(world.seen(), @"
    comment: Kodiai Review Summary
    review Comment of file.conf
    at good.conf:1: **Major: merge conflict marker**
    at line.conf:file: **Major: merge conflict marker**
    check of file.conf: failure, Needs changes -- 3 major findings must be fixed before merging (0 annotations)
    ");
    let state = world.hub.state();
    let (_, review) = &state.reviews[0];
    assert!(review.body.contains("file.conf"), "{}", review.body);
}

#[test]
fn unpublished_findings_of_an_earlier_head_are_published_with_the_next() {
    let world = World::new();
    world.scratch.commit("a.conf", BAD);
    world.push("feat: a");
    world.changed();
    later(3_000);
    // The review is stored; then the host does not answer.
    let n_calls = world.hub.state().calls.len();
    for call in n_calls + 6..n_calls + 40 {
        world.hub.state().faults.insert(call, Fault::Refuse(HostErrorKind::Unavailable));
    }
    let _ = world.pulls.step("me");
    world.hub.state().faults.clear();
    world.push_file("b.conf", "b\n");
    assert_snapshot!(world.seen(), @"
    comment: Kodiai Review Summary
    review Comment of b.conf
    at a.conf:1: **Major: merge conflict marker**
    check of a.conf: failure, Needs changes -- 1 major finding must be fixed before merging (0 annotations)
    check of b.conf: failure, Needs changes -- 1 major finding must be fixed before merging (0 annotations)
    ");
}

#[test]
fn a_post_that_is_refused_once_is_published_later() {
    for name in ["review", "comment", "begin_check"] {
        let tidy = World::new();
        tidy.push_file("a.conf", BAD);
        let world = World::new();
        let place = tidy.hub.state().calls.iter().position(|call| *call == name).unwrap();
        world.hub.state().faults.insert(place, Fault::Refuse(HostErrorKind::Forbidden));
        world.push_file("a.conf", BAD);
        assert_eq!(world.seen(), tidy.seen(), "{name}");
    }
}
