//! Draws against their probabilities, and the edges of every option.

use super::*;

fn draws(temperature: f32, top_k: usize, top_p: f32) -> Draws {
    of(Sampler::default().temperature(temperature).top_k(top_k).top_p(top_p))
}

fn of(sampler: Sampler) -> Draws {
    Draws::new(sampler.seed(7)).expect("options in range")
}

/// How often each token is drawn.
fn counts(draws: &mut Draws, logits: &[f32], times: usize) -> Vec<f64> {
    let mut counts = vec![0.0; logits.len()];
    (0..times).for_each(|_| counts[draws.next(logits, &[]).expect("a token") as usize] += 1.0);
    counts
}

/// Pearson's statistic against softmax(logits / temperature) over the tokens kept; others must never be drawn.
fn chi_square(draws: &mut Draws, logits: &[f32], kept: &[usize]) -> f64 {
    const DRAWS: usize = 100_000;
    let counts = counts(draws, logits, DRAWS);
    let weight = |id: usize| (f64::from(logits[id]) / f64::from(draws.sampler.temperature)).exp();
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
        assert!(chi_square(&mut draws(temperature, 0, 1.0), &LOGITS, &all) < 24.3, "{temperature}");
    }
    assert!(chi_square(&mut draws(0.8, 4, 1.0), &LOGITS, &[1, 3, 4, 7]) < 16.3);
    // Probabilities .30 .30 .18 .11 …: three reach 0.7.
    assert!(chi_square(&mut draws(1.0, 0, 0.7), &LOGITS, &[1, 4, 7]) < 13.8);
}

#[test]
fn a_wide_vocabulary_keeps_the_same_tokens_as_sorting_it() {
    let mut random = SplitMix64::new(3);
    let logits: Vec<f32> = (0..5000).map(|_| (random.uniform() * 6.0) as f32).collect();
    let mut draws = draws(1.0, 0, 0.6);
    draws.next(&logits, &[]).expect("a token");
    let mut sorted: Vec<usize> = (0..logits.len()).collect();
    sorted.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]).then(a.cmp(&b)));
    let sum: f64 = logits.iter().map(|&l| f64::from(l).exp()).sum();
    let mut reached = 0.0;
    let fewest = sorted.iter().position(|&id| {
        reached += f64::from(logits[id]).exp() / sum;
        reached >= 0.6
    });
    let kept: Vec<usize> = draws.candidates.iter().map(|c| c.id as usize).collect();
    assert_eq!(kept, sorted[..=fewest.expect("all together reach it")]);
}

#[test]
fn a_seed_gives_one_sequence() {
    let sequence = |seed| {
        let mut s = Draws::new(Sampler::default().temperature(1.0).top_k(6).top_p(0.95).seed(seed))
            .expect("in range");
        (0..12).map(|_| s.next(&LOGITS, &[]).expect("a token")).collect::<Vec<_>>()
    };
    assert_eq!(sequence(1), sequence(1));
    assert_ne!(sequence(1), sequence(2));
    // Written down so that a change of machine, compiler or order shows.
    assert_eq!(sequence(42), [7, 1, 1, 4, 1, 3, 1, 7, 4, 4, 1, 4]);
}

#[test]
fn ties_go_to_the_smaller_id() {
    assert_eq!(draws(0.0, 0, 1.0).next(&LOGITS, &[]), Ok(1));
    assert_eq!(draws(0.0, 0, 1.0).next(&[-0.0, 0.0], &[]), Ok(0));
    assert_eq!(counts(&mut draws(1.0, 1, 1.0), &LOGITS, 50)[1], 50.0);
    assert_eq!(counts(&mut draws(1.0, 1, 1.0), &[-0.0, 0.0], 50)[0], 50.0);
    assert_eq!(counts(&mut draws(1.0, 0, 1e-9), &LOGITS, 50)[1], 50.0);
}

#[test]
fn extremes_draw_what_is_left() {
    let dark = f32::NEG_INFINITY;
    assert_eq!(draws(1.0, 0, 0.9).next(&[dark, -1e30, dark], &[]), Ok(1));
    // A temperature that makes quotients overflow, and logits as far apart as numbers go.
    assert_eq!(counts(&mut draws(f32::MIN_POSITIVE, 0, 1.0), &LOGITS, 9)[2], 0.0);
    assert_eq!(draws(1.0, 0, 1.0).next(&[f32::MIN, f32::MAX], &[]), Ok(1));
    assert_eq!(draws(1.0, 100, 0.5).next(&[3.0], &[]), Ok(0));
}

