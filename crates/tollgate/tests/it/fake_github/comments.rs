//! Comments, reviews and line comments on pull requests of the fake GitHub, with their validation.

use serde_json::{Value, json};

use super::app::wrong;
use super::git::holds;
use super::hooks::Event;
use super::http::{Answer, Request};
use super::lines::{Lines, Spot};
use super::route::{Call, invalid, not_found, page, refused, said};
use super::state::{Actor, Comment, LineComment, Pull, Review, State};

/// The most characters of a body.
const MAX_BODY: usize = 65_536;

pub(crate) fn answer(state: &mut State, request: &Request, call: &Call<'_>, by: &Actor, body: &Value) -> Answer {
    match call.name {
        "comments.edit" | "comments.delete" | "lines.delete" => return change(state, call, by, body),
        _ => {}
    }
    let number = call.number(0);
    if state.pull(&call.full, number).is_none() {
        return not_found();
    }
    match call.name {
        "comments.list" | "reviews.list" | "lines.list" => list(state, request, call, number),
        "comments.create" => comment(state, &call.full, number, by, body),
        "reviews.create" => review(state, &call.full, number, by, body),
        "lines.reply" => reply(state, &call.full, number, call.number(1), by, body),
        _ => match body["in_reply_to"].as_u64() {
            Some(root) => reply(state, &call.full, number, root, by, body),
            None => line_comment(state, &call.full, number, by, body),
        },
    }
}

fn list(state: &mut State, request: &Request, call: &Call<'_>, number: u64) -> Answer {
    let now_ms = state.now_ms();
    let mut pull = state.pull(&call.full, number).unwrap().clone();
    let items: Vec<Value> = match call.name {
        "comments.list" => pull
            .comments
            .iter_mut()
            .filter_map(|comment| comment.veil.is_lifted(now_ms).then(|| state.comment(&call.full, number, comment)))
            .collect(),
        "reviews.list" => pull
            .reviews
            .iter_mut()
            .filter_map(|review| review.veil.is_lifted(now_ms).then(|| state.review(&call.full, number, review)))
            .collect(),
        _ => pull
            .at_lines
            .iter_mut()
            .filter_map(|comment| {
                comment.veil.is_lifted(now_ms).then(|| state.line_comment(&call.full, number, comment))
            })
            .collect(),
    };
    *state.pull_mut(&call.full, number).unwrap() = pull;
    page(request, &state.url, items)
}

/// The text of a body, or why it cannot be.
fn text(body: &Value) -> Result<String, Answer> {
    match body["body"].as_str() {
        None | Some("") => Err(wrong("IssueComment", "body", "body can't be blank")),
        Some(text) if text.chars().count() > MAX_BODY => {
            Err(wrong("IssueComment", "body", "body is too long (maximum is 65536 characters)"))
        }
        Some(text) => Ok(text.to_owned()),
    }
}

fn comment(state: &mut State, full: &str, number: u64, by: &Actor, body: &Value) -> Answer {
    match text(body) {
        Ok(text) => {
            let id = state.say(full, number, by, &text);
            let comment = state.pull(full, number).unwrap().comments.iter().find(|comment| comment.id == id).unwrap();
            said(201, &state.comment(full, number, comment))
        }
        Err(answer) => answer,
    }
}

impl State {
    /// Adds a comment to the conversation.
    pub(crate) fn say(&mut self, full: &str, number: u64, by: &Actor, text: &str) -> u64 {
        let (id, created_ms) = (self.new_id(), self.now_ms());
        let veil = if by.app.is_some() { self.veil() } else { Default::default() };
        let comment = Comment { id, by: by.clone(), body: text.to_owned(), created_ms, n_edits: 0, veil };
        let pull = self.pull_mut(full, number).unwrap();
        pull.comments.push(comment);
        pull.updated_ms = created_ms;
        self.tell(full, number, &Event::Commented { id }, by);
        id
    }
}

