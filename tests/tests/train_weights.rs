//! What a trainer takes from a file: types that fit, all of it or nothing, floats of any width.

use pumice::train::{Batch, Group, Init, Recipe, Schedule, Sgd, TrainOptions, Trainer, TrainerError};
use pumice::{
    ByteSource, DType, Device, Graph, GraphBuilder, SourceError, Stored, Tensor, TensorView, f32, i64,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A trained and a frozen param, a mean that moves, a count that does, and a state that nothing uses.
fn graph() -> Graph {
    let g = GraphBuilder::new("kept");
    let x = g.input("x", f32([3u64]));
    let (w, scale) = (g.param("w", f32([3u64])), g.param("scale", f32([3u64])));
    let (mean, count) = (g.state("mean", f32([3u64])), g.state("count", i64([2u64])));
    g.state("unused", f32([3u64]));
    g.state_write(mean, x);
    let one = g.constant_scalar(DType::I64, 1.0);
    g.state_write(count, g.add(g.state_read(count), one));
    let miss = g.sub(g.mul(g.mul(x, scale), w), x);
    g.output("loss", g.reduce_mean(g.square(miss), &[], false));
    g.build().expect("sound")
}

/// One that has made an update.
fn trainer() -> Trainer {
    let recipe = Recipe::new(Sgd::default()).group(Group::matching(["scale"]).frozen());
    let recipe = recipe.schedule(Schedule::constant(0.1));
    let mut trainer =
        Trainer::new(&graph(), &recipe, &Device::cpu(), &TrainOptions::default()).expect("a trainer");
    let init = Init::new().rule("*", pumice::train::Rule::Constant(0.25));
    trainer.init(&init, 1).expect("rules");
    let x = Tensor::new(&[1f32, 2.0, 4.0], &[3]).expect("3");
    assert!(trainer.update(&[Batch::new().with("x", x)]).expect("an update").made);
    trainer
}

const KEPT: [&str; 4] = ["w", "scale", "mean", "count"];

/// All that it keeps, by name.
fn kept(trainer: &mut Trainer) -> BTreeMap<String, Tensor> {
    KEPT.map(|name| (name.to_owned(), trainer.get(name).expect("kept"))).into()
}

fn halves(dtype: DType) -> Tensor {
    let ones: [u8; 2] = if dtype == DType::F16 { [0, 0x3c] } else { [0x80, 0x3f] };
    Tensor::from_bytes(dtype, &[3], ones.repeat(3)).expect("3")
}

fn file() -> BTreeMap<String, Tensor> {
    let threes = || Tensor::new(&[3f32; 3], &[3]).expect("3");
    let count = Tensor::from_bytes(DType::I64, &[2], [7i64, 1 << 40].map(i64::to_le_bytes).concat());
    [("w", threes()), ("scale", threes()), ("mean", threes()), ("count", count.expect("2"))]
        .map(|(name, tensor)| (name.to_owned(), tensor))
        .into()
}

/// Tensors by name; some cannot be read.
struct Source {
    tensors: BTreeMap<String, Tensor>,
    torn: Option<&'static str>,
}

impl Source {
    fn of(tensors: BTreeMap<String, Tensor>) -> Source {
        Source { tensors, torn: None }
    }
}

fn failed(name: &str, why: &str) -> SourceError {
    let source = Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(why));
    SourceError { name: name.to_owned(), source }
}

impl ByteSource for Source {
    fn stored(&self, name: &str) -> Result<Stored, SourceError> {
        let tensor = self.tensors.get(name).ok_or_else(|| failed(name, "it is not there"))?;
        Ok(Stored { encoding: tensor.encoding(), shape: tensor.shape().to_vec() })
    }

    fn read_bytes(&self, name: &str, start: u64, out: &mut [u8]) -> Result<(), SourceError> {
        if self.torn == Some(name) {
            return Err(failed(name, "the disk is torn"));
        }
        out.copy_from_slice(&self.tensors[name].bytes()[start as usize..][..out.len()]);
        Ok(())
    }
}

