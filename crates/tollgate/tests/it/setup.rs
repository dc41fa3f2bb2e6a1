//! `init`, `doctor`, `hook`, `completions`, `man`, `rules`, `schema`.

use crate::scratch::{Scratch, git_command, program};

const LOOP: &str = "items.forEach(async (item) => save(item));\n";

#[test]
fn init_writes_a_configuration_that_changes_nothing_and_never_replaces_one() {
    let scratch = Scratch::on_a_branch();
    scratch.write("sub/x.txt", "x\n");
    scratch.tollgate(&["-C", "sub", "init"]).expect(0);
    assert!(scratch.read(".tollgate.toml").contains("# fail_on"));
    let rows = scratch.tollgate(&["doctor", "--config"]).expect(0);
    assert!(rows.contains("review.fail_on") && !rows.contains("# .tollgate.toml"), "{rows}");
    scratch.write(".tollgate.toml", "[review]\nfail_on = \"low\"\n");
    let stderr = scratch.tollgate(&["init"]).expect_refused(2);
    assert!(stderr.contains("already exists") && stderr.contains("--force"), "{stderr}");
    assert_eq!(scratch.read(".tollgate.toml"), "[review]\nfail_on = \"low\"\n");
}

#[test]
fn doctor_says_where_each_value_came_from() {
    let scratch = Scratch::on_a_branch();
    scratch.write(".tollgate.toml", "[review]\nfail_on = \"low\"\n");
    let env = [("TOLLGATE_LIMITS_JOBS", "3")];
    let rows = scratch.tollgate_with(&["doctor", "--config"], b"", &env).expect(0);
    let row = |key: &str| rows.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
    assert!(row("review.fail_on").contains(".tollgate.toml"), "{rows}");
    assert!(row("limits.jobs").contains("TOLLGATE_LIMITS_JOBS"), "{rows}");
}

#[test]
fn doctor_finds_nothing_wrong_here_and_what_is_wrong_elsewhere() {
    let scratch = Scratch::on_a_branch();
    scratch.tollgate(&["doctor"]).expect(0);
    scratch.write(".tollgate.toml", "[reviw]\n");
    let text = scratch.tollgate(&["doctor"]).expect(1);
    assert!(text.contains("FAIL  configuration") && text.contains("review"), "{text}");
    let text = Scratch::folder().tollgate(&["doctor", "--format", "json"]).expect(1);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["checks"][1]["ok"], false);
}

#[test]
fn the_hook_stops_a_push_that_may_not_pass() {
    let scratch = Scratch::on_a_branch();
    scratch.git(&["init", "-q", "--bare", "remote.git"]);
    scratch.write(".git/info/exclude", "remote.git\n");
    scratch.git(&["remote", "add", "origin", "./remote.git"]);
    scratch.git(&["push", "-q", "origin", "main"]);
    scratch.tollgate(&["hook", "install"]).expect(0);
    let push = || {
        let path = format!("{}:{}", program().parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut command = git_command(scratch.path());
        // The hook is the program, too, and keeps its reviews to itself.
        command.args(["push", "origin", "work"]).env("PATH", path).env("XDG_DATA_HOME", scratch.path().join(".git"));
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    scratch.write("a.js", "let a = 1;\n").commit("fine");
    let (pushed, said) = push();
    assert!(pushed, "{said}");
    scratch.write("a.js", LOOP).commit("not fine");
    let (pushed, said) = push();
    assert!(!pushed && said.contains("--no-verify"), "{said}");
    scratch.tollgate(&["hook", "uninstall"]).expect(0);
    let (pushed, said) = push();
    assert!(pushed, "{said}");
}

#[test]
fn a_hook_of_somebody_else_is_kept() {
    let scratch = Scratch::on_a_branch();
    scratch.write(".git/hooks/pre-push", "#!/bin/sh\necho mine\n");
    let stderr = scratch.tollgate(&["hook", "install"]).expect_refused(2);
    assert!(stderr.contains("--force"), "{stderr}");
    scratch.tollgate(&["hook", "install", "--force"]).expect(0);
    assert_eq!(scratch.read(".git/hooks/pre-push.old"), "#!/bin/sh\necho mine\n");
    scratch.tollgate(&["hook", "install"]).expect(0);
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let scratch = Scratch::folder();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(scratch.tollgate(&["completions", shell]).expect(0).contains("tollgate"), "{shell}");
    }
    assert!(scratch.tollgate(&["man"]).expect(0).starts_with(".ie"));
    scratch.tollgate(&["man", "--out", "man1"]).expect(0);
    assert!(scratch.read("man1/tollgate-review.1").contains("fail\\-on"));
}

#[test]
fn rules_are_listed_explained_and_tested() {
    let scratch = Scratch::folder();
    let list: serde_json::Value =
        serde_json::from_str(&scratch.tollgate(&["rules", "list", "--format", "json"]).expect(0)).unwrap();
    assert!(list.as_array().unwrap().len() >= 100, "{} rules", list.as_array().unwrap().len());
    let text = scratch.tollgate(&["rules", "show", "js-async-foreach"]).expect(0);
    assert!(text.contains("Reported:") && text.contains("Not reported:"), "{text}");
    let stderr = scratch.tollgate(&["rules", "show", "js-async-foreahc"]).expect_refused(2);
    assert!(stderr.contains("Did you mean `js-async-foreach`?"), "{stderr}");
    scratch.tollgate(&["rules", "list", "--language", "klingon"]).expect_refused(2);
    assert!(scratch.tollgate(&["rules", "test", "js-async"]).expect(0).contains("0 problems"));
}

#[test]
fn every_schema_is_a_json_schema() {
    let scratch = Scratch::folder();
    for what in ["finding", "review", "config", "analysis", "delta", "intent", "check-comment", "parse-answer"] {
        let schema: serde_json::Value = serde_json::from_str(&scratch.tollgate(&["schema", what]).expect(0)).unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{what}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_a_repository_holds_is_replaced_and_not_written_through() {
    let scratch = Scratch::on_a_branch();
    scratch.write("mine.txt", "mine\n");
    std::os::unix::fs::symlink("mine.txt", scratch.path().join(".tollgate.toml")).unwrap();
    scratch.tollgate(&["init", "--force"]).expect(0);
    assert_eq!(scratch.read("mine.txt"), "mine\n");
    assert!(scratch.path().join(".tollgate.toml").symlink_metadata().unwrap().is_file());
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_links_that_the_repository_holds() {
    let outside = Scratch::folder();
    let scratch = Scratch::on_a_branch();
    std::os::unix::fs::symlink(outside.path(), scratch.path().join(".github")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("bashrc"), scratch.path().join("report.html")).unwrap();
    scratch.commit("links");
    for args in [
        &["init", "--github"][..],
        &["review", "--format", "html", "-o", "report.html"],
        &["review", "--format", "html", "-o", ".github/report.html"],
    ] {
        let stderr = scratch.tollgate(args).stderr;
        assert!(stderr.contains("is a symbolic link of the repository"), "{args:?}: {stderr}");
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}
