//! `tollgate migrate`: moves all that is kept from one database to another.

use std::fmt::Write as _;

use serde_json::json;
use tollgate_engine::board::machine_name;
use tollgate_engine::config::Layer;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::Location;
use tollgate_engine::store::copy::{self, Compared};

use super::rules::DataFormat;
use super::{Done, Place, memory, output};

/// Copies everything from one database to another, and checks that it arrived
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate migrate --from sqlite:tollgate.db --to postgres://tollgate@db.example/tollgate\n  \
    tollgate migrate --from sqlite:tollgate.db --to postgres://tollgate@db.example/tollgate --check\n  \
    tollgate migrate --from postgres://tollgate@db.example/tollgate --to sqlite:back.db\n\n\
    End servers and workers first: what they write while it is copied is not part of the copy. The target must be\n\
    empty; when something goes wrong it stays so. The source is left as it is.\n\n\
    Exit codes: 0 both hold the same, 1 `--check` found a difference.")]
pub(crate) struct Args {
    /// What is copied: sqlite:FILE or postgres://…
    #[arg(long, value_name = "DATABASE")]
    from: String,
    /// Where it goes: postgres://… or sqlite:FILE
    #[arg(long, value_name = "DATABASE")]
    to: String,
    /// Copy nothing, and compare what both hold
    #[arg(long)]
    check: bool,
    /// For people or for programs
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
}

pub(crate) fn run(place: &Place, args: &Args) -> Result<Done, Failure> {
    let (from, to) = (memory::parse(place, &args.from)?, memory::parse(place, &args.to)?);
    let (tables, is_behind) = if args.check {
        (copy::compare(&from, &to)?, false)
    } else {
        let settings = place.settings(None, Layer::default())?;
        let copied = copy::copy(&from, &to, &machine_name(&settings))?;
        (copied.tables, copied.is_behind)
    };
    let is_same = tables.iter().all(Compared::is_same);
    output::print(&match args.format {
        DataFormat::Text => as_text(&tables),
        DataFormat::Json => as_json(&tables, (&from, &to), !args.check),
    })?;
    if is_behind {
        output::say(
            "warning: something was written to the source meanwhile, and the copy does not have it; end all servers, \
             and copy again into an empty database",
        );
    }
    let n_rows: u64 = tables.iter().map(|table| table.target.rows).sum();
    output::say(&match (args.check, is_same) {
        (false, _) => format!("copied {n_rows} rows from {from} to {to}; both hold the same"),
        (true, true) => format!("{from} and {to} hold the same"),
        (true, false) => format!("{from} and {to} do not hold the same"),
    });
    Ok(if is_same { Done::Fine } else { Done::No })
}

fn as_text(tables: &[Compared]) -> String {
    let width = tables.iter().map(|table| table.table.len()).max().unwrap_or(0);
    let mut text = format!("{:<width$}  {:>9}  sha256\n", "table", "rows");
    for table in tables {
        let (name, source, target) = (&table.table, &table.source, &table.target);
        let _ = writeln!(text, "{name:<width$}  {:>9}  {}", source.rows, source.sha256);
        if !table.is_same() {
            let _ = writeln!(text, "{:<width$}  {:>9}  {}  <- in the target", "", target.rows, target.sha256);
        }
    }
    text
}

fn as_json(tables: &[Compared], (from, to): (&Location, &Location), is_copied: bool) -> String {
    let side = |sum: &copy::Sum| json!({ "rows": sum.rows, "sha256": sum.sha256 });
    let table = |table: &Compared| {
        json!({
            "table": table.table,
            "source": side(&table.source),
            "target": side(&table.target),
            "same": table.is_same(),
        })
    };
    let value = json!({
        "from": from.to_string(),
        "to": to.to_string(),
        "copied": is_copied,
        "same": tables.iter().all(Compared::is_same),
        "tables": tables.iter().map(table).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}
