//! Gauges that are read from the database, cached so that frequent scrapes cost nothing.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tollgate_core::board::machine::Status;
use tollgate_engine::board::Board;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::github::metrics as github_metrics;
use tollgate_engine::store::tally::{SECONDS, WRITES};
use tollgate_engine::store::{Health, Tallied};

use super::page::{Classes, Page, Type};

/// So long is counted once.
const COUNT_EVERY: Duration = Duration::from_secs(5);

/// Figures that are counted in the database.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Figures {
    /// Features by column.
    pub(crate) features: Vec<(String, u64)>,
    /// Queued work of features, by kind.
    pub(crate) work: Vec<(String, u64)>,
    /// Running agents.
    pub(crate) agents: u64,
    /// The queue and the health of the database.
    pub(crate) health: Health,
    /// Requests to GitHub.
    pub(crate) github: github_metrics::RequestCounts,
}

impl Figures {
    /// Counts everything.
    pub(crate) fn read(board: &Board) -> Result<Self, Failure> {
        let database = board.database();
        let mut features: Vec<(String, u64)> = Vec::new();
        for project in database.projects()? {
            for (status, n) in database.column_counts(project.id)? {
                let word = match status {
                    // Any word may stand in a file; labels must stay few.
                    Status::Other(_) => "other".to_owned(),
                    status => status.to_string(),
                };
                match features.iter_mut().find(|(known, _)| *known == word) {
                    Some((_, sum)) => *sum += n as u64,
                    None => features.push((word, n as u64)),
                }
            }
        }
        let work = database.work_counts()?.into_iter().map(|(work, n)| (work.as_str().to_owned(), n as u64)).collect();
        let agents = database.processes()?.len() as u64;
        let health = database.health(database.now_ms())?;
        Ok(Self { features, work, agents, health, github: github_metrics::read() })
    }
}

/// The figures of the last count.
#[derive(Debug, Default)]
pub(crate) struct Stored(Mutex<Option<(Instant, Option<Figures>)>>);

impl Stored {
    /// The gauges; `None` when they cannot be read. Concurrent scrapes wait for one query.
    pub(crate) async fn get(&self, now: Instant, count: impl AsyncFnOnce() -> Option<Figures>) -> Option<Figures> {
        let mut last = self.0.lock().await;
        if let Some((at, figures)) = &*last
            && now.saturating_duration_since(*at) < COUNT_EVERY
        {
            return figures.clone();
        }
        let figures = count().await;
        *last = Some((now, figures.clone()));
        figures
    }
}

/// Writes the gauges. Every metric family is present, also when the query failed.
pub(super) fn render(page: &mut Page, figures: Option<&Figures>, now_ms: u64) {
    let empty = Figures::default();
    page.family("tollgate_database_up", Type::Gauge, "1 while the database answers.")
        .sample(&[], u8::from(figures.is_some()));
    let figures = figures.unwrap_or(&empty);
    let mut features = page.family("tollgate_features", Type::Gauge, "Features by column.");
    for (status, n) in &figures.features {
        features.sample(&[("status", status)], n);
    }
    let mut work = page.family("tollgate_work", Type::Gauge, "Queued jobs of features, by kind.");
    for (kind, n) in &figures.work {
        work.sample(&[("kind", kind)], n);
    }
    page.family("tollgate_agents_running", Type::Gauge, "Agents that run.").sample(&[], figures.agents);
    queue(page, &figures.health, now_ms);
    reviews(page, &figures.health);
    database(page, &figures.health);
    github(page, &figures.github);
}

fn queue(page: &mut Page, health: &Health, now_ms: u64) {
    let mut jobs = page.family("tollgate_jobs", Type::Gauge, "Jobs in the whole database, by kind and state.");
    for of in &health.jobs {
        for (state, n) in [("queued", of.queued), ("running", of.running), ("failed", of.failed), ("dead", of.dead)] {
            jobs.sample(&[("kind", of.kind), ("state", state)], n);
        }
    }
    let help = "Age of the oldest queued job, by kind; 0 when the queue is empty.";
    let mut oldest = page.family("tollgate_oldest_job_seconds", Type::Gauge, help);
    for of in &health.jobs {
        let waited = of.oldest_ms.map_or(0, |since_ms| now_ms.saturating_sub(since_ms));
        oldest.sample(&[("kind", of.kind)], waited as f64 / 1e3);
    }
    let help = "Claims there ever were in the whole database, first ones and later ones, by kind.";
    let mut claims = page.family("tollgate_claims_total", Type::Counter, help);
    for (kind, n) in &health.claims {
        claims.sample(&[("kind", kind)], n);
    }
    let help = "Writes of this process that were refused because its claim was lost.";
    page.family("tollgate_lost_claims_total", Type::Counter, help).sample(&[], health.tallied.too_late);
}

