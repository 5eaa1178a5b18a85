//! Made-up and mutated inputs of hp2ps, and what holds for every one of them.

pub(crate) mod checks;
pub(crate) mod inputs;
