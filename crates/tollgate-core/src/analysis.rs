//! Figures and signals of a change, from its diff alone.
