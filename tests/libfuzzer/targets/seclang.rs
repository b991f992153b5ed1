//! Rules of ModSecurity. What is understood is one line each, stays inside its quotes, and is read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_syntax::seclang::parse;

fuzz_target!(|text: &str| {
    let Ok(parsed) = parse(text) else {
        return;
    };
    let lines: Vec<String> = parsed.rules.iter().map(ToString::to_string).collect();
    for line in &lines {
        let is_one_line = !line.chars().any(char::is_control);
        // ModSecurity's scanner reads both as something else than they look like.
        let is_plain = !line.contains("\\\"") && !line.contains("%\"");
        let quotes = line.matches('"').count();
        assert!(
            is_one_line && is_plain && matches!(quotes, 0 | 2 | 4),
            "{text:?} is written as {line:?}"
        );
    }
    // As nginx would have it in its quotes.
    let written = lines.join("\n").replace('\\', "\\\\");
    let again = parse(&written);
    assert!(
        again
            .as_ref()
            .is_ok_and(|again| again.rules == parsed.rules),
        "{text:?} is written as {written:?}: {again:?}"
    );
});
