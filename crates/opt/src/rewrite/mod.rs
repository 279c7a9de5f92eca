//! What passes share: facts about a graph, sets of nodes that may become one, making and unmaking `Fused` nodes.

pub mod cost;
pub mod facts;
pub mod fuse;
pub mod groups;
pub mod parts;
pub mod retype;
pub mod stored;

pub use facts::{Facts, TABLE};
pub use groups::Groups;
pub use parts::{Parts, range_of, upper};
pub use stored::{decoded, stored};
