//! What confinement costs: a command with and without, in milliseconds.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
use haft_core::{Confinement, Outside, Overlay, Reach, WorkspaceMount};
use haft_process::Shell;
use std::{env, error::Error, fs, sync::Arc, time::Instant};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    for name in ["workspace", "tmp"] {
        fs::create_dir(root.join(name))?;
    }
    let confined = |reach, overlay| {
        Some(Arc::new(Confinement {
            workspace: root.join("workspace"),
            finds: WorkspaceMount::Overlay(overlay),
            tmp: root.join("tmp"),
            finds_tmp: WorkspaceMount::Itself,
            outside: Outside::Overlays,
            writable: Vec::new(),
            caches: Vec::new(),
            hidden: Vec::new(),
            reach,
            private_hosts: false,
            limits: Default::default(),
        }))
    };
    let ways = [
        ("as it is", None),
        ("confined, on the network", Some(Reach::Everything)),
        ("confined", Some(Reach::Nothing)),
    ];
    for (name, reach) in ways {
        let mut times = Vec::new();
        for number in 0..100 {
            let upper = root.join(format!("{name} {number}"));
            fs::create_dir(&upper)?;
            let overlay = Overlay { work: upper.with_extension("work"), upper };
            let confinement = reach.clone().and_then(|reach| confined(reach, overlay));
            let shell = Shell {
                command: "true".into(),
                folder: root.join("workspace"),
                environment: [("PATH".into(), env::var("PATH")?)].into(),
                timeout: None,
                capture: 1_000,
                spill: None,
                hidden: Arc::default(),
                confinement,
            };
            let begun = Instant::now();
            shell.run(|_| ()).await?;
            times.push(begun.elapsed());
        }
        times.sort();
        println!("{name:<26} {:>5.1} ms", times[times.len() / 2].as_secs_f64() * 1e3);
    }
    Ok(())
}
