//! Decides the two sides of a comparison, and words its description.

use tollgate_core::sha::Sha;

use super::{After, Comparison, FetchOptions, Local, Range, Repository, Trigger, special_files};
use crate::failure::{self, Failure};

/// Common names of main branches, likeliest first.
const MAIN: [&str; 4] = ["main", "master", "trunk", "develop"];
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// True for the empty tree, which has no commits.
pub(super) fn is_empty_tree(sha: &Sha) -> bool {
    matches!(sha.as_str(), EMPTY_TREE | EMPTY_TREE_SHA256)
}

/// Uncommitted work.
#[derive(Debug, Default)]
struct Uncommitted {
    any: bool,
    untracked: Vec<Vec<u8>>,
    notes: Vec<String>,
}

/// A branch to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base {
    /// Its name, for messages.
    name: String,
    sha: Sha,
}

impl Local {
    /// Decides the two sides of the comparison.
    pub(super) fn compare(&self, options: &FetchOptions) -> Result<Comparison, Failure> {
        let repository = self.repository()?;
        match (&self.trigger, &self.range) {
            (_, Some(Range::Between(a, b))) => Ok(between(repository, a, b)),
            (_, Some(Range::SinceFork(a, b))) => since_fork(repository, a, b),
            (_, Some(Range::Since(a))) => self.since(repository, a),
            (Trigger::Staged, _) => staged(repository),
            (Trigger::Worktree, _) => self.worktree(repository, self.uncommitted("uncommitted work")?, Vec::new()),
            _ => self.default(repository, options),
        }
    }

    fn since(&self, repository: &Repository, a: &str) -> Result<Comparison, Failure> {
        let base = revision(repository, 0)?;
        let against = format!("against {}", named(a, &base));
        let Some(head) = repository.head.clone().filter(|_| repository.root.is_none()) else {
            let uncommitted = self.uncommitted("everything since a revision")?;
            return Ok(self.with_tree(repository, base, &against, uncommitted));
        };
        Ok(commits(repository, base, head, &format!("{} {against}", subject(repository))))
    }

    /// The working tree against `HEAD`, or against the empty tree on a branch without commits.
    fn worktree(
        &self,
        repository: &Repository,
        uncommitted: Uncommitted,
        notes: Vec<String>,
    ) -> Result<Comparison, Failure> {
        let base = repository.head.clone().map_or_else(|| empty_tree(repository.sha256), Ok)?;
        let compared = match &repository.head {
            Some(head) => format!("uncommitted work against HEAD ({})", head.short()),
            None => format!("uncommitted work on {}, which has no commits yet", subject(repository)),
        };
        let mut comparison = self.with_tree(repository, base, "", uncommitted);
        comparison.compared = compared;
        comparison.notes.splice(0..0, notes);
        Ok(comparison)
    }

    fn default(&self, repository: &Repository, options: &FetchOptions) -> Result<Comparison, Failure> {
        let uncommitted = self.uncommitted("this")?;
        let Some(head) = &repository.head else {
            return self.worktree(repository, uncommitted, Vec::new());
        };
        let Some(base) = self.main_branch(repository, options)? else {
            if repository.shallow {
                return Err(failure::no_main_branch());
            }
            let note = "there is no main branch to compare with, so only uncommitted work was looked at; \
                        name a range or set `review.base`";
            return self.worktree(repository, uncommitted, vec![note.to_owned()]);
        };
        let merge_base = self.merge_base(repository, &base, head)?;
        if merge_base == *head {
            return self.worktree(repository, uncommitted, Vec::new());
        }
        let against = format!("against the merge base with {} ({})", base.name, merge_base.short());
        Ok(self.with_tree(repository, merge_base, &against, uncommitted))
    }

    /// A comparison with the working tree, or with `HEAD` when nothing is uncommitted, which is cheaper.
    fn with_tree(&self, repository: &Repository, base: Sha, against: &str, uncommitted: Uncommitted) -> Comparison {
        let who = subject(repository);
        let compared =
            if uncommitted.any { format!("{who} and uncommitted work {against}") } else { format!("{who} {against}") };
        let head = repository.head.clone();
        let after = match &head {
            Some(head) if !uncommitted.any => After::Commit(head.clone()),
            _ => After::WorkingTree,
        };
        Comparison {
            base,
            head: head.unwrap_or_else(|| nothing(repository)),
            after,
            compared,
            title: repository.branch.clone(),
            notes: uncommitted.notes,
            untracked: uncommitted.untracked,
            uncommitted: uncommitted.any,
        }
    }

