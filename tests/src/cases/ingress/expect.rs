//! Expected values: numbers and their ranges, statuses and their classes.

use serde_json::Value;

/// Compares a number with an expectation: `3`, `"2..5"` (both included), `">=2"`, `"<=5"`, `">2"`, `"<5"`; with `%` behind a
/// number, in hundredths of `whole`. A list: any of these.
///
/// # Errors
/// When the expectation cannot be read.
pub fn number(expected: &Value, actual: f64, whole: f64) -> Result<bool, String> {
    let unknown = || {
        format!("expected a number or a range (\"low..high\", \">=n\", \"<=n\"), got {expected}")
    };
    match expected {
        Value::Number(number) => Ok(number.as_f64().is_some_and(|number| number == actual)),
        Value::String(text) => Span::parse(text, whole)
            .map(|span| span.holds(actual))
            .ok_or_else(unknown),
        Value::Array(any) => any
            .iter()
            .try_fold(false, |held, one| Ok(held | number(one, actual, whole)?)),
        _ => Err(unknown()),
    }
}

/// Compares a status with an expectation: `404`, `"404"`, `"5xx"`, a range, or a list of those.
///
/// # Errors
/// When the expectation cannot be read.
pub fn status(expected: &Value, actual: u16) -> Result<bool, String> {
    let class = |text: &str| {
        text.strip_suffix("xx")
            .and_then(|class| class.parse::<u16>().ok())
    };
    match expected {
        Value::Array(any) => any
            .iter()
            .try_fold(false, |held, one| Ok(held | status(one, actual)?)),
        Value::String(text) if class(text).is_some() => Ok(class(text) == Some(actual / 100)),
        other => number(other, f64::from(actual), f64::from(actual)),
    }
}

/// Two inclusive or exclusive ends.
struct Span {
    low: f64,
    high: f64,
    low_included: bool,
    high_included: bool,
}

impl Span {
    fn parse(text: &str, whole: f64) -> Option<Span> {
        let number = |text: &str| match text.trim().strip_suffix('%') {
            Some(percent) => percent
                .trim()
                .parse::<f64>()
                .ok()
                .map(|percent| percent * whole / 100.0),
            None => text.trim().parse::<f64>().ok(),
        };
        let any = Span {
            low: f64::MIN,
            high: f64::MAX,
            low_included: true,
            high_included: true,
        };
        let text = text.trim();
        if let Some(low) = text.strip_prefix(">=") {
            Some(Span {
                low: number(low)?,
                ..any
            })
        } else if let Some(high) = text.strip_prefix("<=") {
            Some(Span {
                high: number(high)?,
                ..any
            })
        } else if let Some(low) = text.strip_prefix('>') {
            Some(Span {
                low: number(low)?,
                low_included: false,
                ..any
            })
        } else if let Some(high) = text.strip_prefix('<') {
            Some(Span {
                high: number(high)?,
                high_included: false,
                ..any
            })
        } else if let Some((low, high)) = text.split_once("..") {
            Some(Span {
                low: number(low)?,
                high: number(high)?,
                ..any
            })
        } else {
            let exact = number(text)?;
            Some(Span {
                low: exact,
                high: exact,
                ..any
            })
        }
    }

    fn holds(&self, actual: f64) -> bool {
        let above = if self.low_included {
            actual >= self.low
        } else {
            actual > self.low
        };
        let below = if self.high_included {
            actual <= self.high
        } else {
            actual < self.high
        };
        above && below
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_ends_of_a_range_belong_to_it() {
        let holds = |expected: &str, actual: f64| number(&json!(expected), actual, 200.0).unwrap();
        for (expected, inside, outside) in [
            ("2..5", 2.0, 1.9),
            ("2..5", 5.0, 5.1),
            (">=80", 80.0, 79.0),
            ("<=5", 5.0, 6.0),
            (">5", 6.0, 5.0),
            ("<5", 4.0, 5.0),
            ("40%..60%", 80.0, 79.0),
            ("7", 7.0, 8.0),
        ] {
            assert!(holds(expected, inside), "{expected} holds {inside}");
            assert!(
                !holds(expected, outside),
                "{expected} does not hold {outside}"
            );
        }
        assert!(number(&json!(3), 3.0, 3.0).unwrap() && !number(&json!(3), 4.0, 3.0).unwrap());
        assert!(number(&json!("many"), 3.0, 3.0).is_err() && number(&json!({}), 3.0, 3.0).is_err());
    }

    #[test]
    fn a_class_is_a_hundred_statuses() {
        let holds = |expected: Value, actual| status(&expected, actual).unwrap();
        assert!(holds(json!("5xx"), 503) && !holds(json!("5xx"), 404));
        assert!(holds(json!(404), 404) && !holds(json!(404), 403));
        assert!(holds(json!([502, "503"]), 503) && !holds(json!([502, "503"]), 504));
        assert!(status(&json!("nice"), 200).is_err());
    }
}
