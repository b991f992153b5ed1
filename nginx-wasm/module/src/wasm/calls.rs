//! The guest's HTTP calls.

use std::collections::HashMap;

use sluice_ngx::{Call, CallError, CallRequest, CallResponse};
use sluice_wasm_host::{ContextId, HttpCall, Status};

/// HTTP calls in flight by token; dropping them cancels them.
#[derive(Default)]
pub(crate) struct Calls {
    last_token: u32,
    in_flight: HashMap<u32, (ContextId, Call)>,
}

/// Callback for the end of a call: its token, and the response or the reason for its failure.
pub(crate) type OnCallEnd = fn(u32, Result<CallResponse, &'static str>);

impl Calls {
    /// Starts a call for a context and returns its token. `on_end` is called later, never from in here.
    ///
    /// # Errors
    ///
    /// `BadArgument` for headers that cannot be sent or an unknown upstream, `InternalFailure` if there is no connection.
    pub(crate) fn start(
        &mut self,
        context: ContextId,
        call: HttpCall<'_>,
        on_end: OnCallEnd,
    ) -> Result<u32, Status> {
        let mut message = CallRequest {
            method: b"",
            target: b"",
            authority: b"",
            headers: &[],
            body: call.body,
        };
        let mut headers = Vec::new();
        for (name, value) in call.headers {
            if [name, value]
                .into_iter()
                .flatten()
                .any(|byte| byte.is_ascii_control())
            {
                return Err(Status::BadArgument);
            }
            match name {
                b":method" => message.method = value,
                b":path" => message.target = value,
                b":authority" => message.authority = value,
                b":scheme" => {}
                name => headers.push((name, value)),
            }
        }
        if message.method.is_empty() || message.target.is_empty() || message.target.contains(&b' ')
        {
            return Err(Status::BadArgument);
        }
        message.headers = &headers;
        self.last_token = self.last_token.wrapping_add(1);
        let token = self.last_token;
        let call = Call::start(call.upstream, message, call.timeout, move |result| {
            on_end(token, result);
        });
        let call = call.map_err(|reason| match reason {
            CallError::InvalidTarget => Status::BadArgument,
            CallError::Unreachable => Status::InternalFailure,
        })?;
        self.in_flight.insert(token, (context, call));
        Ok(token)
    }

    /// Removes a call that has ended and returns the context that made it.
    pub(crate) fn finish(&mut self, token: u32) -> Option<ContextId> {
        self.in_flight.remove(&token).map(|(context, _)| context)
    }
}
