//! Codes beside scales: values by others' code, what plans make of weights in codes, and who refuses codes.

mod goldens;
mod plans;
mod refusals;
