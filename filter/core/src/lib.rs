//! What the filter decides: tables, state and balancing, pure.
