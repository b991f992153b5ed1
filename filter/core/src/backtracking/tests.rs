use super::*;

/// Enough for all of these.
const STEPS: usize = 10_000;

/// With something in it that takes this engine.
fn compile(pattern: &str) -> Result<Program, Refusal> {
    Program::compile(&format!("{pattern}(?=)"), false)
}

fn find(pattern: &str, text: &str) -> Option<Vec<String>> {
    let program = compile(pattern).unwrap();
    let found = program.find(text.as_bytes(), &mut { STEPS }).unwrap()?;
    let groups = (1..=program.groups()).map(|group| found.get(group));
    Some(
        groups
            .map(|group| String::from_utf8_lossy(group).into_owned())
            .collect(),
    )
}

#[track_caller]
fn check(pattern: &str, texts: &[(&str, Option<&[&str]>)]) {
    for (text, groups) in texts {
        let groups = groups.map(|groups| groups.iter().map(|group| (*group).to_owned()).collect());
        assert_eq!(find(pattern, text), groups, "{pattern} in {text:?}");
    }
}

#[test]
fn lookaround_takes_nothing() {
    check(
        r"^/(?!api|admin)([^/]+)/(?=v\d)(.*)$",
        &[
            ("/shop/v1/x", Some(&["shop", "v1/x"])),
            ("/api/v1", None),
            ("/shop/x", None),
        ],
    );
    check("(?=(a+))a*b\\1", &[("baaabac", Some(&["a"]))]);
    check(
        "(?<!\\.js|\\.css)$",
        &[("/a.html", Some(&[])), ("/a.js", None), ("/a.css", None)],
    );
    check(
        "(?<=(?<!x)ab)c",
        &[("abc", Some(&[])), ("xabc", None), ("c", None)],
    );
    check("(?!(a)b)\\w", &[("ab", Some(&[""]))]);
}

#[test]
fn a_backreference_is_what_its_group_held_last() {
    check(
        r"^/([a-z]+)/\1$",
        &[
            ("/a/a", Some(&["a"])),
            ("/a/b", None),
            ("/ab/ab", Some(&["ab"])),
        ],
    );
    check(r"^(?:(a)|b)*\1$", &[("aba", Some(&["a"])), ("b", None)]);
    check(r"^(?:\1b|(a))+$", &[("aab", Some(&["a"])), ("b", None)]);
    check(
        r"(?i)^(a)\1(?-i)\1$",
        &[("aAa", Some(&["a"])), ("aAA", None)],
    );
}

#[test]
fn what_is_atomic_gives_nothing_back() {
    check("^(?>a+)ab", &[("aaab", None)]);
    check("^a++b", &[("aaab", Some(&[]))]);
    check("^(?:a|ab)++c", &[("abc", None)]);
    check("^(?>(a)|b)*+c", &[("abac", Some(&["a"]))]);
    check("^(?:(?>(a|b))x|(.)(.))$", &[("ab", Some(&["", "a", "b"]))]);
    check("^\\d{2,3}+\\d", &[("123", None), ("1234", Some(&[]))]);
}

#[test]
fn repetition_is_that_of_pcre() {
    check("^(a|ab)(c|bcd)(d*)$", &[("abcd", Some(&["a", "bcd", ""]))]);
    check("^(a*?)(a*)$", &[("aa", Some(&["", "aa"]))]);
    check("^(|a)+b", &[("aab", Some(&[""]))]);
    check("^(a?)*$", &[("aa", Some(&[""])), ("", Some(&[""]))]);
    check("^(?:a?){3}$", &[("aaa", Some(&[])), ("aaaa", None)]);
    check("^(a){0}b$", &[("b", Some(&[""]))]);
    check("^x{2,}?(x*)$", &[("xxxx", Some(&["xx"])), ("x", None)]);
    check("^(?:ab){1,2}$", &[("ab", Some(&[])), ("ababab", None)]);
}

