use super::*;

/// Every text of up to so many of these letters.
fn texts(letters: &str, longest: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut begin = 0;
    for _ in 0..longest {
        let end = all.len();
        for at in begin..end {
            all.extend(
                letters
                    .chars()
                    .map(|letter| format!("{}{letter}", all[at]))
                    .collect::<Vec<_>>(),
            );
        }
        begin = end;
    }
    all
}

fn groups(captures: &[Option<&str>]) -> Vec<String> {
    let texts = captures.iter().map(|group| group.unwrap_or_default());
    texts.map(str::to_owned).collect()
}

#[test]
fn the_same_is_taken_and_captured() {
    let paths: Vec<String> = texts("aB/c", 6)
        .into_iter()
        .chain(texts("aB\n", 6))
        .map(|text| format!("/{text}"))
        .collect();
    for pattern in [
        "/(?!a)",
        "/(?!ab).*",
        "/(?!ab|c)(.*)",
        "^/(?!ab)(.*)$",
        "/((?!ab|abc|b).*)",
        "/(?!(ab|c)(/|$))(.*)",
        "/(?!(?:ab|c)(?:/|$)).*",
        "/(?!a$|b/).+",
        "/(?!a$)(.+)",
        "/(?!AB.*)(.*)",
        "/(?!a)(?!bc)(.*)",
        "/c(/|$)(?!ab)(.*)",
        "/(a|(?!c).*)",
        "/(?!a(b(c|a)|c))(.*)$",
        "/a|/(?!b).*",
        "/(?!$)(.*)",
        r"/(?!ab/cab/cab/cab/cab\.(?:a|b))(.*)",
    ] {
        for (subject, flag) in [(Subject::Path, "(?i)^"), (Subject::InPath, "")] {
            compare(pattern, (subject, flag), &paths);
        }
    }
}

/// Of all bodies of a few parts that can be written without lookahead.
#[test]
fn nothing_gets_around_a_lookahead_whatever_its_parts_are() {
    const PARTS: [&str; 8] = ["a", "b", "(", "(?:", ")", ".*", "$", "|"];
    let paths: Vec<String> = texts("ab", 4)
        .iter()
        .map(|text| format!("/{text}"))
        .collect();
    let (mut bodies, mut compared) = (vec![String::new()], 0);
    for _ in 0..5 {
        let longer = bodies
            .iter()
            .flat_map(|body| PARTS.map(|part| format!("{body}{part}")));
        bodies = longer.collect();
        for body in &bodies {
            let pattern = format!("/(?!{body})(.*)");
            // Parentheses that are none of a pair are errors.
            let is_pattern = fancy_regex::Regex::new(&pattern).is_ok();
            if is_pattern && without_lookahead(&pattern, Subject::InPath) != pattern {
                compare(&pattern, (Subject::InPath, ""), &paths);
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

/// The same paths, and the same groups of each.
fn compare(pattern: &str, (subject, flag): (Subject, &str), paths: &[String]) {
    let written = without_lookahead(pattern, subject);
    assert!(!written.contains(BEGIN), "{pattern}: {written}");
    // PCRE's end is in front of a last line break, too.
    let as_nginx = |pattern: &str| format!("{flag}(?:{})", pattern.replace('$', r"(?=\n?\z)"));
    let original = fancy_regex::Regex::new(&as_nginx(pattern)).unwrap();
    let other = fancy_regex::Regex::new(&as_nginx(&written)).unwrap();
    for path in paths {
        let [expected, got] = [&original, &other].map(|regex| {
            let found = regex.captures(path).unwrap()?;
            let groups: Vec<_> = (1..found.len())
                .map(|n| found.get(n).map(|group| group.as_str()))
                .collect();
            // A group may go on behind a line break.
            let is_compared = !path.contains('\n');
            Some(self::groups(&groups))
                .filter(|_| is_compared)
                .or(Some(Vec::new()))
        });
        assert_eq!(got, expected, "{pattern}: {written}: {path}");
    }
}

#[test]
fn a_flag_before_all_is_of_the_lookahead_too() {
    let of_location = |pattern| without_lookahead(pattern, Subject::InPath);
    assert_eq!(of_location("(?i)/(?!A).*"), "(?i)/(?:$|[^a]).*");
    assert_eq!(of_location("/(?!A).*"), "/(?:$|[^A]).*");
    for unknown in ["(?i:/a)/(?!A).*", "(?i)(?-i)/(?!A).*", "(?i:/(?!A).*)"] {
        assert_eq!(of_location(unknown), unknown);
    }
}

#[test]
fn a_tree_has_the_letters_that_make_the_difference() {
    assert_eq!(
        without_lookahead("/(?!api|v1(/|$))(.*)", Subject::Path),
        r"/()((?:$|[^av]|a$|a[^p]|ap$|ap[^i]|v$|v[^1]|v1[^\/\n]|v1\n(?:.|\n)).*)"
    );
}

#[test]
fn what_needs_lookahead_keeps_it() {
    for pattern in [
        "/a",
        "/(?=a).*",
        "/(?<!a)b",
        "/(?!a)b",
        "/(?!a).*b",
        "/(?!a)(.*)/b",
        "/((?!a).)*",
        "/((?!a).*)+",
        "/(?!a+).*",
        "/(?![ab]).*",
        "/(?!.*a).*",
        "/(?!a).*?",
        "/(?!).*",
        "/(?!a",
        "/(?!a|",
        "/(?!é).*",
        "/(?!a$b).*",
        "/(?!a/(.*)$)(.*)",
        "/(?!(b|a/.*)$).*",
        "/(?!a(.*)b).*",
        "/(?!(a.*)b).*",
        "/(?!a(?:.*)b).*",
        "/(?!a$.*).*",
        "/(?-i:(?!a).*)",
        r"/\(?!a\).*",
        "/[(?!a)].*",
        "/(?!a)|/b",
        "/(?!a)(b|.*)",
        "/((?!a))",
        r"/(?!\w).*",
        "/(?!(((((a)))))).*",
        "/(?!(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)).*",
        &format!("/(?!{}).*", "a".repeat(60)),
        &format!("/(?!{}).*", "a".repeat(101)),
    ] {
        assert_eq!(without_lookahead(pattern, Subject::Path), pattern);
    }
}
