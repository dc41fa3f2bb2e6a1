//! The table of all states and events.
