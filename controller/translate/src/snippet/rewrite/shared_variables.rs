//! Variables of a snippet that others may see: nginx has one set of them for a request, which a server sets before its locations do.

use std::collections::BTreeSet;

/// Variables of a snippet, by their names in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SharedVariables {
    /// Those that it sets, on whatever way.
    pub(crate) set: BTreeSet<String>,
    /// Those that it reads where it has not set them. They are empty as long as nobody else has.
    pub(crate) read_unset: BTreeSet<String>,
}

impl SharedVariables {
    /// A variable that a snippet which runs before sets, and this one takes to be empty.
    pub(crate) fn set_before<'a>(&'a self, earlier: &'a BTreeSet<String>) -> Option<&'a str> {
        let mut both = self.read_unset.intersection(earlier);
        both.next().map(String::as_str)
    }
}
