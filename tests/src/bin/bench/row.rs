//! A row of the table: what it is called and, once measured, what came out.

use std::fmt;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// A measured value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// `what_unit/variant`.
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// The upper limit of the value.
    pub(crate) target: Option<f64>,
}

impl Row {
    pub(crate) fn new(name: impl Into<String>, unit: &'static str) -> Row {
        Row {
            name: name.into(),
            unit,
            target: None,
        }
    }

    pub(crate) fn target(self, target: f64) -> Row {
        Row {
            target: Some(target),
            ..self
        }
    }

    /// The row with its value, which so many samples stand behind.
    pub(crate) fn measured(self, value: f64, samples: usize) -> Measured {
        Measured {
            name: self.name,
            value,
            unit: self.unit.to_owned(),
            samples,
            baseline: None,
            ratio: None,
            target: self.target,
        }
    }
}

/// A row that was measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: String,
    pub(crate) samples: usize,
    /// The value of the baseline.
    pub(crate) baseline: Option<f64>,
    /// How many times the baseline it is.
    pub(crate) ratio: Option<f64>,
    pub(crate) target: Option<f64>,
}

impl Measured {
    /// The row in comparison with something else.
    pub(crate) fn compared(self, baseline: f64, ratio: f64) -> Measured {
        Measured {
            baseline: Some(baseline),
            ratio: Some(ratio),
            ..self
        }
    }

    /// Returns `true` if the target is met; `None` without a target.
    pub(crate) fn is_met(&self) -> Option<bool> {
        self.target.map(|target| self.value <= target)
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "samples": self.samples,
            "baseline": self.baseline,
            "ratio": self.ratio,
            "target": self.target,
        })
    }

    pub(crate) fn from_json(json: &Value) -> Result<Measured> {
        let text = |key: &str| json[key].as_str().map(str::to_owned);
        let read = || {
            Some(Measured {
                name: text("name")?,
                value: json["value"].as_f64()?,
                unit: text("unit")?,
                samples: usize::try_from(json["samples"].as_u64()?).ok()?,
                baseline: json["baseline"].as_f64(),
                ratio: json["ratio"].as_f64(),
                target: json["target"].as_f64(),
            })
        };
        read().with_context(|| format!("expected a measured row, got {json}"))
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, number(self.value), self.unit)
    }
}

/// Three figures or a little more: the machine is not steadier than that.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        small if small < 10.0 => format!("{value:.2}"),
        medium if medium < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let plain = Row::new("a_ns/b", "ns").measured(1.5, 3);
        let compared = Row::new("a_ratio/b", "ratio")
            .target(1.2)
            .measured(1.25, 9)
            .compared(29.0, 1.25);
        assert_eq!(plain.to_json()["target"], Value::Null);
        for row in [plain, compared] {
            assert_eq!(Measured::from_json(&row.to_json()).unwrap(), row);
        }
    }

    #[test]
    fn a_target_is_met_up_to_itself() {
        let row = |value| Row::new("a", "ms").target(50.0).measured(value, 1).is_met();
        assert_eq!((row(50.0), row(50.1)), (Some(true), Some(false)));
        assert_eq!(Row::new("a", "ms").measured(1.0, 1).is_met(), None);
    }
}
