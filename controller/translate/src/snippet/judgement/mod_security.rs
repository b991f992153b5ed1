//! Rules of ModSecurity: they only detect unless an engine is switched on.

/// Directives that block nothing themselves. The engine blocks, and only when it is on.
const WATCHING: &[&str] = &[
    "secaction",
    "secargumentseparator",
    "secauditengine",
    "secauditlog",
    "secauditlog2",
    "secauditlogdirmode",
    "secauditlogfilemode",
    "secauditlogformat",
    "secauditlogparts",
    "secauditlogrelevantstatus",
    "secauditlogstoragedir",
    "secauditlogtype",
    "seccollectiontimeout",
    "seccomponentsignature",
    "seccookieformat",
    "secdatadir",
    "secdebuglog",
    "secdebugloglevel",
    "secdefaultaction",
    "secmarker",
    "secpcrematchlimit",
    "secpcrematchlimitrecursion",
    "secrequestbodyaccess",
    "secrequestbodyinmemorylimit",
    "secrequestbodylimit",
    "secrequestbodylimitaction",
    "secrequestbodynofileslimit",
    "secresponsebodyaccess",
    "secresponsebodylimit",
    "secresponsebodylimitaction",
    "secresponsebodymimetype",
    "secrule",
    "secruleremovebyid",
    "secruleremovebymsg",
    "secruleremovebytag",
    "secruleupdateactionbyid",
    "secruleupdatetargetbyid",
    "secruleupdatetargetbymsg",
    "secruleupdatetargetbytag",
    "secstatusengine",
    "sectmpdir",
    "secunicodemapfile",
    "secuploaddir",
    "secuploadkeepfiles",
];
/// The rules that ingress-nginx brings along. They switch nothing on.
const SHIPPED: &str = "/etc/nginx/owasp-modsecurity-crs/";

/// A directive that may deny requests, and its line.
pub(crate) fn closing(rules: &str) -> Option<(String, usize)> {
    let mut lines = rules.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut text = line.trim().to_owned();
        if text.starts_with('#') {
            continue;
        }
        while text.ends_with('\\') {
            text.pop();
            text.extend(lines.next().map(|(_, more)| more.trim()));
        }
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else { continue };
        let argument = words
            .next()
            .map(|word| word.trim_matches(['"', '\'']).to_ascii_lowercase());
        if !watches(&first.to_ascii_lowercase(), &argument.unwrap_or_default())
            || switches_on(&text)
        {
            return Some((first.to_owned(), number + 1));
        }
    }
    None
}

fn watches(directive: &str, argument: &str) -> bool {
    match directive {
        "secruleengine" => matches!(argument, "off" | "detectiononly"),
        "include" => argument.starts_with(SHIPPED) && !argument.contains(".."),
        other => WATCHING.contains(&other),
    }
}

/// An action of a rule.
fn switches_on(line: &str) -> bool {
    let plain: String = line
        .to_ascii_lowercase()
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    plain.contains("ctl:ruleengine=on")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_only_watch_close_nothing() {
        for rules in [
            "",
            "SecRuleEngine DetectionOnly\nSecAuditEngine On\nSecDefaultAction \"phase:2,pass,log\"",
            "# SecRuleEngine On\nSecRule ARGS \"@rx x\" \\\n  \"id:1,deny,\\\n  status:403\"",
            "Include /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf",
        ] {
            assert_eq!(closing(rules), None, "{rules}");
        }
    }

    #[test]
    fn an_engine_that_blocks_may_guard() {
        for (rules, line) in [
            ("SecRuleEngine On", 1),
            ("secauditengine on\n  secruleengine \"On\"", 2),
            ("SecRuleEngine", 1),
            ("SecAction \"id:1,phase:1,pass,ctl:ruleEngine=On\"", 1),
            ("SecRule ARGS x \\\n \"id:1,ctl:ruleEngine\\\n = On\"", 1),
            ("Include /etc/nginx/other.conf", 1),
            ("Include /etc/nginx/owasp-modsecurity-crs/../other.conf", 1),
            ("SecRemoteRules key https://rules.example", 1),
        ] {
            assert_eq!(closing(rules).map(|(_, line)| line), Some(line), "{rules}");
        }
    }
}
