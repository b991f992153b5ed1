//! Buckets of histograms. A histogram whose buckets are not in order panics when it counts, so they are checked on the command
//! line.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Buckets of all histograms of requests.
#[derive(Clone, Debug)]
pub struct HistogramBuckets {
    /// Of durations, in seconds.
    pub times: Buckets,
    /// Of the lengths of requests and responses, in bytes.
    pub lengths: Buckets,
    /// Of `bytes_sent`.
    pub sizes: Buckets,
}

/// Upper bounds of buckets: at least one, finite, none below 0, each above the one before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets(Vec<f64>);

/// As they are written. A repeated flag adds to its list.
#[derive(Args)]
struct Lists {
    /// Buckets of durations, in seconds.
    #[arg(
        long,
        value_name = "SECONDS,...",
        value_delimiter = ',',
        value_parser = bound,
        default_value = "0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10"
    )]
    time_buckets: Vec<f64>,
    /// Buckets of the lengths of requests and responses, in bytes.
    #[arg(
        long,
        value_name = "BYTES,...",
        value_delimiter = ',',
        value_parser = bound,
        default_value = "10,20,30,40,50,60,70,80,90,100"
    )]
    length_buckets: Vec<f64>,
    /// Buckets of nginx_ingress_controller_bytes_sent.
    #[arg(
        long,
        value_name = "BYTES,...",
        value_delimiter = ',',
        value_parser = bound,
        default_value = "10,100,1000,10000,100000,1000000,10000000"
    )]
    size_buckets: Vec<f64>,
}

fn bound(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0);
    number.ok_or_else(|| "expected a number that is not below 0".to_owned())
}

impl Buckets {
    /// Prometheus adds `+Inf` itself; it may be written, as in ingress-nginx.
    fn new(mut bounds: Vec<f64>) -> Result<Self, String> {
        if bounds.last().is_some_and(|last| last.is_infinite()) {
            bounds.pop();
        }
        let is_finite = bounds.iter().all(|bound| bound.is_finite());
        if bounds.is_empty() || !is_finite || !bounds.is_sorted_by(|a, b| a < b) {
            let got: Vec<String> = bounds.iter().map(ToString::to_string).collect();
            return Err(format!(
                "expected increasing numbers, got {:?}",
                got.join(",")
            ));
        }
        Ok(Buckets(bounds))
    }

    pub(crate) fn bounds(&self) -> &[f64] {
        &self.0
    }
}

impl TryFrom<Lists> for HistogramBuckets {
    type Error = Error;

    fn try_from(lists: Lists) -> Result<Self, Error> {
        let checked = |flag: &str, bounds| {
            Buckets::new(bounds).map_err(|reason| {
                Error::raw(ErrorKind::ValueValidation, format!("--{flag}: {reason}"))
            })
        };
        Ok(HistogramBuckets {
            times: checked("time-buckets", lists.time_buckets)?,
            lengths: checked("length-buckets", lists.length_buckets)?,
            sizes: checked("size-buckets", lists.size_buckets)?,
        })
    }
}

impl FromArgMatches for HistogramBuckets {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Lists::from_arg_matches(matches)?.try_into()
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        Lists::from_arg_matches_mut(matches)?.try_into()
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = HistogramBuckets::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for HistogramBuckets {
    fn augment_args(command: Command) -> Command {
        Lists::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Lists::augment_args_for_update(command)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use prometheus::{HistogramOpts, HistogramVec};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        buckets: HistogramBuckets,
    }

    fn parse(words: &[String]) -> Result<HistogramBuckets, Error> {
        let words = ["sluice".to_owned()]
            .into_iter()
            .chain(words.iter().cloned());
        Line::try_parse_from(words).map(|line| line.buckets)
    }

    const FLAGS: [&str; 3] = ["time-buckets", "length-buckets", "size-buckets"];

    #[test]
    fn buckets_that_are_taken_are_taken_by_the_histogram() {
        for list in ["0,1,2.5", "1", "1,2,+Inf", "0.5,1e3"] {
            for flag in FLAGS {
                let buckets = parse(&[format!("--{flag}={list}")]).unwrap();
                for buckets in [&buckets.times, &buckets.lengths, &buckets.sizes] {
                    let opts = HistogramOpts::new("a", "b").buckets(buckets.bounds().to_vec());
                    let family = HistogramVec::new(opts, &["c"]).unwrap();
                    family.get_metric_with_label_values(&["d"]).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_repeated_flag_adds_to_its_list() {
        for flag in FLAGS {
            let twice =
                |one: &str, two: &str| parse(&[one, two].map(|it| format!("--{flag}={it}")));
            assert!(twice("1", "2,3").is_ok());
            assert!(twice("2", "1").is_err());
        }
        let buckets = parse(&["--time-buckets=1".to_owned(), "--time-buckets=2".to_owned()]);
        assert_eq!(buckets.unwrap().times.bounds(), [1.0, 2.0]);
    }

    #[test]
    fn others_are_refused_by_the_name_of_their_flag() {
        for list in [
            "3,2,1",
            "1,1",
            "nan",
            "1,nan",
            "-1,0",
            "inf",
            "inf,1",
            "1,inf,inf",
            "",
            "1,,2",
            "x",
        ] {
            for flag in FLAGS {
                let error = parse(&[format!("--{flag}={list}")]).err().unwrap();
                assert_eq!(error.exit_code(), 2);
                let error = error.to_string();
                assert!(
                    error.contains(flag) && error.contains("expected"),
                    "{list}: {error}"
                );
            }
        }
        let error = parse(&["--time-buckets=3,2,1".to_owned()]).err().unwrap();
        let text = "error: --time-buckets: expected increasing numbers, got \"3,2,1\"\n";
        assert!(error.to_string().starts_with(text), "{error}");
    }
}
