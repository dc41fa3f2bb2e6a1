//! Pull requests fetched from a real git server, over HTTP.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use tokio_util::sync::CancellationToken;
use tollgate_core::change::Change;
use tollgate_core::sha::Sha;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::git::{Blob, Environment};
use tollgate_engine::forge::host::Secret;
use tollgate_engine::forge::local::{FetchOptions, Local};
use tollgate_engine::forge::remote::{self, FetchRequest, Fetched, Remote};

use crate::scratch::Scratch;

mod limits;
pub(crate) mod server;
mod trouble;

use server::{Behaviour, Server};

const AUTHORIZATION: &str = "basic dG9sbGdhdGU6czNjcmV0";

/// A repository on a server, and a cache.
struct World {
    scratch: Scratch,
    server: Server,
    base: Sha,
}

impl World {
    /// A server that serves single blobs with a password; `main` has one commit.
    fn new() -> Self {
        let world = Self::with_settings(&["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"]);
        world.server.log();
        world
    }

    /// A server with these settings.
    fn with_settings(settings: &[&str]) -> Self {
        let scratch = Scratch::with_commit();
        for setting in settings {
            scratch.git(&["config", setting, "true"]);
        }
        let server = Server::start(&scratch.beside(""), Some(AUTHORIZATION));
        let base = sha(&scratch, "main");
        Self { scratch, server, base }
    }

    fn commit(&self, path: &str, text: impl AsRef<[u8]>) -> Sha {
        self.scratch.commit(path, text);
        sha(&self.scratch, "HEAD")
    }

    /// Moves the host's reference of pull request 1 to our head.
    fn push(&self) -> Sha {
        self.scratch.git(&["update-ref", "refs/pull/1/head", "HEAD"]);
        sha(&self.scratch, "HEAD")
    }

    fn branch(&self) {
        self.scratch.git(&["switch", "-q", "-c", "feature"]);
    }

    fn cache(&self) -> PathBuf {
        self.scratch.beside("cache")
    }

    /// The only repository in the cache.
    fn folder(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.cache()).unwrap().flatten().map(|entry| entry.path());
        entries.into_iter().find(|path| path.extension().is_some_and(|end| end == "git")).unwrap()
    }

    fn remote(&self) -> Remote {
        let authorization = Secret::new(AUTHORIZATION.to_owned());
        self.open(Some(&authorization)).unwrap()
    }

    fn open(&self, authorization: Option<&Secret>) -> Result<Remote, Failure> {
        let url = format!("{}/repo", self.server.url);
        Remote::open(&self.cache(), "host/owner/repo", &url, authorization, self.scratch.environment())
    }

    fn fetch(&self, head: &Sha) -> Result<Fetched, Failure> {
        self.fetch_with(head, &[], &CancellationToken::new())
    }

    fn fetch_with(&self, head: &Sha, more: &[Sha], cancel: &CancellationToken) -> Result<Fetched, Failure> {
        self.remote().fetch(&FetchRequest { number: 1, head, base_branch: "main", base: &self.base, more }, cancel)
    }

    /// Fetches and reads the change.
    fn change(&self, head: &Sha) -> Change {
        let fetched = self.fetch(head).unwrap();
        self.local(&fetched).fetch(&options()).unwrap()
    }

    fn local(&self, fetched: &Fetched) -> Local {
        let merge_base = fetched.merge_base.as_ref().unwrap();
        self.remote().local(&format!("{merge_base}..{}", fetched.head), &self.base).unwrap()
    }
}

fn options() -> FetchOptions {
    FetchOptions { base: None, max_diff_bytes: 20_000_000 }
}

fn sha(scratch: &Scratch, name: &str) -> Sha {
    Sha::parse(&scratch.git(&["rev-parse", name])).unwrap()
}

/// The files of a change, with the numbers of added and removed lines.
fn files(change: &Change) -> Vec<String> {
    change.files.iter().map(|file| format!("{} {:?}", file.path(), (file.n_added, file.n_removed))).collect()
}

#[test]
fn a_pull_request_is_fetched_and_read_as_git_reads_it() {
    let world = World::new();
    world.branch();
    world.commit("src/a.rs", "fn a() {}\n");
    let head = world.commit("a.txt", "one\ntwo\n");
    let change = world.change(&head);
    assert_eq!(files(&change), ["a.txt (1, 0)", "src/a.rs (1, 0)"]);
    assert_eq!((change.base.clone(), change.head.clone()), (world.base.clone(), head.clone()));
    assert_eq!((change.left_out.len(), change.notes.len()), (0, 0));
    let commits = world.local(&world.fetch(&head).unwrap()).commits(&change).unwrap();
    assert_eq!(commits.listed.len(), 2);
}