/// Edits or removes a comment.
fn change(state: &mut State, call: &Call<'_>, by: &Actor, body: &Value) -> Answer {
    let id = call.number(0);
    let Some(repo) = state.repo(&call.full) else { return not_found() };
    let at = repo.pulls.values().find_map(|pull| {
        let comment = pull.comments.iter().find(|comment| comment.id == id).map(|comment| comment.by.clone());
        let at_line = pull.at_lines.iter().find(|comment| comment.id == id).map(|comment| comment.by.clone());
        let found = if call.name == "lines.delete" { at_line } else { comment };
        found.map(|by| (pull.number, by))
    });
    let Some((number, author)) = at else { return not_found() };
    if author != *by {
        return refused(403, "Resource not accessible by integration");
    }
    if call.name == "comments.edit" {
        let text = match text(body) {
            Ok(text) => text,
            Err(answer) => return answer,
        };
        let pull = state.pull_mut(&call.full, number).unwrap();
        let comment = pull.comments.iter_mut().find(|comment| comment.id == id).unwrap();
        comment.body = text;
        comment.n_edits += 1;
        let comment = comment.clone();
        return said(200, &state.comment(&call.full, number, &comment));
    }
    let pull = state.pull_mut(&call.full, number).unwrap();
    pull.comments.retain(|comment| comment.id != id);
    pull.at_lines.retain(|comment| comment.id != id);
    said(204, &Value::Null)
}

/// Whether a commit is one of a pull request's now.
fn is_part_of(state: &State, full: &str, pull: &Pull, commit: &str) -> bool {
    let is_sha = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_sha && holds(&state.repo(full).unwrap().git, &["merge-base", "--is-ancestor", commit, &pull.head])
}

/// A place that is checked: where exactly, and the hunk it is in.
struct Placed {
    path: String,
    line: Option<u64>,
    start_line: Option<u64>,
    side: String,
    hunk: String,
}

fn place(lines: &Lines, comment: &Value) -> Result<Placed, String> {
    let path = comment["path"].as_str().ok_or("Path can't be blank")?;
    match comment["body"].as_str() {
        None | Some("") => return Err("Body can't be blank".to_owned()),
        Some(text) if text.chars().count() > MAX_BODY => {
            return Err("Body is too long (maximum is 65536 characters)".to_owned());
        }
        Some(_) => {}
    }
    let side = comment["side"].as_str().unwrap_or("RIGHT");
    let (line, start_line, hunk) = if comment["subject_type"] == "file" {
        if !lines.has_file(path) {
            return Err("Path could not be resolved".to_owned());
        }
        (None, None, String::new())
    } else {
        let line = comment["line"].as_u64().ok_or("Line could not be resolved")?;
        let start = comment["start_line"].as_u64();
        let start_side = comment["start_side"].as_str().unwrap_or(side);
        let spot = Spot { path, line, side, start: start.map(|line| (line, start_side)) };
        (Some(line), start, lines.place(&spot)?)
    };
    Ok(Placed { path: path.to_owned(), line, start_line, side: side.to_owned(), hunk })
}

fn review(state: &mut State, full: &str, number: u64, by: &Actor, body: &Value) -> Answer {
    let pull = state.pull(full, number).unwrap().clone();
    let unprocessable = |why: &str| invalid("Unprocessable Entity", &json!([why]));
    let text = body["body"].as_str().unwrap_or_default();
    let verdict = match body["event"].as_str() {
        Some("COMMENT") => "COMMENTED",
        Some("APPROVE") => "APPROVED",
        Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
        // A pending review is invisible to others; the program must never leave one.
        _ => "PENDING",
    };
    if text.is_empty() && verdict != "APPROVED" {
        return unprocessable("Review body can't be blank");
    }
    if text.chars().count() > MAX_BODY {
        return unprocessable("Body is too long (maximum is 65536 characters)");
    }
    if verdict != "COMMENTED" && by.login == pull.author {
        return unprocessable("Review Can not approve your own pull request");
    }
    let commit = body["commit_id"].as_str().unwrap_or(&pull.head).to_owned();
    if !is_part_of(state, full, &pull, &commit) {
        return unprocessable("Commit is not part of the pull request");
    }
    let lines = Lines::of(&state.repo(full).unwrap().git, &pull.base, &commit);
    let comments = body["comments"].as_array().cloned().unwrap_or_default();
    let mut placed = Vec::new();
    for comment in &comments {
        // One that is wrong has the whole review refused.
        match place(&lines, comment) {
            Ok(place) => placed.push((place, comment["body"].as_str().unwrap_or_default().to_owned())),
            Err(why) => return unprocessable(&why),
        }
    }
    let (id, at_ms, veil) = (state.new_id(), state.now_ms(), state.veil());
    let review =
        Review { id, by: by.clone(), body: text.to_owned(), state: verdict, commit: commit.clone(), at_ms, veil };
    let shown = state.review(full, number, &review);
    state.pull_mut(full, number).unwrap().reviews.push(review);
    for (place, text) in placed {
        state.put_at_line(full, number, by, &commit, id, place, &text);
    }
    state.tell(full, number, &Event::Reviewed { id }, by);
    said(200, &shown)
}

