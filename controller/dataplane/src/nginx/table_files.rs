//! Files of host tables, which workers of nginx read by themselves: an index for each configuration that one of them may have, which is
//! replaced, and shards, which never change.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use sluice_nginx::RenderedTable;

use super::FormerFiles;
use crate::private_file;

/// Replaced indexes whose shards are kept: a worker may have read the index just before.
const KEPT_REPLACEMENTS: usize = 64;

/// The directory of these files. Workers of different configurations read different indexes.
#[derive(Debug)]
pub(super) struct TableFiles {
    directory: PathBuf,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// By the names of their tables.
    indexes: BTreeMap<String, Written>,
    /// Shards that indexes of before had and their successors have not, the oldest first.
    retired: VecDeque<BTreeSet<String>>,
    /// Shards in the directory, with the number of indexes and of retired sets that they are in.
    shards: BTreeMap<String, usize>,
    /// The last two tables that were written: nginx may get the one while the other is on its way.
    recent: [Option<String>; 2],
    /// That of the configuration that nginx has loaded.
    loaded: Option<String>,
    /// That of the one that it is about to load.
    next: Option<String>,
}

/// An index in the directory.
#[derive(Debug)]
struct Written {
    content: u128,
    shards: BTreeSet<String>,
}

impl TableFiles {
    /// Starts with an empty directory, unless a running nginx reads it.
    pub(super) fn new(directory: PathBuf, former: FormerFiles) -> anyhow::Result<Self> {
        if former == FormerFiles::Unused {
            fs::remove_dir_all(&directory).ok();
        }
        fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
        Ok(TableFiles {
            directory,
            held: Mutex::default(),
        })
    }

    /// Writes what is not there of a table, for workers that read the index with this name. Returns the hash of its content.
    pub(super) fn write(&self, name: &str, table: &RenderedTable) -> anyhow::Result<u128> {
        let index = table.index(name);
        let content = RenderedTable::index_hash(&index);
        let mut held = self.held();
        let former = held.indexes.get(name);
        if former.is_none_or(|former| former.content != content) {
            self.write_shards(&mut held, table)?;
            self.replace(&RenderedTable::index_file(name), &index)?;
            let shards = table.shards.iter().map(|shard| shard.name.clone());
            let written = Written {
                content,
                shards: shards.collect(),
            };
            self.note_written(&mut held, name, written);
        }
        if held.recent[0].as_deref() != Some(name) {
            held.recent.rotate_right(1);
            held.recent[0] = Some(name.to_owned());
        }
        Ok(content)
    }

    /// Shards come before the index that leads to them.
    fn write_shards(&self, held: &mut Held, table: &RenderedTable) -> anyhow::Result<()> {
        for shard in &table.shards {
            if !held.shards.contains_key(&shard.name) {
                self.replace(&shard.name, &shard.text)?;
                held.shards.insert(shard.name.clone(), 0);
            }
        }
        Ok(())
    }

    fn note_written(&self, held: &mut Held, name: &str, written: Written) {
        let former = held.indexes.remove(name);
        let former = former.map(|former| former.shards).unwrap_or_default();
        for shard in written.shards.difference(&former) {
            *held.shards.entry(shard.clone()).or_default() += 1;
        }
        let gone = former.difference(&written.shards).cloned().collect();
        held.retired.push_back(gone);
        held.indexes.insert(name.to_owned(), written);
        while held.retired.len() > KEPT_REPLACEMENTS {
            let oldest = held.retired.pop_front().unwrap_or_default();
            self.release(held, &oldest);
        }
    }

    /// Removes the shards that were only in this set.
    fn release(&self, held: &mut Held, shards: &BTreeSet<String>) {
        for shard in shards {
            let count = held.shards.entry(shard.clone()).or_default();
            *count = count.saturating_sub(1);
            if *count == 0 {
                held.shards.remove(shard);
                // A failure is retried when unused files are removed.
                fs::remove_file(self.directory.join(shard)).ok();
            }
        }
    }

    fn replace(&self, name: &str, text: &str) -> anyhow::Result<()> {
        private_file::replace(&self.directory, name, text)
            .with_context(|| self.directory.join(name).display().to_string())
    }

    /// Notes the table of the configuration that nginx is about to load.
    pub(super) fn note_next(&self, name: Option<&str>) {
        self.held().next = name.map(str::to_owned);
    }

    /// Notes that nginx has loaded that configuration.
    pub(super) fn note_loaded(&self) {
        let mut held = self.held();
        held.loaded = held.next.clone();
    }

