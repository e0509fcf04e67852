//! [`relocated`]: rewrites the paths in a text from one folder to another.

/// Returns `text` with the folder `to` in place of `from`. Only whole paths are replaced: `/work` is neither in
/// `/works` nor in `/other/work`. The root folder is not replaced, since every path begins with it.
pub fn relocated(text: &str, from: &str, to: &str) -> String {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let (mut whole, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(place) = rest.find(from).filter(|_| from.len() > 1) {
        let (before, after) = (&rest[..place], &rest[place + from.len()..]);
        let goes_on = after.chars().next().is_some_and(is_of_name);
        let before_it = before.chars().next_back().or(whole.chars().next_back());
        let is_whole = !goes_on && !before_it.is_some_and(|c| is_of_name(c) || c == '/');
        whole.push_str(before);
        whole.push_str(if is_whole { to } else { from });
        rest = after;
    }
    whole + rest
}
