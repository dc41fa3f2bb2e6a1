//! Metrics in the Prometheus text format.
//!
//! Labels come from a fixed set, so no client can create time series. A family is always there, also when
//! there is nothing of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tollgate_engine::forge::app_registration::EVENTS;

mod page;
mod process;
mod stored;

use page::{Classes, Page, Type};
pub(crate) use stored::Figures;
use stored::Stored;

/// Upper bounds of the classes of durations, in seconds.
const BOUNDS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Webhook events that are counted by name, besides those that an app subscribes to.
const TOLD_TO_ALL: [&str; 3] = ["ping", "installation", "installation_repositories"];

/// A request that was answered, for a log. It names the route, not the path, so it holds nothing a client wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The method.
    pub method: String,
    /// The route, e.g. `/api/projects/{project}`; empty when none matched.
    pub route: String,
    /// The status of the response.
    pub status: u16,
    /// The duration.
    pub duration: Duration,
}

/// A callback for every request.
pub type Observer = Arc<dyn Fn(&Served) + Send + Sync>;

/// The counters and gauges.
#[derive(Debug)]
pub(crate) struct Metrics {
    counted: Mutex<Counted>,
    /// Gauges that are read from the database.
    pub(crate) stored: Stored,
}

#[derive(Debug, Default)]
struct Counted {
    by_status: BTreeMap<(String, String, u16), u64>,
    durations: BTreeMap<String, Durations>,
    deliveries: BTreeMap<(&'static str, &'static str), u64>,
}

#[derive(Debug, Default, Clone)]
struct Durations {
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

/// Gauges that are read at scrape time.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) connections: u64,
    pub(crate) listeners: u64,
    pub(crate) events_sent: u64,
    pub(crate) last_seq: u64,
    /// Now, in milliseconds since 1970.
    pub(crate) now_ms: u64,
}

impl Metrics {
    /// Begins to count.
    pub(crate) fn new() -> Self {
        process::begin();
        Self { counted: Mutex::default(), stored: Stored::default() }
    }

    /// Counts a request. Its route is one of ours, so there are only so many.
    pub(crate) fn count(&self, served: &Served) {
        let mut counted = self.lock();
        let key = (served.route.clone(), served.method.clone(), served.status);
        *counted.by_status.entry(key).or_default() += 1;
        let durations = counted.durations.entry(served.route.clone()).or_default();
        durations.count += 1;
        durations.sum += served.duration;
        let seconds = served.duration.as_secs_f64();
        for (count, bound) in durations.counts.iter_mut().zip(BOUNDS) {
            *count += u64::from(seconds <= bound);
        }
    }

    /// Counts a webhook delivery. Unknown events share one label.
    pub(crate) fn count_delivery(&self, event: Option<&str>, outcome: &'static str) {
        let known =
            |event: &str| EVENTS.into_iter().chain(TOLD_TO_ALL).find(|known| *known == event).unwrap_or("other");
        *self.lock().deliveries.entry((event.map_or("unknown", known), outcome)).or_default() += 1;
    }

