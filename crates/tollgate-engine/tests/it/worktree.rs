//! Worktrees, on real repositories.

use insta::assert_snapshot;
use tollgate_core::board::FeatureId;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::project::{Branch, Project};
use tollgate_engine::forge::worktree::{Removed, Worktree};

use crate::gate::Feature;
use crate::scratch::Scratch;

/// A name and an action on a feature.
type Plant = (&'static str, fn(&Feature));

fn open(scratch: &Scratch) -> Project {
    Project::open(&scratch.dir, scratch.environment()).unwrap()
}

fn ensure(project: &Project, branch: &str, id: &str) -> Result<Worktree, Failure> {
    project.ensure_worktree(&Branch::parse(branch).unwrap(), "HEAD", &FeatureId::parse(id).unwrap())
}

#[test]
fn a_worktree_is_what_git_makes_of_one() {
    let feature = Feature::new();
    assert_eq!(feature.worktree.path(), feature.project.root().join(".worktrees/f1"));
    assert_eq!(std::fs::read_to_string(feature.worktree.path().join("a.txt")).unwrap(), "one\n");
    assert_eq!(feature.git(&["status", "--porcelain", "--branch"]), "## feature/f1");
    assert_eq!(feature.git(&["worktree", "prune", "--verbose"]), "");
    let listed = feature.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.ends_with("branch refs/heads/feature/f1"), "{listed}");
    let ours = feature.project.worktrees().unwrap();
    assert_eq!(ours.len(), 1);
    assert_eq!((ours[0].branch.as_deref(), ours[0].exists, ours[0].locked), (Some("feature/f1"), true, false));
}

#[test]
fn a_worktree_that_is_there_is_used_again_wherever_it_is() {
    let scratch = Scratch::with_commit();
    let elsewhere = scratch.beside("elsewhere");
    scratch.git(&["worktree", "add", "-q", "-b", "topic", elsewhere.to_str().unwrap()]);
    let project = open(&scratch);
    let worktree = ensure(&project, "topic", "f1").unwrap();
    assert_eq!(worktree.path(), elsewhere.canonicalize().unwrap());
    assert_eq!(ensure(&project, "topic", "f1").unwrap().path(), worktree.path());
    assert!(!scratch.dir.join(".worktrees").exists());
    // It was not created by tollgate, so it is not removed.
    assert_eq!(project.remove_worktree(&worktree).unwrap(), Removed::NotOurs);
    assert!(elsewhere.join("a.txt").exists());
}

#[test]
fn a_branch_that_exists_is_kept_where_it_is() {
    let scratch = Scratch::with_commit();
    scratch.git(&["branch", "topic"]);
    scratch.commit("a.txt", "two\n");
    let worktree = ensure(&open(&scratch), "topic", "f1").unwrap();
    assert_eq!(std::fs::read_to_string(worktree.path().join("a.txt")).unwrap(), "one\n");
}

#[test]
fn a_missing_start_revision_is_reported() {
    let scratch = Scratch::with_commit();
    let (branch, id) = (Branch::parse("topic").unwrap(), FeatureId::parse("f1").unwrap());
    for start in ["nowhere", "--all", "--output=/tmp/x", "", "HEAD~9", "a..b"] {
        let failure = open(&scratch).ensure_worktree(&branch, start, &id).unwrap_err();
        assert_eq!(failure.message, format!("there is no revision `{start}` here"));
    }
    assert_eq!(scratch.git(&["branch", "--format=%(refname:short)"]), "main");
}

#[test]
fn the_branch_of_the_main_checkout_is_refused() {
    let scratch = Scratch::with_commit();
    let failure = ensure(&open(&scratch), "main", "f1").unwrap_err();
    assert!(failure.message.starts_with("the branch `main` is checked out in `"), "{failure}");
}

#[test]
fn conflicting_branch_names_are_reported() {
    let scratch = Scratch::with_commit();
    scratch.git(&["branch", "feature"]);
    let failure = ensure(&open(&scratch), "feature/x", "f1").unwrap_err();
    assert_snapshot!(failure, @"the branch `feature/x` cannot be made: there is a branch `feature`");
}

