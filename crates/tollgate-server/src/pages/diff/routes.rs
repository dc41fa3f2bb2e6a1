//! Parts of a diff, for scripts as fragments and for people as pages.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use tollgate_core::diff::FileDiff;
use tollgate_engine::board::Board;
use tollgate_engine::board::diff_context::BlobRequest;

use super::View;
use super::{
    DiffTarget, Files, MAX_FILES, Options, Paper, base, part_word, path_text, rendered, section, unshowable, why_folded,
};
use crate::app::Shared;
use crate::extract::{OfIteration, Query};
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::markup::Markup;
use crate::pages::{Page, finding};
use crate::problem::{self, Kind, Problem};
use crate::view::request::DiffPart;

/// So many files are looked up together.
const AHEAD: usize = 8;

/// Selects a part of a diff.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct DiffQuery {
    #[serde(default)]
    view: View,
    #[serde(default)]
    part: DiffPart,
    /// The first row, or file.
    #[serde(default)]
    from: usize,
    /// The row behind the last; the end when it is missing.
    to: Option<usize>,
    /// The rows around this line.
    at: Option<String>,
    /// The lines between two hunks.
    gap: Option<usize>,
    /// So many lines at the top of the gap.
    #[serde(default)]
    top: u32,
    /// So many lines at its bottom.
    #[serde(default)]
    bottom: u32,
    /// A long line as a whole.
    line: Option<String>,
}

/// A part of a diff by itself.
#[derive(Template)]
#[template(path = "diff_page.html")]
struct PartPage {
    chrome: Chrome,
    heading: String,
    back: String,
    content: Markup,
}

/// A line as a whole.
#[derive(Template)]
#[template(path = "diff_line.html")]
struct LinePart {
    code: Markup,
    n_chars: Option<String>,
    diff: String,
}

#[derive(Template)]
#[template(source = "{{ content }}", ext = "html")]
struct Fragment {
    content: Markup,
}

/// A part of one file.
pub(crate) async fn file(
    State(app): State<Shared>,
    visitor: Visitor,
    headers: HeaderMap,
    OfIteration(project, feature, iteration): OfIteration,
    Path(names): Path<std::collections::HashMap<String, String>>,
    Query(which): Query<DiffQuery>,
) -> Result<Response, Problem> {
    let index = names.get("index").and_then(|index| index.parse().ok()).ok_or_else(problem::no_such_path)?;
    let of = DiffTarget { project, feature, iteration, part: which.part.into() };
    let back = back(&of, &which, Some(index));
    let chrome = visitor.chrome(&app, Section::Board, "Diff", Some(project)).await?;
    let (heading, content) = app.call_in(project, move |board| part_of_file(board, &of, index, &which)).await?;
    Ok(dressed(&headers, PartPage { chrome: chrome.titled(&heading), heading, back, content }))
}

/// The whole change, or further files of it.
pub(crate) async fn files(
    State(app): State<Shared>,
    visitor: Visitor,
    headers: HeaderMap,
    OfIteration(project, feature, iteration): OfIteration,
    Query(which): Query<DiffQuery>,
) -> Result<Response, Problem> {
    let of = DiffTarget { project, feature, iteration, part: which.part.into() };
    let back = back(&of, &which, None);
    let chrome = visitor.chrome(&app, Section::Board, "Diff", Some(project)).await?;
    let heading = match which.from {
        0 => format!("Changes of iteration {iteration}"),
        from => format!("Changed files from no. {}", from.saturating_add(1)),
    };
    let content = app.call_in(project, move |board| some_files(board, &of, &which)).await?;
    Ok(dressed(&headers, PartPage { chrome: chrome.titled(&heading), heading, back, content }))
}

impl Chrome {
    fn titled(self, title: &str) -> Self {
        Self { title: title.to_owned(), ..self }
    }
}

fn dressed(headers: &HeaderMap, page: PartPage) -> Response {
    let accepts = |value: &axum::http::HeaderValue| value.to_str().is_ok_and(|value| value.contains("fragment"));
    if headers.get(axum::http::header::ACCEPT).is_some_and(accepts) {
        return Page(Fragment { content: page.content }).into_response();
    }
    Page(page).into_response()
}

/// The page that the part belongs to.
fn back(of: &DiffTarget, which: &DiffQuery, index: Option<usize>) -> String {
    let anchor = index.map_or(String::new(), |index| format!("#f{index}"));
    let (project, feature, number) = (of.project, &of.feature, of.iteration);
    format!("/projects/{project}/features/{feature}?iteration={number}&view={}{anchor}", which.view.as_str())
}

fn part_of_file(board: &Board, of: &DiffTarget, index: usize, which: &DiffQuery) -> Result<(String, Markup), Problem> {
    let shown = board.shown(of.project, &of.feature, of.iteration, of.part)?;
    let file = shown.files.get(index).ok_or_else(|| no_such("file"))?;
    let findings = finding::of_iteration(board, of.project, &of.feature, of.iteration)?;
    let read = |wanted: &[BlobRequest]| Ok(board.sources(of.project, wanted)?);
    let mut paper = Paper::new(&read, of, which.view, &shown, findings);
    let found = paper.texts(&ahead(&shown.files, index, which))?.into_iter().next().unwrap_or_default();
    let mut sheet = paper.sheet(index, found.texts);
    sheet.place(std::mem::take(&mut paper.taken[index]));
    let content = if let Some(at) = &which.line {
        let (code, n_chars) = sheet.long_line(at).ok_or_else(|| no_such("line"))?;
        let diff = format!("/api{}", base(of).replace("/files", "/diff"));
        rendered(&LinePart { code, n_chars, diff })?
    } else if let Some(gap) = which.gap {
        let opened = sheet.gap(gap, which.top, which.bottom).map_err(|_| unshowable())?;
        opened.ok_or_else(|| no_such("place between hunks"))?
    } else {
        sheet.part(which.from, which.to, which.at.as_deref()).map_err(|_| unshowable())?
    };
    Ok((path_text(file.path()), content))
}

/// A file and, when it is begun with, some behind it: who scrolls asks for those next, and many texts cost little more
/// than one.
fn ahead(files: &[FileDiff], index: usize, which: &DiffQuery) -> Vec<usize> {
    let is_first = which.from == 0 && which.gap.is_none() && which.line.is_none();
    let n_files = if is_first { AHEAD } else { 1 };
    let is_next = |next: &usize| *next == index || why_folded(&files[*next]).is_none();
    (index..files.len()).filter(is_next).take(n_files).collect()
}

fn some_files(board: &Board, of: &DiffTarget, which: &DiffQuery) -> Result<Markup, Problem> {
    let findings = finding::of_iteration(board, of.project, &of.feature, of.iteration)?;
    if which.from == 0 {
        let address = |view: View| format!("{}?view={}&part={}", base(of), view.as_str(), part_word(of.part));
        let addresses = [View::Unified, View::Split].map(address);
        return section(board, of, &Options { view: which.view, addresses }, findings);
    }
    let shown = board.shown(of.project, &of.feature, of.iteration, of.part)?;
    let read = |wanted: &[BlobRequest]| Ok(board.sources(of.project, wanted)?);
    let mut paper = Paper::new(&read, of, which.view, &shown, findings);
    let files = paper.files(which.from)?;
    rendered(&Files { files, more: paper.more_files(which.from.saturating_add(MAX_FILES)) })
}

fn no_such(what: &str) -> Problem {
    Problem::new(Kind::NotFound, format!("the change has no such {what}"))
        .hint("Go to the review of the feature and look from there.")
}
