//! The callbacks that a guest exports, resolved once per instance.

use wasmtime::{AsContextMut, Instance, Result, TypedFunc, WasmParams, WasmResults, bail};

/// A callback; `None` if the guest does not export it.
pub(crate) type Export<P, R> = Option<TypedFunc<P, R>>;

/// The callbacks of ABI 0.2.1 for root and HTTP contexts. Arguments start with the context's id.
#[derive(Default)]
pub(crate) struct Exports {
    pub(crate) initialize: Export<(), ()>,
    pub(crate) context_create: Export<(u32, u32), ()>,
    pub(crate) vm_start: Export<(u32, u32), u32>,
    pub(crate) configure: Export<(u32, u32), u32>,
    pub(crate) tick: Export<u32, ()>,
    pub(crate) queue_ready: Export<(u32, u32), ()>,
    pub(crate) request_headers: Export<(u32, u32, u32), u32>,
    pub(crate) request_body: Export<(u32, u32, u32), u32>,
    pub(crate) request_trailers: Export<(u32, u32), u32>,
    pub(crate) response_headers: Export<(u32, u32, u32), u32>,
    pub(crate) response_body: Export<(u32, u32, u32), u32>,
    pub(crate) response_trailers: Export<(u32, u32), u32>,
    pub(crate) http_call_response: Export<(u32, u32, u32, u32, u32), ()>,
    pub(crate) foreign_function: Export<(u32, u32, u32), ()>,
    pub(crate) done: Export<u32, u32>,
    pub(crate) log: Export<u32, ()>,
    pub(crate) delete: Export<u32, ()>,
}

impl Exports {
    /// Resolves all callbacks but those that are skipped. One of another type is an error, not an absence: the guest was built for
    /// another ABI.
    pub(crate) fn from_instance(
        instance: &Instance,
        mut store: impl AsContextMut,
        skipped: &[&str],
    ) -> Result<Self> {
        let callbacks = Callbacks { instance, skipped };
        let store = &mut store;
        Ok(Self {
            initialize: first(instance, store, &["_initialize", "_start"])?,
            context_create: callbacks.export(store, "proxy_on_context_create")?,
            vm_start: callbacks.export(store, "proxy_on_vm_start")?,
            configure: callbacks.export(store, "proxy_on_configure")?,
            tick: callbacks.export(store, "proxy_on_tick")?,
            queue_ready: callbacks.export(store, "proxy_on_queue_ready")?,
            request_headers: callbacks.export(store, "proxy_on_request_headers")?,
            request_body: callbacks.export(store, "proxy_on_request_body")?,
            request_trailers: callbacks.export(store, "proxy_on_request_trailers")?,
            response_headers: callbacks.export(store, "proxy_on_response_headers")?,
            response_body: callbacks.export(store, "proxy_on_response_body")?,
            response_trailers: callbacks.export(store, "proxy_on_response_trailers")?,
            http_call_response: callbacks.export(store, "proxy_on_http_call_response")?,
            foreign_function: callbacks.export(store, "proxy_on_foreign_function")?,
            done: callbacks.export(store, "proxy_on_done")?,
            log: callbacks.export(store, "proxy_on_log")?,
            delete: callbacks.export(store, "proxy_on_delete")?,
        })
    }
}

/// The callbacks of a guest.
struct Callbacks<'a> {
    instance: &'a Instance,
    skipped: &'a [&'a str],
}

impl Callbacks<'_> {
    fn export<P: WasmParams, R: WasmResults>(
        &self,
        store: &mut impl AsContextMut,
        name: &str,
    ) -> Result<Export<P, R>> {
        let callback = export(self.instance, store, name)?;
        Ok(callback.filter(|_| !self.skipped.contains(&name)))
    }
}

/// The guest's allocator, under the name of the ABI or of C.
pub(crate) fn allocator(
    instance: &Instance,
    mut store: impl AsContextMut,
) -> Result<Export<u32, u32>> {
    first(
        instance,
        &mut store,
        &["proxy_on_memory_allocate", "malloc"],
    )
}

fn first<P: WasmParams, R: WasmResults>(
    instance: &Instance,
    store: &mut impl AsContextMut,
    names: &[&str],
) -> Result<Export<P, R>> {
    for name in names {
        if let Some(found) = export(instance, store, name)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn export<P: WasmParams, R: WasmResults>(
    instance: &Instance,
    store: &mut impl AsContextMut,
    name: &str,
) -> Result<Export<P, R>> {
    let Some(function) = instance.get_func(&mut *store, name) else {
        return Ok(None);
    };
    match function.typed(&*store) {
        Ok(function) => Ok(Some(function)),
        Err(error) => bail!("export {name}: {error:#}"),
    }
}