#[test]
fn what_cannot_be_drawn_from_is_an_error() {
    let mut draws = draws(1.0, 0, 1.0);
    assert!(matches!(draws.next(&[0.0, f32::NAN], &[]), Err(TextError::Logit { token: 1, .. })));
    assert!(matches!(draws.next(&[f32::INFINITY], &[]), Err(TextError::Logit { token: 0, .. })));
    assert_eq!(draws.next(&[], &[]), Err(TextError::NoToken { count: 0 }));
    assert_eq!(draws.next(&[f32::NEG_INFINITY; 3], &[]), Err(TextError::NoToken { count: 3 }));
}

#[test]
fn options_out_of_range_are_named() {
    let with = |temperature, top_p| Sampler::default().temperature(temperature).top_p(top_p).check();
    for temperature in [-0.1, f32::NAN, f32::INFINITY] {
        assert!(matches!(with(temperature, 1.0), Err(TextError::Sampling { option: "temperature", .. })));
    }
    for top_p in [0.0, -1.0, 1.01, f32::NAN] {
        assert!(matches!(with(1.0, top_p), Err(TextError::Sampling { option: "top_p", .. })));
    }
    assert_eq!(with(2.0, 0.5), Ok(()));
}

/// The exact distribution of a sampler, each of its rules written down on its own.
fn exact(sampler: &Sampler, before: &[u32]) -> Vec<f64> {
    let mut x: Vec<f64> = LOGITS.iter().map(|&l| f64::from(l)).collect();
    let window = &before[before.len().saturating_sub(sampler.repeat_last_n)..];
    for (id, x) in x.iter_mut().enumerate() {
        let count = window.iter().filter(|&&b| b as usize == id).count() as f64;
        if count > 0.0 {
            let penalty = f64::from(sampler.repeat_penalty);
            *x = if *x > 0.0 { *x / penalty } else { *x * penalty };
            *x -= count * f64::from(sampler.frequency_penalty) + f64::from(sampler.presence_penalty);
        }
    }
    sampler.bias.iter().for_each(|&(id, bias)| x[id as usize] += f64::from(bias));
    let mut p: Vec<f64> = x.iter().map(|x| (x / f64::from(sampler.temperature)).exp()).collect();
    normalize(&mut p);
    let by_p = |p: &[f64]| sorted(p, |p| -p);
    if sampler.top_k > 0 {
        let order = by_p(&p);
        order[sampler.top_k.min(8)..].iter().for_each(|&id| p[id] = 0.0);
        normalize(&mut p);
    }
    if sampler.typical < 1.0 {
        let information = |p: f64| if p > 0.0 { -p.ln() } else { f64::INFINITY };
        let expected: f64 = p.iter().filter(|p| **p > 0.0).map(|p| p * information(*p)).sum();
        let order = sorted(&p, |p| (information(p) - expected).abs());
        keep(&mut p, &order, f64::from(sampler.typical));
    }
    let order = by_p(&p);
    keep(&mut p, &order, f64::from(sampler.top_p));
    let largest = p.iter().copied().fold(0.0, f64::max);
    p.iter_mut().filter(|p| **p < f64::from(sampler.min_p) * largest).for_each(|p| *p = 0.0);
    normalize(&mut p);
    p
}

fn normalize(p: &mut [f64]) {
    let sum: f64 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= sum);
}

fn sorted(p: &[f64], key: impl Fn(f64) -> f64) -> Vec<usize> {
    let mut ids: Vec<usize> = (0..p.len()).collect();
    ids.sort_by(|&a, &b| key(p[a]).total_cmp(&key(p[b])).then(a.cmp(&b)));
    ids
}

/// The first of an order that reach a share of all.
fn keep(p: &mut [f64], order: &[usize], share: f64) {
    let mut reached = 0.0;
    for &id in order {
        if reached >= share - 1e-12 {
            p[id] = 0.0;
        }
        reached += p[id];
    }
    normalize(p);
}

