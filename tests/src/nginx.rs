//! An nginx with the module, on a configuration of the test's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::log::Log;
use crate::process::Process;
use crate::{artifacts, proc, wait};

/// The beginning of every configuration. Everything that nginx writes is in the run folder; errors go to stderr.
const MAIN: &str = "\
user root;
daemon off;
error_log stderr info;
pid nginx.pid;
lock_file nginx.lock;
events { worker_connections 1024; }
";

/// The same for `http {}`.
const HTTP: &str = "\
access_log off;
client_body_temp_path body;
proxy_temp_path proxy;
fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi;
scgi_temp_path scgi;
";

/// A folder with a configuration.
pub struct Conf {
    dir: TempDir,
}

impl Conf {
    /// Writes a configuration: `main` beside, and `http` inside of `http {}`.
    pub fn write(main: &str, http: &str) -> Result<Conf> {
        Conf::write_with(&artifacts::nginx_module()?, main, http)
    }

    /// Writes a whole configuration of somebody else's, whose files are where all others' are.
    pub fn beside(text: &str) -> Result<Conf> {
        let conf = Conf {
            dir: tempfile::Builder::new().prefix("sluice-nginx-").tempdir()?,
        };
        let modules = text
            .lines()
            .filter(|line| line.trim_start().starts_with("load_module"));
        let modules: Vec<&str> = modules.collect();
        let rest = modules
            .iter()
            .fold(text.to_owned(), |text, line| text.replace(line, ""));
        let rest = rest.replacen("http {", &format!("http {{\n{HTTP}"), 1);
        let rest = rest.replacen("events {}", "", 1);
        fs::write(conf.file(), format!("{}\n{MAIN}{rest}", modules.join("\n")))
            .context("write nginx.conf")?;
        Ok(conf)
    }

    /// Writes all of a configuration, which is told its folder.
    pub fn whole(text: impl FnOnce(&Path) -> Result<String>) -> Result<Conf> {
        let conf = Conf {
            dir: tempfile::Builder::new().prefix("sluice-nginx-").tempdir()?,
        };
        let text = text(conf.dir())?;
        fs::create_dir(conf.dir().join("certificates"))?;
        fs::write(conf.file(), text).context("write nginx.conf")?;
        Ok(conf)
    }

    /// The same for this build of the module.
    pub fn write_with(module: &Path, main: &str, http: &str) -> Result<Conf> {
        let conf = Conf {
            dir: tempfile::Builder::new().prefix("sluice-nginx-").tempdir()?,
        };
        conf.rewrite_with(module, main, http)?;
        Ok(conf)
    }

    /// Replaces it, for the next reload.
    pub fn rewrite(&self, main: &str, http: &str) -> Result<()> {
        self.rewrite_with(&artifacts::nginx_module()?, main, http)
    }

    fn rewrite_with(&self, module: &Path, main: &str, http: &str) -> Result<()> {
        let text = format!(
            "load_module {};\n{MAIN}{main}\nhttp {{\n{HTTP}{http}\n}}\n",
            module.display()
        );
        fs::write(self.file(), text).context("write nginx.conf")
    }

    /// The folder, which is also nginx's prefix.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("nginx.conf")
    }

    fn command(&self, binary: &Path) -> Command {
        let mut command = Command::new(binary);
        command.arg("-p").arg(self.dir()).arg("-c").arg(self.file());
        command
    }

    /// `nginx -t`.
    pub fn test(&self) -> Result<Output> {
        Ok(self.command(&artifacts::nginx()?).arg("-t").output()?)
    }
}

/// A running nginx; it ends when this is dropped.
pub struct Nginx {
    process: Process,
    conf: Conf,
}

impl Nginx {
    /// Starts nginx and waits for its workers.
    pub async fn start(conf: Conf) -> Result<Nginx> {
        Nginx::start_with(&artifacts::nginx()?, conf).await
    }

    /// The same with another program.
    pub async fn start_with(binary: &Path, conf: Conf) -> Result<Nginx> {
        let process = Process::spawn(conf.command(binary))?;
        let mut nginx = Nginx { process, conf };
        let log = nginx.process.log().clone();
        let process = &mut nginx.process;
        let workers = async || match process.check() {
            Ok(()) => (!proc::children(process.pid()).is_empty()).then_some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        wait::until("nginx's workers", workers)
            .await
            .with_context(|| log.tail())?
            .0?;
        nginx.process.remember_children();
        Ok(nginx)
    }

    /// Its configuration.
    pub fn conf(&self) -> &Conf {
        &self.conf
    }

    /// Its output.
    pub fn log(&self) -> &Log {
        self.process.log()
    }

    /// The process ids of its workers, those too that are about to end.
    pub fn workers(&self) -> Vec<u32> {
        proc::children(self.process.pid())
    }

    /// Asks for a reload, and waits for nothing.
    pub fn hang_up(&self) {
        self.process.hang_up();
    }

    /// Reads the configuration again, and waits until only new workers are left.
    pub async fn reload(&mut self) -> Result<()> {
        let old = self.workers();
        self.process.hang_up();
        self.replaced(&old).await
    }

    /// Waits until none of these workers is left, and others are there.
    pub async fn replaced(&mut self, old: &[u32]) -> Result<()> {
        let replaced = async || {
            let workers = self.workers();
            (!workers.is_empty() && workers.iter().all(|worker| !old.contains(worker)))
                .then_some(())
        };
        wait::until("new workers", replaced)
            .await
            .with_context(|| self.log().tail())?;
        self.process.remember_children();
        Ok(())
    }

    /// CPU time of its workers so far.
    pub fn cpu_time(&self) -> Result<Duration> {
        self.workers().into_iter().map(proc::cpu_time).sum()
    }

    /// Stops it in an orderly way.
    pub fn stop(mut self) -> Result<()> {
        let status = self.process.stop()?;
        ensure!(
            status.success(),
            "nginx ended with {status}; its log ends\n{}",
            self.log().tail()
        );
        Ok(())
    }
}
