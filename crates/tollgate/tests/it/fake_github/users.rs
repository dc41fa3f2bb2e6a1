//! User actions at the fake GitHub: open, push, retitle, close, comment and resolve. Each sends a webhook.

use std::collections::BTreeSet;

use super::FakeGithub;
use super::git::{self, Commit, File, git};
use super::hooks::Event;
use super::state::{Actor, Pull, State};

/// How a pull request is opened.
pub(crate) struct Opening<'a> {
    pub(crate) title: &'a str,
    pub(crate) author: &'a str,
    pub(crate) files: &'a [(&'a str, &'a str)],
    /// Its commits, where one with the files would not do.
    pub(crate) commits: &'a [Commit<'a>],
    /// The fork that it comes from.
    pub(crate) from: Option<&'a str>,
    pub(crate) is_draft: bool,
    pub(crate) body: Option<&'a str>,
}

impl Default for Opening<'_> {
    fn default() -> Self {
        Self { title: "a change", author: "ada", files: &[], commits: &[], from: None, is_draft: false, body: None }
    }
}

/// A handle to a pull request.
#[derive(Clone)]
pub(crate) struct PullRequest<'a> {
    pub(crate) github: &'a FakeGithub,
    pub(crate) repo: String,
    pub(crate) number: u64,
}

fn contents<'a>(files: &'a [(&'a str, &'a str)]) -> Vec<File<'a>> {
    files.iter().map(|(name, text)| File::Holds(name.as_bytes(), text.as_bytes())).collect()
}

impl FakeGithub {
    /// Creates a public repository with one commit on `main` and write access for `ada`.
    pub(crate) fn repository(&self, full: &str, files: &[(&str, &str)]) {
        let folder = self.folder_of(full);
        git::create(&folder);
        let commit = Commit { message: "start", files: &contents(files) };
        git::commit(&folder, "refs/heads/main", None, 0, &[commit]);
        self.add_repository(full, folder, false);
        self.let_in(full, "ada", "write");
    }

    /// Forks a repository.
    pub(crate) fn fork(&self, full: &str, owner: &str) -> String {
        let name = full.split('/').nth(1).unwrap();
        let fork = format!("{owner}/{name}");
        let (from, folder) = (self.folder_of(full), self.folder_of(&fork));
        git::create(&folder);
        git(&folder, &["fetch", "-q", from.to_str().unwrap(), "+refs/heads/*:refs/heads/*"]);
        self.add_repository(&fork, folder, true);
        self.let_in(&fork, owner, "admin");
        fork
    }

    pub(crate) fn let_in(&self, full: &str, login: &str, may: &'static str) {
        self.state().repo_mut(full).unwrap().people.insert(login.to_owned(), may);
    }

    pub(crate) fn make_private(&self, full: &str) {
        self.state().repo_mut(full).unwrap().is_private = true;
    }

    /// Opens a pull request with one commit.
    pub(crate) fn open(&self, full: &str, opening: &Opening<'_>) -> PullRequest<'_> {
        let base = git(&self.folder_of(full), &["rev-parse", "refs/heads/main"]);
        let mut state = self.state();
        let number = state.repo(full).unwrap().pulls.keys().max().map_or(1, |last| last + 1);
        let (id, at_ms) = (state.new_id(), state.now_ms());
        let from = opening.from.unwrap_or(full).to_owned();
        let pull = Pull {
            id,
            number,
            title: opening.title.to_owned(),
            body: opening.body.map(str::to_owned),
            author: opening.author.to_owned(),
            is_open: true,
            is_draft: opening.is_draft,
            head: base.clone(),
            heads: BTreeSet::new(),
            head_ref: format!("work-{number}"),
            from: Some(from),
            base,
            base_ref: "main".to_owned(),
            created_ms: at_ms,
            updated_ms: at_ms,
            comments: Vec::new(),
            reviews: Vec::new(),
            at_lines: Vec::new(),
        };
        state.repo_mut(full).unwrap().pulls.insert(number, pull);
        drop(state);
        let opened = PullRequest { github: self, repo: full.to_owned(), number };
        let whole = [Commit { message: opening.title, files: &contents(opening.files) }];
        opened.put(None, if opening.commits.is_empty() { &whole } else { opening.commits });
        opened.act(opening.author, |_| Some(Event::Pull("opened")));
        opened
    }

    /// Pushes to `main`.
    pub(crate) fn push_to_main(&self, full: &str, files: &[(&str, &str)]) -> String {
        let folder = self.folder_of(full);
        let before = git(&folder, &["rev-parse", "refs/heads/main"]);
        let commit = Commit { message: "on main", files: &contents(files) };
        let after = git::commit(&folder, "refs/heads/main", Some(&before), 0, &[commit]);
        let mut state = self.state();
        for pull in state.repo_mut(full).unwrap().pulls.values_mut() {
            pull.base.clone_from(&after);
        }
        state.tell_push(full, "main", &before, &after, &Actor::person("ada"));
        drop(state);
        self.wait_for_the_post();
        after
    }
}

impl PullRequest<'_> {
    /// Applies a change in a user's name and sends the webhook.
    fn act(&self, by: &str, act: impl FnOnce(&mut State) -> Option<Event>) {
        let mut state = self.github.state();
        let now_ms = state.now_ms();
        state.pull_mut(&self.repo, self.number).unwrap().updated_ms = now_ms;
        if let Some(event) = act(&mut state) {
            state.tell(&self.repo, self.number, &event, &Actor::person(by));
        }
        drop(state);
        self.github.wait_for_the_post();
    }

