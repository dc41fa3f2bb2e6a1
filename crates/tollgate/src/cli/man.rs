//! `tollgate man`: manual pages, generated from the text of `--help`.

use std::path::PathBuf;

use tollgate_engine::failure::Failure;

use super::{Exit, failure, output};

/// Print the manual page, or write those of all commands to a directory
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tollgate man | man -l -                        read the manual\n  \
    tollgate man --out ~/.local/share/man/man1     install it for yourself")]
pub(crate) struct Args {
    /// Write one page per command to this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, command: clap::Command) -> Result<Exit, Failure> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let Some(folder) = &args.out else {
        output::print(&page(command)?)?;
        return Ok(Exit::Success);
    };
    std::fs::create_dir_all(folder).map_err(|error| failure::cannot_write(&folder.display().to_string(), &error))?;
    write_pages(&command, "tollgate", folder)?;
    Ok(Exit::Success)
}

fn write_pages(command: &clap::Command, name: &str, folder: &std::path::Path) -> Result<(), Failure> {
    let titled = command.clone().bin_name(name.replace('-', " ")).display_name(name.to_owned());
    let path = folder.join(format!("{name}.1"));
    output::write_file(&path, &page(titled)?)?;
    output::say(&format!("wrote {}", path.display()));
    for sub in command.get_subcommands() {
        write_pages(sub, &format!("{name}-{}", sub.get_name()), folder)?;
    }
    Ok(())
}

fn page(command: clap::Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| failure::cannot_write("the manual page", &error))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
