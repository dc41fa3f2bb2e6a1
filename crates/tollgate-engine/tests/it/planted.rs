//! Agents that plant a program for the gate to run.
//!
//! An agent can write everything in its worktree and in the repository's git folder. Each way of planting a program is
//! tried twice: nothing that we do with worktrees and commits may run it, and plain git must, or the test would show
//! nothing.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use tollgate_core::board::FeatureId;
use tollgate_core::sha::Sha;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::gate;
use tollgate_engine::forge::project::{Branch, Project};

use crate::gate::Feature;
use crate::scratch::Scratch;

/// A feature with work in its worktree, and a program that leaves a trace.
struct Trap {
    feature: Feature,
    evil: String,
    trace: PathBuf,
}

impl Trap {
    fn new() -> Self {
        Self::of(Scratch::with_commit())
    }

    fn of(scratch: Scratch) -> Self {
        let (evil, trace) = (scratch.beside("evil"), scratch.beside("trace"));
        std::fs::write(&evil, format!("#!/bin/sh\ntouch {}\ncat 2>/dev/null\n", trace.display())).unwrap();
        std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
        let feature = Feature::of(scratch);
        feature.write("a.txt", "two\n");
        feature.write("new.txt", "new\n");
        Self { feature, evil: evil.display().to_string(), trace }
    }

    fn config(&self, key: &str, value: &str) {
        self.feature.git(&["config", key, value]);
    }

    fn hook(&self, folder: &Path, name: &str) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::copy(&self.evil, folder.join(name)).unwrap();
    }

    fn git_folder(&self) -> PathBuf {
        self.feature.scratch.dir.join(".git")
    }

    #[track_caller]
    fn quiet(&self, step: &str) {
        assert!(!self.trace.exists(), "{step} ran the program");
    }

    /// Does all there is to do with a worktree, and gives back what became of the commit.
    #[track_caller]
    fn exercise(&self) -> Result<Option<Sha>, Failure> {
        self.quiet("planting");
        let feature = &self.feature;
        let scratch = &feature.scratch;
        let Ok(project) = Project::open(&scratch.dir, scratch.environment()) else {
            panic!("the project itself is in order");
        };
        self.quiet("opening");
        let second = FeatureId::parse("f2").unwrap();
        let made = project.ensure_worktree(&Branch::for_feature(&second), "HEAD", &second).unwrap();
        self.quiet("making a worktree");
        let _ = project.ensure_worktree(feature.worktree.branch(), "HEAD", &FeatureId::parse("f1").unwrap());
        self.quiet("using a worktree again");
        let _ = (project.worktrees(), project.worktree(feature.worktree.branch()));
        self.quiet("listing");
        let _ = (feature.worktree.verify(), feature.worktree.uncommitted());
        self.quiet("counting what is uncommitted");
        let index = scratch.beside("index");
        let gate = feature.gate("x\n\nTollgate-Attempt: a1\n", &index);
        let staged = gate::stage(&gate);
        self.quiet("staging");
        let committed = staged.and_then(|staged| gate::commit(&gate, &staged));
        self.quiet("committing");
        let _ = gate::find_attempt(&project, feature.worktree.branch(), "a1");
        self.quiet("looking for an attempt");
        let head = project.resolve("HEAD").unwrap().unwrap();
        if let Ok(Some(commit)) = &committed {
            let _ = (project.merge_base(&head, commit), project.blob(commit, "a.txt", 1000));
            self.quiet("reading");
            let _ = project.diff(&head, commit, 1000);
            self.quiet("comparing");
        }
        let _ = project.remove_worktree(&made);
        let _ = project.remove_worktree(&feature.worktree);
        self.quiet("removing");
        committed
    }

    /// Sees that plain git would have run the program, in a worktree like the one that was used.
    #[track_caller]
    fn control(&self, git: &[&str]) {
        let feature = &self.feature;
        let dir = if feature.worktree.path().exists() {
            feature.worktree.path().to_owned()
        } else {
            let dir = feature.scratch.beside("control");
            let args = ["worktree", "add", "-q", "-f", dir.to_str().unwrap(), "feature/f1"];
            // This, too, may run it.
            let _ = feature.scratch.command(&feature.scratch.dir, &args).output().unwrap();
            dir
        };
        std::fs::write(dir.join("a.txt"), "control\n").unwrap();
        self.control_in(&dir, git);
    }

    #[track_caller]
    fn control_in(&self, dir: &Path, git: &[&str]) {
        let mut command = self.feature.scratch.command(dir, git);
        let _ = command.env("GIT_ALLOW_PROTOCOL", "file:ssh:ext").output().unwrap();
        assert!(self.trace.exists(), "plain git did not run the program, so this test shows nothing");
    }

    /// The work becomes a commit, and nothing runs.
    #[track_caller]
    fn check(&self, control: &[&str]) {
        let sha = self.exercise().unwrap().unwrap();
        let diff = self.feature.scratch.git(&["rev-list", "--count", "main..feature/f1"]);
        assert_eq!((diff.as_str(), sha.as_str().len()), ("1", 40));
        self.control(control);
    }
}

