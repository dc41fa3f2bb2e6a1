//! The server, driven over real connections on a board that lives in memory.

mod attacks;
mod auth;
mod client;
mod contract;
mod desk;
mod listen;
mod load;
mod log;
mod routes;
mod world;
