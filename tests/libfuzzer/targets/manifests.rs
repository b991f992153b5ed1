//! Manifests: YAML and JSON to objects, and objects to a translation, which is the same for the same objects.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_translate::{Options, Resources, translate};

#[allow(dead_code, reason = "the file of the crate, without what reads files")]
#[path = "../../../controller/source/src/documents.rs"]
mod documents;
#[allow(dead_code, reason = "the same")]
#[path = "../../../controller/source/src/lines.rs"]
mod lines;
#[allow(dead_code, reason = "the same")]
#[path = "../../../controller/source/src/templates.rs"]
mod templates;
#[allow(dead_code, reason = "the same")]
#[path = "../../../controller/source/src/yaml.rs"]
mod yaml;

/// As `controller/source` has it.
pub struct Problem {
    pub place: String,
    pub line: Option<usize>,
    pub reason: String,
    pub harmless: bool,
    pub is_foreign: bool,
}

impl Problem {
    pub fn new(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Problem {
            place: place.into(),
            line: None,
            reason: reason.into(),
            harmless: false,
            is_foreign: false,
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} ({})", self.place, self.reason, self.harmless)
    }
}

fuzz_target!(|text: &str| {
    let (objects, problems) = documents::parse("fuzz.yaml", text);
    let last = text.matches(['\n', '\r']).count() + 1;
    for document in documents::documents("fuzz.yaml", text) {
        let line = document.lines().nearest("spec.rules[0].host");
        assert!((1..=last).contains(&line), "{line} of {last}");
    }
    for problem in &problems {
        assert!(problem.line.is_some_and(|line| line <= last), "{problem}");
        assert!(problem.to_string().starts_with("fuzz.yaml"));
        assert!(
            !problem.reason.contains('\n'),
            "a report is a line: {:?}",
            problem.reason
        );
    }
    let options = Options {
        class_is_implied: true,
        ..Options::default()
    };
    let (mut one, mut other) = (Resources::default(), Resources::default());
    for object in objects {
        drop(one.apply(object.clone()));
        drop(other.apply(object));
    }
    let (one, other) = (translate(&one, &options), translate(&other, &options));
    assert!(one.config() == other.config() && one.reports() == other.reports());
});
