//! What an agent leaves for the server and the operator: links, an index, objects and repositories that are not what they
//! seem.

use super::{all_layers, decided};
use crate::desk::{Desk, GOOD};

/// Makes a desk whose agent runs a script with the repository's git directory as GIT, the worktree's entry in it as ENTRY,
/// another repository as OTHER, and the desk as DESK.
fn desk(script: &str) -> Desk {
    all_layers();
    let desk = Desk::configured("exit 1", "sandbox = 'require'");
    let other = desk.path("other");
    std::fs::create_dir(&other).unwrap();
    desk.git_in(&other, &["init", "-q", "-b", "main"]);
    std::fs::write(other.join("secret"), "secret of another project\n").unwrap();
    desk.git_in(&other, &["add", "secret"]);
    desk.git_in(&other, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "secret"]);
    let root = desk.path("").display().to_string().trim_end_matches('/').to_owned();
    let script = format!(
        "#!/bin/sh\nset -e\ncat > /dev/null\ngit config --global user.name agent\n\
         git config --global user.email agent@example.com\n{script}\necho '{GOOD}' > b.js; echo done\n"
    );
    let script = script.replace("ENTRY", "GIT/worktrees/$(basename $PWD)").replace("GIT/", "DESK/project/.git/");
    let script = script.replace("OTHER", "DESK/other").replace("DESK", &root);
    std::fs::write(desk.path("agent.sh"), script).unwrap();
    desk
}

/// The other repository is whole, and nothing of it is in the worktree.
#[track_caller]
fn check_other(desk: &Desk, id: &str) {
    desk.git_in(&desk.path("other"), &["fsck", "--strict", "--full"]);
    assert_eq!(desk.git_in(&desk.path("other"), &["show", "main:secret"]), "secret of another project");
    let tree = desk.path(&format!("project/.worktrees/{id}"));
    assert!(!desk.git_in(&tree, &["ls-files"]).contains("secret"));
}

#[test]
fn objects_of_another_repository_that_an_agent_links_to_stay_where_they_are() {
    let links = [
        "rm -rf GIT/objects; ln -s OTHER/.git/objects GIT/objects",
        "rm -rf GIT/objects/pack; \
         for x in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for y in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do \
         ln -s OTHER/.git/objects/$x$y GIT/objects/$x$y; done; done; ln -s OTHER/.git/objects/pack GIT/objects/pack",
    ];
    for link in links {
        let desk = desk(&format!("{link}\necho 1111111111111111111111111111111111111111 > ENTRY/HEAD"));
        let (id, shown) = decided(&desk);
        assert!(shown["error"].to_string().contains("the commits that the agent made in"), "{shown}");
        check_other(&desk, &id);
    }
}

#[test]
fn the_index_of_another_repository_that_an_agent_links_to_is_not_taken() {
    let desk = desk("mv ENTRY GIT/old; ln -s OTHER/.git ENTRY");
    let (id, shown) = decided(&desk);
    assert!(shown["error"].to_string().contains("no branch"), "{shown}");
    check_other(&desk, &id);
}

#[test]
fn the_index_of_an_agent_is_not_the_worktrees() {
    let desk = desk(
        "git commit -q --allow-empty -m 'of the agent'\n\
         git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:a.js),planted.js\n\
         git update-index --assume-unchanged a.js\nexit 1",
    );
    let (id, shown) = decided(&desk);
    let tree = desk.path(&format!("project/.worktrees/{id}"));
    assert_eq!(desk.git_in(&tree, &["log", "-1", "--format=%s"]), "of the agent", "{shown}");
    assert_eq!(desk.git_in(&tree, &["ls-files", "-v"]), "H a.js");
    assert_eq!(desk.git_in(&tree, &["status", "--porcelain"]), "");
}

#[test]
fn an_index_is_that_of_the_commits_that_an_agent_made_before_it_failed() {
    let desk = desk("git mv a.js d.js; git commit -q -m 'of the agent'; exit 1");
    let (id, _) = decided(&desk);
    let tree = desk.path(&format!("project/.worktrees/{id}"));
    assert_eq!(desk.git_in(&tree, &["ls-files"]), "d.js");
    assert_eq!(desk.git_in(&tree, &["status", "--porcelain"]), "");
}

#[test]
fn a_head_that_names_a_tree_is_refused() {
    let desk = desk("tree=$(git rev-parse HEAD^{tree}); echo $tree > ENTRY/HEAD");
    let (id, shown) = decided(&desk);
    assert!(shown["error"].to_string().contains("is not a commit"), "{shown}");
    let head = std::fs::read_to_string(desk.path(&format!("project/.git/worktrees/{id}/HEAD"))).unwrap();
    assert!(head.starts_with("ref: refs/heads/"), "{head}");
}

/// Commits a repository in a repository, whose configuration starts a program.
const NESTED: &str = r#"
git init -q sub
git -C sub commit -q --allow-empty -m nested
git -C sub config core.fsmonitor 'touch DESK/planted; false'
git -c core.fsmonitor=false add sub 2> /dev/null
git commit -q -m 'of the agent'
"#;

#[test]
fn a_nested_repository_that_an_agent_commits_is_refused_and_starts_nothing() {
    for end in ["", "exit 1"] {
        let desk = desk(&format!("{NESTED}\n{end}"));
        let (id, shown) = decided(&desk);
        let tree = desk.path(&format!("project/.worktrees/{id}"));
        desk.git_in(&tree, &["status"]);
        assert!(!desk.path("planted").exists(), "git obeyed the nested repository");
        assert!(shown["error"].to_string().contains("they add the nested repository `sub`"), "{end}: {shown}");
        assert_eq!(desk.git_in(&tree, &["log", "-1", "--format=%H"]), desk.git(&["rev-parse", "main"]));
    }
}
