//! `tollgate migrate`: copies all data from one database to another.

use std::fmt::Write as _;

use serde_json::json;
use tollgate_engine::board::machine_name;
use tollgate_engine::config::Layer;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::Location;
use tollgate_engine::store::copy::{self, TableComparison};

use super::rules::DataFormat;
use super::{CliContext, Exit, output, store_args};

/// Copy all data from one database to another, and verify the copy
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate migrate --from sqlite:tollgate.db --to postgres://tollgate@db.example/tollgate\n  \
    tollgate migrate --from sqlite:tollgate.db --to postgres://tollgate@db.example/tollgate --check\n  \
    tollgate migrate --from postgres://tollgate@db.example/tollgate --to sqlite:back.db\n\n\
    Stop servers and workers first: rows written during the copy are not included. The target must be empty, and\n\
    stays empty on failure. The source is not modified.\n\n\
    Exit codes: 0 both databases are equal, 1 `--check` found a difference.")]
pub(crate) struct Args {
    /// The source: sqlite:FILE or postgres://…
    #[arg(long, value_name = "DATABASE")]
    from: String,
    /// The target: postgres://… or sqlite:FILE
    #[arg(long, value_name = "DATABASE")]
    to: String,
    /// Compare both databases without copying
    #[arg(long)]
    check: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    format: DataFormat,
}

pub(crate) fn run(context: &CliContext, args: &Args) -> Result<Exit, Failure> {
    let (from, to) = (store_args::parse_location(context, &args.from)?, store_args::parse_location(context, &args.to)?);
    let (tables, is_behind) = if args.check {
        (copy::compare(&from, &to)?, false)
    } else {
        let settings = context.settings(None, Layer::default())?;
        let copied = copy::copy(&from, &to, &machine_name(&settings))?;
        (copied.tables, copied.is_behind)
    };
    let is_same = tables.iter().all(TableComparison::is_same);
    output::print(&match args.format {
        DataFormat::Text => as_text(&tables),
        DataFormat::Json => as_json(&tables, (&from, &to), !args.check),
    })?;
    if is_behind {
        output::say(
            "warning: the source changed during the copy, and the copy is incomplete; stop all servers and copy again \
             into an empty database",
        );
    }
    let n_rows: u64 = tables.iter().map(|table| table.target.rows).sum();
    output::say(&match (args.check, is_same) {
        (false, _) => format!("copied {n_rows} rows from {from} to {to}; both databases are equal"),
        (true, true) => format!("{from} and {to} are equal"),
        (true, false) => format!("{from} and {to} differ"),
    });
    Ok(if is_same { Exit::Success } else { Exit::Negative })
}

fn as_text(tables: &[TableComparison]) -> String {
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

fn as_json(tables: &[TableComparison], (from, to): (&Location, &Location), is_copied: bool) -> String {
    let side = |sum: &copy::TableChecksum| json!({ "rows": sum.rows, "sha256": sum.sha256 });
    let table = |table: &TableComparison| {
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
        "same": tables.iter().all(TableComparison::is_same),
        "tables": tables.iter().map(table).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}
