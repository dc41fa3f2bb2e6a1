//! Repositories that want to run a program of their own.
//!
//! Each way of planting one is tried twice: reviews must not run it, and plain
//! git must, or the test would show nothing.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use tollgate_engine::forge::local::Trigger;

use crate::scratch::{Scratch, range};

/// A repository with a change in every place, and a program that leaves a trace.
struct Trap {
    scratch: Scratch,
    evil: String,
    trace: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let scratch = Scratch::with_commit();
        scratch.commit("a.txt", "two\n");
        scratch.git(&["checkout", "-q", "-b", "topic"]);
        scratch.commit("b.txt", "b\n");
        scratch.write("a.txt", "three\n");
        scratch.write("staged.txt", "s\n");
        scratch.git(&["add", "staged.txt"]);
        scratch.write("untracked.txt", "u\n");
        let (evil, trace) = (scratch.beside("evil"), scratch.beside("trace"));
        std::fs::write(&evil, format!("#!/bin/sh\ntouch {}\ncat 2>/dev/null\n", trace.display())).unwrap();
        std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { evil: evil.display().to_string(), scratch, trace }
    }

    fn config(&self, key: &str, value: &str) {
        self.scratch.git(&["config", key, value]);
    }

    /// Reviews everything there is to review, then runs plain git.
    #[track_caller]
    fn check(&self, control: &[&str]) {
        self.check_in(&self.scratch.dir, control);
    }

    #[track_caller]
    fn check_in(&self, dir: &std::path::Path, control: &[&str]) {
        assert!(!self.trace.exists(), "planting ran the program");
        for trigger in [Trigger::Default, Trigger::Worktree, Trigger::Staged, range("HEAD~1..HEAD"), range("HEAD~1")] {
            // Some of these repositories are too broken to be read; none may run anything.
            let _ = self.scratch.fetch_in(dir, trigger.clone());
            assert!(!self.trace.exists(), "a review of {trigger:?} ran the program");
        }
        let _ = self.scratch.command(dir, control).output().unwrap();
        assert!(self.trace.exists(), "plain git did not run the program, so this test shows nothing");
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
    let trap = Trap::new();
    let hook = trap.scratch.dir.join(".git/hooks/post-index-change");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::copy(&trap.evil, hook).unwrap();
    trap.check(&["add", "-A"]);
}

#[test]
fn hooks_elsewhere_do_not_run() {
    let trap = Trap::new();
    let hooks = trap.scratch.beside("hooks");
    std::fs::create_dir(&hooks).unwrap();
    std::fs::copy(&trap.evil, hooks.join("post-index-change")).unwrap();
    trap.config("core.hooksPath", hooks.to_str().unwrap());
    trap.check(&["add", "-A"]);
}

#[test]
fn a_clean_filter_of_any_name_does_not_run() {
    for name in ["x1y2", "a=b", "a.b.c", "UPPER"] {
        let trap = Trap::new();
        trap.config(&format!("filter.{name}.clean"), &trap.evil);
        trap.config(&format!("filter.{name}.required"), "true");
        trap.scratch.write(".gitattributes", format!("* filter={name}\n"));
        trap.check(&["diff"]);
    }
}

#[test]
fn a_filter_of_a_repository_in_a_folder_with_an_odd_name_does_not_run() {
    use std::os::unix::ffi::OsStrExt as _;
    let trap = Trap::new();
    trap.config("filter.x.clean", &trap.evil);
    trap.scratch.write(".gitattributes", "* filter=x\n");
    let moved = trap.scratch.beside("odd").with_file_name(std::ffi::OsStr::from_bytes(b"odd\xff name"));
    std::fs::rename(&trap.scratch.dir, &moved).unwrap();
    assert!(trap.scratch.fetch_in(&moved, Trigger::Default).is_ok());
    trap.check_in(&moved, &["diff"]);
}

#[test]
fn a_filter_process_does_not_run() {
    let trap = Trap::new();
    trap.config("filter.x.process", &trap.evil);
    trap.scratch.write(".git/info/attributes", "* filter=x\n");
    trap.check(&["diff"]);
}

