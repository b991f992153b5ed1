//! Buffering of bodies.

use sluice_ir::{Buffering, ReasonCode};
use sluice_syntax::settings::body::{buffer_count, buffer_size, memory_size};
use sluice_syntax::value;
use sluice_translate_engine::Severity;

use super::keys::{Key, key};
use super::view::View;
use crate::support::Support;
use sluice_syntax::settings::body::{BUFFER_COUNTS, BUFFER_SIZES};

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("client-body-buffer-size", "8k").needless().native(),
    key("proxy-buffer-size", "4k").instead("response headers may have 60 KiB in total").nginx(Support::Partly(BUFFER_SIZES)),
    key("proxy-buffering", "off").needless().native(),
    key("proxy-buffers-number", "4").needless().nginx(Support::Partly(BUFFER_COUNTS)),
    key("proxy-busy-buffers-size", "").needless().native(),
    key("proxy-max-temp-file-size", "1024m").needless().native(),
    key("proxy-request-buffering", "on").differs("upstreams receive bodies as they arrive; up to 8 MiB of each are kept so that another endpoint can be tried").native(),
];

/// nginx refuses sizes that do not go together, and all of its configuration with them.
pub(super) fn take(buffering: &mut Buffering, view: &mut View<'_, '_>) {
    view.set(
        &mut buffering.request_buffering,
        "proxy-request-buffering",
        value::on_off,
    );
    view.set(
        &mut buffering.request_buffer_size,
        "client-body-buffer-size",
        memory_size,
    );
    view.set(
        &mut buffering.response_buffering,
        "proxy-buffering",
        value::on_off,
    );
    view.set(&mut buffering.buffer_size, "proxy-buffer-size", buffer_size);
    view.set(
        &mut buffering.buffer_count,
        "proxy-buffers-number",
        buffer_count,
    );
    view.set(
        &mut buffering.busy_size,
        "proxy-busy-buffers-size",
        |text| Ok(Some(value::size(text)?)),
    );
    view.set(
        &mut buffering.max_temp_file_size,
        "proxy-max-temp-file-size",
        value::size,
    );
    let (least, most) = buffering.busy_range();
    if let Some(bytes) = buffering
        .busy_size
        .take_if(|bytes| !(least..=most).contains(bytes))
    {
        let reason =
            format!("expected from one buffer ({least}) to all but one ({most}), got {bytes}");
        reject(view, "proxy-busy-buffers-size", reason);
    }
    if buffering.max_temp_file_size != 0 && buffering.max_temp_file_size < least {
        let reason = format!(
            "expected 0 or at least one buffer ({least}), got {}",
            buffering.max_temp_file_size
        );
        reject(view, "proxy-max-temp-file-size", reason);
        buffering.max_temp_file_size = Buffering::default().max_temp_file_size;
    }
}

fn reject(view: &mut View<'_, '_>, key: &'static str, reason: String) {
    view.report(
        ReasonCode::InvalidValue,
        Severity::Warning,
        key,
        reason,
        "the default is used",
    );
}
