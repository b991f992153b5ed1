//! Sizes of bodies and buffers.

use sluice_ir::Buffering;
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::support::Support;

const STREAMED: &str = "bodies are not stored on their way";

pub(super) const GROUP: Group = Group {
    title: "Bodies and buffers",
    annotations: &[
        annotation(
            "proxy-body-size",
            Value::Size,
            Risk::Medium,
            Scope::Location,
        )
        .full(),
        annotation(
            "client-body-buffer-size",
            Value::Size,
            Risk::Low,
            Scope::Location,
        )
        .needless(STREAMED)
        .nginx(Support::Full),
        annotation("proxy-buffering", Value::OnOff, Risk::Low, Scope::Location)
            .needless(STREAMED)
            .nginx(Support::Full),
        annotation("proxy-buffer-size", Value::Size, Risk::Low, Scope::Location)
            .needless("headers of pods may have 60 KiB in all")
            .nginx(Support::Partly(BUFFER)),
        annotation(
            "proxy-buffers-number",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .needless(STREAMED)
        .nginx(Support::Partly(BUFFERS)),
        annotation(
            "proxy-busy-buffers-size",
            Value::Size,
            Risk::Low,
            Scope::Location,
        )
        .needless(STREAMED)
        .nginx(Support::Full),
        annotation(
            "proxy-max-temp-file-size",
            Value::Size,
            Risk::Low,
            Scope::Location,
        )
        .needless(STREAMED)
        .nginx(Support::Full),
        annotation(
            "proxy-request-buffering",
            Value::OnOff,
            Risk::Low,
            Scope::Location,
        )
        .instead("pods see a body while it comes in; set proxy-body-size, and timeouts in the pods")
        .nginx(Support::Full)
        .harmless(&["off"]),
    ],
};

/// What the documentation says about one buffer.
pub(crate) const BUFFER: &str = "from 1k to 8m";
/// What it says about their number.
pub(crate) const BUFFERS: &str = "from 2 to 1024";

/// In bytes; `None` is no limit.
pub(super) fn largest(view: &mut View<'_, '_>, globals: &Globals) -> Option<u64> {
    view.read("proxy-body-size", limit)
        .unwrap_or(globals.largest_body)
}

/// nginx: 0 is no limit. It knows no suffix `b`, so with one its own default holds.
pub(crate) fn limit(text: &str) -> Parsed<Option<u64>> {
    const NGINX: u64 = 1 << 20;
    match value::size(text)? {
        _ if text.ends_with(['b', 'B']) => Ok(Some(NGINX)),
        0 => Ok(None),
        bytes => Ok(Some(bytes)),
    }
}

/// nginx refuses sizes that do not go together, and all of its configuration with them.
pub(super) fn buffering(view: &mut View<'_, '_>, globals: &Globals) -> Buffering {
    let Buffering {
        request_buffering: requests,
        request_buffer_size: request_memory,
        response_buffering: answers,
        buffer_size: buffer,
        buffer_count: buffers,
        busy_size: busy,
        max_temp_file_size: disk,
    } = globals.config.buffering.clone();
    let mut own = Buffering {
        request_buffering: view
            .read("proxy-request-buffering", value::on_off)
            .unwrap_or(requests),
        request_buffer_size: view
            .read("client-body-buffer-size", memory)
            .unwrap_or(request_memory),
        response_buffering: view
            .read("proxy-buffering", value::on_off)
            .unwrap_or(answers),
        buffer_size: view
            .read("proxy-buffer-size", self::buffer)
            .unwrap_or(buffer),
        buffer_count: view
            .read("proxy-buffers-number", self::buffers)
            .unwrap_or(buffers),
        busy_size: busy,
        max_temp_file_size: disk,
    };
    let (least, most) = own.busy_range();
    let asked = view.read("proxy-busy-buffers-size", |text| {
        let within = Some(value::size(text)?).filter(|bytes| (least..=most).contains(bytes));
        within.ok_or_else(|| {
            format!("a size from one buffer ({least}) to all but one ({most})").into()
        })
    });
    own.busy_size = asked.or(own.busy_size);
    let asked = view.read("proxy-max-temp-file-size", |text| {
        let enough = Some(value::size(text)?).filter(|bytes| *bytes == 0 || *bytes >= least);
        enough.ok_or_else(|| format!("0, or a size from one buffer ({least})").into())
    });
    own.max_temp_file_size = asked.unwrap_or(own.max_temp_file_size);
    own
}

/// Of a body, in memory. More than this is no protection of anybody.
pub(crate) fn memory(text: &str) -> Parsed<u64> {
    const MOST: u64 = 64 << 20;
    let bytes = value::size(text)?;
    if (1..=MOST).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("a size from 1 to 64m".into())
    }
}

pub(crate) fn buffer(text: &str) -> Parsed<u64> {
    let bytes = value::size(text)?;
    if (1 << 10..=8 << 20).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("a size {BUFFER}").into())
    }
}

pub(crate) fn buffers(text: &str) -> Parsed<u32> {
    let number = value::count(text)?;
    if (2..=1024).contains(&number) {
        Ok(number)
    } else {
        Err(format!("an integer {BUFFERS}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(limit("0"), Ok(None));
        assert_eq!(limit("8m"), Ok(Some(8 << 20)));
        assert_eq!(limit("5b"), Ok(Some(1 << 20)));
        assert!(limit("8mb").is_err());
    }

    #[test]
    fn what_nginx_could_not_keep_is_no_size() {
        assert_eq!((buffer("16k"), buffers("8")), (Ok(16 << 10), Ok(8)));
        for bad in ["0", "1", "1g", "-1", "x"] {
            assert!(buffer(bad).is_err(), "{bad}");
        }
        for bad in ["0", "1", "-4", "1025", "4k"] {
            assert!(buffers(bad).is_err(), "{bad}");
        }
    }
}
