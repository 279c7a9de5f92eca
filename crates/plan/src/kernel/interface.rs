//! The GLSL interface of a kernel, in both addressing forms: the text its source includes as `"interface.glsl"`.
//!
//! In comes a declaration, out goes text; no file is read here. The source sees accessors only: it knows neither the
//! addressing form nor whether an argument varies, nor whether the arguments lie in push constants or in a block.

use super::{
    ArgDecl, ArgKind, FloatStorage, HoleDecl, HoleType, KEEP_ID, KernelDecl, OperandAccess, OperandDecl,
    TYPED_ID, VARIES_ID, status,
};
use pumice_types::Scheme;
use std::fmt::Write;

/// How operands are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Addressing {
    /// 64-bit addresses.
    Address,
    /// One storage buffer per operand, slot, frame and block, in this order from binding 0 of set 0.
    Descriptor,
}

impl Addressing {
    /// Both.
    pub const ALL: [Addressing; 2] = [Addressing::Address, Addressing::Descriptor];

    /// The name in file names.
    pub const fn name(self) -> &'static str {
        match self {
            Addressing::Address => "address",
            Addressing::Descriptor => "descriptor",
        }
    }
}

/// The binding of the frame in descriptor form; the block, where there is one, has the next.
pub fn frame_binding(decl: &KernelDecl) -> u32 {
    decl.operands.len() as u32 + decl.slots
}

/// The text that the kernel's source includes.
pub fn glsl(decl: &KernelDecl, form: Addressing) -> String {
    let mut out = format!("// interface of {}, {} form\n", decl.name, form.name());
    write_all(&mut out, decl, form);
    out
}

/// Everything a compiled module depends on besides its sources: both interfaces and the variants. The shader build
/// keeps its hash, so that whoever asks can tell without a shader compiler whether SPIR-V is up to date.
pub fn fingerprint(decl: &KernelDecl) -> String {
    let both: String = Addressing::ALL.iter().map(|&form| glsl(decl, form)).collect();
    format!("{both}{:?}\n{:?}\n{:?}\n{}\n", decl.variants, decl.holes, decl.specs, decl.file)
}

/// The file of a module, in `shaders/spv/`.
pub fn module_file(kernel: &str, variant: &str, form: Addressing) -> String {
    format!("{kernel}.{variant}.{}.spv", form.name())
}

fn write_all(out: &mut String, decl: &KernelDecl, form: Addressing) {
    out.push_str(
        "#extension GL_EXT_buffer_reference : require\n#extension GL_EXT_buffer_reference_uvec2 : require\n",
    );
    out.push_str("#extension GL_EXT_control_flow_attributes : require\n");
    out.push_str(
        "#ifdef WORDS64\n#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n#endif\n",
    );
    out.push_str("#include \"storage.glsl\"\n");
    let _ = writeln!(out, "layout(constant_id = {KEEP_ID}) const bool KEEP = false;");
    let _ = writeln!(out, "layout(constant_id = {VARIES_ID}) const bool VARIES = true;");
    status_consts(out);
    for s in decl.specs {
        let name = s.name.to_uppercase();
        let _ = writeln!(out, "layout(constant_id = {}) const uint {name} = {}u;", s.id, s.default);
    }
    for (k, o) in decl.operands.iter().enumerate().filter(|(_, o)| o.typed) {
        let _ = writeln!(out, "layout(constant_id = {}) const uint T_{} = 0u;", TYPED_ID + k as u32, o.name);
    }
    if decl.operands.iter().any(|o| o.factor) {
        out.push_str("#include \"rounded.glsl\"\n");
    }
    match form {
        Addressing::Address => address_params(out, decl),
        Addressing::Descriptor => descriptor_params(out, decl),
    }
    arg_accessors(out, decl);
    for (k, o) in decl.operands.iter().enumerate() {
        operand(out, o, k as u32, form);
    }
    if decl.slots > 0 {
        slots(out, decl, form);
    }
    if !decl.holes.is_empty() {
        holes(out, decl);
    }
}

/// The members that push constants or block have in common with [`super::Layout`].
fn members(decl: &KernelDecl) -> String {
    let l = decl.layout();
    let mut text = format!("uvec2 frame; uint vary[{}]; uvec2 addr[{}];", l.vary_words, l.addresses.max(1));
    if l.args > 0 {
        let _ = write!(text, " uint args[{}];", l.args);
    }
    text
}

