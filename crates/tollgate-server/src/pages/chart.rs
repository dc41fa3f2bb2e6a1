//! Charts, drawn here as SVG: bars on top of one another over time, lines over time, and bars side by side for names.
//!
//! A chart is as wide as there is room; colours are those of the page, by classes, so it is light and dark with it. What
//! a colour says, a pattern or a dash says as well, and every chart has a title, a description and a table with the same
//! figures, which is made by [`Chart::rows`].
//!
//! ```html
//! <svg class="chart" viewBox="0 0 440 220" role="img" aria-labelledby="severity-title severity-desc"> … </svg>
//! <ul class="legend"><li><svg …/> High</li> … </ul>
//! ```

use crate::pages::markup::{Builder, Markup};

mod frame;
mod look;
mod scale;

pub(crate) use look::Look;
pub(crate) use scale::Unit;

use frame::{Frame, HEIGHT, WIDTH};
use look::Pattern;

/// Figures over time.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// Its name on the page; other names are made of it.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// Its text alternative, one sentence.
    pub(crate) desc: String,
    /// What figures count.
    pub(crate) unit: Unit,
    /// The parts of the time, as an axis names them.
    pub(crate) labels: Vec<String>,
    /// The values of each part.
    pub(crate) series: Vec<Series>,
}

/// One of several things that a chart shows.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) look: Look,
    /// For each part; `None` where there is nothing to say.
    pub(crate) values: Vec<Option<f64>>,
}

impl Series {
    /// How many there are of something in each part.
    pub(crate) fn counts(name: &'static str, look: Look, values: impl Iterator<Item = u64>) -> Self {
        Self { name, look, values: values.map(|n| Some(n as f64)).collect() }
    }

    fn at(&self, index: usize) -> Option<f64> {
        // A value that is not finite cannot be drawn.
        self.values.get(index).copied().flatten().filter(|value| value.is_finite() && *value >= 0.0)
    }
}

impl Chart {
    /// True when there is nothing to draw.
    pub(crate) fn is_empty(&self) -> bool {
        let has_any =
            |series: &Series| (0..self.labels.len()).any(|index| series.at(index).is_some_and(|value| value > 0.0));
        !self.series.iter().any(has_any)
    }

