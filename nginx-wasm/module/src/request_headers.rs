//! `$sluice_request_headers`: headers of requests to pods, as one text.
//!
//! nginx goes through each `proxy_set_header` twice, for its length and for its text, which for a dozen of them takes a tenth of all
//! that it does for a request. So it is given the value of the first of these headers and the lines of the others in one:
//!
//! ```text
//!   sluice_request_header X-Real-IP $remote_addr;         proxy_set_header X-Real-IP $sluice_request_headers;
//!   sluice_request_header X-Scheme $scheme;               proxy_set_header X-Scheme "";    the client's is not passed on
//! ```
//!
//! Like nginx it sends no header whose value is empty; unlike nginx none with a line break in it.

use std::cell::RefCell;

use sluice_ngx::{Computed, Conf, LiveRequest, VariableIndex};

pub(crate) const COMPUTED: Computed = Computed {
    name: "sluice_request_headers",
    write: write_lines,
};

/// A header and the variable with its value.
#[derive(Clone)]
pub(crate) struct RequestHeader {
    name: Box<[u8]>,
    value: VariableIndex,
}

thread_local! {
    static HEADERS: RefCell<Vec<RequestHeader>> = const { RefCell::new(Vec::new()) };
}

impl RequestHeader {
    /// `sluice_request_header NAME $VARIABLE;`
    pub(crate) fn of_directive(conf: &Conf<'_>) -> Result<Self, String> {
        let mut arguments = conf.arguments();
        let name = arguments.next().unwrap_or_default();
        let value = arguments.next().unwrap_or_default();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        if name.is_empty() || !name.iter().all(is_name) {
            return Err("expected a name of letters, digits and hyphens".to_owned());
        }
        let variable = variable(value).ok_or("expected a variable")?;
        Ok(RequestHeader {
            name: name.into(),
            value: conf.variable(variable)?,
        })
    }
}

/// The name in `$NAME` or `${NAME}`.
fn variable(value: &[u8]) -> Option<&[u8]> {
    let name = value.strip_prefix(b"$")?;
    let braced = name.strip_prefix(b"{").and_then(|it| it.strip_suffix(b"}"));
    let name = braced.unwrap_or(name);
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    (!name.is_empty() && name.iter().all(is_plain)).then_some(name)
}

/// Those of this process.
pub(crate) fn start(headers: Vec<RequestHeader>) {
    HEADERS.set(headers);
}

fn write_lines(request: &mut LiveRequest<'_>, lines: &mut Vec<u8>) -> bool {
    HEADERS.with_borrow(|headers| {
        let Some((first, others)) = headers.split_first() else {
            return false;
        };
        lines.extend_from_slice(value(request, first));
        for header in others {
            let value = value(request, header);
            if !value.is_empty() {
                for part in [b"\r\n", &*header.name, b": ", value] {
                    lines.extend_from_slice(part);
                }
            }
        }
        true
    })
}

/// A line break would end the header.
fn value<'a>(request: &'a mut LiveRequest<'_>, header: &RequestHeader) -> &'a [u8] {
    let value = request.variable_at(header.value);
    let is_line = |value: &&[u8]| !value.iter().any(|byte| matches!(byte, b'\r' | b'\n'));
    value.filter(is_line).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_written_as_in_nginx() {
        assert_eq!(variable(b"$remote_addr"), Some(&b"remote_addr"[..]));
        assert_eq!(variable(b"${remote_addr}"), Some(&b"remote_addr"[..]));
        for other in ["", "$", "${}", "x", "$a$b", "${a}b", "a$b", "${a"] {
            assert_eq!(variable(other.as_bytes()), None, "{other}");
        }
    }
}
