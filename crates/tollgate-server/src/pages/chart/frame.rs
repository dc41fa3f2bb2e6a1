//! Layout of a chart over time: the axes and the plot area.

use crate::pages::chart::scale::{self, Unit};
use crate::pages::markup::Builder;

/// A chart is so wide, in units of its own; a page shows it as wide as there is room.
pub(super) const WIDTH: f64 = 440.0;
pub(super) const HEIGHT: f64 = 220.0;
/// The highest place of a figure.
pub(super) const TOP: f64 = 10.0;
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 24.0;
/// So wide a name of a day is on a phone, where letters are large, with some room.
const LABEL: f64 = 78.0;

/// Where things are.
pub(super) struct Frame {
    unit: Unit,
    ticks: Vec<f64>,
    n_parts: usize,
}

impl Frame {
    pub(super) fn new(unit: Unit, most: f64, n_parts: usize) -> Self {
        Self { unit, ticks: scale::ticks(unit, most), n_parts: n_parts.max(1) }
    }

    fn step(&self) -> f64 {
        (WIDTH - LEFT) / self.n_parts as f64
    }

    /// The left side of a bar.
    pub(super) fn x(&self, index: usize) -> f64 {
        round(LEFT + index as f64 * self.step() + self.gap() / 2.0)
    }

    /// The middle of a part.
    pub(super) fn middle(&self, index: usize) -> f64 {
        round(LEFT + (index as f64 + 0.5) * self.step())
    }

    /// How wide a bar is.
    pub(super) fn bar(&self) -> f64 {
        round((self.step() - self.gap()).clamp(0.5, 40.0))
    }

    fn gap(&self) -> f64 {
        // A single bar stands in the middle and is not as wide as the chart.
        (self.step() * 0.2).min(4.0).max(self.step() - 40.0)
    }

    /// The height of a figure.
    pub(super) fn y(&self, value: f64) -> f64 {
        let highest = self.ticks.last().copied().unwrap_or(1.0);
        round(HEIGHT - BOTTOM - (value / highest).clamp(0.0, 1.0) * (HEIGHT - BOTTOM - TOP))
    }

    /// Draws the axes.
    pub(super) fn draw(&self, out: &mut Builder, labels: &[String]) {
        out.tag("<g class=\"axis\">");
        for &tick in &self.ticks {
            let y = self.y(tick);
            out.tag("<path d=\"M").number(LEFT).tag(" ").number(y).tag("H").number(WIDTH).tag("\"/>");
            out.tag("<text class=\"end\" x=\"").number(LEFT - 6.0).tag("\" y=\"").number(y + 4.0).tag("\">");
            out.text(&self.unit.short(tick)).tag("</text>");
        }
        for index in named(labels.len(), self.step()) {
            // The first and the last would stand out of the chart.
            let x = self.middle(index).clamp(LEFT + 16.0, WIDTH - 24.0);
            out.tag("<text class=\"middle\" x=\"").number(round(x)).tag("\" y=\"").number(HEIGHT - 6.0).tag("\">");
            out.text(&labels[index]).tag("</text>");
        }
        out.tag("</g>");
    }
}

/// Which parts are named below the axis, so that names do not run into one another.
fn named(n_parts: usize, step: f64) -> impl Iterator<Item = usize> {
    let every = (LABEL / step).ceil().max(1.0) as usize;
    (0..n_parts).step_by(every)
}

/// A coordinate rounded to a tenth, finer than the eye sees.
pub(super) fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
