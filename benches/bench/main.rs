//! What the seam costs, as a table: `cargo bench --package subagent-benches [SECTION…]`. README.md says how it is measured.

mod actors;
mod builds;
mod in_process;
mod measure;
mod memory;
mod seam;
mod steered;
mod table;
mod typescript;

use subagent_benches::counting::Counting;

use self::table::Table;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Section = (&'static str, fn(&mut Table));

const SECTIONS: [Section; 6] = [
    ("seam", seam::measure),
    ("actors", actors::measure),
    ("typescript", typescript::measure),
    ("in-process", in_process::measure),
    ("memory", memory::measure),
    ("builds", builds::measure),
];

fn main() {
    // Cargo says `--bench`.
    let chosen: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if let Some(unknown) = chosen.iter().find(|chosen| SECTIONS.iter().all(|(name, _)| name != chosen)) {
        eprintln!("no section is called {unknown}: {}", SECTIONS.map(|(name, _)| name).join(", "));
        std::process::exit(2);
    }
    // Cargo runs benches in their package; the target folder is the workspace's.
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).expect("the workspace is there");
    let mut table = Table::default();
    for (name, measure) in SECTIONS {
        if chosen.is_empty() || chosen.iter().any(|chosen| chosen == name) {
            measure(&mut table);
        }
    }
    let path = table.write_json().expect("the table is written");
    println!("\nas JSON: {}", path.display());
}