    /// Staged, changed and untracked files, by one `git status`.
    fn uncommitted(&self, what: &str) -> Result<Uncommitted, Failure> {
        let root = self.root().ok_or_else(|| failure::no_working_tree(what))?;
        special_files::refuse(root)?;
        let args = [
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--no-ahead-behind",
            "--ignore-submodules=dirty",
        ];
        let status = self.git.run(&args)?;
        let mut uncommitted = Uncommitted::default();
        let mut n_conflicts = 0;
        for entry in status.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
            match entry {
                [b'?', b' ', path @ ..] if is_of_board(path) => continue,
                [b'?', b' ', path @ ..] => uncommitted.untracked.push(path.to_vec()),
                [b'u', ..] => n_conflicts += 1,
                [b'1' | b'2', ..] => {}
                // Lines that begin with `#` describe the branch or the stash.
                _ => continue,
            }
            uncommitted.any = true;
        }
        if n_conflicts > 0 {
            let files = if n_conflicts == 1 { "a file has" } else { "several files have" };
            uncommitted.notes.push(format!("{files} unresolved merge conflicts"));
        }
        uncommitted.untracked.sort();
        Ok(uncommitted)
    }

    /// The main branch: the configured one, the remote's default, or one with a common name.
    pub(super) fn main_branch(&self, repository: &Repository, options: &FetchOptions) -> Result<Option<Base>, Failure> {
        if let Some(name) = &options.base {
            return self.configured_branch(name).map(Some);
        }
        let mut args =
            vec!["for-each-ref".to_owned(), "--format=%(refname)%00%(objectname)%00%(symref)%00%(upstream)".to_owned()];
        let own = repository.branch.iter().map(|branch| format!("refs/heads/{branch}"));
        args.extend(own.chain(["refs/remotes/*/HEAD".to_owned()]));
        args.extend(MAIN.iter().flat_map(|main| [format!("refs/remotes/*/{main}"), format!("refs/heads/{main}")]));
        let refs = self.git.run(&args)?;
        let refs: Vec<Ref> = String::from_utf8_lossy(&refs).lines().filter_map(Ref::read).collect();
        Ok(choose(&refs, repository.branch.as_deref()))
    }

    fn configured_branch(&self, name: &str) -> Result<Base, Failure> {
        let usable =
            !name.is_empty() && !name.starts_with(['-', '^']) && !name.contains(['\n', '\0']) && !name.contains("..");
        let hint = "It comes from `review.base`.";
        if !usable {
            return Err(failure::not_a_range(name).hint(hint));
        }
        let answer = self.git.ask(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])?;
        let sha = Sha::parse(String::from_utf8_lossy(&answer.stdout).trim());
        let sha = sha.map_err(|_| failure::no_such_revision(name).hint(hint))?;
        Ok(Base { name: name.to_owned(), sha })
    }

    pub(super) fn merge_base(&self, repository: &Repository, base: &Base, head: &Sha) -> Result<Sha, Failure> {
        let answer = self.git.ask(&["merge-base", base.sha.as_str(), head.as_str()])?;
        let first = String::from_utf8_lossy(&answer.stdout);
        Sha::parse(first.lines().next().unwrap_or_default())
            .map_err(|_| failure::no_merge_base(&base.name, &subject(repository), repository.shallow))
    }
}

/// A reference as `git for-each-ref` prints it.
#[derive(Debug)]
struct Ref {
    name: String,
    sha: Sha,
    points_to: String,
    upstream: String,
}

impl Ref {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split('\0').map(str::to_owned);
        let (name, sha) = (fields.next()?, Sha::parse(&fields.next()?).ok()?);
        Some(Self { name, sha, points_to: fields.next()?, upstream: fields.next()? })
    }
}

