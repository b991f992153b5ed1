//! Traces: maps make the context of a request, and sampled requests are written to a log that the controller reads.
//!
//! ```text
//!   $request_id (random), traceparent of a client that is believed --maps--> trace, span, sampled --> traceparent to the pod
//!                                                                              \--> spans.log --> the controller --OTLP--> collector
//! ```
//!
//! A location may say otherwise whether it is on, and whether clients are believed: both are variables that it sets.
//!
//! All of it is nginx's own: no module has to be there. Without a collector nothing of it is in the configuration.

use std::path::{Path, PathBuf};

use askama::Template;
use sluice_ir::{
    Config, Expression, ExpressionPart, GlobalConfig, HttpRoute, Sampler, SpanPolicy, Tracing,
};

use crate::access_log::{LogSegment, words};
use crate::conf::{Text, Value, Word, value, word};
use crate::expression;
use crate::settings::Settings;

/// The log of sampled requests.
#[must_use]
pub fn span_log(folder: &Path) -> PathBuf {
    folder.join("spans.log")
}

/// Directives for all hosts.
#[derive(Template)]
#[template(path = "http/traces.conf")]
pub(crate) struct TracesConf {
    enabled: bool,
    /// Requests are counted by their routes, too.
    counts: bool,
    incoming: Incoming,
    /// Trace ids that are in the share.
    drawn: Option<Word>,
    /// A parent decides.
    follows_parent: bool,
    /// The decision where no parent decides and none are drawn.
    samples: bool,
    operation: Vec<Value>,
    file: Word,
}

/// Context that clients send.
struct Incoming {
    /// They are believed.
    trusted: bool,
    context: Value,
    any: Word,
    trace: Word,
    span: Word,
    sampled: Word,
    state: Value,
}

impl TracesConf {
    /// `None` without a collector.
    pub(crate) fn new(config: &Config, settings: &Settings) -> Option<Self> {
        let tracing = config.global.tracing.as_ref()?;
        let (samples, drawn) = match tracing.sampler {
            Sampler::Always | Sampler::Millionths(MILLION..) => (true, None),
            Sampler::Never | Sampler::Millionths(0) => (false, None),
            Sampler::Millionths(share) => (true, Some(word(drawn(share)))),
        };
        Some(TracesConf {
            enabled: tracing.enabled_by_default,
            counts: settings.requests.is_some(),
            incoming: Incoming::new(tracing, settings),
            drawn,
            follows_parent: tracing.follow_parent,
            samples,
            operation: operation(tracing),
            file: word(span_log(&settings.folder).display()),
        })
    }
}

impl Incoming {
    fn new(tracing: &Tracing, settings: &Settings) -> Self {
        // Kong's nginx joins the lines itself.
        let prefix = if settings.engine.is_kongs() {
            "http_"
        } else {
            "sluice_all_"
        };
        let all = |name: &str| {
            Text::default()
                .variable(&format!("{prefix}{name}"))
                .quoted()
        };
        let group = |name: &str, pattern: &str| format!("(?<{name}>{pattern})");
        Incoming {
            trusted: tracing.trust_incoming_context,
            context: all("traceparent"),
            any: context(TRACE, SPAN, FLAGS),
            trace: context(&group("sluice_parent_trace", TRACE), SPAN, FLAGS),
            span: context(TRACE, &group("sluice_parent_span", SPAN), FLAGS),
            sampled: context(TRACE, SPAN, "[0-9a-f][13579bdf]"),
            state: all("tracestate"),
        }
    }
}

const MILLION: u32 = 1_000_000;

const TRACE: &str = "(?!0{32})[0-9a-f]{32}";
const SPAN: &str = "(?!0{16})[0-9a-f]{16}";
const FLAGS: &str = "[0-9a-f]{2}";

/// Pattern of a `traceparent`: version 00 is as long as this, later ones may have more behind it, and ff is none.
fn context(trace: &str, span: &str, flags: &str) -> Word {
    word(format!(
        "~^(?:00(?=.{{53}}$)|(?!00|ff)[0-9a-f]{{2}})-{trace}-{span}-{flags}(?:-.*)?$"
    ))
}

/// Digits of a threshold: finer than millionths.
const DIGITS: usize = 6;

