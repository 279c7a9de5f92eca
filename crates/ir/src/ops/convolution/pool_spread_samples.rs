//! Samples of `PoolSpread`: every case of pools as a sum, as both means and by places; what lies at the edges.

use super::max_pool::MaxPool;
use super::pool::Pool;
use super::pool_places::PoolPlaces;
use super::pool_samples::{pool_samples, small_cases};
use super::pool_spread::PoolSpread;
use crate::builder::{GraphBuilder, Value};
use crate::ops::steering_samples::{steering_list, steering_samples};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use pumice_types::DType;

/// What is gathered.
#[derive(Clone, Copy)]
enum Kind {
    Sum,
    Mean,
    PaddedMean,
    Largest,
    Smallest,
}

pub(super) fn samples() -> Vec<Sample> {
    let of = |kind| move |g: &GraphBuilder, x, pool| of_elements(g, x, pool, kind);
    let mut samples = pool_samples(&[DType::F32], &Fill::Normal, of(Kind::Largest));
    let few = Fill::Floats(vec![0.5, 2.0, -1.0, 2.0]);
    samples.extend(small_cases("sum", &Fill::Normal, of(Kind::Sum)));
    samples.extend(small_cases("mean", &Fill::Normal, of(Kind::Mean)));
    samples.extend(small_cases("mean with pads", &Fill::Normal, of(Kind::PaddedMean)));
    samples.extend(small_cases("equal", &few, of(Kind::Largest)));
    samples.extend(small_cases("equal, smallest", &few, of(Kind::Smallest)));
    samples.extend(small_cases("special", &Fill::Special, of(Kind::Largest)));
    samples.extend(views());
    samples.extend(many());
    samples.extend(steered());
    samples
}

/// Places that no element has: values go nowhere. Every window is over every element.
fn steered() -> Vec<Sample> {
    let apply = |g: &GraphBuilder, places: Value| {
        let pool = Pool { kernel: vec![13], pads: vec![6, 6], ..Pool::default() };
        let v = g.input("v", tensor(DType::F32, [2u64, 1, 7]));
        let op = PoolSpread::of(pool, vec![7.into()]);
        g.output("y", g.pool_spread(v, Some(g.expand(places, &[2, 1, 7])), op));
    };
    let mut samples = steering_samples("places", 7, |_| false, apply);
    samples.push(steering_list("places", DType::I32, 7, &[1, 7], apply));
    samples
}

/// The largest elements of windows over x, spread over its extents. (They are elements: nothing is rounded before.)
fn of_elements(g: &GraphBuilder, x: Value, pool: Pool, kind: Kind) -> Value {
    let Pool { kernel, strides, pads, dilations, ceil_mode } = pool.clone();
    let v = g.max_pool(x, MaxPool { kernel, strides, pads, dilations, ceil_mode });
    spread(g, [x, v], pool, kind)
}

fn spread(g: &GraphBuilder, [x, v]: [Value; 2], pool: Pool, kind: Kind) -> Value {
    let extents = g.type_of(x).map(|ty| ty.shape[2..].to_vec()).unwrap_or_default();
    let op = PoolSpread::of(pool.clone(), extents);
    let places = |smallest| Some(g.pool_places(x, PoolPlaces::of(pool, smallest)));
    match kind {
        Kind::Sum => g.pool_spread(v, None, op),
        Kind::Mean => g.pool_spread(v, None, PoolSpread { mean: true, ..op }),
        Kind::PaddedMean => g.pool_spread(v, None, PoolSpread { mean: true, count_include_pad: true, ..op }),
        Kind::Largest => g.pool_spread(v, places(false), op),
        Kind::Smallest => g.pool_spread(v, places(true), op),
    }
}

/// Values of windows that are permuted, cut or stretched.
fn views() -> Vec<Sample> {
    let pool = || Pool { kernel: vec![3, 2], strides: vec![2, 1], pads: vec![1, 0, 1, 1], ..Pool::default() };
    let of = |kind: Kind, label: &str, v: &[u64], view: &dyn Fn(&GraphBuilder, Value) -> Value| {
        Sample::graph(label, |g| {
            let x = g.input("x", tensor(DType::F32, [2u64, 3, 7, 5]));
            let v = view(g, g.input("v", tensor(DType::F32, v.iter().copied())));
            g.output("y", spread(g, [x, v], pool(), kind));
        })
    };
    vec![
        of(Kind::Mean, "values, channels last", &[2, 4, 5, 3], &|g, v| g.transpose(v, &[0, 3, 1, 2])),
        of(Kind::Largest, "values, channels last, by places", &[2, 4, 5, 3], &|g, v| {
            g.transpose(v, &[0, 3, 1, 2])
        }),
        of(Kind::Sum, "one value", &[1, 1, 1, 1], &|g, v| g.expand(v, &[2, 3, 4, 5])),
        of(Kind::Largest, "a value a channel", &[1, 3, 1, 1], &|g, v| g.expand(v, &[2, 3, 4, 5])),
        of(Kind::Sum, "values, every second row", &[2, 3, 8, 5], &|g, v| g.slice(v, &[0], &[8], &[2], &[2])),
    ]
}

/// Windows of many more than 128 positions, which are chains of sums; many elements of many rows; more than 65,535
/// groups of threads.
fn many() -> Vec<Sample> {
    let of = |label: &str, kind: Kind, x: &[u64], pool: Pool| {
        Sample::graph(label, |g| {
            let x = g.input("x", tensor(DType::F32, x.iter().copied()));
            g.output("y", of_elements(g, x, pool, kind));
        })
    };
    let wide = || Pool { kernel: vec![21, 20], pads: vec![10; 4], ..Pool::default() };
    let rows = |strides: &[u64]| Pool { kernel: vec![3, 2], strides: strides.to_vec(), ..Pool::default() };
    let apart = |kernel: &[u64], dilations: &[u64]| Pool {
        kernel: kernel.to_vec(),
        dilations: dilations.to_vec(),
        ..Pool::default()
    };
    let dilated =
        Pool { kernel: vec![2, 3, 2], strides: vec![2, 1, 2], dilations: vec![1, 2, 3], ..Pool::default() };
    vec![
        of("rows by places", Kind::Largest, &[2, 16, 95, 97], rows(&[1, 1])),
        of("rows, two apart", Kind::Mean, &[2, 16, 93, 97], rows(&[2, 1])),
        of("rows, dilated", Kind::PaddedMean, &[1, 5, 13, 67, 71], dilated.clone()),
        of("rows, dilated, by places", Kind::Largest, &[1, 5, 13, 67, 71], dilated),
        of("taps far apart", Kind::Sum, &[1, 2, 40, 41], apart(&[3, 3], &[8, 8])),
        of("taps far apart, by places", Kind::Largest, &[1, 2, 40, 41], apart(&[2, 2], &[17, 17])),
        of("taps as far apart as cells reach", Kind::Mean, &[1, 2, 24, 24], apart(&[2, 2], &[14, 14])),
        of("one window", Kind::Mean, &[2, 3, 7, 7], Pool { kernel: vec![7, 7], ..Pool::default() }),
        of("chains", Kind::Sum, &[1, 2, 23, 24], wide()),
        of("chains of means", Kind::Mean, &[1, 1, 23, 24], wide()),
        of("chains by places", Kind::Largest, &[1, 2, 23, 24], wide()),
        of(
            "many groups",
            Kind::Sum,
            &[1, 1, 4_194_301],
            Pool { kernel: vec![2], strides: vec![3], ..Pool::default() },
        ),
    ]
}
