//! The guest during a host call: its memory, with checked access, and the state of the host.

use std::ops::Range;
use std::sync::Arc;

use wasmtime::{Caller, Memory, StoreLimits, StoreLimitsBuilder, TypedFunc};

use crate::context::Contexts;
use crate::{ContextId, Env, Options, PairsBuf, Status};

/// Host state of a store.
pub(crate) struct State<E> {
    pub(crate) env: E,
    pub(crate) contexts: Contexts,
    pub(crate) generation: u32,
    pub(crate) options: Options,
    pub(crate) limits: StoreLimits,
    /// `None` during instantiation.
    pub(crate) memory: Option<Memory>,
    /// Shared, because cloning a typed function clones its type, and this one is called several times per request.
    pub(crate) allocate: Option<Arc<TypedFunc<u32, u32>>>,
    /// Output of the current host call, on its way from the env to the guest; kept between calls to reuse its memory.
    pub(crate) output: Vec<u8>,
    pub(crate) pairs: PairsBuf,
}

/// Limit of a table, which costs the host 8 bytes per element. A large Rust guest has one with some thousands.
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
            output: Vec::new(),
            pairs: PairsBuf::default(),
        }
    }
}

/// Failure of a host call.
pub(crate) enum HostCallError {
    /// Returned to the guest.
    Status(Status),
    /// Ends the guest.
    Trap(wasmtime::Error),
}

impl From<Status> for HostCallError {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// Capacity of the output buffer that is kept between calls: more than any header map, less than a table of endpoints.
const KEPT_OUTPUT: usize = 64 << 10;

/// The guest of the current host call.
pub(crate) struct Guest<'a, E: Env>(pub(crate) Caller<'a, State<E>>);

/// Disjoint borrows for a host call.
pub(crate) struct Parts<'a, E> {
    pub(crate) memory: GuestMemory<'a>,
    pub(crate) env: &'a mut E,
    /// Empty at first; `Guest::return_output` passes it to the guest.
    pub(crate) output: &'a mut Vec<u8>,
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

    pub(crate) fn parts(&mut self) -> Result<Parts<'_, E>, HostCallError> {
        let memory = self.memory()?;
        let (bytes, state) = memory.data_and_store_mut(&mut self.0);
        if state.output.capacity() > KEPT_OUTPUT {
            state.output = Vec::new();
        }
        state.output.clear();
        state.pairs.clear();
        Ok(Parts {
            memory: GuestMemory(bytes),
            env: &mut state.env,
            output: &mut state.output,
            pairs: &mut state.pairs,
        })
    }

    /// Copies the output into memory that the guest allocates, and writes its address and length to the given
    /// addresses. An empty output is null and 0, as in Envoy.
    pub(crate) fn return_output(
        &mut self,
        out_address: u32,
        out_length: u32,
    ) -> Result<(), HostCallError> {
        let output = std::mem::take(&mut self.0.data_mut().output);
        let given = self.write_output(&output, out_address, out_length);
        if output.capacity() <= KEPT_OUTPUT {
            self.0.data_mut().output = output;
        }
        given
    }

    fn write_output(
        &mut self,
        bytes: &[u8],
        out_address: u32,
        out_length: u32,
    ) -> Result<(), HostCallError> {
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

    /// Calls the guest's allocator, inside a host call; a trap in it ends the outer call too.
    fn allocate(&mut self, length: u32) -> Result<u32, HostCallError> {
        let allocate = self
            .0
            .data()
            .allocate
            .clone()
            .ok_or(Status::InternalFailure)?;
        match allocate
            .call(&mut self.0, length)
            .map_err(HostCallError::Trap)?
        {
            0 => Err(Status::InvalidMemoryAccess.into()),
            address => Ok(address),
        }
    }

    fn memory(&self) -> Result<Memory, HostCallError> {
        self.0
            .data()
            .memory
            .ok_or(HostCallError::Status(Status::InvalidMemoryAccess))
    }
}

/// The guest's memory. Its size is set by the guest, so checked addresses bound all lengths as well.
pub(crate) struct GuestMemory<'a>(&'a mut [u8]);

impl GuestMemory<'_> {
    pub(crate) fn length(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn bytes(&self, address: u32, length: u32) -> Result<&[u8], HostCallError> {
        Ok(self
            .0
            .get(range(address, length)?)
            .ok_or(Status::InvalidMemoryAccess)?)
    }

    pub(crate) fn bytes_mut(
        &mut self,
        address: u32,
        length: u32,
    ) -> Result<&mut [u8], HostCallError> {
        Ok(self
            .0
            .get_mut(range(address, length)?)
            .ok_or(Status::InvalidMemoryAccess)?)
    }

    pub(crate) fn read_u32(&self, address: u32) -> Result<u32, HostCallError> {
        let bytes = self
            .bytes(address, 4)?
            .first_chunk()
            .ok_or(Status::InvalidMemoryAccess)?;
        Ok(u32::from_le_bytes(*bytes))
    }

    pub(crate) fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), HostCallError> {
        let length = u32::try_from(bytes.len()).map_err(|_| Status::InvalidMemoryAccess)?;
        self.bytes_mut(address, length)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn write_u32(&mut self, address: u32, value: u32) -> Result<(), HostCallError> {
        self.write(address, &value.to_le_bytes())
    }

    pub(crate) fn write_u64(&mut self, address: u32, value: u64) -> Result<(), HostCallError> {
        self.write(address, &value.to_le_bytes())
    }
}

fn range(address: u32, length: u32) -> Result<Range<usize>, HostCallError> {
    let start = address as usize;
    let end = start
        .checked_add(length as usize)
        .ok_or(Status::InvalidMemoryAccess)?;
    Ok(start..end)
}
