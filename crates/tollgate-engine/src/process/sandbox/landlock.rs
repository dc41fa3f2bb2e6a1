//! Landlock: a thread gives up files, TCP ports, abstract sockets and signals that its rules do not name.

use std::io;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, LandlockStatus, NetPort, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::{LandlockRules, system};

/// The newest version whose rights are asked for; an older kernel holds fewer of them.
const NEWEST: ABI = ABI::V6;

/// The version of landlock in this kernel, `None` without. It is tried on a thread that ends afterwards.
pub(super) fn version() -> Option<i32> {
    let tried = std::thread::spawn(|| enforce(&LandlockRules::default()).ok());
    match tried.join().ok()?? {
        LandlockStatus::Available { effective_abi, .. } => Some(effective_abi as i32),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    }
}

/// Restricts the calling thread.
pub(super) fn restrict(rules: &LandlockRules) -> io::Result<()> {
    match enforce(rules) {
        Ok(LandlockStatus::Available { .. }) => Ok(()),
        Ok(LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => Err(io::ErrorKind::Unsupported.into()),
        Err(error) => Err(io::Error::other(error)),
    }
}

fn enforce(rules: &LandlockRules) -> Result<LandlockStatus, RulesetError> {
    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(AccessFs::from_all(NEWEST))?;
    if rules.ports.is_some() {
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp)?;
    }
    let ports =
        rules.ports.iter().flatten().map(|&port| Ok::<_, RulesetError>(NetPort::new(port, AccessNet::ConnectTcp)));
    let is_empty = rules.readable.is_empty() && rules.writable.is_empty();
    let (folders, devices) = if is_empty { (&[][..], &[][..]) } else { (system::FOLDERS, system::DEVICES) };
    let status = ruleset
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(folders, AccessFs::from_read(NEWEST)))?
        .add_rules(path_beneath_rules(devices, AccessFs::from_all(NEWEST)))?
        .add_rules(path_beneath_rules(&rules.readable, AccessFs::from_read(NEWEST)))?
        .add_rules(path_beneath_rules(&rules.writable, AccessFs::from_all(NEWEST)))?
        .add_rules(ports)?
        .restrict_self()?;
    debug_assert!(status.ruleset != RulesetStatus::NotEnforced || status.landlock == LandlockStatus::NotImplemented);
    Ok(status.landlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does something on a thread that is restricted before.
    fn restricted<T: Send + 'static>(rules: LandlockRules, act: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        version()?;
        let done = std::thread::spawn(move || {
            restrict(&rules).unwrap();
            act()
        });
        Some(done.join().unwrap())
    }

    #[test]
    fn a_restricted_thread_reads_and_writes_only_what_it_is_given() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["read", "write", "other"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("a"), name).unwrap();
        }
        let path = folder.path().to_owned();
        let rules = LandlockRules {
            readable: vec![path.join("read")],
            writable: vec![path.join("write")],
            ports: Some(Vec::new()),
        };
        let seen = restricted(rules, move || {
            let can = |name: &str| {
                let file = path.join(name).join("a");
                (std::fs::read(&file).is_ok(), std::fs::write(&file, "b").is_ok())
            };
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let connects = std::net::TcpStream::connect(listener.local_addr().unwrap()).is_ok();
            let spawned = std::process::Command::new("/bin/sh").args(["-c", "exit 3"]).status();
            (["read", "write", "other"].map(can), connects, spawned.ok().and_then(|status| status.code()))
        });
        let expected = ([(true, false), (true, true), (false, false)], false, Some(3));
        assert!(seen.is_none_or(|seen| seen == expected || version().is_some_and(|version| version < 4)), "{seen:?}");
    }

    #[test]
    fn a_port_that_is_named_can_be_reached() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let rules = LandlockRules { ports: Some(vec![address.port()]), ..LandlockRules::default() };
        let connects = restricted(rules, move || std::net::TcpStream::connect(address).is_ok());
        assert!(connects.unwrap_or(true));
    }
}
