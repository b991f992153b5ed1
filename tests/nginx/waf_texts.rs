//! Hostile texts in rules, read by ModSecurity itself: it finds as many rules as were written, and nothing else.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use sluice_ir::ServerName;
use sluice_tests::artifacts;
use sluice_tests::manifests::Ingress;
use sluice_tests::nginx::Conf;
use sluice_translate::{DataPlane, Object, ObjectKey, Options, Resources, translate};

/// Pieces of texts. Each means something to nginx, to ModSecurity, or to PCRE.
const PIECES: &[&str] = &[
    "a",
    "B",
    "0",
    " ",
    ",",
    ";",
    ":",
    "=",
    "|",
    "&",
    "!",
    "@",
    "#",
    "%",
    "%{",
    "}",
    "%{TX.a}",
    "%{MATCHED_VAR}",
    "$",
    "'",
    "\\'",
    "\"",
    "\\\"",
    "\\\\",
    "\\",
    "\\\\\"",
    "\n",
    "\t",
    "\\n",
    "\\\n",
    "(",
    ")",
    "[",
    "]",
    "[^\"]",
    "*",
    "+",
    "?",
    ".",
    "^",
    "-",
    "/",
    "é",
    "\u{2028}",
    "\u{7f}",
    "id:9",
    "SecRuleEngine Off",
    "\" \"id:7,pass\"",
    "{",
    "<script>",
    "@rx ",
    "(?i)",
    "\\x20",
    "\\x22",
    "\\x27",
    "\\x2c",
    "\\x2f",
    "\\x3c",
    "\\x5b",
    "\\x5c",
    "\\x7c",
    "\\d",
];

/// Places of a text in a rule. `N` is its id, `T` the text.
const PLACES: &[&str] = &[
    "SecRule ARGS \"@rx T\" \"id:N,phase:2,deny\"",
    "SecRule ARGS \"T\" \"id:N,phase:2,deny\"",
    "SecRule ARGS \"@contains T\" \"id:N,phase:2,deny\"",
    "SecRule ARGS \"!@within T\" \"id:N,phase:2,deny\"",
    "SecRule ARGS \"@pm T\" \"id:N,phase:2,deny\"",
    "SecRule ARGS:T \"@streq a\" \"id:N,phase:2,deny\"",
    "SecRule ARGS:/T/ \"@streq a\" \"id:N,phase:2,deny\"",
    "SecRule ARGS \"@streq a\" \"id:N,phase:2,deny,msg:'T'\"",
    "SecRule ARGS \"@streq a\" \"id:N,phase:2,deny,tag:T,logdata:'T'\"",
    "SecRule ARGS \"@streq a\" \"id:N,phase:2,pass,setvar:'tx.a=T'\"",
    "SecRule ARGS \"@streq a\" \"id:N,phase:2,pass,setvar:tx.T=1\"",
    "SecRule ARGS \"@streq a\" \"id:N,phase:2,pass,ctl:ruleRemoveByTag=T\"",
    "SecRule ARGS \"@streq a\" \"id:N,phase:2,pass,ctl:ruleRemoveTargetById=1;ARGS:T\"",
];

/// Numbers that look like no others; the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap_or_default() % count
    }

    fn text(&mut self) -> String {
        let length = 1 + self.below(5);
        (0..length)
            .map(|_| PIECES[self.below(PIECES.len())])
            .collect()
    }
}

/// Rules of a snippet as they are written, if it is served.
fn written(snippet: &str) -> Option<Vec<String>> {
    let ingress = Ingress::new("default", "web")
        .host("a.test")
        .path("/", "web", 80)
        .annotation("enable-modsecurity", "true")
        .annotation("modsecurity-snippet", snippet);
    let settings = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "sluice"},
        "data": {"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"},
    });
    let mut resources = Resources::default();
    for object in [settings, ingress.to_json()] {
        resources.apply(Object::from_value(object).ok()?);
    }
    let options = Options {
        class_is_implied: true,
        configmap: Some(ObjectKey::new("default", "sluice")),
        data_plane: Some(DataPlane::Nginx),
        ..Options::default()
    };
    let translation = translate(&resources, &options);
    let server = &translation.config().servers[&ServerName::parse("a.test").ok()?];
    let waf = server.routes.first()?.policy.waf.as_ref()?;
    let rules: Vec<String> = waf.rules.iter().map(ToString::to_string).collect();
    (!rules.is_empty()).then_some(rules)
}

#[test]
fn modsecurity_reads_the_rules_that_were_written_and_no_others() -> Result<()> {
    let mut dice = Dice(7);
    let (mut text, mut count) = (String::new(), 0);
    for number in 1..=2000 {
        let rule = PLACES[dice.below(PLACES.len())]
            .replace('T', &dice.text())
            .replace('N', &number.to_string());
        for line in written(&rule).unwrap_or_default() {
            writeln!(text, "{line}")?;
            count += usize::from(line.starts_with("SecRule ") || line.starts_with("SecAction "));
        }
    }
    ensure!(count > 150, "{count} rules are understood");
    let module = artifacts::nginx_modsecurity_module();
    let folder = tempfile::tempdir()?;
    let rules = folder.path().join("rules.conf");
    fs::write(&rules, &text)?;
    let conf = format!(
        "load_module {};\nevents {{}}\nhttp {{\nmodsecurity_rules_file {};\n}}\n",
        module.display(),
        rules.display()
    );
    let output = Conf::beside(&conf)?.test()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let (_, loaded) = said
        .split_once("inline/local/remote: 0/")
        .context(said.to_string())?;
    let loaded = loaded.split('/').next().unwrap_or_default();
    ensure!(
        output.status.success() && loaded == count.to_string(),
        "{count} rules were written\n{said}"
    );
    Ok(())
}
