//! The `sh` blocks of READMEs and pages, as their commands.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts::repository;

/// Pages of what was, with commands that are gone.
const HISTORY: &str = "CHANGELOG.md";
/// Folders without pages of ours.
const FOREIGN: [&str; 2] = ["target", "node_modules"];

/// A command of a page.
#[derive(Debug)]
pub(crate) struct Command {
    /// Its page, from the root of the repository.
    pub(crate) page: String,
    /// The line that it begins in.
    pub(crate) line: usize,
    /// As a shell takes it.
    pub(crate) text: String,
    /// The block of text behind the block that it ends.
    pub(crate) output: Option<String>,
}

/// A block between fences.
struct Block {
    language: String,
    line: usize,
    text: String,
    end: usize,
}

/// Commands of all pages, in the order of their lines.
pub(crate) fn commands() -> Result<Vec<Command>> {
    let mut commands = Vec::new();
    for page in pages()? {
        let text = fs::read_to_string(repository().join(&page)).with_context(|| page.clone())?;
        commands.extend(commands_of(&page, &text).with_context(|| page.clone())?);
    }
    Ok(commands)
}

/// Pages from the root of the repository, sorted.
fn pages() -> Result<Vec<String>> {
    let mut pages = Vec::new();
    collect(repository(), &mut pages)?;
    pages.sort_unstable();
    Ok(pages)
}

fn collect(folder: &Path, pages: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.starts_with('.') && !FOREIGN.contains(&&*name) {
            collect(&path, pages)?;
        } else if name.ends_with(".md") && name != HISTORY {
            let below = path.strip_prefix(repository())?;
            pages.push(below.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

fn commands_of(page: &str, text: &str) -> Result<Vec<Command>> {
    let blocks = blocks(text)?;
    let mut all = Vec::new();
    for (n, block) in blocks.iter().enumerate() {
        if block.language != "sh" {
            let prompt = block.text.lines().any(|line| line.starts_with("$ "));
            ensure!(!prompt, "line {}: commands belong into `sh`", block.line);
            continue;
        }
        let mut commands = split(page, block)?;
        let next = blocks.get(n + 1);
        let output = next.filter(|next| next.language == "text" && next.line == block.end + 2);
        if let Some(last) = commands.last_mut() {
            last.output = output.map(|output| output.text.clone());
        }
        all.extend(commands);
    }
    Ok(all)
}

/// Blocks between fences. Others hide commands from this test.
fn blocks(text: &str) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for (line, written) in (1..).zip(text.lines()) {
        let indent = written.len() - written.trim_start().len();
        let fence = written.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(language)) => {
                let language = language.trim().to_owned();
                ensure!(!language.is_empty(), "line {line}: a block of no language");
                let (text, end) = (String::new(), 0);
                let block = Block {
                    language,
                    line,
                    text,
                    end,
                };
                open = Some((indent, block));
            }
            (None, None) => ensure!(
                !written.starts_with("    "),
                "line {line}: a block without fences"
            ),
            (Some(_), Some(_)) => {
                if let Some((_, mut block)) = open.take() {
                    block.end = line;
                    blocks.push(block);
                }
            }
            (Some((indent, block)), None) => {
                block.text += written.get(*indent..).unwrap_or_default();
                block.text.push('\n');
            }
        }
    }
    ensure!(open.is_none(), "the last block does not end");
    Ok(blocks)
}

/// A command is a line, with those that a backslash or a loop adds to it.
fn split(page: &str, block: &Block) -> Result<Vec<Command>> {
    let mut commands: Vec<Command> = Vec::new();
    let mut goes_on = false;
    for (line, written) in (block.line + 1..).zip(block.text.lines()) {
        if goes_on {
            let last = commands.last_mut().context("a line without a command")?;
            last.text.push('\n');
            last.text += written;
        } else if !written.trim().is_empty() && !written.trim_start().starts_with('#') {
            commands.push(Command {
                page: page.to_owned(),
                line,
                text: written.to_owned(),
                output: None,
            });
        }
        goes_on = commands.last().is_some_and(|last| is_open(&last.text));
    }
    ensure!(!goes_on, "line {}: a command does not end", block.line);
    Ok(commands)
}

fn is_open(text: &str) -> bool {
    let words = |word: &str| text.split_whitespace().filter(|it| *it == word).count();
    text.ends_with('\\') || words("do") > words("done")
}

impl Command {
    /// Words in one line, without the comment behind them.
    pub(crate) fn name(&self) -> String {
        let code = self.text.split(" #").next().unwrap_or_default();
        let joined = code.replace("\\\n", " ");
        let words: Vec<&str> = joined.split_whitespace().collect();
        words.join(" ")
    }
}

#[test]
fn commands_go_on_over_lines_and_have_names() -> Result<()> {
    let page = "```sh\na \\\n  b   # why\nfor x in 1; do\n  c\ndone\n```\n\n```text\nout\n```\n";
    let commands = commands_of("p.md", page)?;
    let names: Vec<String> = commands.iter().map(Command::name).collect();
    assert_eq!(names, ["a b", "for x in 1; do c done"]);
    assert_eq!(commands[0].output, None);
    assert_eq!(commands[1].output.as_deref(), Some("out\n"));
    assert_eq!(commands[1].line, 4);
    for odd in [
        "```\na\n```\n",
        "    a\n",
        "```text\n$ a\n```\n",
        "```sh\na \\\n```\n",
    ] {
        assert!(commands_of("p.md", odd).is_err(), "{odd}");
    }
    Ok(())
}
