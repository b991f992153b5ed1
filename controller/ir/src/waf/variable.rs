//! Variables: parts of a request and its response that rules look at.

use std::fmt;

use serde::Serialize;

use super::operator::Pattern;
use super::text::Token;

/// Variables of a request, of its response and of rules. Absent: `ENV` (the environment of nginx), persistent collections, files.
pub const VARIABLES: &[&str] = &[
    "ARGS",
    "ARGS_COMBINED_SIZE",
    "ARGS_GET",
    "ARGS_GET_NAMES",
    "ARGS_NAMES",
    "ARGS_POST",
    "ARGS_POST_NAMES",
    "DURATION",
    "FILES",
    "FILES_COMBINED_SIZE",
    "FILES_NAMES",
    "FILES_SIZES",
    "FULL_REQUEST_LENGTH",
    "HIGHEST_SEVERITY",
    "INBOUND_DATA_ERROR",
    "MATCHED_VAR",
    "MATCHED_VARS",
    "MATCHED_VARS_NAMES",
    "MATCHED_VAR_NAME",
    "MULTIPART_BOUNDARY_QUOTED",
    "MULTIPART_BOUNDARY_WHITESPACE",
    "MULTIPART_DATA_AFTER",
    "MULTIPART_DATA_BEFORE",
    "MULTIPART_FILENAME",
    "MULTIPART_FILE_LIMIT_EXCEEDED",
    "MULTIPART_HEADER_FOLDING",
    "MULTIPART_INVALID_HEADER_FOLDING",
    "MULTIPART_INVALID_PART",
    "MULTIPART_INVALID_QUOTING",
    "MULTIPART_LF_LINE",
    "MULTIPART_MISSING_SEMICOLON",
    "MULTIPART_NAME",
    "MULTIPART_PART_HEADERS",
    "MULTIPART_STRICT_ERROR",
    "MULTIPART_UNMATCHED_BOUNDARY",
    "OUTBOUND_DATA_ERROR",
    "PATH_INFO",
    "QUERY_STRING",
    "REMOTE_ADDR",
    "REMOTE_PORT",
    "REQBODY_ERROR",
    "REQBODY_ERROR_MSG",
    "REQBODY_PROCESSOR",
    "REQBODY_PROCESSOR_ERROR",
    "REQBODY_PROCESSOR_ERROR_MSG",
    "REQUEST_BASENAME",
    "REQUEST_BODY",
    "REQUEST_BODY_LENGTH",
    "REQUEST_COOKIES",
    "REQUEST_COOKIES_NAMES",
    "REQUEST_FILENAME",
    "REQUEST_HEADERS",
    "REQUEST_HEADERS_NAMES",
    "REQUEST_LINE",
    "REQUEST_METHOD",
    "REQUEST_PROTOCOL",
    "REQUEST_URI",
    "REQUEST_URI_RAW",
    "RESPONSE_BODY",
    "RESPONSE_CONTENT_LENGTH",
    "RESPONSE_CONTENT_TYPE",
    "RESPONSE_HEADERS",
    "RESPONSE_HEADERS_NAMES",
    "RESPONSE_PROTOCOL",
    "RESPONSE_STATUS",
    "RULE",
    "SERVER_ADDR",
    "SERVER_NAME",
    "SERVER_PORT",
    "STATUS_LINE",
    "TIME",
    "TIME_DAY",
    "TIME_EPOCH",
    "TIME_HOUR",
    "TIME_MIN",
    "TIME_MON",
    "TIME_SEC",
    "TIME_WDAY",
    "TIME_YEAR",
    "TX",
    "UNIQUE_ID",
    "URLENCODED_ERROR",
    "XML",
];

/// A variable that a rule looks at, or does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    /// `!`: it is left out.
    pub is_excluded: bool,
    /// `&`: the number of values.
    pub is_count: bool,
    /// One of [`VARIABLES`].
    pub variable: &'static str,
    /// Some of its values.
    pub selector: Option<Selector>,
}

/// Values of a variable, by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Selector {
    /// One name.
    Name(Token),
    /// Names that match. It has no blank and no `|`.
    Pattern(Pattern),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |is_there, sign| if is_there { sign } else { "" };
        let (excluded, count) = (sign(self.is_excluded, "!"), sign(self.is_count, "&"));
        write!(f, "{excluded}{count}{}", self.variable)?;
        match &self.selector {
            None => Ok(()),
            Some(Selector::Name(name)) => write!(f, ":{name}"),
            Some(Selector::Pattern(pattern)) => write!(f, ":/{pattern}/"),
        }
    }
}

/// Several variables.
pub(super) fn joined(targets: &[Target]) -> String {
    let all: Vec<String> = targets.iter().map(Target::to_string).collect();
    all.join("|")
}