/// 100,000 draws of each option, and of all together, against the exact distribution.
#[test]
fn every_option_draws_its_exact_distribution() {
    let before = [1, 1, 4, 3, 6, 1, 7];
    let warm = Sampler::default().temperature(1.3);
    let cases = [
        warm.clone(),
        warm.clone().top_k(5),
        warm.clone().top_p(0.8),
        warm.clone().min_p(0.3),
        warm.clone().typical(0.6),
        warm.clone().typical(0.2),
        warm.clone().repeat_penalty(1.7),
        warm.clone().repeat_penalty(0.6).repeat_last_n(2),
        warm.clone().presence_penalty(1.2),
        warm.clone().frequency_penalty(0.7),
        warm.clone().frequency_penalty(-0.4).repeat_last_n(5),
        warm.clone().repeat_penalty(5.0).repeat_last_n(0),
        warm.clone().bias(vec![(6, 4.5), (1, f32::NEG_INFINITY), (6, 0.25)]),
        Sampler::default()
            .temperature(0.9)
            .repeat_penalty(1.1)
            .presence_penalty(0.3)
            .frequency_penalty(0.2)
            .bias(vec![(2, 1.0)])
            .top_k(7)
            .typical(0.97)
            .top_p(0.95)
            .min_p(0.05),
    ];
    for sampler in cases {
        let expected = exact(&sampler, &before);
        let mut draws = of(sampler.clone());
        let mut counts = [0.0f64; 8];
        for _ in 0..100_000 {
            counts[draws.next(&LOGITS, &before).expect("a token") as usize] += 1.0;
        }
        let never = counts.iter().zip(&expected).filter(|(_, p)| **p == 0.0).map(|(c, _)| c).sum::<f64>();
        assert_eq!(never, 0.0, "{sampler:?}: {counts:?} {expected:?}");
        let kept = counts.iter().zip(&expected).filter(|(_, p)| **p > 0.0);
        let chi: f64 = kept.map(|(c, p)| (c - p * 1e5).powi(2) / (p * 1e5)).sum();
        // The 99.9 % quantile of seven degrees of freedom.
        assert!(chi < 24.3, "{chi}: {sampler:?}: {counts:?} {expected:?}");
    }
}

/// Penalties and a bias count without a draw as well.
#[test]
fn the_most_probable_token_is_the_one_after_penalties_and_bias() {
    let next = |sampler: Sampler, before: &[u32]| of(sampler).next(&LOGITS, before);
    assert_eq!(next(Sampler::default().repeat_penalty(2.0), &[1, 4]), Ok(7));
    assert_eq!(next(Sampler::default().bias(vec![(1, f32::NEG_INFINITY)]), &[]), Ok(4));
    assert_eq!(next(Sampler::default().bias(vec![(8, 1.0)]), &[]), Err(TextError::Bias { id: 8, count: 8 }));
    let none = (0..8).map(|id| (id, f32::NEG_INFINITY)).collect();
    assert_eq!(next(Sampler::default().bias(none), &[]), Err(TextError::NoToken { count: 8 }));
}

#[test]
fn other_options_out_of_range_are_named() {
    let wrong = [
        ("typical", Sampler::default().typical(0.0)),
        ("typical", Sampler::default().typical(f32::NAN)),
        ("min_p", Sampler::default().min_p(1.5)),
        ("min_p", Sampler::default().min_p(-0.1)),
        ("repeat_penalty", Sampler::default().repeat_penalty(0.0)),
        ("repeat_penalty", Sampler::default().repeat_penalty(1e-45)),
        ("repeat_penalty", Sampler::default().repeat_penalty(1.1e6)),
        ("repeat_penalty", Sampler::default().repeat_penalty(f32::NAN)),
        ("presence_penalty", Sampler::default().presence_penalty(-3e38)),
        ("frequency_penalty", Sampler::default().frequency_penalty(1.1e6)),
        ("presence_penalty", Sampler::default().presence_penalty(f32::INFINITY)),
        ("frequency_penalty", Sampler::default().frequency_penalty(f32::NAN)),
        ("bias", Sampler::default().bias(vec![(0, f32::INFINITY)])),
    ];
    for (name, sampler) in wrong {
        assert!(
            matches!(sampler.check(), Err(TextError::Sampling { option, .. }) if option == name),
            "{name}"
        );
    }
    let least = Sampler::default().repeat_penalty(1e-6).presence_penalty(-1e6).frequency_penalty(-1e6);
    assert_eq!(least.check(), Ok(()));
    let most = Sampler::default().repeat_penalty(1e6).presence_penalty(1e6).frequency_penalty(1e6);
    assert_eq!(most.check(), Ok(()));
    let told = Sampler::default().repeat_penalty(2e6).check().expect_err("beyond").to_string();
    assert!(told.contains("`repeat_penalty` is 2000000; it must be from 0.000001 to 1000000"), "{told}");
}
