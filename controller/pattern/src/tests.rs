mod targets;

use super::*;

fn shape(pattern: &str) -> Result<Shape, String> {
    check(pattern, Subject::Path)
}

#[test]
fn what_people_write_is_known_to_both() {
    let words = "users|orders|products|carts|payments|shipments|returns|accounts|sessions";
    let nine_words = format!("/api/v1/({words})/([0-9]+)(/|$)(.*)");
    for (pattern, groups) in [
        ("/svc(/|$)(.*)", 2),
        ("/id/[0-9]{3}$", 0),
        ("/api/v[12]/(?:a|b)/(.+)", 1),
        (r"/a\.b\-c\/d", 0),
        ("/?(.*)", 1),
        (r"/[\w-]+\d*?", 0),
        ("/(?i:FOO)", 0),
        ("/(.*)/(.*)", 2),
        (
            "/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(/.*)?",
            1,
        ),
        (nine_words.as_str(), 4),
    ] {
        assert_eq!(
            shape(pattern).map(|shape| (shape.groups, shape.alternatives)),
            Ok((groups, false)),
            "{pattern}"
        );
    }
    assert!(shape("/a|/b").unwrap().alternatives);
}

#[test]
fn words_that_fill_a_pattern_are_not_too_many() {
    let words = "accounts|billing|catalogue|reports|".repeat(30);
    let pattern = format!("/({})", words.get(..MAX_PATTERN_BYTES - 3).unwrap());
    assert_eq!(
        shape(&pattern).map(|shape| shape.groups),
        Ok(1),
        "{}",
        pattern.len()
    );
}

#[test]
fn what_only_one_knows_is_named() {
    for (pattern, named) in [
        ("/(?!admin).*", "lookaround"),
        ("/(?<=a)b", "lookaround"),
        (
            "/(?!a)b",
            "other than (?!...) that excludes texts, with nothing or .* behind it",
        ),
        ("/(?>a*)b", "an atomic group"),
        ("/(a)?(?(1)b|c)", "a conditional, recursive or other group"),
        ("/(a(?1)?b)", "a conditional, recursive or other group"),
        (r"/(a)\1", "backreference"),
        ("/a++", "repetition of a repetition"),
        ("/(?<name>a)", "a named group"),
        (r"/\pL", "Unicode"),
        ("/[a&&b]", "operation on classes"),
        ("/(?s)a", "flags"),
        ("/(a", "unclosed"),
        (r"/\x41", "by its number"),
        ("/[:alpha:]", "written [:alpha:]"),
        ("/[.a.]", "written [.a.]"),
        ("/[=a=]", "written [=a=]"),
        ("/a{,5}", "decimal"),
        ("/a{ 2 }", "written"),
        ("/^*", "repetition of an assertion"),
        (r"/\b{2}", "repetition of an assertion"),
        ("/é*", "more than one byte"),
        ("/[é]", "more than one byte"),
        ("(*LIMIT_MATCH=1)/a", "repetition"),
    ] {
        let error = shape(pattern).unwrap_err();
        assert!(error.contains(named), "{pattern}: {error}");
    }
    for subject in [Subject::Text, Subject::TextInAnyCase] {
        let error = check("^/(?!a)b", subject).map(drop);
        assert_eq!(error, Err(LOOKAROUND.to_owned()));
    }
    assert!(check("CN=Müller", Subject::Text).is_ok());
}

#[test]
fn an_empty_text_is_found_in_every_text() {
    for (pattern, fits) in [
        ("CN=a", false),
        ("CN=a|", true),
        ("(CN=a)?", true),
        ("CN=.*", false),
        ("^$", true),
    ] {
        assert_eq!(matches_empty(pattern), fits, "{pattern}");
    }
}

#[test]
fn what_costs_an_engine_too_much_is_refused_with_its_limit() {
    for (pattern, limit) in [
        (
            "/(a{50}){50}".to_owned(),
            "multiply to 2500, more than 1000",
        ),
        (
            "/(((a{100}){100}){100})".to_owned(),
            "multiply to 1000000, more than 1000",
        ),
        ("/a{1001}".to_owned(), "more than 1000 repetitions"),
        ("/[^s]{100}".to_owned(), "instructions, more than 2000"),
        (
            "/(?:.{999}|b{999})".to_owned(),
            "instructions, more than 2000",
        ),
        (
            "/(?:(?:(?:(?:a)))){900}".to_owned(),
            "bytes when compiled, more than 60000",
        ),
        (
            format!("/{}a{}", "(".repeat(30), ")".repeat(30)),
            "nested parentheses",
        ),
        (
            format!("/{}", "a".repeat(MAX_PATTERN_BYTES)),
            "1001 bytes are more than 1000",
        ),
    ] {
        let error = shape(&pattern).unwrap_err();
        assert!(error.contains(limit), "{pattern}: {error}");
    }
    assert_eq!(
        shape("/[a-z]{100}/(?:[0-9a-f]{8}-){3}(.*)").map(|shape| shape.groups),
        Ok(1)
    );
}

/// A path is compared without regard to case, which makes letters larger.
#[test]
fn what_is_measured_is_what_is_written() {
    let letters = format!("/({}){{4}}", "s".repeat(120));
    assert!(check(&letters, Subject::Text).is_ok());
    assert!(check(&letters, Subject::Path).is_err());
    assert!(check(&letters, Subject::TextInAnyCase).is_err());
}

#[test]
fn a_pattern_begins_where_the_path_begins_and_ends_anywhere() {
    assert_eq!(
        re2("/a(/|$)", Subject::Path, false),
        r"(?i)/a(/|(?:%0A)?$).*"
    );
    assert_eq!(
        re2("/a|/b", Subject::Path, true),
        r"(?i)(?:[^?%]|%[0-9A-F]{2})*?(?:^/a|/b).*"
    );
    let limits = format!("(*LIMIT_MATCH={MOST_STEPS})(*NO_AUTO_POSSESS)");
    assert_eq!(
        pcre("/a+", Subject::Path, false),
        format!("{limits}(?i)^/a+")
    );
    assert_eq!(
        pcre("/a|/b", Subject::Path, true),
        format!("{limits}(?i)^(?s:.*?)(?:^/a|/b)")
    );
    assert_eq!(
        pcre("CN=a.", Subject::Text, false),
        format!("{limits}^(?s:.*?)(?:CN=a.)")
    );
    assert_eq!(pcre(r"/a\.b", Subject::Path, false), r"(?i)^/a\.b");
}

#[test]
fn a_pattern_of_characters_alone_is_a_text() {
    assert_eq!(literal(r"/a\.b-c_d~"), Some("/a.b-c_d~".to_owned()));
    assert_eq!(
        literal(&regex_syntax::escape("/a.b(c)+&#")),
        Some("/a.b(c)+&#".to_owned())
    );
    for pattern in [
        "/a.b", "/a*", "/a|b", "/[a]", r"/\d", "/$", r"/\", "/a{2}", "/(a)",
    ] {
        assert_eq!(literal(pattern), None, "{pattern}");
    }
}