    /// The headers of the table.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &'static str> {
        self.series.iter().map(|series| series.name)
    }

    /// The figures of each part, as a table shows them.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, Vec<String>)> {
        self.labels.iter().enumerate().map(|(index, label)| {
            let figure =
                |series: &Series| series.at(index).map_or_else(|| "–".to_owned(), |value| self.unit.words(value));
            (label.as_str(), self.series.iter().map(figure).collect())
        })
    }

    /// Bars, the series on top of one another.
    pub(crate) fn stacked(&self) -> Markup {
        let sum = |index| self.series.iter().filter_map(|series| series.at(index)).sum::<f64>();
        let most = (0..self.labels.len()).map(sum).fold(0.0, f64::max);
        let frame = Frame::new(self.unit, most, self.labels.len());
        let mut out = self.begin(&frame);
        for index in 0..self.labels.len() {
            let mut from = 0.0;
            out.tag("<g>");
            self.tell(&mut out, index);
            for series in &self.series {
                let Some(value) = series.at(index).filter(|value| *value > 0.0) else { continue };
                let (low, high) = (frame.y(from), frame.y(from + value));
                from += value;
                out.tag("<rect x=\"").number(frame.x(index)).tag("\" y=\"").number(high).tag("\" width=\"");
                out.number(frame.bar()).tag("\" height=\"").number(frame::round(low - high));
                out.tag("\" fill=\"url(#");
                series.look.name(&mut out, self.id).tag(")\"/>");
            }
            out.tag("</g>");
        }
        self.end(out, Pattern::draw_swatch)
    }

    /// Lines, each with points of its own shape.
    pub(crate) fn lines(&self) -> Markup {
        let all = || self.series.iter().flat_map(|series| (0..self.labels.len()).filter_map(|index| series.at(index)));
        let frame = Frame::new(self.unit, all().fold(0.0, f64::max), self.labels.len());
        let mut out = self.begin(&frame);
        for series in &self.series {
            out.tag("<path class=\"line ").tag(series.look.line()).tag("\" d=\"");
            let mut is_drawn = false;
            for index in 0..self.labels.len() {
                let Some(value) = series.at(index) else {
                    // Nothing leads over a time of which nothing is known.
                    is_drawn = false;
                    continue;
                };
                out.tag(if is_drawn { "L" } else { "M" });
                out.number(frame.middle(index)).tag(" ").number(frame.y(value));
                is_drawn = true;
            }
            out.tag("\"/>");
            for index in 0..self.labels.len() {
                if let Some(value) = series.at(index) {
                    series.look.point(&mut out, frame.middle(index), frame.y(value));
                }
            }
        }
        for index in 0..self.labels.len() {
            out.tag("<rect class=\"hit\" x=\"").number(frame.x(index)).tag("\" y=\"").number(frame::TOP);
            out.tag("\" width=\"")
                .number(frame.bar())
                .tag("\" height=\"")
                .number(frame::round(frame.y(0.0) - frame::TOP));
            out.tag("\">");
            self.tell(&mut out, index);
            out.tag("</rect>");
        }
        self.end(out, Pattern::draw_sample)
    }

    fn begin(&self, frame: &Frame) -> Builder {
        let mut out = Builder::default();
        open(&mut out, self.id, self.title, &self.desc, HEIGHT);
        out.tag("<defs>");
        for series in &self.series {
            series.look.define(&mut out, self.id);
        }
        out.tag("</defs>");
        frame.draw(&mut out, &self.labels);
        out
    }

    fn end(&self, mut out: Builder, sample: fn(&Look, &mut Builder, &str)) -> Markup {
        out.tag("</svg>");
        if self.series.len() > 1 {
            out.tag("<ul class=\"legend\">");
            for series in &self.series {
                out.tag("<li>");
                sample(&series.look, &mut out, self.id);
                out.tag(" ").text(series.name).tag("</li>");
            }
            out.tag("</ul>");
        }
        out.finish()
    }

    /// The tooltip of a part.
    fn tell(&self, out: &mut Builder, index: usize) {
        let said: Vec<String> = self
            .series
            .iter()
            .filter_map(|series| Some((series.name, series.at(index).filter(|value| *value > 0.0)?)))
            .map(|(name, value)| format!("{name} {}", self.unit.words(value)))
            .collect();
        let said = if said.is_empty() { "nothing".to_owned() } else { said.join(", ") };
        let label = self.labels.get(index).map_or("", String::as_str);
        out.tag("<title>").text(label).tag(": ").text(&said).tag("</title>");
    }
}

/// A name with a figure, and a part of it that is told apart.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) value: u64,
    /// The label behind the bar.
    pub(crate) words: String,
}

/// Bars side by side, one below the other, each with its name above it and its figure behind it.
pub(crate) fn bars(id: &'static str, title: &'static str, desc: &str, rows: &[Named]) -> Markup {
    const STEP: f64 = 34.0;
    let mut out = Builder::default();
    open(&mut out, id, title, desc, (rows.len() as f64 * STEP).max(STEP));
    let most = rows.iter().map(|row| row.value).max().unwrap_or(0).max(1) as f64;
    for (index, row) in rows.iter().enumerate() {
        let top = index as f64 * STEP;
        // Room for the figure behind the longest bar.
        let width = frame::round(row.value as f64 / most * (WIDTH - 90.0)).max(1.0);
        out.tag("<text class=\"name\" x=\"0\" y=\"")
            .number(top + 12.0)
            .tag("\">")
            .text(&shortened(&row.name))
            .tag("</text>");
        out.tag("<rect class=\"fill-accent\" x=\"0\" y=\"").number(top + 17.0).tag("\" height=\"9\" width=\"");
        out.number(width).tag("\"/><text x=\"").number(width + 6.0).tag("\" y=\"").number(top + 26.0).tag("\">");
        out.text(&row.words).tag("</text>");
    }
    out.tag("</svg>");
    out.finish()
}

fn open(out: &mut Builder, id: &'static str, title: &'static str, desc: &str, height: f64) {
    out.tag("<svg class=\"chart\" viewBox=\"0 0 ").number(WIDTH).tag(" ").number(height);
    out.tag("\" role=\"img\" aria-labelledby=\"").tag(id).tag("-title ").tag(id).tag("-desc\"><title id=\"").tag(id);
    out.tag("-title\">").tag(title).tag("</title><desc id=\"").tag(id).tag("-desc\">").text(desc).tag("</desc>");
}

/// A name that fits above a bar; the table has it whole.
fn shortened(name: &str) -> String {
    const MOST: usize = 52;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    name.chars().take(MOST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
