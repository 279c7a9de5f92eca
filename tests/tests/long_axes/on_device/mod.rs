//! What needs a Vulkan device.

mod axes;
mod beyond;
mod equal;
mod products;
