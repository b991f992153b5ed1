//! Profiles in the format of pprof, with the fields of [profile.proto] that a CPU profile has.
//!
//! pprof-rs would write it with a prost of its own, two versions older than everybody else's.
//!
//! [profile.proto]: https://github.com/google/pprof/blob/main/proto/profile.proto

use std::collections::HashMap;
use std::time::SystemTime;

use pprof::{Report, Symbol};
use prost::Message;

/// Texts are indices of `string_table`; times are nanoseconds.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub(super) string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

/// A stack, innermost function first. `value` has an entry for each of [`Profile::sample_type`].
#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    str: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// One location per function; the time of a sample is its count times the sampling period.
pub(super) fn from_report(report: &Report) -> Profile {
    let mut strings = Strings::default();
    let count = strings.value_type("samples", "count");
    let time = strings.value_type("cpu", "nanoseconds");
    let period = 1_000_000_000 / i64::from(report.timing.frequency.max(1));
    let mut functions = Functions::default();
    let mut samples = Vec::new();
    for (stack, &count) in &report.data {
        let symbols = stack.frames.iter().flatten();
        let location_id = symbols.map(|symbol| functions.id(symbol, &mut strings));
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        samples.push(Sample {
            location_id: location_id.collect(),
            value: vec![count, count.saturating_mul(period)],
            label: vec![Label {
                key: strings.index("thread"),
                str: strings.index(&stack.thread_name_or_id()),
            }],
        });
    }
    let since_epoch = report
        .timing
        .start_time
        .duration_since(SystemTime::UNIX_EPOCH);
    let nanos = |nanos: u128| i64::try_from(nanos).unwrap_or(i64::MAX);
    Profile {
        sample_type: vec![count, time],
        sample: samples,
        location: functions.locations,
        function: functions.functions,
        string_table: strings.table,
        time_nanos: nanos(since_epoch.unwrap_or_default().as_nanos()),
        duration_nanos: nanos(report.timing.duration.as_nanos()),
        period_type: Some(time),
        period,
    }
}

/// Functions by name. A function and its location have the same id, which is not 0.
#[derive(Default)]
struct Functions {
    ids: HashMap<String, u64>,
    functions: Vec<Function>,
    locations: Vec<Location>,
}

impl Functions {
    fn id(&mut self, symbol: &Symbol, strings: &mut Strings) -> u64 {
        let name = symbol.name();
        if let Some(id) = self.ids.get(&name) {
            return *id;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.push(Function {
            id,
            name: strings.index(&name),
            system_name: strings.index(&symbol.sys_name()),
            filename: strings.index(&symbol.filename()),
        });
        self.locations.push(Location {
            id,
            line: vec![Line {
                function_id: id,
                line: i64::from(symbol.lineno()),
            }],
        });
        self.ids.insert(name, id);
        id
    }
}

/// The string table, whose first entry has to be empty.
struct Strings {
    table: Vec<String>,
    indices: HashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        Strings {
            table: vec![String::new()],
            indices: HashMap::from([(String::new(), 0)]),
        }
    }
}

impl Strings {
    fn index(&mut self, text: &str) -> i64 {
        if let Some(index) = self.indices.get(text) {
            return *index;
        }
        let index = self.table.len() as i64;
        self.table.push(text.to_owned());
        self.indices.insert(text.to_owned(), index);
        index
    }

    fn value_type(&mut self, name: &str, unit: &str) -> ValueType {
        ValueType {
            r#type: self.index(name),
            unit: self.index(unit),
        }
    }
}
