//! Every scheme gives the bits that the public gguf package gives (`tests/reference/block_goldens.py`).

use pumice_types::Encoding;

fn hex(text: &str, digits: usize) -> Vec<u32> {
    let number = |at: usize| u32::from_str_radix(&text[at..at + digits], 16).expect("hexadecimal");
    (0..text.len()).step_by(digits).map(number).collect()
}

#[test]
fn values_are_those_of_the_gguf_package() {
    let goldens: Vec<&str> = include_str!("blocks.txt").lines().collect();
    let mut schemes = 0;
    for golden in goldens.chunks_exact(3) {
        let encoding: Encoding = golden[0].parse().expect("a scheme");
        let bytes: Vec<u8> = hex(golden[1], 2).into_iter().map(|b| b as u8).collect();
        let bits = |v: &f32| if v.is_nan() { 0x7fc0_0000 } else { v.to_bits() };
        let got: Vec<u32> = encoding.decode(&bytes).expect("blocks").iter().map(bits).collect();
        assert_eq!(got, hex(golden[2], 8), "{encoding}");
        schemes += 1;
    }
    let of_gguf = |s: &&pumice_types::Scheme| s.info().gguf.is_some();
    assert_eq!(schemes, pumice_types::Scheme::ALL.iter().filter(of_gguf).count());
}
