//! A folder of manifests as a source: read once, then followed.
//!
//! ```text
//!   notify --paths--> Follower --(settled)--> Index --differences--> Event
//! ```
//!
//! Edits are atomic to readers: a file that is renamed away and back, or truncated and written again, keeps its
//! objects until it has settled. A file that can no longer be read keeps them too.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{RecursiveMode, Watcher};
use sluice_tasks::Tasks;
use sluice_translate::{Kind, Object, ObjectKey};
use tokio::sync::mpsc::UnboundedSender;

use crate::folder::{self, Fingerprint, Manifests};
use crate::{Event, Problem, documents};

/// A file that is written in place is read when nothing has been written for this long.
const SETTLE: Duration = Duration::from_millis(20);
/// A file that is gone for longer than this is gone.
const GONE: Duration = Duration::from_millis(200);
/// The watch may miss something (a network file system, an overflow): a slow look at everything catches it.
const LOOK_AROUND: Duration = Duration::from_secs(10);
/// How often to see whether that look is done.
const STILL_LOOKING: Duration = Duration::from_millis(5);

/// Reads a folder, or one file, and returns what is in it, [`Event::Ready`] last. Fails when the folder cannot be read; a file that
/// cannot be is an [`Event::Problem`].
pub fn read_once(folder: &Path) -> anyhow::Result<Vec<Event>> {
    let mut index = Index::new(folder);
    let manifests = folder::manifests(folder, || ())
        .with_context(|| format!("--manifests {}", folder.display()))?;
    let mut events = Vec::new();
    for (path, fingerprint) in manifests {
        index.read(&path, fingerprint, &mut events);
    }
    events.push(Event::Ready);
    Ok(events)
}

/// A followed folder. Dropping it ends the following.
pub struct Files {
    _watcher: notify::RecommendedWatcher,
}

impl Files {
    /// Follows a folder on a thread of its own, for as long as `events` are heard. What there is now is in the first batch, which ends
    /// with [`Event::Ready`]. Fails when the folder cannot be read or watched now.
    pub fn follow(
        folder: &Path,
        events: UnboundedSender<Vec<Event>>,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        // Changes are told with absolute paths: the same file must not have two.
        let folder = &std::path::absolute(folder)?;
        let (sender, paths) = mpsc::channel();
        // The watch comes before the first look, so that nothing falls between the two.
        let mut watcher = notify::recommended_watcher(move |event| drop(sender.send(event)))?;
        let describe = || format!("--manifests {}", folder.display());
        watcher
            .watch(folder, RecursiveMode::Recursive)
            .with_context(describe)?;
        let mut index = Index::new(folder);
        let mut first = Vec::new();
        for (path, fingerprint) in folder::manifests(folder, || ()).with_context(describe)? {
            index.read(&path, fingerprint, &mut first);
        }
        first.extend(nothing_in(folder, &first));
        first.push(Event::Ready);
        let follower = Follower {
            index,
            due: BTreeMap::new(),
            look_around: Instant::now() + LOOK_AROUND,
            looking: None,
        };
        events.send(first).ok();
        tasks.spawn_thread("manifests", move || follower.run(&paths, &events))?;
        Ok(Files { _watcher: watcher })
    }
}

/// A mistyped folder that exists serves 404 for everything, which looks like anything but that.
fn nothing_in(folder: &Path, events: &[Event]) -> Option<Event> {
    let is_something = |event: &Event| match event {
        Event::Problem(problem) => !(problem.harmless || problem.is_foreign),
        _ => true,
    };
    let reason = "no manifests in it (*.yaml, *.yml, *.json), so every request gets 404; files that are put there are served at once";
    let place = folder.display().to_string();
    let is_empty = !events.iter().any(is_something);
    is_empty.then(|| Event::Problem(Problem::new(place, reason)))
}

/// Off the hot path: ten thousand files in half a second.
fn take_time() {
    std::thread::sleep(Duration::from_micros(1));
}

/// Decides when to look at which file.
struct Follower {
    index: Index,
    due: BTreeMap<PathBuf, Instant>,
    look_around: Instant,
    /// Ten thousand files take a while; what changes meanwhile does not wait.
    looking: Option<JoinHandle<io::Result<Manifests>>>,
}