#[test]
fn a_filter_from_an_included_file_does_not_run() {
    let trap = Trap::new();
    let included = trap.scratch.beside("included");
    std::fs::write(&included, format!("[filter \"x\"]\nclean = {}\n", trap.evil)).unwrap();
    trap.config("include.path", included.to_str().unwrap());
    trap.scratch.write(".gitattributes", "* filter=x\n");
    trap.check(&["diff"]);
}

#[test]
fn a_filter_from_the_configuration_of_a_working_tree_does_not_run() {
    let trap = Trap::new();
    trap.config("extensions.worktreeConfig", "true");
    trap.scratch.git(&["config", "--worktree", "filter.x.clean", &trap.evil]);
    trap.scratch.write(".gitattributes", "* filter=x\n");
    trap.check(&["diff"]);
}

#[test]
fn diff_drivers_do_not_run() {
    for key in ["diff.evil.command", "diff.evil.textconv"] {
        let trap = Trap::new();
        trap.config(key, &trap.evil);
        trap.scratch.write(".gitattributes", "*.txt diff=evil\n");
        trap.check(&["diff"]);
    }
}

#[test]
fn an_external_diff_does_not_run() {
    let trap = Trap::new();
    trap.config("diff.external", &trap.evil);
    trap.check(&["diff"]);
}

#[test]
fn a_signature_is_not_verified_by_a_program_of_the_repository() {
    let trap = Trap::new();
    let commit = trap.scratch.git(&["cat-file", "commit", "HEAD"]);
    let (head, message) = commit.split_once("\n\n").unwrap();
    let signed =
        format!("{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n{message}\n");
    trap.scratch.write("commit", signed);
    let sha = trap.scratch.git(&["hash-object", "-t", "commit", "-w", "commit"]);
    trap.scratch.git(&["update-ref", "HEAD", &sha]);
    trap.config("log.showSignature", "true");
    trap.config("gpg.program", &trap.evil);
    trap.check(&["log", "-1"]);
}

#[test]
fn nothing_is_fetched_for_objects_that_a_partial_clone_left_out() {
    let trap = Trap::new();
    let blob = trap.scratch.git(&["rev-parse", "HEAD:b.txt"]);
    std::fs::remove_file(trap.scratch.dir.join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "o"),
        ("remote.o.promisor", "true"),
        ("remote.o.url", "ssh://example.invalid/x"),
        ("core.sshCommand", &format!("touch {};exit 1;", trap.trace.display())),
    ] {
        trap.config(key, value);
    }
    let failure = trap.scratch.fetch(range("HEAD~1..HEAD")).unwrap_err();
    assert_eq!(failure.kind, tollgate_engine::failure::Kind::External);
    let output =
        trap.scratch.command(&trap.scratch.dir, &["diff", "HEAD~1", "HEAD"]).env("GIT_ALLOW_PROTOCOL", "ssh").output();
    assert!(!output.unwrap().status.success());
    assert!(trap.trace.exists(), "plain git did not run the program, so this test shows nothing");
    std::fs::remove_file(&trap.trace).unwrap();
    for trigger in [Trigger::Default, range("HEAD~1..HEAD")] {
        let _ = trap.scratch.fetch(trigger);
        assert!(!trap.trace.exists());
    }
}

#[test]
fn a_bare_repository_hidden_in_a_folder_is_not_used() {
    let trap = Trap::new();
    let sub = trap.scratch.dir.join("sub");
    trap.scratch.git(&["init", "-q", "--bare", "sub"]);
    trap.scratch.git_in(&sub, &["config", "core.bare", "false"]);
    trap.scratch.git_in(&sub, &["config", "core.worktree", ".."]);
    trap.scratch.git_in(&sub, &["config", "core.fsmonitor", &trap.evil]);
    let failure = trap.scratch.fetch_in(&sub, Trigger::Default).unwrap_err();
    assert!(failure.message.contains("is a bare repository inside another repository"), "{failure}");
    trap.check_in(&sub, &["status"]);
}