/// What does not fit is told by its name and types, and nothing of the file is taken.
#[test]
fn a_file_of_other_types_is_refused_whole() {
    let mut trainer = trainer();
    let before = kept(&mut trainer);
    let (wide, flags) =
        (Tensor::new(&[1i32; 3], &[3]).expect("3"), Tensor::new(&[true; 3], &[3]).expect("3"));
    let long = Tensor::from_bytes(DType::I64, &[3], vec![0; 24]).expect("3");
    let pair = Tensor::new(&[1f32; 2], &[2]).expect("2");
    let narrow = Tensor::new(&[1i32; 2], &[2]).expect("2");
    for (name, tensor, said) in [
        ("w", wide.clone(), "it is i32, the param f32"),
        ("w", long, "it is i64, the param f32"),
        ("w", flags, "it is bool, the param f32"),
        ("mean", wide.clone(), "it is i32, the state f32"),
        ("count", pair, "it is f32, the state i64"),
        ("count", narrow, "it is i32, the state i64"),
        ("scale", wide, "`scale` is f32, i32 was given"),
    ] {
        let mut file = file();
        file.insert(name.to_owned(), tensor);
        let told = trainer.load(&Source::of(file)).expect_err("of another type").to_string();
        assert!(told.contains(said) && told.contains(name), "{told}");
        assert_eq!(kept(&mut trainer), before, "{told}");
        assert_eq!(trainer.updates(), 1);
    }
}

/// What cannot be read leaves all as it is; of a frozen param, which is not read beforehand, it counts as never given.
#[test]
fn a_file_that_ends_is_refused_whole() {
    let mut trainer = trainer();
    let before = kept(&mut trainer);
    for torn in ["w", "mean", "count"] {
        let told = trainer.load(&Source { tensors: file(), torn: Some(torn) }).expect_err("torn");
        assert!(told.to_string().contains("the disk is torn"), "{told}");
        assert_eq!(kept(&mut trainer), before);
        assert_eq!(trainer.updates(), 1);
    }
    let told = trainer.load(&Source { tensors: file(), torn: Some("scale") }).expect_err("torn").to_string();
    assert!(told.contains("the disk is torn"), "{told}");
    let told = trainer.get("scale").expect_err("it is gone");
    assert!(matches!(told, TrainerError::NotSet { .. }), "{told}");
    assert_eq!((trainer.get("w").expect("kept"), trainer.updates()), (before["w"].clone(), 1));
    trainer.load(&Source::of(file())).expect("the disk is whole");
    assert_eq!(kept(&mut trainer), file());
}

/// What `get` gave is what `load` takes, of integers as well; what no entry uses is passed over.
#[test]
fn states_of_integers_are_taken_as_they_are() {
    let mut trainer = trainer();
    let mut tensors = file();
    tensors.insert("unused".to_owned(), Tensor::new(&[1f32; 3], &[3]).expect("3"));
    trainer.load(&Source::of(tensors)).expect("all of it");
    assert_eq!(kept(&mut trainer), file());
    assert_eq!(trainer.updates(), 0);
    let again = kept(&mut trainer);
    trainer.load(&Source::of(again.clone())).expect("what it kept");
    assert_eq!(kept(&mut trainer), again);
    assert!(trainer.get("unused").is_err(), "the program does not have it");
}

/// Floats of 16 bits are widened for params and states, trained or frozen, of a file and by name.
#[test]
fn halves_are_taken_everywhere() {
    let ones = Tensor::new(&[1f32; 3], &[3]).expect("3");
    for dtype in [DType::F16, DType::BF16] {
        let mut tensors = file();
        tensors.extend(["w", "scale", "mean"].map(|name| (name.to_owned(), halves(dtype))));
        let (mut by_file, mut by_name) = (trainer(), trainer());
        by_file.load(&Source::of(tensors)).expect("floats");
        for name in ["w", "scale", "mean"] {
            by_name.set(name, halves(dtype).view()).expect("floats");
            assert_eq!(by_file.get(name).expect("kept"), ones, "{name}");
            assert_eq!(by_name.get(name).expect("kept"), ones, "{name}");
        }
        let told =
            by_name.set("count", TensorView::f32(&[1.0, 2.0], [2])).expect_err("of integers").to_string();
        assert!(told.contains("`count` is i64, f32 was given"), "{told}");
    }
}
