use insta::assert_snapshot;

use super::*;

fn chart(labels: &[&str], series: Vec<Series>) -> Chart {
    Chart {
        id: "severity",
        title: "Findings by severity",
        desc: "3 findings in 2 days".to_owned(),
        unit: Unit::Count,
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        series,
    }
}

/// The markup with a line for each element, which is how people can read it.
fn check(markup: &Markup) -> String {
    markup.0.replace("><", ">\n<")
}

#[test]
fn bars_stand_on_one_another_and_say_what_they_are() {
    let high = Series::counts("High", Look::HIGH, [1, 0].into_iter());
    let low = Series::counts("Low", Look::LOW, [2, 0].into_iter());
    assert_snapshot!(check(&chart(&["8 Jan", "9 Jan"], vec![high, low]).stacked()), @r#"
    <svg class="chart" viewBox="0 0 440 220" role="img" aria-labelledby="severity-title severity-desc">
    <title id="severity-title">Findings by severity</title>
    <desc id="severity-desc">3 findings in 2 days</desc>
    <defs>
    <pattern id="severity-bad-rising" width="6" height="6" patternUnits="userSpaceOnUse">
    <rect class="fill-bad" width="6" height="6"/>
    <path class="over" d="M-1 1L1 -1M0 6L6 0M5 7L7 5"/>
    </pattern>
    <pattern id="severity-info-falling" width="6" height="6" patternUnits="userSpaceOnUse">
    <rect class="fill-info" width="6" height="6"/>
    <path class="over" d="M-1 5L1 7M0 0L6 6M5 -1L7 1"/>
    </pattern>
    </defs>
    <g class="axis">
    <path d="M52 196H440"/>
    <text class="end" x="46" y="200">0</text>
    <path d="M52 134H440"/>
    <text class="end" x="46" y="138">1</text>
    <path d="M52 72H440"/>
    <text class="end" x="46" y="76">2</text>
    <path d="M52 10H440"/>
    <text class="end" x="46" y="14">3</text>
    <text class="middle" x="149" y="214">8 Jan</text>
    <text class="middle" x="343" y="214">9 Jan</text>
    </g>
    <g>
    <title>8 Jan: High 1, Low 2</title>
    <rect x="129" y="134" width="40" height="62" fill="url(#severity-bad-rising)"/>
    <rect x="129" y="10" width="40" height="124" fill="url(#severity-info-falling)"/>
    </g>
    <g>
    <title>9 Jan: nothing</title>
    </g>
    </svg>
    <ul class="legend">
    <li>
    <svg class="swatch" viewBox="0 0 12 12" aria-hidden="true">
    <rect width="12" height="12" fill="url(#severity-bad-rising)"/>
    </svg> High</li>
    <li>
    <svg class="swatch" viewBox="0 0 12 12" aria-hidden="true">
    <rect width="12" height="12" fill="url(#severity-info-falling)"/>
    </svg> Low</li>
    </ul>
    "#);
}

#[test]
fn lines_have_gaps_where_nothing_is_known() {
    let median = Series { name: "median", look: Look::MEDIAN, values: vec![Some(1.0), None, Some(2.0), Some(1.0)] };
    let markup = check(&chart(&["a", "b", "c", "d"], vec![median]).lines());
    let line = markup.lines().find(|line| line.contains("class=\"line ")).unwrap();
    assert_snapshot!(line, @r#"<path class="line line-accent" d="M100.5 103M294.5 10L391.5 103"/>"#);
    assert_eq!(markup.matches("<circle").count(), 3);
    assert!(!markup.contains("legend"), "a single line needs none");
}

#[test]
fn names_stand_beside_their_bars() {
    let row = |name: &str, value: u64| Named { name: name.to_owned(), value, words: value.to_string() };
    assert_snapshot!(check(&bars("rules", "Rules", "two rules", &[row("loud", 10), row("calm", 1)])), @r#"
    <svg class="chart" viewBox="0 0 440 68" role="img" aria-labelledby="rules-title rules-desc">
    <title id="rules-title">Rules</title>
    <desc id="rules-desc">two rules</desc>
    <text class="name" x="0" y="12">loud</text>
    <rect class="fill-accent" x="0" y="17" height="9" width="350"/>
    <text x="356" y="26">10</text>
    <text class="name" x="0" y="46">calm</text>
    <rect class="fill-accent" x="0" y="51" height="9" width="35"/>
    <text x="41" y="60">1</text>
    </svg>
    "#);
}

#[test]
fn untrusted_text_is_escaped() {
    let hostile = "</text><script>alert(1)</script>\u{202e}\"x='";
    let row = Named { name: hostile.to_owned(), value: 1, words: hostile.to_owned() };
    let one = Series::counts("n", Look::LOW, [1].into_iter());
    let charts = [
        bars("rules", "Rules", hostile, &[row]),
        Chart { desc: hostile.to_owned(), ..chart(&[hostile], vec![one]) }.stacked(),
    ];
    for markup in charts {
        assert!(!markup.0.contains("<script") && !markup.0.contains('\u{202e}'), "{}", markup.0);
        assert!(markup.0.contains("&lt;script&gt;"));
    }
}

#[test]
fn odd_figures_do_no_harm() {
    let values = vec![Some(f64::NAN), Some(f64::INFINITY), Some(-3.0), None, Some(1e300)];
    let odd = Series { name: "odd", look: Look::P90, values };
    let drawn = chart(&["a", "b", "c", "d", "e", "f"], vec![odd]);
    for markup in [drawn.stacked(), drawn.lines()] {
        assert!(!markup.0.contains("NaN") && !markup.0.contains("inf"), "{}", markup.0);
    }
    let rows: Vec<String> = drawn.rows().map(|(_, figures)| figures.join("")).collect();
    assert_eq!(rows[..4], ["–", "–", "–", "–"]);
    let none = chart(&[], vec![]);
    assert!(none.is_empty() && none.stacked().0.ends_with("</svg>"));
}
