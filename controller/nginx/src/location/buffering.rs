//! Buffers of bodies: nginx refuses sizes that do not fit together, so they are adjusted.

use sluice_ir::Buffering;

/// A directive of nginx and what it says.
pub(crate) type Directive = (&'static str, String);

/// Directives for all locations.
pub(crate) fn of_all(buffering: &Buffering) -> Vec<Directive> {
    directives(buffering).into()
}

/// Directives of a location that differ from the global ones. Of gRPC only bodies of requests are kept, and those always stream.
pub(crate) fn overrides(own: &Buffering, all: &Buffering, is_grpc: bool) -> Vec<Directive> {
    let is_own = |directive: &Directive| !directives(all).contains(directive);
    let is_known = |(name, _): &Directive| !is_grpc || name.starts_with("client_");
    directives(own)
        .into_iter()
        .filter(is_own)
        .filter(is_known)
        .collect()
}

fn directives(buffering: &Buffering) -> [Directive; 7] {
    let Buffering {
        request_buffering: requests,
        request_buffer_size: request_memory,
        response_buffering: answers,
        buffer_size: buffer,
        buffer_count: buffers,
        busy_size: busy,
        max_temp_file_size: disk,
    } = buffering;
    let (least, most) = buffering.busy_range();
    // nginx's own default is two buffers.
    let busy = busy.unwrap_or(least.saturating_mul(2)).clamp(least, most);
    let disk = if *disk == 0 { 0 } else { (*disk).max(least) };
    let on_off = |is_on: &bool| if *is_on { "on" } else { "off" }.to_owned();
    [
        ("client_body_buffer_size", request_memory.to_string()),
        ("proxy_request_buffering", on_off(requests)),
        ("proxy_buffering", on_off(answers)),
        ("proxy_buffer_size", buffer.to_string()),
        ("proxy_buffers", format!("{buffers} {buffer}")),
        ("proxy_busy_buffers_size", busy.to_string()),
        ("proxy_max_temp_file_size", disk.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_go_together_whatever_was_said() {
        let busy = |buffers, busy| {
            let buffering = Buffering {
                buffer_count: buffers,
                busy_size: busy,
                max_temp_file_size: 1,
                ..Buffering::default()
            };
            let said = overrides(&buffering, &Buffering::default(), false);
            said.into_iter()
                .map(|(name, value)| format!("{name} {value}"))
                .collect::<Vec<_>>()
        };
        let disk = "proxy_max_temp_file_size 4096";
        assert_eq!(busy(4, None), [disk]);
        assert_eq!(
            busy(2, None),
            ["proxy_buffers 2 4096", "proxy_busy_buffers_size 4096", disk]
        );
        assert_eq!(busy(4, Some(1)), ["proxy_busy_buffers_size 4096", disk]);
        assert_eq!(
            busy(4, Some(1 << 20)),
            ["proxy_busy_buffers_size 12288", disk]
        );
    }
}
