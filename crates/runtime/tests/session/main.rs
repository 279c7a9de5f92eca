//! Sessions over a device that keeps bytes in vectors and writes down what it is asked to do. Plans are made by hand.

mod fake;
mod faults;
mod inputs;
mod inspect;
mod params;
mod runs;
mod sketch;
mod states;
mod threads;
