//! Settings of the engine.

use sluice_ir::waf::{Directive, SettingValue};

/// Largest body that rules look at, in bytes: it is kept in memory.
const MAX_BODY: u64 = 128 << 20;
/// Largest of other numbers.
const MAX_NUMBER: u64 = 1_000_000;

/// Values that a setting has.
#[derive(Clone, Copy, Debug)]
enum Kind {
    OneOf(&'static [&'static str]),
    UpTo(u64),
    MediaTypes,
    AuditParts,
    /// A pattern of statuses.
    Statuses,
}

const ON_OFF: Kind = Kind::OneOf(&["On", "Off"]);
const LIMIT_ACTION: Kind = Kind::OneOf(&["Reject", "ProcessPartial"]);

const SETTINGS: &[(&str, Kind)] = &[
    (
        "SecRuleEngine",
        Kind::OneOf(&["On", "Off", "DetectionOnly"]),
    ),
    ("SecRequestBodyAccess", ON_OFF),
    ("SecRequestBodyLimit", Kind::UpTo(MAX_BODY)),
    ("SecRequestBodyNoFilesLimit", Kind::UpTo(MAX_BODY)),
    ("SecRequestBodyLimitAction", LIMIT_ACTION),
    ("SecRequestBodyJsonDepthLimit", Kind::UpTo(10_000)),
    ("SecArgumentsLimit", Kind::UpTo(MAX_NUMBER)),
    ("SecResponseBodyAccess", ON_OFF),
    ("SecResponseBodyLimit", Kind::UpTo(MAX_BODY)),
    ("SecResponseBodyLimitAction", LIMIT_ACTION),
    ("SecResponseBodyMimeType", Kind::MediaTypes),
    (
        "SecAuditEngine",
        Kind::OneOf(&["On", "Off", "RelevantOnly"]),
    ),
    ("SecAuditLogFormat", Kind::OneOf(&["JSON", "Native"])),
    ("SecAuditLogParts", Kind::AuditParts),
    ("SecAuditLogRelevantStatus", Kind::Statuses),
    ("SecPcreMatchLimit", Kind::UpTo(MAX_NUMBER)),
    ("SecPcreMatchLimitRecursion", Kind::UpTo(MAX_NUMBER)),
    ("SecCookieFormat", Kind::UpTo(1)),
    ("SecUploadKeepFiles", Kind::OneOf(&["Off"])),
];

/// Directives that name files of logs, and others without effect in the engine: the log goes where the operator's does.
const IGNORED: &[&str] = &[
    "SecAuditLog",
    "SecAuditLogDirMode",
    "SecAuditLogFileMode",
    "SecAuditLogStorageDir",
    "SecAuditLogType",
    "SecComponentSignature",
    "SecDebugLog",
    "SecDebugLogLevel",
    "SecRequestBodyInMemoryLimit",
    "SecStatusEngine",
];

/// Directives that name folders for temporary files, uploads and persistent collections. They decide nothing about a request, and no
/// tenant names a folder of a data plane's machine.
const FOLDERS: &[&str] = &["SecDataDir", "SecTmpDir", "SecUploadDir"];

/// The directive, if it is one without effect.
pub(super) fn ignored(name: &str) -> Option<&'static str> {
    let mut all = IGNORED.iter().chain(FOLDERS).copied();
    all.find(|known| known.eq_ignore_ascii_case(name))
}

/// True of a directive without effect that names a folder.
pub(super) fn is_folder(name: &str) -> bool {
    FOLDERS.contains(&name)
}

pub(super) fn setting(name: &str, words: &[&str]) -> Result<Directive, String> {
    let mut all = SETTINGS.iter();
    let Some((name, kind)) = all.find(|(known, _)| known.eq_ignore_ascii_case(name)) else {
        return Err("it is not supported".to_owned());
    };
    let text = words.join(" ");
    let expected = || Err(format!("expected {}", expected(*kind)));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = match kind {
        Kind::OneOf(values) => {
            let found = values
                .iter()
                .find(|known| known.eq_ignore_ascii_case(&text));
            found.map(|known| (*known).to_owned())
        }
        Kind::UpTo(most) if is_number(&text) => {
            let number = text.parse::<u64>().ok().filter(|number| number <= most);
            number.map(|number| number.to_string())
        }
        Kind::UpTo(_) => None,
        Kind::MediaTypes => {
            Some(text).filter(|text| !text.is_empty() && text.chars().all(of_media_types))
        }
        Kind::AuditParts => {
            Some(text).filter(|text| (1..=11).contains(&text.len()) && text.chars().all(of_parts))
        }
        Kind::Statuses => Some(text)
            .filter(|text| (1..=64).contains(&text.len()) && text.chars().all(of_statuses)),
    };
    match value.as_deref().and_then(SettingValue::new) {
        Some(value) => Ok(Directive::Setting(name, value)),
        None => expected(),
    }
}

fn expected(kind: Kind) -> String {
    match kind {
        Kind::OneOf(values) => values.join(", "),
        Kind::UpTo(most) => format!("a number up to {most}"),
        Kind::MediaTypes => "media types".to_owned(),
        Kind::AuditParts => "letters of parts".to_owned(),
        Kind::Statuses => "a pattern of statuses".to_owned(),
    }
}

fn of_media_types(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "/+.-_ ".contains(letter)
}

fn of_parts(letter: char) -> bool {
    "ABCDEFGHIJKZ".contains(letter)
}

/// No repetition: it takes no time.
fn of_statuses(letter: char) -> bool {
    letter.is_ascii_digit() || "^$()[]?:!|.-".contains(letter)
}
