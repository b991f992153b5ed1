//! HAR files (HTTP Archive 1.2), as browsers and proxies record them.

use hyper::body::Bytes;
use serde::Deserialize;
use sluice_explain::Request;

use crate::recorded::{Recorded, is_sent};

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Sent,
}

#[derive(Deserialize)]
struct Sent {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Header>,
    #[serde(default, rename = "postData")]
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct PostData {
    #[serde(default)]
    text: String,
}

/// The requests of an archive; `None` in the place of one that is not sent over HTTP (`data:`, `wss:`).
///
/// # Errors
/// When it is no archive.
pub fn read_har(text: &str) -> Result<Vec<Option<Recorded>>, String> {
    let archive: Archive = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("expected a HAR file (log.entries), got {error}"))?;
    Ok(archive
        .log
        .entries
        .iter()
        .map(|entry| recorded(&entry.request))
        .collect())
}

fn recorded(sent: &Sent) -> Option<Recorded> {
    let headers = sent.headers.iter().filter(|header| is_sent(&header.name));
    let headers: Vec<String> = headers
        .map(|header| format!("{}: {}", header.name, header.value))
        .collect();
    if !sent.url.contains("://") {
        return None;
    }
    let request = Request::parse(&sent.url, &sent.method, &headers).ok()?;
    let body = sent.post_data.as_ref().map(|data| data.text.clone());
    Some(Recorded {
        request,
        has_scheme: true,
        upstream: None,
        body: Some(Bytes::from(body.unwrap_or_default())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_requests_without_the_headers_of_their_connection() {
        let text = r#"{"log": {"version": "1.2", "entries": [
            {"request": {"method": "POST", "url": "https://a.b/x?y=1", "httpVersion": "h2", "headers": [
                {"name": ":authority", "value": "a.b"}, {"name": "Host", "value": "c.d"},
                {"name": "Content-Length", "value": "3"}, {"name": "Cookie", "value": "s=1"}],
                "postData": {"mimeType": "text/plain", "text": "abc"}}, "response": {}},
            {"request": {"method": "GET", "url": "data:text/plain,x", "headers": []}},
            {"request": {"method": "GET", "url": "wss://a.b/", "headers": []}}]}}"#;
        let found = read_har(text).unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!((&found[1], &found[2]), (&None, &None));
        let first = found[0].as_ref().unwrap();
        assert_eq!(first.request.to_string(), "POST https://a.b/x?y=1");
        assert_eq!(
            first.request.headers,
            [("cookie".to_owned(), "s=1".to_owned())]
        );
        assert_eq!(first.body.as_deref(), Some(b"abc".as_slice()));
    }

    #[test]
    fn what_is_no_archive_is_an_error() {
        for text in ["", "{}", "[]", r#"{"log": {"entries": [1]}}"#] {
            assert!(
                read_har(text)
                    .unwrap_err()
                    .starts_with("expected a HAR file")
            );
        }
    }
}
