//! Values of ops by others' code, as `tests/reference/*goldens*.py` write them: read, built, run and compared.
//!
//! In: files of cases, and what a case's graph is. Out: every case that differs, told at once. Never here: which op a
//! case's name means; the suites say that.

use crate::op_suite::{Case, Runner};
use crate::share::Share;
use pumice_cpu_ref::{Array, RefEval};
use pumice_ir::{ConstEval, Fill, GraphBuilder, Sample, Value, tensor};
use pumice_types::{DType, Encoding, Tensor};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// Cases of an op at least.
pub const CASES: usize = 8;

/// What a file holds.
#[derive(Deserialize)]
struct Goldens {
    cases: Vec<Golden>,
}

/// A case: an op by its ONNX name or by the name of the builder's method.
#[derive(Deserialize)]
pub struct Golden {
    /// The op.
    pub op: String,
    /// What it is told.
    pub attributes: BTreeMap<String, Json>,
    /// Operands by place; none where one is absent.
    pub operands: Vec<Option<Operand>>,
    /// Results by place.
    pub results: Vec<Operand>,
}

/// A tensor as the file has it.
#[derive(Clone, Deserialize)]
pub struct Operand {
    dtype: String,
    /// Its extents.
    pub shape: Vec<u64>,
    elements: Vec<Json>,
}

impl Operand {
    /// How its elements are stored.
    pub fn encoding(&self) -> Encoding {
        self.dtype.parse().expect("the committed form")
    }

    /// Its elements as numbers.
    pub fn floats(&self) -> Vec<f64> {
        let number = |v: &Json| match v {
            Json::Bool(is) => f64::from(u8::from(*is)),
            Json::String(word) if word == "inf" => f64::INFINITY,
            Json::String(word) if word == "-inf" => f64::NEG_INFINITY,
            Json::String(_) => f64::NAN,
            _ => v.as_f64().expect("a number"),
        };
        self.elements.iter().map(number).collect()
    }

    /// Its elements as whole numbers, or the bits of codes.
    pub fn ints(&self) -> Vec<i64> {
        let int = |v: &Json| v.as_bool().map_or_else(|| v.as_i64().expect("an integer"), i64::from);
        self.elements.iter().map(int).collect()
    }

    fn fill(&self) -> Fill {
        let is_float = self.encoding().plain().is_some_and(DType::is_float);
        if is_float { Fill::Floats(self.floats()) } else { Fill::Ints(self.ints()) }
    }

    /// It as a constant.
    pub fn tensor(&self) -> Tensor {
        fn made<E, T: pumice_types::Element>(from: Vec<E>, shape: &[u64], f: impl Fn(E) -> T) -> Tensor {
            let elements: Vec<T> = from.into_iter().map(f).collect();
            Tensor::new(&elements, shape).expect("as many as the shape says")
        }
        let shape = &self.shape;
        match self.encoding().plain() {
            Some(DType::F32) => made(self.floats(), shape, |v| v as f32),
            Some(DType::Bool) => {
                let bytes = self.ints().into_iter().map(|v| v as u8).collect();
                Tensor::from_bytes(DType::Bool, shape, bytes).expect("as many as the shape says")
            }
            Some(DType::I32) => made(self.ints(), shape, |v| v as i32),
            Some(DType::U32) => made(self.ints(), shape, |v| v as u32),
            Some(DType::U8) => made(self.ints(), shape, |v| v as u8),
            _ => made(self.ints(), shape, |v| v),
        }
    }
}

impl Golden {
    /// An operand that is there.
    pub fn operand(&self, place: usize) -> &Operand {
        self.operands[place].as_ref().expect("it is given")
    }

    /// A number, where the case has it.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.attributes.get(name).and_then(Json::as_f64)
    }

    /// A whole number, 0 where the case has none.
    pub fn int(&self, name: &str) -> i64 {
        self.number(name).unwrap_or(0.0) as i64
    }

    /// Whether a number is not 0.
    pub fn flag(&self, name: &str) -> bool {
        self.int(name) != 0
    }

    /// A word, `none` where the case has none.
    pub fn word(&self, name: &str) -> &str {
        self.attributes.get(name).and_then(Json::as_str).unwrap_or("none")
    }

    /// Whole numbers, none where the case has none.
    pub fn list(&self, name: &str) -> Vec<i64> {
        let values = self.attributes.get(name).and_then(Json::as_array).into_iter().flatten();
        values.map(|v| v.as_i64().expect("an integer")).collect()
    }

    fn name(&self) -> String {
        let shapes: Vec<Option<&Vec<u64>>> =
            self.operands.iter().map(|o| o.as_ref().map(|o| &o.shape)).collect();
        format!("{} {:?} of {shapes:?}", self.op, self.attributes)
    }
}

/// An operand of a case that is there.
pub fn given(x: &[Option<Value>], place: usize) -> Value {
    x[place].expect("it is given")
}

/// Both results.
pub fn pair((a, b): (Value, Value)) -> Vec<Value> {
    vec![a, b]
}

/// How near a result must be: within `share` of a value, which counts as `floor` at least.
pub struct Near {
    /// Part of a value.
    pub share: f64,
    /// The smallest value that a part is taken of.
    pub floor: f64,
}

/// Files of cases, and what they mean.
pub struct Suite {
    /// The files' texts.
    pub texts: &'static [&'static str],
    /// How many of the operands are data; the others say attributes.
    pub data: fn(&Golden) -> usize,
    /// The results, of operands that are data.
    pub build: fn(&Golden, &GraphBuilder, &[Option<Value>]) -> Vec<Value>,
    /// How near the result of these values must be.
    pub near: fn(&Golden, &[f64]) -> Near,
    /// Whether operands are params, as codes must be; else they are inputs.
    pub are_params: bool,
}

