//! Servers that reject, stall, lie or redirect, and caches left by a crash.

use std::sync::Arc;

use super::*;

#[track_caller]
fn message(result: Result<Fetched, Failure>, world: &World) -> String {
    let failure = result.unwrap_err();
    let shown = format!("{failure} / {}", failure.hint.clone().unwrap_or_default());
    assert!(!shown.contains(AUTHORIZATION.split(' ').nth(1).unwrap()), "{shown}");
    shown.replace(&world.server.url, "http://host")
}

#[test]
fn without_the_right_password_nothing_is_fetched() {
    let world = World::new();
    let wanted = FetchRequest { number: 1, head: &world.base, base_branch: "main", base: &world.base, more: &[] };
    for authorization in [None, Some(Secret::new("basic d3Jvbmc=".to_owned()))] {
        let remote = world.open(authorization.as_ref()).unwrap();
        let said = message(remote.fetch(&wanted, &CancellationToken::new()), &world);
        insta::allow_duplicates! {
            insta::assert_snapshot!(said, @"`http://host/repo` cannot be fetched with this token / Check that the token or app may read the contents of the repository.");
        }
    }
    let broken = Secret::new("basic x\nHost: elsewhere".to_owned());
    assert!(world.open(Some(&broken)).unwrap_err().message.contains("contains invalid characters"));
}

#[test]
fn a_missing_repository_is_reported() {
    let world = World::new();
    let url = format!("{}/other", world.server.url);
    let hidden = Secret::new(AUTHORIZATION.to_owned());
    let remote = Remote::open(&world.cache(), "k", &url, Some(&hidden), world.scratch.environment()).unwrap();
    let wanted = FetchRequest { number: 1, head: &world.base, base_branch: "main", base: &world.base, more: &[] };
    insta::assert_snapshot!(message(remote.fetch(&wanted, &CancellationToken::new()), &world), @"there is no repository at `http://host/other`, or the token may not see it / Check the address, and that the token or app may read the contents of the repository.");
}

#[test]
fn redirects_are_not_followed() {
    let world = World::new();
    world.server.behave(Behaviour::Redirects);
    message(world.fetch(&world.base), &world);
    let log = world.server.log();
    assert!(!log.is_empty() && log.iter().all(|line| line.contains(" /repo/")), "{log:?}");
}

#[test]
fn submodules_are_not_fetched() {
    let world = World::new();
    world.branch();
    let elsewhere = Server::start(&world.scratch.beside(""), None);
    let hostile = format!(
        "[submodule \"a\"]\n\tpath = a\n\turl = {0}/repo\n[submodule \"b\"]\n\tpath = b\n\turl = ext::sh -c touch% \
         {1}\n\tupdate = !touch {1}\n[submodule \"c\"]\n\tpath = -u./c\n\turl = -u./payload\n",
        elsewhere.url,
        world.scratch.beside("planted").display()
    );
    world.commit(".gitmodules", hostile);
    let link = format!("160000,{},a", world.base);
    world.scratch.git(&["update-index", "--add", "--cacheinfo", &link]);
    world.scratch.git(&["commit", "-q", "-m", "submodule"]);
    let head = sha(&world.scratch, "HEAD");
    assert_eq!(files(&world.change(&head)), [".gitmodules (10, 0)", "a (1, 0)"]);
    assert_eq!(elsewhere.log(), Vec::<String>::new());
    assert!(!world.scratch.beside("planted").exists());
}

#[test]
fn a_server_that_fails_or_hangs_up_costs_a_try_and_nothing_else() {
    let world = World::new();
    world.branch();
    let head = world.commit("b.txt", "b\n".repeat(10_000));
    for behaviour in [Behaviour::Fails, Behaviour::HangsUp(0), Behaviour::HangsUp(50), Behaviour::HangsUp(300)] {
        world.server.behave(behaviour);
        let said = message(world.fetch(&head), &world);
        assert!(said.contains("cannot be fetched"), "{behaviour:?}: {said}");
    }
    world.server.behave(Behaviour::Good);
    assert_eq!(files(&world.change(&head)), ["b.txt (10000, 0)"]);
}

#[test]
fn a_fetch_that_stalls_ends_when_it_is_cancelled_and_leaves_nothing_behind() {
    let world = World::new();
    world.branch();
    let head = world.commit("b.txt", "b\n");
    world.server.behave(Behaviour::Stalls(700));
    let cancel = CancellationToken::new();
    let said = std::thread::scope(|scope| {
        let fetching = scope.spawn(|| world.fetch_with(&head, &[], &cancel));
        while world.server.n_packs() == 0 {
            std::thread::yield_now();
        }
        cancel.cancel();
        message(fetching.join().unwrap(), &world)
    });
    assert!(said.contains("the fetch was cancelled"), "{said}");
    let left = std::fs::read_dir(world.folder().join("objects/pack")).unwrap().count();
    assert_eq!(left, 0);
    world.server.behave(Behaviour::Good);
    assert_eq!(files(&world.change(&head)), ["b.txt (1, 0)"]);
}

#[test]
fn two_pull_requests_of_one_repository_are_fetched_at_once() {
    let world = World::new();
    let heads: Vec<Sha> = (0..4)
        .map(|number| {
            world.scratch.git(&["switch", "-q", "-c", &format!("f{number}"), "main"]);
            world.commit("b.txt", format!("{number}\n"))
        })
        .collect();
    let world = Arc::new(world);
    std::thread::scope(|scope| {
        let fetching: Vec<_> = heads
            .iter()
            .map(|head| {
                let world = Arc::clone(&world);
                scope.spawn(move || files(&world.change(head)))
            })
            .collect();
        for fetched in fetching {
            assert_eq!(fetched.join().unwrap(), ["b.txt (1, 0)"]);
        }
    });
}

#[test]
fn leftovers_of_a_crash_do_not_block_a_fetch() {
    let world = World::new();
    world.branch();
    let first = world.commit("b.txt", "1\n");
    world.fetch(&first).unwrap();
    let folder = world.folder();
    for name in ["refs/tollgate/pulls/1.lock", "packed-refs.lock", "config.lock", "HEAD.lock", "shallow.lock"] {
        std::fs::write(folder.join(name), "").unwrap();
    }
    std::fs::write(folder.join("objects/pack/tmp_pack_abcdef"), "PACK").unwrap();
    std::fs::write(folder.join("objects/pack/pack-0000.pack"), "PACK").unwrap();
    let second = world.commit("b.txt", "2\n");
    assert_eq!(files(&world.change(&second)), ["b.txt (1, 0)"]);
}

#[test]
fn a_corrupt_cache_is_fetched_again() {
    let world = World::new();
    world.branch();
    let head = world.commit("b.txt", "1\n");
    let damages: [&dyn Fn(&std::path::Path); 4] = [
        &|folder| {
            for entry in std::fs::read_dir(folder.join("objects/pack")).unwrap().flatten() {
                let path = entry.path();
                std::fs::remove_file(&path).unwrap();
                std::fs::write(path, "garbage").unwrap();
            }
        },
        &|folder| std::fs::write(folder.join("config"), "[core\nnonsense").unwrap(),
        &|folder| std::fs::remove_file(folder.join("HEAD")).unwrap(),
        &|folder| std::fs::remove_dir_all(folder.join("objects")).unwrap(),
    ];
    for (number, damage) in damages.iter().enumerate() {
        world.fetch(&head).unwrap();
        damage(&world.folder());
        assert_eq!(files(&world.change(&head)), ["b.txt (1, 0)"], "{number}");
    }
}