    fn edit(&self, by: &str, act: impl FnOnce(&mut Pull) -> Event) {
        self.act(by, |state| Some(act(state.pull_mut(&self.repo, self.number).unwrap())));
    }

    fn row(&self) -> Pull {
        self.github.state().pull(&self.repo, self.number).unwrap().clone()
    }

    /// The commit at its head.
    pub(crate) fn head(&self) -> String {
        self.row().head
    }

    /// Puts commits on its branch, the last of which is its head then.
    fn put(&self, parent: Option<&str>, commits: &[Commit<'_>]) -> String {
        let row = self.row();
        let (from, branch) = (row.from.unwrap(), format!("refs/heads/{}", row.head_ref));
        let (theirs, ours) = (self.github.folder_of(&from), self.github.folder_of(&self.repo));
        if from != self.repo {
            git(&theirs, &["fetch", "-q", ours.to_str().unwrap(), &row.base]);
        }
        let parent = Some(parent.unwrap_or(&row.base));
        let head = git::commit(&theirs, &branch, parent, self.number - 1, commits);
        let to = format!("+{branch}:refs/pull/{}/head", self.number);
        git(&ours, &["fetch", "-q", theirs.to_str().unwrap(), &to]);
        let mut state = self.github.state();
        let pull = state.pull_mut(&self.repo, self.number).unwrap();
        pull.head.clone_from(&head);
        pull.heads.insert(head.clone());
        head
    }

    fn pushed(&self, before: String) {
        let author = self.row().author;
        self.act(&author, |_| Some(Event::Synchronized { before }));
    }

    /// Adds a commit.
    pub(crate) fn push(&self, message: &str, files: &[(&str, &str)]) -> String {
        let before = self.head();
        let head = self.put(Some(&before), &[Commit { message, files: &contents(files) }]);
        self.pushed(before);
        head
    }

    /// Replaces all its commits by one.
    pub(crate) fn force_push(&self, message: &str, files: &[(&str, &str)]) -> String {
        let before = self.head();
        let head = self.put(None, &[Commit { message, files: &contents(files) }]);
        self.pushed(before);
        head
    }

    pub(crate) fn retitle(&self, by: &str, title: &str) {
        self.edit(by, |pull| Event::Edited { old_title: std::mem::replace(&mut pull.title, title.to_owned()) });
    }

    pub(crate) fn close(&self) {
        self.edit("ada", |pull| {
            pull.is_open = false;
            Event::Pull("closed")
        });
    }

    pub(crate) fn reopen(&self) {
        self.edit("ada", |pull| {
            pull.is_open = true;
            Event::Pull("reopened")
        });
    }

    /// Says that it is ready.
    pub(crate) fn make_ready(&self) {
        self.edit("ada", |pull| {
            pull.is_draft = false;
            Event::Pull("ready_for_review")
        });
    }

    /// Adds a comment to the conversation and returns its id.
    pub(crate) fn say(&self, by: &str, text: &str) -> u64 {
        let mut id = 0;
        self.act(by, |state| {
            id = state.say(&self.repo, self.number, &Actor::person(by), text);
            None
        });
        id
    }

    /// Says something in a thread.
    pub(crate) fn answer(&self, by: &str, root: u64, text: &str) -> u64 {
        let mut id = 0;
        self.act(by, |state| {
            id = state.answer_at_line(&self.repo, self.number, root, &Actor::person(by), text).unwrap();
            None
        });
        id
    }

    /// Resolves a thread.
    pub(crate) fn resolve(&self, by: &str, root: u64) {
        self.mark_thread(by, root, true);
    }

    /// Opens a thread again.
    pub(crate) fn open_again(&self, by: &str, root: u64) {
        self.mark_thread(by, root, false);
    }

    fn mark_thread(&self, by: &str, root: u64, is_resolved: bool) {
        self.edit(by, |pull| {
            pull.at_lines.iter_mut().find(|comment| comment.id == root).unwrap().is_resolved = is_resolved;
            Event::Thread { root, is_resolved }
        });
    }

    /// Presses the button to run its last check again.
    pub(crate) fn run_check_again(&self, by: &str) {
        let head = self.head();
        self.act(by, |state| {
            let checks = &state.repo(&self.repo).unwrap().checks;
            let check = checks.iter().rev().find(|check| check.head == head).unwrap().id;
            Some(Event::Rerequested { check })
        });
    }
}
