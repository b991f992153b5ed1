//! Packages of the distribution that this machine has: programs are linked against its libraries. Files of packages are taken
//! out; nothing is installed, no script of a package runs, and no root is needed.
//!
//! apt gets lists and a state of its own, so that it reads packages of another processor as well, and what is installed here
//! does not matter. It checks signatures and hashes as ever.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::parts::Part;
use crate::arch::Arch;
use crate::step::Step;
use crate::{digest, files, target};

/// A list of packages that is so old is fetched again.
const LISTS_ARE_GOOD_FOR: Duration = Duration::from_secs(3600);
/// Files that images need of a package, besides its copyright; of libraries it is `LIBRARIES`.
const FILES: [(&str, &[&str]); 3] = [
    (
        "base-files",
        &[
            "etc/debian_version",
            "etc/os-release",
            "usr/lib/os-release",
            "usr/share/common-licenses",
        ],
    ),
    ("nginx", &["usr/sbin/nginx"]),
    ("libnginx-mod-stream", &["usr/lib/nginx/modules"]),
];
const LIBRARIES: [&str; 4] = ["lib", "lib64", "usr/lib", "usr/lib64"];
/// Conversions of character sets, which nothing of ours asks for: most of the C library.
const LEFT_OUT: &str = "gconv";
const COPYRIGHTS: &str = "usr/share/doc";

/// Packages of one processor.
pub(super) struct Debian {
    arch: Arch,
    state: PathBuf,
    packages: PathBuf,
    unpacked: PathBuf,
}

impl Debian {
    /// Reads the lists of packages.
    pub(super) fn update(step: &mut Step, arch: Arch, unpacked: &Path) -> Result<Debian> {
        let folder = std::path::absolute(target().join("images/debian").join(arch.name()))?;
        let debian = Debian {
            arch,
            state: folder.join("apt"),
            packages: folder.join("packages"),
            unpacked: unpacked.to_owned(),
        };
        for needed in [
            debian.state.join("lists/partial"),
            debian.state.join("cache/archives/partial"),
            debian.packages.clone(),
        ] {
            fs::create_dir_all(&needed).with_context(|| needed.display().to_string())?;
        }
        files::write(&debian.state.join("status"), "")?;
        let _turn = debian.turn()?;
        let stamp = debian.state.join("updated");
        let age = stamp.metadata().and_then(|stamp| stamp.modified()).ok();
        if age
            .and_then(|time| time.elapsed().ok())
            .is_none_or(|age| age > LISTS_ARE_GOOD_FOR)
        {
            step.run(debian.apt().arg("update"))?;
            files::write(&stamp, "")?;
        }
        Ok(debian)
    }

    /// Others that build at the same time wait.
    fn turn(&self) -> Result<File> {
        let lock = self.state.join("lock");
        let file = File::create(&lock).with_context(|| lock.display().to_string())?;
        file.lock().with_context(|| lock.display().to_string())?;
        Ok(file)
    }

    fn apt(&self) -> Command {
        let mut apt = Command::new("apt-get");
        let state = self.state.display();
        for option in [
            format!("Dir::State={state}"),
            format!("Dir::State::status={state}/status"),
            format!("Dir::Cache={state}/cache"),
            // Container images of distributions switch it off, and then each call reads all lists.
            "Dir::Cache::pkgcache=pkgcache.bin".to_owned(),
            "Dir::Cache::srcpkgcache=srcpkgcache.bin".to_owned(),
            format!("APT::Architecture={}", self.arch.name()),
            format!("APT::Architectures={}", self.arch.name()),
            // It has no use for a user of its own where that one may not write.
            "APT::Sandbox::User=root".to_owned(),
        ] {
            apt.args(["--option", &option]);
        }
        apt.arg("--quiet=2");
        apt
    }

    /// Puts files of these packages, and of the libraries that they depend on, into a folder, without those of layers below; what is
    /// in it now.
    pub(super) fn fill(
        &self,
        step: &mut Step,
        wanted: &[&str],
        below: &[Part],
        place: &Path,
    ) -> Result<Vec<Part>> {
        let mut open: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let mut packages = BTreeMap::new();
        while let Some(name) = open.pop() {
            if packages.contains_key(&name) || below.iter().any(|part| part.name == name) {
                continue;
            }
            let package = self.package(step, &name)?;
            open.extend(package.libraries(step)?);
            packages.insert(name, package);
        }
        packages
            .values()
            .map(|package| package.put(step, self.arch, place))
            .collect()
    }

