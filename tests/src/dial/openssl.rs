//! TLS by the `openssl` program, for what no library sends: a server name with a dot at its end, as a client does that
//! was given an absolute name (rustls, as browsers, takes the dot away; some clients do not), and one that is no name.

use std::net::SocketAddr;
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context as TaskContext, Poll};

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use super::Dialled;

/// Returns `true` if the program is installed.
pub fn is_installed() -> bool {
    let version = std::process::Command::new("openssl")
        .arg("version")
        .output();
    version.is_ok_and(|output| output.status.success())
}

/// Connects for HTTP/1.1. The certificate is looked at on a connection of its own.
pub(super) async fn connect(addr: SocketAddr, sni: &str) -> Result<Dialled> {
    let shown = command(addr, sni)
        .stdin(Stdio::null())
        .output()
        .await
        .context("start openssl")?;
    let certificate = CertificateDer::from_pem_slice(&shown.stdout);
    ensure!(
        certificate.is_ok(),
        "openssl: {}",
        String::from_utf8_lossy(&shown.stderr)
    );
    let certificate = certificate.ok().map(|certificate| certificate.to_vec());
    // Without `-quiet`, a line that begins with Q or R would be a command.
    let mut command = command(addr, sni);
    command
        .args(["-quiet", "-verify_quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().context("start openssl")?;
    let (input, output) = (
        child.stdin.take().context("stdin")?,
        child.stdout.take().context("stdout")?,
    );
    Ok(Dialled {
        stream: Box::new(Piped {
            input,
            output,
            _child: child,
        }),
        certificate,
    })
}

fn command(addr: SocketAddr, sni: &str) -> Command {
    let mut command = Command::new("openssl");
    command.args([
        "s_client",
        "-connect",
        &addr.to_string(),
        "-servername",
        sni,
        "-alpn",
        "http/1.1",
    ]);
    command.kill_on_drop(true);
    command
}

/// A stream through `openssl`: writes are encrypted, reads decrypted.
#[derive(Debug)]
struct Piped {
    input: ChildStdin,
    output: ChildStdout,
    _child: Child,
}

impl AsyncRead for Piped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.output).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Piped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.input).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.input).poll_flush(cx)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.input).poll_shutdown(cx)
    }
}
