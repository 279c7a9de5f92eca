//! The Vulkan device of pumice: records plans and replays them