#[test]
fn a_folder_that_was_deleted_by_hand_is_made_again() {
    let feature = Feature::new();
    std::fs::remove_dir_all(feature.worktree.path()).unwrap();
    assert!(feature.worktree.verify().is_err());
    let again = ensure(&feature.project, "feature/f1", "f1").unwrap();
    assert!(again.path().join("a.txt").exists());
    assert_eq!(feature.project.worktrees().unwrap().len(), 1);
}

#[test]
fn a_folder_that_is_away_on_purpose_is_waited_for() {
    let feature = Feature::new();
    feature.git(&["worktree", "lock", "."]);
    std::fs::remove_dir_all(feature.worktree.path()).unwrap();
    let failure = ensure(&feature.project, "feature/f1", "f1").unwrap_err();
    assert!(failure.message.ends_with("is gone, and its entry is locked"), "{failure}");
}

#[test]
fn a_project_that_was_moved_or_copied_finds_its_worktrees_again() {
    for command in ["mv", "cp"] {
        let feature = Feature::new();
        std::fs::write(feature.worktree.path().join("work"), "x").unwrap();
        let to = feature.scratch.beside("moved");
        let mut moving = std::process::Command::new(command);
        moving.args(if command == "cp" { &["-a"][..] } else { &[] }).arg(&feature.scratch.dir).arg(&to);
        assert!(moving.status().unwrap().success());
        let project = Project::open(&to, feature.scratch.environment()).unwrap();
        let worktree = ensure(&project, "feature/f1", "f1").unwrap();
        assert_eq!(worktree.path(), to.canonicalize().unwrap().join(".worktrees/f1"));
        assert_eq!(feature.scratch.git_in(worktree.path(), &["status", "--porcelain"]), "?? work");
        if command == "cp" {
            feature.worktree.verify().unwrap();
        }
    }
}

#[test]
fn a_worktree_that_was_half_made_is_finished() {
    let feature = Feature::new();
    std::fs::write(feature.worktree.git_dir().join("locked"), "tollgate is making this worktree").unwrap();
    std::fs::write(feature.worktree.git_dir().join("index.lock"), "").unwrap();
    std::fs::write(feature.worktree.path().join("a.txt"), "ha").unwrap();
    std::fs::remove_file(feature.worktree.path().join(".git")).unwrap();
    assert!(feature.project.worktree(feature.worktree.branch()).unwrap().is_none());
    let worktree = ensure(&feature.project, "feature/f1", "f1").unwrap();
    assert_eq!(worktree.uncommitted().unwrap(), 0);
    assert!(!feature.project.worktrees().unwrap()[0].locked);
    // Killed even earlier: the entry is empty.
    std::fs::remove_dir_all(worktree.path()).unwrap();
    std::fs::remove_dir_all(worktree.git_dir()).unwrap();
    std::fs::create_dir(worktree.git_dir()).unwrap();
    std::fs::write(worktree.git_dir().join("locked"), "tollgate is making this worktree").unwrap();
    let worktree = ensure(&feature.project, "feature/f1", "f1").unwrap();
    assert!(worktree.git_dir().ends_with("f1"));
}

#[test]
fn a_folder_in_the_way_is_never_deleted() {
    let scratch = Scratch::with_commit();
    scratch.write(".worktrees/f1/mine", "precious");
    let failure = ensure(&open(&scratch), "topic", "f1").unwrap_err();
    assert!(failure.message.ends_with("is there, and is not a worktree of this repository"), "{failure}");
    assert_eq!(std::fs::read_to_string(scratch.dir.join(".worktrees/f1/mine")).unwrap(), "precious");
    let feature = Feature::new();
    let failure = ensure(&feature.project, "topic", "f1").unwrap_err();
    assert!(failure.message.ends_with("is on the branch `feature/f1`, not on the branch `topic`"), "{failure}");
}

