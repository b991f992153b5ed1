//! Health of this controller and its data plane.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sluice_dataplane::envoy::admin;
use sluice_dataplane::nginx;
use sluice_dataplane::supervisor::SharedPid;
use sluice_state::Progress;
use sluice_tasks::{SharedAnswer, Tasks};

/// A handle, cheap to clone.
#[derive(Clone, Debug)]
pub struct Health(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tasks: Tasks,
    progress: Progress,
    data_plane: Probe,
    /// The data plane's own answer: anybody may ask us, and its main thread has more to do.
    serving: SharedAnswer<Result<(), String>>,
    timeout: Duration,
    stopping: AtomicBool,
}

/// Probe of the data plane that is our child process.
#[derive(Clone, Debug)]
pub enum Probe {
    /// By its admin socket.
    Envoy(PathBuf),
    /// By its workers and a connection to its listener.
    Nginx {
        /// Process id; 0 while there is none.
        pid: SharedPid,
        /// Address of the http listener.
        http: SocketAddr,
    },
    /// There is none.
    None,
}

impl Probe {
    /// The end of the time ends the work itself: whoever asks later waits for no old one.
    async fn ask_within(self, timeout: Duration) -> Result<(), String> {
        let asked = tokio::time::timeout(timeout, self.ask()).await;
        let too_late = |_| Err(format!("the data plane did not answer in {timeout:?}"));
        asked.unwrap_or_else(too_late)
    }

    async fn ask(self) -> Result<(), String> {
        match self {
            Probe::Envoy(socket) => admin::serving(&socket)
                .await
                .map(drop)
                .map_err(|error| format!("envoy is not ready: {error:#}")),
            Probe::Nginx { pid, http } => nginx::serving(pid.get(), http)
                .await
                .map_err(|error| format!("nginx does not serve: {error:#}")),
            Probe::None => Ok(()),
        }
    }
}

impl Health {
    /// Health by tasks, publications and the data plane.
    #[must_use]
    pub fn new(tasks: Tasks, progress: Progress, data_plane: Probe, timeout: Duration) -> Self {
        Health(Arc::new(Inner {
            tasks,
            progress,
            data_plane,
            serving: SharedAnswer::default(),
            timeout,
            stopping: AtomicBool::new(false),
        }))
    }

    /// From here on load balancers should send no new requests.
    pub fn stop(&self) {
        self.0.stopping.store(true, Ordering::Relaxed);
    }

    /// True once something has been published.
    pub fn is_initialized(&self) -> bool {
        self.0.progress.is_published()
    }

