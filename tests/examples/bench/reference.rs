//! Other programs' times: of the same session, from a file, or else figures taken once, said to be old.

use crate::row::{Outcome, Reference};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// PyTorch 2 on an NVIDIA H200, driver 580.159.04, 2026-11-20, in microseconds: the CUDA graph, and for batch 32 eager,
/// which was faster. Another day's figures; a ratio with them is a hint.
const H200_ONCE: [(&str, f64); 10] = [
    ("S1.gemm_1024", 55.8),
    ("S1.gemm_4096", 2705.0),
    ("S1.softmax_8192", 280.0),
    ("S1.layer_norm_8192", 221.0),
    ("S1.column_sum_8192", 75.8),
    ("S1.gelu_chain_8192", 574.0),
    ("S1.chain_2000_fused", 2200.0),
    ("S1.chain_2000_unfused", 2200.0),
    ("S2.minilm_b1_s128", 900.0),
    ("S2.minilm_b32_s128", 3280.0),
];

/// Times by case.
pub struct References {
    known: Vec<(String, Reference)>,
}

impl References {
    /// A file with one JSON object per line: `case`, `us`, `from`. Without a file, the old figures on the card they
    /// were taken on.
    pub fn read(file: Option<&Path>, device: &str) -> Outcome<References> {
        let Some(file) = file else {
            let once = |&(case, us): &(&str, f64)| {
                let from = "PyTorch, taken on 2026-11-20, not in this session".to_owned();
                (case.to_owned(), Reference { us, from })
            };
            let known =
                if device.contains("H200") { H200_ONCE.iter().map(once).collect() } else { Vec::new() };
            return Ok(References { known });
        };
        let said = |what: String| format!("{}: {what}", file.display());
        let text = fs::read_to_string(file).map_err(|e| said(e.to_string()))?;
        let lines = text.lines().filter(|line| !line.trim().is_empty()).enumerate();
        let known = lines
            .map(|(i, line)| entry(line).ok_or_else(|| said(format!("line {}: no case, us, from", i + 1))));
        Ok(References { known: known.collect::<Result<_, _>>()? })
    }

    /// The time of a case.
    pub fn find(&self, case: &str) -> Option<&Reference> {
        self.known.iter().find(|(name, _)| name == case).map(|(_, reference)| reference)
    }
}

fn entry(line: &str) -> Option<(String, Reference)> {
    let value: Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
    Some((text("case")?, Reference { us: value.get("us")?.as_f64()?, from: text("from")? }))
}
