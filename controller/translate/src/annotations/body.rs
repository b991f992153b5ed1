//! Sizes of bodies and buffers.

use sluice_ir::Buffering;
use sluice_syntax::settings::body::{
    BUFFER_COUNTS, BUFFER_SIZES, buffer_count, buffer_size, max_body_size, memory_size,
};
use sluice_syntax::value;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::support::Support;

const STREAMED: &str = "bodies are streamed";

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
            .needless("response headers may have 60 KiB in total")
            .nginx(Support::Partly(BUFFER_SIZES)),
        annotation(
            "proxy-buffers-number",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .needless(STREAMED)
        .nginx(Support::Partly(BUFFER_COUNTS)),
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
        .differs("upstreams receive bodies as they arrive; up to 8 MiB of each are kept so that another endpoint can be tried")
        .nginx(Support::Full)
        .harmless(&["off"]),
    ],
};

/// In bytes; `None` is no limit.
pub(super) fn largest(view: &mut View<'_, '_>, globals: &Globals) -> Option<u64> {
    view.read("proxy-body-size", max_body_size)
        .unwrap_or(globals.limits.largest_body)
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
            .read("client-body-buffer-size", memory_size)
            .unwrap_or(request_memory),
        response_buffering: view
            .read("proxy-buffering", value::on_off)
            .unwrap_or(answers),
        buffer_size: view
            .read("proxy-buffer-size", buffer_size)
            .unwrap_or(buffer),
        buffer_count: view
            .read("proxy-buffers-number", buffer_count)
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
