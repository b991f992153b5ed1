//! The guest's HTTP calls.

use std::collections::HashMap;

use sluice_ngxsafe::{Call, Message, NotStarted};
use sluice_pwhost::{Answer, ContextId, HttpCall, Status};

use crate::worker;

/// Calls under way; dropping them ends them.
#[derive(Default)]
pub(crate) struct Calls {
    last: u32,
    live: HashMap<u32, (ContextId, Call)>,
}

impl Calls {
    /// Starts a call for a context; its token is the answer.
    pub(crate) fn start(&mut self, context: ContextId, call: HttpCall<'_>) -> Answer<u32> {
        let mut message = Message {
            method: b"",
            target: b"",
            authority: b"",
            headers: &[],
            body: call.body,
        };
        let mut others = Vec::new();
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
                name => others.push((name, value)),
            }
        }
        if message.method.is_empty() || message.target.is_empty() || message.target.contains(&b' ')
        {
            return Err(Status::BadArgument);
        }
        message.headers = &others;
        self.last = self.last.wrapping_add(1);
        let token = self.last;
        let call = Call::start(call.upstream, message, call.timeout, move |result| {
            worker::answered(token, result)
        });
        let call = call.map_err(|reason| match reason {
            NotStarted::Target => Status::BadArgument,
            NotStarted::Unreachable => Status::InternalFailure,
        })?;
        self.live.insert(token, (context, call));
        Ok(token)
    }

    /// A call has ended; the context that made it.
    pub(crate) fn ended(&mut self, token: u32) -> Option<ContextId> {
        self.live.remove(&token).map(|(context, _)| context)
    }
}