impl Follower {
    fn run(
        mut self,
        paths: &mpsc::Receiver<notify::Result<notify::Event>>,
        events: &UnboundedSender<Vec<Event>>,
    ) {
        loop {
            match paths.recv_timeout(self.next_look()) {
                Ok(event) => self.notice(event),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
            while let Ok(event) = paths.try_recv() {
                self.notice(event);
            }
            let mut found = Vec::new();
            self.look(Instant::now(), &mut found);
            if !found.is_empty() && events.send(found).is_err() {
                return;
            }
        }
    }

    fn next_look(&self) -> Duration {
        let now = Instant::now();
        let around = if self.looking.is_some() {
            now + STILL_LOOKING
        } else {
            self.look_around
        };
        let next = self.due.values().copied().fold(around, Instant::min);
        next.saturating_duration_since(now)
    }

    fn notice(&mut self, event: notify::Result<notify::Event>) {
        let now = Instant::now();
        let Ok(event) = event else {
            self.look_around = now;
            return;
        };
        let wait = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => Duration::ZERO,
            EventKind::Access(_) => return,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => GONE,
            _ => SETTLE,
        };
        for path in event.paths {
            if folder::is_manifest(&path) {
                self.due.insert(path, now + wait);
            } else if folder::may_hold_manifests(&path) {
                self.look_around = self.look_around.min(now + SETTLE);
            }
        }
    }

    fn look(&mut self, now: Instant, events: &mut Vec<Event>) {
        let due: Vec<PathBuf> = self
            .due
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(path, _)| path.clone())
            .collect();
        for path in due {
            self.due.remove(&path);
            match Fingerprint::from_path(&path) {
                Some(fingerprint) => self.index.read(&path, fingerprint, events),
                None => self.index.forget(&path, events),
            }
        }
        if let Some(looking) = self.looking.take_if(|looking| looking.is_finished()) {
            let found = looking
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("looking at it failed")));
            if let Err(error) = found.map(|manifests| self.compare(&manifests)) {
                let place = self.index.folder.display().to_string();
                let reason =
                    format!("cannot be read: {error}; what was read before is still served");
                events.push(Event::Problem(Problem::new(place, reason)));
            }
        }
        if self.look_around <= now && self.looking.is_none() {
            self.look_around = now + LOOK_AROUND;
            let folder = self.index.folder.clone();
            self.looking = Some(std::thread::spawn(move || {
                folder::manifests(&folder, take_time)
            }));
        }
    }

    /// Reads changed manifests again: one may be newer by now than this list of them.
    fn compare(&mut self, manifests: &Manifests) {
        let now = Instant::now();
        let mut known = self.index.files.iter().peekable();
        for (path, fingerprint) in manifests {
            // Both are in order.
            while let Some((gone, _)) = known.next_if(|(known, _)| known.as_ref() < path.as_path())
            {
                self.due.entry(gone.to_path_buf()).or_insert(now + GONE);
            }
            let same = known.next_if(|(known, _)| known.as_ref() == path.as_path());
            if same.is_none_or(|(_, file)| file.fingerprint != *fingerprint) {
                self.due.entry(path.clone()).or_insert(now);
            }
        }
        for (gone, _) in known {
            self.due.entry(gone.to_path_buf()).or_insert(now + GONE);
        }
    }
}

type Name = (Kind, ObjectKey);

/// Objects by the file that they were read from.
struct Index {
    folder: PathBuf,
    files: BTreeMap<Arc<Path>, File>,
    /// Files of each object. The first path in order has it; the others wait for it to go.
    places: BTreeSet<(Name, Arc<Path>)>,
}

struct File {
    fingerprint: Fingerprint,
    /// In order. No map: most files hold a few, and a map has room for eleven.
    objects: Box<[(Name, Object)]>,
}

fn find<'a>(objects: &'a [(Name, Object)], name: &Name) -> Option<&'a Object> {
    let place = objects
        .binary_search_by(|(other, _)| other.cmp(name))
        .ok()?;
    objects.get(place).map(|(_, object)| object)
}

impl Index {
    fn new(folder: &Path) -> Self {
        Index {
            folder: folder.to_owned(),
            files: BTreeMap::new(),
            places: BTreeSet::new(),
        }
    }