#[test]
fn a_git_folder_elsewhere_is_read_with_the_same_care() {
    let trap = Trap::new();
    trap.config("core.fsmonitor", &trap.evil);
    trap.config("filter.x.clean", &trap.evil);
    trap.scratch.write(".gitattributes", "* filter=x\n");
    let moved = trap.scratch.beside("moved.git");
    std::fs::rename(trap.scratch.dir.join(".git"), &moved).unwrap();
    trap.scratch.write(".git", format!("gitdir: {}\n", moved.display()));
    trap.check(&["status"]);
}

#[test]
fn nothing_of_a_submodule_runs() {
    let trap = Trap::new();
    let inner = Scratch::with_commit();
    trap.scratch.git(&["submodule", "--quiet", "add", inner.dir.to_str().unwrap(), "sub"]);
    let sub = trap.scratch.dir.join("sub");
    trap.scratch.git_in(&sub, &["config", "core.fsmonitor", &trap.evil]);
    trap.scratch.git_in(&sub, &["config", "filter.x.clean", &trap.evil]);
    std::fs::write(sub.join(".gitattributes"), "* filter=x\n").unwrap();
    std::fs::write(sub.join("a.txt"), "changed\n").unwrap();
    trap.check(&["status"]);
}

#[test]
fn a_program_called_git_in_the_repository_does_not_run() {
    let trap = Trap::new();
    std::fs::copy(&trap.evil, trap.scratch.dir.join("git")).unwrap();
    let mut path = std::ffi::OsString::from(".:");
    path.push(std::env::var_os("PATH").unwrap());
    let environment =
        tollgate_engine::forge::git::Environment { path: Some(path.clone()), ..trap.scratch.environment() };
    assert!(trap.scratch.fetch_with(&trap.scratch.dir, Trigger::Default, environment, None).is_ok());
    assert!(!trap.trace.exists());
    let _ = trap.scratch.command(&trap.scratch.dir, &["status"]).env("PATH", path).output().unwrap();
    assert!(trap.trace.exists(), "the search path did not lead to the program, so this test shows nothing");
}

#[test]
fn a_repository_of_another_user_is_read_only_when_the_operator_trusts_it() {
    // Only root can give files away; elsewhere git's own refusal cannot be brought about.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::with_commit();
    scratch.write("a.txt", "two\n");
    for entry in ["", ".git"] {
        std::os::unix::fs::chown(scratch.dir.join(entry), Some(12345), Some(12345)).unwrap();
    }
    let failure = scratch.fetch(Trigger::Default).unwrap_err();
    assert!(failure.message.contains("belongs to another user"), "{failure}");
    assert!(failure.hint.unwrap().contains("safe.directory"));
    let trust = format!("[safe]\ndirectory = {}\n", scratch.dir.display());
    std::fs::write(scratch.beside("home").join(".gitconfig"), trust).unwrap();
    assert_eq!(scratch.fetch(Trigger::Default).unwrap().files.len(), 1);
}

#[test]
fn settings_of_the_operator_and_the_repository_do_not_change_the_diff() {
    let trap = Trap::new();
    let plain = trap.scratch.fetch(Trigger::Default).unwrap();
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.algorithm", "patience"),
        ("diff.renames", "copies"),
        ("diff.context", "0"),
        ("diff.interHunkContext", "9"),
        ("diff.orderFile", "order"),
        ("diff.suppressBlankEmpty", "true"),
        ("diff.submodule", "log"),
        ("diff.colorMoved", "zebra"),
        ("diff.wsErrorHighlight", "all"),
        ("diff.relative", "true"),
        ("diff.ignoreSubmodules", "all"),
        ("diff.indentHeuristic", "false"),
        ("color.ui", "always"),
        ("color.diff", "always"),
        ("core.quotePath", "false"),
        ("core.abbrev", "5"),
        ("status.showUntrackedFiles", "no"),
        ("status.relativePaths", "true"),
    ] {
        trap.config(key, value);
    }
    let set = trap.scratch.fetch(Trigger::Default).unwrap();
    assert_eq!(format!("{plain:?}"), format!("{set:?}"));
}