/// Pattern of the trace ids in a share of them, as OpenTelemetry draws it: the last 56 bits are random, and not below a
/// threshold. So services with the same share keep the same traces.
fn drawn(millionths: u32) -> String {
    let rejected = u64::from(MILLION - millionths) * (1 << (4 * DIGITS)) / u64::from(MILLION);
    let threshold = format!("{rejected:0DIGITS$x}");
    format!("~^.{{18}}(?:{})", at_least(&threshold))
}

/// Pattern of hexadecimal numbers with as many digits that are not below this one.
fn at_least(threshold: &str) -> String {
    let above = threshold.char_indices().filter_map(|(at, digit)| {
        let next = char::from_digit(digit.to_digit(16)? + 1, 16)?;
        let class = match next {
            'f' => "f".to_owned(),
            'a'..='e' => format!("[{next}-f]"),
            '9' => "[9a-f]".to_owned(),
            _ => format!("[{next}-9a-f]"),
        };
        Some(format!("{}{class}", &threshold[..at]))
    });
    let mut all: Vec<String> = above.collect();
    all.push(threshold.to_owned());
    all.join("|")
}

/// Between the quotes of a JSON text, where nginx escapes variables and nothing else.
fn operation(tracing: &Tracing) -> Vec<Value> {
    let Some(Expression(parts)) = &tracing.operation else {
        return Vec::new();
    };
    let segments = parts.iter().map(|part| match part {
        ExpressionPart::Text(literal) => LogSegment::Text(in_json(literal)),
        ExpressionPart::Variable(variable) => LogSegment::Variable(expression::name_of(variable)),
    });
    words(segments.collect())
}

fn in_json(text: &str) -> String {
    let escape = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        letter if letter.is_control() => format!("\\u{:04x}", u32::from(letter)),
        letter => letter.to_string(),
    };
    text.chars().map(escape).collect()
}

/// Spans of one location, where they differ from all others.
#[derive(Default)]
pub(crate) struct LocationSpans {
    pub(crate) traced: Option<bool>,
    pub(crate) trusted: Option<bool>,
    pub(crate) operation: Option<Value>,
}

impl LocationSpans {
    pub(crate) fn new(route: &HttpRoute, global: &GlobalConfig) -> Self {
        let SpanPolicy {
            enabled,
            trust_incoming_context,
            operation,
        } = &route.policy.tracing;
        if global.tracing.is_none() {
            return LocationSpans::default();
        }
        LocationSpans {
            traced: *enabled,
            trusted: *trust_incoming_context,
            operation: operation
                .as_ref()
                .map(value)
                .filter(|operation| operation.0.fits()),
        }
    }
}

/// Request headers with the context, before those that anybody sets: it is what the span says.
pub(crate) fn headers(global: &GlobalConfig) -> Vec<(String, Text)> {
    if global.tracing.is_none() {
        return Vec::new();
    }
    let parent = Text::default()
        .then("00-")
        .variable("sluice_trace_id")
        .then("-")
        .variable("sluice_span_id")
        .then("-0")
        .variable("sluice_sampled");
    let state = Text::default().variable("sluice_trace_state");
    vec![
        ("traceparent".to_owned(), parent),
        ("tracestate".to_owned(), state),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_a_pattern_of_the_numbers_that_reach_it() {
        assert_eq!(at_least("7f"), "[8-9a-f]|7f");
        assert_eq!(at_least("09ae"), "[1-9a-f]|0[a-f]|09[b-f]|09af|09ae");
        assert_eq!(at_least("8e"), "[9a-f]|8f|8e");
        assert_eq!(at_least("00"), "[1-9a-f]|0[1-9a-f]|00");
    }

    #[test]
    fn a_share_is_exact() {
        assert_eq!(
            drawn(500_000),
            "~^.{18}(?:[9a-f]|8[1-9a-f]|80[1-9a-f]|800[1-9a-f]|8000[1-9a-f]|80000[1-9a-f]|800000)"
        );
        assert!(drawn(1).ends_with("(?:fffff|ffffef)"), "{}", drawn(1));
        assert!(drawn(999_999).ends_with("|000010)"), "{}", drawn(999_999));
    }

    #[test]
    fn a_name_stays_inside_its_quotes() {
        assert_eq!(in_json("a\"b\\c\n$d"), "a\\\"b\\\\c\\u000a$d");
    }
}
