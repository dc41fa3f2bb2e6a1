//! Gate commits on real repositories.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use tollgate_core::board::FeatureId;
use tollgate_core::sha::Sha;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::gate::{self, Author, GateCommit, Staged};
use tollgate_engine::forge::git::Blob;
use tollgate_engine::forge::project::{Branch, Project};
use tollgate_engine::forge::worktree::Worktree;

use crate::scratch::Scratch;

/// A project with a feature that has a worktree.
pub(crate) struct Feature {
    pub(crate) scratch: Scratch,
    pub(crate) project: Project,
    pub(crate) worktree: Worktree,
}

impl Feature {
    pub(crate) fn new() -> Self {
        Self::of(Scratch::with_commit())
    }

    pub(crate) fn of(scratch: Scratch) -> Self {
        let project = Project::open(&scratch.dir, scratch.environment()).unwrap();
        let id = FeatureId::parse("f1").unwrap();
        let worktree = project.ensure_worktree(&Branch::for_feature(&id), "HEAD", &id).unwrap();
        Self { scratch, project, worktree }
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.worktree.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Plain git in the worktree.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.scratch.git_in(self.worktree.path(), args)
    }

    pub(crate) fn gate<'a>(&'a self, message: &'a str, scratch: &'a Path) -> GateCommit<'a> {
        GateCommit {
            worktree: &self.worktree,
            scratch,
            message,
            author: None,
            time: 1_767_225_600,
            expected_parent: None,
            board_dir: ".automaker",
        }
    }

    pub(crate) fn commit(&self, message: &str) -> Result<Option<Sha>, Failure> {
        let scratch = self.scratch.beside("index");
        let gate = self.gate(message, &scratch);
        gate::commit(&gate, &gate::stage(&gate)?)
    }

    /// The files of the last commit with their modes.
    fn files(&self) -> String {
        self.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "HEAD"])
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.scratch.beside(name)
    }
}

