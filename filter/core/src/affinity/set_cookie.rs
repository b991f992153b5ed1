//! Writing the cookie that begins a session.

use sluice_filter_config::SameSite;

use crate::Timestamp;

/// The cookie of an affinity, without its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CookieTemplate {
    /// Its name.
    pub name: String,
    /// `Expires`, in seconds from now.
    pub expires: Option<i64>,
    /// `Max-Age`, in seconds.
    pub max_age: Option<i64>,
    /// `Path`, instead of the route's.
    pub path: Option<String>,
    /// `Domain`.
    pub domain: Option<String>,
    /// `Secure`; by the connection when not said.
    pub secure: Option<bool>,
    /// `SameSite`.
    pub same_site: Option<SameSite>,
    /// `SameSite=None` depends on the client.
    pub conditional_same_site_none: bool,
}

/// Values that one response adds to the template.
#[derive(Clone, Copy, Debug)]
pub struct CookieContext<'a> {
    /// The upstream key.
    pub upstream_key: &'a [u8],
    /// The backend key.
    pub backend_key: &'a [u8],
    /// The route's path.
    pub route_path: &'a str,
    /// True if the client's connection is TLS.
    pub https: bool,
    /// True if the client reads `SameSite=None` correctly.
    pub none_is_understood: bool,
    /// Now.
    pub now: Timestamp,
}

impl CookieTemplate {
    /// The value of `Set-Cookie`, attributes in the order of ingress-nginx: Expires, Max-Age, Domain, Path, Secure,
    /// HttpOnly, SameSite.
    #[must_use]
    pub fn render(&self, of: &CookieContext<'_>) -> String {
        let keys = (
            String::from_utf8_lossy(of.upstream_key),
            String::from_utf8_lossy(of.backend_key),
        );
        let mut cookie = format!("{}={}|{}", self.name, keys.0, keys.1);
        let mut attribute = |name: &str, value: &str| {
            cookie.push_str("; ");
            cookie.push_str(name);
            cookie.push_str(value);
        };
        if let Some(seconds) = self.expires {
            attribute("Expires=", &cookie_time(of.now.seconds(), seconds));
        }
        if let Some(seconds) = self.max_age {
            attribute("Max-Age=", &seconds.to_string());
        }
        if let Some(domain) = &self.domain {
            attribute("Domain=", domain);
        }
        attribute("Path=", self.path.as_deref().unwrap_or(of.route_path));
        if self.secure.unwrap_or(of.https) {
            attribute("Secure", "");
        }
        attribute("HttpOnly", "");
        match self.same_site {
            Some(SameSite::None) if self.conditional_same_site_none && !of.none_is_understood => {}
            Some(SameSite::None) => attribute("SameSite=", "None"),
            Some(SameSite::Lax) => attribute("SameSite=", "Lax"),
            Some(SameSite::Strict) => attribute("SameSite=", "Strict"),
            None => {}
        }
        cookie
    }
}

/// nginx's `ngx_http_cookie_time`: `Thu, 01-Jan-70 00:00:00 GMT`, with four digits for years from 2038 on.
#[must_use]
pub fn cookie_time(now: u64, plus: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    // The last second of the year 9999: a longer life has no four digits.
    let time = now.saturating_add_signed(plus).min(253_402_300_799);
    let (days, seconds) = (time / 86_400, time % 86_400);
    let (year, month, day) = civil(days);
    let name =
        |of: &[&'static str], n: u64| usize::try_from(n).ok().and_then(|n| of.get(n).copied());
    let weekday = name(&DAYS, days % 7).unwrap_or_default();
    let month = name(&MONTHS, month - 1).unwrap_or_default();
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let year = if year > 2037 {
        year.to_string()
    } else {
        format!("{:02}", year % 100)
    };
    format!("{weekday}, {day:02}-{month}-{year} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Year, month (1 to 12) and day of the days since 1970 (Hinnant, `civil_from_days`, for days that are not negative).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(https: bool, none_is_understood: bool) -> CookieContext<'static> {
        CookieContext {
            upstream_key: b"k",
            backend_key: b"b",
            route_path: "/shop",
            https,
            none_is_understood,
            now: Timestamp::from_nanos(1_700_000_000_000_000_000),
        }
    }

    fn named() -> CookieTemplate {
        CookieTemplate {
            name: "route".into(),
            ..CookieTemplate::default()
        }
    }

    #[test]
    fn attributes_come_in_the_order_of_ingress_nginx() {
        let template = CookieTemplate {
            expires: Some(172_800),
            max_age: Some(3600),
            domain: Some("foo.com".into()),
            path: Some("/foo".into()),
            secure: Some(true),
            same_site: Some(SameSite::Strict),
            ..named()
        };
        assert_eq!(
            template.render(&of(false, true)),
            "route=k|b; Expires=Thu, 16-Nov-23 22:13:20 GMT; Max-Age=3600; Domain=foo.com; Path=/foo; Secure; \
             HttpOnly; SameSite=Strict"
        );
    }

    #[test]
    fn the_path_is_the_route_and_secure_is_the_connections_unless_said() {
        assert_eq!(
            named().render(&of(false, true)),
            "route=k|b; Path=/shop; HttpOnly"
        );
        assert_eq!(
            named().render(&of(true, true)),
            "route=k|b; Path=/shop; Secure; HttpOnly"
        );
        let never = CookieTemplate {
            secure: Some(false),
            ..named()
        };
        assert_eq!(
            never.render(&of(true, true)),
            "route=k|b; Path=/shop; HttpOnly"
        );
    }

    #[test]
    fn same_site_none_depends_on_the_client_only_when_told_to() {
        let none = CookieTemplate {
            same_site: Some(SameSite::None),
            ..named()
        };
        let conditional = CookieTemplate {
            conditional_same_site_none: true,
            ..none.clone()
        };
        let lax = CookieTemplate {
            same_site: Some(SameSite::Lax),
            ..conditional.clone()
        };
        assert!(none.render(&of(false, false)).ends_with("SameSite=None"));
        assert!(
            conditional
                .render(&of(false, true))
                .ends_with("SameSite=None")
        );
        assert!(conditional.render(&of(false, false)).ends_with("HttpOnly"));
        assert!(lax.render(&of(false, false)).ends_with("SameSite=Lax"));
    }

    #[test]
    fn times_are_nginxs_cookie_times() {
        for (now, plus, expected) in [
            (0, 0, "Thu, 01-Jan-70 00:00:00 GMT"),
            (951_782_400, 0, "Tue, 29-Feb-00 00:00:00 GMT"),
            (2_145_916_799, 1, "Fri, 01-Jan-2038 00:00:00 GMT"),
            (1_700_000_000, -1_700_000_001, "Thu, 01-Jan-70 00:00:00 GMT"),
            (1_700_000_000, i64::MAX, "Fri, 31-Dec-9999 23:59:59 GMT"),
        ] {
            assert_eq!(cookie_time(now, plus), expected);
        }
    }
}
