//! A graph compiler for neural networks: compile once, run on any GPU with a Vulkan driver
