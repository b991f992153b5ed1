//! Precedence of paths where namespaces share a host and one of their paths is a pattern.
//!
//! Each namespace keeps the order of its own paths, which is ingress-nginx's. Between namespaces the length of the literal
//! beginning decides: the whole path, or of a pattern the text before its first special character.
//!
//! ```text
//!   owner    /login  /a(/|$)(.*)  /            /login        (6)  owner
//!   foreign  /zz/.*  /.*                  -->  /zz/.*        (4)  foreign
//!                                              /a(/|$)(.*)   (2)  owner
//!                                              /             (1)  owner
//!                                              /.*           (1)  foreign: as long, and newer
//! ```
//!
//! So a newer namespace takes nothing that a path of an older one takes whose text is as long or longer. If a namespace's own
//! order is not by length (ingress-nginx tries the longest *pattern* first) both rules cannot hold. Then the newer namespace
//! yields: a path goes with the shortest that has to come before it.
//!
//! Two paths are related only if the text of one begins the text of the other, so they form a tree, and a path costs as many
//! steps as it has ancestors.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sluice_ir::PathMatch;

use super::step_counter;

/// The places of all paths: those of the oldest namespace are the first of `parts`, and each part is in its own order. The
/// result names paths by part and place within it.
pub(super) fn merged(parts: &[Vec<&PathMatch>]) -> Vec<(usize, usize)> {
    let texts: Vec<Vec<String>> = parts
        .iter()
        .map(|part| part.iter().map(|path| text(path)).collect())
        .collect();
    let mut tree = Tree::new(texts.iter().flatten());
    let mut order = Vec::new();
    for (age, texts) in texts.iter().enumerate() {
        let nodes: Vec<usize> = texts.iter().map(|text| tree.node(text)).collect();
        let ranks = tree.ranks(&nodes);
        for (place, (node, rank)) in nodes.into_iter().zip(ranks).enumerate() {
            order.push((Reverse(rank), age, place));
            tree.note(node, rank);
        }
    }
    order.sort_unstable();
    order
        .into_iter()
        .map(|(_, age, place)| (age, place))
        .collect()
}

/// Literal beginning of everything that a path matches, in lower case: patterns ignore case.
fn text(path: &PathMatch) -> String {
    match path {
        PathMatch::Exact(path) | PathMatch::Prefix(path) => path.to_ascii_lowercase(),
        PathMatch::Regex(regex) => {
            sluice_pattern::literal_prefix(regex.anchored()).to_ascii_lowercase()
        }
    }
}

/// Texts, each below the longest other one that it begins with.
struct Tree<'a> {
    texts: Vec<&'a str>,
    above: Vec<Option<usize>>,
    /// The lowest rank of an older namespace's path with this text, or below it.
    lowest: Vec<usize>,
}

impl<'a> Tree<'a> {
    fn new(texts: impl Iterator<Item = &'a String>) -> Self {
        let mut texts: Vec<&str> = texts.map(String::as_str).collect();
        texts.sort_unstable();
        texts.dedup();
        let mut above = Vec::with_capacity(texts.len());
        // Sorted, what begins with a text follows it.
        let mut open: Vec<usize> = Vec::new();
        for (node, text) in texts.iter().enumerate() {
            while open
                .last()
                .is_some_and(|last| !text.starts_with(texts[*last]))
            {
                open.pop();
            }
            above.push(open.last().copied());
            open.push(node);
        }
        let lowest = vec![usize::MAX; texts.len()];
        Tree {
            texts,
            above,
            lowest,
        }
    }

    fn node(&self, text: &str) -> usize {
        self.texts.binary_search(&text).unwrap_or_default()
    }

    /// A node and all above it.
    fn path(&self, node: usize) -> impl Iterator<Item = usize> {
        step_counter::counted(std::iter::successors(Some(node), |node| self.above[*node]))
    }

    /// Of the paths of one namespace, in its order: never higher than what has to come before them.
    fn ranks(&self, nodes: &[usize]) -> Vec<usize> {
        // What stands before longer ones of its own wants to be where they are.
        let mut wanted = vec![0; nodes.len()];
        let mut longest: BTreeMap<usize, usize> = BTreeMap::new();
        for (place, node) in nodes.iter().enumerate().rev() {
            let length = self.texts[*node].len();
            wanted[place] = longest.get(node).copied().unwrap_or_default().max(length);
            for node in self.path(*node) {
                let longest = longest.entry(node).or_default();
                *longest = length.max(*longest);
            }
        }
        // At each node, and below it.
        let (mut own, mut own_below) = (BTreeMap::new(), BTreeMap::new());
        let ranked = nodes.iter().zip(wanted).map(|(node, wanted)| {
            let above = self
                .path(*node)
                .filter_map(|node| own.get(&node).copied())
                .min();
            let before = [
                above,
                own_below.get(node).copied(),
                Some(self.lowest[*node]),
            ];
            let rank = before.into_iter().flatten().fold(wanted, usize::min);
            own.insert(*node, rank);
            for node in self.path(*node) {
                let lowest = own_below.entry(node).or_insert(rank);
                *lowest = rank.min(*lowest);
            }
            rank
        });
        ranked.collect()
    }

    /// A newer Ingress comes after it, unless its text is longer.
    fn note(&mut self, node: usize, rank: usize) {
        let mut next = Some(node);
        while let Some(node) = next {
            step_counter::step();
            self.lowest[node] = self.lowest[node].min(rank);
            next = self.above[node];
        }
    }
}
