//! Model configurations to pumice graphs: encoders, tokenizers, pooling
