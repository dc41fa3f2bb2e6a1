//! How series are told apart: a colour of the page, and with it a pattern, a dash and a shape.

use crate::pages::markup::Builder;

/// A colour of the page with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    tone: Tone,
    pattern: Pattern,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tone {
    Accent,
    Ok,
    Warn,
    Bad,
    Info,
    Muted,
}

/// The colour of text over a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    Plain,
    Rising,
    Falling,
    Dots,
    Level,
    Crossed,
}

impl Look {
    pub(crate) const CRITICAL: Self = Self::new(Tone::Bad, Pattern::Plain);
    pub(crate) const HIGH: Self = Self::new(Tone::Bad, Pattern::Rising);
    pub(crate) const MEDIUM: Self = Self::new(Tone::Warn, Pattern::Dots);
    pub(crate) const LOW: Self = Self::new(Tone::Info, Pattern::Falling);
    pub(crate) const NIT: Self = Self::new(Tone::Muted, Pattern::Level);
    pub(crate) const PRAISE: Self = Self::new(Tone::Ok, Pattern::Crossed);

    pub(crate) const APPROVED: Self = Self::new(Tone::Ok, Pattern::Plain);
    pub(crate) const COMMENTED: Self = Self::new(Tone::Info, Pattern::Dots);
    pub(crate) const REFUSED: Self = Self::new(Tone::Bad, Pattern::Rising);
    pub(crate) const FAILED: Self = Self::new(Tone::Muted, Pattern::Crossed);

    /// The median and the 90th percentile.
    pub(crate) const MEDIAN: Self = Self::new(Tone::Accent, Pattern::Plain);
    pub(crate) const P90: Self = Self::new(Tone::Warn, Pattern::Level);

    /// Looks for things that have no colour of their own.
    pub(crate) const OTHERS: [Self; 6] = [
        Self::new(Tone::Accent, Pattern::Plain),
        Self::new(Tone::Bad, Pattern::Rising),
        Self::new(Tone::Warn, Pattern::Dots),
        Self::new(Tone::Ok, Pattern::Falling),
        Self::new(Tone::Info, Pattern::Level),
        Self::new(Tone::Muted, Pattern::Crossed),
    ];

    const fn new(tone: Tone, pattern: Pattern) -> Self {
        Self { tone, pattern }
    }

    /// Adds the name of its pattern in a chart.
    pub(super) fn name<'a>(&self, out: &'a mut Builder, chart: &str) -> &'a mut Builder {
        out.text(chart).tag("-").tag(self.tone()).tag("-").tag(self.pattern())
    }

    /// Adds its pattern to a chart.
    pub(super) fn define(&self, out: &mut Builder, chart: &str) {
        out.tag("<pattern id=\"");
        self.name(out, chart).tag("\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><rect class=\"");
        out.tag(self.fill()).tag("\" width=\"6\" height=\"6\"/>");
        let over = match self.pattern {
            Pattern::Plain => "",
            Pattern::Rising => "M-1 1L1 -1M0 6L6 0M5 7L7 5",
            Pattern::Falling => "M-1 5L1 7M0 0L6 6M5 -1L7 1",
            Pattern::Dots => "M1.5 1.5h.01M4.5 4.5h.01",
            Pattern::Level => "M0 3H6",
            Pattern::Crossed => "M0 3H6M3 0V6",
        };
        if !over.is_empty() {
            out.tag("<path class=\"over\" d=\"").tag(over).tag("\"/>");
        }
        out.tag("</pattern>");
    }

    /// The class of its line.
    pub(super) fn line(&self) -> &'static str {
        match (self.tone, self.pattern) {
            (Tone::Accent, Pattern::Plain) => "line-accent",
            (Tone::Accent, _) => "line-accent dashed",
            (Tone::Ok, _) => "line-ok",
            (Tone::Warn, _) => "line-warn dashed",
            (Tone::Bad, _) => "line-bad dashed",
            (Tone::Info, _) => "line-info",
            (Tone::Muted, _) => "line-muted",
        }
    }

    /// Adds a point of its line.
    pub(super) fn point(&self, out: &mut Builder, x: f64, y: f64) {
        if self.pattern == Pattern::Plain {
            out.tag("<circle class=\"")
                .tag(self.fill())
                .tag("\" cx=\"")
                .number(x)
                .tag("\" cy=\"")
                .number(y)
                .tag("\" r=\"2.5\"/>");
        } else {
            let (x, y) = (super::frame::round(x - 2.5), super::frame::round(y - 2.5));
            out.tag("<rect class=\"").tag(self.fill()).tag("\" x=\"").number(x).tag("\" y=\"").number(y);
            out.tag("\" width=\"5\" height=\"5\"/>");
        }
    }

    fn fill(&self) -> &'static str {
        match self.tone {
            Tone::Accent => "fill-accent",
            Tone::Ok => "fill-ok",
            Tone::Warn => "fill-warn",
            Tone::Bad => "fill-bad",
            Tone::Info => "fill-info",
            Tone::Muted => "fill-muted",
        }
    }

    fn tone(&self) -> &'static str {
        self.fill().trim_start_matches("fill-")
    }

    fn pattern(&self) -> &'static str {
        match self.pattern {
            Pattern::Plain => "plain",
            Pattern::Rising => "rising",
            Pattern::Falling => "falling",
            Pattern::Dots => "dots",
            Pattern::Level => "level",
            Pattern::Crossed => "crossed",
        }
    }
}

impl Pattern {
    /// Adds a square with the look, for a legend.
    pub(super) fn draw_swatch(look: &Look, out: &mut Builder, chart: &str) {
        out.tag("<svg class=\"swatch\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect width=\"12\" height=\"12\" fill=\"url(#");
        look.name(out, chart).tag(")\"/></svg>");
    }

    /// Adds a piece of a line with the look, for a legend.
    pub(super) fn draw_sample(look: &Look, out: &mut Builder, _: &str) {
        out.tag("<svg class=\"sample\" viewBox=\"0 0 24 12\" aria-hidden=\"true\"><path class=\"line ")
            .tag(look.line());
        out.tag("\" d=\"M0 6H24\"/>");
        look.point(out, 12.0, 6.0);
        out.tag("</svg>");
    }
}
