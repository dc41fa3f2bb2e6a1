//! The program is killed at every call to the host: the next worker finishes the job, and nothing is published twice.

use super::*;

/// A review with a finding, and a push that resolves it.
fn push(world: &World, text: &str) {
    world.scratch.commit("a.conf", text);
    world.push("feat: a change");
    world.changed();
}

/// Works until it is killed or done, then lets another finish.
fn work(world: &World) {
    for text in [BAD, "a\n"] {
        push(world, text);
        for _ in 0..60 {
            later(3_000);
            let died = catch_unwind(AssertUnwindSafe(|| world.pulls.step("me")));
            match died {
                Ok(stepped) => {
                    if stepped.unwrap() == Stepped::Idle
                        && world.pulls.database().n_due_pulls(now() + 1_000_000).unwrap() == 0
                    {
                        break;
                    }
                }
                // The lease of the killed worker expires.
                Err(_) => later(31_000),
            }
        }
    }
}

#[test]
fn killed_at_any_call_nothing_is_lost_and_nothing_is_there_twice() {
    let tidy = World::new();
    work(&tidy);
    let (expected, n_calls) = (tidy.seen(), tidy.hub.state().calls.len());
    for (call, fault) in wrong(n_calls, &[Fault::KilledAfter, Fault::KilledBefore]) {
        let world = World::new();
        world.hub.state().faults.insert(call, fault.clone());
        work(&world);
        let name = world.hub.state().calls[call];
        assert_eq!(world.seen(), expected, "{fault:?} at call {call}, {name}");
    }
}
