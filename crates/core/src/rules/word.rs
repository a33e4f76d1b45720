//! Words in messages: the one that somebody meant, and lists of them.

/// "`a`, `b` or `c`".
pub fn one_of<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let mut words: Vec<String> = words.into_iter().map(|word| format!("`{}`", word.as_ref())).collect();
    match words.pop() {
        Some(last) if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// `; did you mean …?`, or nothing if no known word is near.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// The known word that differs least: in case only, or in at most about a third of its letters.
fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody means a plan by a whole paragraph, and the distance takes time that grows with the square.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| {
            let distance = distance(&lower, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, candidate)| *distance <= (candidate.len() + 1) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many letters must be changed, added, left out, or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let [one, other]: [Vec<char>; 2] = [one, other].map(|word| word.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let changed = rows[i][j] + usize::from(a != b);
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found() {
        let known = ["rule", "plans", "enabledPlans", "S", "EU", "aws", "azure", "gcp"];
        for (word, near) in [
            ("rules", Some("rule")),
            ("Rule", Some("rule")),
            ("enabledplan", Some("enabledPlans")),
            ("s", Some("S")),
            ("azuer", Some("azure")),
            ("asw", Some("aws")),
            ("awx", Some("aws")),
            ("xyz", None),
            ("alibaba", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), near, "{word}");
        }
    }
}
