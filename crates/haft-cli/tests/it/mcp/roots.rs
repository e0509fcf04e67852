//! Which folders a server is told of: tried with the filesystem server of the protocol's authors, which gives up its own
//! folders for those of the client.
use crate::kit::Place;

/// The server's program, to be started with `node`.
fn filesystem_server() -> Option<String> {
    let Ok(modules) = std::env::var("HAFT_NODE_MODULES") else {
        haft_testing::left_out("`HAFT_NODE_MODULES` names no folder that has the filesystem server of MCP");
        return None;
    };
    Some(format!("{modules}/@modelcontextprotocol/server-filesystem/dist/index.js"))
}

#[test]
fn a_server_is_told_of_the_folders_that_the_configuration_names() {
    let Some(program) = filesystem_server() else { return };
    let place = Place::new();
    let folder = |name: &str| {
        let folder = place.path().join("person").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder.display().to_string()
    };
    let (own, first, second) = (folder("own"), folder("first"), folder("second"));
    let work = place.work().display().to_string();
    let two = format!("roots = [{first:?}, \"~/second\"]");
    let table: [(&[&String], &str, &[&String]); 8] = [
        (&[], "", &[&work]),
        (&[&own], "", &[&own]),
        (&[&own], "roots = true", &[&work]),
        (&[&own], "roots = false", &[&own]),
        (&[&own], "roots = []", &[&own]),
        (&[&own], &two, &[&first, &second]),
        (&[], "roots = false", &[]),
        (&[], &two, &[&first, &second]),
    ];
    for (folders, setting, expected) in table {
        let arguments: Vec<&String> = [&program].into_iter().chain(folders.iter().copied()).collect();
        place.configure(&format!("[mcp.files]\ncommand = \"node\"\narguments = {arguments:?}\n{setting}\n"));
        let called = place.run(&[
            "tools",
            "call",
            "mcp__files__list_allowed_directories",
            "{}",
            "--permission",
            "full",
        ]);
        for folder in [&own, &first, &second, &work] {
            let is_listed = called.out.contains(folder.as_str());
            assert_eq!(is_listed, expected.contains(&folder), "{folders:?} {setting}: {called:?}");
        }
    }
}
