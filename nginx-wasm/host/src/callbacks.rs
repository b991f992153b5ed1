//! The calls into the guest, one method for each callback of the ABI.

use crate::{Action, Context, Env, Trap, Vm};

/// The guest's callbacks. `size` and `number` arguments are what the guest will find in the buffer or the map.
impl<E: Env> Vm<E> {
    /// Creates a root context: one per plugin configuration.
    ///
    /// # Errors
    ///
    /// As all callbacks here: the guest trapped.
    pub fn create_root(&mut self) -> Result<Context, Trap> {
        self.create(None)
    }

    /// Creates the context of an HTTP request. Stale at once if `root` is.
    pub fn create_http(&mut self, root: &Context) -> Result<Context, Trap> {
        self.create(Some(root))
    }

    /// The VM has started; `false`: the guest refuses.
    pub fn on_vm_start(&mut self, root: &Context, size: u32) -> Result<bool, Trap> {
        self.ask(
            "proxy_on_vm_start",
            root,
            |exports| &exports.vm_start,
            (root.id.0, size),
        )
    }

    /// A configuration is there; `false`: the guest refuses it.
    pub fn on_configure(&mut self, root: &Context, size: u32) -> Result<bool, Trap> {
        self.ask(
            "proxy_on_configure",
            root,
            |exports| &exports.configure,
            (root.id.0, size),
        )
    }

    /// The tick period has passed.
    pub fn on_tick(&mut self, root: &Context) -> Result<(), Trap> {
        self.tell("proxy_on_tick", root, |exports| &exports.tick, root.id.0)
    }

    /// A queue that this root context registered has got an item.
    pub fn on_queue_ready(&mut self, root: &Context, queue: u32) -> Result<(), Trap> {
        self.tell(
            "proxy_on_queue_ready",
            root,
            |exports| &exports.queue_ready,
            (root.id.0, queue),
        )
    }

    /// The response to an HTTP call of this context, a root or an HTTP one. No headers, and nothing else: it failed.
    pub fn on_http_call_response(
        &mut self,
        context: &Context,
        token: u32,
        headers: u32,
        body_size: u32,
        trailers: u32,
    ) -> Result<(), Trap> {
        let arguments = (context.id.0, token, headers, body_size, trailers);
        self.tell(
            "proxy_on_http_call_response",
            context,
            |exports| &exports.http_call_response,
            arguments,
        )
    }

    /// The host calls a function of the guest; its arguments are `BufferType::CallData`.
    pub fn on_foreign_function(
        &mut self,
        context: &Context,
        function: u32,
        size: u32,
    ) -> Result<(), Trap> {
        let arguments = (context.id.0, function, size);
        self.tell(
            "proxy_on_foreign_function",
            context,
            |exports| &exports.foreign_function,
            arguments,
        )
    }

    /// The request's headers are there.
    pub fn on_request_headers(
        &mut self,
        context: &Context,
        number: u32,
        eof: bool,
    ) -> Result<Action, Trap> {
        let arguments = (context.id.0, number, u32::from(eof));
        self.act(
            "proxy_on_request_headers",
            context,
            |exports| &exports.request_headers,
            arguments,
        )
    }

    /// A part of the request's body is there.
    pub fn on_request_body(
        &mut self,
        context: &Context,
        size: u32,
        eof: bool,
    ) -> Result<Action, Trap> {
        let arguments = (context.id.0, size, u32::from(eof));
        self.act(
            "proxy_on_request_body",
            context,
            |exports| &exports.request_body,
            arguments,
        )
    }

    /// The request's trailers are there.
    pub fn on_request_trailers(&mut self, context: &Context, number: u32) -> Result<Action, Trap> {
        let arguments = (context.id.0, number);
        self.act(
            "proxy_on_request_trailers",
            context,
            |exports| &exports.request_trailers,
            arguments,
        )
    }

    /// The response's headers are there.
    pub fn on_response_headers(
        &mut self,
        context: &Context,
        number: u32,
        eof: bool,
    ) -> Result<Action, Trap> {
        let arguments = (context.id.0, number, u32::from(eof));
        self.act(
            "proxy_on_response_headers",
            context,
            |exports| &exports.response_headers,
            arguments,
        )
    }

    /// A part of the response's body is there.
    pub fn on_response_body(
        &mut self,
        context: &Context,
        size: u32,
        eof: bool,
    ) -> Result<Action, Trap> {
        let arguments = (context.id.0, size, u32::from(eof));
        self.act(
            "proxy_on_response_body",
            context,
            |exports| &exports.response_body,
            arguments,
        )
    }

    /// The response's trailers are there.
    pub fn on_response_trailers(&mut self, context: &Context, number: u32) -> Result<Action, Trap> {
        let arguments = (context.id.0, number);
        self.act(
            "proxy_on_response_trailers",
            context,
            |exports| &exports.response_trailers,
            arguments,
        )
    }

    /// The host is done with the context; `false`: the guest is not, and will call `Env::done`.
    pub fn on_done(&mut self, context: &Context) -> Result<bool, Trap> {
        self.ask(
            "proxy_on_done",
            context,
            |exports| &exports.done,
            context.id.0,
        )
    }

    /// The request is over and about to be logged.
    pub fn on_log(&mut self, context: &Context) -> Result<(), Trap> {
        self.tell(
            "proxy_on_log",
            context,
            |exports| &exports.log,
            context.id.0,
        )
    }

    /// Deletes the context. Its id is free afterwards, whatever the guest does.
    pub fn on_delete(&mut self, context: Context) -> Result<(), Trap> {
        let deleted = self.tell(
            "proxy_on_delete",
            &context,
            |exports| &exports.delete,
            context.id.0,
        );
        self.close(&context);
        deleted
    }
}
