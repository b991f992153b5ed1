//! A running instance of a plugin and the calls into it.

use std::sync::Arc;

use wasmtime::{Error, Store, WasmParams, WasmResults};

use crate::context::Contexts;
use crate::exports::{Export, Exports, allocator};
use crate::guest::State;
use crate::plugin::{Plugin, next_generation};
use crate::{Action, Context, Env, Trap};

/// An instance of a plugin with its host. Not shared between threads: nginx has one in each worker.
///
/// A callback that the guest does not export, and any callback for a stale context, is skipped and returns the value
/// that lets the host continue: [`Action::Continue`] or `true`. After a [`Trap`] every callback for a context of this
/// instance returns one, until the owner creates a new instance with [`Vm::restart`].
pub struct Vm<E: Env> {
    store: Store<State<E>>,
    exports: Exports,
    plugin: Plugin<E>,
    dead: Option<Trap>,
}

impl<E: Env> Vm<E> {
    /// Creates an instance and runs its `_initialize`. It has no context yet; a root context comes first.
    ///
    /// # Errors
    ///
    /// An export has another type than the ABI's, the memory limit is below the module's minimum, or `_initialize`
    /// traps.
    pub fn new(plugin: &Plugin<E>, env: E) -> Result<Self, Trap> {
        let vm = Self::build(plugin.clone(), env, Contexts::default());
        match vm.dead {
            Some(trap) => Err(trap),
            None => Ok(vm),
        }
    }

    /// Replaces the instance by a new one with the same host. All contexts, root contexts included, are stale from now
    /// on; their ids stay in use until they are deleted. The new instance can be dead as well, see [`Vm::trap`]; it can
    /// be restarted again.
    #[must_use]
    pub fn restart(self) -> Self {
        let state = self.store.into_data();
        Self::build(self.plugin, state.env, state.contexts)
    }

    /// The trap that ended the instance, if it is dead.
    pub fn trap(&self) -> Option<&Trap> {
        self.dead.as_ref()
    }

    /// True if calls for this context reach the guest: the current instance created it and is not dead.
    pub fn is_live(&self, context: &Context) -> bool {
        self.dead.is_none() && !self.is_stale(context)
    }

    /// The host.
    pub fn env(&self) -> &E {
        &self.store.data().env
    }

    /// The host, to prepare the next call and to collect the effects of the last one.
    pub fn env_mut(&mut self) -> &mut E {
        &mut self.store.data_mut().env
    }

    /// Instructions that the guest has executed so far, if the engine counts them (`Config::consume_fuel`).
    pub fn instructions(&self) -> Option<u64> {
        self.store.get_fuel().ok().map(|left| u64::MAX - left)
    }

    /// The host, without the instance.
    pub fn into_env(self) -> E {
        self.store.into_data().env
    }
}

/// The mechanics of a callback; the callbacks themselves are in `callbacks.rs`.
impl<E: Env> Vm<E> {
    /// Calls a callback without a result.
    pub(crate) fn notify<P: WasmParams>(
        &mut self,
        name: &'static str,
        context: &Context,
        pick: impl FnOnce(&Exports) -> &Export<P, ()>,
        arguments: P,
    ) -> Result<(), Trap> {
        self.call(name, context, pick, arguments).map(|_| ())
    }

    /// Calls a callback that returns a boolean.
    pub(crate) fn call_bool<P: WasmParams>(
        &mut self,
        name: &'static str,
        context: &Context,
        pick: impl FnOnce(&Exports) -> &Export<P, u32>,
        arguments: P,
    ) -> Result<bool, Trap> {
        Ok(self
            .call(name, context, pick, arguments)?
            .is_none_or(|result| result != 0))
    }

    /// Calls a callback that returns an action. An unknown number is a pause, as in Envoy: a guest that wanted to stop
    /// a request must not let it through.
    pub(crate) fn call_action<P: WasmParams>(
        &mut self,
        name: &'static str,
        context: &Context,
        pick: impl FnOnce(&Exports) -> &Export<P, u32>,
        arguments: P,
    ) -> Result<Action, Trap> {
        let result = self.call(name, context, pick, arguments)?;
        Ok(result.map_or(Action::Continue, |number| {
            Action::from_number(number).unwrap_or(Action::Pause)
        }))
    }

