//! As much of DER as certificates and keys need: writing what we issue, and finding the subject in what we are shown.
//! Nothing is trusted for having been read here: certificates are verified by webpki.

use jiff::Timestamp;

pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const UTF8_STRING: u8 = 0x0c;
const INTEGER: u8 = 0x02;
const BOOLEAN: u8 = 0x01;
const NULL: u8 = 0x05;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Object identifiers, as bytes.
pub(super) mod oid {
    pub(crate) const COMMON_NAME: &[u8] = &[0x55, 4, 3];
    pub(crate) const ORGANIZATION: &[u8] = &[0x55, 4, 10];
    /// 1.3.6.1.4.1.57683.2, by which Kubernetes carries a UID in the subject.
    pub(crate) const KUBERNETES_UID: &[u8] = &[0x2b, 6, 1, 4, 1, 0x83, 0xc2, 0x53, 2];
    pub(crate) const RSA_ENCRYPTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
    pub(crate) const SHA256_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
    pub(crate) const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
    pub(crate) const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    pub(crate) const ECDSA_WITH_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    pub(crate) const SUBJECT_KEY_ID: &[u8] = &[0x55, 0x1d, 14];
    pub(crate) const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
    pub(crate) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
    pub(crate) const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
    pub(crate) const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 35];
    pub(crate) const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
    pub(crate) const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
    pub(crate) const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];
}

/// One value with its tag and length.
pub(super) fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len().to_be_bytes();
    let significant = &length[length.iter().position(|&byte| byte != 0).unwrap_or(length.len() - 1)..];
    match significant {
        [short @ ..0x80] => out.push(*short),
        // At most eight bytes, so the count fits.
        long => {
            out.push(0x80 | long.len() as u8);
            out.extend(long);
        }
    }
    out.extend(content);
    out
}

/// Several values as one.
pub(super) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    value(SEQUENCE, &parts.concat())
}

pub(super) fn object_identifier(oid: &[u8]) -> Vec<u8> {
    value(OBJECT_IDENTIFIER, oid)
}

pub(super) fn null() -> Vec<u8> {
    value(NULL, &[])
}

pub(super) fn boolean(truth: bool) -> Vec<u8> {
    value(BOOLEAN, &[if truth { 0xff } else { 0 }])
}

/// A number that is not negative, from its bytes, the biggest first.
pub(super) fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len());
    let significant = &bytes[start..];
    let mut content = Vec::with_capacity(significant.len() + 1);
    if significant.first().is_none_or(|&byte| byte >= 0x80) {
        content.push(0);
    }
    content.extend(significant);
    value(INTEGER, &content)
}

pub(super) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    value(BIT_STRING, &[&[0], bytes].concat())
}

/// A time, in the form that RFC 5280 wants for its year.
pub(super) fn time(time: Timestamp) -> Vec<u8> {
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC);
    if (1950..2050).contains(&zoned.year()) {
        value(UTC_TIME, zoned.strftime("%y%m%d%H%M%SZ").to_string().as_bytes())
    } else {
        value(GENERALIZED_TIME, zoned.strftime("%Y%m%d%H%M%SZ").to_string().as_bytes())
    }
}

/// Takes the first value off: its tag, its content, and the whole of it.
pub(super) fn take<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8], &'a [u8])> {
    let (&tag, rest) = input.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |sum, &byte| (sum << 8) | usize::from(byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    let whole = input.get(..input.len() - rest.len())?;
    *input = rest;
    Some((tag, content, whole))
}

/// Takes a value with a certain tag off, and gives its content.
pub(super) fn expect<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    take(input).filter(|(found, ..)| *found == tag).map(|(_, content, _)| content)
}

/// The subject of a certificate and the key in it, as they are written there.
pub(super) struct Parts<'a> {
    pub subject: &'a [u8],
    pub public_key: &'a [u8],
}

pub(super) fn certificate_parts(mut certificate: &[u8]) -> Option<Parts<'_>> {
    let mut certificate = expect(&mut certificate, SEQUENCE)?;
    let mut body = expect(&mut certificate, SEQUENCE)?;
    const VERSION: u8 = 0xa0;
    if body.first() == Some(&VERSION) {
        take(&mut body)?;
    }
    // The serial number, the algorithm, the issuer, the times.
    for _ in 0..4 {
        take(&mut body)?;
    }
    let (_, _, subject) = take(&mut body)?;
    let (_, _, public_key) = take(&mut body)?;
    Some(Parts { subject, public_key })
}

/// The attributes of a name, in order: which one, and its text.
pub(super) fn name_attributes(mut name: &[u8]) -> Option<Vec<(&[u8], String)>> {
    let mut attributes = Vec::new();
    let mut sets = expect(&mut name, SEQUENCE)?;
    while !sets.is_empty() {
        let mut set = expect(&mut sets, SET)?;
        while !set.is_empty() {
            let mut attribute = expect(&mut set, SEQUENCE)?;
            let which = expect(&mut attribute, OBJECT_IDENTIFIER)?;
            let (tag, content, _) = take(&mut attribute)?;
            attributes.push((which, text(tag, content)?));
        }
    }
    Some(attributes)
}

fn text(tag: u8, content: &[u8]) -> Option<String> {
    const PRINTABLE_STRING: u8 = 0x13;
    const TELETEX_STRING: u8 = 0x14;
    const IA5_STRING: u8 = 0x16;
    const BMP_STRING: u8 = 0x1e;
    match tag {
        UTF8_STRING | PRINTABLE_STRING | IA5_STRING => String::from_utf8(content.to_vec()).ok(),
        TELETEX_STRING => Some(content.iter().copied().map(char::from).collect()),
        BMP_STRING => {
            let units = content.chunks_exact(2).map(|unit| u16::from_be_bytes([unit[0], unit[1]]));
            String::from_utf16(&units.collect::<Vec<_>>()).ok()
        }
        // An attribute of another type is not a name, and no reason to refuse the others.
        _ => Some(String::new()),
    }
}
