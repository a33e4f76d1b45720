//! Writes the rules of a file in their canonical spelling, and leaves the rest of the file as it is.

use super::{
    file,
    finding::Finding,
    parse::{self, Draft},
    rule::Spelled,
    source::Source,
};

/// Spells every rule of a file alike. Comments behind rules keep their column where there is room. A rule that is folded
/// over several lines, or escaped, stays as it is.
///
/// The findings are those that keep it from being read; whether the rules go together is not looked at.
///
/// ```
/// use allotment_core::rules::format;
///
/// let text = "rule:\n- aws( )->EU,S   # note\n";
/// assert_eq!(format(text).map_err(|findings| findings.len()), Ok("rule:\n- aws -> S, EU   # note\n".to_owned()));
/// ```
pub fn format(text: &str) -> Result<String, Vec<Finding>> {
    let source = Source::new(text);
    let file = file::read(text, &source);
    let mut findings = file.findings;
    let mut edits = Vec::new();
    for (index, scalar) in file.rules.iter().enumerate() {
        let Some(scalar) = scalar else { continue };
        let Draft { plan, inputs, outputs, faults } = parse::parse(&scalar.text);
        for fault in faults {
            let place = source.part(scalar, &fault.at);
            findings.add(&source, (fault.code, index + 1, place, None), || fault.message);
        }
        if let (Some(plan), Some(bytes)) = (plan, &scalar.bytes) {
            edits.push((bytes.clone(), Spelled(&plan.name, &inputs, outputs).to_string()));
        }
    }
    if findings.count() > 0 {
        return Err(findings.into_list());
    }
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (bytes, spelled) in edits {
        result.push_str(&text[done..bytes.start]);
        result.push_str(&spelled);
        done = bytes.end + comment_shift(&text[bytes.end..], bytes.len(), spelled.len(), &mut result);
    }
    result.push_str(&text[done..]);
    Ok(result)
}

/// Makes the gap before a comment as much wider or narrower as the rule became shorter or longer, but never less than a
/// blank. Returns how much of the text that took.
fn comment_shift(rest: &str, old_length: usize, new_length: usize, result: &mut String) -> usize {
    let quote = rest.len() - rest.trim_start_matches(['"', '\'']).len();
    let blanks = rest[quote..].len() - rest[quote..].trim_start_matches(' ').len();
    if blanks == 0 || !rest[quote + blanks..].starts_with('#') || old_length == new_length {
        return 0;
    }
    result.push_str(&rest[..quote]);
    let wanted = (blanks + old_length).saturating_sub(new_length).max(1);
    result.extend(std::iter::repeat_n(' ', wanted));
    quote + blanks
}
