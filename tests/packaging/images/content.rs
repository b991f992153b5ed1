//! The files of images.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use pretty_assertions::assert_eq;
use sluice_tests::artifacts;

use super::archive::{Archive, digest};
use super::materials;
use super::{IMAGES, archive, build, files};

/// Programs of an image. Nothing else in it can be started: no shell, no interpreter, no compiler, no package manager.
fn programs(image: &str) -> &'static [&'static str] {
    match image {
        "envoy" => &["usr/bin/sluice", "usr/lib/sluice/envoy"],
        "nginx" => &["usr/bin/sluice", "usr/sbin/nginx"],
        _ => &["usr/bin/sluice"],
    }
}

/// Ours; others strip theirs.
const OURS: [&str; 2] = ["usr/bin/sluice", "usr/lib/sluice/libngx_sluice.so"];

/// One test: what is looked at takes long to build.
#[test]
fn two_builds_of_the_images_are_equal_and_hold_what_they_should() -> Result<()> {
    let (one, other) = (build(&IMAGES)?, build(&IMAGES)?);
    for image in IMAGES {
        let read = |folder| fs::read(archive(folder, image)).context(image);
        let (first, second) = (digest(&read(&one)?), digest(&read(&other)?));
        assert_eq!(first, second, "two builds of {image} differ");
        let opened = Archive::open(&archive(&one, image)).context(image)?;
        is_restricted(&opened).context(image)?;
        has_no_other_program(image, &opened).context(image)?;
        has_all_libraries(&opened).context(image)?;
        is_stripped(&opened, &one.path().join("debug")).context(image)?;
        materials::are_complete(image, &opened).context(image)?;
        if image == "nginx" {
            has_native_code_of_any_build(&opened)?;
        }
    }
    Ok(())
}

/// Two builds in one folder have it from one compilation; another one gives the same.
fn has_native_code_of_any_build(image: &Archive) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let native = folder.path().join("filter.cwasm");
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let status = Command::new(artifacts::sluice()?.with_file_name("sluice-compile"))
        .args(["--target", &triple])
        .arg(artifacts::filter()?)
        .arg(&native)
        .status()
        .context("sluice-compile")?;
    ensure!(status.success(), "sluice-compile");
    let packed = image.root().join("usr/lib/sluice/sluice_filter.cwasm");
    ensure!(
        fs::read(packed)? == fs::read(native)?,
        "two compilations of the filter differ"
    );
    Ok(())
}

/// Nobody's, whom the chart names as well; nothing gives rights, and nothing but /tmp can be written to.
fn is_restricted(image: &Archive) -> Result<()> {
    ensure!(image.config["User"] == "65532:65532", "{}", image.config);
    ensure!(
        image.config["Entrypoint"] == serde_json::json!(["/usr/bin/sluice"]),
        "{}",
        image.config
    );
    ensure!(image.image["os"] == "linux", "{}", image.image);
    let tmp = image.root().join("tmp");
    ensure!(
        tmp.metadata()?.permissions().mode() & 0o7777 == 0o1777,
        "/tmp"
    );
    for file in files(&image.root())?
        .iter()
        .filter(|file| !file.is_symlink())
    {
        let mode = file.metadata()?.permissions().mode() & 0o7777;
        ensure!(
            [0o644, 0o755].contains(&mode),
            "{}: {mode:o}",
            file.display()
        );
    }
    Ok(())
}

fn has_no_other_program(name: &str, image: &Archive) -> Result<()> {
    let mut found = BTreeSet::new();
    for file in files(&image.root())? {
        let path = file
            .strip_prefix(image.root())?
            .to_string_lossy()
            .into_owned();
        // Links to programs are programs.
        let Ok(metadata) = fs::metadata(resolve(&image.root(), &file)) else {
            continue;
        };
        let is_library = path.contains(".so");
        if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 && !is_library {
            found.insert(path);
        }
    }
    let expected: BTreeSet<String> = programs(name)
        .iter()
        .map(|path| (*path).to_owned())
        .collect();
    assert_eq!(found, expected, "programs of {name}");
    Ok(())
}

/// A link of the image is one below its root.
fn resolve(root: &Path, file: &Path) -> std::path::PathBuf {
    match fs::read_link(file) {
        Ok(to) if to.is_absolute() => root.join(to.strip_prefix("/").unwrap_or(&to)),
        Ok(to) => file.parent().unwrap_or(root).join(to),
        Err(_) => file.to_owned(),
    }
}

/// All that a program or a library is linked against, so that none fails to load on some path that no test takes.
fn has_all_libraries(image: &Archive) -> Result<()> {
    let all = files(&image.root())?;
    let names: BTreeSet<String> = all
        .iter()
        .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
        .collect();
    let mut needed = 0;
    for file in all.iter().filter(|file| !file.is_symlink() && is_elf(file)) {
        for line in readelf("--dynamic", file)?
            .lines()
            .filter(|line| line.contains("(NEEDED)"))
        {
            let name = line.split(['[', ']']).nth(1).context("readelf")?;
            ensure!(names.contains(name), "{} needs {name}", file.display());
            needed += 1;
        }
    }
    ensure!(needed > 2, "{needed} libraries are needed");
    Ok(())
}

/// Symbols are beside the archives, and a debugger knows by the build id that they are of this program.
fn is_stripped(image: &Archive, symbols: &Path) -> Result<()> {
    let ours = OURS.map(|path| image.root().join(path));
    let mut seen = 0;
    for file in ours.iter().filter(|file| file.is_file()) {
        let sections = readelf("--section-headers", file)?;
        for section in [".symtab", ".debug_info", ".debug_line"] {
            ensure!(!sections.contains(section), "{}: {section}", file.display());
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let beside = symbols.join(format!("{name}.debug"));
        ensure!(
            readelf("--section-headers", &beside)?.contains(".symtab"),
            "{}",
            beside.display()
        );
        ensure!(
            build_id(file)? == build_id(&beside)?,
            "{}: of another build",
            beside.display()
        );
        seen += 1;
    }
    ensure!(seen > 0, "no program of ours");
    Ok(())
}

fn build_id(file: &Path) -> Result<String> {
    let notes = readelf("--notes", file)?;
    let line = notes.lines().find(|line| line.contains("Build ID:"));
    Ok(line
        .with_context(|| format!("{}: no build id", file.display()))?
        .trim()
        .to_owned())
}

fn is_elf(file: &Path) -> bool {
    fs::read(file).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
}

fn readelf(option: &str, file: &Path) -> Result<String> {
    let output = Command::new("readelf")
        .args(["--wide", option])
        .arg(file)
        .output()
        .context("readelf")?;
    ensure!(
        output.status.success(),
        "{}: {}",
        file.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
