//! The first message of a client that wants to speak TLS, byte by byte, so that it can name any
//! host.

/// Returns that message (RFC 8446, 4.1.2), which names a host to its server if there is one.
pub(crate) fn client_hello(host: Option<&str>) -> Vec<u8> {
    let server_name = host.map(|host| {
        let name = [&[0][..], &long(host.as_bytes())].concat();
        [&[0, 0][..], &long(&long(&name))].concat()
    });
    let algorithms = [&[0, 13][..], &long(&long(&[4, 3, 8, 4, 4, 1]))].concat();
    let groups = [&[0, 10][..], &long(&long(&[0, 29]))].concat();
    let extensions = [server_name.unwrap_or_default(), algorithms, groups].concat();
    let random = [7; 32];
    let suites = long(&[0x13, 1, 0xc0, 0x2f]);
    let hello = [
        &[3, 3][..],
        &random,
        &[0],
        &suites,
        &[1, 0],
        &long(&extensions),
    ]
    .concat();
    let message = [&[1, 0][..], &long(&hello)].concat();
    [&[0x16, 3, 1][..], &long(&message)].concat()
}

/// Returns bytes behind their number, which takes two bytes.
fn long(bytes: &[u8]) -> Vec<u8> {
    let [.., high, low] = bytes.len().to_be_bytes();
    [&[high, low][..], bytes].concat()
}
