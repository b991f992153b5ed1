//! What each location asks for, and who is known.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use sluice_basic_auth::Users;
use sluice_fair::Key;
use sluice_ir::{
    Access, Config, Guard, HeaderName, Location, Question, SecretId, Sensitive, Server, changed,
};

/// What is asked of clients of a location.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub(super) guard: Guard,
    pub(super) access: Access,
    /// What only an authentication service may say to pods.
    pub(super) auth_headers: Vec<HeaderName>,
    /// Of its question: whoever asks something else gets another answer.
    pub(super) question: Key,
}

/// Users of a Secret.
#[derive(Debug)]
struct Known {
    text: Sensitive,
    users: Users,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    locations: HashMap<String, Watched>,
    users: HashMap<SecretId, Arc<Known>>,
    /// Something in it is only for those who have not heard yet.
    pub(super) lingers: bool,
}

impl Table {
    /// What did not change is taken from `last`.
    pub(super) fn of(now: &Config, before: Option<&Config>, last: &Table) -> Self {
        let mut table = Table::default();
        let mut of_now = (0, 0);
        // Where both say something, what is said now holds.
        for config in [now].into_iter().chain(before) {
            for (id, text) in &config.users {
                let same = last.users.get(id).filter(|known| known.text == *text);
                let known = || same.cloned().unwrap_or_else(|| Arc::new(Known::of(text)));
                table.users.entry(id.clone()).or_insert_with(known);
            }
            let locations = config.servers.values().flat_map(|server| &server.locations);
            for (id, watched) in locations.filter_map(watched) {
                table.locations.entry(id).or_insert(watched);
            }
            if std::ptr::eq(config, now) {
                of_now = (table.locations.len(), table.users.len());
            }
        }
        table.lingers = of_now != (table.locations.len(), table.users.len());
        table
    }

    /// Whether nothing that a table is made from has changed.
    pub(super) fn is_unmoved(before: &Config, now: &Config) -> bool {
        let watches =
            |server: &Arc<Server>| server.locations.iter().any(|location| location.policy.guard.is_some());
        let mut servers =
            changed(&before.servers, &now.servers).flat_map(|server| [server.before, server.now]).flatten();
        before.users == now.users && !servers.any(watches)
    }

    pub(super) fn location(&self, id: &str) -> Option<&Watched> {
        self.locations.get(id)
    }

    pub(super) fn users(&self, id: &SecretId) -> Option<&Users> {
        self.users.get(id).map(|known| &known.users)
    }
}

impl Known {
    fn of(text: &Sensitive) -> Self {
        Known { text: text.clone(), users: Users::parse(text.reveal()) }
    }
}

fn watched(location: &Location) -> Option<(String, Watched)> {
    let policy = &location.policy;
    let guard = policy.guard.clone()?;
    let question = guard.question.as_ref().map(digest).unwrap_or_default();
    let (access, auth_headers) = (policy.access.clone(), policy.auth_headers.clone());
    Some((location.id.as_str().to_owned(), Watched { guard, access, auth_headers, question }))
}

/// A hash of its text is as different as two questions are. Where the service is now does not count: what it said holds when it
/// is gone, too.
fn digest(question: &Question) -> Key {
    let question = Question { backend: None, ..question.clone() };
    Sha256::digest(format!("{question:?}")).into()
}
