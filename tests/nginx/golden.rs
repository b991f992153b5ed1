//! Every golden nginx.conf is one that nginx takes, without a warning.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use sluice_tests::artifacts;
use tempfile::TempDir;

/// The files that a golden configuration names, where it looks for them.
fn companions() -> Result<TempDir> {
    let folder = TempDir::new()?;
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("nginx/certificates"))?;
    fs::copy(artifacts::nginx_module()?, at("libngx_sluice.so"))?;
    fs::copy(artifacts::compiled_filter()?, at("sluice_filter.cwasm"))?;
    if let Some(stream) = artifacts::nginx_stream_module()? {
        fs::copy(stream, at("ngx_stream_module.so"))?;
    }
    firewall(folder.path())?;
    fs::copy(artifacts::filter()?, at("sluice_filter.wasm"))?;
    let cache = json!({"enabled": true, "directory": at("wasmtime.cache")});
    let cache: Vec<String> = cache
        .as_object()
        .into_iter()
        .flatten()
        .map(|(k, v)| format!("{k} = {v}"))
        .collect();
    fs::write(
        at("wasmtime.toml"),
        format!("[cache]\n{}\n", cache.join("\n")),
    )?;
    Ok(folder)
}

/// ModSecurity's module, and what rules include.
fn firewall(folder: &Path) -> Result<()> {
    let module = artifacts::nginx_modsecurity_module();
    fs::copy(&module, folder.join("ngx_http_modsecurity_module.so"))
        .with_context(|| module.display().to_string())?;
    let rules = folder.join("nginx/certificates");
    fs::write(rules.join("core-rules.conf"), "SecMarker END\n")?;
    fs::write(rules.join("unicode.mapping"), "20127 (US-ASCII)\n00a0:20\n")?;
    Ok(())
}

/// The certificates that a golden configuration loads when it is tested; those of handshakes are not among them.
fn certificates(case: &Path, folder: &Path, text: &str) -> Result<()> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::default().self_signed(&key)?.pem();
    for name in text
        .split('"')
        .filter(|word| word.starts_with("nginx/certificates/") && !word.contains('$'))
    {
        // Rules of a firewall are among the files of the case.
        if let Some(rules) = Path::new(name).file_name().map(|name| case.join(name))
            && rules.is_file()
        {
            fs::copy(rules, folder.join(name))?;
            continue;
        }
        fs::write(
            folder.join(name),
            format!("{certificate}{}", key.serialize_pem()),
        )?;
    }
    Ok(())
}

/// The nginx that a configuration is for; `None` where Kong's host is not installed.
fn binary(text: &str) -> Result<Option<PathBuf>> {
    if text.contains("proxy_wasm ") {
        Ok(artifacts::ngx_wasm())
    } else {
        artifacts::nginx().map(Some)
    }
}

/// The listeners are moved to sockets in the folder: `nginx -t` binds.
fn without_ports(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| match line.split_once("listen 0.0.0.0:") {
            Some((before, after)) => {
                let end = after.find([' ', ';']).unwrap_or(after.len());
                let (port, words) = after.split_at(end);
                let socket = if words.contains("udp") { "udp" } else { "tcp" };
                format!(
                    "{before}listen unix:{socket}-{port}.sock{}\n",
                    words.replace(" reuseport", "")
                )
            }
            None => format!("{line}\n"),
        });
    lines.collect()
}

fn test(binary: &Path, folder: &Path, text: &str) -> Result<()> {
    let file = folder.join("nginx.conf");
    fs::write(&file, text)?;
    let mut command = Command::new(binary);
    command
        .current_dir(folder)
        .args(["-t", "-q", "-e", "stderr", "-p"])
        .arg(folder)
        .arg("-c")
        .arg(&file);
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    // Newer ones have another word for it, which that of the distribution does not know.
    let warns = |line: &str| {
        line.contains("[warn]") && !line.contains("\"listen ... http2\" directive is deprecated")
    };
    ensure!(
        output.status.success() && !said.lines().any(warns),
        "{said}"
    );
    Ok(())
}

#[test]
fn nginx_accepts_every_golden_configuration() -> Result<()> {
    let folder = companions()?;
    for case in fs::read_dir(artifacts::repository().join("tests/golden"))? {
        let case = case?.path();
        let conf = case.join("nginx.conf");
        let text = fs::read_to_string(&conf).with_context(|| conf.display().to_string())?;
        let Some(binary) = binary(&text)? else {
            continue;
        };
        certificates(&case, folder.path(), &text)?;
        let is_part_of_nginx = artifacts::nginx_stream_module()?.is_none();
        let loads = |line: &&str| is_part_of_nginx && line.contains("ngx_stream_module.so");
        let text: String = text
            .lines()
            .filter(|line| !loads(line))
            .map(|line| format!("{line}\n"))
            .collect();
        test(&binary, folder.path(), &without_ports(&text))
            .with_context(|| conf.display().to_string())?;
    }
    Ok(())
}
