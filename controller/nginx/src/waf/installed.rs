//! The OWASP Core Rule Set as it is installed.
//!
//! Its setup and its files of exclusions are the operator's to change: settings of the engine, exceptions by tag, rules with any id.
//! Removing the core rules by their ids would leave all that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Ids that the core rules have for their own: its rules, and those of its packages of exclusions and its plugins.
pub(super) const RESERVED: [(u32, u32); 2] = [(900_000, 999_999), (9_000_000, 9_999_999)];
/// Actions of [`DEFAULT_ACTION`] that the engine takes where rules say nothing else.
const USUAL: &[&str] = &["log", "auditlog", "pass"];
const DEFAULT_ACTION: &str = "secdefaultaction";
/// Directives that change nothing for others.
const HARMLESS: &[&str] = &["secmarker", "seccomponentsignature", "seccollectiontimeout"];
/// In the place of a directive that another follows on its last line.
const UNCLEAR: &str = "?";
/// Files that include files.
const MAX_DEPTH: usize = 4;

/// Ids of all rules in these files. `None`: removing them by their ids would leave something of them. `read` has the texts of the files
/// at a path, whose last part may be a pattern.
#[must_use]
pub fn core_ids(
    paths: &[PathBuf],
    read: impl Fn(&Path) -> Option<Vec<String>>,
) -> Option<BTreeSet<u32>> {
    let mut ids = BTreeSet::new();
    for path in paths {
        collect(path, &read, MAX_DEPTH, &mut ids)?;
    }
    Some(ids)
}

fn collect(
    path: &Path,
    read: &impl Fn(&Path) -> Option<Vec<String>>,
    depth: usize,
    ids: &mut BTreeSet<u32>,
) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    for text in read(path)? {
        for directive in directives(&text) {
            let (name, rest) = directive.split_once(' ').unwrap_or((&directive, ""));
            match name.to_ascii_lowercase().as_str() {
                "secrule" | "secaction" => ids.append(&mut ids_of(rest)?),
                DEFAULT_ACTION if is_usual(rest) => {}
                "include" => {
                    let path = Path::new(rest.trim().trim_matches('"'));
                    path.is_absolute().then_some(())?;
                    collect(path, read, depth, ids)?;
                }
                name if HARMLESS.contains(&name) => {}
                _ => return None,
            }
        }
    }
    Some(())
}

/// Directives without comments, each in one line.
fn directives(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut open = String::new();
    for line in text.lines().map(str::trim) {
        // A comment ends where its line does: what continues one in the engine is then something unknown here.
        if open.is_empty() && (line.is_empty() || line.starts_with('#')) {
            continue;
        }
        if !open.is_empty() && begins_one(line) {
            all.push(UNCLEAR.to_owned());
        }
        let continued = line.strip_suffix('\\');
        open += continued.unwrap_or(line);
        open.push(' ');
        if continued.is_none() {
            all.push(std::mem::take(&mut open).replace('\t', " "));
        }
    }
    all.extend((!open.is_empty()).then_some(open));
    all
}

fn begins_one(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    line.starts_with("sec") || line.starts_with("include")
}

/// Reserved ids of a rule; none: it belongs to the one before it.
fn ids_of(rule: &str) -> Option<BTreeSet<u32>> {
    let words = rule.split([' ', ',', '"', '\'']);
    let ids = words.filter_map(|word| {
        word.to_ascii_lowercase()
            .strip_prefix("id:")
            .map(str::to_owned)
    });
    ids.map(|id| id.parse().ok().filter(is_reserved)).collect()
}

fn is_reserved(id: &u32) -> bool {
    RESERVED
        .iter()
        .any(|(first, last)| (first..=last).contains(&id))
}

fn is_usual(actions: &str) -> bool {
    let actions = actions.split([' ', ',', '"']).map(str::to_ascii_lowercase);
    let mut actions = actions.filter(|action| !action.is_empty());
    actions.all(|action| USUAL.contains(&action.as_str()) || action.starts_with("phase:"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const RULE: &str = "SecRule ARGS \"@rx a\" \\\n    \"id:942100,\\\n    phase:2,block,chain\"\n  SecRule ARGS \"@rx b\" \"t:none\"\n";

    fn of(files: &[(&str, &str)]) -> Option<BTreeSet<u32>> {
        let files: BTreeMap<&Path, &str> = files
            .iter()
            .map(|(path, text)| (Path::new(*path), *text))
            .collect();
        let read = |path: &Path| Some(vec![(*files.get(path)?).to_owned()]);
        core_ids(&[PathBuf::from("/setup.conf")], read)
    }

    #[test]
    fn rules_with_reserved_ids_are_removed_by_them() {
        let setup = "# SecRuleEngine On\n\nInclude \"/rules.conf\"\nSecDefaultAction \"phase:1,log,auditlog,pass\"\n\
                     SecCollectionTimeout 600\nSecAction \\\n\"id:900990,phase:1,nolog,pass,t:none,setvar:tx.crs_setup_version=334\"\n";
        let rules = format!(
            "{RULE}SecMarker \"END-X\"\nSecComponentSignature \"OWASP_CRS/3.3.4\"\nSecAction \"id:9001100,pass\""
        );
        let ids = of(&[("/setup.conf", setup), ("/rules.conf", &rules)]);
        assert_eq!(ids, Some([900_990, 942_100, 9_001_100].into()));
    }

    #[test]
    fn anything_else_stays_when_rules_are_removed() {
        assert!(of(&[("/setup.conf", RULE)]).is_some());
        for line in [
            "SecRuleEngine On",
            "secruleengine on",
            "SecDefaultAction \"phase:2,log,auditlog,deny,status:403\"",
            "SecDefaultAction \"phase:2,nolog,pass\"",
            "SecDefaultAction \"phase:2,log,pass,tag:'a'\"",
            "SecRuleRemoveByTag attack-sqli",
            "SecRuleUpdateTargetById 942100 !ARGS:a",
            "SecRule REQUEST_URI \"@beginsWith /x\" \"id:1000,phase:1,pass,ctl:ruleEngine=Off\"",
            "SecAction \"phase:1,pass,id:'1'\"",
            "SecAction \"phase:1,pass,ID:899999\"",
            "SecAction \"id:1000000,pass\"",
            "# SecAction \\\n\"id:900000\"",
            "SecMarker a \\\nSecRuleEngine On",
            "Include /missing.conf",
            "Include rules.conf",
            "Include /setup.conf",
        ] {
            let text = format!("{RULE}{line}\n{RULE}");
            assert_eq!(of(&[("/setup.conf", &text)]), None, "{line}");
        }
        assert_eq!(of(&[]), None);
    }
}
