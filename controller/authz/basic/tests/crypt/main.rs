//! Hashes of other implementations, as recorded in `vectors.tsv`.

use sluice_basic_auth::Hash;

fn vectors() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("vectors.tsv")
        .lines()
        .filter(|line| !line.starts_with("# "))
        .map(|line| line.split_once('\t').unwrap())
}

#[test]
fn recorded_hashes_match_their_password_and_no_other() {
    for (password, hash) in vectors() {
        let parsed = Hash::parse(hash).unwrap_or_else(|error| panic!("{hash}: {error:?}"));
        assert!(parsed.matches(password.as_bytes()), "{password:?} {hash}");
        let mut other = password.as_bytes().to_vec();
        match other.first_mut() {
            Some(first) => *first ^= 1,
            None => other.push(b'x'),
        }
        assert!(!parsed.matches(&other), "{password:?} {hash}");
    }
}

#[test]
fn every_algorithm_is_recorded() {
    for prefix in ["$1$", "$5$", "$6$", "$6$rounds=", "$apr1$"] {
        let count = vectors()
            .filter(|(_, hash)| hash.starts_with(prefix))
            .count();
        assert!(count >= 5, "{prefix}: {count}");
    }
    assert!(vectors().filter(|(_, hash)| hash.len() == 13).count() >= 15);
}
