//! Placement: requests in, offsets out. No graph, no device.
//!
//! `Bump` gives every request its own bytes. `Packed` lets requests whose lives do not meet share bytes; lives are
//! counted in levels, so sharing creates no hazard inside a level. Several greedy orders are tried and the smallest
//! result is taken: which one wins depends on the graph, all are cheap.

use pumice_plan::{Placement, SLOT_ALIGNMENT};

/// Bytes wanted from the first to the last level, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// How many.
    pub bytes: u64,
    /// First level that touches them.
    pub first: u32,
    /// Last level that touches them.
    pub last: u32,
}

/// Where everything lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// One offset per request, a multiple of the slot alignment.
    pub offsets: Vec<u64>,
    /// End of the last byte used.
    pub size: u64,
}

/// Places the requests. No slot crosses a multiple of `chunk`; `guard` bytes stay free behind every slot.
pub fn place(requests: &[Request], policy: Placement, chunk: u64, guard: u64) -> Placed {
    let sizes: Vec<u64> = requests.iter().map(|r| slot_size(r.bytes, guard)).collect();
    match policy {
        Placement::Bump => bump(&sizes, chunk),
        Placement::Packed => packed(requests, &sizes, chunk),
    }
}

/// Largest sum of slot sizes alive in one level: no placement of these lives is smaller.
pub fn lower_bound(requests: &[Request], guard: u64) -> u64 {
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

fn bump(sizes: &[u64], chunk: u64) -> Placed {
    let mut next = 0;
    let offsets = sizes
        .iter()
        .map(|&size| {
            let at = within_chunk(next, size, chunk);
            next = at + size;
            at
        })
        .collect();
    Placed { offsets, size: next }
}

fn packed(requests: &[Request], sizes: &[u64], chunk: u64) -> Placed {
    let n = requests.len();
    let life = |i: usize| u64::from(requests[i].last - requests[i].first) + 1;
    let mut orders: Vec<Vec<usize>> = vec![(0..n).collect(); 4];
    orders[0].sort_by_key(|&i| (std::cmp::Reverse(sizes[i]), requests[i].first, i));
    orders[1].sort_by_key(|&i| (std::cmp::Reverse(sizes[i].saturating_mul(life(i))), i));
    orders[2].sort_by_key(|&i| (requests[i].first, std::cmp::Reverse(sizes[i]), i));
    orders[3].sort_by_key(|&i| (std::cmp::Reverse(life(i)), std::cmp::Reverse(sizes[i]), i));
    let results = orders.iter().map(|order| first_fit(order, requests, sizes, chunk));
    results.min_by_key(|p| p.size).unwrap_or(Placed { offsets: Vec::new(), size: 0 })
}

/// Each request, in that order, at the lowest offset that is free during its whole life.
fn first_fit(order: &[usize], requests: &[Request], sizes: &[u64], chunk: u64) -> Placed {
    let mut offsets = vec![0; requests.len()];
    // Placed requests by offset, so that one sweep finds the first gap.
    let mut taken: Vec<usize> = Vec::with_capacity(order.len());
    let mut total = 0;
    for &i in order {
        let (r, size) = (requests[i], sizes[i]);
        if size == 0 {
            continue;
        }
        let mut at = 0;
        for &j in &taken {
            let other = requests[j];
            if other.last < r.first || r.last < other.first {
                continue;
            }
            at = within_chunk(at, size, chunk);
            if at + size <= offsets[j] {
                break;
            }
            at = at.max(offsets[j] + sizes[j]);
        }
        at = within_chunk(at, size, chunk);
        offsets[i] = at;
        total = total.max(at + size);
        let position = taken.partition_point(|&j| offsets[j] <= at);
        taken.insert(position, i);
    }
    Placed { offsets, size: total }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(bytes: u64, first: u32, last: u32) -> Request {
        Request { bytes, first, last }
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
            let r: Vec<Request> = (0..40)
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
