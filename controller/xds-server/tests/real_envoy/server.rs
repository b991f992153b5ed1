//! Our server on a unix socket, in a runtime of its own so that it can be ended with all its streams.

use std::net::TcpListener;
use std::path::PathBuf;

use sluice_xds::{FilterCode, Settings};
use sluice_xds_server::Store;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::UnixListenerStream;

pub(crate) struct Server {
    pub(crate) store: Store,
    runtime: Option<Runtime>,
    folder: TempDir,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::start_in(tempfile::tempdir().unwrap())
    }

    fn start_in(folder: TempDir) -> Server {
        let (store, runtime) = (Store::new(), Runtime::new().unwrap());
        let socket = folder.path().join("controller.sock");
        std::fs::remove_file(&socket).ok();
        let routes =
            sluice_xds_server::discovery_service(&store, |session| drop(tokio::spawn(session)));
        runtime.spawn(async move {
            let listener = UnixListenerStream::new(UnixListener::bind(socket).unwrap());
            tonic::transport::Server::builder()
                .add_routes(routes)
                .serve_with_incoming(listener)
                .await
                .unwrap();
        });
        Server {
            store,
            runtime: Some(runtime),
            folder,
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("controller.sock")
    }

    /// Ends it with all its streams, and starts another one at the same place.
    pub(crate) fn restart(mut self) -> Server {
        self.end();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        Server::start_in(folder)
    }

    fn end(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// A filter that does nothing, so that Envoy's own round robin is what is seen.
fn no_op_wasm() -> Vec<u8> {
    let export = |name: &str, kind: u8, index: u8| {
        [&[name.len() as u8], name.as_bytes(), &[kind, index]].concat()
    };
    let exports = [
        vec![3],
        export("memory", 2, 0),
        export("proxy_abi_version_0_2_1", 0, 0),
        export("proxy_on_memory_allocate", 0, 1),
    ]
    .concat();
    [
        b"\0asm\x01\0\0\0".as_slice(),
        // Types () -> () and (i32) -> i32, a function of each, one page of memory.
        b"\x01\x09\x02\x60\0\0\x60\x01\x7f\x01\x7f",
        b"\x03\x03\x02\0\x01",
        b"\x05\x03\x01\0\x01",
        &[7, exports.len() as u8],
        &exports,
        // Nothing, and the constant 0.
        b"\x0a\x09\x02\x02\0\x0b\x04\0\x41\0\x0b",
    ]
    .concat()
}

pub(crate) fn settings() -> Settings {
    static PORT: std::sync::OnceLock<std::net::SocketAddr> = std::sync::OnceLock::new();
    let address = PORT.get_or_init(|| {
        TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
    });
    Settings {
        http: vec![*address],
        ..Settings::new(FilterCode::Inline(no_op_wasm()), b"{}".to_vec())
    }
}
