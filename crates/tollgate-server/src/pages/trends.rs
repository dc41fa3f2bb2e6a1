//! What stored reviews say together: `/trends`, as figures and charts.

use askama::Template;
use axum::extract::State;
use tollgate_core::finding::{Category, Severity};
use tollgate_core::visible::grouped;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::{Figures, Names, RuleFigures, Trends};

use crate::app::Shared;
use crate::day::Day;
use crate::extract::Query;
use crate::pages::chart::{self, Chart, Look, Named, Series, Unit};
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::markup::Markup;
use crate::pages::reviews::encoded;
use crate::pages::{Page, words};
use crate::problem::Problem;
use crate::routes::trends::{Days, Span, today};

mod headline;

use headline::Headline;

/// Categories that are told one by one; the others together.
const MAX_CATEGORIES: usize = 5;

#[derive(Template)]
#[template(path = "trends.html")]
pub(crate) struct TrendsPage {
    chrome: Chrome,
    days: Days,
    n_days: u64,
    repository: String,
    /// True when a repository is asked for of which nothing is stored.
    is_unknown: bool,
    names: Names,
    ranges: Vec<RangeLink>,
    headlines: Vec<Headline>,
    charts: Vec<ChartView>,
    rules: Option<RulesView>,
    n_runs: u64,
    /// True when there is a review at all, whenever it was.
    has_any: bool,
    /// The reviews that the figures are about.
    list: String,
}

/// A range to choose.
struct RangeLink {
    words: &'static str,
    href: String,
    is_chosen: bool,
}

/// A chart, and the same figures as a table.
struct ChartView {
    id: &'static str,
    title: &'static str,
    /// The definition of the figure, where it is not plain.
    note: &'static str,
    markup: Markup,
    columns: Vec<&'static str>,
    rows: Vec<PartRow>,
    is_empty: bool,
}

/// A part of the range in a table, and where its reviews are.
struct PartRow {
    label: String,
    href: String,
    figures: Vec<String>,
}

/// The rules that spoke most often.
struct RulesView {
    markup: Markup,
    rows: Vec<RuleRow>,
}

struct RuleRow {
    rule: String,
    href: String,
    n_findings: String,
    n_distinct: String,
    dismissed: String,
}

/// What stored reviews say together.
pub(crate) async fn show(
    State(app): State<Shared>,
    visitor: Visitor,
    Query(span): Query<Span>,
) -> Result<Page<TrendsPage>, Problem> {
    let some = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let span = Span { from: some(span.from), to: some(span.to), repository: some(span.repository) };
    let chrome = visitor.chrome(&app, Section::Trends, "Trends", None).await?;
    let today = today();
    let (days, repository) = span.check(today)?;
    let range = days.range(repository.clone());
    let (trends, names, newest) = app
        .call(move |board| {
            let database = board.database();
            Ok::<_, Failure>((database.trends(&range)?, database.run_names()?, database.newest_run()?))
        })
        .await?;
    let about = About { days: &days, repository: repository.as_deref(), trends: &trends };
    Ok(Page(TrendsPage::new(chrome, &about, today, names, newest > 0)))
}

impl TrendsPage {
    fn new(chrome: Chrome, about: &About<'_>, today: Day, names: Names, has_any: bool) -> Self {
        let About { days, repository, trends } = *about;
        Self {
            chrome,
            n_days: days.first.to(days.last),
            repository: repository.unwrap_or_default().to_owned(),
            is_unknown: repository.is_some_and(|asked| names.repositories.iter().all(|(name, _)| name != asked)),
            names,
            ranges: ranges(days, today, repository),
            headlines: headline::all(&trends.whole, &trends.before),
            charts: about.charts(),
            rules: about.rules(),
            n_runs: trends.whole.n_runs,
            has_any,
            list: about.list(days.first, days.last, None),
            days: *days,
        }
    }
}

