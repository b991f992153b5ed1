//! Imports of state that outlives a request: shared data, queues, metrics.

use std::num::NonZeroU32;

use wasmtime::{Linker, Result};

use super::{import, valid};
use crate::guest::{Parts, State};
use crate::{Env, MetricType};

pub(super) fn link<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    link_data(linker)?;
    link_queues(linker)?;
    link_metrics(linker)
}

fn link_data<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    import!(
        linker,
        "proxy_get_shared_data",
        |guest, key, key_len, out, out_len, out_cas| {
            let Parts {
                mut memory,
                env,
                output,
                ..
            } = guest.parts()?;
            let (value, cas) = env.shared_data(memory.bytes(key, key_len)?)?;
            output.extend_from_slice(&value);
            memory.write_u32(out_cas, cas)?;
            guest.return_output(out, out_len)
        }
    );
    import!(
        linker,
        "proxy_set_shared_data",
        |guest, key, key_len, value, value_len, cas| {
            let Parts { memory, env, .. } = guest.parts()?;
            let (key, value) = (memory.bytes(key, key_len)?, memory.bytes(value, value_len)?);
            Ok(env.set_shared_data(key, value, NonZeroU32::new(cas))?)
        }
    );
    Ok(())
}

fn link_queues<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    import!(
        linker,
        "proxy_register_shared_queue",
        |guest, name, name_len, out| {
            let Parts {
                mut memory, env, ..
            } = guest.parts()?;
            let queue = env.register_queue(memory.bytes(name, name_len)?)?;
            memory.write_u32(out, queue)
        }
    );
    import!(
        linker,
        "proxy_resolve_shared_queue",
        |guest, vm, vm_len, name, name_len, out| {
            let Parts {
                mut memory, env, ..
            } = guest.parts()?;
            let queue =
                env.resolve_queue(memory.bytes(vm, vm_len)?, memory.bytes(name, name_len)?)?;
            memory.write_u32(out, queue)
        }
    );
    import!(
        linker,
        "proxy_dequeue_shared_queue",
        |guest, queue, out, out_len| {
            let Parts {
                memory,
                env,
                output,
                ..
            } = guest.parts()?;
            // An item that cannot be returned must stay in the queue.
            memory.bytes(out, 4)?;
            memory.bytes(out_len, 4)?;
            output.extend_from_slice(&env.dequeue(queue)?);
            guest.return_output(out, out_len)
        }
    );
    import!(
        linker,
        "proxy_enqueue_shared_queue",
        |guest, queue, item, item_len| {
            let Parts { memory, env, .. } = guest.parts()?;
            Ok(env.enqueue(queue, memory.bytes(item, item_len)?)?)
        }
    );
    Ok(())
}

fn link_metrics<E: Env>(linker: &mut Linker<State<E>>) -> Result<()> {
    import!(
        linker,
        "proxy_define_metric",
        |guest, kind, name, name_len, out| {
            let kind = valid(MetricType::from_number(kind))?;
            let Parts {
                mut memory, env, ..
            } = guest.parts()?;
            let metric = env.define_metric(kind, memory.bytes(name, name_len)?)?;
            memory.write_u32(out, metric)
        }
    );
    import!(
        linker,
        "proxy_increment_metric",
        |guest, metric, by: i64| {
            guest.env().increment_metric(metric, by)?;
            Ok(())
        }
    );
    import!(
        linker,
        "proxy_record_metric",
        |guest, metric, value: u64| {
            guest.env().record_metric(metric, value)?;
            Ok(())
        }
    );
    import!(linker, "proxy_get_metric", |guest, metric, out| {
        let Parts {
            mut memory, env, ..
        } = guest.parts()?;
        let value = env.metric(metric)?;
        memory.write_u64(out, value)
    });
    Ok(())
}
