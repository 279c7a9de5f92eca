//! Placement: requests in, offsets out. No graph, no device.
//!
//! `Bump` gives every request its own bytes. `Packed` lets requests whose lives do not meet share bytes; lives are
//! counted in levels, so sharing creates no hazard inside a level. Several greedy orders are tried and the smallest
//! result is taken: which one wins depends on the graph, all are cheap.

use pumice_plan::{Placement, SLOT_ALIGNMENT};
use smallvec::SmallVec;

/// Bytes wanted from the first to the last level, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaRequest {
    /// How many.
    pub bytes: u64,
    /// First level that touches them.
    pub first: u32,
    /// Last level that touches them.
    pub last: u32,
}

/// Where everything lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaPlaces {
    /// One offset per request, a multiple of the slot alignment.
    pub offsets: Vec<u64>,
    /// End of the last byte used.
    pub size: u64,
}

/// Places the requests. No slot crosses a multiple of `chunk`; `guard` bytes stay free after every slot.
pub fn place(requests: &[ArenaRequest], policy: Placement, chunk: u64, guard: u64) -> ArenaPlaces {
    let sizes: Vec<u64> = requests.iter().map(|r| slot_size(r.bytes, guard)).collect();
    match policy {
        Placement::Bump => bump(&sizes, chunk),
        Placement::Packed => packed(requests, &sizes, chunk, lower_bound(requests, guard)),
    }
}

/// Largest sum of slot sizes alive in one level: no placement of these lives is smaller.
pub fn lower_bound(requests: &[ArenaRequest], guard: u64) -> u64 {
    let levels = requests.iter().map(|r| r.last as usize + 1).max().unwrap_or(0);
    let mut change = vec![0i128; levels + 1];
    for r in requests {
        let size = i128::from(slot_size(r.bytes, guard));
        change[r.first as usize] += size;
        change[r.last as usize + 1] -= size;
    }
    let alive = change.iter().scan(0i128, |sum, c| {
        *sum += c;
        Some(*sum)
    });
    alive.max().and_then(|m| u64::try_from(m).ok()).unwrap_or(0)
}

fn slot_size(bytes: u64, guard: u64) -> u64 {
    if bytes == 0 { 0 } else { (bytes + guard).next_multiple_of(SLOT_ALIGNMENT) }
}

/// The first offset from `at` on where a slot of that size does not cross a chunk border.
fn within_chunk(at: u64, size: u64, chunk: u64) -> u64 {
    let border = (at / chunk + 1).saturating_mul(chunk);
    if size > 0 && at.saturating_add(size) > border { border } else { at }
}

fn bump(sizes: &[u64], chunk: u64) -> ArenaPlaces {
    let mut next = 0;
    let offsets = sizes
        .iter()
        .map(|&size| {
            let at = within_chunk(next, size, chunk);
            next = at + size;
            at
        })
        .collect();
    ArenaPlaces { offsets, size: next }
}

/// The first of the smallest. What needs no more than `least` cannot be beaten.
fn packed(requests: &[ArenaRequest], sizes: &[u64], chunk: u64, least: u64) -> ArenaPlaces {
    let n = requests.len();
    let life = |i: usize| u64::from(requests[i].last - requests[i].first) + 1;
    let mut orders: Vec<Vec<usize>> = vec![(0..n).collect(); 4];
    orders[0].sort_by_key(|&i| (std::cmp::Reverse(sizes[i]), requests[i].first, i));
    orders[1].sort_by_key(|&i| (std::cmp::Reverse(sizes[i].saturating_mul(life(i))), i));
    orders[2].sort_by_key(|&i| (requests[i].first, std::cmp::Reverse(sizes[i]), i));
    orders[3].sort_by_key(|&i| (std::cmp::Reverse(life(i)), std::cmp::Reverse(sizes[i]), i));
    let mut best = ArenaPlaces { offsets: vec![0; n], size: u64::MAX };
    for order in orders {
        let places = first_fit(&order, requests, sizes, chunk);
        if places.size < best.size {
            best = places;
        }
        if best.size == least {
            break;
        }
    }
    best
}