#[test]
fn the_files_of_an_agent_become_one_commit() {
    let feature = Feature::new();
    feature.write("a.txt", "two\n");
    feature.write("sub/new file", "new\n");
    feature.write(".automaker/features/f1/feature.json", "{}");
    let sha = feature.commit("feat: two\n\nbody\n").unwrap().unwrap();
    assert_eq!(feature.git(&["rev-parse", "HEAD"]), sha.as_str());
    assert_snapshot!(feature.files(), @r"
    100644 a.txt
    100644 sub/new file
    ");
    let shown = feature.git(&["log", "-1", "--format=%an <%ae> %ad %cn%n%B", "--date=unix"]);
    assert_snapshot!(shown, @r"
    tollgate <tollgate@localhost> 1767225600 tollgate
    feat: two

    body
    ");
    assert_snapshot!(feature.git(&["status", "--porcelain"]), @"?? .automaker/");
    assert_eq!(feature.git(&["fsck", "--no-dangling"]), "");
}

#[test]
fn nothing_changed_is_nothing_to_commit() {
    let feature = Feature::new();
    feature.write(".automaker/x", "x");
    let before = feature.git(&["rev-parse", "HEAD"]);
    assert_eq!(feature.commit("x").unwrap(), None);
    assert_eq!(feature.git(&["rev-parse", "HEAD"]), before);
}

#[test]
fn the_same_attempt_makes_the_same_commit_once() {
    let feature = Feature::new();
    feature.write("a.txt", "two\n");
    let message = "feat: two\n\nTollgate-Attempt: a1\n";
    let (first, second) = (feature.outside("one"), feature.outside("other"));
    let gate = feature.gate(message, &first);
    let staged = gate::stage(&gate).unwrap();
    // A crash here has no visible effect.
    assert_eq!(feature.git(&["rev-list", "--count", "HEAD"]), "1");
    assert_eq!(gate::find_attempt(&feature.project, feature.worktree.branch(), "a1").unwrap(), None);
    let again = feature.gate(message, &second);
    let staged_again = gate::stage(&again).unwrap();
    let sha = gate::commit(&gate, &staged).unwrap().unwrap();
    let found = gate::find_attempt(&feature.project, feature.worktree.branch(), "a1").unwrap();
    assert_eq!(found.as_ref(), Some(&sha));
    assert_eq!(gate::find_attempt(&feature.project, feature.worktree.branch(), "a2").unwrap(), None);
    // The second attempt makes the same commit, which the branch already has.
    let failure = gate::commit(&again, &staged_again).unwrap_err();
    assert_snapshot!(failure, @"the branch `feature/f1` moved while its commit was made");
    assert_eq!(gate::stage(&again).unwrap(), Staged::Nothing);
    assert_eq!(feature.git(&["rev-list", "--count", "HEAD"]), "2");
}

#[test]
fn a_commit_that_no_branch_points_to_is_made_again_with_the_same_name() {
    let feature = Feature::new();
    feature.write("a.txt", "two\n");
    let scratch = feature.outside("index");
    let gate = feature.gate("x\n", &scratch);
    let sha = gate::commit(&gate, &gate::stage(&gate).unwrap()).unwrap().unwrap();
    // As after a crash before the branch was moved.
    feature.scratch.git(&["update-ref", "refs/heads/feature/f1", "main"]);
    assert_eq!(gate::commit(&gate, &gate::stage(&gate).unwrap()).unwrap(), Some(sha));
}

#[test]
fn the_first_commit_of_a_repository_can_be_the_gates() {
    let feature = Feature::of(Scratch::new());
    let id = FeatureId::parse("f2").unwrap();
    assert!(feature.project.ensure_worktree(&Branch::for_feature(&id), "", &id).is_ok());
    assert!(feature.project.ensure_worktree(&Branch::parse("topic").unwrap(), "nowhere", &id).is_err());
    assert_eq!(feature.commit("empty").unwrap(), None);
    feature.write("a.txt", "one\n");
    let sha = feature.commit("first").unwrap().unwrap();
    assert_eq!(feature.git(&["rev-list", "--count", "HEAD"]), "1");
    assert_eq!(feature.project.branch_head(feature.worktree.branch()).unwrap().as_ref(), Some(&sha));
    let diff = feature.project.diff(&feature.project.empty_tree().unwrap(), &sha, 1000).unwrap();
    assert_snapshot!(String::from_utf8(diff.bytes).unwrap(), @r"
    diff --git a/a.txt b/a.txt
    new file mode 100644
    index 0000000000000000000000000000000000000000..5626abf0f72e58d7a153368ba57db4c673c0e171
    --- /dev/null
    +++ b/a.txt
    @@ -0,0 +1 @@
    +one
    ");
}

#[test]
fn repositories_with_longer_names_work_too() {
    let scratch = Scratch::with_format("sha256");
    scratch.commit("a.txt", "one\n");
    let feature = Feature::of(scratch);
    feature.write("a.txt", "two\n");
    let sha = feature.commit("x").unwrap().unwrap();
    assert_eq!(sha.as_str().len(), 64);
}

#[test]
fn commits_of_the_agent_itself_are_kept() {
    let feature = Feature::new();
    feature.write("b.txt", "b\n");
    feature.git(&["add", "b.txt"]);
    feature.git(&["commit", "-q", "-m", "agent"]);
    let own = feature.git(&["rev-parse", "HEAD"]);
    feature.write("c.txt", "c\n");
    feature.commit("gate").unwrap().unwrap();
    assert_eq!(feature.git(&["rev-parse", "HEAD~1"]), own);
    assert_snapshot!(feature.files(), @r"
    100644 a.txt
    100644 b.txt
    100644 c.txt
    ");
}

#[test]
fn a_branch_that_is_not_where_it_should_be_is_not_moved() {
    let feature = Feature::new();
    let before = Sha::parse(&feature.git(&["rev-parse", "HEAD"])).unwrap();
    feature.git(&["commit", "-q", "--allow-empty", "-m", "agent"]);
    feature.write("a.txt", "two\n");
    let scratch = feature.outside("index");
    let gate = GateCommit { expected_parent: Some(&before), ..feature.gate("x", &scratch) };
    assert_snapshot!(gate::stage(&gate).unwrap_err(), @"the branch `feature/f1` moved while its commit was made");
}

#[cfg(unix)]
#[test]
fn links_modes_and_files_that_become_folders_are_stored_as_they_are() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let scratch = Scratch::with_commit();
    for path in ["file", "folder/x", "linked/x", "gone"] {
        scratch.commit(path, path);
    }
    let feature = Feature::of(scratch);
    let root = feature.worktree.path();
    std::fs::remove_file(root.join("file")).unwrap();
    feature.write("file/inside", "x");
    std::fs::remove_dir_all(root.join("folder")).unwrap();
    feature.write("folder", "x");
    std::fs::remove_dir_all(root.join("linked")).unwrap();
    symlink("/etc", root.join("linked")).unwrap();
    symlink("/etc/passwd", root.join("secret")).unwrap();
    std::fs::remove_file(root.join("gone")).unwrap();
    std::fs::set_permissions(root.join("a.txt"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let sha = feature.commit("x").unwrap().unwrap();
    assert_snapshot!(feature.files(), @r"
    100755 a.txt
    100644 file/inside
    100644 folder
    120000 linked
    120000 secret
    ");
    assert_eq!(feature.git(&["cat-file", "blob", "HEAD:secret"]), "/etc/passwd");
    // A symbolic link is stored as a link and not followed.
    assert_eq!(feature.project.blob(&sha, "secret", 100).unwrap(), Blob::Missing);
    assert_eq!(feature.project.blob(&sha, "linked/passwd", 100).unwrap(), Blob::Missing);
    assert_eq!(feature.project.blob(&sha, "folder", 100).unwrap(), Blob::Whole(b"x".to_vec()));
}

#[test]
fn folders_of_the_board_stay_as_they_were_even_when_they_are_part_of_the_project() {
    let scratch = Scratch::with_commit();
    scratch.commit(".automaker/kept.md", "one\n");
    scratch.commit(".gitignore", ".automaker/\n");
    let feature = Feature::of(scratch);
    feature.write(".automaker/kept.md", "two\n");
    feature.write(".worktrees/x/y", "y\n");
    assert_eq!(feature.commit("x").unwrap(), None);
    feature.write("a.txt", "two\n");
    feature.commit("x").unwrap().unwrap();
    assert_eq!(feature.git(&["cat-file", "blob", "HEAD:.automaker/kept.md"]), "one");
}

#[test]
fn the_author_comes_from_the_settings_then_from_git_then_is_tollgate() {
    let feature = Feature::new();
    let author = |feature: &Feature| feature.git(&["log", "-1", "--format=%an <%ae>, %cn <%ce>"]);
    std::fs::write(feature.outside("home").join(".gitconfig"), "[user]\nname = Global\nemail = g@x\n").unwrap();
    feature.git(&["config", "user.email", "local@x"]);
    feature.write("a.txt", "2");
    feature.commit("x").unwrap().unwrap();
    assert_snapshot!(author(&feature), @"Global <local@x>, Global <local@x>");
    feature.write("a.txt", "3");
    let scratch = feature.outside("index");
    let named = Author { name: "Ada\n<x>".to_owned(), email: "".to_owned() };
    let gate = GateCommit { author: Some(named), ..feature.gate("x", &scratch) };
    gate::commit(&gate, &gate::stage(&gate).unwrap()).unwrap();
    assert_snapshot!(author(&feature), @"Adax <tollgate@localhost>, Adax <tollgate@localhost>");
}

#[test]
fn lines_end_as_the_repository_says() {
    for (setting, expected) in [(None, "a\r\n"), (Some("input"), "a\n"), (Some("false"), "a\r\n")] {
        let scratch = Scratch::with_commit();
        if let Some(setting) = setting {
            scratch.git(&["config", "core.autocrlf", setting]);
        }
        let feature = Feature::of(scratch);
        feature.write("crlf.txt", "a\r\n");
        let sha = feature.commit("x").unwrap().unwrap();
        let stored = feature.project.blob(&sha, "crlf.txt", 100).unwrap();
        assert_eq!(stored, Blob::Whole(expected.as_bytes().to_vec()), "{setting:?}");
    }
    let feature = Feature::new();
    feature.write(".gitattributes", "* text=auto eol=lf\n");
    feature.write("crlf.txt", "a\r\n");
    let sha = feature.commit("x").unwrap().unwrap();
    assert_eq!(feature.project.blob(&sha, "crlf.txt", 100).unwrap(), Blob::Whole(b"a\n".to_vec()));
}

#[test]
fn a_repository_inside_the_tree_is_refused() {
    let feature = Feature::new();
    feature.write("nested/x", "x");
    feature.git(&["init", "-q", "nested"]);
    let failure = feature.commit("x").unwrap_err();
    assert_snapshot!(failure, @"there is a nested repository at `nested`, whose files would be left out of the commit");
    // One with commits, one over tracked files, and one with a `.git` file only.
    let inner = feature.worktree.path().join("nested");
    feature.scratch.git_in(&inner, &["add", "-A"]);
    feature.scratch.git_in(&inner, &["commit", "-q", "-m", "x"]);
    assert!(feature.commit("x").is_err());
    let feature = Feature::of({
        let scratch = Scratch::with_commit();
        scratch.commit("src/deep/a.rs", "a\n");
        scratch
    });
    feature.git(&["init", "-q", "src"]);
    feature.write("src/deep/a.rs", "b\n");
    let failure = feature.commit("x").unwrap_err();
    assert_snapshot!(failure, @"there is a nested repository at `src`, whose files would be left out of the commit");
    std::fs::remove_dir_all(feature.worktree.path().join("src/.git")).unwrap();
    feature.commit("x").unwrap().unwrap();
    // Ignored directories may contain anything.
    feature.write(".gitignore", "vendor/\n");
    feature.git(&["init", "-q", "vendor"]);
    feature.commit("x").unwrap().unwrap();
}

#[test]
fn submodules_stay_as_they_were() {
    let inner = Scratch::with_commit();
    let scratch = Scratch::with_commit();
    scratch.git(&["submodule", "--quiet", "add", inner.dir.to_str().unwrap(), "sub"]);
    scratch.git(&["commit", "-q", "-m", "sub"]);
    let feature = Feature::of(scratch);
    let before = feature.git(&["rev-parse", "HEAD:sub"]);
    assert_eq!(feature.commit("x").unwrap(), None);
    feature.git(&["submodule", "--quiet", "update", "--init"]);
    let sub = feature.worktree.path().join("sub");
    feature.scratch.git_in(&sub, &["commit", "-q", "--allow-empty", "-m", "inside"]);
    feature.write("sub/new", "x");
    feature.write("a.txt", "two\n");
    feature.commit("x").unwrap().unwrap();
    assert_eq!(feature.git(&["rev-parse", "HEAD:sub"]), before);
    // Even when its directory is gone.
    std::fs::remove_dir_all(&sub).unwrap();
    feature.write("a.txt", "three\n");
    feature.commit("x").unwrap().unwrap();
    assert_eq!(feature.git(&["rev-parse", "HEAD:sub"]), before);
}

#[test]
fn files_that_a_sparse_checkout_leaves_out_are_not_deleted() {
    let scratch = Scratch::with_commit();
    scratch.commit("in/a", "a\n");
    scratch.commit("out/b", "b\n");
    let feature = Feature::of(scratch);
    feature.git(&["sparse-checkout", "set", "in"]);
    assert!(!feature.worktree.path().join("out").exists());
    assert_eq!(feature.worktree.uncommitted().unwrap(), 0);
    feature.write("in/a", "changed\n");
    feature.commit("x").unwrap().unwrap();
    assert_snapshot!(feature.files(), @r"
    100644 a.txt
    100644 in/a
    100644 out/b
    ");
    assert_eq!(feature.git(&["status", "--porcelain"]), "");
    // After a full checkout, a deletion counts.
    feature.git(&["sparse-checkout", "disable"]);
    std::fs::remove_file(feature.worktree.path().join("out/b")).unwrap();
    feature.commit("x").unwrap().unwrap();
    assert_snapshot!(feature.files(), @r"
    100644 a.txt
    100644 in/a
    ");
}

#[test]
fn flags_in_the_index_hide_no_changes() {
    let feature = Feature::new();
    feature.git(&["update-index", "--assume-unchanged", "a.txt"]);
    feature.write("a.txt", "hidden\n");
    assert_eq!(feature.git(&["status", "--porcelain"]), "");
    assert_eq!(feature.worktree.uncommitted().unwrap(), 1);
    let sha = feature.commit("x").unwrap().unwrap();
    assert_eq!(feature.project.blob(&sha, "a.txt", 100).unwrap(), Blob::Whole(b"hidden\n".to_vec()));
}

#[test]
fn a_lock_that_a_crashed_git_left_on_the_branch_is_named() {
    let feature = Feature::new();
    feature.write("a.txt", "two\n");
    feature.scratch.write(".git/refs/heads/feature/f1.lock", "");
    let failure = feature.commit("x").unwrap_err();
    assert!(failure.message.starts_with("another git process holds `"), "{failure}");
    assert!(failure.message.contains("refs/heads/feature/f1.lock`, "), "{failure}");
    std::fs::remove_file(feature.scratch.dir.join(".git/refs/heads/feature/f1.lock")).unwrap();
    feature.commit("x").unwrap().unwrap();
}

#[test]
fn a_lock_that_a_killed_agent_left_on_its_index_is_not_in_the_way() {
    let feature = Feature::new();
    feature.write("a.txt", "two\n");
    let lock = std::fs::File::create(feature.worktree.git_dir().join("index.lock")).unwrap();
    lock.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    feature.commit("x").unwrap().unwrap();
    assert_eq!(feature.git(&["status", "--porcelain"]), "");
    feature.git(&["commit", "-q", "--allow-empty", "-m", "the agent goes on"]);
}

#[test]
fn an_index_that_a_crash_left_behind_is_settled() {
    let feature = Feature::new();
    // Another length, because restoring the old index makes it younger than a file of the same clock tick.
    feature.write("a.txt", "two and more\n");
    let before = std::fs::read(feature.worktree.git_dir().join("index")).unwrap();
    feature.commit("x").unwrap().unwrap();
    std::fs::write(feature.worktree.git_dir().join("index"), before).unwrap();
    feature.write("new", "x");
    assert_eq!(feature.git(&["status", "--porcelain"]), "MM a.txt\n?? new");
    gate::settle(&feature.worktree, &feature.outside("index")).unwrap();
    assert_eq!(feature.git(&["status", "--porcelain"]), "?? new");
}

#[test]
fn changes_of_a_hook_to_its_index_do_not_change_the_commit() {
    let feature = Feature::new();
    feature.write("a.txt", "two\n");
    feature.write("b.txt", "b\n");
    let scratch = feature.outside("index");
    let gate = feature.gate("x", &scratch);
    let Staged::Tree { tree, index, .. } = gate::stage(&gate).unwrap() else { panic!("there is something to commit") };
    for args in [&["update-index", "--assume-unchanged", "a.txt"][..], &["rm", "-q", "--cached", "b.txt"]] {
        let mut git = feature.scratch.command(feature.worktree.path(), args);
        assert!(git.env("GIT_INDEX_FILE", &index).status().unwrap().success());
    }
    feature.write("c.txt", "the hook added this\n");
    let staged = gate::stage(&gate).unwrap();
    assert!(matches!(&staged, Staged::Tree { tree: again, .. } if *again != tree));
    gate::commit(&gate, &staged).unwrap().unwrap();
    assert_snapshot!(feature.git(&["status", "--porcelain"]), @"");
    assert_snapshot!(feature.files(), @r"
    100644 a.txt
    100644 b.txt
    100644 c.txt
    ");
}

#[test]
fn a_branch_that_was_deleted_is_not_begun_anew() {
    let feature = Feature::new();
    feature.git(&["update-ref", "-d", "refs/heads/feature/f1"]);
    feature.write("a.txt", "two\n");
    assert_snapshot!(feature.commit("x").unwrap_err(), @"the branch `feature/f1` is gone");
}

#[cfg(unix)]
#[test]
fn files_for_git_lfs_need_the_operators_git_lfs() {
    use std::os::unix::fs::PermissionsExt as _;
    let feature = Feature::new();
    feature.write(".gitattributes", "*.psd filter=lfs\n");
    feature.write("a.psd", "pixels");
    feature.write("pointer.psd", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    let failure = feature.commit("x").unwrap_err();
    assert_snapshot!(failure, @"`a.psd` would be stored through the filter `lfs`, which is not run here");
    assert_snapshot!(failure.hint.unwrap(), @"Run `git lfs install` as the user of the server, or leave these files as they were.");
    // A filter in the repository's own configuration is not run.
    feature.git(&["config", "filter.lfs.clean", "echo from the repository"]);
    assert!(feature.commit("x").is_err());
    // The operator's is; like the real one, it stores objects in the git directory.
    let clean = feature.outside("git-lfs");
    let script = "#!/bin/sh\nx=`cat`\ncase $x in version*) echo \"$x\"; exit;; esac\n\
                  printf %s \"$x\" >\"$GIT_DIR/lfs/object\"; echo version\n";
    std::fs::write(&clean, script).unwrap();
    std::fs::set_permissions(&clean, std::fs::Permissions::from_mode(0o755)).unwrap();
    let operators = format!("[filter \"lfs\"]\nclean = {}\nprocess = false\nrequired = true\n", clean.display());
    std::fs::write(feature.outside("home").join(".gitconfig"), operators).unwrap();
    feature.commit("x").unwrap().unwrap();
    assert_eq!(feature.git(&["cat-file", "blob", "HEAD:a.psd"]), "version");
    assert_eq!(std::fs::read_to_string(feature.scratch.dir.join(".git/lfs/object")).unwrap(), "pixels");
    assert_eq!(feature.worktree.uncommitted().unwrap(), 0);
}

#[test]
fn a_huge_file_is_not_committed() {
    let feature = Feature::new();
    feature.write("small", "x");
    // A sparse file.
    std::fs::File::create(feature.worktree.path().join("core")).unwrap().set_len(2 << 30).unwrap();
    let failure = feature.commit("x").unwrap_err();
    assert_snapshot!(failure, @"2048 MiB of changed files are more than 1024 MiB; the largest is `core` with 2048 MiB");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_blocks_nobody() {
    let feature = Feature::new();
    for name in ["a.txt", "pipe"] {
        let path = feature.worktree.path().join(name);
        let _ = std::fs::remove_file(&path);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    }
    feature.write("b.txt", "b\n");
    assert!(feature.worktree.uncommitted().unwrap() > 0);
    let failure = feature.commit("x").unwrap_err();
    assert!(failure.message.contains("a.txt"), "{failure}");
}

#[test]
fn a_branch_that_stands_for_another_does_not_move_that() {
    let feature = Feature::new();
    let main = feature.scratch.git(&["rev-parse", "main"]);
    feature.git(&["symbolic-ref", "refs/heads/feature/f1", "refs/heads/main"]);
    feature.write("a.txt", "two\n");
    let sha = feature.commit("x").unwrap().unwrap();
    assert_eq!(feature.scratch.git(&["rev-parse", "main"]), main);
    assert_eq!(feature.scratch.git(&["rev-parse", "feature/f1"]), sha.as_str());
}

/// An action of an agent on a path.
#[cfg(unix)]
fn edit(root: &Path, path: &str, what: u8) {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let path = root.join(path);
    let clear = |path: &Path| {
        let _ = std::fs::remove_file(path);
        let _ = std::fs::remove_dir_all(path);
    };
    // An obstacle to its directory is removed, be it a file or a link.
    for above in path.ancestors().skip(1).take_while(|above| *above != root) {
        if std::fs::symlink_metadata(above).is_ok_and(|metadata| !metadata.is_dir()) {
            clear(above);
        }
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    clear(&path);
    match what {
        0 => {}
        1 => symlink("a.txt", &path).unwrap(),
        2 => {
            std::fs::write(&path, "run").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        number => std::fs::write(&path, [number, b'\r', b'\n']).unwrap(),
    }
}

#[cfg(unix)]
proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(12))]
    #[test]
    fn the_tree_is_that_of_git_add(
        rounds in proptest::collection::vec(
            proptest::collection::vec(("[ab](/[ab*]){0,2}|[.]gitignore|x[.]o", 0u8..6), 1..8), 1..4)
    ) {
        let feature = Feature::new();
        for edits in rounds {
            for (path, what) in &edits {
                edit(feature.worktree.path(), path, *what);
            }
            if std::fs::symlink_metadata(feature.worktree.path().join(".gitignore")).is_ok_and(|found| found.is_file()) {
                feature.write(".gitignore", "*.o\n");
            }
            let index = feature.outside("plain-index");
            let plain = |args: &[&str]| {
                let mut git = feature.scratch.command(feature.worktree.path(), args);
                let output = git.env("GIT_INDEX_FILE", &index).output().unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                String::from_utf8_lossy(&output.stdout).trim().to_owned()
            };
            plain(&["read-tree", "HEAD"]);
            plain(&["add", "-A"]);
            let expected = plain(&["write-tree"]);
            feature.commit("x").unwrap();
            proptest::prop_assert_eq!(feature.git(&["rev-parse", "HEAD^{tree}"]), expected);
            proptest::prop_assert_eq!(feature.git(&["status", "--porcelain"]), "");
        }
    }
}