    /// Everything as text.
    pub(crate) fn render(&self, gauges: &Gauges, figures: Option<&Figures>) -> String {
        let mut page = Page::default();
        self.lock().render(&mut page);
        let plain = [
            ("tollgate_connections", Type::Gauge, "Open connections.", gauges.connections),
            ("tollgate_listeners", Type::Gauge, "Clients that listen to events.", gauges.listeners),
            ("tollgate_events_sent_total", Type::Counter, "Events given to clients.", gauges.events_sent),
            ("tollgate_event_seq", Type::Counter, "The number of the last event.", gauges.last_seq),
        ];
        for (name, kind, help, value) in plain {
            page.family(name, kind, help).sample(&[], value);
        }
        stored::render(&mut page, figures, gauges.now_ms);
        process::render(&mut page);
        page.text()
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn render(&self, page: &mut Page) {
        let help = "Requests by route, method and status.";
        let mut requests = page.family("tollgate_http_requests_total", Type::Counter, help);
        for ((route, method, status), count) in &self.by_status {
            let status = status.to_string();
            requests.sample(&[("route", route), ("method", method), ("status", &status)], count);
        }
        let help = "Deliveries of code hosts by event and outcome.";
        let mut deliveries = page.family("tollgate_deliveries_total", Type::Counter, help);
        for ((event, outcome), count) in &self.deliveries {
            deliveries.sample(&[("event", event), ("outcome", outcome)], count);
        }
        let help = "How long answers took, by route.";
        let mut durations = page.family("tollgate_http_request_duration_seconds", Type::Histogram, help);
        for (route, of) in &self.durations {
            let (counts, count, sum) = (&of.counts[..], of.count, of.sum.as_secs_f64());
            durations.classes(&[("route", route)], Classes { bounds: &BOUNDS, counts, count, sum });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tollgate_engine::store::{Health, Jobs, Recent, Tallied};

    use super::*;

    /// A page on which everything has a value.
    fn full() -> String {
        let metrics = Metrics::new();
        for (status, milliseconds) in [(200, 2), (200, 70), (404, 1)] {
            metrics.count(&Served {
                method: "GET".to_owned(),
                route: "/api/projects".to_owned(),
                status,
                duration: Duration::from_millis(milliseconds),
            });
        }
        metrics.count_delivery(Some("push"), "accepted");
        let jobs = Jobs { kind: "review", queued: 2, running: 1, failed: 3, dead: 4, oldest_ms: Some(1_000) };
        let recent = Recent { result: "APPROVED".to_owned(), n_runs: 2, took_ms: 3_500, cost_usd: 0.25, n_tokens: 9 };
        let health = Health {
            jobs: vec![jobs],
            claims: vec![("pull", 12)],
            last_run: 7,
            recent: vec![recent.clone(), Recent { result: "FAILED".to_owned(), ..recent }],
            engine: "sqlite",
            n_bytes: Some(4_096),
            tallied: Tallied { too_late: 5, reconnects: 8, waiting: 9, ..Tallied::default() },
        };
        let github =
            tollgate_engine::forge::github::metrics::RequestCounts { answers: [1, 0, 0, 0, 2, 0], n_left: Some(4_999) };
        let (features, work) = (vec![("odd\"one".to_owned(), 2)], vec![("queued".to_owned(), 1)]);
        let figures = Figures { features, work, agents: 1, health, github };
        let gauges = Gauges { connections: 3, now_ms: 61_000, ..Gauges::default() };
        metrics.render(&gauges, Some(&figures))
    }

    /// The types of all families; panics when the text is not in the form of Prometheus.
    fn families(text: &str) -> BTreeMap<String, String> {
        let mut families = BTreeMap::new();
        let mut current: Option<(String, String)> = None;
        let mut seen = std::collections::BTreeSet::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, words) = help.split_once(' ').unwrap();
                assert!(words.ends_with('.'), "{line}");
                let kind = lines.next().unwrap().strip_prefix(&format!("# TYPE {name} ")).unwrap().to_owned();
                assert_eq!(families.insert(name.to_owned(), kind.clone()), None, "{name} is there twice");
                current = Some((name.to_owned(), kind));
                continue;
            }
            let (name, kind) = current.as_ref().unwrap();
            let (sample, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(seen.insert(sample.to_owned()), "{line} is there twice");
            let of = sample.split('{').next().unwrap();
            let suffixes: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(suffixes.iter().any(|suffix| of == format!("{name}{suffix}")), "{line} is not of {name}");
        }
        families
    }

    #[test]
    fn every_family_has_a_type_and_is_there_once() {
        let families = families(&full());
        for (name, kind) in &families {
            // A number that only grows, though it is no count.
            let is_counter = name.ends_with("_total") || name == "tollgate_event_seq";
            assert_eq!(kind == "counter", is_counter, "{name}");
        }
        assert_eq!(families["tollgate_http_request_duration_seconds"], "histogram");
        assert!(families.len() > 25);
    }

    #[test]
    fn an_unknown_figure_leaves_its_family_without_a_value() {
        let nothing = Metrics::new().render(&Gauges::default(), None);
        assert_eq!(families(&nothing), families(&full()));
        assert!(nothing.contains("\ntollgate_database_up 0\n"));
        assert!(!nothing.contains("\ntollgate_github_requests_left "));
    }

    #[test]
    fn labels_are_words_of_ours() {
        let known = ["route", "method", "status", "event", "outcome", "kind", "state", "result", "version", "le"];
        for line in full().lines().filter(|line| !line.starts_with('#')) {
            let labels = line.split_once('{').map_or("", |(_, labels)| labels.rsplit_once('}').unwrap().0);
            for label in labels.split("\",").filter(|label| !label.is_empty()) {
                let name = label.split_once("=\"").unwrap().0;
                assert!(known.contains(&name), "{line}");
            }
        }
        let metrics = Metrics::new();
        for n in 0..100 {
            metrics.count_delivery(Some(&format!("stranger-{n}")), "accepted");
        }
        let text = metrics.render(&Gauges::default(), None);
        assert!(text.contains("tollgate_deliveries_total{event=\"other\",outcome=\"accepted\"} 100\n"), "{text}");
    }

    #[test]
    fn figures_stand_where_they_belong() {
        let text = full();
        for line in [
            r#"tollgate_http_requests_total{route="/api/projects",method="GET",status="200"} 2"#,
            r#"tollgate_http_requests_total{route="/api/projects",method="GET",status="404"} 1"#,
            r#"tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="0.001"} 1"#,
            r#"tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="0.05"} 2"#,
            r#"tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="+Inf"} 3"#,
            r#"tollgate_http_request_duration_seconds_sum{route="/api/projects"} 0.073"#,
            r#"tollgate_http_request_duration_seconds_count{route="/api/projects"} 3"#,
            "tollgate_connections 3",
            r#"tollgate_features{status="odd\"one"} 2"#,
            r#"tollgate_jobs{kind="review",state="queued"} 2"#,
            r#"tollgate_jobs{kind="review",state="running"} 1"#,
            r#"tollgate_jobs{kind="review",state="failed"} 3"#,
            r#"tollgate_jobs{kind="review",state="dead"} 4"#,
            r#"tollgate_oldest_job_seconds{kind="review"} 60"#,
            r#"tollgate_claims_total{kind="pull"} 12"#,
            "tollgate_lost_claims_total 5",
            "tollgate_reviews_total 7",
            r#"tollgate_recent_reviews{result="FAILED"} 2"#,
            "tollgate_recent_review_seconds 7",
            "tollgate_recent_review_cost_usd 0.5",
            r#"tollgate_database_info{kind="sqlite"} 1"#,
            "tollgate_database_bytes 4096",
            "tollgate_database_waiting_writes 9",
            "tollgate_database_reconnects_total 8",
            "tollgate_database_up 1",
            r#"tollgate_github_answers_total{status="limited"} 2"#,
            "tollgate_github_requests_left 4999",
        ] {
            assert!(text.lines().any(|is| is == line), "{line} is missing in\n{text}");
        }
    }
}