/// Chooses the main branch among these references.
fn choose(refs: &[Ref], branch: Option<&str>) -> Option<Base> {
    let find = |name: &str| refs.iter().find(|reference| reference.name == name);
    let own = branch.and_then(|branch| find(&format!("refs/heads/{branch}")));
    let own_remote =
        own.and_then(|own| own.upstream.strip_prefix("refs/remotes/")?.split('/').next().map(str::to_owned));
    let mut remotes = vec!["origin".to_owned()];
    remotes.extend(own_remote);
    for remote in &remotes {
        if let Some(head) = find(&format!("refs/remotes/{remote}/HEAD")) {
            let name = if head.points_to.is_empty() { &head.name } else { &head.points_to };
            return Some(Base { name: short(name), sha: head.sha.clone() });
        }
    }
    let on_remotes = remotes.iter().flat_map(|remote| MAIN.map(|main| format!("refs/remotes/{remote}/{main}")));
    let here = MAIN.iter().map(|main| format!("refs/heads/{main}"));
    let names: Vec<String> = on_remotes.chain(here).collect();
    names.iter().find_map(|name| find(name)).map(|found| Base { name: short(&found.name), sha: found.sha.clone() })
}

fn short(reference: &str) -> String {
    let name = reference.strip_prefix("refs/heads/").or_else(|| reference.strip_prefix("refs/remotes/"));
    name.unwrap_or(reference).to_owned()
}

fn between(repository: &Repository, a: &str, b: &str) -> Comparison {
    let (base, head) = (revision(repository, 0), revision(repository, 1));
    let (base, head) = (base.unwrap_or_else(|_| nothing(repository)), head.unwrap_or_else(|_| nothing(repository)));
    let compared = format!("{} against {}", named(b, &head), named(a, &base));
    Comparison { title: title(repository, b), ..commits(repository, base, head, &compared) }
}

fn since_fork(repository: &Repository, a: &str, b: &str) -> Result<Comparison, Failure> {
    let head = revision(repository, 1)?;
    // `A...B` prints both sides again and then the merge bases.
    let Some(base) = repository.revisions.get(4).cloned() else {
        return Err(failure::no_merge_base(a, b, repository.shallow));
    };
    let compared = format!("{} against the merge base with {a} ({})", named(b, &head), base.short());
    Ok(Comparison { title: title(repository, b), ..commits(repository, base, head, &compared) })
}

fn staged(repository: &Repository) -> Result<Comparison, Failure> {
    let base = repository.head.clone().map_or_else(|| empty_tree(repository.sha256), Ok)?;
    let compared = match &repository.head {
        Some(head) => format!("staged changes against HEAD ({})", head.short()),
        None => format!("staged changes on {}, which has no commits yet", subject(repository)),
    };
    let head = repository.head.clone().unwrap_or_else(|| nothing(repository));
    let after = After::Index;
    Ok(Comparison { after, uncommitted: true, ..commits(repository, base, head, &compared) })
}

fn commits(repository: &Repository, base: Sha, head: Sha, compared: &str) -> Comparison {
    Comparison {
        base,
        after: After::Commit(head.clone()),
        head,
        compared: compared.to_owned(),
        title: repository.branch.clone(),
        notes: Vec::new(),
        untracked: Vec::new(),
        uncommitted: false,
    }
}

fn revision(repository: &Repository, index: usize) -> Result<Sha, Failure> {
    repository.revisions.get(index).cloned().ok_or_else(|| failure::git_unreadable("rev-parse"))
}

/// The name of the reviewed branch or commit.
fn subject(repository: &Repository) -> String {
    match (&repository.branch, &repository.head) {
        (Some(branch), _) => branch.clone(),
        (None, Some(head)) => format!("HEAD ({}, detached)", head.short()),
        (None, None) => "HEAD".to_owned(),
    }
}

fn title(repository: &Repository, name: &str) -> Option<String> {
    if name == "HEAD" { repository.branch.clone() } else { Some(name.to_owned()) }
}

fn named(name: &str, sha: &Sha) -> String {
    if sha.as_str().starts_with(name) { sha.short().to_owned() } else { format!("{name} ({})", sha.short()) }
}

fn nothing(repository: &Repository) -> Sha {
    let zeros = "0".repeat(if repository.sha256 { 64 } else { 40 });
    Sha::parse(&zeros).unwrap_or_else(|_| Sha::null())
}

/// The empty tree, which every repository has.
pub(in crate::forge) fn empty_tree(sha256: bool) -> Result<Sha, Failure> {
    let name = if sha256 { EMPTY_TREE_SHA256 } else { EMPTY_TREE };
    Sha::parse(name).map_err(|_| failure::git_unreadable("hash-object"))
}

/// True for untracked files that the board writes itself: features with their reviews, and the work trees of agents.
fn is_of_board(path: &[u8]) -> bool {
    [&b".automaker/features/"[..], b".worktrees/"].iter().any(|folder| path.starts_with(folder))
}