    fn read(&mut self, path: &Path, fingerprint: Fingerprint, events: &mut Vec<Event>) {
        if self
            .files
            .get(path)
            .is_some_and(|file| file.fingerprint == fingerprint)
        {
            return;
        }
        let place = self.place(path);
        let (found, mut problems) = load(path, &place, fingerprint);
        let readable = problems.iter().all(|problem| problem.harmless);
        let file = self.files.entry(path.into()).or_insert(File {
            fingerprint,
            objects: Box::default(),
        });
        file.fingerprint = fingerprint;
        let before = std::mem::take(&mut file.objects);
        let mut now: BTreeMap<Name, Object> = BTreeMap::new();
        for object in found {
            if let Some(hidden) = now.insert((object.kind(), object.key()), object) {
                let name = hidden.reference();
                let reason = format!("{name} is in this file more than once; the last one is used");
                problems.push(Problem::harmless(&*place, reason));
            }
        }
        if !readable {
            // What cannot be read may be what is missing: nothing that serves is lost over it.
            for (name, object) in &before {
                now.entry(name.clone()).or_insert_with(|| object.clone());
            }
        }
        file.objects = now.into_iter().collect();
        events.extend(problems.into_iter().map(Event::Problem));
        self.update(path, &before, events);
    }

    /// How a manifest is named to people.
    fn place(&self, path: &Path) -> String {
        let inner = path
            .strip_prefix(&self.folder)
            .ok()
            .filter(|inner| !inner.as_os_str().is_empty());
        inner.unwrap_or(path).display().to_string()
    }

    fn forget(&mut self, path: &Path, events: &mut Vec<Event>) {
        if let Some(file) = self.files.get_mut(path) {
            let before = std::mem::take(&mut file.objects);
            self.update(path, &before, events);
            self.files.remove(path);
        }
    }

    /// Says what differs between `before` and what the file holds now.
    fn update(&mut self, path: &Path, before: &[(Name, Object)], events: &mut Vec<Event>) {
        let Some((known, File { objects: held, .. })) = self.files.get_key_value(path) else {
            return;
        };
        let known = Arc::clone(known);
        let now: Vec<Name> = held.iter().map(|(name, _)| name.clone()).collect();
        let gone = before
            .iter()
            .map(|(name, _)| name)
            .filter(|name| find(held, name).is_none());
        for name in gone.cloned().collect::<Vec<_>>() {
            self.leave(path, &name, events);
        }
        for name in now {
            self.places.insert((name.clone(), Arc::clone(&known)));
            let first = self
                .first_place(&name)
                .unwrap_or_else(|| Arc::clone(&known));
            let object = self
                .files
                .get(path)
                .and_then(|file| find(&file.objects, &name));
            if *first != *path {
                let other = self.place(&first);
                let reason = format!("{} {} is in {other} already; not used", name.0, name.1);
                events.push(Event::Problem(Problem::harmless(self.place(path), reason)));
            } else if let Some(object) = object.filter(|object| find(before, &name) != Some(object))
            {
                events.push(Event::Apply(object.clone()));
            }
        }
    }

    fn leave(&mut self, path: &Path, name: &Name, events: &mut Vec<Event>) {
        let Some(first) = self.first_place(name) else {
            return;
        };
        let had_it = *first == *path;
        self.places.remove(&(name.clone(), path.into()));
        let next = self.first_place(name);
        match next.and_then(|next| find(&self.files.get(&next)?.objects, name)) {
            Some(object) if had_it => events.push(Event::Apply(object.clone())),
            Some(_) => {}
            None => events.push(Event::Delete(name.0, name.1.clone())),
        }
    }

    fn first_place(&self, name: &Name) -> Option<Arc<Path>> {
        let from = (name.clone(), Arc::from(Path::new("")));
        let (_, first) = self
            .places
            .range(from..)
            .next()
            .filter(|(other, _)| other == name)?;
        Some(Arc::clone(first))
    }
}

fn load(path: &Path, place: &str, fingerprint: Fingerprint) -> (Vec<Object>, Vec<Problem>) {
    match folder::text(path, fingerprint) {
        Ok(text) => documents::parse(place, &text),
        Err(reason) => (Vec::new(), vec![Problem::new(place, reason)]),
    }
}

#[cfg(test)]
mod tests;
