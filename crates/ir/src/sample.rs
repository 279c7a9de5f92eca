//! Samples: small programs with data that every suite runs on every runner.

use crate::builder::GraphBuilder;
use crate::graph::Graph;
use pumice_types::encoding::FieldKind;
use pumice_types::{Code, DType, Encoding, Scheme, Tensor};

/// How a tensor is filled. Every fill is a pure function of dtype, shape and seed.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// Normal with deviation 1; integers and booleans as `Any`.
    Normal,
    /// Uniform between two numbers.
    Uniform(f64, f64),
    /// Every element this value.
    Constant(f64),
    /// These integers, repeated.
    Ints(Vec<i64>),
    /// These floats, repeated, rounded to the dtype; integers truncate them.
    Floats(Vec<f64>),
    /// Integers in `lo..hi`.
    Range(i64, i64),
    /// Bit patterns: element i has pattern i of an 8- or 16-bit dtype; wider dtypes take patterns that lie evenly over
    /// all of theirs.
    Patterns,
    /// Anything finite the dtype can hold, small values preferred.
    Any,
    /// As `Any`, with NaN, ±Inf, −0, subnormals, largest values and ties mixed in; for integers their extremes.
    Special,
}

/// A program with its data.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What it shows; unique among the op's samples.
    pub label: String,
    /// The program, or what is wrong with it: a defect that the suite reports.
    pub graph: Result<Graph, String>,
    /// How inputs and params are filled, by name, of two the later; the others are `Normal`.
    pub fills: Vec<(String, Fill)>,
    /// Values of symbols, by name; the others are at their maximum.
    pub bindings: Vec<(String, u64)>,
    /// Values of dynamic scalars, by name; the others are at their defaults.
    pub scalars: Vec<(String, f64)>,
    /// How often it is run in one session.
    pub runs: u32,
    /// Whether the status block must report something (runs are made with `on_status` = report).
    pub status: bool,
}

/// How the label of a sample begins that shows an axis longer than some drivers let a loop iterate; few elements
/// otherwise.
pub const LONG_AXIS: &str = "long axis";

impl Sample {
    /// Whether it shows a long axis: worth its time even where large samples are left out.
    pub fn is_long_axis(&self) -> bool {
        self.label.starts_with(LONG_AXIS)
    }

    /// A sample of the program that `build` makes.
    pub fn graph(label: &str, build: impl FnOnce(&GraphBuilder)) -> Sample {
        let g = GraphBuilder::new("sample");
        build(&g);
        Sample {
            label: label.to_owned(),
            graph: g.build().map_err(|e| e.to_string()),
            fills: Vec::new(),
            bindings: Vec::new(),
            scalars: Vec::new(),
            runs: 1,
            status: false,
        }
    }

    /// Fills an input or param.
    pub fn fill(mut self, name: &str, fill: Fill) -> Sample {
        self.fills.push((name.to_owned(), fill));
        self
    }

    /// Binds a symbol.
    pub fn bind(mut self, name: &str, value: u64) -> Sample {
        self.bindings.push((name.to_owned(), value));
        self
    }

    /// Sets a dynamic scalar.
    pub fn scalar(mut self, name: &str, value: f64) -> Sample {
        self.scalars.push((name.to_owned(), value));
        self
    }

    /// Runs it so often, with new data each time.
    pub fn runs(mut self, runs: u32) -> Sample {
        self.runs = runs;
        self
    }

    /// The status block must report something.
    pub fn expect_status(mut self) -> Sample {
        self.status = true;
        self
    }

    /// The fill of an input or param.
    pub fn fill_of(&self, name: &str) -> Fill {
        self.fills.iter().rfind(|(n, _)| n == name).map_or(Fill::Normal, |(_, f)| f.clone())
    }
}

