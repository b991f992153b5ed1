//! The OWASP Core Rule Set as it is installed.
//!
//! Its setup and its files of exclusions are the operator's to change. Settings of the engine and exceptions by tag have no ids, so
//! removing the core rules by theirs would leave them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sluice_ir::waf::Action;

use super::actions;
use super::words::{Words, statements};

/// Flags of default actions that the engine takes where rules say nothing else.
const USUAL: [&str; 3] = ["log", "auditlog", "pass"];
/// Files that include files.
const MAX_DEPTH: usize = 4;

/// Ids of all rules in these files. `None`: beside rules there is something in them that changes anything for others. `read` has the
/// texts of the files at a path, whose last part may be a pattern.
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
        for statement in statements(&text.replace("\r\n", "\n")) {
            let Words { name, words, .. } = statement.ok()?;
            // With one word too many it is two directives, which a backslash has joined.
            match (name.to_ascii_lowercase().as_str(), words.as_slice()) {
                ("secrule", [_, _, list]) | ("secaction", [list]) => {
                    ids.extend(actions::ids(&list.text)?);
                }
                // It belongs to the one before it.
                ("secrule", [_, _]) => {}
                ("secdefaultaction", [list]) if are_usual(&list.text) => {}
                ("include", [path]) => {
                    let path = Path::new(&path.text);
                    path.is_absolute().then_some(())?;
                    collect(path, read, depth, ids)?;
                }
                ("secmarker" | "seccomponentsignature" | "seccollectiontimeout", [_]) => {}
                _ => return None,
            }
        }
    }
    Some(())
}

fn are_usual(list: &str) -> bool {
    let is_usual = |action: &Action| {
        action.word("phase").is_some() || USUAL.iter().any(|flag| action.is(flag))
    };
    actions::list(list).is_ok_and(|list| list.iter().all(is_usual))
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
    fn all_rules_of_all_files_have_their_ids_counted() {
        let setup = "# SecRuleEngine On\n\nInclude \"/rules.conf\"\nSecDefaultAction \"phase:1,log,auditlog,pass\"\n\
                     SecCollectionTimeout 600\nSecAction \\\n\"id:900990,phase:1,nolog,pass,t:none,setvar:tx.crs_setup_version=334\"\n";
        let rules = format!(
            "{RULE}SecMarker \"END-X\"\nSecComponentSignature \"OWASP_CRS/3.3.4\"\nSecAction \"id:9001100,pass\""
        );
        let ids = of(&[("/setup.conf", setup), ("/rules.conf", &rules)]);
        assert_eq!(ids, Some([900_990, 942_100, 9_001_100].into()));
    }

    #[test]
    fn an_id_is_read_however_it_is_written() {
        for (text, expected) in [
            ("SecAction \"id:'7',pass\"", &[7_u32][..]),
            ("secaction \"phase:1, ID : 7 ,pass\"", &[7]),
            (
                "SecAction \"phase:1,pass,\\\n    id:7,\\\n    nolog\"",
                &[7],
            ),
            ("SecAction \\\r\n  \"id:7,\\\r\n  pass\"\r\n", &[7]),
            ("SecAction \"id:7,pass,id:8\"", &[7, 8]),
            ("SecAction \"msg:'a, id:1',id:7,pass\"", &[7]),
            (r#"SecAction "msg:'it\'s',id:7,tag:'it\'s'""#, &[7]),
            (
                "SecAction \"id:7,exec:/x.lua,initcol:ip=%{REMOTE_ADDR}\"",
                &[7],
            ),
            (
                "# SecAction \\\n  \"id:1,pass\"\nSecAction \"id:7,pass\"",
                &[7],
            ),
            ("# a \\\nSecAction \"id:7,pass\"", &[7]),
            ("SecRule ARGS \"@rx \\\"id:1,\\\"\" \"id:7,deny\"", &[7]),
        ] {
            let expected = expected.iter().copied().collect();
            assert_eq!(of(&[("/setup.conf", text)]), Some(expected), "{text}");
        }
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
            "SecAction \"phase:1,pass,id:a\"",
            "SecAction \"phase:1,pass,id:+1\"",
            "SecAction \"phase:1,pass,id:0\"",
            "SecAction \"phase:1,pass,id:4294967296\"",
            "SecAction \"id:900000,msg:'a\"",
            "SecAction \"id:900000",
            "SecMarker a \\\nSecRuleEngine On",
            "SecMarker a SecRuleEngine On",
            "SecRule ARGS \"@rx a\" \\\nSecRuleEngine On",
            "SecAction \"id:900000,pass\" \\\nSecRuleEngine On",
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
