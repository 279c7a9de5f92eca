//! First values of params: which rule, how many connections, what is drawn.

use pumice_train::{Init, Rule};

#[test]
fn first_values() {
    let params: [(&str, &[u64]); 5] =
        [("a.weight", &[4, 9]), ("a.bias", &[4]), ("norm.weight", &[9]), ("norm.bias", &[9]), ("scale", &[])];
    let errors = Init::torch().rule("scale", Rule::XavierUniform { gain: 1.0 }).tensors(&params, 1);
    assert_eq!(
        errors.expect_err("of a rank 0").to_string(),
        "1 mistake in what is to be trained:
  the param `scale` cannot begin so: connections are those of two axes or more, it has 0"
    );
    let lone: [(&str, &[u64]); 2] = [("b.bias", &[4]), ("scale", &[])];
    assert_eq!(
        Init::torch().tensors(&lone, 1).expect_err("two").to_string(),
        "2 mistakes in what is to be trained:
  the param `b.bias` cannot begin so: there is no `weight` beside it
  no rule says how the param `scale` begins"
    );
    let init = Init::torch().rule("scale", Rule::Constant(0.5));
    let made = init.tensors(&params, 7).expect("right");
    let values: Vec<Vec<f32>> = made.iter().map(|t| t.to_vec().expect("f32")).collect();
    let within = |v: &[f32]| v.iter().all(|x| x.abs() <= 1.0 / 3.0) && v.iter().any(|x| x.abs() > 0.2);
    assert!(within(&values[0]) && within(&values[1]));
    assert_eq!([&values[2], &values[3]], [&vec![1.0; 9], &vec![0.0; 9]]);
    assert_eq!(values[4], [0.5]);
    let alone = init.tensors(&params[..2], 7).expect("right");
    assert!(alone.iter().zip(&made).all(|(a, b)| a.bytes() == b.bytes()), "by seed and name alone");
    assert_ne!(init.tensors(&params, 8).expect("right")[0].bytes(), made[0].bytes());
    // A weight that has its values says from how many a bias is drawn.
    let (bias, weight) = (("fc.bias", &[3][..]), ("fc.weight", &[3, 4][..]));
    let beside = Init::torch().tensors_beside(&[bias], &[weight], 1).expect("a rule");
    let together = Init::torch().tensors(&[weight, bias], 1).expect("rules");
    assert_eq!(beside, together[1..]);
    assert!(Init::torch().tensors(&[bias], 1).is_err());
}

/// Deviations of what is drawn, of 40,000 numbers each.
#[test]
fn deviations() {
    let shape: &[u64] = &[50, 20, 5, 8];
    let cases = [
        (Rule::Uniform(-1.0, 1.0), 1.0 / 3f64.sqrt()),
        (Rule::Normal { mean: 0.0, deviation: 2.0 }, 2.0),
        (Rule::KaimingUniform { gain: 1.0, fan: pumice_train::Fan::In }, 1.0 / 800f64.sqrt()),
        (Rule::KaimingNormal { gain: 2.0, fan: pumice_train::Fan::Out }, 2.0 / 2000f64.sqrt()),
        (Rule::XavierUniform { gain: 1.0 }, (2.0 / 2800f64).sqrt()),
        (Rule::XavierNormal { gain: 1.0 }, (2.0 / 2800f64).sqrt()),
    ];
    for (rule, expected) in cases {
        let made = Init::new().rule("*", rule).tensors(&[("w", shape)], 3).expect("right");
        let values: Vec<f32> = made[0].to_vec().expect("f32");
        let n = values.len() as f64;
        let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        let deviation = (values.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n).sqrt();
        assert!(
            (deviation / expected - 1.0).abs() < 0.02 && mean.abs() < 0.03 * expected,
            "{rule:?} {deviation} {mean}"
        );
    }
}

/// Numbers of a rule that cannot be are told by rule and pattern, be it of a param or not; nothing is drawn.
#[test]
fn numbers_of_rules() {
    let params: [(&str, &[u64]); 1] = [("w", &[4, 9])];
    let told = |rule: Rule| {
        let init = Init::new().rule("w", Rule::Zeros).rule("*.none", rule);
        let told = init.tensors(&params, 1).expect_err("it cannot be").to_string();
        told.strip_prefix("1 mistake in what is to be trained:\n  ").expect("one").to_owned()
    };
    let fan = pumice_train::Fan::In;
    for (rule, said) in [
        (
            Rule::Constant(1e300),
            "Constant(1e300) of `*.none`: the number is 1e300, which is not finite in f32",
        ),
        (
            Rule::Constant(f64::NAN),
            "Constant(NaN) of `*.none`: the number is NaN, which is not finite in f32",
        ),
        (Rule::Uniform(2.0, 1.0), "Uniform(2.0, 1.0) of `*.none`: it ends at 1, below its begin"),
        (
            Rule::Uniform(f64::NEG_INFINITY, 1.0),
            "Uniform(-inf, 1.0) of `*.none`: the begin is -inf, which is not finite in f32",
        ),
        (
            Rule::Uniform(0.0, f64::NAN),
            "Uniform(0.0, NaN) of `*.none`: the end is NaN, which is not finite in f32",
        ),
        (
            Rule::Normal { mean: 0.0, deviation: -1.0 },
            "Normal { mean: 0.0, deviation: -1.0 } of `*.none`: the deviation is -1, below 0",
        ),
        (
            Rule::Normal { mean: f64::NAN, deviation: 1.0 },
            "Normal { mean: NaN, deviation: 1.0 } of `*.none`: the mean is NaN, which is not finite in f32",
        ),
        (
            Rule::Normal { mean: 0.0, deviation: f64::INFINITY },
            "Normal { mean: 0.0, deviation: inf } of `*.none`: the deviation is inf, which is not finite in f32",
        ),
        (
            Rule::KaimingNormal { gain: f64::NAN, fan },
            "KaimingNormal { gain: NaN, fan: In } of `*.none`: the gain is NaN, which is not finite in f32",
        ),
        (
            Rule::XavierUniform { gain: -1.0 },
            "XavierUniform { gain: -1.0 } of `*.none`: the gain is -1, below 0",
        ),
    ] {
        assert_eq!(told(rule), format!("the rule {said}"));
    }
    let wide = Init::new().rule("*", Rule::Normal { mean: 0.0, deviation: 3e38 });
    let told = wide.tensors(&params, 1).expect_err("some of 36 are more than f32 has").to_string();
    assert!(told.ends_with("the param `w` cannot begin so: what it draws is not finite in f32"), "{told}");
    assert!(Init::new().rule("*", Rule::Uniform(1.0, 1.0)).tensors(&params, 1).is_ok());
}

/// Two names that 32 bits of a hash do not tell apart begin unlike.
#[test]
fn names_do_not_collide() {
    let params: [(&str, &[u64]); 2] = [("costarring.weight", &[4, 4]), ("liquid.weight", &[4, 4])];
    let made = Init::torch().tensors(&params, 7).expect("rules");
    assert_ne!(made[0], made[1]);
}