    /// Fetches a package, unless it is here, and unpacks it.
    fn package(&self, step: &mut Step, name: &str) -> Result<Package> {
        let _turn = self.turn()?;
        let (status, output) = step.capture(self.apt().args(["--print-uris", "download", name]))?;
        ensure!(status.success(), "apt-get download {name}: {output}");
        // 'URI' FILE SIZE SHA256:HEX
        let words = output
            .lines()
            .find(|line| line.starts_with('\''))
            .map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>());
        let Some([file, _, hash]) = words.as_deref() else {
            bail!("apt-get download --print-uris {name} says {output:?}");
        };
        let hash = hash
            .strip_prefix("SHA256:")
            .with_context(|| format!("{name}: {hash} is no SHA-256"))?;
        let file = self.packages.join(file);
        if !file.is_file() || digest::sha256(step, &file)? != hash {
            step.run(
                self.apt()
                    .current_dir(&self.packages)
                    .args(["download", name]),
            )?;
        }
        let found = digest::sha256(step, &file)?;
        ensure!(
            found == hash,
            "{}: its SHA-256 is {found}, not {hash}",
            file.display()
        );
        let unpacked = self.unpacked.join(name);
        if !unpacked.is_dir() {
            step.run(
                Command::new("dpkg-deb")
                    .arg("--extract")
                    .arg(&file)
                    .arg(&unpacked),
            )?;
        }
        Ok(Package {
            name: name.to_owned(),
            hash: hash.to_owned(),
            file,
            unpacked,
        })
    }
}

/// A package that is here.
struct Package {
    name: String,
    hash: String,
    file: PathBuf,
    unpacked: PathBuf,
}

impl Package {
    /// One field, or all of them.
    fn control(&self, step: &mut Step, field: Option<&str>) -> Result<String> {
        let mut show = Command::new("dpkg-deb");
        show.arg("--field").arg(&self.file).args(field);
        let (status, output) = step.capture(&mut show)?;
        ensure!(status.success(), "{}: {output}", self.file.display());
        Ok(output.trim().to_owned())
    }

    /// Packages of libraries that it depends on, and of GCC's copyright.
    fn libraries(&self, step: &mut Step) -> Result<Vec<String>> {
        let depends = self.control(step, Some("Depends"))?;
        let names = depends
            .split(',')
            .filter_map(|one| one.split_whitespace().next());
        let is_library = |name: &&str| {
            name.starts_with("lib")
                || name.starts_with("zlib")
                || (name.starts_with("gcc-") && name.ends_with("-base"))
        };
        Ok(names.filter(is_library).map(str::to_owned).collect())
    }

    fn put(&self, step: &mut Step, arch: Arch, place: &Path) -> Result<Part> {
        let own = FILES.iter().find(|(name, _)| *name == self.name);
        let paths = own.map_or(&LIBRARIES[..], |(_, paths)| paths);
        paths
            .iter()
            .try_for_each(|path| take(&self.unpacked.join(path), &place.join(merged(path))))?;
        let copyright = Path::new(COPYRIGHTS).join(&self.name);
        // Packages of one source share it by a link.
        let link = fs::read_link(self.unpacked.join(&copyright));
        match link {
            Ok(_) => take(&self.unpacked.join(&copyright), &place.join(&copyright))?,
            Err(_) => {
                let file = copyright.join("copyright");
                files::copy(&self.unpacked.join(&file), &place.join(&file))?;
            }
        }
        // Scanners of images read these, as in those that are called distroless.
        let control = self.control(step, None)?;
        files::write(
            &place.join("var/lib/dpkg/status.d").join(&self.name),
            format!("{control}\n"),
        )?;
        let version = self.control(step, Some("Version"))?;
        Ok(Part::package(
            arch,
            &self.name,
            &version,
            &self.hash,
            &distribution()?,
        ))
    }
}

/// All libraries are below /usr, and /lib is a link, as in every installation of today.
fn merged(path: &str) -> String {
    match path {
        "lib" | "lib64" => format!("usr/{path}"),
        other => other.to_owned(),
    }
}

/// Copies a file, a link or a folder, if there is one.
fn take(from: &Path, to: &Path) -> Result<()> {
    let Ok(metadata) = from.symlink_metadata() else {
        return Ok(());
    };
    if metadata.is_symlink() {
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        let _ = fs::remove_file(to);
        let linked = std::os::unix::fs::symlink(fs::read_link(from)?, to);
        return linked.with_context(|| to.display().to_string());
    }
    if !metadata.is_dir() {
        return files::copy(from, to);
    }
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        if name != LEFT_OUT {
            take(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

/// `debian-12`, as package URLs have it.
fn distribution() -> Result<String> {
    let text = fs::read_to_string("/etc/os-release").context("/etc/os-release")?;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    let (id, version) = (value("ID="), value("VERSION_ID="));
    Ok(format!(
        "{}-{}",
        id.context("no ID in /etc/os-release")?,
        version.unwrap_or_default()
    ))
}
