//! What confinement costs: a command with and without, in milliseconds.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
use haft_core::{Confinement, Found, Overlay, Reach};
use haft_sandbox::Shell;
use std::{env, error::Error, fs, sync::Arc, time::Instant};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    for name in ["workspace", "upper", "work", "tmp"] {
        fs::create_dir(root.join(name))?;
    }
    let overlay = Overlay { upper: root.join("upper"), work: root.join("work") };
    let confined = |reach| {
        Some(Arc::new(Confinement {
            workspace: root.join("workspace"),
            finds: Found::Overlay(overlay.clone()),
            tmp: root.join("tmp"),
            visible: Vec::new(),
            writable: Vec::new(),
            hidden: Vec::new(),
            reach,
            private_hosts: false,
            limits: Default::default(),
        }))
    };
    let ways = [
        ("as it is", None),
        ("confined, on the network", confined(Reach::Everything)),
        ("confined", confined(Reach::Nothing)),
    ];
    for (name, confinement) in ways {
        let mut times = Vec::new();
        for _ in 0..100 {
            let shell = Shell {
                command: "true".into(),
                folder: root.join("workspace"),
                environment: [("PATH".into(), env::var("PATH")?)].into(),
                timeout: None,
                capture: 1_000,
                spill: None,
                hidden: Arc::default(),
                confinement: confinement.clone(),
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