#[test]
fn a_worktree_without_uncommitted_work_is_removed_and_its_branch_stays() {
    let feature = Feature::new();
    feature.write(".gitignore", "ignored/\n");
    feature.write("ignored/huge", "x");
    feature.commit("x").unwrap().unwrap();
    assert_eq!(feature.project.remove_worktree(&feature.worktree).unwrap(), Removed::Done);
    assert!(!feature.worktree.path().exists() && !feature.worktree.git_dir().exists());
    assert_eq!(feature.scratch.git(&["rev-list", "--count", "feature/f1"]), "2");
    assert_eq!(std::fs::read_dir(feature.scratch.dir.join(".worktrees")).unwrap().count(), 0);
}

#[test]
fn a_removal_that_was_cut_short_is_finished() {
    let feature = Feature::new();
    let gone = feature.scratch.dir.join(".worktrees/.gone-f1");
    std::fs::rename(feature.worktree.path(), &gone).unwrap();
    let again = ensure(&feature.project, "feature/f1", "f1").unwrap();
    assert!(!gone.exists());
    assert_eq!(again.uncommitted().unwrap(), 0);
}

#[test]
fn uncommitted_work_is_never_deleted() {
    let plants: [Plant; 6] = [
        ("changed", |feature| feature.write("a.txt", "two\n")),
        ("new", |feature| feature.write("new", "x")),
        ("deleted", |feature| std::fs::remove_file(feature.worktree.path().join("a.txt")).unwrap()),
        ("hidden", |feature| {
            feature.git(&["update-index", "--assume-unchanged", "a.txt"]);
            feature.write("a.txt", "two\n");
        }),
        ("nested", |feature| drop(feature.git(&["init", "-q", "nested"]))),
        ("board", |feature| feature.write(".automaker/notes.md", "x")),
    ];
    for (name, plant) in plants {
        let feature = Feature::new();
        plant(&feature);
        assert_eq!(feature.worktree.uncommitted().unwrap(), 1, "{name}");
        let kept = feature.project.remove_worktree(&feature.worktree).unwrap();
        assert_eq!(kept, Removed::Kept { uncommitted: 1 }, "{name}");
        feature.worktree.verify().unwrap();
    }
}

#[test]
fn a_worktree_on_another_branch_is_neither_used_nor_removed() {
    let feature = Feature::new();
    feature.git(&["switch", "-q", "-c", "mine"]);
    let failure = feature.worktree.verify().unwrap_err();
    assert!(failure.message.ends_with("is on the branch `mine`, not on the branch `feature/f1`"), "{failure}");
    assert!(feature.project.remove_worktree(&feature.worktree).is_err());
    assert!(feature.commit("x").is_err());
    feature.git(&["switch", "-q", "--detach"]);
    let failure = feature.worktree.verify().unwrap_err();
    assert!(failure.message.ends_with("is on no branch, not on the branch `feature/f1`"), "{failure}");
}

#[cfg(unix)]
#[test]
fn a_worktree_that_leads_elsewhere_is_refused() {
    use std::os::unix::fs::symlink;
    let plants: [Plant; 7] = [
        ("its `.git` leads elsewhere", |feature| {
            let evil = Scratch::with_commit();
            feature.write(".git", format!("gitdir: {}\n", evil.dir.join(".git").display()));
        }),
        ("its `.git` leads elsewhere", |feature| {
            std::fs::remove_file(feature.worktree.path().join(".git")).unwrap();
            feature.git(&["init", "-q"]);
        }),
        ("its `.git` leads elsewhere", |feature| {
            let git = feature.worktree.path().join(".git");
            std::fs::rename(&git, feature.scratch.beside("git")).unwrap();
            symlink(feature.scratch.beside("git"), git).unwrap();
        }),
        ("its entry leads to another folder", |feature| {
            std::fs::write(
                feature.worktree.git_dir().join("gitdir"),
                feature.scratch.dir.join(".git").display().to_string(),
            )
            .unwrap();
        }),
        ("its entry belongs to another repository", |feature| {
            let evil = Scratch::with_commit();
            std::fs::write(feature.worktree.git_dir().join("commondir"), evil.dir.join(".git").display().to_string())
                .unwrap();
        }),
        ("it is not a folder", |feature| {
            let moved = feature.scratch.beside("moved");
            std::fs::rename(feature.worktree.path(), &moved).unwrap();
            symlink(moved, feature.worktree.path()).unwrap();
        }),
        ("a link is on the way to it", |feature| {
            let moved = feature.scratch.beside("moved");
            std::fs::rename(feature.scratch.dir.join(".worktrees"), &moved).unwrap();
            symlink(moved, feature.scratch.dir.join(".worktrees")).unwrap();
        }),
    ];
    for (problem, plant) in plants {
        let feature = Feature::new();
        plant(&feature);
        let failure = feature.worktree.verify().unwrap_err();
        assert!(failure.message.ends_with(&format!("is not the worktree it should be: {problem}")), "{failure}");
        assert!(feature.commit("x").is_err(), "{problem}");
        assert!(feature.worktree.uncommitted().is_err(), "{problem}");
    }
}

