//! The table, and the same as JSON.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::measure::{Compared, Spread};

#[derive(Default)]
pub struct Table(Vec<Row>);

struct Row {
    what: String,
    ours: String,
    reference: String,
    ratio: Option<Spread>,
    bar: Option<Bar>,
    json: Value,
}

#[derive(Clone, Copy)]
pub enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

impl Bar {
    fn met(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtMost(most) => format!("≤ {}", short(most)),
            Self::AtLeast(least) => format!("≥ {}", short(least)),
        }
    }
}

impl Table {
    /// Two times in turns. The ratio is ours to the reference, or the other way round where the bar is how much faster.
    pub fn compared(&mut self, what: &str, compared: &Compared, bar: Option<Bar>) {
        let ratio = match bar {
            Some(Bar::AtLeast(_)) => {
                let Spread { median, low, high } = compared.ratio;
                Spread { median: 1.0 / median, low: 1.0 / high, high: 1.0 / low }
            }
            _ => compared.ratio,
        };
        let (ours, reference) = (time(compared.ours.median), time(compared.reference.median));
        self.add(what, ours, reference, Some(ratio), bar);
    }

    /// Two values that were taken once.
    pub fn values(&mut self, what: &str, ours: f64, reference: f64, unit: &str, bar: Option<Bar>) {
        let ratio = if matches!(bar, Some(Bar::AtLeast(_))) { reference / ours } else { ours / reference };
        let ratio = Spread { median: ratio, low: ratio, high: ratio };
        self.add(what, format!("{ours:.1} {unit}"), format!("{reference:.1} {unit}"), Some(ratio), bar);
    }

    /// A value with nothing to compare it with; the bar is on the value.
    pub fn value(&mut self, what: &str, value: f64, unit: &str, bar: Option<Bar>) {
        let met = bar.map(|bar| bar.met(value));
        let json =
            json!({ "what": what, "ours": value, "unit": unit, "bar": bar.map(Bar::text), "met": met });
        self.push(
            Row {
                what: what.into(),
                ours: format!("{value:.1} {unit}"),
                reference: String::new(),
                ratio: None,
                bar,
                json,
            },
            met,
        );
    }

    /// What could not be measured here.
    pub fn skipped(&mut self, what: &str, why: &str) {
        let json = json!({ "what": what, "skipped": why });
        let ours = format!("SKIPPED: {why}");
        self.push(
            Row { what: what.into(), ours, reference: String::new(), ratio: None, bar: None, json },
            None,
        );
    }

    fn add(&mut self, what: &str, ours: String, reference: String, ratio: Option<Spread>, bar: Option<Bar>) {
        let met = bar.zip(ratio).map(|(bar, ratio)| bar.met(ratio.median));
        let json = json!({
            "what": what, "ours": ours, "reference": reference, "bar": bar.map(Bar::text), "met": met,
            "ratio": ratio.map(|ratio| [ratio.low, ratio.median, ratio.high]),
        });
        self.push(Row { what: what.into(), ours, reference, ratio, bar, json }, met);
    }

    fn push(&mut self, row: Row, met: Option<bool>) {
        if self.0.is_empty() {
            println!(
                "| what | ours | reference | ratio (middle half) | bar | met |\n|---|--:|--:|--:|--:|---|"
            );
        }
        let ratio = row.ratio.map(|Spread { median, low, high }| format!("{median:.2} ({low:.2}–{high:.2})"));
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            row.what,
            row.ours,
            row.reference,
            ratio.unwrap_or_default(),
            row.bar.map(Bar::text).unwrap_or_default(),
            met.map_or("", |met| if met { "yes" } else { "**no**" })
        );
        self.0.push(row);
    }

    pub fn write_json(&self) -> std::io::Result<PathBuf> {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        fs::create_dir_all(&target)?;
        let path = target.join("benches.json");
        let rows: Vec<_> = self.0.iter().map(|row| &row.json).collect();
        fs::write(&path, serde_json::to_string_pretty(&rows)?)?;
        Ok(path)
    }
}

fn short(bar: f64) -> String {
    let text = format!("{bar:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn time(nanos: f64) -> String {
    if nanos < 10_000.0 { format!("{nanos:.0} ns") } else { format!("{:.1} µs", nanos / 1000.0) }
}
