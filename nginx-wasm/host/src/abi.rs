//! Enums of the ABI with their numbers. Source: proxy-wasm/spec, abi-versions/v0.2.1.

/// Declares an enum of the ABI with its numbers and the conversions from and to a number.
macro_rules! abi_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u32)]
        pub enum $name { $($(#[$item_doc])* $item = $number,)* }

        impl $name {
            /// Parses a number; `None` if the ABI does not define it.
            #[must_use]
            pub fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$item),)*
                    _ => None,
                }
            }

            /// Number of the value in the ABI.
            #[must_use]
            pub fn number(self) -> u32 {
                self as u32
            }
        }
    };
}

abi_enum! {
    /// Status of a host call.
    ///
    /// The Rust SDK knows 0 to 4, 7, 8 and 10 only, and panics on most others: return one of those where the guest
    /// is expected to continue.
    Status {
        /// Success.
        Ok = 0,
        /// No such header, property, key, queue or metric.
        NotFound = 1,
        /// An argument is out of range, or not allowed in this phase.
        BadArgument = 2,
        /// A value could not be serialized for the guest.
        SerializationFailure = 3,
        /// A serialized value from the guest could not be parsed.
        ParseFailure = 4,
        /// An expression could not be evaluated.
        BadExpression = 5,
        /// A pointer from the guest is outside its memory.
        InvalidMemoryAccess = 6,
        /// The queue is empty.
        Empty = 7,
        /// The value has changed since it was read.
        CasMismatch = 8,
        /// The result does not match the expectation of the caller.
        ResultMismatch = 9,
        /// The host failed.
        InternalFailure = 10,
        /// The connection is broken.
        BrokenConnection = 11,
        /// The host does not implement the call.
        Unimplemented = 12,
    }
}

abi_enum! {
    /// Levels of log lines, least severe first.
    LogLevel {
        /// Tracing of single steps.
        Trace = 0,
        /// For debugging the guest.
        Debug = 1,
        /// Normal operation.
        Info = 2,
        /// Something that an operator should check.
        Warn = 3,
        /// Something failed.
        Error = 4,
        /// The guest cannot continue.
        Critical = 5,
    }
}

abi_enum! {
    /// Action of the host on the stream after a callback.
    Action {
        /// Continue.
        Continue = 0,
        /// Hold the stream until `continue_stream` or a local response.
        Pause = 1,
    }
}

abi_enum! {
    /// The header maps that a guest can name.
    MapType {
        /// The request, as it goes upstream.
        HttpRequestHeaders = 0,
        /// Its trailers.
        HttpRequestTrailers = 1,
        /// The response, as it goes to the client.
        HttpResponseHeaders = 2,
        /// Its trailers.
        HttpResponseTrailers = 3,
        /// The initial metadata of a gRPC call of the guest.
        GrpcReceiveInitialMetadata = 4,
        /// The trailing metadata of a gRPC call of the guest.
        GrpcReceiveTrailingMetadata = 5,
        /// The response to an HTTP call of the guest.
        HttpCallResponseHeaders = 6,
        /// Its trailers.
        HttpCallResponseTrailers = 7,
    }
}

abi_enum! {
    /// The buffers that a guest can name.
    BufferType {
        /// The available part of the request body.
        HttpRequestBody = 0,
        /// The available part of the response body.
        HttpResponseBody = 1,
        /// Bytes from the client of a TCP stream.
        DownstreamData = 2,
        /// Bytes from the upstream of a TCP stream.
        UpstreamData = 3,
        /// The body of the response to an HTTP call of the guest.
        HttpCallResponseBody = 4,
        /// A gRPC message.
        GrpcReceiveBuffer = 5,
        /// The configuration of the VM.
        VmConfiguration = 6,
        /// The configuration of the root context.
        PluginConfiguration = 7,
        /// The arguments of a foreign function.
        CallData = 8,
    }
}

abi_enum! {
    /// The halves of a stream.
    StreamType {
        /// An HTTP request.
        HttpRequest = 0,
        /// An HTTP response.
        HttpResponse = 1,
        /// The client's half of a TCP stream.
        Downstream = 2,
        /// The upstream's half of a TCP stream.
        Upstream = 3,
    }
}

abi_enum! {
    /// Metric types.
    MetricType {
        /// Increases only.
        Counter = 0,
        /// Increases and decreases.
        Gauge = 1,
        /// A distribution.
        Histogram = 2,
    }
}
