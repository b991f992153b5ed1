//! The guest from inside a host call: its memory, which is checked at each access, and the host's state beside it.

use std::ops::Range;
use std::sync::Arc;

use wasmtime::{Caller, Memory, StoreLimits, StoreLimitsBuilder, TypedFunc};

use crate::context::Contexts;
use crate::{ContextId, Env, Options, PairsBuf, Status};

/// What a store holds beside the instance.
pub(crate) struct State<E> {
    pub(crate) env: E,
    pub(crate) contexts: Contexts,
    pub(crate) generation: u32,
    pub(crate) options: Options,
    pub(crate) limits: StoreLimits,
    /// Unknown while the instance is being made.
    pub(crate) memory: Option<Memory>,
    /// Shared, because a copy of a typed function copies its type, and this one is called several times a request.
    pub(crate) allocate: Option<Arc<TypedFunc<u32, u32>>>,
    /// The answer to the current host call, on its way from the env to the guest; kept for its memory.
    pub(crate) reply: Vec<u8>,
    pub(crate) pairs: PairsBuf,
}

/// Tables are the host's memory too, 8 bytes an element. A large Rust guest has one of some thousands.
const TABLE_ELEMENTS: usize = 100_000;
const TABLES: usize = 4;

impl<E> State<E> {
    pub(crate) fn new(env: E, contexts: Contexts, generation: u32, options: Options) -> Self {
        let limits = StoreLimitsBuilder::new()
            .memory_size(options.memory_bytes)
            .memories(1)
            .table_elements(TABLE_ELEMENTS)
            .tables(TABLES)
            .build();
        Self {
            env,
            contexts,
            generation,
            options,
            limits,
            memory: None,
            allocate: None,
            reply: Vec::new(),
            pairs: PairsBuf::default(),
        }
    }
}

/// Why a host call does not succeed.
pub(crate) enum Fault {
    /// The guest is told.
    Status(Status),
    /// The guest cannot go on.
    Trap(wasmtime::Error),
}

impl From<Status> for Fault {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// How much of the reply buffer is kept between calls: more than any header map, less than a table of endpoints.
const KEPT_REPLY: usize = 64 << 10;

/// The guest that makes the current host call.
pub(crate) struct Guest<'a, E: Env>(pub(crate) Caller<'a, State<E>>);

/// What a host call works with, side by side.
pub(crate) struct Parts<'a, E> {
    pub(crate) memory: View<'a>,
    pub(crate) env: &'a mut E,
    /// Empty at first; `Guest::give_reply` hands it over.
    pub(crate) reply: &'a mut Vec<u8>,
    pub(crate) pairs: &'a mut PairsBuf,
}

impl<E: Env> Guest<'_, E> {
    pub(crate) fn env(&mut self) -> &mut E {
        &mut self.0.data_mut().env
    }

    pub(crate) fn options(&self) -> Options {
        self.0.data().options
    }

    pub(crate) fn is_live(&self, context: ContextId) -> bool {
        let state = self.0.data();
        state.contexts.is_live(context, state.generation)
    }

    pub(crate) fn parts(&mut self) -> Result<Parts<'_, E>, Fault> {
        let memory = self.memory()?;
        let (bytes, state) = memory.data_and_store_mut(&mut self.0);
        if state.reply.capacity() > KEPT_REPLY {
            state.reply = Vec::new();
        }
        state.reply.clear();
        state.pairs.clear();
        Ok(Parts {
            memory: View(bytes),
            env: &mut state.env,
            reply: &mut state.reply,
            pairs: &mut state.pairs,
        })
    }

    /// Copies the reply into memory that the guest allocates, and stores its address and length where the guest
    /// asked for. Nothing to copy is null and 0, as in Envoy.
    pub(crate) fn give_reply(&mut self, out_address: u32, out_length: u32) -> Result<(), Fault> {
        let reply = std::mem::take(&mut self.0.data_mut().reply);
        let given = self.give(&reply, out_address, out_length);
        if reply.capacity() <= KEPT_REPLY {
            self.0.data_mut().reply = reply;
        }
        given
    }

    fn give(&mut self, bytes: &[u8], out_address: u32, out_length: u32) -> Result<(), Fault> {
        let length = u32::try_from(bytes.len()).map_err(|_| Status::InternalFailure)?;
        let address = if bytes.is_empty() {
            0
        } else {
            self.allocate(length)?
        };
        let mut memory = self.parts()?.memory;
        if length > 0 {
            memory.write(address, bytes)?;
        }
        memory.write_u32(out_address, address)?;
        memory.write_u32(out_length, length)
    }

    /// The guest's own allocator runs here, inside of a host call; a trap in it ends the outer call too.
    fn allocate(&mut self, length: u32) -> Result<u32, Fault> {
        let allocate = self
            .0
            .data()
            .allocate
            .clone()
            .ok_or(Status::InternalFailure)?;
        match allocate.call(&mut self.0, length).map_err(Fault::Trap)? {
            0 => Err(Status::InvalidMemoryAccess.into()),
            address => Ok(address),
        }
    }

    fn memory(&self) -> Result<Memory, Fault> {
        self.0
            .data()
            .memory
            .ok_or(Fault::Status(Status::InvalidMemoryAccess))
    }
}

/// The guest's memory. It is as long as the guest made it, so checked addresses are also the cap of all lengths.
pub(crate) struct View<'a>(&'a mut [u8]);

impl View<'_> {
    pub(crate) fn length(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn bytes(&self, address: u32, length: u32) -> Result<&[u8], Fault> {
        Ok(self
            .0
            .get(range(address, length)?)
            .ok_or(Status::InvalidMemoryAccess)?)
    }

    pub(crate) fn bytes_mut(&mut self, address: u32, length: u32) -> Result<&mut [u8], Fault> {
        Ok(self
            .0
            .get_mut(range(address, length)?)
            .ok_or(Status::InvalidMemoryAccess)?)
    }

    pub(crate) fn read_u32(&self, address: u32) -> Result<u32, Fault> {
        let bytes = self
            .bytes(address, 4)?
            .first_chunk()
            .ok_or(Status::InvalidMemoryAccess)?;
        Ok(u32::from_le_bytes(*bytes))
    }

    pub(crate) fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault> {
        let length = u32::try_from(bytes.len()).map_err(|_| Status::InvalidMemoryAccess)?;
        self.bytes_mut(address, length)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn write_u32(&mut self, address: u32, value: u32) -> Result<(), Fault> {
        self.write(address, &value.to_le_bytes())
    }

    pub(crate) fn write_u64(&mut self, address: u32, value: u64) -> Result<(), Fault> {
        self.write(address, &value.to_le_bytes())
    }
}

fn range(address: u32, length: u32) -> Result<Range<usize>, Fault> {
    let start = address as usize;
    let end = start
        .checked_add(length as usize)
        .ok_or(Status::InvalidMemoryAccess)?;
    Ok(start..end)
}
