//! `cargo xtask image`: the three images as OCI archives, without a daemon, without root, and the same bytes every time.
//!
//! ```text
//!   debian.rs    packages of the distribution  --+
//!   programs.rs  our programs, Envoy           --+--> folders --oci.rs--> layers, configuration, archive
//!   parts.rs     crates and packages in them   --+
//!                  --> sbom.rs, licences.rs
//! ```

mod debian;
mod licences;
mod oci;
mod parts;
mod programs;
mod recipe;
mod sbom;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use debian::Debian;
use parts::Crates;

use programs::Programs;
use recipe::Recipe;

use crate::arch::Arch;
use crate::step::{Step, say};
use crate::target;
use crate::work_dir::WorkDir;

struct Plan {
    recipes: Vec<Recipe>,
    arch: Arch,
    debug: bool,
    output: PathBuf,
}

impl Plan {
    fn parse(arguments: &[String]) -> Result<Plan> {
        let mut plan = Plan {
            recipes: Vec::new(),
            arch: Arch::of_this_machine()?,
            debug: false,
            output: PathBuf::new(),
        };
        let mut arguments = arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            match argument {
                "--arch" => plan.arch = Arch::parse(arguments.next().unwrap_or_default())?,
                "--debug" => plan.debug = true,
                "--output" => {
                    plan.output = arguments.next().context("--output needs a folder")?.into();
                }
                name => plan.recipes.push(Recipe::parse(name).with_context(|| {
                    "image [controller|envoy|nginx]... [--arch amd64|arm64] [--output DIR] [--debug]"
                })?),
            }
        }
        if plan.recipes.is_empty() {
            plan.recipes = Recipe::ALL.to_vec();
            plan.recipes
                .retain(|recipe| recipe.can_be_built_for(plan.arch));
        }
        for recipe in &plan.recipes {
            let (name, arch) = (recipe.name(), plan.arch.name());
            ensure!(
                recipe.can_be_built_for(plan.arch),
                "{name}: its module is built with the headers of this machine's nginx: build it on a machine with {arch}"
            );
        }
        if plan.debug && !plan.arch.is_native() {
            bail!(
                "--debug is for {} only, this machine's",
                Arch::of_this_machine()?.name()
            );
        }
        if plan.output.as_os_str().is_empty() {
            plan.output = target().join("images").join(plan.arch.name());
        }
        plan.output = std::path::absolute(&plan.output)?;
        Ok(plan)
    }

    /// gzip's: images that nobody fetches may be larger.
    fn effort(&self) -> &'static str {
        if self.debug { "--fast" } else { "--best" }
    }
}

/// Builds what is not built, and packs.
pub(crate) fn image(arguments: &[String]) -> Result<()> {
    let plan = Plan::parse(arguments)?;
    let work_dir = WorkDir::new()?;
    let with_nginx = plan.recipes.contains(&Recipe::Nginx);
    let with_envoy = plan.recipes.contains(&Recipe::Envoy);
    let programs = Programs::build(plan.arch, plan.debug, with_envoy, with_nginx)?;
    fs::create_dir_all(&plan.output).with_context(|| plan.output.display().to_string())?;
    let mut step = Step::start("packages of the distribution");
    let debian = Debian::update(&mut step, plan.arch, &work_dir.create("debian")?)?;
    step.done();
    let mut step = Step::start("crates and their licences");
    let crates = Crates::read(&mut step, plan.arch)?;
    step.done();
    let programs = programs.stripped(&work_dir.create("programs")?, &plan.output.join("debug"))?;
    for recipe in &plan.recipes {
        let mut step = Step::start(&format!("image {}", recipe.name()));
        let image = recipe.prepare(&mut step, &work_dir, &programs, &debian, &crates)?;
        let built = image.write(&mut step, &work_dir, &plan.output, plan.effort())?;
        step.done();
        say(&format!(
            "      {} {} MB\n      {}",
            built.digest,
            built.size >> 20,
            built.archive.display()
        ));
    }
    Ok(())
}
