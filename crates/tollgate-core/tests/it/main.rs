//! Tests of the public interface: formats, answers, line maps.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod answer;
mod arbitrary;
mod carry_over;
mod github;
mod head_state;
mod html;
mod input;
mod json;
mod junit;
mod markdown;
mod modules;
mod rdjson;
mod sample;
mod sarif;
mod summary;
