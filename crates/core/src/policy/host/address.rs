//! Which addresses are global: those that no registry reserves for a special use.
//!
//! The tables are IANA's special-purpose address registries, `iana-ipv4-special-registry` and
//! `iana-ipv6-special-registry` below <https://www.iana.org/assignments/>, and the addresses
//! besides link-local ones at which clouds answer their own machines (Azure and Alibaba, and over
//! IPv6 Amazon, Google, Oracle, Scaleway, Akamai and Alibaba, as their manuals say).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const THIS_MACHINE: &str = "this machine";
const PRIVATE_NETWORK: &str = "a private network";
const CLOUDS_SERVICE: &str = "a cloud's service for its machines";
const CLOUDS_LINK: &str = "this link, where clouds keep the metadata of machines";
const CARRIERS_NETWORK: &str = "a carrier's own network";

/// The blocks of IPv4 that are not global: an address, the bits of its block, and its use.
const V4: [([u8; 4], u32, &str); 18] = [
    ([0, 0, 0, 0], 8, "this network"),
    ([10, 0, 0, 0], 8, PRIVATE_NETWORK),
    ([100, 100, 100, 200], 32, CLOUDS_SERVICE),
    ([100, 64, 0, 0], 10, CARRIERS_NETWORK),
    ([127, 0, 0, 0], 8, THIS_MACHINE),
    ([169, 254, 0, 0], 16, CLOUDS_LINK),
    ([168, 63, 129, 16], 32, CLOUDS_SERVICE),
    ([172, 16, 0, 0], 12, PRIVATE_NETWORK),
    ([192, 0, 0, 0], 24, "protocols"),
    ([192, 0, 2, 0], 24, "documentation"),
    ([192, 88, 99, 0], 24, "relays"),
    ([192, 168, 0, 0], 16, PRIVATE_NETWORK),
    ([198, 18, 0, 0], 15, "benchmarks"),
    ([198, 51, 100, 0], 24, "documentation"),
    ([203, 0, 113, 0], 24, "documentation"),
    ([224, 0, 0, 0], 4, "groups"),
    ([255, 255, 255, 255], 32, "all machines"),
    ([240, 0, 0, 0], 4, "the future"),
];

/// The blocks within 2000::/3 that are not global.
const V6: [([u16; 8], u32, &str); 4] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "protocols"),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "documentation"),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "relays"),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "documentation"),
];

/// The other blocks that have a name; whatever else is outside 2000::/3 is not global either.
const V6_LOCAL: [([u16; 8], u32, &str); 11] = [
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, THIS_MACHINE),
    ([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32, CLOUDS_SERVICE),
    ([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128, CLOUDS_SERVICE),
    (
        [0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe],
        128,
        CLOUDS_SERVICE,
    ),
    ([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128, CLOUDS_SERVICE),
    ([0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1], 128, CLOUDS_SERVICE),
    (
        [0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200],
        128,
        CLOUDS_SERVICE,
    ),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, PRIVATE_NETWORK),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, "this link"),
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, PRIVATE_NETWORK),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "groups"),
];