#[cfg(unix)]
#[test]
fn only_the_top_of_a_checkout_is_a_project() {
    let scratch = Scratch::with_commit();
    let open = |dir: &std::path::Path| Project::open(dir, scratch.environment());
    let said = |dir: &std::path::Path| {
        let folder = scratch.dir.parent().unwrap().canonicalize().unwrap();
        open(dir).unwrap_err().message.replace(folder.to_str().unwrap(), "")
    };
    std::fs::create_dir(scratch.dir.join("sub")).unwrap();
    assert_snapshot!(said(&scratch.dir.join("sub")), @"`/repo/sub` is inside the repository `/repo`");
    assert_snapshot!(said(&scratch.beside("home")), @"`/home` is not a git repository");
    let bare = scratch.beside("bare");
    scratch.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    assert_snapshot!(said(&bare), @"`/bare` is a bare repository, and agents need files to work on");
    let linked = scratch.beside("linked");
    std::fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(scratch.dir.join(".git"), linked.join(".git")).unwrap();
    assert_snapshot!(said(&linked), @"`/linked/.git` is a symbolic link or no folder, which can lead anywhere");
    let redirected = scratch.beside("redirected");
    std::fs::create_dir(&redirected).unwrap();
    std::fs::write(redirected.join(".git"), format!("gitdir: {}\n", scratch.dir.join(".git").display())).unwrap();
    assert_snapshot!(said(&redirected), @"`/redirected/.git` leads to a git folder that does not lead back, which is how code is smuggled in");
    let inner = Scratch::with_commit();
    scratch.git(&["submodule", "--quiet", "add", inner.dir.to_str().unwrap(), "module"]);
    assert_snapshot!(said(&scratch.dir.join("module")), @"`/repo/module` is a submodule of another repository");
    let reftable = scratch.beside("reftable");
    scratch.git(&["init", "-q", "--ref-format=reftable", reftable.to_str().unwrap()]);
    assert_snapshot!(said(&reftable), @"`/reftable` keeps its branches in the reftable format, which is not supported");
    // A person's own worktree can be a project.
    let own = scratch.beside("own");
    scratch.git(&["worktree", "add", "-q", own.to_str().unwrap()]);
    assert_eq!(open(&own).unwrap().head_branch().as_deref(), Some("own"));
}

#[test]
fn names_are_resolved_and_never_taken_for_options() {
    let scratch = Scratch::with_commit();
    let project = open(&scratch);
    let head = scratch.git(&["rev-parse", "HEAD"]);
    for name in ["HEAD", "main", "refs/heads/main", &head, &head[..10]] {
        assert_eq!(project.resolve(name).unwrap().unwrap().as_str(), head, "{name}");
    }
    scratch.git(&["update-ref", "refs/heads/--output=x", "HEAD"]);
    for name in ["", "--all", "--git-dir", "-n1", "nowhere", "HEAD:a.txt", "HEAD..main", "a\nb", &"x".repeat(9999)] {
        assert_eq!(project.resolve(name).unwrap(), None, "{name}");
    }
    assert_eq!(project.head_branch().as_deref(), Some("main"));
}

