//! The least that asks over HTTP/2, and what no client library would send.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: u8 = 4;
const HEADERS: u8 = 1;
const END_STREAM_AND_HEADERS: u8 = 0x1 | 0x4;

/// Sends one request of these headers and returns all that comes back until `done` or a second of silence.
pub(crate) async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    headers: &[(&str, &str)],
    done: &str,
) -> String {
    let block: Vec<u8> = headers
        .iter()
        .flat_map(|(name, value)| literal(name, value))
        .collect();
    let request = [
        PREFACE,
        &frame(SETTINGS, 0, 0, &[]),
        &frame(HEADERS, END_STREAM_AND_HEADERS, 1, &block),
    ]
    .concat();
    let mut bytes = Vec::new();
    if stream.write_all(&request).await.is_ok() {
        let read = async {
            while !String::from_utf8_lossy(&bytes).contains(done) {
                if !stream.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
                    break;
                }
            }
        };
        // Envoy may keep the connection; what it has to say has come by then.
        let _ = tokio::time::timeout(Duration::from_secs(1), read).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// HPACK: a literal that is never indexed, its name and value as they are. Shorter than 127 bytes each.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| {
        let length = u8::try_from(text.len()).expect("a short text");
        [&[length], text.as_bytes()].concat()
    };
    [&[0x10][..], &text(name), &text(value)].concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len())
        .expect("a small frame")
        .to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