    /// Removes the tables that only earlier configurations name.
    pub(super) fn remove_unused(&self) {
        let mut held = self.held();
        let recent = held.recent.iter().flatten();
        let in_use = recent.chain(&held.loaded).chain(&held.next);
        let in_use: BTreeSet<String> = in_use.cloned().collect();
        // Of an index that could not be written.
        held.shards.retain(|_, count| *count > 0);
        let unused = held.indexes.keys().filter(|name| !in_use.contains(*name));
        for name in unused.cloned().collect::<Vec<_>>() {
            if let Some(index) = held.indexes.remove(&name) {
                self.release(&mut held, &index.shards);
            }
        }
        let indexes: BTreeSet<String> = in_use
            .iter()
            .map(|name| RenderedTable::index_file(name))
            .collect();
        for name in private_file::names(&self.directory) {
            if !held.shards.contains_key(&name) && !indexes.contains(&name) {
                // A failure is retried with the next configuration.
                fs::remove_file(self.directory.join(&name)).ok();
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_nginx::{ShardFile, TableIdentity};

    use super::*;

    fn shard(text: &str) -> String {
        format!("shard of {text}")
    }

    /// With one shard that is not empty.
    fn table(text: &str) -> RenderedTable {
        let file = |text: &str| {
            Arc::new(ShardFile {
                name: shard(text),
                text: text.to_owned(),
            })
        };
        let mut shards = vec![file("empty"); 9];
        shards[7] = file(text);
        RenderedTable {
            identity: TableIdentity {
                name: "t".to_owned(),
                profiles: BTreeSet::new(),
                beside_profiles: String::new(),
            },
            shards,
        }
    }

    fn opened() -> (tempfile::TempDir, TableFiles) {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().join("hosts");
        let tables = TableFiles::new(directory, FormerFiles::Unused).unwrap();
        (temporary, tables)
    }

    fn has(tables: &TableFiles, name: &str) -> bool {
        tables.directory.join(name).exists()
    }

    #[test]
    fn table_is_replaced_when_it_changes_and_removed_when_nobody_names_it() {
        let (_temporary, tables) = opened();
        let has_index = |name: &str| has(&tables, &RenderedTable::index_file(name));
        let first = tables.write("a", &table("1")).unwrap();
        assert_eq!(tables.write("a", &table("1")).unwrap(), first);
        assert_ne!(tables.write("a", &table("2")).unwrap(), first);
        tables.note_next(Some("a"));
        tables.note_loaded();
        for (name, text) in [("b", "3"), ("c", "4"), ("d", "5"), ("e", "6")] {
            tables.write(name, &table(text)).unwrap();
        }
        tables.note_next(Some("c"));
        tables.remove_unused();
        // What nginx has, what it is about to load, and what comes next; one that it refused is gone.
        let left = ["a", "b", "c", "d", "e"].map(has_index);
        assert_eq!(left, [true, false, true, true, true]);
        let left = ["2", "3", "4"].map(|text| has(&tables, &shard(text)));
        assert_eq!(left, [true, false, true]);
        tables.note_loaded();
        tables.remove_unused();
        assert!(!has_index("a"));
        tables.write("a", &table("2")).unwrap();
        assert!(has_index("a") && has(&tables, &shard("2")));
    }

    #[test]
    fn shards_outlast_their_index_for_a_while_and_those_that_come_back_stay() {
        let (_temporary, tables) = opened();
        let has_shard = |text: &str| has(&tables, &shard(text));
        for n in 0..KEPT_REPLACEMENTS {
            tables.write("a", &table(&format!("{n}"))).unwrap();
        }
        assert!(has_shard("0") && has_shard("1"));
        tables.write("a", &table("0")).unwrap();
        tables.write("a", &table("last")).unwrap();
        tables.write("a", &table("0")).unwrap();
        assert!(has_shard("0") && !has_shard("1") && has_shard("empty"));
        for n in 0..=KEPT_REPLACEMENTS {
            tables.write("a", &table(&format!("then {n}"))).unwrap();
        }
        assert!(!has_shard("0") && has_shard("empty"));
    }

    #[test]
    fn shards_of_an_index_that_could_not_be_written_are_removed() {
        let (_temporary, tables) = opened();
        fs::create_dir(tables.directory.join(RenderedTable::index_file("a"))).unwrap();
        tables.write("a", &table("1")).unwrap_err();
        assert!(has(&tables, &shard("1")));
        tables.remove_unused();
        assert!(!has(&tables, &shard("1")));
        tables.write("b", &table("1")).unwrap();
        tables.remove_unused();
        assert!(has(&tables, &shard("1")));
    }

    #[test]
    fn files_of_an_earlier_controller_stay_until_nginx_has_ours() {
        let (_temporary, former) = opened();
        former.write("a", &table("1")).unwrap();
        let next = TableFiles::new(former.directory, FormerFiles::InUse).unwrap();
        next.write("b", &table("2")).unwrap();
        assert!(has(&next, "a.json") && has(&next, &shard("1")));
        next.note_next(Some("b"));
        next.note_loaded();
        next.remove_unused();
        assert!(!has(&next, "a.json") && !has(&next, &shard("1")));
        assert!(has(&next, "b.json") && has(&next, &shard("2")));
    }
}
