//! Who shares a state, and who does not.

use std::net::IpAddr;

use tollgate::{Algorithm, Ask, BindError, Cost, Key, Limiter, Part};

use super::{Bench, ask, bound, limiter, slow, ten, tokens};

const CHECK: Ask = Ask::check(Cost::ONE);

/// Each of `keys` passes a limit of one once.
fn all_differ<B: Bench>(bench: &B, keys: &[Key<'_>]) {
    for algorithm in Algorithm::ALL {
        let limiter = limiter(bench, &[slow(algorithm, 1)]);
        for (index, key) in keys.iter().enumerate() {
            let first = ask(bench, &limiter, key.clone(), CHECK);
            assert!(
                first.is_allowed(),
                "{algorithm}: key {index} is not the first of its kind"
            );
        }
        for (index, key) in keys.iter().enumerate() {
            let second = ask(bench, &limiter, key.clone(), CHECK);
            assert!(
                second.is_denied(),
                "{algorithm}: key {index} is not the same again"
            );
        }
    }
}

/// C27: parts are never joined, and kinds of parts never meet.
pub fn keys_with_different_parts_never_meet(bench: &impl Bench) {
    let v4: IpAddr = "127.0.0.1".parse().expect("an address");
    let v6: IpAddr = "2001:db8::1".parse().expect("an address");
    let empty: &[Part<'_>] = &[];
    let four = [
        Part::from("a"),
        Part::from("b"),
        Part::from("c"),
        Part::from("d"),
    ];
    let keys = [
        Key::from(("a:b", "c")),
        Key::from(("a", "b:c")),
        Key::from("a:b:c"),
        Key::from(("aa", "b")),
        Key::from(("a", "ab")),
        Key::from("aab"),
        Key::from(("a", "b_c")),
        Key::from(("a_b", "c")),
        Key::from(("a", "")),
        Key::from(("", "a")),
        Key::from("a"),
        Key::from(("a", "", "")),
        Key::from(("", "", "a")),
        Key::from(""),
        Key::from(empty),
        Key::from(&four[..]),
        Key::from(&four[..3]),
        Key::from("127.0.0.1"),
        Key::from(v4),
        Key::from(&b"127.0.0.1"[..]),
        Key::from(&[127, 0, 0, 1][..]),
        Key::from(0x7f00_0001_u64),
        Key::from("2001:db8::/64"),
        Key::from(v6),
        Key::from("1"),
        Key::from(1_u64),
        Key::from(("1", 1_u64)),
        Key::from((1_u64, "1")),
        Key::from(0_u64),
        Key::from(u64::MAX),
    ];
    all_differ(bench, &keys);
}

/// C30: long keys count to their last byte, and letters are what they are.
pub fn keys_are_neither_cut_nor_folded(bench: &impl Bench) {
    let long = |last: char| format!("{}{last}", "k".repeat(299));
    let longest = |tail: u32| format!("{}{tail}", "k".repeat(1 << 16));
    let texts = [
        long('a'),
        long('b'),
        longest(1),
        longest(2),
        "tess_live_AAAA".to_owned(),
        "tess_live_BBBB".to_owned(),
        "\u{e9}".to_owned(),
        "e\u{301}".to_owned(),
        "Key".to_owned(),
        "key".to_owned(),
        "key ".to_owned(),
        "key\0".to_owned(),
        "\0key".to_owned(),
        "ke{y}".to_owned(),
        "{k}ey".to_owned(),
        "*".to_owned(),
        "\r\n".to_owned(),
    ];
    let mut keys: Vec<Key<'_>> = texts.iter().map(Key::from).collect();
    keys.push(Key::from(&[0xff, 0xfe, 0x00][..]));
    keys.push(Key::from(&[0xff, 0xfe][..]));
    all_differ(bench, &keys);
}

/// Neither policies on one store nor quotas of one policy, whatever they are called.
pub fn limits_on_one_store_share_no_state(bench: &impl Bench) {
    let store = bench.store();
    let names = ["a", "b", "a:0", "a:1", "a0", "A", "", "a\0"];
    let limiters: Vec<_> = (0..)
        .zip(names)
        .map(|(index, name)| {
            let algorithm = Algorithm::ALL[index % Algorithm::ALL.len()];
            bound(Limiter::builder(name).quota(slow(algorithm, 1)), &store)
        })
        .collect();
    for limiter in &limiters {
        let decision = ask(bench, limiter, "key", CHECK);
        assert!(decision.is_allowed(), "{limiter:?}: {decision:?}");
    }
    for limiter in &limiters {
        assert!(ask(bench, limiter, "key", CHECK).is_denied(), "{limiter:?}");
        // A clone is the same limiter.
        assert!(
            ask(bench, &limiter.clone(), "key", CHECK).is_denied(),
            "{limiter:?}"
        );
    }
    // Two quotas with the same numbers are spent each on its own: together they would be at six.
    let twice = ten(Algorithm::TokenBucket);
    let twice = bound(Limiter::builder("twice").quota(twice).quota(twice), &store);
    assert_eq!(
        ask(bench, &twice, "key", Ask::check(tokens(2))).remaining(),
        8
    );
}

/// Two limiters share states only on purpose.
pub fn a_name_is_bound_once(bench: &impl Bench) {
    let store = bench.store();
    let build = |name: &str| {
        Limiter::builder(name)
            .quota(ten(Algorithm::TokenBucket))
            .build(&store)
    };
    let first = build("policy").expect("the first of its name");
    let taken = BindError::NameTaken {
        policy: "policy".to_owned(),
        index: 0,
    };
    assert_eq!(build("policy").err(), Some(taken.clone()));
    assert!(taken.to_string().contains("\"policy\""), "{taken}");
    build("another").expect("another name");
    drop(first);
    build("policy").expect("nobody has the name any more");
}