/// Groups of two and four words are moved as 64-bit words where the variant defines `WORDS64`: a CPU driver that
/// handles one lane after the other moves twice the bytes at each step (lavapipe, Mesa 22.3: 14.6 ms instead of 20.4 ms
/// for y = x + x of 16 Mi floats on two threads, 2026-11-21).
const REFERENCES: &str = "\
#ifdef WORDS64
#define Group2_ uint64_t
#define Group4_ u64vec2
#define from_pair(v) unpackUint2x32(v)
#define to_pair(v) packUint2x32(v)
uvec4 from_group(u64vec2 v) { return uvec4(unpackUint2x32(v.x), unpackUint2x32(v.y)); }
u64vec2 to_group(uvec4 v) { return u64vec2(packUint2x32(v.xy), packUint2x32(v.zw)); }
#else
#define Group2_ uvec2
#define Group4_ uvec4
#define from_pair(v) v
#define to_pair(v) v
uvec4 from_group(uvec4 v) { return v; }
uvec4 to_group(uvec4 v) { return v; }
#endif
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer WordsIn { uint d[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Words2In { Group2_ d[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Words4In { Group4_ d[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer WordsOut { uint d[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) writeonly buffer Words2Out { Group2_ d[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Words4Out { Group4_ d[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer WordsBoth { uint d[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Words2Both { Group2_ d[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Words4Both { Group4_ d[]; };
";

fn address_params(out: &mut String, decl: &KernelDecl) {
    out.push_str(REFERENCES);
    let members = members(decl);
    if decl.layout().block {
        let _ = writeln!(
            out,
            "layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Block {{ {members} }};"
        );
        out.push_str("layout(push_constant, std430) uniform Push { uvec2 block; } push_;\n");
        out.push_str("#define P_ Block(push_.block)\n");
    } else {
        let _ = writeln!(out, "layout(push_constant, std430) uniform Push {{ {members} }} push_;");
        out.push_str("#define P_ push_\n");
    }
    out.push_str("uint frame_word(uint w) { return WordsIn(P_.frame).d[w]; }\n");
}

fn descriptor_params(out: &mut String, decl: &KernelDecl) {
    let members = members(decl);
    let frame = frame_binding(decl);
    let _ = writeln!(
        out,
        "layout(set = 0, binding = {frame}, std430) readonly buffer Frame {{ uint d[]; }} frame_;"
    );
    if decl.layout().block {
        let block = frame + 1;
        let _ = writeln!(
            out,
            "layout(set = 0, binding = {block}, std430) readonly buffer Block {{ {members} }} block_;"
        );
        out.push_str(
            "layout(push_constant, std430) uniform Push { uvec2 block; } push_;\n#define P_ block_\n",
        );
    } else {
        let _ = writeln!(out, "layout(push_constant, std430) uniform Push {{ {members} }} push_;");
        out.push_str("#define P_ push_\n");
    }
    out.push_str("uint frame_word(uint w) { return frame_.d[w]; }\n");
}

fn arg_accessors(out: &mut String, decl: &KernelDecl) {
    if decl.args.is_empty() {
        return;
    }
    out.push_str(
        "uint arg_word(uint i) {\n    uint w = P_.args[i];\n    return VARIES && (P_.vary[i >> 5u] >> (i & 31u) & 1u) \
         != 0u ? frame_word(w) : w;\n}\n",
    );
    let mut at = 0;
    for a in decl.args {
        let _ = writeln!(out, "{}", arg_accessor(a, at));
        at += a.words();
    }
}

fn arg_accessor(a: &ArgDecl, at: u32) -> String {
    let (ty, open, close) = match a.kind {
        ArgKind::U32 => ("uint", "", ""),
        ArgKind::I32 => ("int", "int(", ")"),
        ArgKind::F32 => ("float", "uintBitsToFloat(", ")"),
    };
    match a.len {
        None => format!("{ty} arg_{}() {{ return {open}arg_word({at}u){close}; }}", a.name),
        Some(_) => format!("{ty} arg_{}(uint i) {{ return {open}arg_word({at}u + i){close}; }}", a.name),
    }
}

/// Expressions that reach words `i`, `i2` (pairs) and `i4` (groups of four) of one operand.
struct Words {
    load: String,
    load2: String,
    load4: String,
    store: String,
    store2: String,
    store4: String,
}

impl Words {
    /// What is both read and written goes through one undecorated type: a read-only one may be served from a cache that
    /// does not see the stores.
    fn at_address(address: &str, both: bool) -> Words {
        let (input, output) = if both { ("Both", "Both") } else { ("In", "Out") };
        Words {
            load: format!("return Words{input}({address}).d[i];"),
            load2: format!("return from_pair(Words2{input}({address}).d[i2]);"),
            load4: format!("return from_group(Words4{input}({address}).d[i4]);"),
            store: format!("Words{output}({address}).d[i] = v;"),
            store2: format!("Words2{output}({address}).d[i2] = to_pair(v);"),
            store4: format!("Words4{output}({address}).d[i4] = to_group(v);"),
        }
    }

    fn of_buffer(b: &str) -> Words {
        Words {
            load: format!("return {b}.d[i];"),
            load2: format!("return uvec2({b}.d[2u * i2], {b}.d[2u * i2 + 1u]);"),
            load4: format!(
                "return uvec4({b}.d[4u * i4], {b}.d[4u * i4 + 1u], {b}.d[4u * i4 + 2u], {b}.d[4u * i4 + 3u]);"
            ),
            store: format!("{b}.d[i] = v;"),
            store2: format!("{b}.d[2u * i2] = v.x; {b}.d[2u * i2 + 1u] = v.y;"),
            store4: format!(
                "{b}.d[4u * i4] = v.x; {b}.d[4u * i4 + 1u] = v.y; {b}.d[4u * i4 + 2u] = v.z; {b}.d[4u * i4 + 3u] = v.w;"
            ),
        }
    }
}

fn operand(out: &mut String, o: &OperandDecl, k: u32, form: Addressing) {
    let n = o.name;
    let words = match form {
        Addressing::Address => {
            // Read once: inside a loop the address would be read again before every value.
            let _ = writeln!(out, "uvec2 at_{n}_ = P_.addr[{k}];");
            Words::at_address(&format!("at_{n}_"), o.access == OperandAccess::ReadWrite)
        }
        Addressing::Descriptor => {
            let qualifier = match o.access {
                OperandAccess::Read => "readonly ",
                OperandAccess::Write => "writeonly ",
                OperandAccess::ReadWrite | OperandAccess::Status => "",
            };
            let _ = writeln!(
                out,
                "layout(set = 0, binding = {k}, std430) {qualifier}buffer Operand_{n} {{ uint d[]; }} buf_{n};"
            );
            Words::of_buffer(&format!("buf_{n}"))
        }
    };
    match o.access {
        OperandAccess::Read => loads(out, o, &words),
        OperandAccess::Write => stores(out, o, &words),
        OperandAccess::ReadWrite => {
            loads(out, o, &words);
            stores(out, o, &words);
        }
        OperandAccess::Status => status_raise(out, n, k, form),
    }
}

fn loads(out: &mut String, o: &OperandDecl, w: &Words) {
    let n = o.name;
    let _ = writeln!(out, "uint loadu_{n}(uint i) {{ {} }}", w.load);
    let _ = writeln!(out, "uvec2 loadu2_{n}(uint i2) {{ {} }}", w.load2);
    let _ = writeln!(out, "uvec4 loadu4_{n}(uint i4) {{ {} }}", w.load4);
    if o.blocks {
        blocks(out, n);
    }
    if o.factor {
        // What is stored in that dtype is rounded already.
        let stored = if o.typed { format!("ROUND == T_{n} ? v : ") } else { String::new() };
        for ty in ["float", "vec4"] {
            let _ = writeln!(out, "{ty} rounded_{n}({ty} v) {{ return {stored}rounded(v); }}");
        }
    }
    if o.typed {
        let [element, four] = match o.blocks {
            true => ["block_element(i)", "block_quad(4u * i4)"].map(|value| {
                format!("#ifdef BLOCKS\n    if (T_{n} >= {FIRST_SCHEME}u) return {value};\n#endif\n")
            }),
            false => [String::new(), String::new()],
        };
        let _ = writeln!(
            out,
            "float load_{n}(uint i) {{\n{element}    if (T_{n} == 0u) return uintBitsToFloat(loadu_{n}(i));\n    uint h = \
             loadu_{n}(i >> 1u) >> (16u * (i & 1u)) & 0xffffu;\n    return T_{n} == 1u ? f16_to_f32(h) : \
             uintBitsToFloat(h << 16u);\n}}"
        );
        let _ = writeln!(
            out,
            "vec4 load4_{n}(uint i4) {{\n{four}    if (T_{n} == 0u) return uintBitsToFloat(loadu4_{n}(i4));\n    uvec4 h = \
             split_halves(loadu2_{n}(i4));\n    return T_{n} == 1u ? f16_to_f32(h) : uintBitsToFloat(h << 16u);\n}}"
        );
    } else {
        let _ = writeln!(out, "float load_{n}(uint i) {{ return uintBitsToFloat(loadu_{n}(i)); }}");
        let _ = writeln!(out, "vec4 load4_{n}(uint i4) {{ return uintBitsToFloat(loadu4_{n}(i4)); }}");
    }
}

/// The smallest `T_x` of a block scheme.
const FIRST_SCHEME: u32 = 16;

/// The numbers of the schemes, a file of each, what chooses among their functions, and the functions that decode the
/// blocks of this operand by them.
fn blocks(out: &mut String, operand: &str) {
    let names = Scheme::ALL.map(|s| s.info().name);
    let number = |name: &str| format!("SCHEME_{}", name.to_uppercase());
    let constant = |name: &str, of: fn(Scheme) -> String| {
        let cases = Scheme::ALL.map(|s| format!("SCHEME == {} ? {} : ", number(s.info().name), of(s)));
        format!("const uint BLOCK_{name} = {}1u;\n", cases.concat())
    };
    out.push_str("#ifdef BLOCKS\n");
    for scheme in Scheme::ALL {
        let code = FloatStorage::Blocks(scheme).code();
        let _ = writeln!(out, "const uint {} = {code}u;", number(scheme.info().name));
    }
    let _ = writeln!(out, "#define SCHEME T_{operand}");
    out.push_str(&constant("ELEMENTS", |s| format!("{}u", s.elements())));
    out.push_str(&constant("BYTES", |s| format!("{}u", s.bytes())));
    let _ = writeln!(
        out,
        "#ifdef WORDS64\n#define block_word1(i) loadu_{operand}(i)\n#define block_words2(i2) loadu2_{operand}(i2)\n\
         #include \"blocks_pairs.glsl\"\n#else\n#define block_word(i) loadu_{operand}(i)\n#define block_begin(at) (at)\n#endif"
    );
    out.push_str("#include \"blocks/shared.glsl\"\n");
    for name in names {
        let _ = writeln!(out, "#include \"blocks/{name}.glsl\"");
    }
    out.push_str(&constant("SHARING", |s| format!("{}_SHARING", s.info().name)));
    for (result, name, parameters, arguments, none) in [
        ("Shared", "shared", "uint at, uint r", "at, r", "Shared(0.0, 0.0, 0u)"),
        ("uint", "place", "uint r", "r", "0u"),
        ("vec4", "values", "uint at, uint r, uint word, Shared s", "at, r, word, s", "vec4(0.0)"),
    ] {
        let case = |x: &str| format!("    if (SCHEME == {}) return {x}_{name}({arguments});\n", number(x));
        let cases = names.map(case).concat();
        let _ = writeln!(out, "{result} block_{name}({parameters}) {{\n{cases}    return {none};\n}}");
    }
    out.push_str("#include \"blocks.glsl\"\n#endif\n");
}

/// A typed operand has no single-element store: 16-bit elements are stored in pairs (`store2_`) or fours (`store4_`).
fn stores(out: &mut String, o: &OperandDecl, w: &Words) {
    let n = o.name;
    let _ = writeln!(out, "void storeu_{n}(uint i, uint v) {{ {} }}", w.store);
    let _ = writeln!(out, "void storeu2_{n}(uint i2, uvec2 v) {{ {} }}", w.store2);
    let _ = writeln!(out, "void storeu4_{n}(uint i4, uvec4 v) {{ {} }}", w.store4);
    if o.typed {
        let _ = writeln!(
            out,
            "void store2_{n}(uint i2, vec2 v) {{\n    if (T_{n} == 0u) storeu2_{n}(i2, floatBitsToUint(v));\n    else \
             storeu_{n}(i2, T_{n} == 1u ? f32_to_f16(v.x) | f32_to_f16(v.y) << 16u : f32_to_bf16(v.x) | \
             f32_to_bf16(v.y) << 16u);\n}}"
        );
        let _ = writeln!(
            out,
            "void store4_{n}(uint i4, vec4 v) {{\n    if (T_{n} == 0u) storeu4_{n}(i4, floatBitsToUint(v));\n    else \
             storeu2_{n}(i4, T_{n} == 1u ? join_halves(f32_to_f16(v)) : join_halves(f32_to_bf16(v)));\n}}"
        );
    } else {
        let _ = writeln!(out, "void store_{n}(uint i, float v) {{ storeu_{n}(i, floatBitsToUint(v)); }}");
        let _ = writeln!(out, "void store4_{n}(uint i4, vec4 v) {{ storeu4_{n}(i4, floatBitsToUint(v)); }}");
    }
}

fn status_consts(out: &mut String) {
    for (name, mask) in [
        ("INDEX_OUT_OF_RANGE", status::INDEX_OUT_OF_RANGE),
        ("STATE_OVERFLOW", status::STATE_OVERFLOW),
        ("INT_DIV_ZERO", status::INT_DIV_ZERO),
        ("BAD_DISTRIBUTION", status::BAD_DISTRIBUTION),
        ("FOUND_EXTENT", status::FOUND_EXTENT),
    ] {
        let _ = writeln!(out, "const uint STATUS_{name} = {mask}u;");
    }
}

fn status_raise(out: &mut String, n: &str, k: u32, form: Addressing) {
    let words = match form {
        Addressing::Address => format!("WordsBoth(P_.addr[{k}])"),
        Addressing::Descriptor => format!("buf_{n}"),
    };
    let _ = writeln!(
        out,
        "void status_raise(uint flags, uint op, uint position) {{\n    atomicOr({words}.d[0], flags);\n    \
         atomicMin({words}.d[1u + op], position);\n}}"
    );
}

fn slots(out: &mut String, decl: &KernelDecl, form: Addressing) {
    let first = decl.operands.len() as u32;
    let stores = decl.holes.iter().any(|h| h.stores);
    if form == Addressing::Descriptor {
        for s in 0..decl.slots {
            let binding = first + s;
            let _ = writeln!(
                out,
                "layout(set = 0, binding = {binding}, std430) buffer Slot{s} {{ uint d[]; }} buf_slot{s};"
            );
        }
    }
    let kept = decl.variants.iter().all(|v| v.defines.iter().any(|d| d.0 == KEPT_SLOTS));
    if kept {
        keep_slots(out, decl.slots, first, form);
    }
    let address = if kept { "slot_at_[slot]".to_owned() } else { format!("P_.addr[{first}u + slot]") };
    let words = SlotWords { slots: decl.slots, form, address, stores };
    words.loads(out);
    if stores {
        words.stores(out);
        slot_raise(out, decl, form, first);
    }
}

/// Words of the slots, as statements over `slot`.
struct SlotWords {
    slots: u32,
    form: Addressing,
    /// The address of one, as an expression.
    address: String,
    stores: bool,
}

impl SlotWords {
    fn loads(&self, out: &mut String) {
        let load = self.each(|w| &w.load, "");
        let load2 = self.each(|w| &w.load2, "");
        let load4 = self.each(|w| &w.load4, "");
        let _ = writeln!(out, "uint slot_raw(uint slot, uint i) {{ {load} }}");
        let _ = writeln!(out, "uvec2 slot_raw2(uint slot, uint i2) {{ {load2} }}");
        let _ = writeln!(out, "uvec4 slot_raw4(uint slot, uint i4) {{ {load4} }}");
    }

    fn stores(&self, out: &mut String) {
        let store = self.each(|w| &w.store, " break;");
        let store2 = self.each(|w| &w.store2, " break;");
        let store4 = self.each(|w| &w.store4, " break;");
        let _ = writeln!(out, "void slot_store_raw(uint slot, uint i, uint v) {{ {store} }}");
        let _ = writeln!(out, "void slot_store_raw2(uint slot, uint i2, uvec2 v) {{ {store2} }}");
        let _ = writeln!(out, "void slot_store_raw4(uint slot, uint i4, uvec4 v) {{ {store4} }}");
    }

    /// By address one statement; else a switch over buffers, where loads return from each case.
    fn each(&self, pick: fn(&Words) -> &String, end: &str) -> String {
        match self.form {
            Addressing::Address => pick(&Words::at_address(&self.address, self.stores)).clone(),
            Addressing::Descriptor => {
                switch(self.slots, |s| pick(&Words::of_buffer(&format!("buf_slot{s}"))).clone() + end)
            }
        }
    }
}

/// Defined by the variants of a kernel that reads the addresses of its slots once, by `keep_slots()`: where arguments
/// lie in a block each use would read them from memory.
const KEPT_SLOTS: &str = "KEPT_SLOTS";

fn keep_slots(out: &mut String, slots: u32, first: u32, form: Addressing) {
    match form {
        Addressing::Address => {
            let _ = writeln!(
                out,
                "uvec2 slot_at_[{slots}];\nvoid keep_slots() {{ [[unroll]] for (uint s = 0u; s < {slots}u; s++) \
                 slot_at_[s] = P_.addr[{first}u + s]; }}"
            );
        }
        Addressing::Descriptor => out.push_str("void keep_slots() {}\n"),
    }
}

/// `switch (slot)` with one case a slot, the last one the default.
fn switch(slots: u32, case: impl Fn(u32) -> String) -> String {
    let label = |s| if s + 1 == slots { "default".to_owned() } else { format!("case {s}u") };
    let cases: String = (0..slots).map(|s| format!("        {}: {}\n", label(s), case(s))).collect();
    format!("switch (slot) {{\n{cases}    }}")
}

/// `slot_raise(slot, flags, op, position)`: a slot that is the status block.
fn slot_raise(out: &mut String, decl: &KernelDecl, form: Addressing, first: u32) {
    let raise = |b: &str| format!("atomicOr({b}.d[0], flags); atomicMin({b}.d[1u + op], position);");
    let body = match form {
        Addressing::Address => raise(&format!("WordsBoth(P_.addr[{first}u + slot])")),
        Addressing::Descriptor => switch(decl.slots, |s| raise(&format!("buf_slot{s}")) + " break;"),
    };
    let _ = writeln!(out, "void slot_raise(uint slot, uint flags, uint op, uint position) {{ {body} }}");
}

/// Prototypes of what the template defines, and the branch that keeps it all in the module.
fn holes(out: &mut String, decl: &KernelDecl) {
    let mut keep = String::new();
    for h in decl.holes {
        let coords: String = h.coords.iter().map(|c| format!(", uint {c}")).collect();
        let zeros = ", 0u".repeat(h.coords.len());
        let raw = h.ty.raw_glsl();
        let (ty, n) = (h.ty.glsl(), h.name);
        let values: Vec<String> = h.values.iter().map(|v| format!("{ty} {v}")).collect();
        let params = values.join(", ") + &coords;
        let _ = writeln!(out, "{ty} hole_{n}({});", params.trim_start_matches(", "));
        let zero_values = vec![format!("{ty}(0)"); h.values.len()].join(", ") + &zeros;
        let _ = writeln!(keep, "    hole_{n}({});", zero_values.trim_start_matches(", "));
        if decl.slots > 0 {
            let _ = writeln!(out, "{raw} slotload_{n}(uint slot{coords});");
            if h.stores {
                let _ = writeln!(out, "void slotstore_{n}(uint slot{coords}, {raw} bits);");
                let _ = writeln!(keep, "    slotstore_{n}(0u{zeros}, slotload_{n}(0u{zeros}));");
            } else {
                let _ = writeln!(keep, "    slotload_{n}(0u{zeros});");
            }
            wide_hole(out, &mut keep, h, &coords, &zeros);
        }
    }
    let _ = writeln!(out, "void keep_holes() {{\n    if (!KEEP) return;\n{keep}}}");
}

fn wide_hole(out: &mut String, keep: &mut String, h: &HoleDecl, coords: &str, zeros: &str) {
    if h.ty != HoleType::Void1 {
        return;
    }
    let n = h.name;
    let _ = writeln!(out, "uvec2 slotload64_{n}(uint slot{coords});");
    let _ = writeln!(out, "void slotstore64_{n}(uint slot{coords}, uvec2 bits);");
    let _ = writeln!(keep, "    slotstore64_{n}(0u{zeros}, slotload64_{n}(0u{zeros}));");
}
