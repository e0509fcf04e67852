//! The hash chain over the lines of a journal.
use haft_core::{
    Seq,
    chain::{self, ChainFault, ChainValue, Cuts, chained, check, cut, rechained},
};

const LINES: [&str; 3] = [
    r#"{"seq":0,"at":1,"type":"continued"}"#,
    r#"{"seq":1,"at":2,"type":"interrupted"}"#,
    r#"{"seq":2,"at":3,"type":"nudged","text":"a \"chain\":\"b\"}"}"#,
];

fn journal() -> String {
    rechained(&LINES.map(|line| line.to_owned() + "\n").concat())
}

fn fault(journal: &str) -> ChainFault {
    check(journal.as_bytes(), Cuts::Refused).unwrap_err()
}

/// The values of docs/bundle-format.md, made with Python's `hashlib`.
#[test]
fn the_values_are_those_of_the_documented_format() {
    let journal = journal();
    let values: Vec<String> =
        journal.lines().map(|line| line[line.len() - 66..line.len() - 2].to_owned()).collect();
    assert_eq!(values, VALUES);
    let chain = check(journal.as_bytes(), Cuts::Refused).unwrap();
    assert_eq!(
        (chain.lines, chain.unchained, chain.cut, chain.head.to_string().as_str()),
        (3, 0, 0, VALUES[2])
    );
    assert_eq!(chain::end(journal.as_bytes()), chain.head);
    assert_eq!(chain::at(journal.as_bytes(), Seq(1)).unwrap().to_string(), VALUES[1]);
    assert_eq!(chain::at(journal.as_bytes(), Seq(7)), None);
    assert_eq!(rechained(&journal), journal);
}

const VALUES: [&str; 3] = [
    "0e29e4b9d00d1b880fafb7364e1fe029df3e5ef2de1ce4f5f3e5aff0823d16b2",
    "50dcdb0d053779efdf530f8da4502a2b6a2dee4fa0a81c585fb3e3f007912667",
    "c572893bec32915bab9b0dc4c7e0d81c47c659c50b7c1048c4953fc63f42eca7",
];

#[test]
fn every_changed_byte_is_found() {
    let journal = journal().into_bytes();
    for place in 0..journal.len() {
        for bit in [0x01, 0x20, 0x80] {
            let mut changed = journal.clone();
            changed[place] ^= bit;
            assert!(check(&changed, Cuts::Refused).is_err(), "byte {place}, bit {bit:#x}");
            assert!(check(&changed, Cuts::Allowed).is_err(), "byte {place}, bit {bit:#x}");
        }
    }
}

#[test]
fn the_first_place_is_named() {
    let whole = journal();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let [first, second, third] = lines[..] else { panic!("three lines") };
    let bare = LINES.map(|line| line.to_owned() + "\n");
    let table = [
        ("nothing", String::new(), ChainFault::Unchained),
        ("no values", bare.concat(), ChainFault::Unchained),
        ("other order", [second, first, third].concat(), ChainFault::Broken { line: 1 }),
        ("a line is gone", [first, third].concat(), ChainFault::Broken { line: 2 }),
        ("a line twice", [first, second, second, third].concat(), ChainFault::Broken { line: 3 }),
        ("a line without a value", whole.clone() + &bare[0], ChainFault::Missing { line: 4 }),
        ("half a line", whole.clone() + "{\"seq\"", ChainFault::Torn { bytes: 6 }),
    ];
    for (what, journal, expected) in table {
        assert_eq!(fault(&journal), expected, "{what}");
    }
}

#[test]
fn a_journal_that_began_without_a_chain_holds_from_where_it_begins() {
    let old = LINES[..2].join("\n") + "\n";
    let (line, head) = chained(LINES[2], chain::end(old.as_bytes()));
    let journal = old.clone() + &line + "\n";
    let chain = check(journal.as_bytes(), Cuts::Refused).unwrap();
    assert_eq!((chain.lines, chain.unchained, chain.head), (3, 2, head));
    // The first value covers what stands before it.
    assert_eq!(fault(&journal.replacen("\"at\":1", "\"at\":9", 1)), ChainFault::Broken { line: 3 });
    assert_eq!(chain::end(b""), ChainValue::default());
}

#[test]
fn a_line_may_be_cut_in_a_copy_alone() {
    let journal = journal();
    let lines: Vec<&str> = journal.lines().collect();
    let redacted = cut(r#"{"seq":1,"at":2,"type":"[key]"}"#, lines[1]);
    let copy = [lines[0], &redacted, lines[2], ""].join("\n");
    let chain = check(copy.as_bytes(), Cuts::Allowed).unwrap();
    assert_eq!((chain.cut, chain.head.to_string().as_str()), (1, VALUES[2]));
    assert_eq!(fault(&copy), ChainFault::Broken { line: 2 });
}
