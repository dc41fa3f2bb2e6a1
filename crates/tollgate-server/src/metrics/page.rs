//! The text form of Prometheus: families with a name, a type and help, and samples with labels.

use std::fmt::{Display, Write as _};

/// The exposition under construction.
#[derive(Debug, Default)]
pub(super) struct Page(String);

/// What a family is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    /// It only grows, until the process ends.
    Counter,
    /// It can be anything.
    Gauge,
    /// Values by classes.
    Histogram,
}

/// Values by classes: how many are not larger than the bound of each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Classes<'a> {
    pub(super) bounds: &'a [f64],
    pub(super) counts: &'a [u64],
    pub(super) count: u64,
    pub(super) sum: f64,
}

impl Page {
    /// Begins a family.
    pub(super) fn family(&mut self, name: &'static str, kind: Type, help: &str) -> Family<'_> {
        let kind = match kind {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
        };
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family { page: &mut self.0, name }
    }

    /// The whole text.
    pub(super) fn text(self) -> String {
        self.0
    }
}

/// A family that samples are added to.
pub(super) struct Family<'a> {
    page: &'a mut String,
    name: &'static str,
}

impl Family<'_> {
    /// Adds a sample.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.line("", labels, value);
    }

    /// Adds a sample for each class, and their sum.
    pub(super) fn classes(&mut self, labels: &[(&str, &str)], classes: Classes<'_>) {
        let bounds = classes.bounds.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(classes.counts.iter().chain([&classes.count])) {
            let labels: Vec<(&str, &str)> = labels.iter().copied().chain([("le", bound.as_str())]).collect();
            self.line("_bucket", &labels, count);
        }
        self.line("_sum", labels, classes.sum);
        self.line("_count", labels, classes.count);
    }

    fn line(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.page, "{}{suffix}{labels} {value}", self.name);
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
