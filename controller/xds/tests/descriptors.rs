//! `descriptors.bin` has the definitions of the messages that the renderer uses, as `envoy-types` has them.
//!
//! `UPDATE_GOLDEN=1 cargo test -p sluice-xds --test descriptors` writes it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use prost::Message;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumOptions, FileDescriptorProto, FileDescriptorSet,
    MessageOptions,
};

#[test]
fn descriptors_are_those_of_envoy_types() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = packages(&crate_folder.join("src"));
    assert!(packages.contains("envoy.config.route.v3"), "{packages:?}");
    let all = fs::read(envoy_types(crate_folder).join("src/generated/types.bin")).unwrap();
    let all = FileDescriptorSet::decode(all.as_slice()).unwrap();
    let used = FileDescriptorSet {
        file: closure(&all, &packages).into_iter().map(stripped).collect(),
    };

    let file = crate_folder.join("descriptors.bin");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, used.encode_to_vec()).unwrap();
    }
    let stored = FileDescriptorSet::decode(fs::read(&file).unwrap().as_slice()).unwrap();
    assert!(
        stored == used,
        "descriptors.bin is of another envoy-types, or lacks a package that the renderer uses now: \
         UPDATE_GOLDEN=1 cargo test -p sluice-xds --test descriptors"
    );
}

/// Packages of protobuf that the sources name: `envoy_types::pb::envoy::r#type::v3::Percent` is of `envoy.type.v3`.
fn packages(folder: &Path) -> BTreeSet<String> {
    let mut packages = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            packages.extend(self::packages(&path));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        packages.extend(text.split("envoy_types::pb::").skip(1).filter_map(|rest| {
            let path: Vec<&str> = rest
                .split("::")
                .map(|part| part.trim_start_matches("r#"))
                .collect();
            let version = path.iter().position(|part| is_version(part));
            let length = version.map_or(2, |version| version + 1);
            Some(path.get(..length)?.join("."))
        }));
    }
    packages
}

fn is_version(part: &str) -> bool {
    part.strip_prefix('v')
        .is_some_and(|number| number.parse::<u8>().is_ok())
}

/// The sources of the crate, as cargo has unpacked them. Crates for other machines may not have been downloaded.
fn envoy_types(crate_folder: &Path) -> PathBuf {
    let host = Command::new("rustc")
        .args(["--print", "host-tuple"])
        .output();
    let host = String::from_utf8(host.unwrap().stdout).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--offline", "--locked"])
        .args(["--filter-platform", host.trim()])
        .current_dir(crate_folder)
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let envoy_types = packages
        .iter()
        .find(|package| package["name"] == "envoy-types");
    let manifest = envoy_types.unwrap()["manifest_path"].as_str().unwrap();
    Path::new(manifest).parent().unwrap().to_owned()
}

/// The files of these packages, with all files that they import.
fn closure(all: &FileDescriptorSet, packages: &BTreeSet<String>) -> Vec<FileDescriptorProto> {
    let of_packages = all
        .file
        .iter()
        .filter(|file| packages.contains(file.package()));
    let mut open: Vec<&str> = of_packages.map(FileDescriptorProto::name).collect();
    let mut needed = BTreeSet::new();
    while let Some(name) = open.pop() {
        if needed.insert(name) {
            let file = all.file.iter().find(|file| file.name() == name).unwrap();
            open.extend(file.dependency.iter().map(String::as_str));
        }
    }
    let files = all.file.iter();
    files
        .filter(|file| needed.contains(file.name()))
        .cloned()
        .collect()
}

/// Without everything that JSON does not depend on: options of validation, documentation, services.
fn stripped(mut file: FileDescriptorProto) -> FileDescriptorProto {
    file.source_code_info = None;
    file.options = None;
    file.extension.clear();
    file.service.clear();
    file.message_type.iter_mut().for_each(strip_message);
    file.enum_type.iter_mut().for_each(strip_enum);
    file
}

fn strip_message(message: &mut DescriptorProto) {
    if let Some(options) = &mut message.options {
        *options = MessageOptions {
            map_entry: options.map_entry,
            ..MessageOptions::default()
        };
    }
    message.extension.clear();
    for field in &mut message.field {
        field.options = None;
    }
    for oneof in &mut message.oneof_decl {
        oneof.options = None;
    }
    message.nested_type.iter_mut().for_each(strip_message);
    message.enum_type.iter_mut().for_each(strip_enum);
}

fn strip_enum(values: &mut EnumDescriptorProto) {
    if let Some(options) = &mut values.options {
        *options = EnumOptions {
            allow_alias: options.allow_alias,
            ..EnumOptions::default()
        };
    }
    for value in &mut values.value {
        value.options = None;
    }
}
