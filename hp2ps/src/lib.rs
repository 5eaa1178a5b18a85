//! Charts of `.hp` files.