#[test]
fn a_file_system_monitor_does_not_run() {
    let trap = Trap::new();
    trap.config("core.fsmonitor", &trap.evil);
    trap.check(&["status"]);
}

#[test]
fn hooks_do_not_run() {
    for (hook, control) in [
        ("pre-commit", &["commit", "-a", "-m", "x"][..]),
        ("commit-msg", &["commit", "-a", "-m", "x"]),
        ("post-commit", &["commit", "-a", "-m", "x"]),
        ("post-index-change", &["add", "-A"]),
        ("post-checkout", &["checkout", "-f", "-b", "other"]),
        ("reference-transaction", &["branch", "other"]),
    ] {
        let trap = Trap::new();
        trap.hook(&trap.git_folder().join("hooks"), hook);
        trap.check(control);
    }
}

#[test]
fn hooks_elsewhere_do_not_run() {
    let trap = Trap::new();
    let hooks = trap.feature.worktree.path().join(".husky");
    trap.hook(&hooks, "pre-commit");
    trap.hook(&hooks, "post-checkout");
    trap.config("core.hooksPath", ".husky");
    trap.check(&["commit", "-a", "-m", "x"]);
}

#[test]
fn a_filter_does_not_run_and_what_it_would_hide_is_not_committed() {
    for key in ["filter.x1.clean", "filter.UPPER.clean", "filter.a.b=c.process"] {
        let trap = Trap::new();
        let name = key.trim_start_matches("filter.").rsplit_once('.').unwrap().0;
        trap.config(key, &trap.evil);
        trap.config(&format!("filter.{name}.required"), "true");
        trap.feature.write(".gitattributes", format!("*.txt filter={name}\n"));
        let failure = trap.exercise().unwrap_err();
        let said = format!("`a.txt` and 1 more would be stored through the filter `{name}`, which is not run here");
        assert_eq!(failure.message, said);
        trap.control(&["add", "-A"]);
    }
}

#[test]
fn a_filter_for_what_is_checked_out_does_not_run() {
    for part in ["smudge", "process"] {
        let scratch = Scratch::with_commit();
        scratch.commit(".gitattributes", "b.txt filter=x\n");
        scratch.commit("b.txt", "b\n");
        let trap = Trap::of(scratch);
        trap.config(&format!("filter.x.{part}"), &trap.evil);
        trap.check(&["worktree", "add", "-f", trap.feature.scratch.beside("more").to_str().unwrap(), "HEAD~1"]);
    }
}

#[test]
fn a_filter_of_the_repository_called_lfs_does_not_run() {
    let trap = Trap::new();
    trap.config("filter.lfs.clean", &trap.evil);
    trap.feature.write(".gitattributes", "*.txt filter=lfs\n");
    assert!(trap.exercise().is_err());
    trap.control(&["add", "-A"]);
}

