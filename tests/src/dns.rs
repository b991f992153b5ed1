//! The least of DNS that a TCP service needs to be tested: one question, one address.
//!
//! RFC 1035; over TCP, every message is led by its length (RFC 7766).

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const HEADER: usize = 12;
const ID: u16 = 7;
/// Type A, class IN.
const ADDRESS: [u8; 4] = [0, 1, 0, 1];
/// A response, recursion desired and available, no error.
const ANSWERED: [u8; 2] = [0x81, 0x80];

/// Asks for the address of a name.
pub async fn ask(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    name: &str,
) -> Result<Vec<Ipv4Addr>> {
    write(&mut stream, &question(name)?).await?;
    let answer = read(&mut stream).await.context("answer")?;
    ensure!(
        answer.get(..2) == Some(&ID.to_be_bytes()[..]),
        "the answer to another question"
    );
    let count = u16::from_be_bytes([
        *answer.get(6).context("header")?,
        *answer.get(7).context("header")?,
    ]);
    let mut rest = answer
        .get(HEADER + question_length(&answer)?..)
        .context("question")?;
    let mut addresses = Vec::new();
    for _ in 0..count {
        // A pointer to the name, type, class, time to live, length, data.
        let (record, next) = rest.split_at_checked(12).context("record")?;
        let length = usize::from(u16::from_be_bytes([record[10], record[11]]));
        let (data, next) = next.split_at_checked(length).context("record")?;
        if let (Some(&ADDRESS), Ok(data)) =
            (record[2..].first_chunk::<4>(), <[u8; 4]>::try_from(data))
        {
            addresses.push(Ipv4Addr::from(data));
        }
        rest = next;
    }
    Ok(addresses)
}

/// Answers every question with this address, until the client goes.
pub async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    address: Ipv4Addr,
) -> Result<()> {
    loop {
        let asked = read(&mut stream).await?;
        let question = asked
            .get(HEADER..HEADER + question_length(&asked)?)
            .context("question")?;
        let mut message = asked.get(..2).context("header")?.to_vec();
        message.extend(ANSWERED);
        message.extend([0, 1, 0, 1, 0, 0, 0, 0]);
        message.extend(question);
        message.extend([0xc0, 0x0c]);
        message.extend(ADDRESS);
        message.extend([0, 0, 0, 60, 0, 4]);
        message.extend(address.octets());
        write(&mut stream, &message).await?;
    }
}

fn question(name: &str) -> Result<Vec<u8>> {
    let mut message = ID.to_be_bytes().to_vec();
    message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.trim_end_matches('.').split('.') {
        message.push(u8::try_from(label.len()).context("a label of a name")?);
        message.extend(label.as_bytes());
    }
    message.push(0);
    message.extend(ADDRESS);
    Ok(message)
}

/// The name up to its root, type and class.
fn question_length(message: &[u8]) -> Result<usize> {
    let mut at = HEADER;
    loop {
        match message.get(at).context("name")? {
            0 => return Ok(at + 1 + ADDRESS.len() - HEADER),
            length => at += 1 + usize::from(*length),
        }
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>> {
    let mut message = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> Result<()> {
    stream.write_u16(u16::try_from(message.len())?).await?;
    stream.write_all(message).await?;
    Ok(stream.flush().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_question_is_answered() {
        let (client, server) = tokio::io::duplex(64);
        let address = Ipv4Addr::new(192, 0, 2, 7);
        let server = tokio::spawn(answer(server, address));
        assert_eq!(ask(client, "a.example.").await.unwrap(), [address]);
        assert!(
            server.await.unwrap().is_err(),
            "it ends when the client goes"
        );
    }
}
