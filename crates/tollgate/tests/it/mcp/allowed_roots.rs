//! What tools may look at: an agent that was fooled reads nothing of elsewhere.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::stdio::Session;
use super::{BAD, story};
use crate::scratch::Scratch;

#[test]
fn folders_elsewhere_are_refused_by_whatever_name() {
    story(async {
        let (scratch, other) = (Scratch::on_a_branch(), Scratch::on_a_branch());
        other.write("secret.js", BAD);
        let elsewhere = other.path().display().to_string();
        symlink(other.path(), scratch.path().join("link")).unwrap();
        let session = Session::start(&scratch, &[]).await;
        let up = format!("../{}", other.path().file_name().unwrap().to_string_lossy());
        for named in [elsewhere.as_str(), &up, "link", "..", "/", "/etc", "link/.", "no-such-folder", "README.md"] {
            for tool in ["review_change", "list_findings", "get_review", "list_features"] {
                let refusal = session.agent.refusal(tool, json!({"repository": named})).await;
                assert!(refusal.contains("is not a folder that this server may look at"), "{named}: {refusal}");
            }
        }
    });
}

#[test]
fn a_folder_can_be_allowed() {
    story(async {
        let (scratch, other) = (Scratch::on_a_branch(), Scratch::on_a_branch());
        other.write("b.js", BAD);
        let elsewhere = other.path().display().to_string();
        let session = Session::start(&scratch, &["--allow", &elsewhere]).await;
        let data = session.agent.data("review_change", json!({"repository": elsewhere})).await;
        assert_eq!(data["n_findings"], 1, "{data:#}");
        assert_eq!(session.agent.data("review_change", json!({})).await["n_findings"], 0);
        // Each repository has its own reviews.
        assert!(session.agent.refusal("get_review", json!({"review": data["review"]})).await.contains("has no review"));
    });
}

#[test]
fn a_pointer_to_another_repository_leads_nowhere() {
    story(async {
        let (scratch, other) = (Scratch::on_a_branch(), Scratch::on_a_branch());
        other.write("secret.js", BAD).commit("secret");
        let pointer = format!("gitdir: {}\n", other.path().join(".git").display());
        scratch.write("inner/.git", &pointer);
        let session = Session::start(&scratch, &[]).await;
        for range in ["main..work", "HEAD~1"] {
            let refusal = session.agent.refusal("review_change", json!({"repository": "inner", "range": range})).await;
            assert!(refusal.contains("is not in a folder to look at"), "{refusal}");
        }
    });
}

#[test]
fn a_work_tree_of_the_same_repository_and_a_folder_in_it_are_in_reach() {
    story(async {
        let scratch = Scratch::on_a_branch();
        scratch.git(&["worktree", "add", "-q", "-b", "feature", "trees/feature", "main"]);
        scratch.write("trees/feature/b.js", BAD).write("sub/c.js", BAD);
        let session = Session::start(&scratch, &[]).await;
        let data = session.agent.data("review_change", json!({"repository": "trees/feature"})).await;
        assert_eq!(data["findings"][0]["file"], "b.js", "{data:#}");
        // Started in a work tree, whose objects lie elsewhere, and in a folder of a repository.
        for (folder, file) in [("trees/feature", "b.js"), ("sub", "sub/c.js")] {
            let path = scratch.path().join(folder).display().to_string();
            let mut command = tokio::process::Command::from(scratch.command(&["-C", &path, "mcp"]));
            let mut child = command.kill_on_drop(true).spawn().unwrap();
            let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
            let client = rmcp::ServiceExt::serve(super::Listener::default(), pipes).await.unwrap();
            let agent = super::Agent::new(client).await;
            let data = agent.data("review_change", json!({})).await;
            let files: Vec<&str> =
                data["findings"].as_array().unwrap().iter().map(|finding| finding["file"].as_str().unwrap()).collect();
            assert!(files.contains(&file), "{folder}: {data:#}");
            assert!(agent.refusal("review_change", json!({"repository": ".."})).await.contains("may look at"));
        }
    });
}

#[test]
fn names_that_git_could_take_for_options_are_harmless() {
    story(async {
        let scratch = Scratch::on_a_branch();
        scratch.write("b.js", BAD);
        let before = std::fs::read_dir(scratch.path()).unwrap().count();
        let session = Session::start(&scratch, &[]).await;
        for range in ["--output=x", "-o", "--upload-pack=touch x..HEAD", "HEAD..--output=x", "a\0b", ":/x", "^"] {
            session.agent.refusal("review_change", json!({"range": range})).await;
        }
        for named in ["--help", "-C", "\0", "\n", ""] {
            session.agent.refusal("review_change", json!({"repository": named})).await;
            session.agent.refusal("get_review", json!({"branch": named})).await;
        }
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), before, "nothing was written");
    });
}
