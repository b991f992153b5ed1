//! Buffers of bodies: nginx refuses sizes that do not fit together, so they are adjusted.

use sluice_ir::Buffering;

use crate::location::module::Module;

/// A directive of nginx and what it says.
pub(crate) type Directive = (String, String);

/// Directives for all locations.
pub(crate) fn of_all(buffering: &Buffering) -> Vec<Directive> {
    directives(buffering, Module::Proxy).into()
}

/// Directives of a location that differ from the global ones, which are those of `proxy`. Of gRPC only bodies of requests are kept,
/// and those always stream.
pub(crate) fn overrides(own: &Buffering, all: &Buffering, module: Module) -> Vec<Directive> {
    let is_own = |directive: &Directive| !directives(all, Module::Proxy).contains(directive);
    let is_grpc = module == Module::Grpc;
    let is_known = |(name, _): &Directive| !is_grpc || name.starts_with("client_");
    directives(own, module)
        .into_iter()
        .filter(is_own)
        .filter(is_known)
        .collect()
}

fn directives(buffering: &Buffering, module: Module) -> [Directive; 7] {
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
    let of_module = |name: &str| format!("{module}_{name}");
    [
        (
            "client_body_buffer_size".to_owned(),
            request_memory.to_string(),
        ),
        (of_module("request_buffering"), on_off(requests)),
        (of_module("buffering"), on_off(answers)),
        (of_module("buffer_size"), buffer.to_string()),
        (of_module("buffers"), format!("{buffers} {buffer}")),
        (of_module("busy_buffers_size"), busy.to_string()),
        (of_module("max_temp_file_size"), disk.to_string()),
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
            let said = overrides(&buffering, &Buffering::default(), Module::Proxy);
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