fn reviews(page: &mut Page, health: &Health) {
    let help = "The number of the last stored review of the whole database.";
    page.family("tollgate_reviews_total", Type::Counter, help).sample(&[], health.last_run);
    let help = "Reviews of the last hour in the whole database, by how they ended.";
    let mut recent = page.family("tollgate_recent_reviews", Type::Gauge, help);
    for of in &health.recent {
        recent.sample(&[("result", &of.result)], of.n_runs);
    }
    let sum = |value: fn(&tollgate_engine::store::Recent) -> f64| health.recent.iter().map(value).sum::<f64>();
    let plain = [
        ("tollgate_recent_review_seconds", "How long the reviews of the last hour took together.", {
            sum(|of| of.took_ms as f64 / 1e3)
        }),
        ("tollgate_recent_review_cost_usd", "What models took for the reviews of the last hour, in US dollars.", {
            sum(|of| of.cost_usd)
        }),
        ("tollgate_recent_review_tokens", "Tokens that models read and wrote for the reviews of the last hour.", {
            sum(|of| of.n_tokens as f64)
        }),
    ];
    for (name, help, value) in plain {
        page.family(name, Type::Gauge, help).sample(&[], value);
    }
}

fn database(page: &mut Page, health: &Health) {
    let mut info = page.family("tollgate_database_info", Type::Gauge, "Always 1; the kind of the database.");
    if !health.engine.is_empty() {
        info.sample(&[("kind", health.engine)], 1);
    }
    let mut bytes =
        page.family("tollgate_database_bytes", Type::Gauge, "How large the database is, where that is known.");
    if let Some(n_bytes) = health.n_bytes {
        bytes.sample(&[], n_bytes);
    }
    let Tallied { waiting, commits, failures, reconnects, seconds, writes, .. } = &health.tallied;
    let help = "Writes of this process that wait for their turn.";
    page.family("tollgate_database_waiting_writes", Type::Gauge, help).sample(&[], waiting);
    let mut ended =
        page.family("tollgate_database_commits_total", Type::Counter, "Commits of this process, by outcome.");
    ended.sample(&[("outcome", "committed")], commits);
    ended.sample(&[("outcome", "failed")], failures);
    let help = "Connections of this process to the database that were lost and made again.";
    page.family("tollgate_database_reconnects_total", Type::Counter, help).sample(&[], reconnects);
    for (name, help, bounds, spread) in [
        ("tollgate_database_commit_seconds", "How long a commit took.", &SECONDS[..], seconds),
        ("tollgate_database_commit_writes", "How many writes were committed at once.", &WRITES[..], writes),
    ] {
        // Nothing is counted before the first commit.
        let none = vec![0; bounds.len()];
        let counts = if spread.counts.is_empty() { &none } else { &spread.counts };
        let classes = Classes { bounds, counts, count: spread.count, sum: spread.sum };
        page.family(name, Type::Histogram, help).classes(&[], classes);
    }
}

fn github(page: &mut Page, tallied: &github_metrics::RequestCounts) {
    let help = "Answers of GitHub to this process, by class of status; `none` is no answer at all.";
    let mut answers = page.family("tollgate_github_answers_total", Type::Counter, help);
    for (class, n) in github_metrics::CLASSES.iter().zip(tallied.answers) {
        answers.sample(&[("status", class)], n);
    }
    let help = "How many requests GitHub allows before it wants none for a while, by its last answer.";
    let mut left = page.family("tollgate_github_requests_left", Type::Gauge, help);
    if let Some(n_left) = tallied.n_left {
        left.sample(&[], n_left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn figures_are_cached_for_a_while() {
        let stored = Stored::default();
        let begun = Instant::now();
        let of = |agents| Some(Figures { agents, ..Figures::default() });
        let agents = async |after, n| {
            let figures = stored.get(begun + Duration::from_millis(after), async || of(n)).await;
            figures.unwrap().agents
        };
        assert_eq!(agents(0, 1).await, 1);
        assert_eq!(agents(4_999, 2).await, 1);
        assert_eq!(agents(5_000, 3).await, 3);
        // That nothing could be counted is also remembered.
        let later = begun + Duration::from_secs(20);
        assert_eq!(stored.get(later, async || None).await, None);
        assert_eq!(stored.get(later, async || of(4)).await, None);
    }
}
