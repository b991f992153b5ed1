//! Imports of HTTP streams and calls: headers, buffers, local responses.

use std::time::Duration;

use wasmtime::{Linker, Result};

use super::{import, valid};
use crate::guest::{GuestMemory, HostCallError, Parts, State};
use crate::{BufferType, Env, HttpCall, LocalResponse, MapType, Pairs, Status, StreamType};

pub(super) fn link<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    link_headers(linker)?;
    link_header_maps(linker)?;
    link_buffers(linker)?;
    link_streams(linker)?;
    link_calls(linker)
}

fn link_headers<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    import!(
        linker,
        "proxy_get_header_map_value",
        |guest, map, name, name_len, out, out_len| {
            let map = valid(MapType::from_number(map))?;
            let Parts {
                memory,
                env,
                output,
                ..
            } = guest.parts()?;
            output.extend_from_slice(&env.header(map, memory.bytes(name, name_len)?)?);
            guest.return_output(out, out_len)
        }
    );
    import!(
        linker,
        "proxy_add_header_map_value",
        |guest, map, name, name_len, value, value_len| {
            let map = valid(MapType::from_number(map))?;
            let Parts { memory, env, .. } = guest.parts()?;
            Ok(env.add_header(
                map,
                memory.bytes(name, name_len)?,
                memory.bytes(value, value_len)?,
            )?)
        }
    );
    import!(
        linker,
        "proxy_replace_header_map_value",
        |guest, map, name, name_len, value, value_len| {
            let map = valid(MapType::from_number(map))?;
            let Parts { memory, env, .. } = guest.parts()?;
            Ok(env.replace_header(
                map,
                memory.bytes(name, name_len)?,
                memory.bytes(value, value_len)?,
            )?)
        }
    );
    import!(
        linker,
        "proxy_remove_header_map_value",
        |guest, map, name, name_len| {
            let map = valid(MapType::from_number(map))?;
            let Parts { memory, env, .. } = guest.parts()?;
            Ok(env.remove_header(map, memory.bytes(name, name_len)?)?)
        }
    );
    Ok(())
}

fn link_header_maps<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    import!(
        linker,
        "proxy_get_header_map_pairs",
        |guest, map, out, out_len| {
            let map = valid(MapType::from_number(map))?;
            let Parts {
                env, output, pairs, ..
            } = guest.parts()?;
            env.headers(map, pairs)?;
            pairs.serialize(output);
            guest.return_output(out, out_len)
        }
    );
    import!(
        linker,
        "proxy_set_header_map_pairs",
        |guest, map, headers, headers_len| {
            let map = valid(MapType::from_number(map))?;
            let Parts { memory, env, .. } = guest.parts()?;
            Ok(env.set_headers(map, pairs(&memory, headers, headers_len)?)?)
        }
    );
    Ok(())
}

fn link_buffers<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    import!(
        linker,
        "proxy_get_buffer_bytes",
        |guest, buffer, start, max, out, out_len| {
            let buffer = valid(BufferType::from_number(buffer))?;
            let Parts { env, output, .. } = guest.parts()?;
            output.extend_from_slice(&env.buffer(buffer, start as usize, max as usize)?);
            output.truncate(max as usize);
            guest.return_output(out, out_len)
        }
    );
    import!(
        linker,
        "proxy_set_buffer_bytes",
        |guest, buffer, start, size, value, value_len| {
            let buffer = valid(BufferType::from_number(buffer))?;
            let Parts { memory, env, .. } = guest.parts()?;
            Ok(env.set_buffer(
                buffer,
                start as usize,
                size as usize,
                memory.bytes(value, value_len)?,
            )?)
        }
    );
    Ok(())
}

fn link_streams<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    import!(linker, "proxy_continue_stream", |guest, stream| {
        let stream = valid(StreamType::from_number(stream))?;
        Ok(guest.env().continue_stream(stream)?)
    });
    import!(linker, "proxy_close_stream", |guest, stream| {
        let stream = valid(StreamType::from_number(stream))?;
        Ok(guest.env().close_stream(stream)?)
    });
    Ok(())
}

fn link_calls<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    import!(
        linker,
        "proxy_send_local_response",
        |guest,
         status,
         details,
         details_len,
         body,
         body_len,
         headers,
         headers_len,
         grpc_status: i32| {
            let Parts { memory, env, .. } = guest.parts()?;
            Ok(env.send_local_response(LocalResponse {
                status,
                details: memory.bytes(details, details_len)?,
                body: memory.bytes(body, body_len)?,
                headers: pairs(&memory, headers, headers_len)?,
                grpc_status: u32::try_from(grpc_status).ok(),
            })?)
        }
    );
    import!(
        linker,
        "proxy_http_call",
        |guest,
         upstream,
         upstream_len,
         headers,
         headers_len,
         body,
         body_len,
         trailers,
         trailers_len,
         timeout,
         out| {
            let Parts {
                mut memory, env, ..
            } = guest.parts()?;
            // A call must not be made if its token cannot be returned.
            memory.bytes(out, 4)?;
            let token = env.http_call(HttpCall {
                upstream: memory.bytes(upstream, upstream_len)?,
                headers: pairs(&memory, headers, headers_len)?,
                body: memory.bytes(body, body_len)?,
                trailers: pairs(&memory, trailers, trailers_len)?,
                timeout: Duration::from_millis(u64::from(timeout)),
            })?;
            memory.write_u32(out, token)
        }
    );
    Ok(())
}

fn pairs<'a>(
    memory: &'a GuestMemory<'_>,
    address: u32,
    length: u32,
) -> Result<Pairs<'a>, HostCallError> {
    Pairs::parse(memory.bytes(address, length)?).ok_or(HostCallError::Status(Status::ParseFailure))
}
