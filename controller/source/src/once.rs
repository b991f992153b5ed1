//! Manifests that are read once, with the lines of what is in them: for `sluice lint`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use serde::Serialize;
use sluice_translate::{Object, ObjectRef};

use crate::documents::documents;
use crate::folder::{self, LARGEST};
use crate::lines::{DOCUMENT, Lines};
use crate::{Event, Problem};

/// Manifests to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file, or a folder and what is in it.
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

/// A place in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Location {
    /// The file as it was named: below the folder that was given.
    pub file: String,
    /// From 1.
    pub line: usize,
}

/// Places of objects that were read.
#[derive(Debug, Default)]
pub struct Places(BTreeMap<ObjectRef, Place>);

#[derive(Debug)]
struct Place {
    file: Arc<str>,
    lines: Arc<Lines>,
    /// The object's field of its document.
    within: String,
}

impl Places {
    /// The place of an object's field, or of the nearest one around it that is written. None: it was in no manifest.
    #[must_use]
    pub fn find(&self, object: &ObjectRef, field: &str) -> Option<Location> {
        let place = self.0.get(object)?;
        let field = match place.within.as_str() {
            DOCUMENT => field.to_owned(),
            within => format!("{within}.{field}"),
        };
        Some(Location {
            file: place.file.to_string(),
            line: place.lines.nearest(&field),
        })
    }
}

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Reading {
    /// Objects and problems.
    pub events: Vec<Event>,
    /// Places of the objects.
    pub places: Places,
}

impl From<Vec<Event>> for Reading {
    /// From a source without manifests.
    fn from(events: Vec<Event>) -> Self {
        Reading {
            events,
            places: Places::default(),
        }
    }
}

/// Reads manifests. Fails when one is not there, or a folder has none: all would be well with a mistyped path. In a folder, what is no
/// Kubernetes object is harmless.
pub fn read_inputs(inputs: &[Input]) -> anyhow::Result<Reading> {
    let mut once = Once::default();
    for input in inputs {
        match input {
            Input::Stdin => once.stdin()?,
            Input::Path(path) => once.path(&tidy(path))?,
        }
    }
    let Once {
        objects,
        mut reading,
        ..
    } = once;
    let objects = objects.into_values().map(Event::Apply);
    reading.events.extend(objects);
    Ok(reading)
}

/// A path in one spelling: `./a` is `a`.
fn tidy(path: &Path) -> PathBuf {
    let parts = path.components();
    let parts: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
    match parts.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => parts,
    }
}

#[derive(Default)]
struct Once {
    /// Files that were read, whatever named them.
    files: BTreeSet<PathBuf>,
    objects: BTreeMap<ObjectRef, Object>,
    reading: Reading,
}

impl Once {
    fn stdin(&mut self) -> anyhow::Result<()> {
        let mut text = String::new();
        let mut stdin = io::stdin().lock().take(LARGEST + 1);
        stdin.read_to_string(&mut text).context("standard input")?;
        if text.len() as u64 > LARGEST {
            bail!("standard input: expected at most {} MiB", LARGEST >> 20);
        }
        if !self.take("stdin", &text, false) {
            bail!("standard input: no manifests in it");
        }
        Ok(())
    }

    fn path(&mut self, path: &Path) -> anyhow::Result<()> {
        let name = path.display();
        if !path.exists() {
            bail!("{name}: no such file or folder");
        }
        let is_folder = path.is_dir();
        let manifests = folder::manifests(path, || ()).with_context(|| name.to_string())?;
        let mut has_content = false;
        for (file, fingerprint) in manifests {
            let file = tidy(&file);
            let place = file.display().to_string();
            if !self.files.insert(file.clone()) {
                has_content = true;
                continue;
            }
            has_content |= match folder::text(&file, fingerprint) {
                Ok(text) => self.take(&place, &text, is_folder),
                Err(reason) => {
                    let problem = Problem::new(place, reason);
                    self.reading.events.push(Event::Problem(problem));
                    true
                }
            };
        }
        if !has_content {
            bail!("{name}: no manifests in it (*.yaml, *.yml, *.json)");
        }
        Ok(())
    }

    /// True if there is anything in it.
    fn take(&mut self, file: &str, text: &str, in_folder: bool) -> bool {
        let mut has_content = false;
        let file: Arc<str> = file.into();
        for mut document in documents(&file, text) {
            has_content = true;
            let lines = Arc::new(document.lines());
            for (within, object) in std::mem::take(&mut document.objects) {
                let place = Place {
                    file: Arc::clone(&file),
                    lines: Arc::clone(&lines),
                    within,
                };
                self.add(object, place);
            }
            for problem in document.problems {
                let harmless = problem.harmless || in_folder && problem.is_foreign;
                let problem = Problem {
                    harmless,
                    ..problem
                };
                self.reading.events.push(Event::Problem(problem));
            }
        }
        has_content
    }