/// The block of addresses that translators to IPv4 have (RFC 6052).
const NAT64: ([u16; 8], u32) = ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
/// The block of all global addresses of IPv6.
const GLOBAL_V6: ([u16; 8], u32) = ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// Returns what an address is reserved for, or `None` if it is global.
///
/// An address of IPv6 that leads to one of IPv4 is judged by where it leads.
///
/// ```
/// use orchestrate_core::policy::host::special_use;
/// assert_eq!(special_use("::ffff:127.0.0.1".parse().unwrap()), Some("this machine"));
/// assert_eq!(special_use("64:ff9b::808:808".parse().unwrap()), None);
/// ```
pub fn special_use(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

/// Reports whether a name may lead to an address that is not global where the user has named the
/// host: to a private network, and as `localhost` to this machine. The owner of the name
/// cannot make it lead to where machines keep what they hold for themselves.
///
/// ```
/// use orchestrate_core::policy::host::may_lead_to;
/// assert!(may_lead_to("wiki.corp.example", "10.0.0.7".parse().unwrap()));
/// assert!(!may_lead_to("wiki.corp.example", "127.0.0.1".parse().unwrap()));
/// ```
pub fn may_lead_to(name: &str, address: IpAddr) -> bool {
    match special_use(address) {
        None | Some(PRIVATE_NETWORK | CARRIERS_NETWORK) => true,
        Some(THIS_MACHINE) => is_this_machine(name),
        Some(_) => false,
    }
}

/// Reports whether a name may lead to an address that is not global if the user has named the
/// address as well: to every one but those at which clouds answer their machines, which are asked
/// by their addresses only.
///
/// ```
/// use orchestrate_core::policy::host::may_be_led_to;
/// assert!(may_be_led_to("127.0.0.1".parse().unwrap()));
/// assert!(!may_be_led_to("169.254.169.254".parse().unwrap()));
/// ```
pub fn may_be_led_to(address: IpAddr) -> bool {
    !matches!(special_use(address), Some(CLOUDS_SERVICE | CLOUDS_LINK))
}

/// Reports whether a name stands for this machine wherever it is resolved (RFC 6761).
pub(crate) fn is_this_machine(name: &str) -> bool {
    const LOCALHOST: &str = "localhost";
    name == LOCALHOST
        || name
            .strip_suffix(LOCALHOST)
            .is_some_and(|below| below.ends_with('.'))
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    for (block, bits, used_for) in &V4 {
        let differs = address.to_bits() ^ Ipv4Addr::from(*block).to_bits();
        if differs.leading_zeros() >= *bits {
            return Some(used_for);
        }
    }
    None
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    if is_in_block(address, NAT64.0, NAT64.1) {
        let [.., a, b, c, d] = address.octets();
        return special_v4(Ipv4Addr::new(a, b, c, d));
    }
    if is_in_block(address, GLOBAL_V6.0, GLOBAL_V6.1) {
        return named_block(address, &V6);
    }
    named_block(address, &V6_LOCAL).or(Some("no global host"))
}

/// Reports whether an address begins with so many bits of another one.
fn is_in_block(address: Ipv6Addr, block: [u16; 8], bits: u32) -> bool {
    let differs = address.to_bits() ^ Ipv6Addr::from(block).to_bits();
    differs.leading_zeros() >= bits
}

/// Returns what the first block of a table that contains an address is used for.
fn named_block(address: Ipv6Addr, table: &[([u16; 8], u32, &'static str)]) -> Option<&'static str> {
    for (block, bits, used_for) in table {
        if is_in_block(address, *block, *bits) {
            return Some(used_for);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn used_for(text: &str) -> Option<&'static str> {
        special_use(text.parse().unwrap())
    }

    #[test]
    fn addresses_of_special_use_are_known() {
        let table = [
            ("0.0.0.0", "this network"),
            ("10.255.255.255", "a private network"),
            ("100.64.0.1", "a carrier's own network"),
            ("100.100.100.200", "a cloud's service for its machines"),
            ("127.255.0.1", "this machine"),
            (
                "169.254.169.254",
                "this link, where clouds keep the metadata of machines",
            ),
            ("168.63.129.16", "a cloud's service for its machines"),
            ("172.31.255.255", "a private network"),
            ("192.0.0.192", "protocols"),
            ("192.168.0.1", "a private network"),
            ("198.19.255.255", "benchmarks"),
            ("224.0.0.251", "groups"),
            ("255.255.255.255", "all machines"),
            ("250.1.2.3", "the future"),
            ("::", "no global host"),
            ("::1", "this machine"),
            ("::127.0.0.1", "no global host"),
            ("::ffff:10.0.0.1", "a private network"),
            (
                "64:ff9b::169.254.169.254",
                "this link, where clouds keep the metadata of machines",
            ),
            ("64:ff9b:1::1", "no global host"),
            ("100::1", "no global host"),
            ("2001::1", "protocols"),
            ("2001:db8::1", "documentation"),
            ("2002:7f00:1::", "relays"),
            ("3fff:fff::1", "documentation"),
            ("5f00::1", "no global host"),
            ("fd00:ec2::254", "a cloud's service for its machines"),
            // Amazon's agent that gives the programs of a cluster their keys.
            ("fd00:ec2::23", "a cloud's service for its machines"),
            ("fd20:ce::254", "a cloud's service for its machines"),
            ("fd00:c1::a9fe:a9fe", "a cloud's service for its machines"),
            ("fd00:42::42", "a cloud's service for its machines"),
            ("fd00:a9fe:a9fe::1", "a cloud's service for its machines"),
            ("fd00:100::100:200", "a cloud's service for its machines"),
            ("fd00:42::43", "a private network"),
            ("fe80::1", "this link"),
            ("fec0::1", "a private network"),
            ("ff02::1", "groups"),
        ];
        for (text, expected) in table {
            assert_eq!(used_for(text), Some(expected), "{text}");
        }
    }

    /// The owner of a name that the user has listed chooses the address.
    #[test]
    fn no_name_leads_to_a_clouds_service() {
        let over_v4 = V4
            .iter()
            .filter(|(.., used_for)| *used_for == CLOUDS_SERVICE);
        let over_v6 = V6_LOCAL
            .iter()
            .filter(|(.., used_for)| *used_for == CLOUDS_SERVICE);
        let over_v6 = over_v6.map(|(block, ..)| IpAddr::from(*block));
        for address in over_v4
            .map(|(block, ..)| IpAddr::from(*block))
            .chain(over_v6)
        {
            assert!(
                !may_lead_to("wiki.corp.example", address) && !may_be_led_to(address),
                "{address}"
            );
        }
        assert!(may_lead_to(
            "wiki.corp.example",
            "fd12:3456::1".parse().unwrap()
        ));
    }

    #[test]
    fn addresses_beside_the_blocks_are_global() {
        for text in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "168.63.129.17",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.169.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2001:db7::1",
            "2606:4700::1111",
            "3ffe::1",
            "64:ff9b::1.1.1.1",
            "::ffff:1.1.1.1",
        ] {
            assert_eq!(used_for(text), None, "{text}");
        }
    }

    proptest! {
        /// What leads to an address of IPv4 is judged as that address is.
        #[test]
        fn an_embedded_address_is_judged_by_where_it_leads(bits in any::<u32>()) {
            let own = Ipv4Addr::from_bits(bits);
            let expected = special_use(own.into());
            let [a, b, c, d] = own.octets().map(u16::from);
            let (high, low) = ((a << 8) | b, (c << 8) | d);
            prop_assert_eq!(special_use(own.to_ipv6_mapped().into()), expected);
            let translated = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
            prop_assert_eq!(special_use(translated.into()), expected);
        }

        /// The standard library's own tests for local addresses find nothing that is taken for
        /// global here.
        #[test]
        fn no_local_address_is_global(bits in any::<u32>(), wide in any::<u128>()) {
            let own = Ipv4Addr::from_bits(bits);
            let is_local = own.is_private() || own.is_loopback() || own.is_link_local()
                || own.is_broadcast() || own.is_documentation() || own.is_multicast()
                || own.is_unspecified();
            prop_assert!(!is_local || special_use(own.into()).is_some());
            let own = Ipv6Addr::from_bits(wide);
            let is_local = own.is_loopback() || own.is_unspecified() || own.is_multicast()
                || own.is_unique_local() || own.is_unicast_link_local();
            prop_assert!(!is_local || special_use(own.into()).is_some());
        }
    }
}
