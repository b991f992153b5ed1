//! The numbers of the ABI, as enums. Source: proxy-wasm/spec, abi-versions/v0.2.1.

/// Declares an enum of the ABI with its numbers and the way back from a number.
macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u32)]
        pub enum $name { $($(#[$item_doc])* $item = $number,)* }

        impl $name {
            /// The value with this number, if the ABI has one.
            #[must_use]
            pub fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$item),)*
                    _ => None,
                }
            }

            /// The number that crosses the ABI.
            #[must_use]
            pub fn number(self) -> u32 {
                self as u32
            }
        }
    };
}

numbers! {
    /// What a host call answers.
    ///
    /// The Rust SDK knows 0 to 4, 7, 8 and 10 only, and panics on most others: answer one of those where the guest
    /// is expected to go on.
    Status {
        /// Done.
        Ok = 0,
        /// No such header, property, key, queue or metric.
        NotFound = 1,
        /// An argument is out of its range, or not possible in this phase.
        BadArgument = 2,
        /// A value could not be serialised for the guest.
        SerializationFailure = 3,
        /// A serialised value of the guest could not be read.
        ParseFailure = 4,
        /// An expression could not be evaluated.
        BadExpression = 5,
        /// A pointer of the guest leads outside of its memory.
        InvalidMemoryAccess = 6,
        /// The queue holds nothing.
        Empty = 7,
        /// The value was changed by somebody else since it was read.
        CasMismatch = 8,
        /// The answer is not what the caller said it would be.
        ResultMismatch = 9,
        /// The host failed.
        InternalFailure = 10,
        /// The connection is broken.
        BrokenConnection = 11,
        /// This host does not have that.
        Unimplemented = 12,
    }
}

numbers! {
    /// Levels of log lines, least severe first.
    LogLevel {
        /// Steps of an algorithm.
        Trace = 0,
        /// For whoever debugs the guest.
        Debug = 1,
        /// Normal operation.
        Info = 2,
        /// Something an operator should look at some time.
        Warn = 3,
        /// Something failed.
        Error = 4,
        /// The guest cannot go on.
        Critical = 5,
    }
}

numbers! {
    /// What the host does with the stream after a callback.
    Action {
        /// Go on.
        Continue = 0,
        /// Hold the stream until `continue_stream` or a local response.
        Pause = 1,
    }
}

numbers! {
    /// The header maps that a guest can name.
    MapType {
        /// The client's request, as it goes upstream.
        HttpRequestHeaders = 0,
        /// Its trailers.
        HttpRequestTrailers = 1,
        /// The response, as it goes to the client.
        HttpResponseHeaders = 2,
        /// Its trailers.
        HttpResponseTrailers = 3,
        /// The first metadata of a gRPC call of the guest.
        GrpcReceiveInitialMetadata = 4,
        /// The last metadata of a gRPC call of the guest.
        GrpcReceiveTrailingMetadata = 5,
        /// The response to an HTTP call of the guest.
        HttpCallResponseHeaders = 6,
        /// Its trailers.
        HttpCallResponseTrailers = 7,
    }
}

numbers! {
    /// The buffers that a guest can name.
    BufferType {
        /// The part of the request body at hand.
        HttpRequestBody = 0,
        /// The part of the response body at hand.
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

numbers! {
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

numbers! {
    /// Kinds of metrics.
    MetricType {
        /// Only grows.
        Counter = 0,
        /// Goes up and down.
        Gauge = 1,
        /// A distribution.
        Histogram = 2,
    }
}
