//! From a graph to a plan: lowering, placement, schedule
