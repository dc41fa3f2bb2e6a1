//! Measures tollgate against its peers, side by side in one run.
//!
//! Each measure is a file in `measure/` and gives rows `measure | ours | peer | ratio | bar | ok`. The program ends with
//! 1 when a bar is missed, with 2 when a measure could not be taken. See `README.md` for how to run it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a table")]

mod board;
mod corpus;
mod measure;
mod model;
mod peer;
mod postgres;
mod row;
mod run;
mod scene;
mod socket;

use std::path::PathBuf;
use std::process::ExitCode;

use measure::{Measure, Setting};

const USAGE: &str = "usage: tollgate-bench [--corpus DIR] [--tollgate FILE] [--runs N] [MEASURE…]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        // The ways in which the program starts itself.
        Some((word, command)) if word == run::METER => run::meter(command),
        Some((word, [file])) if word == run::ANALYZE => run::analyze(file),
        Some((word, [database])) if word == measure::BARE => measure::serve_bare(database),
        _ => bench(&arguments),
    }
}

fn bench(arguments: &[String]) -> ExitCode {
    let mut setting = Setting::default();
    let mut names = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().map(PathBuf::from);
        match argument.as_str() {
            "--corpus" => setting.corpus = value(),
            "--tollgate" => setting.tollgate = value(),
            "--runs" => setting.n_runs = value().and_then(|text| text.to_str()?.parse().ok()).unwrap_or(setting.n_runs),
            name if measure::ALL.iter().any(|measure| measure.name == name) => names.push(name),
            other => {
                eprintln!("`{other}` is no measure and no option\n{USAGE}");
                let known: Vec<_> = measure::ALL.iter().map(|measure| measure.name).collect();
                eprintln!("measures: {}", known.join(", "));
                return ExitCode::from(2);
            }
        }
    }
    let chosen = |measure: &&Measure| names.is_empty() || names.contains(&measure.name);
    take(measure::ALL.iter().filter(chosen), &setting)
}

fn take<'m>(measures: impl Iterator<Item = &'m Measure>, setting: &Setting) -> ExitCode {
    let (mut missed, mut failed) = (false, false);
    println!("{}", row::HEADER);
    for measure in measures {
        match (measure.take)(setting) {
            Ok(rows) => {
                for row in rows {
                    println!("{row}");
                    missed |= !row.is_ok();
                }
            }
            Err(error) => {
                eprintln!("`{}` could not be taken: {error}", measure.name);
                failed = true;
            }
        }
    }
    ExitCode::from(if failed { 2 } else { u8::from(missed) })
}
