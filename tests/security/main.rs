//! The security rules, each in modules that are called after it, on every data plane and in two namespaces. docs/security.md says what each rule
//! promises and to whom.
//!
//! A test here states its rule over all inputs that it can think of; one that can only name a single string belongs to the
//! unit that had the fault. What needs no data plane is called as the controller calls it.

mod r01_text_is_data;
mod r02_grammars;
mod r03_whole_input;
mod r04_admission_is_read_only;
mod r05_bounds;
mod r05_client_floods;
mod r05_external_auth;
mod r05_l4_loops;
mod r05_loops;
mod r05_passthrough;
mod r05_sizes;
mod r05_slow_hashes;
mod r05_slow_names;
mod r05_snippets;
mod r06_access_control;
mod r06_auth_cache;
mod r06_auth_snippets;
mod r06_authorized_server;
mod r06_conditional_headers;
mod r06_digest;
mod r06_firewall;
mod r06_forged_headers;
mod r06_forwarded_prefix;
mod r06_guarding_snippets;
mod r06_header_snippets;
mod r06_hidden_headers;
mod r06_named_services;
mod r06_named_users;
mod r06_operator_locations;
mod r06_operator_snippet;
mod r06_patterns;
mod r06_proxied_locations;
mod r06_second_readings;
mod r06_settings;
mod r06_snippets;
mod r06_snippets_as_nginx;
mod r06_unserved_ingresses;
mod r06_unserved_paths;
mod r07_names_do_not_collide;
mod r08_least_privilege;
mod r08_run_dir;
mod r09_listeners;
mod r09_names;
mod r09_own_addresses;
mod r09_references;
mod r10_fastcgi_parameters;
mod r10_header_lines;
mod r10_hostile_text;
mod r11_denials_are_final;
mod r12_covered_names;
mod r12_host_ownership;
mod r12_internal_locations;
mod r12_invalid_hosts;
mod r12_path_ownership;
mod r12_response_framing;
mod r12_unmatched_paths;
mod r13_isolation;
mod r14_aliases;
mod r15_risk_levels;
mod setup;
mod translation;
