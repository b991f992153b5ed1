//! Expressions of PromQL, as Grafana fills them in, and the series that they select.

use anyhow::{Context, Result};
use serde_json::Value;

/// Values that a reader chooses: labels have to have them, where "All" is true of series without the label, too.
const CHOSEN: [(&str, &str); 5] = [
    ("namespace", "sluice-system"),
    ("controller_class", "k8s.io/ingress-nginx"),
    ("controller", "sluice-controller-0"),
    ("exported_namespace", "default"),
    ("ingress", "web"),
];

/// Variables of a board with what they stand for: the value that is chosen, or that of "All".
pub(super) struct Variables(Vec<(String, String)>);

impl Variables {
    pub(super) fn of(board: &Value) -> Result<Variables> {
        let list = board["templating"]["list"]
            .as_array()
            .context("no variables")?;
        let queries = list.iter().filter(|variable| variable["type"] == "query");
        let mut variables = queries
            .map(|variable| {
                let text = |field: &str| variable[field].as_str().map(str::to_owned);
                let name = text("name").context("no name")?;
                let chosen = CHOSEN.iter().find(|(chosen, _)| *chosen == name);
                let value = chosen.map(|(_, value)| (*value).to_owned());
                let value = value.or_else(|| text("allValue"));
                Ok((format!("${name}"), value.context(name)?))
            })
            .collect::<Result<Vec<_>>>()?;
        // One name may begin with another.
        variables.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Ok(Variables(variables))
    }

    pub(super) fn fill(&self, expression: &str) -> String {
        let mut filled = expression.replace("$__rate_interval", "20s");
        for (name, value) in &self.0 {
            filled = filled.replace(name.as_str(), value);
        }
        filled
    }
}

/// `label_values(SERIES, LABEL)` as an expression that has an answer where the variable has a value.
pub(super) fn values(query: &str) -> Result<String> {
    let inner = query
        .strip_prefix("label_values(")
        .and_then(|rest| rest.strip_suffix(')'));
    let (series, label) = inner
        .and_then(|inner| inner.rsplit_once(", "))
        .context(query.to_owned())?;
    let series = match series.strip_suffix('}') {
        Some(series) => format!("{series},{label}!=\"\"}}"),
        None => format!("{series}{{{label}!=\"\"}}"),
    };
    Ok(format!("count by ({label}) ({series})"))
}

/// A series that an expression selects: the metric, and the whole selector without a range.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Selector<'a> {
    pub(super) metric: &'a str,
    pub(super) whole: &'a str,
}

/// Series of ours, of Envoy, of the process and of Prometheus itself.
pub(super) fn selectors(expression: &str) -> Vec<Selector<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = expression.get(at..).filter(|rest| !rest.is_empty()) {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let word = &rest[..end.unwrap_or(rest.len())];
        let after = &rest[word.len()..];
        at += word.len().max(1);
        if is_list(word) {
            at += after.find(')').unwrap_or_default();
        } else if is_metric(word) {
            let labels = after.starts_with('{').then(|| after.find('}')).flatten();
            let labels = labels.map_or(0, |end| end + 1);
            let whole = &rest[..word.len() + labels];
            found.push(Selector {
                metric: word,
                whole,
            });
            at += labels;
        }
    }
    found
}

/// Words with a list of labels behind them.
fn is_list(word: &str) -> bool {
    ["by", "on", "group_left"].contains(&word)
}

fn is_metric(word: &str) -> bool {
    let ours = ["nginx_ingress_controller_", "envoy_", "process_"];
    word == "up" || ours.iter().any(|prefix| word.starts_with(prefix))
}

#[test]
fn selectors_are_found_with_their_labels() {
    let expression = "sum by (envoy_cluster_name) (rate(envoy_a{envoy_b=~\"x(y)\"}[20s])) / up * on (instance) \
                      group_left (envoy_pod) process_c == 0 or vector(0)";
    let found: Vec<&str> = selectors(expression)
        .iter()
        .map(|selector| selector.whole)
        .collect();
    assert_eq!(found, ["envoy_a{envoy_b=~\"x(y)\"}", "up", "process_c"]);
}