#[test]
fn diff_drivers_do_not_run() {
    for key in ["diff.evil.command", "diff.evil.textconv", "diff.external"] {
        let trap = Trap::new();
        trap.config(key, &trap.evil);
        trap.feature.write(".gitattributes", "*.txt diff=evil\n");
        trap.check(&["diff"]);
    }
}

#[test]
fn a_merge_driver_does_not_run() {
    let scratch = Scratch::with_commit();
    scratch.git(&["branch", "theirs"]);
    let trap = Trap::of(scratch);
    trap.config("merge.evil.driver", &trap.evil);
    std::fs::write(trap.git_folder().join("info/attributes"), "* merge=evil\n").unwrap();
    let sha = trap.exercise().unwrap().unwrap();
    let more = trap.feature.scratch.beside("theirs");
    trap.feature.scratch.git(&["worktree", "add", "-q", more.to_str().unwrap(), "theirs"]);
    std::fs::write(more.join("a.txt"), "theirs\n").unwrap();
    trap.feature.scratch.git_in(&more, &["commit", "-q", "-a", "-m", "x"]);
    trap.control_in(&more, &["merge", sha.as_str()]);
}

#[test]
fn nothing_signs_or_verifies() {
    let trap = Trap::new();
    trap.config("gpg.program", &trap.evil);
    trap.config("commit.gpgSign", "true");
    trap.config("log.showSignature", "true");
    trap.check(&["commit", "-a", "-m", "x"]);
}

#[test]
fn no_editor_opens() {
    let trap = Trap::new();
    trap.config("core.editor", &trap.evil);
    trap.config("sequence.editor", &trap.evil);
    trap.check(&["commit", "-a"]);
}

#[test]
fn settings_that_are_included_run_nothing() {
    for key in ["include.path", "includeIf.gitdir:/**.path", "includeIf.onbranch:feature/**.path"] {
        let trap = Trap::new();
        let included = trap.feature.scratch.beside("included");
        std::fs::write(&included, format!("[core]\nfsmonitor = {}\n", trap.evil)).unwrap();
        trap.config(key, included.to_str().unwrap());
        trap.check(&["status"]);
    }
}

#[test]
fn settings_of_the_worktree_run_nothing() {
    let trap = Trap::new();
    trap.config("extensions.worktreeConfig", "true");
    trap.feature.git(&["config", "--worktree", "core.fsmonitor", &trap.evil]);
    trap.feature.git(&["config", "--worktree", "filter.x.smudge", &trap.evil]);
    // It goes with the worktree, so that one stays.
    trap.feature.write(".automaker/kept", "x");
    trap.check(&["status"]);
}

#[test]
fn git_neither_fetches_nor_asks_for_a_password() {
    for (key, url) in [("core.sshCommand", "ssh://example.invalid/x"), ("url.ext::EVIL .insteadOf", "x:")] {
        let trap = Trap::new();
        let blob = trap.feature.git(&["rev-parse", "HEAD:a.txt"]);
        // It must not block its caller.
        std::fs::write(&trap.evil, format!("#!/bin/sh\ntouch {}\nexit 1\n", trap.trace.display())).unwrap();
        let key = key.replace("EVIL", &trap.evil);
        for (key, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "o"),
            ("remote.o.promisor", "true"),
            ("remote.o.url", url),
            ("credential.helper", &format!("!{}", trap.evil)),
            (&key, if url == "x:" { url } else { &trap.evil }),
        ] {
            trap.config(key, value);
        }
        std::fs::remove_file(trap.git_folder().join("objects").join(&blob[..2]).join(&blob[2..])).unwrap();
        // A second worktree cannot be made without the blob; the first one has its file.
        trap.quiet("planting");
        assert!(trap.feature.commit("x").unwrap().is_some());
        trap.quiet("committing");
        let id = FeatureId::parse("f2").unwrap();
        assert!(trap.feature.project.ensure_worktree(&Branch::for_feature(&id), "main", &id).is_err());
        trap.quiet("making a worktree");
        let main = trap.feature.project.resolve("main").unwrap().unwrap();
        let head = trap.feature.project.resolve("feature/f1").unwrap().unwrap();
        assert!(trap.feature.project.diff(&main, &head, 1000).is_err());
        trap.quiet("comparing");
        trap.control(&["diff", "main", "HEAD"]);
    }
}

