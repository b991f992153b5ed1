//! The ring of consistent hashing, bit for bit as lua-resty-balancer's `chash` (Karger et al. 1997, ketama).
//!
//! A node has 160 points for each unit of weight: `point[0] = crc32(node, 0u32)`, `point[i] = crc32(node, point[i-1])`,
//! numbers in little-endian bytes. A key belongs to the first point at or behind `crc32(key)`, around the end.

use crc32fast::Hasher;

/// Points of a node of weight one.
const POINTS: u32 = 160;
/// Points of a node on average, at most: more do not make a ring fairer, only larger. What pods write does not decide how
/// much memory they take.
const MEAN: u64 = 4 * POINTS as u64;

/// Points in an arc, on average: one or two cache lines.
const ARC: usize = 4;

/// Points of nodes, sorted by hash.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ring {
    points: Vec<(u32, Point)>,
    /// The first point of each arc; the arcs are equal parts of all hashes. At the end, how many points there are.
    arcs: Vec<u32>,
}

/// One point of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    node: u32,
    rank: u16,
}

/// The hash of a key.
#[must_use]
pub fn hash(key: &[u8]) -> u32 {
    crc32fast::hash(key)
}

impl Point {
    /// The node it belongs to.
    #[must_use]
    pub fn node(self) -> usize {
        self.node as usize
    }

    /// True if the point is among the first `part` (0 to 1) of its node's points: a node in slow start has only those.
    #[must_use]
    pub fn is_within(self, part: f64) -> bool {
        f64::from(self.rank) < part * 65_536.0
    }
}

impl Ring {
    /// A ring of nodes by name, in the order of their numbers, with their weights.
    pub fn new<'a>(nodes: impl Iterator<Item = (&'a str, u32)> + Clone) -> Self {
        let unit = nodes
            .clone()
            .fold(0, |unit, (_, weight)| divisor(unit, weight))
            .max(1);
        let units = || nodes.clone().map(|(_, weight)| u64::from(weight / unit));
        let (count, total) = (units().count() as u64, units().sum::<u64>().max(1));
        let scale = |points: u64| {
            (points.saturating_mul(MEAN * count) / (total * u64::from(POINTS))).max(1)
        };
        let fits = total * u64::from(POINTS) <= MEAN * count;
        let mut ring: Vec<(u32, Point)> = Vec::new();
        for (node, ((name, _), units)) in (0..).zip(nodes.clone().zip(units())) {
            let points = units * u64::from(POINTS);
            let points = if fits { points } else { scale(points) };
            add(
                &mut ring,
                node,
                name,
                u32::try_from(points).unwrap_or(u32::MAX),
            );
        }
        ring.sort_unstable();
        Ring::from_sorted(ring)
    }

    /// A ring of points that are sorted by hash.
    fn from_sorted(points: Vec<(u32, Point)>) -> Self {
        let count = points.len().div_ceil(ARC);
        let mut arcs = Vec::with_capacity(count + 1);
        for (index, (hash, _)) in (0..).zip(&points) {
            // An arc without points begins where the next one does.
            arcs.resize(arc(*hash, count) + 1, index);
        }
        let end = u32::try_from(points.len()).unwrap_or(u32::MAX);
        arcs.resize(count + 1, end);
        Ring { points, arcs }
    }

    /// True if there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The points from a key's on, once around.
    pub fn walk(&self, hash: u32) -> impl Iterator<Item = Point> + '_ {
        let start = self.first(hash);
        let (before, behind) = self.points.split_at_checked(start).unwrap_or_default();
        behind.iter().chain(before).map(|(_, point)| *point)
    }

    /// The first point at or behind a hash. A search over all points would touch two dozen cache lines.
    fn first(&self, hash: u32) -> usize {
        let arc = arc(hash, self.points.len().div_ceil(ARC));
        let begin = |arc: usize| self.arcs.get(arc).map_or(0, |&begin| begin as usize);
        let (low, high) = (begin(arc), begin(arc + 1));
        let points = self.points.get(low..high).unwrap_or_default();
        low + points.partition_point(|&(point, _)| point < hash)
    }

    /// The node of a key's point.
    #[must_use]
    pub fn node(&self, key: &[u8]) -> Option<usize> {
        self.walk(hash(key)).next().map(Point::node)
    }
}

/// The arc of a hash, of so many.
fn arc(hash: u32, count: usize) -> usize {
    usize::try_from((u64::from(hash) * count as u64) >> 32).unwrap_or(0)
}

/// The greatest that divides both.
fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

