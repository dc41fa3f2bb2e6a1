//! Many clients, slow ones, and the end.