#[test]
fn attributes_of_the_base_are_fetched_from_all_parent_directories() {
    let mut world = World::new();
    world.commit(".gitattributes", "made.* linguist-generated\n");
    world.commit("x/:(glob)y/.gitattributes", "made.* -linguist-generated\n*.z linguist-generated\n");
    world.base = world.commit("elsewhere/.gitattributes", "* linguist-generated\n");
    world.branch();
    world.commit("x/:(glob)y/made.txt", "1\n");
    world.commit("x/:(glob)y/a.z", "2\n");
    world.commit(".gitattributes", "* linguist-generated\n");
    let head = world.commit("x/made.txt", "3\n");
    let change = world.change(&head);
    let says: Vec<String> = change
        .files
        .iter()
        .map(|file| format!("{} {:?}", file.path(), change.generated.attribute(file.path().as_bytes())))
        .collect();
    assert_eq!(
        says,
        [
            ".gitattributes None",
            "x/:(glob)y/a.z Some(true)",
            "x/:(glob)y/made.txt Some(false)",
            "x/made.txt Some(true)"
        ]
    );
}

#[test]
fn attributes_where_a_pull_request_began_are_ignored() {
    let mut world = World::new();
    world.commit(".gitattributes", "made.* linguist-generated\n");
    world.branch();
    let head = world.commit("made.txt", "1\n");
    world.scratch.git(&["switch", "-q", "main"]);
    world.base = world.commit(".gitattributes", "other.* linguist-generated\n");
    let change = world.change(&head);
    assert_eq!((files(&change), change.generated.attribute(b"made.txt")), (vec!["made.txt (1, 0)".to_owned()], None));
}

#[test]
fn only_reviewed_blobs_are_fetched_and_only_once() {
    let world = World::new();
    world.commit("unrelated.txt", "nobody looks at this\n");
    world.commit(".tollgate.toml", "[review]\n");
    let base = world.commit(".tollgate/rules/a.yml", "id: a\n");
    world.branch();
    let head = world.commit("b.txt", "b\n");
    let remote = world.remote();
    let wanted = FetchRequest { number: 1, head: &head, base_branch: "main", base: &base, more: &[] };
    let fetched = remote.fetch(&wanted, &CancellationToken::new()).unwrap();
    assert_eq!(fetched.merge_base, Some(base.clone()));
    let read = |path: &str| remote.file(&base, path, 1_000).unwrap();
    let failure = remote.file(&base, "unrelated.txt", 1_000).unwrap_err();
    assert!(failure.message.contains("`unrelated.txt` of the base branch was not to be had"), "{failure}");
    assert_eq!(read(".tollgate.toml"), Some(Blob::Whole(b"[review]\n".to_vec())));
    assert_eq!(read(".tollgate/rules/a.yml"), Some(Blob::Whole(b"id: a\n".to_vec())));
    assert_eq!(read("absent"), None);
    assert!(world.server.n_packs() > 0);
    remote.fetch(&wanted, &CancellationToken::new()).unwrap();
    assert_eq!(world.server.log(), Vec::<String>::new());
}

#[test]
fn fetch_tree_fetches_the_other_files() {
    let world = World::new();
    let base = world.commit("unrelated.txt", "somebody looks at this\n");
    world.branch();
    let head = world.commit("b.txt", "b\n");
    let (remote, cancel) = (world.remote(), CancellationToken::new());
    let wanted = FetchRequest { number: 1, head: &head, base_branch: "main", base: &base, more: &[] };
    remote.fetch(&wanted, &cancel).unwrap();
    let names = |place: &str| {
        let into = world.scratch.beside(place);
        std::fs::create_dir(&into).unwrap();
        remote.local(&format!("{base}..{head}"), &base).unwrap().export_after(&head, &into).unwrap();
        let entries = std::fs::read_dir(into).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|it| it.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("before"), ["b.txt"]);
    remote.fetch_tree(&head, &cancel).unwrap();
    assert_eq!(names("after"), ["a.txt", "b.txt", "unrelated.txt"]);
}

#[test]
fn the_base_is_where_the_pull_request_left_it() {
    let mut world = World::new();
    world.branch();
    let head = world.commit("b.txt", "b\n");
    world.scratch.git(&["switch", "-q", "main"]);
    let fork = world.base.clone();
    world.base = world.commit("later.txt", "later\n");
    let fetched = world.fetch(&head).unwrap();
    assert_eq!(fetched.merge_base, Some(fork));
    assert_eq!(files(&world.change(&head)), ["b.txt (1, 0)"]);
}

#[test]
fn a_head_that_was_pushed_over_is_still_there_or_said_to_be_gone() {
    let world = World::new();
    world.branch();
    let first = world.commit("b.txt", "b\n");
    world.fetch(&first).unwrap();
    world.scratch.git(&["commit", "-q", "--amend", "-m", "second"]);
    let second = world.push();
    let nowhere = Sha::parse(&"1".repeat(40)).unwrap();
    let more = [first, nowhere.clone()];
    let fetched = world.fetch_with(&second, &more, &CancellationToken::new()).unwrap();
    assert_eq!(fetched.gone, std::slice::from_ref(&nowhere));
    let failure = world.fetch(&nowhere).unwrap_err();
    assert!(failure.message.contains("of pull request 1 is no longer at"), "{failure}");
}

