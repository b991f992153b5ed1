//! Manifests that are read once, with the lines of what is in them: for `sluice lint`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use serde::Serialize;
use sluice_translate::{Object, ObjectRef};

use crate::documents::documents;
use crate::folder::{self, LARGEST, Listing};
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

/// Reads manifests. Fails when one is not there, or a folder has none: all would be well with a mistyped path. In a folder, templates
/// and files of other programs are harmless.
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
            match path.is_symlink() {
                true => bail!("{name}: a link to a file or folder that is not there"),
                false => bail!("{name}: no such file or folder"),
            }
        }
        let is_folder = path.is_dir();
        let Listing {
            manifests,
            unreadable,
        } = folder::listing(path, || ());
        let mut has_content = !unreadable.is_empty();
        for (path, error) in unreadable {
            let reason = format!("cannot be read: {error}; not checked");
            let problem = Problem::new(path.display().to_string(), reason);
            self.reading.events.push(Event::Problem(problem));
        }
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
        match (has_content, is_folder) {
            (true, _) => Ok(()),
            (false, true) => bail!(
                "{name}: no manifests in it (*.yaml, *.yml, *.json); give the folder that has them, or - for standard input"
            ),
            (false, false) => bail!("{name}: nothing in it but blank lines and comments"),
        }
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
        let Some(first) = places.get(&name) else {
            places.insert(name.clone(), place);
            self.objects.insert(name, object);
            return;
        };
        let is_same = self.objects.get(&name) == Some(&object);
        let (kept, hidden) = match first.file == place.file {
            true => (&place, first),
            false => (first, &place),
        };
        let problem = duplicate(&name, kept, hidden, is_same);
        self.reading.events.push(Event::Problem(problem));
        if first.file == place.file {
            places.insert(name.clone(), place);
            self.objects.insert(name, object);
        }
    }
}

/// An object that is not read, because another one has its name. That is harmless if both are the same.
fn duplicate(name: &ObjectRef, kept: &Place, hidden: &Place, is_same: bool) -> Problem {
    let (file, line) = (&kept.file, kept.lines.nearest(&kept.within));
    let line_of_it = hidden.lines.nearest(&hidden.within);
    let reason = match is_same {
        true => format!("{name} is the same as in {file}:{line}"),
        false => format!(
            "{name} is also in {file}:{line}, and only that one is checked; check them one at a time"
        ),
    };
    Problem {
        line: Some(line_of_it),
        harmless: is_same,
        is_duplicate: true,
        ..Problem::new(&*hidden.file, reason)
    }
}

#[cfg(test)]
mod tests;