impl Suite {
    /// The cases of its files.
    pub fn cases(&self) -> Vec<Golden> {
        let cases = |text: &&str| serde_json::from_str::<Goldens>(text).expect("the committed form").cases;
        self.texts.iter().flat_map(cases).collect()
    }

    fn graph(&self, case: &Golden, g: &GraphBuilder, leaf: impl Fn(usize, &Operand) -> Value) {
        let operands = case.operands[..(self.data)(case)].iter().enumerate();
        let x: Vec<Option<Value>> = operands.map(|(i, o)| o.as_ref().map(|o| leaf(i, o))).collect();
        let results = (self.build)(case, g, &x);
        assert_eq!(results.len(), case.results.len(), "{}", case.op);
        results.into_iter().enumerate().for_each(|(i, y)| g.output(&format!("y{i}"), y));
    }

    /// A case as a sample: its operands are filled with its data.
    fn sample(&self, case: &Golden) -> Sample {
        let leaf = |g: &GraphBuilder, i: usize, o: &Operand| {
            let ty = tensor(o.encoding(), o.shape.iter().copied());
            let name = format!("x{i}");
            if self.are_params { g.param(&name, ty) } else { g.input(&name, ty) }
        };
        let sample = Sample::graph(&case.name(), |g| self.graph(case, g, |i, o| leaf(g, i, o)));
        let operands = case.operands[..(self.data)(case)].iter().enumerate();
        let filled = operands.filter_map(|(i, o)| Some((i, o.as_ref()?)));
        filled
            .filter(|(_, o)| !o.elements.is_empty())
            .fold(sample, |sample, (i, o)| sample.fill(&format!("x{i}"), o.fill()))
    }

    /// What differs from the golden values, if anything.
    fn difference(&self, case: &Golden, outputs: &[Array]) -> Option<String> {
        let wrong = |(i, (got, want)): (usize, (&Array, &Operand))| {
            if want.encoding() != got.dtype || got.shape != want.shape {
                let (got, shape) = ((got.dtype, &got.shape), &want.shape);
                return Some(format!("result {i} is {got:?}, not {} {shape:?}", want.dtype));
            }
            let (got, want) = (got.to_f64(), want.floats());
            let Near { share, floor } = (self.near)(case, &want);
            let is_near = |a: f64, b: f64| {
                a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= share * b.abs().max(floor)
            };
            let at = got.iter().zip(&want).position(|(&a, &b)| !is_near(a, b))?;
            Some(format!("element {at} of result {i} is {}, not {}", got[at], want[at]))
        };
        outputs.iter().zip(&case.results).enumerate().find_map(wrong)
    }

    /// Panics with every case that differs.
    fn all_agree(&self, share: Share, outputs: impl Fn(&Golden) -> Result<Vec<Tensor>, String>) {
        let mut cases = self.cases();
        let mut numbers = 0..cases.len();
        cases.retain(|_| numbers.next().is_some_and(|i| share.has_of_few(i)));
        let told = cases.iter().filter_map(|case| {
            let outputs = outputs(case).map(|o| o.iter().map(Array::from_tensor).collect::<Vec<_>>());
            let why = outputs.map_or_else(Some, |outputs| self.difference(case, &outputs));
            why.map(|why| format!("{}: {why}", case.name()))
        });
        let told: Vec<String> = told.collect();
        assert!(told.is_empty(), "{} of {}:\n{}", told.len(), cases.len(), told.join("\n"));
    }

    /// All cases by the evaluator, of constants.
    ///
    /// # Panics
    /// With every case that differs.
    pub fn by_evaluator(&self) {
        self.all_agree(Share::ALL, |case| {
            let g = GraphBuilder::new("golden");
            self.graph(case, &g, |_, o| g.constant(o.tensor()));
            let graph = g.build().map_err(|e| e.to_string())?;
            RefEval.eval(&graph).map_err(|e| e.to_string())
        });
    }

    /// All cases as plans, on the interpreter.
    ///
    /// # Panics
    /// With every case that differs.
    pub fn by_runner(&self, runner: &Runner) {
        self.as_plans(runner, Share::ALL);
    }

    /// Cases as plans on a device: a fourth of them where a share is asked for.
    ///
    /// # Panics
    /// With every case that differs.
    pub fn by_device(&self, runner: &Runner) {
        self.as_plans(runner, Share::of_environment());
    }

    fn as_plans(&self, runner: &Runner, share: Share) {
        self.all_agree(share, |case| {
            let sample = self.sample(case);
            let graph = sample.graph.clone().map_err(|e| e.to_string())?;
            let plan = runner.plan(&graph)?;
            runner.outputs(&Case::new("golden", sample), plan)
        });
    }

    /// At least eight cases of each op, and two values of every attribute.
    ///
    /// # Panics
    /// With the first op that has fewer.
    pub fn attributes_vary(&self) {
        let mut ops: BTreeMap<String, (usize, BTreeMap<String, BTreeSet<String>>)> = BTreeMap::new();
        for case in self.cases() {
            let (count, values) = ops.entry(case.op).or_default();
            *count += 1;
            for (name, value) in case.attributes {
                values.entry(name).or_default().insert(value.to_string());
            }
        }
        for (op, (count, values)) in ops {
            assert!(count >= CASES, "{op}: {count} cases");
            let constant: Vec<&String> =
                values.iter().filter(|(_, v)| v.len() < 2).map(|(name, _)| name).collect();
            assert!(constant.is_empty(), "{op}: {constant:?} have one value");
        }
    }
}