fn add(ring: &mut Vec<(u32, Point)>, node: u32, name: &str, points: u32) {
    let base = crc32fast::hash(name.as_bytes());
    let mut previous = 0u32;
    ring.reserve(points as usize);
    for n in 0..points {
        let mut hasher = Hasher::new_with_initial(base);
        hasher.update(&previous.to_le_bytes());
        previous = hasher.finalize();
        let rank = u16::try_from(u64::from(n) * 65_536 / u64::from(points)).unwrap_or(u16::MAX);
        ring.push((previous, Point { node, rank }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: [&str; 5] = [
        "10.0.0.1:8080",
        "10.0.0.2:8080",
        "10.0.0.3:8080",
        "10.0.0.4:8080",
        "10.0.0.5:8080",
    ];

    fn ring(nodes: &[&str]) -> Ring {
        Ring::new(nodes.iter().map(|node| (*node, 1)))
    }

    #[test]
    fn a_search_in_an_arc_finds_what_one_over_all_points_finds() {
        let even = (1..40).map(|nodes| {
            let names: Vec<String> = (0..nodes).map(|node| format!("10.0.0.{node}:80")).collect();
            Ring::new(names.iter().map(|name| (name.as_str(), 1)))
        });
        let uneven = [
            vec![],
            vec![0],
            vec![u32::MAX; 100],
            (0..1000).collect(),
            (u32::MAX - 1000..=u32::MAX).collect(),
            [vec![7; 500], vec![u32::MAX - 7; 500]].concat(),
        ];
        let nowhere = Point { node: 0, rank: 0 };
        let uneven = uneven.map(|hashes| {
            let points = hashes.into_iter().map(|hash| (hash, nowhere));
            Ring::from_sorted(points.collect())
        });
        for ring in even.chain(uneven) {
            let around = |point: &u32| [point.saturating_sub(1), *point, point.saturating_add(1)];
            let asked = ring.points.iter().flat_map(|(hash, _)| around(hash));
            for hash in asked.chain([0, 1 << 31, u32::MAX]) {
                let all = ring.points.partition_point(|&(point, _)| point < hash);
                assert_eq!(ring.first(hash), all, "{hash} of {}", ring.points.len());
            }
        }
    }

    /// Measured by running ingress-nginx 1.15.1's balancer (lua-resty-balancer 0.05).
    #[test]
    fn keys_fall_where_ingress_nginx_puts_them() {
        let five = ring(&FIVE);
        for (key, node) in [
            ("/", 4),
            ("/index.html", 0),
            ("/alma/armud", 4),
            ("user-3", 3),
            ("b", 1),
            ("1795220785.932.10656.753158", 4),
            ("", 0),
            ("été", 0),
        ] {
            assert_eq!(five.node(key.as_bytes()), Some(node), "{key}");
        }
        let two = ring(&["10.184.7.40:8080", "10.184.7.41:8080"]);
        assert_eq!(two.node(b"/index.html"), Some(0));
        assert_eq!(two.node(b"user-1"), Some(1));
    }

    /// From the same measurement.
    #[test]
    fn ten_thousand_keys_are_distributed_as_by_ingress_nginx() {
        let ring = ring(&FIVE);
        let mut counts = [0; 5];
        for n in 1..=10_000 {
            counts[ring.node(format!("k{n}").as_bytes()).unwrap()] += 1;
        }
        assert_eq!(counts, [1951, 2044, 2142, 2019, 1844]);
    }

    #[test]
    fn a_walk_visits_every_point_once_and_wraps_around() {
        let ring = ring(&FIVE);
        let mut seen = [0; 5];
        for point in ring.walk(u32::MAX) {
            seen[point.node()] += 1;
        }
        assert_eq!(seen, [160; 5]);
        assert_eq!(Ring::default().node(b"x"), None);
    }

    #[test]
    fn weights_are_points_and_huge_weights_do_not_make_huge_rings() {
        let of = |weights: [u32; 2]| Ring::new(["a", "b"].into_iter().zip(weights)).points.len();
        assert_eq!(of([1, 3]), 640);
        assert_eq!(of([100, 300]), 640, "what counts is how they compare");
        assert_eq!(of([1000, 999]), 1279);
        assert_eq!(of([u32::MAX, 1]), 1280);
    }

    #[test]
    fn half_of_a_node_is_half_of_its_points() {
        let within = ring(&FIVE)
            .points
            .iter()
            .filter(|(_, point)| point.is_within(0.5))
            .count();
        assert_eq!(within, 5 * 80);
    }
}
