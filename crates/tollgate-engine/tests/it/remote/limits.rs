//! Pull requests of every size.

use super::*;

#[test]
fn three_thousand_files_are_fetched_at_once() {
    let world = World::new();
    world.branch();
    for number in 0..3_000 {
        world.scratch.write(&format!("d{}/f{number}.txt", number % 50), format!("{number}\n"));
    }
    world.scratch.git(&["add", "--all"]);
    world.scratch.git(&["commit", "-q", "-m", "many"]);
    let head = sha(&world.scratch, "HEAD");
    let change = world.change(&head);
    assert_eq!((change.files.len(), change.left_out.len()), (3_000, 0));
    // One fetch for commits and trees, one for blobs; each may take two requests.
    assert!(world.server.n_packs() <= 4);
}

#[test]
fn a_large_difference_is_cut_by_file() {
    let world = World::new();
    world.branch();
    let line = format!("{}\n", "x".repeat(99));
    world.scratch.write("large.txt", line.repeat(210_000));
    world.scratch.git(&["add", "--all"]);
    let head = world.commit("small.txt", "s\n");
    let change = world.change(&head);
    assert_eq!(files(&change), ["small.txt (1, 0)"]);
    assert_eq!(change.left_out.len(), 1);
}

#[test]
fn a_file_that_is_too_large_is_not_reviewed_by_name_and_the_others_are() {
    let mut world = World::new();
    world.scratch.write("grown.txt", "1\n");
    world.scratch.write("moved.txt", "1\n2\n3\n4\n5\n6\n7\n8\n");
    world.scratch.git(&["add", "--all"]);
    world.base = world.commit("small.txt", "s\n");
    world.branch();
    world.scratch.write("grown.txt", "0123456789abcde\n".repeat((33 << 20) / 16));
    world.scratch.git(&["mv", "moved.txt", "elsewhere.txt"]);
    world.scratch.write("elsewhere.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    world.scratch.git(&["add", "--all"]);
    let head = world.commit("small.txt", "s\nt\n");
    let change = world.change(&head);
    assert_eq!(files(&change), ["elsewhere.txt (1, 0)", "small.txt (1, 0)"]);
    insta::assert_snapshot!(change.notes.join("\n"), @"`grown.txt` was not looked at: the file is larger than 32 MiB");
    let left_out: Vec<&str> = change.left_out.iter().map(|covered| covered.file.as_str()).collect();
    assert_eq!(left_out, ["grown.txt"]);
}

#[test]
fn hundreds_of_commits_are_listed() {
    let world = World::new();
    world.branch();
    let mut stream = String::new();
    for number in 1..=300 {
        stream.push_str(&format!(
            "commit refs/heads/feature\ncommitter a <a@example.com> {number} +0000\ndata 3\n{number:03}\n{}M 644 inline \
             n.txt\ndata 3\n{number:03}\n",
            if number == 1 { "from refs/heads/main\n" } else { "" }
        ));
    }
    std::fs::write(world.scratch.beside("stream"), stream).unwrap();
    let input = std::fs::File::open(world.scratch.beside("stream")).unwrap();
    let mut command = world.scratch.command(&world.scratch.dir, &["fast-import", "--quiet", "--force"]);
    assert!(command.stdin(input).status().unwrap().success());
    let head = sha(&world.scratch, "feature");
    let fetched = world.fetch(&head).unwrap();
    let mut local = world.local(&fetched);
    let change = local.fetch(&options()).unwrap();
    let commits = local.commits(&change).unwrap();
    assert_eq!((commits.listed.len(), commits.complete), (300, true));
    assert_eq!(commits.listed[0].message, "001");
}