fn ranges(days: &Days, today: Day, repository: Option<&str>) -> Vec<RangeLink> {
    let link = |(n_days, words): (u64, &'static str)| {
        let first = today.before(n_days - 1);
        let mut pairs = vec![("from", first.to_string()), ("to", today.to_string())];
        pairs.extend(repository.map(|repository| ("repository", repository.to_owned())));
        let is_chosen = (days.first, days.last) == (first, today);
        RangeLink { words, href: encoded("/trends", &pairs), is_chosen }
    };
    [(7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "a year")].into_iter().map(link).collect()
}

/// What the charts are about.
struct About<'a> {
    days: &'a Days,
    repository: Option<&'a str>,
    trends: &'a Trends,
}

impl About<'_> {
    /// The address of the reviews of some days.
    fn list(&self, first: Day, last: Day, rule: Option<&str>) -> String {
        let mut pairs = vec![];
        pairs.extend(self.repository.map(|repository| ("repository", repository.to_owned())));
        pairs.extend(rule.map(|rule| ("rule", rule.to_owned())));
        pairs.extend([("from", first.to_string()), ("to", last.to_string())]);
        encoded("/reviews", &pairs)
    }

    fn charts(&self) -> Vec<ChartView> {
        let whole = &self.trends.whole;
        let n_findings = words::count(whole.n_findings(), "finding");
        vec![
            self.bars("severity", "Findings by severity", "", &n_findings, self.severities()),
            self.bars("category", "Findings by category", "", &n_findings, self.categories()),
            self.bars("verdicts", "How reviews ended", "", &words::count(whole.n_runs, "review"), self.verdicts()),
            self.lines(
                "resolved",
                "Resolved rate",
                "Of the findings of a review, the share that the next review of the same branch, feature or pull request no longer has.",
                Unit::Percent,
                vec![Series { name: "resolved", look: Look::MEDIAN, values: self.each(resolved_rate) }],
            ),
            self.lines("time", "Time per review", "", Unit::Duration, self.spread(|figures| figures.took_ms)),
            self.lines(
                "cost",
                "Cost per review",
                "Only reviews for which a model was asked and its price is known.",
                Unit::Dollars,
                self.spread(|figures| figures.cost),
            ),
        ]
    }

    fn each(&self, of: impl Fn(&Figures) -> Option<f64>) -> Vec<Option<f64>> {
        self.trends.parts.iter().map(of).collect()
    }

    fn counts(&self, name: &'static str, look: Look, of: impl Fn(&Figures) -> u64) -> Series {
        Series::counts(name, look, self.trends.parts.iter().map(of))
    }

    fn severities(&self) -> Vec<Series> {
        let looks = [Look::CRITICAL, Look::HIGH, Look::MEDIUM, Look::LOW, Look::NIT, Look::PRAISE];
        let all = Severity::ALL.into_iter().zip(looks).enumerate();
        // The worst stand at the bottom, where bars are compared best; what never occurs needs no place in the legend.
        let all = all.filter(|(index, _)| self.trends.whole.by_severity[*index] > 0);
        all.map(|(index, (severity, look))| self.counts(severity.as_str(), look, |figures| figures.by_severity[index]))
            .collect()
    }

    fn categories(&self) -> Vec<Series> {
        let whole = &self.trends.whole.by_category;
        let mut order: Vec<usize> = (0..whole.len()).filter(|&index| whole[index] > 0).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(whole[index]));
        // One more is not worth a name for several.
        let n_named = if order.len() == MAX_CATEGORIES + 1 { order.len() } else { order.len().min(MAX_CATEGORIES) };
        let (named, others) = order.split_at(n_named);
        let mut series: Vec<Series> = named
            .iter()
            .zip(Look::OTHERS)
            .map(|(&index, look)| {
                self.counts(Category::ALL[index].as_str(), look, |figures| figures.by_category[index])
            })
            .collect();
        if !others.is_empty() {
            let sum = |figures: &Figures| others.iter().map(|&index| figures.by_category[index]).sum();
            series.push(self.counts("other", Look::OTHERS[MAX_CATEGORIES], sum));
        }
        series
    }

    fn verdicts(&self) -> Vec<Series> {
        vec![
            self.counts("approved", Look::APPROVED, |figures| figures.n_approved),
            self.counts("commented", Look::COMMENTED, |figures| figures.n_commented),
            self.counts("changes requested", Look::REFUSED, |figures| figures.n_changes_requested),
            self.counts("failed", Look::FAILED, |figures| figures.n_failed),
        ]
    }

    fn spread(&self, of: fn(&Figures) -> Option<tollgate_engine::store::Spread>) -> Vec<Series> {
        let median = self.each(|figures| of(figures).map(|spread| spread.median));
        let p90 = self.each(|figures| of(figures).map(|spread| spread.p90));
        vec![
            Series { name: "half of them at most", look: Look::MEDIAN, values: median },
            Series { name: "nine of ten at most", look: Look::P90, values: p90 },
        ]
    }

    fn bars(
        &self,
        id: &'static str,
        title: &'static str,
        note: &'static str,
        in_all: &str,
        series: Vec<Series>,
    ) -> ChartView {
        let chart = self.chart(id, title, Unit::Count, series, in_all);
        self.view(&chart, note, chart.stacked())
    }

    fn lines(
        &self,
        id: &'static str,
        title: &'static str,
        note: &'static str,
        unit: Unit,
        series: Vec<Series>,
    ) -> ChartView {
        let in_all = words::count(self.trends.whole.n_runs, "review");
        let chart = self.chart(id, title, unit, series, &in_all);
        self.view(&chart, note, chart.lines())
    }

    fn chart(&self, id: &'static str, title: &'static str, unit: Unit, series: Vec<Series>, in_all: &str) -> Chart {
        let n_parts = self.trends.parts.len() as u64;
        let every = if self.days.per_part == 1 { "by day" } else { "by week" };
        let desc = format!(
            "{in_all} from {} to {}, {every}. The table below has the figures.",
            self.days.first, self.days.last
        );
        let labels = (0..n_parts).map(|index| self.days.part(index).short()).collect();
        Chart { id, title, desc, unit, labels, series }
    }

    fn view(&self, chart: &Chart, note: &'static str, markup: Markup) -> ChartView {
        let row = |(index, (_, figures)): (u64, (&str, Vec<String>))| {
            let first = self.days.part(index);
            let last = first.after(self.days.per_part - 1).min(self.days.last);
            let label = if first == last { first.to_string() } else { format!("{first} to {last}") };
            PartRow { label, href: self.list(first, last, None), figures }
        };
        ChartView {
            id: chart.id,
            title: chart.title,
            note,
            columns: chart.columns().collect(),
            rows: (0..).zip(chart.rows()).map(row).collect(),
            is_empty: chart.is_empty(),
            markup,
        }
    }

    fn rules(&self) -> Option<RulesView> {
        let rules = &self.trends.rules;
        let bar = |figures: &RuleFigures| Named {
            name: figures.rule.clone(),
            value: figures.n_findings,
            words: grouped(figures.n_findings),
        };
        let named: Vec<Named> = rules.iter().take(10).map(bar).collect();
        let desc = format!(
            "The {} that spoke most often. The table below has the figures.",
            words::count(named.len() as u64, "rule")
        );
        let row = |figures: &RuleFigures| RuleRow {
            href: self.list(self.days.first, self.days.last, Some(&figures.rule)),
            n_findings: grouped(figures.n_findings),
            n_distinct: grouped(figures.n_distinct),
            dismissed: share(figures.n_dismissed, figures.n_distinct),
            rule: figures.rule.clone(),
        };
        let markup = chart::bars("rules", "Most frequent rules", &desc, &named);
        (!rules.is_empty()).then(|| RulesView { markup, rows: rules.iter().map(row).collect() })
    }
}

fn resolved_rate(figures: &Figures) -> Option<f64> {
    (figures.n_prior > 0).then(|| figures.n_resolved as f64 / figures.n_prior as f64 * 100.0)
}

/// A part of several, with how much of them it is.
fn share(part: u64, all: u64) -> String {
    if part == 0 {
        return "none".to_owned();
    }
    format!("{} ({:.0} %)", grouped(part), part as f64 / all.max(1) as f64 * 100.0)
}
