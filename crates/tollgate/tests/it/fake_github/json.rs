//! How the fake GitHub writes things: JSON with everything that GitHub's own description requires.

use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

use super::state::{Actor, Check, Comment, LineComment, Pull, Repository, Review, State};

/// A time as the API writes it.
pub(crate) fn iso(ms: u64) -> String {
    OffsetDateTime::from_unix_timestamp(i64::try_from(ms / 1000).unwrap()).unwrap().format(&Rfc3339).unwrap()
}

/// A time as HTTP writes it.
pub(crate) fn http_date(ms: u64) -> String {
    let format =
        format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");
    OffsetDateTime::from_unix_timestamp(i64::try_from(ms / 1000).unwrap()).unwrap().format(&format).unwrap()
}

/// A number that is always the same for a name.
fn number_of(name: &str) -> u64 {
    name.bytes().fold(7, |sum: u64, byte| (sum * 31 + u64::from(byte)) % 100_000_007)
}

fn insert_urls(object: &mut Map<String, Value>, base: &str, names: &[&str]) {
    for name in names {
        object.insert(format!("{name}_url"), json!(format!("{base}/{}", name.replace('_', "/"))));
    }
}

const USER_URLS: &[&str] = &[
    "avatar",
    "events",
    "followers",
    "following",
    "gists",
    "html",
    "organizations",
    "received_events",
    "repos",
    "starred",
    "subscriptions",
];

const REPOSITORY_URLS: &[&str] = &[
    "archive",
    "assignees",
    "blobs",
    "branches",
    "collaborators",
    "comments",
    "commits",
    "compare",
    "contents",
    "contributors",
    "deployments",
    "downloads",
    "events",
    "forks",
    "git_commits",
    "git_refs",
    "git_tags",
    "hooks",
    "issue_comment",
    "issue_events",
    "issues",
    "keys",
    "labels",
    "languages",
    "merges",
    "milestones",
    "notifications",
    "pulls",
    "releases",
    "stargazers",
    "statuses",
    "subscribers",
    "subscription",
    "tags",
    "teams",
    "trees",
    "svn",
    "ssh",
    "git",
];

impl State {
    pub(crate) fn user(&self, login: &str) -> Value {
        let kind = if login.ends_with("[bot]") { "Bot" } else { "User" };
        let url = format!("{}/users/{}", self.url, login.replace(['[', ']'], "-"));
        let mut user = json!({
            "login": login, "id": number_of(login), "node_id": format!("U_{}", number_of(login)), "gravatar_id": "",
            "type": kind, "site_admin": false, "url": url,
        });
        insert_urls(user.as_object_mut().unwrap(), &url, USER_URLS);
        user
    }

    /// The user that a token belongs to, with what only they may know.
    pub(crate) fn own_user(&self, login: &str) -> Value {
        let mut user = self.user(login);
        let more = json!({
            "bio": null, "blog": "", "company": null, "email": null, "followers": 0, "following": 0, "hireable": null,
            "location": null, "name": login, "public_gists": 0, "public_repos": 1, "created_at": iso(0),
            "updated_at": iso(0),
        });
        user.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        user
    }

    pub(crate) fn app(&self) -> Value {
        json!({
            "id": self.app.id, "slug": self.app.slug, "node_id": "A_1", "client_id": "Iv1.0123456789abcdef",
            "owner": self.user("octo"), "name": self.app.slug, "description": null, "external_url": self.url,
            "html_url": format!("{}/apps/{}", self.url, self.app.slug), "created_at": iso(0), "updated_at": iso(0),
            "permissions": self.permissions(), "events": ["pull_request", "issue_comment"], "installations_count": 1,
        })
    }

    /// What an installation of the app may do.
    pub(crate) fn permissions(&self) -> Value {
        let contents = if self.lets_resolve { "write" } else { "read" };
        json!({
            "contents": contents, "pull_requests": "write", "checks": "write", "issues": "write", "metadata": "read",
        })
    }

