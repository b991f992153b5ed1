use sluice_filter_core::{MOST_MATCHING, Pattern};

use super::*;

fn written(text: &str) -> String {
    let parsed = parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let lines: Vec<String> = parsed.rules.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn people_write_this() {
    for (text, expected) in [
        ("secruleengine \"on\"", "SecRuleEngine On"),
        (
            "SecRequestBodyLimit 29360128",
            "SecRequestBodyLimit 29360128",
        ),
        (
            "SecRuleRemoveById 920120\n# no\nSecRuleRemoveById 1 \"3-5\"",
            "SecRuleRemoveById 920120\nSecRuleRemoveById 1 3-5",
        ),
        (
            "SecDefaultAction \"phase:2,pass,log,tag:github_team=crime-apply,status:423\"",
            "SecDefaultAction \"phase:2,pass,log,tag:'github_team=crime-apply',status:423\"",
        ),
        (
            "SecAction \"id:900200,phase:1,nolog,pass,t:none,setvar:tx.allowed_methods=GET HEAD POST\"",
            "SecAction \"id:900200,phase:1,nolog,pass,t:none,setvar:'tx.allowed_methods=GET HEAD POST'\"",
        ),
        (
            "SecRule REQUEST_URI \"@contains /messages\" \"id:1000,phase:2,pass,nolog,ctl:ruleRemoveById=921110, \\\n      ctl:ruleRemoveById=933210\"",
            "SecRule REQUEST_URI \"@contains /messages\" \"id:1000,phase:2,pass,nolog,ctl:ruleRemoveById=921110,ctl:ruleRemoveById=933210\"",
        ),
        (
            "SecRule &REQUEST_COOKIES:_session \"@eq 0\" \\\n  \"id:999,phase:1,deny,status:403\"",
            "SecRule &REQUEST_COOKIES:_session \"@eq 0\" \"id:999,phase:1,deny,status:403\"",
        ),
        (
            "SecRuleUpdateTargetById 942100 !ARGS:authenticity_token\nSecRuleUpdateTargetByTag attack-sqli \"!ARGS:a,!ARGS:b\"",
            "SecRuleUpdateTargetById 942100 !ARGS:authenticity_token\nSecRuleUpdateTargetByTag \"attack-sqli\" !ARGS:a|!ARGS:b",
        ),
    ] {
        assert_eq!(written(text), expected);
    }
}

#[test]
fn nginx_unquotes_before_the_engine_reads() {
    assert_eq!(
        written(r#"SecRule ARGS \"@rx \\d\d\" \"id:1,deny,msg:\'a\'\""#),
        r#"SecRule ARGS "@rx \d\d" "id:1,deny,msg:'a'""#
    );
}

#[test]
fn signs_that_end_texts_are_written_by_number() {
    assert_eq!(
        written(r#"SecRule ARGS "@rx ^\\\"50%\\%$" "id:1,deny""#),
        r#"SecRule ARGS "@rx ^\x2250\x25\x25$" "id:1,deny""#
    );
}

/// Alone and in a class: what is written takes the same character and no other.
#[test]
fn visible_characters_by_number_are_those_characters() {
    let pattern = |pattern: &str| {
        let rule = written(&format!("SecRule ARGS \"@rx {pattern}\" \"id:1,deny\""));
        let rest = rule.strip_prefix("SecRule ARGS \"@rx ").unwrap().to_owned();
        rest.strip_suffix("\" \"id:1,deny\"").unwrap().to_owned()
    };
    for byte in b'!'..=b'~' {
        for number in [format!(r"\x{byte:02x}"), format!(r"\x{byte:02X}")] {
            for text in [format!("^{number}$"), format!("^[{number}]$")] {
                let matcher = Pattern::compile(&pattern(&text), false).unwrap();
                for other in b' '..=b'~' {
                    let found = matcher.is_found(&[other], &mut { MOST_MATCHING });
                    assert_eq!(found.ok(), Some(other == byte), "{text}: {other}");
                }
            }
        }
    }
    // A backslash, and letters: nginx takes every second one.
    assert_eq!(pattern(r"a\\\\x22"), r"a\x5cx22");
    for other in [
        r"a\x20", r"a\x0a", r"a\x1f", r"a\x7f", r"a\x+1", r"a\x2", r"a\x{22}", r"a\xe9",
    ] {
        let rule = format!("SecRule ARGS \"@rx {other}\" \"id:1,deny\"");
        assert!(parse(&rule).is_err(), "{other}");
    }
}

/// However it is written, a sign that ends a variable or its pattern is none of its pattern.
#[test]
fn no_number_ends_the_pattern_of_a_variable() {
    let rule = |letter: &str| format!("SecRule ARGS:/^a{letter}b/ \"@rx x\" \"id:1,deny\"");
    let mut refused = 0;
    for byte in b'!'..=b'~' {
        let Ok(parsed) = parse(&rule(&format!(r"\x{byte:02x}"))) else {
            refused += 1;
            continue;
        };
        let line = parsed.rules[0].to_string();
        let (_, behind) = line.split_once("ARGS:/").unwrap();
        let (pattern, rest) = behind.split_once('/').unwrap();
        assert_eq!(rest, " \"@rx x\" \"id:1,deny\"", "{line}");
        assert!(!pattern.contains([' ', '|', ',', '\'']), "{line}");
    }
    assert_eq!(refused, "=|'/,".len());
}

#[test]
fn a_flag_at_the_beginning_of_a_pattern_is_one_of_a_group() {
    for (pattern, expected) in [
        ("(?i)select.+from", "(?i:select.+from)"),
        ("(?i)a|b", "(?i:a|b)"),
        ("(?i:a)|b", "(?i:a)|b"),
    ] {
        for operator in ["@rx ", ""] {
            assert_eq!(
                written(&format!(
                    "SecRule ARGS \"{operator}{pattern}\" \"id:1,deny\""
                )),
                format!("SecRule ARGS \"@rx {expected}\" \"id:1,deny\"")
            );
        }
        let selected = format!("SecRule ARGS:/{pattern}/ \"@rx x\" \"id:1,deny\"");
        // A `|` is between variables there.
        if !pattern.contains('|') {
            assert!(written(&selected).contains(expected));
        }
    }
    let middle = "SecRule ARGS \"@rx a(?i)b\" \"id:1,deny\"";
    assert!(
        parse(middle)
            .unwrap_err()
            .reason
            .contains("flags other than (?i) at the beginning")
    );
}

#[test]
fn lines_are_counted_and_comments_end() {
    let line = |text| parse(text).unwrap_err().line;
    assert_eq!(line("# SecRule ARGS x \\\n \"id:1\"\n\nSecNoSuch /x"), 4);
    assert_eq!(line("# a \\\nSecNoSuch /x"), 2);
    assert_eq!(line("SecRule ARGS x \\\n\"id:1,pass,\\\nexec:/x\""), 1);
}

/// All of the engine that take words, understood or not.
#[test]
fn an_error_names_its_directive() {
    for name in [
        "SecGeoLookupDb",
        "SecNoSuch",
        "SecRequestBodyLimit",
        "SecRuleEngine",
        "SecRule",
        "SecAction",
        "SecDefaultAction",
        "SecRuleRemoveById",
        "SecMarker",
        "Include",
    ] {
        let reason = parse(&format!("{name} ?;")).unwrap_err().reason;
        let named = format!("{name}: ");
        assert!(reason.starts_with(&named), "{reason}");
    }
}

#[test]
fn folders_are_without_effect_and_said() {
    for name in ["SecTmpDir", "SecDataDir", "sECuPLOADdIR"] {
        let parsed = parse(&format!("{name} /etc/cron.d\nSecUploadKeepFiles Off")).unwrap();
        assert_eq!(parsed.rules.len(), 1);
        let differences = parsed.differences().join("\n").to_ascii_lowercase();
        let expected = format!("{}: no effect", name.to_ascii_lowercase());
        assert!(differences.starts_with(&expected), "{differences}");
    }
}

#[test]
fn what_may_read_or_keep_or_run_something_is_not_understood() {
    for text in [
        "SecUploadKeepFiles On",
        "SecUploadKeepFiles RelevantOnly",
        "SecRemoteRules key https://rules.example",
        "SecRuleScript /x.lua \"id:1,deny\"",
        "Include /etc/passwd",
        "Include /etc/nginx/owasp-modsecurity-crs/../x.conf",
        "SecUnicodeMapFile /etc/passwd 20127",
        "SecGeoLookupDb /x",
        "SecRule ENV:SECRET \"@beginsWith a\" \"id:1,deny\"",
        "SecRule ARGS \"@pmFromFile /etc/passwd\" \"id:1,deny\"",
        "SecRule ARGS \"@ipMatchFromFile /etc/passwd\" \"id:1,deny\"",
        "SecRule ARGS \"@inspectFile /bin/sh\" \"id:1,deny\"",
        "SecRule ARGS \"@rbl example.org\" \"id:1,deny\"",
        "SecRule ARGS \"@streq %{ENV.SECRET}\" \"id:1,deny\"",
        "SecRule ARGS x \"id:1,exec:/bin/sh\"",
        "SecRule ARGS x \"id:1,redirect:http://evil.example\"",
        "SecRule ARGS x \"id:1,proxy:http://evil.example\"",
        "SecRule ARGS x \"id:1,initcol:ip=%{REMOTE_ADDR}\"",
        "SecRule ARGS x \"id:1,setvar:ip.x=1\"",
        "SecRule ARGS x \"id:1,setenv:PATH=x\"",
        "SecRule ARGS x \"id:1,status:302\"",
        "SecRule ARGS x \"deny\"",
        "SecRule ARGS x \"id:1,deny,chain\"\nSecRule ARGS y \"deny\"",
        "SecDefaultAction \"phase:2,log\"",
        "SecDefaultAction \"phase:2,pass,msg:x\"",
        "SecDefaultAction \"phase:2,pass,t:none\"",
        "SecDefaultAction \"phase:2,pass\"\nSecDefaultAction \"phase:request,deny\"",
        "SecDefaultAction \"pass\"",
        "SecRuleUpdateTargetById 1-2 !ARGS:x",
        "SecRule ARGS x \"id:1,id:2,deny\"",
        "SecRule ARGS x \"id:1,deny\"\nSecRule ARGS y \"id:1,deny\"",
        "SecRule ARGS x \"id:1,deny,chain\"",
        "SecRule ARGS x \"id:1,deny,chain\"\nSecRuleEngine On",
        "SecRule ARGS \"@rx (?=x)\" \"id:1,deny\"",
        "SecRule ARGS \"@rx ((a+)+\" \"id:1,deny\"",
        "SecRule ARGS \"@ipMatch 10.0.0.0/33\" \"id:1,deny\"",
        "SecRequestBodyLimit 99999999999",
        "SecRequestBodyLimit +1",
        "SecRuleEngine",
        "SecRuleEngine On Off",
        "SecAction \"id:1,pass",
        "\"SecRuleEngine\" On",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn hostile_texts_stay_inside_their_quotes() {
    for hostile in [
        "a\\\" \\\"id:2",
        "%",
        "50%",
        "%\\\\\\\\\\\"",
        "\\\\\\\\",
        "a\nSecRuleEngine Off",
        "#",
        "' or 1=1",
        "%{ENV.X}",
        "\u{2028}",
    ] {
        for rule in [
            format!("SecRule ARGS \"@contains {hostile}\" \"id:1,deny\""),
            format!("SecRule ARGS \"@rx {hostile}\" \"id:1,deny\""),
            format!("SecAction \"id:1,pass,msg:'{hostile}'\""),
            format!("SecAction \"id:1,pass,setvar:'tx.a={hostile}'\""),
            format!("SecRuleRemoveByMsg \"{hostile}\""),
        ] {
            if let Ok(parsed) = parse(&rule) {
                assert_eq!(parsed.rules.len(), 1, "{rule}");
                let text = parsed.rules[0].to_string();
                let quotes = text.matches('"').count();
                assert!(quotes == 2 || quotes == 4, "{text}");
                assert!(
                    !text.contains('\n') && !text.contains("\\\"") && !text.contains("%\""),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn what_is_written_is_read_as_the_same() {
    let text = "SecRule ARGS|&TX:a|!REQUEST_HEADERS:/^x-/ \"!@within a b' c\" \"id:1,phase:1,chain,deny,capture,msg:'a %{MATCHED_VAR}, b'\"\n\
        SecRule TX:1 \"^\\\\d+$\" \"setvar:tx.b=+%{tx.a},setvar:!tx.c,skipAfter:END\"\nSecMarker END\n\
        SecAuditLogRelevantStatus \"^(?:5|4(?!04))\"\nSecResponseBodyMimeType text/plain text/html\nSecRuleRemoveByTag \"a/b c\"";
    let once = written(text);
    assert_eq!(written(&once.replace('\\', "\\\\")), once);
}

#[test]
fn core_rules_come_last() {
    let core = "Include /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf\n";
    let parsed = |rest: &str| parse(&format!("{core}{rest}"));
    assert!(
        !parsed("SecRuleEngine On\nSecRuleRemoveById 1")
            .unwrap()
            .is_reordered
    );
    assert!(
        parsed("SecRule ARGS x \"id:1,phase:2,deny\"")
            .unwrap()
            .is_reordered
    );
    assert!(parsed("SecRule ARGS x \"id:1,phase:1,pass,ctl:ruleRemoveById=1\"").is_ok());
    for rest in [
        "SecRule ARGS x \"id:1,phase:2,pass,ctl:ruleRemoveById=1\"",
        "SecRule ARGS x \"id:1,phase:1,allow\"",
        "SecRule TX:ANOMALY_SCORE \"@ge 5\" \"id:1,phase:2,deny\"",
        "SecRule ARGS \"@streq %{tx.a}\" \"id:1,phase:2,deny\"",
    ] {
        assert!(parsed(rest).is_err(), "{rest}");
    }
}

/// Pieces of hostile texts, and of rules.
const PIECES: &[&str] = &[
    "a",
    "7",
    " ",
    ",",
    ":",
    "=",
    "|",
    "&",
    "!",
    "@",
    "#",
    "%",
    "%{TX.a}",
    "%{ENV.a}",
    "$",
    "'",
    "\\'",
    "\"",
    "\\\"",
    "\\\\",
    "\\",
    "\n",
    "\\\n",
    "\t",
    "(",
    ")",
    "[",
    "]",
    "*",
    "é",
    "\u{2028}",
    "\u{7f}",
    "id:9",
    "SecRuleEngine Off\n",
    "SecRule ARGS ",
    "\"@rx ",
    "\"id:1,",
    "pass",
    "deny",
    "chain",
    "msg:'",
    "setvar:tx.a=",
    "ctl:ruleRemoveById=",
    "SecAction ",
    "Include ",
    "SecMarker ",
    "SecRuleRemoveById ",
];

#[test]
fn whatever_is_understood_is_read_again_as_the_same() {
    let mut state: u64 = 1;
    let mut below = |count: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % count
    };
    let mut understood = 0;
    for _ in 0..40_000 {
        let length = 1 + below(6);
        let hostile: String = (0..length).map(|_| PIECES[below(PIECES.len())]).collect();
        let text = match below(4) {
            0 => hostile,
            1 => format!("SecRule ARGS \"@contains {hostile}\" \"id:1,deny\""),
            2 => format!("SecRule ARGS \"{hostile}\" \"id:1,deny,msg:'{hostile}'\""),
            _ => format!("SecAction \"id:1,pass,setvar:'tx.a={hostile}'\""),
        };
        let Ok(parsed) = parse(&text) else { continue };
        let lines: Vec<String> = parsed.rules.iter().map(ToString::to_string).collect();
        for line in &lines {
            let hazards = ["\\\"", "\\\\", "%\""];
            assert!(
                hazards.iter().all(|hazard| !line.contains(hazard)),
                "{text:?}: {line}"
            );
            assert!(!line.chars().any(char::is_control), "{text:?}: {line}");
            assert!(
                matches!(line.matches('"').count(), 0 | 2 | 4),
                "{text:?}: {line}"
            );
        }
        let again = parse(&lines.join("\n").replace('\\', "\\\\"));
        assert_eq!(again.unwrap().rules, parsed.rules, "{text:?}");
        understood += lines.len();
    }
    assert!(understood > 1000, "{understood}");
}
