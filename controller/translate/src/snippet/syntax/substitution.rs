//! Values in place of variables and of groups (`$1` to `$9`): what follows a variable does not get into its name.

/// Number of a group, as nginx reads it behind a dollar: one digit.
pub(in crate::snippet) fn group_number(behind_dollar: &str) -> Option<usize> {
    let digit = behind_dollar.chars().next()?.to_digit(10)?;
    usize::try_from(digit).ok().filter(|digit| *digit > 0)
}

/// True if a text has a group: `$1`.
pub(in crate::snippet) fn has_group(text: &str) -> bool {
    let mut pieces = text.split('$').skip(1);
    pieces.any(|piece| group_number(piece).is_some())
}

/// A text in which values are put.
#[derive(Default)]
pub(in crate::snippet) struct Substitution {
    written: String,
    /// Beginning of the name of a variable that ends the text, and has no braces.
    open: Option<usize>,
}

impl Substitution {
    /// Appends a text, or a value.
    pub(in crate::snippet) fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(begin) = self.open.take().filter(|_| text.starts_with(is_of_names)) {
            self.written.insert(begin, '{');
            self.written.push('}');
        }
        self.written.push_str(text);
    }

    /// Appends a dollar and what is behind it: a variable that stays one, perhaps.
    pub(in crate::snippet) fn push_behind_dollar(&mut self, text: &str) {
        self.written.push('$');
        let begin = self.written.len();
        self.written.push_str(text);
        let is_name = !text.is_empty() && text.chars().all(is_of_names);
        let is_name = is_name && group_number(text).is_none();
        self.open = is_name.then_some(begin);
    }

    /// True if the text ends within the braces of a variable.
    pub(in crate::snippet) fn is_within_braces(&self) -> bool {
        let begin = self.written.rfind("${");
        let name = begin.and_then(|begin| self.written.get(begin..));
        name.is_some_and(|name| !name.contains('}'))
    }

    pub(in crate::snippet) fn finish(self) -> String {
        self.written
    }
}

fn is_of_names(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