    pub(crate) fn installation(&self) -> Value {
        let url = format!("{}/app/installations/{}", self.url, self.app.installation);
        json!({
            "id": self.app.installation, "account": self.user("octo"), "repository_selection": "all",
            "access_tokens_url": format!("{url}/access_tokens"), "html_url": url, "app_id": self.app.id,
            "repositories_url": format!("{}/installation/repositories", self.url), "target_id": 1,
            "target_type": "Organization", "permissions": self.permissions(), "events": ["pull_request"],
            "created_at": iso(0), "updated_at": iso(0), "single_file_name": null, "app_slug": self.app.slug,
            "suspended_by": null, "suspended_at": null,
        })
    }

    pub(crate) fn repository(&self, repo: &Repository) -> Value {
        let url = format!("{}/repos/{}", self.url, repo.full());
        let mut value = json!({
            "id": repo.id, "node_id": format!("R_{}", repo.id), "name": repo.name, "full_name": repo.full(),
            "owner": self.user(&repo.owner), "private": repo.is_private, "description": null, "fork": repo.is_fork,
            "url": url, "html_url": format!("{}/{}", self.url, repo.full()), "default_branch": "main",
            "clone_url": format!("{}/{}.git", self.url, repo.full()), "forks": 0, "forks_count": 0, "homepage": null,
            "has_downloads": true, "has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false,
            "has_discussions": false, "language": null, "archived": false, "disabled": false, "mirror_url": null,
            "open_issues": 0, "open_issues_count": 0, "license": null, "pushed_at": iso(0), "size": 1,
            "stargazers_count": 0, "watchers": 0, "watchers_count": 0, "created_at": iso(0), "updated_at": iso(0),
            "network_count": 0, "subscribers_count": 0,
        });
        insert_urls(value.as_object_mut().unwrap(), &url, REPOSITORY_URLS);
        value
    }

    fn end(&self, full: &str, reference: &str, sha: &str) -> Value {
        let owner = full.split('/').next().unwrap_or_default();
        let repo = self.repo(full).map_or(Value::Null, |repo| self.repository(repo));
        json!({
            "label": format!("{owner}:{reference}"), "ref": reference, "sha": sha, "repo": repo,
            "user": self.user(owner),
        })
    }

    pub(crate) fn pull_request(&self, repo: &Repository, pull: &Pull) -> Value {
        let url = format!("{}/repos/{}/pulls/{}", self.url, repo.full(), pull.number);
        let issue = format!("{}/repos/{}/issues/{}", self.url, repo.full(), pull.number);
        let html = format!("{}/{}/pull/{}", self.url, repo.full(), pull.number);
        let statuses = format!("{}/repos/{}/statuses/{}", self.url, repo.full(), pull.head);
        let link = |href: &str| json!({ "href": href });
        let review_comments = format!("{url}/comments");
        let counts = super::pulls::counts(repo, pull);
        let links = json!({
            "self": link(&url), "html": link(&html), "issue": link(&issue),
            "comments": link(&format!("{issue}/comments")), "review_comments": link(&review_comments),
            "review_comment": link(&format!("{url}/comments{{/number}}")),
            "commits": link(&format!("{url}/commits")), "statuses": link(&statuses),
        });
        let addresses = json!({
            "diff_url": format!("{html}.diff"), "patch_url": format!("{html}.patch"), "issue_url": issue,
            "commits_url": format!("{url}/commits"), "review_comments_url": review_comments,
            "review_comment_url": format!("{url}/comments{{/number}}"), "comments_url": format!("{issue}/comments"),
            "statuses_url": statuses, "_links": links,
        });
        let mut value = json!({
            "url": url, "id": pull.id, "node_id": format!("PR_{}", pull.id), "html_url": html,
            "number": pull.number, "state": if pull.is_open { "open" } else { "closed" },
            "locked": false, "title": pull.title, "user": self.user(&pull.author), "body": pull.body, "labels": [],
            "milestone": null, "active_lock_reason": null, "created_at": iso(pull.created_ms),
            "updated_at": iso(pull.updated_ms), "closed_at": null, "merged_at": null, "merge_commit_sha": null,
            "assignee": null, "assignees": [], "requested_reviewers": [], "requested_teams": [],
            "head": self.end(pull.from.as_deref().unwrap_or(""), &pull.head_ref, &pull.head),
            "base": self.end(&repo.full(), &pull.base_ref, &pull.base), "author_association": "CONTRIBUTOR",
            "auto_merge": null, "draft": pull.is_draft, "merged": false, "mergeable": true, "rebaseable": true,
            "mergeable_state": "clean", "merged_by": null, "comments": pull.comments.len(),
            "review_comments": pull.at_lines.len(), "maintainer_can_modify": false, "commits": counts.0,
            "additions": 1, "deletions": 0, "changed_files": counts.1,
        });
        value.as_object_mut().unwrap().extend(addresses.as_object().unwrap().clone());
        value
    }