    /// Of several with one name, the first file has it; in a file, the last document.
    fn add(&mut self, object: Object, place: Place) {
        let name = object.reference();
        let places = &mut self.reading.places.0;
        if let Some(first) = places.get(&name)
            && first.file != place.file
        {
            let reason = format!("{name} is in {} already; not used", first.file);
            let problem = Problem {
                line: Some(place.lines.nearest(&place.within)),
                ..Problem::harmless(&*place.file, reason)
            };
            self.reading.events.push(Event::Problem(problem));
            return;
        }
        places.insert(name.clone(), place);
        self.objects.insert(name, object);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sluice_translate::{Kind, ObjectKey};

    use super::*;

    const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: NAME\n";

    fn service(name: &str) -> String {
        SERVICE.replace("NAME", name)
    }

    fn object(name: &str) -> ObjectRef {
        ObjectRef {
            kind: Kind::Service,
            key: ObjectKey::new("default", name),
        }
    }

    fn problems(reading: &Reading) -> Vec<&Problem> {
        let events = reading.events.iter();
        events
            .filter_map(|event| match event {
                Event::Problem(problem) => Some(problem),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn objects_have_a_file_and_a_line() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("a.yaml");
        let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: c}\n";
        let text = format!(
            "# first\n{}--- # next\n{}---\n{list}",
            service("a"),
            service("b")
        );
        fs::write(&file, text)?;
        let reading = read_inputs(&[Input::Path(folder.path().to_owned())])?;
        for (name, field, line) in [
            ("a", "", 2),
            ("b", "", 7),
            ("b", "metadata.name", 10),
            ("c", "", 15),
            ("c", "kind", 16),
            ("c", "spec.ports", 15),
        ] {
            let place = reading.places.find(&object(name), field);
            let file = file.display().to_string();
            assert_eq!(place, Some(Location { file, line }), "{name} {field}");
        }
        assert_eq!(reading.places.find(&object("d"), ""), None);
        Ok(())
    }

    #[test]
    fn a_template_is_harmless_in_a_folder_and_not_by_name() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut files = Vec::new();
        for (name, text) in [
            (
                "a.yaml",
                "apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Name }}}\n",
            ),
            (
                "b.yaml",
                "apiVersion: v1\nkind: Service\nmetadata:\n  name: \"{{ .Name }}\"\n",
            ),
            ("values.yaml", "replicas: 2\n"),
        ] {
            let file = folder.path().join(name);
            fs::write(&file, text)?;
            files.push(Input::Path(file));
        }
        let all = read_inputs(&[Input::Path(folder.path().to_owned())])?;
        let problems_of_folder = problems(&all);
        assert_eq!(problems_of_folder.len(), 3);
        for problem in problems_of_folder {
            assert!(problem.harmless && problem.is_foreign, "{problem:?}");
        }
        let named = read_inputs(&files)?;
        assert!(problems(&named).iter().all(|problem| !problem.harmless));
        assert_eq!(problems(&named)[1].line, Some(4));
        let malformed = service("Not_A_Name");
        fs::write(folder.path().join("c.yaml"), malformed)?;
        let all = read_inputs(&[Input::Path(folder.path().to_owned())])?;
        assert!(problems(&all).iter().any(|problem| !problem.harmless));
        Ok(())
    }

    #[test]
    fn the_first_file_has_an_object_and_no_file_is_read_twice() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let [one, two] = ["one.yaml", "two.yaml"].map(|name| folder.path().join(name));
        fs::write(&one, service("a"))?;
        fs::write(&two, format!("\n{}", service("a")))?;
        let inputs = [&two, &one, &two].map(|path| Input::Path(path.clone()));
        let reading = read_inputs(&inputs)?;
        let problems = problems(&reading);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].harmless && problems[0].line == Some(1));
        let place = reading.places.find(&object("a"), "");
        assert_eq!(place.map(|place| place.line), Some(2));
        Ok(())
    }

    #[test]
    fn a_mistyped_path_and_a_folder_without_manifests_are_errors() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let missing = Input::Path(folder.path().join("no"));
        let empty = Input::Path(folder.path().to_owned());
        for (input, reason) in [(missing, "no such file"), (empty, "no manifests in it")] {
            let error = read_inputs(&[input]).err().map(|error| error.to_string());
            assert!(error.is_some_and(|text| text.contains(reason)), "{reason}");
        }
        Ok(())
    }
}
