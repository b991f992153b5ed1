//! The access log has the ConfigMap's format, whatever `--log-format` says of our own lines. Whoever asks for JSON may not expect that.

use serde_json::{Map, Value};
use sluice_ir::{Config, LogEscaping, LogPart, LogTarget};
use sluice_state::View;
use sluice_tasks::Tasks;
use tracing::warn;

use crate::args::{DataPlane, LogFormat, Run};

/// Warns once, of the first translation.
pub(crate) fn follow(args: &Run, view: &View, tasks: &Tasks) {
    if args.log.log_format != LogFormat::Json || !args.metrics.access_log {
        return;
    }
    // Its other lines on standard error are messages of our log.
    let wraps_stderr = args.data_plane == DataPlane::Envoy;
    let mut snapshots = view.snapshots();
    let configmap = args.translation.configmap.clone();
    tasks.spawn_finite("format of the access log", async move {
        // The sender lives as long as the process.
        if snapshots.changed().await.is_err() {
            return;
        }
        let snapshot = snapshots.borrow_and_update().clone();
        let keys = keys_without_json(snapshot.config(), wraps_stderr);
        if keys.is_empty() {
            return;
        }
        let place = match configmap {
            Some(configmap) => format!("the ConfigMap {configmap}"),
            None => "a ConfigMap that --configmap names".to_owned(),
        };
        warn!(
            "--log-format=json does not apply to the access log. For JSON there, set log-format-escape-json to \"true\" and {} to a JSON \
             object in {place} (docs/access-log.md)",
            keys.join(" and ")
        );
    });
}

/// Keys of the formats that are used and are not JSON. `wraps_stderr`: lines on standard error are in objects of our log anyway.
fn keys_without_json(config: &Config, wraps_stderr: bool) -> Vec<&'static str> {
    let log = &config.global.log;
    let has_streams = !config.streams.is_empty() || !config.passthrough.is_empty();
    let requests = ("log-format-upstream", &log.requests, true);
    let connections = ("log-format-stream", &log.connections, has_streams);
    let used = [requests, connections].into_iter();
    let used = used.filter(|(_, target, is_used)| *is_used && !target.off);
    let in_objects = |target: &LogTarget| is_json(target) || (wraps_stderr && target.to_stderr);
    used.filter(|(_, target, _)| !in_objects(target))
        .map(|(key, ..)| key)
        .collect()
}

/// True if lines are objects, as far as the format can say: a number in the place of each value leaves one.
fn is_json(target: &LogTarget) -> bool {
    let parts = target.format.iter().map(|part| match part {
        LogPart::Text(text) => text.as_str(),
        LogPart::Field(_) => "1",
    });
    let line: String = parts.collect();
    target.escaping == LogEscaping::Json
        && serde_json::from_str::<Map<String, Value>>(&line).is_ok()
}

#[cfg(test)]
mod tests {
    use sluice_ir::{AccessLog, LogField};

    use super::*;

    fn target(escaping: LogEscaping, format: &str) -> LogTarget {
        let mut parts = Vec::new();
        for (n, text) in format.split('$').enumerate() {
            parts.extend((n > 0).then_some(LogPart::Field(LogField::Status)));
            parts.push(LogPart::Text(text.to_owned()));
        }
        LogTarget {
            escaping,
            format: parts,
            ..AccessLog::default().requests
        }
    }

    #[test]
    fn a_format_is_json_if_its_lines_are_objects_and_values_are_escaped() {
        for (escaping, format, expected) in [
            (LogEscaping::Json, r#"{"a": $, "b": "$ $", "c": [$]}"#, true),
            (LogEscaping::Default, r#"{"a": $}"#, false),
            (LogEscaping::None, r#"{"a": $}"#, false),
            (LogEscaping::Json, "$", false),
            (LogEscaping::Json, r#""$""#, false),
            (LogEscaping::Json, r#"{"a": $"#, false),
            (LogEscaping::Json, "$ - [$]", false),
        ] {
            assert_eq!(
                is_json(&target(escaping, format)),
                expected,
                "{escaping:?} {format}"
            );
        }
        let usual = AccessLog::default();
        assert!(!is_json(&usual.requests) && !is_json(&usual.connections));
    }

    #[test]
    fn formats_that_nothing_is_written_in_are_not_named() {
        let mut config = Config::default();
        assert_eq!(keys_without_json(&config, true), ["log-format-upstream"]);
        let host = sluice_ir::Hostname::parse("a.example").unwrap();
        let backend = sluice_ir::BackendId::new("a");
        config.passthrough.insert(host, backend);
        assert_eq!(
            keys_without_json(&config, true),
            ["log-format-upstream", "log-format-stream"]
        );
        config.global.log.requests.to_stderr = true;
        assert_eq!(keys_without_json(&config, true), ["log-format-stream"]);
        assert_eq!(keys_without_json(&config, false).len(), 2);
        config.global.log.requests.off = true;
        assert_eq!(keys_without_json(&config, true), ["log-format-stream"]);
    }
}
