//! Reason codes: why something is not served as its owner wrote it, for programs.

use std::fmt;

use serde::{Serialize, Serializer};

/// Reason code of a report. Names are those of Gateway API's conditions where it has one; they are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasonCode {
    /// The value is not one that the field can have.
    InvalidValue,
    /// Unknown field.
    UnknownField,
    /// The object that the field refers to is not as it has to be.
    InvalidRef,
    /// The object that the field refers to does not exist.
    RefNotFound,
    /// The field must not refer to that object.
    RefNotPermitted,
    /// No data plane, or not this one, serves the setting.
    Unsupported,
    /// The setting is served with a difference.
    PartiallySupported,
    /// The setting changes nothing.
    NoEffect,
    /// Another object has the name, path or setting already, or closes the path.
    Conflicted,
    /// The operator does not permit the setting.
    NotPermitted,
    /// More than a limit of Sluice.
    LimitExceeded,
    /// Served as written, which is weaker than its owner may think.
    Insecure,
    /// The data plane rejected the configuration.
    Rejected,
}

/// Type of the status condition that a reason belongs to: Gateway API's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ConditionType {
    /// The object is valid, and permitted.
    Accepted,
    /// Everything that the object refers to exists, and may be referred to.
    ResolvedRefs,
    /// The data plane has taken it.
    Programmed,
}

impl ReasonCode {
    /// All codes.
    pub const ALL: [ReasonCode; 13] = [
        ReasonCode::InvalidValue,
        ReasonCode::UnknownField,
        ReasonCode::InvalidRef,
        ReasonCode::RefNotFound,
        ReasonCode::RefNotPermitted,
        ReasonCode::Unsupported,
        ReasonCode::PartiallySupported,
        ReasonCode::NoEffect,
        ReasonCode::Conflicted,
        ReasonCode::NotPermitted,
        ReasonCode::LimitExceeded,
        ReasonCode::Insecure,
        ReasonCode::Rejected,
    ];

    /// The code as conditions, Events, `sluice lint` and metrics show it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ReasonCode::InvalidValue => "InvalidValue",
            ReasonCode::UnknownField => "UnknownField",
            ReasonCode::InvalidRef => "InvalidRef",
            ReasonCode::RefNotFound => "RefNotFound",
            ReasonCode::RefNotPermitted => "RefNotPermitted",
            ReasonCode::Unsupported => "Unsupported",
            ReasonCode::PartiallySupported => "PartiallySupported",
            ReasonCode::NoEffect => "NoEffect",
            ReasonCode::Conflicted => "Conflicted",
            ReasonCode::NotPermitted => "NotPermitted",
            ReasonCode::LimitExceeded => "LimitExceeded",
            ReasonCode::Insecure => "Insecure",
            ReasonCode::Rejected => "Rejected",
        }
    }

    /// Meaning, in words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            ReasonCode::InvalidValue => "the value is not one that the field can have",
            ReasonCode::UnknownField => "there is no field, annotation or key of this name",
            ReasonCode::Unsupported => "Sluice, or this data plane, does not serve the setting",
            ReasonCode::PartiallySupported => "the setting is served with a difference",
            ReasonCode::NoEffect => "the setting changes nothing",
            ReasonCode::Conflicted => {
                "another object has the name, path or setting already, or closes the path"
            }
            ReasonCode::NotPermitted => "the operator does not permit the setting",
            ReasonCode::LimitExceeded => "more than a limit of Sluice",
            ReasonCode::Insecure => "served as written, which is weaker than its owner may think",
            ReasonCode::InvalidRef => "the object that the field refers to is not as it has to be",
            ReasonCode::RefNotFound => "the object that the field refers to does not exist",
            ReasonCode::RefNotPermitted => "the field must not refer to that object",
            ReasonCode::Rejected => "the data plane rejected the configuration",
        }
    }

    /// Condition that is false, or partly so, for this reason.
    #[must_use]
    pub const fn condition(self) -> ConditionType {
        match self {
            ReasonCode::InvalidRef | ReasonCode::RefNotFound | ReasonCode::RefNotPermitted => {
                ConditionType::ResolvedRefs
            }
            ReasonCode::Rejected => ConditionType::Programmed,
            ReasonCode::InvalidValue
            | ReasonCode::UnknownField
            | ReasonCode::Unsupported
            | ReasonCode::PartiallySupported
            | ReasonCode::NoEffect
            | ReasonCode::Conflicted
            | ReasonCode::NotPermitted
            | ReasonCode::LimitExceeded
            | ReasonCode::Insecure => ConditionType::Accepted,
        }
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ReasonCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
