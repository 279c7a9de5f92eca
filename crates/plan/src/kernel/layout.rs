//! Where the frame's address, the mask of varying arguments, the operands' addresses and the arguments lie: in push
//! constants, or in an argument block when they would pass 128 bytes. A property of the declaration alone.

use super::KernelDecl;
use super::call::ArgValue;

/// Push constants that every device offers, in bytes.
pub const MAX_PUSH_CONSTANTS: u32 = 128;

/// Byte offsets inside push constants or block.
///
/// `{ uvec2 frame; uint vary[vary_words]; uvec2 addresses[addresses]; uint args[args]; }`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Words of the mask; bit `i % 32` of word `i / 32` says that argument word `i` holds a frame index.
    pub vary_words: u32,
    /// Operands and slots.
    pub addresses: u32,
    /// Argument words.
    pub args: u32,
    /// Offset of the addresses.
    pub addresses_at: u32,
    /// Offset of the arguments.
    pub args_at: u32,
    /// Size of the whole.
    pub size: u32,
    /// Whether it lies in an argument block whose address is the only push constant.
    pub block: bool,
}

/// Offset of the mask; the frame's address lies before it.
pub const VARY_AT: u32 = 8;

impl Layout {
    /// The layout of a declaration.
    pub fn of(decl: &KernelDecl) -> Layout {
        let args = decl.arg_words();
        let vary_words = args.div_ceil(32).max(1).next_multiple_of(2);
        let addresses = decl.operands.len() as u32 + decl.slots;
        let addresses_at = VARY_AT + 4 * vary_words;
        let args_at = addresses_at + 8 * addresses;
        let size = args_at + 4 * args;
        Layout { vary_words, addresses, args, addresses_at, args_at, size, block: size > MAX_PUSH_CONSTANTS }
    }

    /// Bytes of push constants the pipeline takes.
    pub fn push_bytes(&self) -> u32 {
        if self.block { 8 } else { self.size }
    }

    /// The word of the addresses in which literal `k` of a call lies: from the last one down.
    pub fn literal(&self, k: usize) -> Option<usize> {
        let first = (self.args_at / 4) as usize;
        let at = first.checked_sub(1 + k)?;
        (at >= (self.addresses_at / 4) as usize).then_some(at)
    }

    /// The words of push constants or block. `addresses` are those of the operands, then of the bound slots; what is
    /// missing is 0.
    pub fn pack(&self, frame: u64, addresses: &[u64], args: &[ArgValue]) -> Vec<u32> {
        let mut words = vec![0u32; (self.size / 4) as usize];
        let mut put = |at: u32, value: u64| {
            words[(at / 4) as usize] = value as u32;
            words[(at / 4) as usize + 1] = (value >> 32) as u32;
        };
        put(0, frame);
        for (i, &address) in addresses.iter().take(self.addresses as usize).enumerate() {
            put(self.addresses_at + 8 * i as u32, address);
        }
        for (i, arg) in args.iter().take(self.args as usize).enumerate() {
            words[(self.args_at / 4) as usize + i] = match *arg {
                ArgValue::U32(bits) => bits,
                ArgValue::Frame(word) => {
                    words[(VARY_AT / 4) as usize + i / 32] |= 1 << (i % 32);
                    word
                }
            };
        }
        words
    }
}
