//! The code that lists all balancers, generated from one line for each.

/// Generates [`Algorithm`](super::Algorithm), the names of the algorithms, and
/// [`AnyBalancer`](super::AnyBalancer), one of them with its state: an enum, so that a pick is a jump and no call
/// through a table of functions.
macro_rules! balancers {
    ($($module:ident::$balancer:ident,)+) => {
        $(pub use $module::$balancer;)+

        /// A balancing algorithm, without its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Algorithm {
            $(
                #[doc = concat!("See [`", stringify!($balancer), "`].")]
                $balancer,
            )+
        }

        impl Algorithm {
            /// All algorithms.
            pub const ALL: &[Algorithm] = &[$(Algorithm::$balancer),+];

            /// See [`Balancer::NAME`].
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Algorithm::$balancer => <$balancer as Balancer>::NAME,)+
                }
            }

            /// See [`Balancer::NEEDS`].
            #[must_use]
            pub const fn needs(self) -> Needs {
                match self {
                    $(Algorithm::$balancer => <$balancer as Balancer>::NEEDS,)+
                }
            }

            /// See [`Balancer::observe`].
            pub fn observe(self, endpoint: &mut EndpointState, response: Response, now: Timestamp) {
                match self {
                    $(Algorithm::$balancer => <$balancer as Balancer>::observe(endpoint, response, now),)+
                }
            }
        }

        /// The balancer of one backend.
        #[derive(Debug)]
        pub enum AnyBalancer {
            $(
                #[doc = concat!("A [`", stringify!($balancer), "`].")]
                $balancer($balancer),
            )+
        }

        impl AnyBalancer {
            /// See [`Balancer::new`].
            pub fn new(algorithm: Algorithm, setup: &Setup<'_>, rng: &mut impl Rng) -> Self {
                match algorithm {
                    $(Algorithm::$balancer => AnyBalancer::$balancer(Balancer::new(setup, rng)),)+
                }
            }

            /// See [`Balancer::pick`]; with the failover order.
            pub fn pick(&mut self, context: &PickContext<'_>, rng: &mut impl Rng) -> Candidates {
                debug_assert!(
                    !context.eligible.ready().is_empty(),
                    "a backend without endpoints answers 503 before the pick"
                );
                let mut candidates = match self {
                    $(AnyBalancer::$balancer(balancer) => balancer.pick(context, rng),)+
                };
                candidates.complete(context);
                candidates
            }
        }
    };
}

pub(super) use balancers;