/// Each request, in that order, at the lowest offset that is free during its whole life.
fn first_fit(order: &[usize], requests: &[ArenaRequest], sizes: &[u64], chunk: u64) -> ArenaPlaces {
    let mut offsets = vec![0; requests.len()];
    let mut lives = Lives::new(requests);
    let (mut total, mut taken) = (0, Vec::new());
    for &i in order {
        let (r, size) = (requests[i], sizes[i]);
        if size == 0 {
            continue;
        }
        taken.clear();
        lives.meeting(r, &mut taken);
        // By offset, so that one sweep finds the first gap.
        taken.sort_unstable_by_key(|&j| (offsets[j as usize], j));
        let mut at = 0;
        for j in taken.iter().map(|&j| j as usize) {
            at = within_chunk(at, size, chunk);
            if at + size <= offsets[j] {
                break;
            }
            at = at.max(offsets[j] + sizes[j]);
        }
        at = within_chunk(at, size, chunk);
        offsets[i] = at;
        total = total.max(at + size);
        lives.add(i as u32, r);
    }
    ArenaPlaces { offsets, size: total }
}

/// Places requests by the levels they live in: a segment tree, so that those alive in one level are found without
/// a look at the others (de Berg et al., Computational Geometry, 10.3).
struct Lives {
    leaves: usize,
    /// Node n has the children 2n and 2n + 1; a request stands in the fewest nodes that make up its life.
    nodes: Vec<SmallVec<[u32; 4]>>,
    /// Those that begin in a level.
    begin: Vec<SmallVec<[u32; 4]>>,
}

impl Lives {
    fn new(requests: &[ArenaRequest]) -> Lives {
        let levels = requests.iter().map(|r| r.last as usize + 1).max().unwrap_or(1);
        let leaves = levels.next_power_of_two();
        Lives { leaves, nodes: vec![SmallVec::new(); 2 * leaves], begin: vec![SmallVec::new(); levels] }
    }

    fn add(&mut self, i: u32, r: ArenaRequest) {
        self.begin[r.first as usize].push(i);
        let (mut low, mut high) = (self.leaves + r.first as usize, self.leaves + r.last as usize + 1);
        while low < high {
            if low % 2 == 1 {
                self.nodes[low].push(i);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                self.nodes[high].push(i);
            }
            (low, high) = (low / 2, high / 2);
        }
    }

    /// Those that are alive in a level of `r`, each once: alive in its first level, or begun after it.
    fn meeting(&self, r: ArenaRequest, out: &mut Vec<u32>) {
        let mut node = self.leaves + r.first as usize;
        while node > 0 {
            out.extend(&self.nodes[node]);
            node /= 2;
        }
        out.extend(self.begin[r.first as usize + 1..=r.last as usize].iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(bytes: u64, first: u32, last: u32) -> ArenaRequest {
        ArenaRequest { bytes, first, last }
    }

    #[test]
    fn dead_bytes_are_used_again() {
        // 100 -> 256; the third may take the first's place, the second lives beside both.
        let r = [request(100, 0, 1), request(256, 1, 2), request(200, 2, 3)];
        let p = place(&r, Placement::Packed, 1 << 30, 0);
        assert_eq!((p.size, lower_bound(&r, 0)), (512, 512));
        assert_eq!(p.offsets[0], p.offsets[2]);
        assert_eq!(place(&r, Placement::Bump, 1 << 30, 0).size, 768);
    }

    #[test]
    fn slots_that_meet_never_overlap() {
        let mut seed = 1u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..200 {
            let r: Vec<ArenaRequest> = (0..40)
                .map(|_| {
                    let first = next(20) as u32;
                    request(next(5000), first, first + next(6) as u32)
                })
                .collect();
            for policy in [Placement::Bump, Placement::Packed] {
                let (chunk, guard) = (8192, 64);
                let p = place(&r, policy, chunk, guard);
                for (i, a) in r.iter().enumerate().filter(|(_, a)| a.bytes > 0) {
                    let (start, end) = (p.offsets[i], p.offsets[i] + a.bytes);
                    assert!(start % SLOT_ALIGNMENT == 0 && end + guard <= p.size);
                    assert_eq!(start / chunk, (end - 1) / chunk);
                    for (j, b) in r.iter().enumerate().skip(i + 1).filter(|(_, b)| b.bytes > 0) {
                        let meet = a.first <= b.last && b.first <= a.last;
                        let apart = end + guard <= p.offsets[j] || p.offsets[j] + b.bytes + guard <= start;
                        assert!(!meet || apart);
                    }
                }
            }
        }
    }
}
