//! Actions of rules.

use std::fmt;

use serde::Serialize;

use super::text::{Token, WafText};

/// Actions without a value. Absent: `exec`, and what changes the environment, the response or the connection.
pub const FLAGS: &[&str] = &[
    "allow",
    "auditlog",
    "block",
    "capture",
    "chain",
    "deny",
    "drop",
    "log",
    "multiMatch",
    "noauditlog",
    "nolog",
    "pass",
];
/// Settings that a rule changes for one request.
pub const CONTROLS: &[&str] = &[
    "auditEngine",
    "auditLogParts",
    "forceRequestBodyVariable",
    "requestBodyAccess",
    "requestBodyProcessor",
    "ruleEngine",
    "ruleRemoveById",
    "ruleRemoveByTag",
    "ruleRemoveTargetById",
    "ruleRemoveTargetByTag",
];
/// Transformations of values before they are compared.
pub const TRANSFORMATIONS: &[&str] = &[
    "base64Decode",
    "base64DecodeExt",
    "base64Encode",
    "cmdLine",
    "compressWhitespace",
    "cssDecode",
    "escapeSeqDecode",
    "hexDecode",
    "hexEncode",
    "htmlEntityDecode",
    "jsDecode",
    "length",
    "lowercase",
    "md5",
    "none",
    "normalisePath",
    "normalisePathWin",
    "normalizePath",
    "normalizePathWin",
    "removeComments",
    "removeCommentsChar",
    "removeNulls",
    "removeWhitespace",
    "replaceComments",
    "replaceNulls",
    "sha1",
    "sqlHexDecode",
    "trim",
    "trimLeft",
    "trimRight",
    "uppercase",
    "urlDecode",
    "urlDecodeUni",
    "urlEncode",
    "utf8toUnicode",
];

/// One action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Action {
    /// One of [`FLAGS`].
    Flag(&'static str),
    /// `id`, `phase`, `status`, `severity`, `t`, `skipAfter`, `allow` and their values.
    Word(&'static str, Token),
    /// `msg`, `tag`, `logdata`, `ver`, `rev`, `maturity`, `accuracy` and their texts.
    Text(&'static str, WafText),
    /// `setvar` of a variable in `TX`.
    Set(Token, Assignment),
    /// One of [`CONTROLS`], and its value.
    Control(&'static str, Token),
    /// A control that is limited to one variable.
    ControlTarget(&'static str, Token, Token),
}

/// Change of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Assignment {
    /// It exists.
    One,
    /// It exists no longer.
    Remove,
    /// It is this.
    Value(WafText),
    /// It is more by this.
    Add(WafText),
    /// It is less by this.
    Subtract(WafText),
}

impl Action {
    /// True if it is this flag.
    #[must_use]
    pub fn is(&self, flag: &str) -> bool {
        matches!(self, Action::Flag(name) if *name == flag)
    }

    /// Value of a word.
    #[must_use]
    pub fn word(&self, wanted: &str) -> Option<&str> {
        match self {
            Action::Word(name, value) if *name == wanted => Some(value.as_str()),
            _ => None,
        }
    }

    pub(super) fn switches_engine_on(&self) -> bool {
        self.controls("ruleEngine", "On")
    }

    pub(super) fn controls(&self, wanted: &str, value: &str) -> bool {
        matches!(self, Action::Control(name, to) if *name == wanted && to.as_str() == value)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Flag(name) => f.write_str(name),
            Action::Word(name, value) => write!(f, "{name}:{value}"),
            Action::Text(name, text) => write!(f, "{name}:'{text}'"),
            Action::Set(name, Assignment::One) => write!(f, "setvar:'tx.{name}'"),
            Action::Set(name, Assignment::Remove) => write!(f, "setvar:!tx.{name}"),
            Action::Set(name, Assignment::Value(value)) => write!(f, "setvar:'tx.{name}={value}'"),
            Action::Set(name, Assignment::Add(value)) => write!(f, "setvar:'tx.{name}=+{value}'"),
            Action::Set(name, Assignment::Subtract(value)) => {
                write!(f, "setvar:'tx.{name}=-{value}'")
            }
            Action::Control(name, value) => write!(f, "ctl:{name}={value}"),
            Action::ControlTarget(name, rules, target) => write!(f, "ctl:{name}={rules};{target}"),
        }
    }
}

/// A list in double quotes.
pub(super) fn quoted(actions: &[Action]) -> String {
    let all: Vec<String> = actions.iter().map(Action::to_string).collect();
    format!("\"{}\"", all.join(","))
}