/// A counter-based generator (splitmix64), so that element `i` of seed `s` is the same everywhere.
pub fn random(seed: u64, i: u64) -> u64 {
    let mut z = seed
        .wrapping_mul(0xd134_2543_de82_ef95)
        .wrapping_add(i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number in \[0, 1).
fn uniform(seed: u64, i: u64) -> f64 {
    (random(seed, i) >> 11) as f64 / (1u64 << 53) as f64
}

impl Fill {
    /// A tensor of that encoding and shape; `None` if the shape has too many elements for this machine. Of blocks the
    /// codes are random whatever the fill is; scales are ordinary numbers, or any bits where the fill is
    /// [`Fill::Special`].
    pub fn tensor(&self, encoding: impl Into<Encoding>, shape: &[u64], seed: u64) -> Option<Tensor> {
        let encoding = encoding.into();
        if let Encoding::Blocks(scheme) = encoding {
            let bytes = usize::try_from(encoding.bytes(shape).ok()?.0).ok()?;
            return Tensor::from_bytes(encoding, shape, blocks(scheme, bytes, self, seed)).ok();
        }
        let n = pumice_types::tensor::element_count(shape).ok()?;
        if let Encoding::Codes(code) = encoding {
            return Tensor::from_bytes(encoding, shape, codes(code, n, self, seed)).ok();
        }
        let dtype = encoding.dtype();
        let mut bytes = Vec::with_capacity(usize::try_from(encoding.bytes(shape).ok()?.0).ok()?);
        for i in 0..n {
            push(&mut bytes, dtype, self.element(dtype, seed, i));
        }
        Tensor::from_bytes(dtype, shape, bytes).ok()
    }

    fn element(&self, dtype: DType, seed: u64, i: u64) -> Element {
        let r = random(seed, i);
        match self {
            Fill::Normal if dtype.is_float() => Element::Float(normal(seed, i)),
            Fill::Uniform(lo, hi) => floor_of(dtype, lo + (hi - lo) * uniform(seed, i)),
            Fill::Constant(c) if dtype.is_float() => Element::Float(*c),
            Fill::Constant(c) => Element::Int(*c as i64),
            Fill::Ints(list) => exact(dtype, nth(list, i)),
            Fill::Floats(list) => Element::Float(nth(list, i)),
            Fill::Patterns if dtype.natural_bytes() <= 2 => Element::Bits(i),
            Fill::Patterns => Element::HighBits((i ^ (seed & 0xffff)).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            Fill::Range(lo, hi) => exact(dtype, lo + (r % (hi - lo).max(1) as u64) as i64),
            Fill::Special if r.is_multiple_of(3) => special(dtype, r >> 8),
            Fill::Normal | Fill::Any | Fill::Special => any(dtype, seed, i),
        }
    }
}

/// One draw of the normal distribution: Box-Muller over two draws of the same counter.
fn normal(seed: u64, i: u64) -> f64 {
    let (u, v) = (1.0 - uniform(seed, 2 * i), uniform(seed ^ 0x5bd1_e995, 2 * i + 1));
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// An integer as an element of that dtype.
fn exact(dtype: DType, v: i64) -> Element {
    if dtype.is_float() { Element::Float(v as f64) } else { Element::Int(v) }
}

/// A number as an element of that dtype; integers are the next below.
fn floor_of(dtype: DType, x: f64) -> Element {
    if dtype.is_float() { Element::Float(x) } else { Element::Int(x.floor() as i64) }
}

/// Element `i` of a list that repeats; of an empty one 0.
fn nth<T: Copy + Default>(list: &[T], i: u64) -> T {
    list.get(i as usize % list.len().max(1)).copied().unwrap_or_default()
}

/// Blocks whose fields are filled by their kinds: codes at random, scales of either sign and between 2^-8 and 2^-4, so
/// that sums of many values stay small. With [`Fill::Special`] one scale in three is any (0, subnormal, infinite, NaN),
/// and one byte of codes in four is an extreme one.
fn blocks(scheme: Scheme, bytes: usize, fill: &Fill, seed: u64) -> Vec<u8> {
    let special = matches!(fill, Fill::Special);
    let mut out: Vec<u8> = (0..bytes as u64).map(|i| (random(seed, i) >> 24) as u8).collect();
    for (i, block) in out.chunks_exact_mut(scheme.bytes() as usize).enumerate() {
        for field in scheme.info().fields {
            let r = random(seed ^ field.at ^ 0x7f16, i as u64);
            let bytes = &mut block[field.at as usize..][..field.bytes as usize];
            scales(field.kind, bytes, r, special && r.is_multiple_of(3));
            if field.kind == FieldKind::Bits && special {
                edges(bytes, r);
            }
        }
    }
    out
}

/// A field of numbers, each of them ordinary or any; codes stay what they are.
fn scales(kind: FieldKind, field: &mut [u8], seed: u64, any: bool) {
    for (i, number) in field.chunks_exact_mut(kind.bytes() as usize).enumerate() {
        let r = if i == 0 { seed } else { random(seed, i as u64) };
        match kind {
            FieldKind::Bits => {}
            FieldKind::F16 => {
                let ordinary = (r & 0x83ff) | (7 + (r >> 20) % 4) << 10;
                number.copy_from_slice(&(if any { r >> 32 } else { ordinary } as u16).to_le_bytes());
            }
            FieldKind::E8M0 => {
                const EDGES: [u8; 6] = [0, 1, 127, 253, 254, 255];
                let ordinary = 119 + (r >> 20) % 4;
                number[0] = if any { EDGES[(r >> 32) as usize % EDGES.len()] } else { ordinary as u8 };
            }
            FieldKind::UE4M3 => {
                const EDGES: [u8; 8] = [0, 1, 7, 8, 0x7e, 0x7f, 0x80, 0xff];
                let ordinary = (r & 7) | (4 + (r >> 20) % 5) << 3;
                number[0] = if any { EDGES[(r >> 32) as usize % EDGES.len()] } else { ordinary as u8 };
            }
        }
    }
}

/// Codes at random. Those of floats are neither large nor small, unless the fill is [`Fill::Special`]: then they are
/// any. [`Fill::Patterns`] are all in order, [`Fill::Ints`] the bits themselves.
fn codes(code: Code, n: u64, fill: &Fill, seed: u64) -> Vec<u8> {
    let one = |i: u64| code_of(code, i, fill, random(seed, i));
    if code.bits() == 8 {
        return (0..n).map(one).collect();
    }
    let high = |i: u64| if i < n { one(i) << 4 } else { 0 };
    (0..n.div_ceil(2)).map(|i| one(2 * i) & 15 | high(2 * i + 1)).collect()
}

/// Code i, of these random bits.
fn code_of(code: Code, i: u64, fill: &Fill, r: u64) -> u8 {
    let any = (r >> 24) as u8;
    match (code, fill) {
        (_, Fill::Patterns) => i as u8,
        (_, Fill::Ints(bits)) => nth(bits, i) as u8,
        (_, Fill::Special) => any,
        (Code::F8E4M3Fn, _) => any & 0x87 | ((4 + (r >> 40) % 5) as u8) << 3,
        (Code::F8E5M2, _) => any & 0x83 | ((12 + (r >> 40) % 5) as u8) << 2,
        (Code::F8E8M0, _) => 119 + ((r >> 40) % 4) as u8,
        _ => any,
    }
}

/// Makes a quarter of the bytes such as codes end in: all bits, none, and the extremes of signed bytes and nibbles.
fn edges(field: &mut [u8], seed: u64) {
    const EDGES: [u8; 6] = [0x00, 0xff, 0x80, 0x7f, 0x08, 0xf7];
    for (i, byte) in field.iter_mut().enumerate() {
        let r = random(seed ^ 0xed6e, i as u64);
        if r.is_multiple_of(4) {
            *byte = EDGES[(r >> 32) as usize % EDGES.len()];
        }
    }
}

enum Element {
    Float(f64),
    Int(i64),
    Bits(u64),
    /// As many of the highest bits as the element has.
    HighBits(u64),
}

fn any(dtype: DType, seed: u64, i: u64) -> Element {
    let r = random(seed ^ 0xa5a5, i);
    if dtype == DType::Bool {
        return Element::Int((r & 1) as i64);
    }
    let small = (r % 41) as i64 - 20;
    if dtype.is_float() {
        let fine = (uniform(seed, i) - 0.5) * 20.0;
        return Element::Float(if r & 0x100 == 0 { fine } else { small as f64 / 4.0 });
    }
    Element::Int(if r & 0x700 == 0 { (r >> 16) as i64 } else { small })
}

fn special(dtype: DType, r: u64) -> Element {
    const FLOATS: [f64; 20] = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        0.0,
        1e-40,
        -1e-40,
        3.4e38,
        -3.4e38,
        65504.0,
        65520.0,
        0.5,
        -0.5,
        1.5,
        -1.5,
        2.5,
        8_388_609.0,
        -16_777_217.0,
        1e-7,
        1.0,
    ];
    const INTS: [i64; 12] =
        [0, -1, 1, i64::MIN, i64::MAX, 1 << 31, -(1 << 31), (1 << 24) + 1, (1 << 32) + 1, 127, 128, 65535];
    if dtype.is_float() {
        Element::Float(FLOATS[r as usize % FLOATS.len()])
    } else {
        Element::Int(INTS[r as usize % INTS.len()])
    }
}

fn push(bytes: &mut Vec<u8>, dtype: DType, element: Element) {
    let (f, i) = match element {
        Element::Float(f) => (f, f as i64),
        Element::Int(i) => (i as f64, i),
        Element::Bits(bits) => return bytes.extend(&bits.to_le_bytes()[..dtype.natural_bytes() as usize]),
        Element::HighBits(bits) => {
            return bytes.extend(&bits.to_le_bytes()[8 - dtype.natural_bytes() as usize..]);
        }
    };
    match dtype {
        DType::F32 => bytes.extend((f as f32).to_le_bytes()),
        DType::F16 => bytes.extend(half::f16::from_f64(f).to_le_bytes()),
        DType::BF16 => bytes.extend(half::bf16::from_f64(f).to_le_bytes()),
        // Bool keeps any byte: 2 counts as true.
        DType::I8 | DType::U8 | DType::Bool => bytes.push(i as u8),
        DType::I16 | DType::U16 => bytes.extend((i as u16).to_le_bytes()),
        DType::I32 | DType::U32 => bytes.extend((i as u32).to_le_bytes()),
        DType::I64 | DType::U64 => bytes.extend(i.to_le_bytes()),
    }
}
