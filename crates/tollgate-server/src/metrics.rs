//! Figures for those who watch, in the text form of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tollgate_engine::forge::own_app::EVENTS;

use crate::app::Served;
use crate::desk::Figures;

/// Upper bounds of the classes of durations, in seconds.
const BOUNDS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Events of deliveries that are counted by their names, beside those that an app asks for.
const TOLD_TO_ALL: [&str; 3] = ["ping", "installation", "installation_repositories"];

/// What is counted.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    by_status: BTreeMap<(String, String, u16), u64>,
    durations: BTreeMap<String, Histogram>,
    deliveries: BTreeMap<(&'static str, &'static str), u64>,
}

#[derive(Debug, Default, Clone)]
struct Histogram {
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

/// What is looked up at the moment.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) connections: u64,
    pub(crate) listeners: u64,
    pub(crate) events_sent: u64,
    pub(crate) last_seq: u64,
}

impl Metrics {
    /// Counts a request. Its route is one of ours, so there are only so many.
    pub(crate) fn count(&self, served: &Served) {
        let mut counted = self.lock();
        let key = (served.route.clone(), served.method.clone(), served.status);
        *counted.by_status.entry(key).or_default() += 1;
        let histogram = counted.durations.entry(served.route.clone()).or_default();
        histogram.count += 1;
        histogram.sum += served.duration;
        let seconds = served.duration.as_secs_f64();
        for (count, bound) in histogram.counts.iter_mut().zip(BOUNDS) {
            *count += u64::from(seconds <= bound);
        }
    }

    /// Counts a delivery of a code host. Events that nobody here knows share one name.
    pub(crate) fn count_delivery(&self, event: Option<&str>, outcome: &'static str) {
        let known =
            |event: &str| EVENTS.into_iter().chain(TOLD_TO_ALL).find(|known| *known == event).unwrap_or("other");
        *self.lock().deliveries.entry((event.map_or("unknown", known), outcome)).or_default() += 1;
    }

    /// Everything as text.
    pub(crate) fn render(&self, gauges: &Gauges, figures: Option<&Figures>) -> String {
        let mut page = String::new();
        self.lock().render(&mut page);
        let plain = [
            ("tollgate_connections", "gauge", "Open connections.", gauges.connections),
            ("tollgate_listeners", "gauge", "Clients that listen to events.", gauges.listeners),
            ("tollgate_events_sent_total", "counter", "Events given to clients.", gauges.events_sent),
            ("tollgate_event_seq", "counter", "The number of the last event.", gauges.last_seq),
        ];
        for (name, kind, help, value) in plain {
            head(&mut page, name, kind, help);
            let _ = writeln!(page, "{name} {value}");
        }
        if let Some(figures) = figures {
            by_label(&mut page, "tollgate_features", "Features by column.", "status", &figures.features);
            by_label(&mut page, "tollgate_work", "Work that is owed, by kind.", "kind", &figures.work);
            head(&mut page, "tollgate_agents_running", "gauge", "Agents that run.");
            let _ = writeln!(page, "tollgate_agents_running {}", figures.agents);
        }
        page
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn render(&self, page: &mut String) {
        head(page, "tollgate_http_requests_total", "counter", "Requests by route, method and status.");
        for ((route, method, status), count) in &self.by_status {
            let (route, method) = (escape(route), escape(method));
            let _ = writeln!(
                page,
                "tollgate_http_requests_total{{route=\"{route}\",method=\"{method}\",status=\"{status}\"}} {count}"
            );
        }
        head(page, "tollgate_deliveries_total", "counter", "Deliveries of code hosts by event and outcome.");
        for ((event, outcome), count) in &self.deliveries {
            let _ = writeln!(page, "tollgate_deliveries_total{{event=\"{event}\",outcome=\"{outcome}\"}} {count}");
        }
        head(page, "tollgate_http_request_duration_seconds", "histogram", "How long answers took, by route.");
        for (route, histogram) in &self.durations {
            histogram.render(page, &escape(route));
        }
    }
}

impl Histogram {
    fn render(&self, page: &mut String, route: &str) {
        let name = "tollgate_http_request_duration_seconds";
        for (count, bound) in self.counts.iter().zip(BOUNDS) {
            let _ = writeln!(page, "{name}_bucket{{route=\"{route}\",le=\"{bound}\"}} {count}");
        }
        let _ = writeln!(page, "{name}_bucket{{route=\"{route}\",le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(page, "{name}_sum{{route=\"{route}\"}} {}", self.sum.as_secs_f64());
        let _ = writeln!(page, "{name}_count{{route=\"{route}\"}} {}", self.count);
    }
}

fn by_label(page: &mut String, name: &str, help: &str, label: &str, values: &[(String, u64)]) {
    head(page, name, "gauge", help);
    for (word, count) in values {
        let _ = writeln!(page, "{name}{{{label}=\"{}\"}} {count}", escape(word));
    }
}

fn head(page: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn requests_are_counted_by_route_and_status_and_time() {
        let metrics = Metrics::default();
        for (status, milliseconds) in [(200, 2), (200, 70), (404, 1)] {
            metrics.count(&Served {
                method: "GET".to_owned(),
                route: "/api/projects".to_owned(),
                status,
                duration: Duration::from_millis(milliseconds),
            });
        }
        let figures =
            Figures { features: vec![("odd\"one".to_owned(), 2)], work: vec![("queued".to_owned(), 1)], agents: 1 };
        assert_snapshot!(metrics.render(&Gauges { connections: 3, ..Gauges::default() }, Some(&figures)), @r#"
        # HELP tollgate_http_requests_total Requests by route, method and status.
        # TYPE tollgate_http_requests_total counter
        tollgate_http_requests_total{route="/api/projects",method="GET",status="200"} 2
        tollgate_http_requests_total{route="/api/projects",method="GET",status="404"} 1
        # HELP tollgate_deliveries_total Deliveries of code hosts by event and outcome.
        # TYPE tollgate_deliveries_total counter
        # HELP tollgate_http_request_duration_seconds How long answers took, by route.
        # TYPE tollgate_http_request_duration_seconds histogram
        tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="0.001"} 1
        tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="0.005"} 2
        tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="0.01"} 2
        tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="0.05"} 2
        tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="0.1"} 3
        tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="0.5"} 3
        tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="1"} 3
        tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="5"} 3
        tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="30"} 3
        tollgate_http_request_duration_seconds_bucket{route="/api/projects",le="+Inf"} 3
        tollgate_http_request_duration_seconds_sum{route="/api/projects"} 0.073
        tollgate_http_request_duration_seconds_count{route="/api/projects"} 3
        # HELP tollgate_connections Open connections.
        # TYPE tollgate_connections gauge
        tollgate_connections 3
        # HELP tollgate_listeners Clients that listen to events.
        # TYPE tollgate_listeners gauge
        tollgate_listeners 0
        # HELP tollgate_events_sent_total Events given to clients.
        # TYPE tollgate_events_sent_total counter
        tollgate_events_sent_total 0
        # HELP tollgate_event_seq The number of the last event.
        # TYPE tollgate_event_seq counter
        tollgate_event_seq 0
        # HELP tollgate_features Features by column.
        # TYPE tollgate_features gauge
        tollgate_features{status="odd\"one"} 2
        # HELP tollgate_work Work that is owed, by kind.
        # TYPE tollgate_work gauge
        tollgate_work{kind="queued"} 1
        # HELP tollgate_agents_running Agents that run.
        # TYPE tollgate_agents_running gauge
        tollgate_agents_running 1
        "#);
    }
}
