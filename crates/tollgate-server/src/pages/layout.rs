//! The layout of every page: head, navigation bar with projects and sections, and data for scripts.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use crate::app::{ProjectId, Shared};
use crate::pages::asset;
use crate::problem::Problem;

/// The cookie in which a browser remembers light or dark.
const THEME: &str = "tollgate_theme";

/// The parts of the site, as the bar shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// The board of a project, and its features.
    Board,
    /// Stored reviews.
    Reviews,
    /// Figures over time.
    Trends,
    Settings,
    /// Nothing of it: signing in, problems.
    None,
}

/// The layout of a page.
#[derive(Debug, Clone)]
pub(crate) struct Chrome {
    /// The title of the page, without the name of the program.
    pub(crate) title: String,
    pub(crate) section: Section,
    pub(crate) theme: Theme,
    /// Where scripts and styles are.
    pub(crate) assets: &'static str,
    /// The project that the page is about.
    pub(crate) project: Option<Link>,
    /// All projects, for the switch.
    pub(crate) projects: Vec<Link>,
    /// The number of the last event that the page knows of.
    pub(crate) seq: u64,
    /// False on public pages.
    pub(crate) is_signed_in: bool,
}

/// A project, as the bar names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) id: ProjectId,
    pub(crate) name: String,
}

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Theme {
    /// As the system has it.
    #[default]
    Auto,
    Light,
    Dark,
}

impl Theme {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    fn of(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        match pairs.find(|(name, _)| *name == THEME).map(|(_, value)| value) {
            Some("light") => Self::Light,
            Some("dark") => Self::Dark,
            _ => Self::Auto,
        }
    }
}

/// The visitor's preferences that change how a page looks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Visitor {
    theme: Theme,
}

impl Visitor {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self { theme: Theme::of(headers) }
    }

    /// The layout of a signed-in page. To be called before the page reads anything else, so that
    /// its script receives every event after that point.
    pub(crate) async fn chrome(
        self,
        app: &Shared,
        section: Section,
        title: impl Into<String>,
        project: Option<ProjectId>,
    ) -> Result<Chrome, Problem> {
        let seq = super::seq(app);
        let projects = app.call(|board| board.projects()).await?;
        let projects: Vec<Link> = projects.into_iter().map(|row| Link { id: row.id, name: row.name }).collect();
        let project = project.and_then(|id| projects.iter().find(|link| link.id == id).cloned());
        let bare = self.bare(title);
        Ok(Chrome { section, project, projects, seq, is_signed_in: true, ..bare })
    }

    /// The layout of a public page.
    pub(crate) fn bare(self, title: impl Into<String>) -> Chrome {
        Chrome {
            title: title.into(),
            section: Section::None,
            theme: self.theme,
            assets: asset::base(),
            project: None,
            projects: Vec::new(),
            seq: 0,
            is_signed_in: false,
        }
    }
}

impl FromRequestParts<Shared> for Visitor {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Self::Rejection> {
        Ok(Self::of(&parts.headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cookie: &str, expected: Theme) {
        let headers = HeaderMap::from_iter([(header::COOKIE, cookie.parse().unwrap())]);
        assert_eq!(Theme::of(&headers), expected, "{cookie}");
    }

    #[test]
    fn a_browser_remembers_light_or_dark_and_nothing_else() {
        check("a=b; tollgate_theme=dark", Theme::Dark);
        check("tollgate_theme=light", Theme::Light);
        check("tollgate_theme=\"><script>", Theme::Auto);
        check("other=dark", Theme::Auto);
    }
}
