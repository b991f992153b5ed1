//! Browsers that misread `SameSite=None` (as ingress-nginx's `util/same_site.lua`, after Chromium's list).

/// True if the client reads `SameSite=None` correctly, or sends no `User-Agent`.
#[must_use]
pub fn none_is_understood(user_agent: &[u8]) -> bool {
    let has = |word: &str| {
        user_agent
            .windows(word.len())
            .any(|window| window == word.as_bytes())
    };
    let old_chrome = ["Chrome/4", "Chrome/5", "Chrome/6"].into_iter().any(has);
    let old_ios = has("CPU iPhone OS 12") || has("iPad; CPU OS 12");
    let mojave_safari =
        has("Macintosh") && has("Intel Mac OS X 10_14") && has("Safari") && !has("Chrome");
    !(old_chrome || old_ios || mojave_safari)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browsers_of_the_list_do_not_understand_it() {
        for old in [
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/51.0 Safari/537.36",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/66.0.1 Safari/537.36",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 12_0 like Mac OS X) AppleWebKit/602.1.50",
            "Mozilla/5.0 (iPad; CPU OS 12_0 like Mac OS X) AppleWebKit/605.1.15",
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/605.1.15 Version/12.1.2 Safari/605.1.15",
        ] {
            assert!(!none_is_understood(old.as_bytes()), "{old}");
        }
        for new in [
            "",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/71.0 Safari/537.36",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 13_0 like Mac OS X) AppleWebKit/602.1.50",
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/537.36 Chrome/79.0.3945.117 Safari/537.36",
        ] {
            assert!(none_is_understood(new.as_bytes()), "{new}");
        }
    }
}