#[test]
fn classes_and_places_are_those_of_pcre() {
    check("^[]a]+$", &[("]a", Some(&[])), ("[", None)]);
    check("^[^]a]+$", &[("b[", Some(&[])), ("]", None)]);
    check(r"^[\w.-]+$", &[("a.b-c_", Some(&[])), ("a/b", None)]);
    check(
        "^[[:alpha:][:^space:]-]+$",
        &[("a-1", Some(&[])), (" ", None)],
    );
    check("^(?i:[^k])$", &[("K", None), ("k", None), ("x", Some(&[]))]);
    check("^.$", &[("\n", None), ("a\n", Some(&[])), ("a\nb", None)]);
    check("^(?s:.)\\z", &[("\n", Some(&[])), ("a\n", None)]);
    check(r"\bcat\b", &[("a cat", Some(&[])), ("concat", None)]);
    check("^é{2}$", &[("éé", None)]);
    check(
        "(a(?i)b|c)d",
        &[("aBd", Some(&["aB"])), ("Cd", Some(&["C"])), ("abD", None)],
    );
}

#[rustfmt::skip]
const REFUSED: &[&str] = &[
    "(", ")", "a)", "(?=a", "[a", "[]", "*a", "^*", "(?=a)*", "a**", "a{2}{3}", "a{,2}", "a{2", "{", "a{3,2}",
    "a{1001}", r"a\", r"\1", r"(a)\2", r"(a)\10", r"(a)\12", r"\x41", r"\K", r"\Q", "(?<n>a)", "(?P<n>a)", "(?R)",
    "(?1)", "(?(1)a)", "(?|a)", "(*FAIL)", "(?#a)", "(?x)a", "(?)", "(?-)a", "(?--i)a", "[[.a.]]", "[:a:]",
    "[=a=]", "[[:no:]]", "[a[b]", r"[a-\d]", r"[\d-a]", "[b-a]", r"[\b]", "(?<=a*)b", "(?<=(?:a|bc))d",
    r"(a)(?<=\1)", "(?<=a|b+)", "(a{100}){100}", "((a{1000}){1000}){1000}",
];

#[test]
fn what_pcre_refuses_or_reads_in_another_way_is_refused() {
    for bad in REFUSED {
        let refused = Program::compile(&format!("(?=){bad}"), false);
        assert!(
            matches!(refused, Err(Refusal::Wrong(_))),
            "{bad}: {refused:?}"
        );
        assert_eq!(
            Program::compile("a+(b|c)*?[d]", false).err(),
            Some(Refusal::NotNeeded)
        );
    }
}

#[test]
fn patterns_have_a_largest_size() {
    let deep = |depth: usize| format!("{}{}", "(".repeat(depth), ")".repeat(depth));
    assert!(compile(&deep(20)).is_ok());
    assert!(compile(&deep(21)).is_err());
    assert!(compile(&"()".repeat(256)).is_err());
}

#[test]
fn steps_come_to_an_end() {
    let text = format!("{}b", "a".repeat(1000));
    for pattern in [
        "^(a+)+$(?!x)",
        "(?=(a|a)*$)",
        "^(?:(a*)*)*(?<=c)",
        r"^(a+)+\1c",
        "(?!.*.*.*.*c)(?=.*.*.*.*c)",
    ] {
        let program = Program::compile(pattern, false).unwrap();
        let mut steps = 100_000;
        assert_eq!(
            program.find(text.as_bytes(), &mut steps),
            Err(Exhausted),
            "{pattern}"
        );
        assert_eq!(steps, 0);
    }
    // What is compared with a long group costs as much as it is long.
    let program = Program::compile(r"^(a*)(?:\1|b)*c", false).unwrap();
    let text = "a".repeat(60_000);
    let mut steps = 1_000_000;
    assert_eq!(program.find(text.as_bytes(), &mut steps), Err(Exhausted));
}