#[test]
fn a_bare_repository_in_the_tree_is_only_files() {
    let trap = Trap::new();
    let sub = trap.feature.worktree.path().join("sub");
    trap.feature.git(&["init", "-q", "--bare", "sub"]);
    for (key, value) in [("core.bare", "false"), ("core.worktree", ".."), ("core.fsmonitor", &trap.evil)] {
        trap.feature.scratch.git_in(&sub, &["config", key, value]);
    }
    trap.exercise().unwrap().unwrap();
    assert_eq!(trap.feature.scratch.git(&["cat-file", "-t", "feature/f1:sub/config"]), "blob");
    let again = trap.feature.scratch.beside("again");
    trap.feature.scratch.git(&["clone", "-q", "-b", "feature/f1", ".", again.to_str().unwrap()]);
    // Empty folders are not part of a commit.
    for folder in ["sub/refs", "sub/objects"] {
        std::fs::create_dir_all(again.join(folder)).unwrap();
    }
    trap.control_in(&again.join("sub"), &["status"]);
}

#[test]
fn a_git_file_that_leads_elsewhere_is_refused() {
    let trap = Trap::new();
    let evil = Scratch::with_commit();
    evil.git(&["config", "core.fsmonitor", &trap.evil]);
    trap.feature.write(".git", format!("gitdir: {}\n", evil.dir.join(".git").display()));
    let failure = trap.exercise().unwrap_err();
    assert!(failure.message.ends_with("its `.git` leads elsewhere"), "{failure}");
    trap.control(&["status"]);
}

#[test]
fn a_repository_inside_the_tree_runs_nothing() {
    let trap = Trap::new();
    trap.feature.git(&["init", "-q", "nested"]);
    let nested = trap.feature.worktree.path().join("nested");
    trap.feature.write("nested/x", "x\n");
    trap.feature.scratch.git_in(&nested, &["add", "-A"]);
    trap.feature.scratch.git_in(&nested, &["commit", "-q", "-m", "x"]);
    trap.feature.scratch.git_in(&nested, &["config", "core.fsmonitor", &trap.evil]);
    let failure = trap.exercise().unwrap_err();
    assert_snapshot!(failure, @"there is a nested repository at `nested`, whose files would be left out of the commit");
    trap.control_in(&nested, &["status"]);
}

#[test]
fn nothing_of_a_submodule_runs() {
    let inner = Scratch::with_commit();
    let scratch = Scratch::with_commit();
    scratch.git(&["submodule", "--quiet", "add", inner.dir.to_str().unwrap(), "sub"]);
    scratch.git(&["commit", "-q", "-m", "sub"]);
    let trap = Trap::of(scratch);
    trap.feature.git(&["submodule", "--quiet", "update", "--init"]);
    let sub = trap.feature.worktree.path().join("sub");
    trap.feature.scratch.git_in(&sub, &["config", "core.fsmonitor", &trap.evil]);
    trap.feature.write("sub/a.txt", "changed\n");
    // Even when the agent says that submodules are to be looked at.
    let modules = std::fs::read_to_string(trap.feature.worktree.path().join(".gitmodules")).unwrap();
    trap.feature.write(".gitmodules", format!("{modules}\tignore = none\n"));
    trap.check(&["status"]);
}