#[test]
fn the_merge_base_is_where_a_branch_left_its_target() {
    let feature = Feature::new();
    feature.write("b.txt", "b\n");
    let commit = feature.commit("x").unwrap().unwrap();
    feature.scratch.commit("c.txt", "c\n");
    let target = feature.project.resolve("main").unwrap().unwrap();
    let base = feature.project.merge_base(&target, &commit).unwrap().unwrap();
    assert_eq!(base, feature.project.resolve("main~1").unwrap().unwrap());
    let diff = feature.project.diff(&base, &commit, 10).unwrap();
    assert_eq!((diff.bytes.as_slice(), diff.cut), (&b"diff --git"[..], true));
    let whole = feature.project.diff(&base, &commit, 1_000_000).unwrap();
    assert_eq!((whole.bytes.len() as u64, whole.cut), (diff.n_bytes, false));
    feature.scratch.git(&["checkout", "-q", "--orphan", "other"]);
    feature.scratch.git(&["commit", "-q", "-m", "other"]);
    let other = feature.project.resolve("other").unwrap().unwrap();
    assert_eq!(feature.project.merge_base(&other, &commit).unwrap(), None);
}

#[test]
fn shallow_shared_and_packed_repositories_are_projects_too() {
    let origin = Scratch::with_commit();
    origin.commit("a.txt", "two\n");
    for args in [&["--depth=1"][..], &["--shared"], &["--filter=blob:none"]] {
        let scratch = Scratch::without_repository();
        let url = format!("file://{}", origin.dir.display());
        let from = if args == ["--shared"] { origin.dir.to_str().unwrap() } else { &url };
        scratch.git(&[&["clone", "-q"], args, &[from, "."]].concat());
        scratch.git(&["pack-refs", "--all"]);
        let feature = Feature::of(scratch);
        feature.write("b.txt", "b\n");
        let commit = feature.commit("x").unwrap().unwrap();
        feature.scratch.git(&["pack-refs", "--all"]);
        assert_eq!(feature.project.branch_head(feature.worktree.branch()).unwrap().as_ref(), Some(&commit));
        let main = feature.project.resolve("origin/main").unwrap().unwrap();
        assert_eq!(feature.project.merge_base(&main, &commit).unwrap().as_ref(), Some(&main));
        assert!(feature.project.diff(&main, &commit, 1000).unwrap().n_bytes > 0);
        feature.write("b.txt", "c\n");
        feature.commit("x").unwrap().unwrap();
    }
}

#[test]
fn folders_of_the_board_can_be_ignored_without_a_change_to_the_project() {
    let feature = Feature::new();
    feature.scratch.write(".automaker/features/f1/feature.json", "{}");
    assert_eq!(feature.scratch.git(&["status", "--porcelain"]), "?? .automaker/\n?? .worktrees/");
    feature.project.ignore_board(".automaker").unwrap();
    assert_eq!(feature.scratch.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_configuration_that_cannot_be_read_stops_the_gate() {
    let feature = Feature::new();
    feature.write("a.txt", "two\n");
    feature.scratch.write(".git/config", "[core\n");
    let failure = feature.commit("x").unwrap_err();
    assert!(failure.message.contains("bad config"), "{failure}");
}

#[test]
fn two_at_once_make_one_worktree() {
    let scratch = Scratch::with_commit();
    let project = open(&scratch);
    let made = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| ensure(&project, "topic", "f1").unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap().path().to_owned()).collect::<Vec<_>>()
    });
    assert!(made.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(project.worktrees().unwrap().len(), 1);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]
    #[test]
    fn an_accepted_branch_name_is_accepted_by_git(name in "[-a-zA-Z0-9./@{}~^ :*#\\[\\\\é_=]{1,10}(.lock|/|HEAD)?") {
        if let Ok(branch) = Branch::parse(&name) {
            let mut git = std::process::Command::new("git");
            let output = git.args(["check-ref-format", "--branch", branch.as_str()]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            proptest::prop_assert_eq!(said.trim_end(), name);
        }
    }
}