impl State {
    #[expect(clippy::too_many_arguments, reason = "one thing each, and only here")]
    fn put_at_line(
        &mut self,
        full: &str,
        number: u64,
        by: &Actor,
        commit: &str,
        review: u64,
        place: Placed,
        text: &str,
    ) -> u64 {
        let Placed { path, line, start_line, side, hunk } = place;
        let (id, created_ms) = (self.new_id(), self.now_ms());
        let veil = if by.app.is_some() { self.veil() } else { Default::default() };
        let (by, body, commit) = (by.clone(), text.to_owned(), commit.to_owned());
        let answers = None;
        let comment = LineComment {
            id,
            review,
            by,
            body,
            path,
            commit,
            line,
            start_line,
            side,
            hunk,
            answers,
            is_resolved: false,
            created_ms,
            veil,
        };
        self.pull_mut(full, number).unwrap().at_lines.push(comment);
        id
    }
}

fn line_comment(state: &mut State, full: &str, number: u64, by: &Actor, body: &Value) -> Answer {
    let pull = state.pull(full, number).unwrap().clone();
    let invalid = |field: &str, why: &str| wrong("PullRequestReviewComment", field, why);
    let Some(commit) = body["commit_id"].as_str() else { return invalid("commit_id", "commit_id can't be blank") };
    if !is_part_of(state, full, &pull, commit) {
        return invalid("commit_id", "commit_id is not part of the pull request");
    }
    let lines = Lines::of(&state.repo(full).unwrap().git, &pull.base, commit);
    match place(&lines, body) {
        Ok(place) => {
            let review = state.new_id();
            let text = body["body"].as_str().unwrap_or_default();
            let id = state.put_at_line(full, number, by, commit, review, place, text);
            state.tell(full, number, &Event::CommentedAtLine { id }, by);
            shown(state, full, number, id)
        }
        Err(why) => invalid("pull_request_review_thread.line", &why),
    }
}

fn shown(state: &State, full: &str, number: u64, id: u64) -> Answer {
    let pull = state.pull(full, number).unwrap();
    let comment = pull.at_lines.iter().find(|comment| comment.id == id).unwrap();
    said(201, &state.line_comment(full, number, comment))
}

fn reply(state: &mut State, full: &str, number: u64, root: u64, by: &Actor, body: &Value) -> Answer {
    match text(body) {
        Ok(text) => match state.answer_at_line(full, number, root, by, &text) {
            Some(id) => shown(state, full, number, id),
            None => not_found(),
        },
        Err(answer) => answer,
    }
}

impl State {
    /// Adds a reply to a thread.
    pub(crate) fn answer_at_line(&mut self, full: &str, number: u64, root: u64, by: &Actor, text: &str) -> Option<u64> {
        let (id, created_ms) = (self.new_id(), self.now_ms());
        let veil = if by.app.is_some() { self.veil() } else { Default::default() };
        let pull = self.pull_mut(full, number)?;
        // Only the comment that began a thread can be answered.
        let first = pull.at_lines.iter().find(|comment| comment.id == root && comment.answers.is_none())?.clone();
        pull.at_lines.push(LineComment {
            id,
            by: by.clone(),
            body: text.to_owned(),
            answers: Some(root),
            created_ms,
            veil,
            ..first
        });
        self.tell(full, number, &Event::CommentedAtLine { id }, by);
        Some(id)
    }
}
