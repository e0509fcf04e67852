//! Faults: of networks, tools, files, processes and of hostile input.
mod crashes;
mod endless_replies;
mod hostile;
mod huge_values;
mod interrupted_undos;
mod kills;
mod load;
mod network_faults;
mod odd_files;
mod orphans;
mod tool_faults;
