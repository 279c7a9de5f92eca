//! Draws against their probabilities, and the edges of every option.

use super::*;

fn sampler(temperature: f32, top_k: usize, top_p: f32) -> Sampler {
    Sampler::new(Sampling { temperature, top_k, top_p, seed: 7 }).expect("options in range")
}

/// How often each token is drawn.
fn counts(sampler: &mut Sampler, logits: &[f32], draws: usize) -> Vec<f64> {
    let mut counts = vec![0.0; logits.len()];
    (0..draws).for_each(|_| counts[sampler.next(logits).expect("a token") as usize] += 1.0);
    counts
}

/// Pearson's statistic against softmax(logits / temperature) over the tokens kept; others must never be drawn.
fn chi_square(sampler: &mut Sampler, logits: &[f32], kept: &[usize]) -> f64 {
    const DRAWS: usize = 100_000;
    let counts = counts(sampler, logits, DRAWS);
    let weight = |id: usize| (f64::from(logits[id]) / f64::from(sampler.sampling.temperature)).exp();
    let sum: f64 = kept.iter().map(|&id| weight(id)).sum();
    let others = counts.iter().enumerate().filter(|(id, _)| !kept.contains(id)).map(|(_, c)| c).sum::<f64>();
    assert_eq!(others, 0.0);
    let expected = |id: usize| DRAWS as f64 * weight(id) / sum;
    kept.iter().map(|&id| (counts[id] - expected(id)).powi(2) / expected(id)).sum()
}

const LOGITS: [f32; 8] = [0.5, 2.0, -1.0, 1.0, 2.0, 0.0, -3.0, 1.5];

#[test]
fn draws_follow_the_probabilities() {
    // 99.9 % quantiles of chi-square with 7, 3 and 2 degrees of freedom: 24.3, 16.3, 13.8.
    let all: Vec<usize> = (0..8).collect();
    for temperature in [0.3, 1.0, 4.0] {
        assert!(chi_square(&mut sampler(temperature, 0, 1.0), &LOGITS, &all) < 24.3, "{temperature}");
    }
    assert!(chi_square(&mut sampler(0.8, 4, 1.0), &LOGITS, &[1, 3, 4, 7]) < 16.3);
    // Probabilities .30 .30 .18 .11 …: three reach 0.7.
    assert!(chi_square(&mut sampler(1.0, 0, 0.7), &LOGITS, &[1, 4, 7]) < 13.8);
}

#[test]
fn a_wide_vocabulary_keeps_the_same_tokens_as_sorting_it() {
    let mut random = SplitMix64::new(3);
    let logits: Vec<f32> = (0..5000).map(|_| (random.uniform() * 6.0) as f32).collect();
    let mut sampler = sampler(1.0, 0, 0.6);
    sampler.next(&logits).expect("a token");
    let mut sorted: Vec<usize> = (0..logits.len()).collect();
    sorted.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]).then(a.cmp(&b)));
    let sum: f64 = logits.iter().map(|&l| f64::from(l).exp()).sum();
    let mut reached = 0.0;
    let fewest = sorted.iter().position(|&id| {
        reached += f64::from(logits[id]).exp() / sum;
        reached >= 0.6
    });
    let kept: Vec<usize> = sampler.candidates.iter().map(|c| c.id as usize).collect();
    assert_eq!(kept, sorted[..=fewest.expect("all together reach it")]);
}

#[test]
fn a_seed_gives_one_sequence() {
    let sequence = |seed| {
        let mut s =
            Sampler::new(Sampling { temperature: 1.0, top_k: 6, top_p: 0.95, seed }).expect("in range");
        (0..12).map(|_| s.next(&LOGITS).expect("a token")).collect::<Vec<_>>()
    };
    assert_eq!(sequence(1), sequence(1));
    assert_ne!(sequence(1), sequence(2));
    // Written down so that a change of machine, compiler or order shows.
    assert_eq!(sequence(42), [7, 1, 1, 4, 1, 3, 1, 7, 4, 4, 1, 4]);
}

#[test]
fn ties_go_to_the_smaller_id() {
    assert_eq!(sampler(0.0, 0, 1.0).next(&LOGITS), Ok(1));
    assert_eq!(sampler(0.0, 0, 1.0).next(&[-0.0, 0.0]), Ok(0));
    assert_eq!(counts(&mut sampler(1.0, 1, 1.0), &LOGITS, 50)[1], 50.0);
    assert_eq!(counts(&mut sampler(1.0, 1, 1.0), &[-0.0, 0.0], 50)[0], 50.0);
    assert_eq!(counts(&mut sampler(1.0, 0, 1e-9), &LOGITS, 50)[1], 50.0);
}

#[test]
fn extremes_draw_what_is_left() {
    let dark = f32::NEG_INFINITY;
    assert_eq!(sampler(1.0, 0, 0.9).next(&[dark, -1e30, dark]), Ok(1));
    // A temperature that makes quotients overflow, and logits as far apart as numbers go.
    assert_eq!(counts(&mut sampler(f32::MIN_POSITIVE, 0, 1.0), &LOGITS, 9)[2], 0.0);
    assert_eq!(sampler(1.0, 0, 1.0).next(&[f32::MIN, f32::MAX]), Ok(1));
    assert_eq!(sampler(1.0, 100, 0.5).next(&[3.0]), Ok(0));
}

#[test]
fn what_cannot_be_drawn_from_is_an_error() {
    let mut sampler = sampler(1.0, 0, 1.0);
    assert!(matches!(sampler.next(&[0.0, f32::NAN]), Err(TextError::Logit { token: 1, .. })));
    assert!(matches!(sampler.next(&[f32::INFINITY]), Err(TextError::Logit { token: 0, .. })));
    assert_eq!(sampler.next(&[]), Err(TextError::NoToken { count: 0 }));
    assert_eq!(sampler.next(&[f32::NEG_INFINITY; 3]), Err(TextError::NoToken { count: 3 }));
}

#[test]
fn options_out_of_range_are_named() {
    let with = |temperature, top_p| Sampling { temperature, top_p, ..Sampling::default() }.check();
    for temperature in [-0.1, f32::NAN, f32::INFINITY] {
        assert!(matches!(with(temperature, 1.0), Err(TextError::Sampling { option: "temperature", .. })));
    }
    for top_p in [0.0, -1.0, 1.01, f32::NAN] {
        assert!(matches!(with(1.0, top_p), Err(TextError::Sampling { option: "top_p", .. })));
    }
    assert_eq!(with(2.0, 0.5), Ok(()));
}
