//! The live picture: a bar for each pod, redrawn in place on a terminal, a plain line now and then elsewhere.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sluice_tests::tally::Tally;

const BAR: usize = 32;
/// The rates are those of the last second.
const WINDOW: Duration = Duration::from_secs(1);
const PLAIN_PERIOD: Duration = Duration::from_secs(1);
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const COLOURS: [u8; 6] = [36, 35, 33, 32, 34, 31];

/// The content of the terminal.
pub(crate) struct Screen {
    title: String,
    pods: Vec<(String, SocketAddr)>,
    history: VecDeque<(Instant, Tally)>,
    events: Vec<String>,
    note: Vec<String>,
    started: Instant,
    terminal: bool,
    colour: bool,
    /// Lines of the last picture, to be drawn over.
    height: usize,
    /// When the last plain line was written, and how many events had been by then.
    plain: (Option<Instant>, usize),
}

impl Screen {
    pub(crate) fn new(title: &str) -> Screen {
        let terminal = io::stdout().is_terminal();
        Screen {
            title: title.to_owned(),
            pods: Vec::new(),
            history: VecDeque::new(),
            events: Vec::new(),
            note: Vec::new(),
            started: Instant::now(),
            terminal,
            colour: terminal && std::env::var_os("NO_COLOR").is_none(),
            height: 0,
            plain: (None, 0),
        }
    }

    pub(crate) fn pod(&mut self, name: &str, addr: SocketAddr) {
        self.pods.push((name.to_owned(), addr));
    }

    /// Adds a line to what has happened.
    pub(crate) fn event(&mut self, text: &str) {
        let tick = self.paint(32, "✓");
        self.events.push(format!(
            "{tick} {:>5.1} s  {text}",
            self.started.elapsed().as_secs_f64()
        ));
    }

    /// Sets the lines at the bottom.
    pub(crate) fn note(&mut self, lines: &[String]) {
        self.note = lines.to_vec();
    }

    /// Draws the picture; `last`: also when it is not time for a plain line.
    pub(crate) fn draw(&mut self, tally: &Tally, last: bool) {
        self.remember(tally);
        let text = if self.terminal {
            self.picture(tally)
        } else {
            self.plain(tally, last)
        };
        let mut stdout = io::stdout();
        // There is nobody to show it to when stdout is gone.
        let _ = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
    }

    fn remember(&mut self, tally: &Tally) {
        let now = Instant::now();
        while self.history.len() > 1
            && self
                .history
                .get(1)
                .is_some_and(|(then, _)| now - *then >= WINDOW)
        {
            self.history.pop_front();
        }
        self.history.push_back((now, tally.clone()));
    }

    /// Requests per second of a pod in the window.
    fn rate(&self, pod: &str, tally: &Tally) -> f64 {
        let Some((then, before)) = self.history.front() else {
            return 0.0;
        };
        let seconds = then.elapsed().as_secs_f64();
        let answered = tally.pod(pod) - before.pod(pod);
        if seconds < 0.05 {
            0.0
        } else {
            answered as f64 / seconds
        }
    }

    fn picture(&mut self, tally: &Tally) -> String {
        let mut lines = vec![
            String::new(),
            format!("  {}  {}", self.paint(1, "Sluice"), self.title),
            String::new(),
        ];
        let rates: Vec<f64> = self
            .pods
            .iter()
            .map(|(name, _)| self.rate(name, tally))
            .collect();
        let top = rates.iter().copied().fold(1.0, f64::max);
        for (n, ((name, addr), rate)) in self.pods.iter().zip(&rates).enumerate() {
            let bar = self.paint(COLOURS[n % COLOURS.len()], &bar(rate / top));
            let count = number(tally.pod(name));
            lines.push(format!(
                "  {name:<9} {:<16} {bar} {rate:>4.0}/s {count:>9}",
                addr.to_string()
            ));
        }
        lines.extend([
            String::new(),
            format!("  {}", self.totals(tally)),
            String::new(),
        ]);
        lines.extend(self.events.iter().map(|event| format!("  {event}")));
        if !self.note.is_empty() {
            lines.push(String::new());
            lines.extend(self.note.iter().map(|line| format!("  {line}")));
        }
        let up = if self.height > 0 {
            format!("\x1b[{}A", self.height)
        } else {
            String::new()
        };
        self.height = lines.len();
        let lines: String = lines
            .iter()
            .map(|line| format!("\r\x1b[2K{line}\n"))
            .collect();
        // Without wrapping, or the picture would be higher than its lines in a narrow terminal.
        format!("\x1b[?7l{up}{lines}\x1b[?7h")
    }

    /// New events at once, the counts once a second.
    fn plain(&mut self, tally: &Tally, last: bool) -> String {
        let mut text = String::new();
        if self.plain.0.is_none() {
            text.push_str(&format!("Sluice  {}\n", self.title));
        }
        let (said, told) = self.plain;
        let due = said.is_none_or(|said| said.elapsed() >= PLAIN_PERIOD);
        for event in &self.events[told..] {
            text.push_str(&format!("{event}\n"));
        }
        if due || last {
            let counts = self
                .pods
                .iter()
                .map(|(name, _)| format!("{name} {}", tally.pod(name)));
            text.push_str(&format!(
                "{}   {}\n",
                counts.collect::<Vec<_>>().join("  "),
                self.totals(tally)
            ));
            self.plain.0 = Some(Instant::now());
        }
        self.plain.1 = self.events.len();
        text.extend(self.note.drain(..).map(|line| format!("{line}\n")));
        text
    }

    fn totals(&self, tally: &Tally) -> String {
        let millis = |share| tally.latencies.quantile(share).as_secs_f64() * 1e3;
        let (failed, colour) = (tally.failed(), if tally.failed() == 0 { 32 } else { 31 });
        format!(
            "{} requests   {}   p50 {:.1} ms   p99 {:.1} ms",
            number(tally.total()),
            self.paint(colour, &format!("{} failed", number(failed))),
            millis(0.5),
            millis(0.99),
        )
    }

    fn paint(&self, colour: u8, text: &str) -> String {
        if self.colour {
            format!("\x1b[{colour}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// A bar of this share (0 to 1) of the full length, padded to that.
fn bar(share: f64) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (BAR * 8) as f64).round() as usize;
    let text = format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]);
    format!("{text:<BAR$}")
}

/// 12345 as `12,345`.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_one_width_and_numbers_have_commas() {
        assert!(
            [0.0, 0.01, 0.5, 0.999, 1.0, 7.0]
                .iter()
                .all(|share| bar(*share).chars().count() == BAR)
        );
        assert_eq!(
            [7, 999, 1000, 1_234_567].map(number),
            ["7", "999", "1,000", "1,234,567"]
        );
    }
}
