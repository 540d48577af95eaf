//! What the crate costs whoever builds with it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, fs, io};

use crate::measure::Spread;
use crate::table::{Bar, Table};

const CALL_SITES: usize = 200;

pub fn measure(table: &mut Table) {
    if let Err(error) = all(table) {
        table.skipped("what the crate costs whoever builds with it", &error.to_string());
    }
}

fn all(table: &mut Table) -> io::Result<()> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let root = env::current_dir()?.join(target).join("bench-users");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    let typed = user(&root, "typed", &call_sites("handle.start(", "&ProviderHandle<ScriptedProvider>"))?;
    let named = user(&root, "named", &call_sites("subagents.start(\"scripted\", ", "&Subagents"))?;
    cold_build(table, &root)?;
    // Once for the crates that both use.
    check(&typed)?;
    check(&named)?;
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..7 {
        times.0.push(check(&typed)?);
        times.1.push(check(&named)?);
    }
    let (typed, named) = (Spread::of(times.0).median, Spread::of(times.1).median);
    let what = "`cargo check` of a user with 200 typed call sites, against 200 by name";
    table.values(what, typed, named, "s", Some(Bar::AtMost(1.1)));
    Ok(())
}

/// Functions that each start a child that asks for some capabilities, in an order of their own.
fn call_sites(start: &str, provider: &str) -> String {
    let asks = [
        ".max_depth(3)",
        ".persona(\"brief\")",
        ".max_steps(steps)",
        ".model(\"large\")",
        ".output::<Answer>()",
    ];
    let mut source = String::from(
        "#![allow(unused)]\nuse subagent::testing::ScriptedProvider;\nuse subagent::{ProviderHandle, Request, Subagents};\n\
         #[derive(serde::Deserialize, schemars::JsonSchema)]\nstruct Answer { number: u32 }\n",
    );
    for site in 0..CALL_SITES {
        let chosen: String = (0..3)
            .map(|ask| asks[(site + ask * (1 + site % 3)) % asks.len()])
            .fold(String::new(), |all, ask| if all.contains(ask) { all } else { all + ask });
        let _ = writeln!(
            source,
            "pub async fn site_{site}(handle: {provider}, subagents: {provider}, steps: std::num::NonZeroU32) -> String {{\n    \
             let run = {start}Request::new(\"work {site}\"){chosen}).await.unwrap();\n    \
             run.collect().await.into_result().unwrap().text().into_owned()\n}}"
        );
    }
    source.push_str("fn main() {}\n");
    source
}

fn user(root: &Path, name: &str, source: &str) -> io::Result<PathBuf> {
    let folder = root.join(name);
    fs::create_dir_all(folder.join("src"))?;
    let subagent = env::current_dir()?;
    fs::write(
        folder.join("Cargo.toml"),
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
             subagent = {{ path = \"{}\" }}\nserde = {{ version = \"1\", features = [\"derive\"] }}\nschemars = \"1\"\n\
             tokio = {{ version = \"1\", features = [\"rt\", \"macros\", \"sync\", \"time\"] }}\n\
             [profile.release]\nstrip = true\n",
            subagent.display()
        ),
    )?;
    fs::copy("Cargo.lock", folder.join("Cargo.lock"))?;
    fs::write(folder.join("src/main.rs"), source)?;
    Ok(folder)
}

/// Seconds that a check takes after a change.
fn check(folder: &Path) -> io::Result<f64> {
    let source = folder.join("src/main.rs");
    let text = fs::read_to_string(&source)?;
    fs::write(&source, text)?;
    cargo(folder, &["check", "--quiet"])
}

fn cargo(folder: &Path, arguments: &[&str]) -> io::Result<f64> {
    let began = Instant::now();
    let told = Command::new("cargo")
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.with_file_name("target"))
        .env("CARGO_INCREMENTAL", "0")
        .output()?;
    if told.status.success() {
        Ok(began.elapsed().as_secs_f64())
    } else {
        Err(io::Error::other(String::from_utf8_lossy(&told.stderr).into_owned()))
    }
}

/// A program that starts a scripted child, against one that spawns a task: time, crates, size.
fn cold_build(table: &mut Table, root: &Path) -> io::Result<()> {
    let with = user(root, "with", WITH)?;
    let without = user(root, "without", WITHOUT)?;
    let manifest = without.join("Cargo.toml");
    let bare = fs::read_to_string(&manifest)?;
    let bare = bare.lines().filter(|line| !line.starts_with("subagent =") && !line.starts_with("schemars ="));
    fs::write(&manifest, bare.collect::<Vec<_>>().join("\n") + "\n")?;
    let target = with.with_file_name("target");
    let mut built = Vec::new();
    for (name, folder) in [("without", &without), ("with", &with)] {
        if target.exists() {
            fs::remove_dir_all(&target)?;
        }
        let seconds = cargo(folder, &["build", "--quiet", "--release"])?;
        let size = fs::metadata(target.join("release").join(name))?.len();
        built.push((seconds, size as f64 / 1024.0, crates(folder)?));
    }
    let [without, with] = built[..] else { return Ok(()) };
    let what = "a cold release build with default features, against one with tokio and serde alone";
    table.values(what, with.0, without.0, "s", None);
    table.values("its crates", with.2, without.2, "crates", None);
    table.values("its program, stripped", with.1, without.1, "KiB", None);
    Ok(())
}

fn crates(folder: &Path) -> io::Result<f64> {
    let told = Command::new("cargo")
        .args(["tree", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"])
        .current_dir(folder)
        .output()?;
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let mut names: Vec<_> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names.len() as f64 - 1.0)
}

const WITH: &str = r#"
use subagent::{Request, Subagents, testing::ScriptedProvider};
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let subagents = Subagents::new();
    let scripted = subagents.register("scripted", ScriptedProvider::replying("ok")).unwrap();
    let run = scripted.start(Request::new("x")).await.unwrap();
    println!("{}", run.collect().await.into_result().unwrap().text());
}
"#;

const WITHOUT: &str = r#"
#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("{}", tokio::spawn(async { String::from("ok") }).await.unwrap());
}
"#;