#[test]
fn unrelated_histories_have_no_merge_base() {
    let world = World::new();
    world.scratch.git(&["switch", "-q", "--orphan", "island"]);
    let head = world.commit("b.txt", "b\n");
    assert_eq!(world.fetch(&head).unwrap().merge_base, None);
}

#[test]
fn hosts_that_serve_only_references_are_supported() {
    for settings in [&[][..], &["uploadpack.allowFilter"], &["uploadpack.allowAnySHA1InWant"]] {
        let world = World::with_settings(settings);
        world.server.behave(Behaviour::Old);
        world.branch();
        world.commit("b.txt", "b\n");
        world.commit("c.txt", "c\n");
        let head = world.push();
        assert_eq!(files(&world.change(&head)), ["b.txt (1, 0)", "c.txt (1, 0)"], "{settings:?}");
        // Where only references are served, the reference decides.
        let other = world.scratch.git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "other"]);
        let other = Sha::parse(&other).unwrap();
        let fetched = world.fetch(&other);
        assert_eq!(fetched.is_ok(), settings.contains(&"uploadpack.allowAnySHA1InWant"), "{settings:?}");
    }
}

#[test]
fn renames_binaries_links_line_ends_and_odd_names_arrive_as_they_are() {
    let mut world = World::new();
    world.commit("old.txt", "1\n2\n3\n4\n5\n6\n");
    world.base = world.commit("crlf.txt", "a\r\nb\r\n");
    world.branch();
    world.scratch.git(&["mv", "old.txt", "new.txt"]);
    world.commit("new.txt", "1\n2\n3\n4\n5\n6\n7\n");
    world.commit("image.png", b"\x89PNG\0\0\x01");
    world.commit("crlf.txt", "a\r\nb\r\nc\r\n");
    world.commit("model.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n");
    world.commit(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt diff=evil\n");
    std::os::unix::fs::symlink("/etc/passwd", world.scratch.dir.join("link")).unwrap();
    let odd = world.scratch.dir.join(OsStr::from_bytes(b"caf\xe9.txt"));
    std::fs::write(odd, "x\n").unwrap();
    world.scratch.git(&["add", "--all"]);
    let head = world.commit("last", "");
    let change = world.change(&head);
    insta::assert_snapshot!(files(&change).join("\n"), @r"
    .gitattributes (2, 0)
    caf�.txt (1, 0)
    crlf.txt (1, 0)
    image.png (0, 0)
    last (0, 0)
    link (1, 0)
    model.bin (3, 0)
    new.txt (1, 0)
    ");
    assert_eq!(change.left_out, []);
}

#[test]
fn a_repository_is_kept_under_its_key_and_holds_no_password() {
    let world = World::new();
    world.branch();
    let head = world.commit("b.txt", "b\n");
    world.fetch(&head).unwrap();
    let name = world.folder().file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("host-owner-repo-"), "{name}");
    let secret = AUTHORIZATION.split(' ').nth(1).unwrap();
    let held = world.scratch.command(&world.cache(), &["grep", "--no-index", "-a", "-l", secret]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&held.stdout), "");
    let control = world.scratch.command(&world.cache(), &["grep", "--no-index", "-a", "-l", "partialClone"]).output();
    assert!(!control.unwrap().stdout.is_empty());
}

#[test]
fn the_cache_is_evicted_except_repositories_in_use() {
    let world = World::new();
    world.branch();
    let head = world.commit("b.txt", "b\n");
    let fetched = world.fetch(&head).unwrap();
    let tidy = |most| remote::evict(&world.cache(), most, &Environment::of_process()).unwrap();
    let in_use = world.local(&fetched);
    assert_eq!((tidy(0).n_removed, tidy(u64::MAX).n_removed), (0, 0));
    drop(in_use);
    let tidied = tidy(0);
    assert_eq!((tidied.n_removed, tidied.n_bytes), (1, 0));
    assert_eq!(files(&world.change(&head)), ["b.txt (1, 0)"]);
}

#[test]
fn many_packs_become_one_and_nothing_is_lost() {
    let world = World::new();
    world.branch();
    let mut heads = Vec::new();
    for number in 0..27 {
        heads.push(world.commit("b.txt", format!("{number}\n")));
        world.fetch(heads.last().unwrap()).unwrap();
    }
    let tidied = remote::evict(&world.cache(), u64::MAX, &Environment::of_process()).unwrap();
    assert_eq!(tidied.n_packed, 1);
    let packs = std::fs::read_dir(world.folder().join("objects/pack")).unwrap().flatten();
    assert_eq!(packs.filter(|entry| entry.file_name().to_string_lossy().ends_with(".pack")).count(), 1);
    world.server.log();
    for head in &heads {
        assert_eq!(files(&world.change(head)), ["b.txt (1, 0)"]);
    }
    assert_eq!(world.server.log(), Vec::<String>::new());
}
