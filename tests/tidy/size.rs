//! One idea per file, one thought per function.

use crate::tree::{Source, files, sources};

const FILE: usize = 400;
const FUNCTION: usize = 60;
const TEMPLATE: usize = 120;
/// Files that may be longer, each with the reason why they cannot be split.
const LONG_FILES: &[(&str, &str)] = &[];
/// Functions that may be longer, as `path: name`, each with its reason.
const LONG_FUNCTIONS: &[(&str, &str)] = &[];

#[test]
fn no_file_is_longer_than_400_lines() {
    let excused = |path: &str| LONG_FILES.iter().any(|(excused, _)| *excused == path);
    let files = sources("")
        .into_iter()
        .map(|source| (source.text.lines().count(), source.path));
    let long: Vec<String> = files
        .filter(|(lines, path)| *lines > FILE && !excused(path))
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "split by idea:\n{}", long.join("\n"));
}

#[test]
fn no_function_is_longer_than_60_lines() {
    let excused = |name: &str| LONG_FUNCTIONS.iter().any(|(excused, _)| *excused == name);
    let long: Vec<String> = sources("")
        .iter()
        .flat_map(functions)
        .filter(|function| function.lines > FUNCTION && !excused(&function.name))
        .map(|function| format!("{}: {} lines", function.name, function.lines))
        .collect();
    assert!(
        long.is_empty(),
        "split into steps that have names:\n{}",
        long.join("\n")
    );
}

#[test]
fn no_template_is_longer_than_120_lines() {
    let templates = files("controller/nginx/templates", "conf");
    assert!(!templates.is_empty(), "adapt this test if they moved");
    let long = templates
        .into_iter()
        .filter(|template| template.text.lines().count() > TEMPLATE);
    let long: Vec<String> = long.map(|template| template.path).collect();
    assert!(
        long.is_empty(),
        "split by what nginx is told, and include: {long:?}"
    );
}

struct Function {
    name: String,
    lines: usize,
}

/// rustfmt is what makes this simple: a body ends at the first `}` with the indentation of its `fn`.
fn functions(source: &Source) -> Vec<Function> {
    let lines: Vec<&str> = source.text.lines().collect();
    let heads = lines
        .iter()
        .enumerate()
        .filter_map(|(start, line)| Some((start, name(line)?)));
    let length = |start: usize| {
        let end = format!("{}}}", &lines[start][..indentation(lines[start])]);
        // A declaration without a body has no such line of its own; it ends at its semicolon, on the same indentation.
        let rest = lines[start..].iter().skip(1);
        let body = rest.take_while(|line| {
            **line != end && !is_declaration_end(line, indentation(lines[start]))
        });
        body.count() + 2
    };
    let one_line = |start: usize| lines[start].ends_with(['}', ';']);
    heads
        .filter(|(start, _)| !one_line(*start))
        .map(|(start, name)| Function {
            name: format!("{}: {name}", source.path),
            lines: length(start),
        })
        .collect()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// `) -> Result<()>;` of a trait's or a foreign function.
fn is_declaration_end(line: &str, indent: usize) -> bool {
    indentation(line) == indent && line.trim_start().starts_with(')') && line.ends_with(';')
}

/// The name, when a function starts in this line.
fn name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifiers = [
        "pub",
        "async",
        "const",
        "unsafe",
        "extern",
        "\"C\"",
        "pub(crate)",
        "pub(super)",
    ];
    let is_head = before
        .split_whitespace()
        .all(|word| qualifiers.contains(&word));
    let name = after
        .split(['(', '<'])
        .next()
        .filter(|name| !name.is_empty())?;
    is_head.then_some(name)
}

#[test]
fn the_length_of_a_function_is_counted_from_its_head_to_its_brace() {
    let text = "trait T {\n    fn a(&self);\n    fn b(\n        x: u8,\n    ) -> u8;\n    fn c() {\n        1;\n    }\n}\n";
    let source = Source {
        path: "x.rs".to_owned(),
        text: text.to_owned(),
    };
    let found: Vec<(String, usize)> = functions(&source)
        .into_iter()
        .map(|f| (f.name, f.lines))
        .collect();
    assert_eq!(
        found,
        [("x.rs: b".to_owned(), 3), ("x.rs: c".to_owned(), 3)]
    );
}
