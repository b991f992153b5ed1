//! The security rules, each in modules that are called after it, on every data plane and in two namespaces. docs/security.md says what each rule
//! promises and to whom.
//!
//! A test here states its rule over all inputs that it can think of; one that can only name a single string belongs to the
//! unit that had the fault. What needs no data plane is called as the controller calls it.

mod r01_texts_are_data;
mod r02_grammars;
mod r03_whole_values;
mod r04_admission_looks_only;
mod r05_bounds;
mod r05_external_auth;
mod r05_loops;
mod r05_names;
mod r05_slow_hashes;
mod r05_streams;
mod r06_asked_server;
mod r06_auth_cache;
mod r06_forged_headers;
mod r06_guards;
mod r06_ingresses_not_served;
mod r06_paths_not_served;
mod r06_settings;
mod r06_snippets;
mod r07_names_do_not_meet;
mod r08_least_privilege;
mod r08_run_folder;
mod r09_listeners;
mod r09_names;
mod r09_own_addresses;
mod r09_references;
mod r10_everything_is_hostile;
mod r11_denials_are_final;
mod r12_answers;
mod r12_names;
mod r12_odd_hosts;
mod r12_tenancy;
mod r12_tenancy_paths;
mod r13_isolation;
mod r14_aliases;
mod r15_risks;
mod setup;
mod translated;