    /// Creates a context. `parent` is its root context, or `None` for a root context.
    pub(crate) fn create(&mut self, parent: Option<&Context>) -> Result<Context, Trap> {
        let name = "proxy_on_context_create";
        let state = self.store.data_mut();
        let (parent_id, generation) =
            parent.map_or((0, state.generation), |root| (root.id.0, root.generation));
        let context = state.contexts.open(generation);
        let arguments = (context.id.0, parent_id);
        match self.notify(name, &context, |exports| &exports.context_create, arguments) {
            Ok(()) => Ok(context),
            Err(trap) => {
                self.close(&context);
                Err(trap)
            }
        }
    }

    pub(crate) fn close(&mut self, context: &Context) {
        self.store.data_mut().contexts.close(context);
    }

    fn call<P: WasmParams, R: WasmResults>(
        &mut self,
        name: &'static str,
        context: &Context,
        pick: impl FnOnce(&Exports) -> &Export<P, R>,
        arguments: P,
    ) -> Result<Option<R>, Trap> {
        if self.is_stale(context) {
            return Ok(None);
        }
        if self.dead.is_some() {
            return Err(Trap::dead(name));
        }
        let Some(callback) = pick(&self.exports) else {
            return Ok(None);
        };
        self.store.data_mut().env.enter(context.id);
        set_deadline(&mut self.store);
        let result = callback.call(&mut self.store, arguments);
        self.store.data_mut().env.leave();
        result.map(Some).map_err(|error| {
            let trap = Trap::from_call(name, &error);
            self.dead = Some(trap.clone());
            trap
        })
    }

    fn is_stale(&self, context: &Context) -> bool {
        context.generation != self.store.data().generation
    }

    fn build(plugin: Plugin<E>, env: E, contexts: Contexts) -> Self {
        let mut store = store(
            &plugin,
            State::new(env, contexts, next_generation(), plugin.options),
        );
        let (exports, dead) = match instantiate(&plugin, &mut store) {
            Ok(exports) => (exports, None),
            Err(trap) => (Exports::default(), Some(trap)),
        };
        Self {
            store,
            exports,
            plugin,
            dead,
        }
    }
}

fn store<E: Env>(plugin: &Plugin<E>, state: State<E>) -> Store<State<E>> {
    let mut store = Store::new(plugin.linked.module().engine(), state);
    store.limiter(|state| &mut state.limits);
    // An engine that counts instructions starts without fuel; one that does not returns an error here.
    store.set_fuel(u64::MAX).ok();
    store
}

fn instantiate<E: Env>(plugin: &Plugin<E>, store: &mut Store<State<E>>) -> Result<Exports, Trap> {
    let refused = |error: Error| Trap::from_start("instantiate", &error);
    set_deadline(store);
    let instance = plugin.linked.instantiate(&mut *store).map_err(refused)?;
    let memory = instance.get_memory(&mut *store, "memory");
    let allocate = allocator(&instance, &mut *store).map_err(refused)?;
    let state = store.data_mut();
    (state.memory, state.allocate) = (memory, allocate.map(Arc::new));
    let exports = Exports::from_instance(&instance, &mut *store, plugin.options.skipped);
    let exports = exports.map_err(refused)?;
    if let Some(initialize) = &exports.initialize {
        initialize
            .call(&mut *store, ())
            .map_err(|error| Trap::from_call("_initialize", &error))?;
    }
    Ok(exports)
}

/// Never reached, and no overflow when wasmtime adds it to the current epoch.
const NO_DEADLINE: u64 = u64::MAX / 2;

fn set_deadline<E: Env>(store: &mut Store<State<E>>) {
    let ticks = store.data().options.deadline_ticks.unwrap_or(NO_DEADLINE);
    store.set_epoch_deadline(ticks);
}