    fn through(&self, by: &Actor) -> Value {
        by.app.map_or(Value::Null, |id| {
            let mut app = self.app();
            app["id"] = json!(id);
            app
        })
    }

    pub(crate) fn comment(&self, full: &str, number: u64, comment: &Comment) -> Value {
        let issue = format!("{}/repos/{full}/issues", self.url);
        json!({
            "url": format!("{issue}/comments/{}", comment.id), "issue_url": format!("{issue}/{number}"),
            "html_url": format!("{}/{full}/pull/{number}#issuecomment-{}", self.url, comment.id), "id": comment.id,
            "node_id": format!("IC_{}", comment.id), "user": self.user(&comment.by.login), "body": comment.body,
            "created_at": iso(comment.created_ms), "updated_at": iso(comment.created_ms),
            "author_association": "CONTRIBUTOR", "performed_via_github_app": self.through(&comment.by),
        })
    }

    pub(crate) fn review(&self, full: &str, number: u64, review: &Review) -> Value {
        let pull = format!("{}/repos/{full}/pulls/{number}", self.url);
        let html = format!("{}/{full}/pull/{number}#pullrequestreview-{}", self.url, review.id);
        json!({
            "id": review.id, "node_id": format!("PRR_{}", review.id), "user": self.user(&review.by.login),
            "body": review.body, "state": review.state, "html_url": html, "pull_request_url": pull,
            "author_association": "CONTRIBUTOR", "_links": { "html": { "href": html }, "pull_request": { "href": pull } },
            "submitted_at": iso(review.at_ms), "commit_id": review.commit,
        })
    }

    pub(crate) fn line_comment(&self, full: &str, number: u64, comment: &LineComment) -> Value {
        let pull = format!("{}/repos/{full}/pulls/{number}", self.url);
        let url = format!("{}/repos/{full}/pulls/comments/{}", self.url, comment.id);
        let html = format!("{}/{full}/pull/{number}#discussion_r{}", self.url, comment.id);
        let mut value = json!({
            "url": url, "pull_request_review_id": comment.review, "id": comment.id,
            "node_id": format!("PRRC_{}", comment.id), "diff_hunk": comment.hunk, "path": comment.path,
            "commit_id": comment.commit, "original_commit_id": comment.commit, "user": self.user(&comment.by.login),
            "body": comment.body, "created_at": iso(comment.created_ms), "updated_at": iso(comment.created_ms),
            "html_url": html, "pull_request_url": pull, "author_association": "CONTRIBUTOR",
            "_links": { "self": { "href": url }, "html": { "href": html }, "pull_request": { "href": pull } },
            "start_line": comment.start_line, "original_start_line": comment.start_line,
            "start_side": comment.start_line.map(|_| &comment.side), "line": comment.line.unwrap_or(1),
            "original_line": comment.line.unwrap_or(1), "side": comment.side,
            "subject_type": if comment.line.is_some() { "line" } else { "file" },
        });
        if let Some(root) = comment.answers {
            value["in_reply_to_id"] = json!(root);
        }
        value
    }

    pub(crate) fn check(&self, full: &str, check: &Check) -> Value {
        let url = format!("{}/repos/{full}/check-runs/{}", self.url, check.id);
        json!({
            "id": check.id, "node_id": format!("CR_{}", check.id), "head_sha": check.head, "name": check.name,
            "external_id": check.external_id.as_deref().unwrap_or(""), "url": url,
            "html_url": format!("{}/{full}/runs/{}", self.url, check.id), "details_url": check.details_url,
            "status": check.status, "conclusion": check.conclusion, "started_at": iso(check.started_ms),
            "completed_at": check.completed_ms.map(iso),
            "output": {
                "title": check.title, "summary": check.summary, "text": null,
                "annotations_count": check.annotations.len(), "annotations_url": format!("{url}/annotations"),
            },
            "check_suite": { "id": number_of(&check.head) }, "app": self.app(), "pull_requests": [],
        })
    }
}