    /// Every check in order; the first that fails says why. The data plane is asked once a second at most. Says how old the
    /// last publication is: where nothing changes that may be long.
    pub async fn check(&self) -> Result<Duration, String> {
        if self.0.stopping.load(Ordering::Relaxed) {
            return Err("stopping".to_owned());
        }
        if let Some(failure) = self.0.tasks.failure() {
            return Err(failure.to_string());
        }
        let Some(age) = self.0.progress.age() else {
            return Err("nothing has been published yet".to_owned());
        };
        if let Some(time) = self.0.progress.stuck() {
            let (time, age) = (time.as_secs(), age.as_secs());
            return Err(format!(
                "publishing has taken {time} s so far; last publication {age} s ago"
            ));
        }
        let ask = || self.0.data_plane.clone().ask_within(self.0.timeout);
        self.0.serving.get(ask).await?;
        Ok(age)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    use std::sync::atomic::AtomicU32;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixListener;

    use super::*;

    fn health(probe: Probe) -> (Progress, Health) {
        let progress = Progress::default();
        (
            progress.clone(),
            Health::new(Tasks::default(), progress, probe, Duration::from_secs(1)),
        )
    }

    #[tokio::test]
    async fn health_comes_with_the_first_publication_and_goes_with_the_stop() {
        let (progress, health) = health(Probe::None);
        assert_eq!(
            health.check().await.unwrap_err(),
            "nothing has been published yet"
        );
        progress.note_published();
        assert!(health.check().await.is_ok());
        health.stop();
        assert_eq!(health.check().await.unwrap_err(), "stopping");
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_publisher_is_healthy_for_ever_and_one_that_is_stuck_is_not() {
        let (progress, health) = health(Probe::None);
        progress.note_published();
        let day = Duration::from_secs(24 * 60 * 60);
        tokio::time::advance(day).await;
        assert_eq!(health.check().await, Ok(day));
        let busy = progress.begin();
        tokio::time::advance(day).await;
        let said = health.check().await.unwrap_err();
        assert_eq!(
            said,
            "publishing has taken 86400 s so far; last publication 172800 s ago"
        );
        drop(busy);
        assert_eq!(health.check().await, Ok(day * 2));
    }

    #[tokio::test]
    async fn a_controller_without_one_of_its_tasks_is_not_healthy() {
        let (progress, tasks) = (Progress::default(), Tasks::default());
        progress.note_published();
        let health = Health::new(tasks.clone(), progress, Probe::None, Duration::from_secs(1));
        assert!(health.check().await.is_ok());
        tasks.spawn("publisher", async {}).await.unwrap();
        assert_eq!(
            health.check().await.unwrap_err(),
            "task \"publisher\" ended unexpectedly"
        );
    }

    #[tokio::test]
    async fn an_envoy_that_is_gone_is_not_healthy() {
        let (progress, health) = health(Probe::Envoy("/nowhere/envoy.sock".into()));
        progress.note_published();
        assert!(
            health
                .check()
                .await
                .unwrap_err()
                .starts_with("envoy is not ready")
        );
    }

    #[tokio::test]
    async fn however_many_probe_envoy_is_asked_once() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("admin.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let (progress, health) = health(Probe::Envoy(socket));
        progress.note_published();
        let mut asked = 0;
        let count = async {
            // Each connection is closed at once: an Envoy that does not answer.
            while listener.accept().await.is_ok() {
                asked += 1;
            }
        };
        let probes = async {
            for _ in 0..2 {
                let checks = (0..100).map(|_| health.check());
                let said = futures::future::join_all(checks).await;
                let not_ready = said.iter().filter_map(|said| said.as_ref().err());
                let not_ready = not_ready.filter(|said| said.starts_with("envoy is not ready"));
                assert_eq!(not_ready.count(), 100, "{said:?}");
            }
        };
        tokio::select! {
            () = count => panic!("the admin interface is gone"),
            () = probes => {}
        }
        assert_eq!(asked, 1);
        // What we know ourselves is of now.
        health.stop();
        assert_eq!(health.check().await.unwrap_err(), "stopping");
    }

    /// An admin interface whose first connection is never answered, and all others are.
    async fn hang_once_and_serve(listener: UnixListener) {
        let _unanswered = listener.accept().await.unwrap();
        let address = r#"{"socket_address": {"address": "127.0.0.1", "port_value": 80}}"#;
        let listeners = ["http", "https"]
            .map(|name| format!(r#"{{"name": "{name}", "local_address": {address}}}"#));
        let body = format!(r#"{{"listener_statuses": [{}]}}"#, listeners.join(","));
        let head = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = [0; 1_024];
            assert_ne!(connection.read(&mut request).await.unwrap(), 0);
            for text in [&head, &body] {
                connection.write_all(text.as_bytes()).await.unwrap();
            }
        }
    }

    #[tokio::test]
    async fn nobody_waits_for_a_probe_that_hung_before() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("admin.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let (progress, timeout) = (Progress::default(), Duration::from_millis(300));
        progress.note_published();
        let probe = Probe::Envoy(socket);
        let health = Health::new(Tasks::default(), progress, probe, timeout);
        let checks = async {
            for _ in 0..2 {
                let said = health.check().await.unwrap_err();
                assert_eq!(said, "the data plane did not answer in 300ms");
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            health.check().await.unwrap();
        };
        tokio::select! {
            () = hang_once_and_serve(listener) => panic!("the admin interface is gone"),
            () = checks => {}
        }
    }

    #[tokio::test]
    async fn an_nginx_is_healthy_while_it_has_workers_and_listens() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (pid, http) = (Arc::new(AtomicU32::new(0)), listener.local_addr().unwrap());
        let probe = Probe::Nginx {
            pid: Arc::clone(&pid).into(),
            http,
        };
        let said = async || probe.clone().ask().await.unwrap_err();
        assert_eq!(said().await, "nginx does not serve: it does not run");
        let mut childless = Command::new("sleep").arg("60").spawn().unwrap();
        pid.store(childless.id(), Ordering::Relaxed);
        assert_eq!(said().await, "nginx does not serve: it has no worker");
        let parent = ["-c", "sleep 60 & echo $!; wait"];
        let stdout = Stdio::piped();
        let mut master = Command::new("sh")
            .args(parent)
            .stdout(stdout)
            .spawn()
            .unwrap();
        let mut worker = String::new();
        BufReader::new(master.stdout.take().unwrap())
            .read_line(&mut worker)
            .unwrap();
        pid.store(master.id(), Ordering::Relaxed);
        assert_eq!(probe.clone().ask().await, Ok(()));
        drop(listener);
        assert!(said().await.starts_with("nginx does not serve: "));
        for process in [&mut childless, &mut master] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        Command::new("kill").arg(worker.trim()).status().unwrap();
    }
}
