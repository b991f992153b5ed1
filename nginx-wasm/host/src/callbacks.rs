//! Calls into the guest, one method for each callback of the ABI.

use crate::{Action, Context, Env, Trap, Vm};

/// The guest's callbacks. `size` and `number` arguments are the lengths of the buffer or map that the guest may read.
impl<E: Env> Vm<E> {
    /// Creates a root context: one per plugin configuration.
    ///
    /// # Errors
    ///
    /// The guest trapped. The same goes for all callbacks.
    pub fn create_root(&mut self) -> Result<Context, Trap> {
        self.create(None)
    }

    /// Creates the context of an HTTP request. Stale from the start if `root` is.
    pub fn create_http(&mut self, root: &Context) -> Result<Context, Trap> {
        self.create(Some(root))
    }

    /// The VM has started; `false` if the guest rejects that.
    pub fn on_vm_start(&mut self, root: &Context, size: u32) -> Result<bool, Trap> {
        self.call_bool(
            "proxy_on_vm_start",
            root,
            |exports| &exports.vm_start,
            (root.id.0, size),
        )
    }

    /// A plugin configuration is available; `false` if the guest rejects it.
    pub fn on_configure(&mut self, root: &Context, size: u32) -> Result<bool, Trap> {
        self.call_bool(
            "proxy_on_configure",
            root,
            |exports| &exports.configure,
            (root.id.0, size),
        )
    }

    /// The tick period has passed.
    pub fn on_tick(&mut self, root: &Context) -> Result<(), Trap> {
        self.notify("proxy_on_tick", root, |exports| &exports.tick, root.id.0)
    }

    /// A queue that this root context registered has received an item.
    pub fn on_queue_ready(&mut self, root: &Context, queue: u32) -> Result<(), Trap> {
        self.notify(
            "proxy_on_queue_ready",
            root,
            |exports| &exports.queue_ready,
            (root.id.0, queue),
        )
    }

    /// Response to an HTTP call of this root or HTTP context. A call that failed has no headers, body or trailers.
    pub fn on_http_call_response(
        &mut self,
        context: &Context,
        token: u32,
        headers: u32,
        body_size: u32,
        trailers: u32,
    ) -> Result<(), Trap> {
        let arguments = (context.id.0, token, headers, body_size, trailers);
        self.notify(
            "proxy_on_http_call_response",
            context,
            |exports| &exports.http_call_response,
            arguments,
        )
    }

    /// Calls a foreign function of the guest; its arguments are `BufferType::CallData`.
    pub fn on_foreign_function(
        &mut self,
        context: &Context,
        function: u32,
        size: u32,
    ) -> Result<(), Trap> {
        let arguments = (context.id.0, function, size);
        self.notify(
            "proxy_on_foreign_function",
            context,
            |exports| &exports.foreign_function,
            arguments,
        )
    }

    /// Request headers are available.
    pub fn on_request_headers(
        &mut self,
        context: &Context,
        number: u32,
        eof: bool,
    ) -> Result<Action, Trap> {
        let arguments = (context.id.0, number, u32::from(eof));
        self.call_action(
            "proxy_on_request_headers",
            context,
            |exports| &exports.request_headers,
            arguments,
        )
    }

    /// A part of the request body is available.
    pub fn on_request_body(
        &mut self,
        context: &Context,
        size: u32,
        eof: bool,
    ) -> Result<Action, Trap> {
        let arguments = (context.id.0, size, u32::from(eof));
        self.call_action(
            "proxy_on_request_body",
            context,
            |exports| &exports.request_body,
            arguments,
        )
    }

    /// Request trailers are available.
    pub fn on_request_trailers(&mut self, context: &Context, number: u32) -> Result<Action, Trap> {
        let arguments = (context.id.0, number);
        self.call_action(
            "proxy_on_request_trailers",
            context,
            |exports| &exports.request_trailers,
            arguments,
        )
    }

    /// Response headers are available.
    pub fn on_response_headers(
        &mut self,
        context: &Context,
        number: u32,
        eof: bool,
    ) -> Result<Action, Trap> {
        let arguments = (context.id.0, number, u32::from(eof));
        self.call_action(
            "proxy_on_response_headers",
            context,
            |exports| &exports.response_headers,
            arguments,
        )
    }

    /// A part of the response body is available.
    pub fn on_response_body(
        &mut self,
        context: &Context,
        size: u32,
        eof: bool,
    ) -> Result<Action, Trap> {
        let arguments = (context.id.0, size, u32::from(eof));
        self.call_action(
            "proxy_on_response_body",
            context,
            |exports| &exports.response_body,
            arguments,
        )
    }

    /// Response trailers are available.
    pub fn on_response_trailers(&mut self, context: &Context, number: u32) -> Result<Action, Trap> {
        let arguments = (context.id.0, number);
        self.call_action(
            "proxy_on_response_trailers",
            context,
            |exports| &exports.response_trailers,
            arguments,
        )
    }

    /// The host is done with the context; `false` if the guest is not and will call `Env::done`.
    pub fn on_done(&mut self, context: &Context) -> Result<bool, Trap> {
        self.call_bool(
            "proxy_on_done",
            context,
            |exports| &exports.done,
            context.id.0,
        )
    }

    /// The request is over and about to be logged.
    pub fn on_log(&mut self, context: &Context) -> Result<(), Trap> {
        self.notify(
            "proxy_on_log",
            context,
            |exports| &exports.log,
            context.id.0,
        )
    }

    /// Deletes the context. Its id is free afterwards, even if the guest traps.
    pub fn on_delete(&mut self, context: Context) -> Result<(), Trap> {
        let deleted = self.notify(
            "proxy_on_delete",
            &context,
            |exports| &exports.delete,
            context.id.0,
        );
        self.close(&context);
        deleted
    }
}