#[test]
fn a_work_tree_that_the_configuration_names_is_not_used() {
    let trap = Trap::new();
    let elsewhere = trap.feature.scratch.beside("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("stolen"), "x").unwrap();
    trap.config("extensions.worktreeConfig", "true");
    trap.feature.git(&["config", "--worktree", "core.worktree", elsewhere.to_str().unwrap()]);
    let sha = trap.feature.commit("x").unwrap().unwrap();
    let files = trap.feature.scratch.git(&["ls-tree", "--name-only", sha.as_str()]);
    assert_snapshot!(files, @r"
    a.txt
    new.txt
    ");
}

#[test]
fn neither_an_attribute_nor_a_replaced_object_hides_a_change() {
    let trap = Trap::new();
    trap.feature.write(".gitattributes", "* -diff\n");
    let sha = trap.feature.commit("x").unwrap().unwrap();
    let scratch = &trap.feature.scratch;
    scratch.git(&["replace", sha.as_str(), "main"]);
    std::fs::write(trap.git_folder().join("info/attributes"), "* -diff\n").unwrap();
    assert_eq!(scratch.git(&["diff", "main", sha.as_str()]), "");
    let project = Project::open(&scratch.dir, scratch.environment()).unwrap();
    let diff = project.diff(&project.resolve("main").unwrap().unwrap(), &sha, 10_000).unwrap();
    let diff = String::from_utf8(diff.bytes).unwrap();
    assert!(diff.contains("+two") && diff.contains("+new"), "{diff}");
}

#[test]
fn a_link_in_the_way_of_a_branch_is_not_followed() {
    let trap = Trap::new();
    let elsewhere = trap.feature.scratch.beside("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let refs = trap.git_folder().join("refs/heads/feature");
    std::fs::rename(refs.join("f1"), elsewhere.join("f1")).unwrap();
    std::fs::remove_dir(&refs).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &refs).unwrap();
    let before = std::fs::read(elsewhere.join("f1")).unwrap();
    assert!(trap.feature.commit("x").is_err());
    assert_eq!(std::fs::read(elsewhere.join("f1")).unwrap(), before);
}

#[test]
fn a_link_in_the_place_of_the_entries_is_not_followed() {
    let trap = Trap::new();
    let (entries, elsewhere) = (trap.git_folder().join("worktrees"), trap.feature.scratch.beside("elsewhere"));
    std::fs::rename(&entries, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &entries).unwrap();
    let id = FeatureId::parse("f2").unwrap();
    let failure = trap.feature.project.ensure_worktree(&Branch::for_feature(&id), "HEAD", &id).unwrap_err();
    assert!(failure.message.ends_with("is a symbolic link or no folder, which can lead anywhere"), "{failure}");
    assert!(trap.feature.commit("x").is_err());
    assert!(!elsewhere.join("f2").exists());
}

#[test]
fn a_dirty_main_checkout_stays_as_it_is_to_the_byte() {
    let scratch = Scratch::with_commit();
    scratch.write("staged.txt", "staged\n");
    scratch.git(&["add", "staged.txt"]);
    scratch.write("a.txt", "dirty\n");
    scratch.write("untracked.txt", "untracked\n");
    scratch.git(&["stash", "push", "-q", "--", "staged.txt"]);
    scratch.write(".git/MERGE_HEAD", scratch.git(&["rev-parse", "HEAD"]));
    let look = |scratch: &Scratch| {
        let mut seen = Vec::new();
        let mut pending = vec![scratch.dir.clone()];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let path = entry.path();
                let name = path.strip_prefix(&scratch.dir).unwrap().to_string_lossy().into_owned();
                let ours = [".worktrees", ".git/worktrees", ".git/objects", ".git/refs/heads/feature"];
                if ours.contains(&name.as_str()) || name == ".git/tollgate-worktrees.lock" {
                    continue;
                }
                let metadata = entry.metadata().unwrap();
                if metadata.is_dir() {
                    pending.push(path);
                } else {
                    seen.push((name, std::fs::read(&path).unwrap(), metadata.modified().unwrap()));
                }
            }
        }
        seen.sort();
        seen
    };
    let before = look(&scratch);
    assert!(before.iter().any(|(name, ..)| name == ".git/index"));
    let trap = Trap::of(scratch);
    trap.exercise().unwrap().unwrap();
    assert_eq!(look(&trap.feature.scratch), before);
}
