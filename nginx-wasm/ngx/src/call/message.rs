//! Requests and responses as bytes. HTTP/1.0, so that no server sends chunks.

/// Request of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallRequest<'a> {
    /// The method.
    pub method: &'a [u8],
    /// The target: path and query.
    pub target: &'a [u8],
    /// The `Host`.
    pub authority: &'a [u8],
    /// Other headers.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// The body.
    pub body: &'a [u8],
}

/// Response to a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallResponse {
    /// The HTTP status.
    pub status: u16,
    /// Names in lower case, with values.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Completeness of a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Incomplete,
    Complete(CallResponse),
    Invalid(&'static str),
}

const MAX_HEADERS: usize = 64;
const MAX_HEAD: usize = 64 << 10;
/// More than the tables of the largest cluster.
const MAX_BODY: usize = 64 << 20;

impl CallRequest<'_> {
    /// Serializes the request. Callers must not pass headers with line ends.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(256 + self.body.len());
        for part in [
            self.method,
            b" ",
            self.target,
            b" HTTP/1.0\r\nHost: ",
            self.authority,
            b"\r\n",
        ] {
            bytes.extend_from_slice(part);
        }
        for (name, value) in self.headers {
            for part in [name, &b": "[..], value, b"\r\n"] {
                bytes.extend_from_slice(part);
            }
        }
        if !self.body.is_empty() {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"Connection: close\r\n\r\n");
        bytes.extend_from_slice(self.body);
        bytes
    }
}

/// Parses the bytes received so far; `closed` if the connection has closed.
pub(super) fn parse(bytes: &[u8], closed: bool) -> Progress {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Response::new(&mut headers);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if closed => {
            return Progress::Invalid("the connection closed");
        }
        Ok(httparse::Status::Partial) if bytes.len() > MAX_HEAD => {
            return Progress::Invalid("response head too long");
        }
        Ok(httparse::Status::Partial) => return Progress::Incomplete,
        Err(_) => return Progress::Invalid("the response is not HTTP"),
    };
    let body = bytes.get(length..).unwrap_or_default();
    let body = match content_length(head.headers) {
        Err(reason) => return Progress::Invalid(reason),
        Ok(Some(expected)) => match body.get(..expected) {
            Some(body) => body,
            None if closed => return Progress::Invalid("the body is truncated"),
            None => return Progress::Incomplete,
        },
        Ok(None) if closed => body,
        Ok(None) if body.len() > MAX_BODY => return Progress::Invalid("response body too long"),
        Ok(None) => return Progress::Incomplete,
    };
    let pair = |header: &httparse::Header<'_>| {
        (
            header.name.to_ascii_lowercase().into_bytes(),
            header.value.to_vec(),
        )
    };
    let headers = head.headers.iter().map(pair).collect();
    Progress::Complete(CallResponse {
        status: head.code.unwrap_or(0),
        headers,
        body: body.to_vec(),
    })
}

fn content_length(headers: &[httparse::Header<'_>]) -> Result<Option<usize>, &'static str> {
    if headers
        .iter()
        .any(|header| header.name.eq_ignore_ascii_case("transfer-encoding"))
    {
        return Err("transfer encoding in an HTTP/1.0 response");
    }
    let Some(header) = headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
    else {
        return Ok(None);
    };
    let length = std::str::from_utf8(header.value)
        .ok()
        .and_then(|text| text.parse().ok());
    match length {
        Some(length) if length <= MAX_BODY => Ok(Some(length)),
        Some(_) => Err("response body too long"),
        None => Err("invalid content-length"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_is_one_http_1_0_message() {
        let headers = [(&b"accept"[..], &b"*/*"[..])];
        let message = CallRequest {
            method: b"POST",
            target: b"/a?b",
            authority: b"c",
            headers: &headers,
            body: b"hello",
        };
        let expected = "POST /a?b HTTP/1.0\r\nHost: c\r\naccept: */*\r\nContent-Length: 5\r\n\
                        Connection: close\r\n\r\nhello";
        assert_eq!(String::from_utf8(message.to_bytes()).unwrap(), expected);
    }

    #[test]
    fn response_is_complete_with_its_last_byte() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-A: 1\r\n\r\nabc";
        for end in 0..bytes.len() {
            assert_eq!(parse(&bytes[..end], false), Progress::Incomplete, "{end}");
            assert!(
                matches!(parse(&bytes[..end], true), Progress::Invalid(_)),
                "{end}"
            );
        }
        let Progress::Complete(response) = parse(bytes, false) else {
            panic!("incomplete")
        };
        assert_eq!((response.status, &response.body[..]), (200, &b"abc"[..]));
        assert_eq!(response.headers[1], (b"x-a".to_vec(), b"1".to_vec()));
    }

    #[test]
    fn body_without_length_ends_with_the_connection() {
        let bytes = b"HTTP/1.0 204 No Content\r\n\r\n";
        assert_eq!(parse(bytes, false), Progress::Incomplete);
        assert_eq!(
            parse(bytes, true),
            Progress::Complete(CallResponse {
                status: 204,
                ..CallResponse::default()
            })
        );
    }

    #[test]
    fn malformed_or_too_long_response_is_invalid() {
        let responses: [&[u8]; 4] = [
            b"hello\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ];
        for response in responses {
            assert!(
                matches!(parse(response, false), Progress::Invalid(_)),
                "{}",
                response.escape_ascii()
            );
        }
    }
}
