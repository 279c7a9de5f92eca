//! Small edits of Rust text. In: a file's text. Out: the text with one name more in a list. Never here: files.

/// Widest line that rustfmt leaves alone here.
const WIDTH: usize = 110;

/// Adds `mod name;` (with the visibility of its neighbours) in sorted order, the first one after the `use` lines.
/// `None` if there are neither.
pub fn add_mod_line(text: &str, name: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let declared: Vec<(usize, String)> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((at, mod_name(line)?.to_owned()))).collect();
    if declared.iter().any(|(_, known)| known == name) {
        return Some(text.to_owned());
    }
    let Some((first, _)) = declared.first() else {
        let last_use = lines.iter().rposition(|line| line.starts_with("use ") && line.ends_with(';'))?;
        lines.splice(last_use + 1..last_use + 1, [String::new(), format!("mod {name};")]);
        return Some(joined(lines));
    };
    let prefix = lines[*first].split("mod ").next().unwrap_or("").to_owned();
    let before = declared.iter().find(|(_, known)| known.as_str() > name).map(|(at, _)| *at);
    let at = before.unwrap_or(declared.last()?.0 + 1);
    lines.insert(at, format!("{prefix}mod {name};"));
    Some(joined(lines))
}

fn mod_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) ")).unwrap_or(line);
    Some(rest.strip_prefix("mod ")?.strip_suffix(';')?.trim_start_matches("r#"))
}

/// Adds a name to the whitespace-separated list `list! { A B }` that stands outside any item: in order where the list
/// is sorted, else on a line of its own at the end. `None` if there is no such list, or more than names in it.
pub fn add_to_list(text: &str, list: &str, name: &str) -> Option<String> {
    let head = format!("{list}! {{");
    let start =
        text.match_indices(&head).map(|(at, _)| at).find(|at| *at == 0 || text[..*at].ends_with('\n'))?;
    let inside_start = start + head.len();
    let inside_end = inside_start + text[inside_start..].find('}')?;
    let mut names: Vec<&str> = text[inside_start..inside_end].split_whitespace().collect();
    if names.iter().any(|word| !word.chars().all(|c| c.is_alphanumeric() || c == '_')) {
        return None;
    }
    if names.contains(&name) {
        return Some(text.to_owned());
    }
    if !names.is_sorted() {
        let before = text[..inside_end].trim_end();
        return Some(format!("{before}\n    {name}\n{}", &text[inside_end..]));
    }
    names.insert(names.partition_point(|known| *known < name), name);
    let mut wrapped = String::from("\n   ");
    let mut width = 3;
    for word in names {
        if width + 1 + word.len() > WIDTH {
            wrapped.push_str("\n   ");
            width = 3;
        }
        wrapped.push(' ');
        wrapped.push_str(word);
        width += 1 + word.len();
    }
    wrapped.push('\n');
    Some(format!("{}{wrapped}{}", &text[..inside_start], &text[inside_end..]))
}

/// Adds a line `file Type "file" kind;` to `for_each_op!`, at the end of the group of that folder.
pub fn add_op_line(text: &str, folder: &str, file: &str, name: &str, kind: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let list = lines.iter().position(|line| line.contains("macro_rules! for_each_op"))?;
    let opens = |line: &String| line.trim().strip_suffix(" {") == Some(folder);
    let head = lines.iter().skip(list).position(opens)? + list;
    let end = lines.iter().skip(head).position(|line| line.trim() == "}")? + head;
    let indent: String = lines[head].chars().take_while(|c| *c == ' ').collect();
    let new = format!("{indent}    {file} {name} \"{file}\" {kind};");
    if lines.contains(&new) {
        return Some(text.to_owned());
    }
    lines.insert(end, new);
    Some(joined(lines))
}

/// Adds an empty group `folder { }` with its heading to the end of `for_each_op!`.
pub fn add_group(text: &str, folder: &str, title: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let list = lines.iter().position(|line| line.contains("macro_rules! for_each_op"))?;
    let is_group =
        |line: &&String| line.trim().strip_suffix(" {").is_some_and(|word| !word.contains([' ', '!']));
    let indent: String = lines.iter().skip(list).find(is_group)?.chars().take_while(|c| *c == ' ').collect();
    let close = format!("{indent}}}");
    let length = lines.iter().skip(list).take_while(|line| line.as_str() != "}").count();
    let last = lines[list..list + length].iter().rposition(|line| *line == close)? + list;
    let group = [format!("{indent}// {title}"), format!("{indent}{folder} {{"), close];
    lines.splice(last + 1..last + 1, group);
    Some(joined(lines))
}

fn joined(lines: Vec<String>) -> String {
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mod_lines_stay_sorted() {
        let text = "//! X.\n\npub mod abs;\npub mod exp;\n\nfn f() {}\n";
        let wanted = "//! X.\n\npub mod abs;\npub mod add;\npub mod exp;\n\nfn f() {}\n";
        assert_eq!(add_mod_line(text, "add").as_deref(), Some(wanted));
        assert_eq!(add_mod_line(wanted, "add").as_deref(), Some(wanted));
        assert_eq!(add_mod_line("mod a;\n", "b").as_deref(), Some("mod a;\nmod b;\n"));
        assert_eq!(
            add_mod_line("use x;\n\nfn f() {}\n", "b").as_deref(),
            Some("use x;\n\nmod b;\n\nfn f() {}\n")
        );
        assert_eq!(add_mod_line("fn f() {}\n", "b"), None);
    }

    #[test]
    fn lists_take_a_name_where_it_belongs() {
        let text = "macro_rules! keep { ($($N:ident)*) => {} }\nkeep! {\n    Abs Exp\n}\nhost! { Fft }\n";
        let keep = add_to_list(text, "keep", "Add").expect("the list is there");
        assert!(keep.contains("keep! {\n    Abs Add Exp\n}\n"), "{keep}");
        let host = add_to_list(text, "host", "Sort").expect("the list is there");
        assert!(host.contains("host! {\n    Fft Sort\n}\n"), "{host}");
        let grouped = add_to_list("keep! {\n    Input Param\n    Abs Add\n}\n", "keep", "Exp");
        assert_eq!(grouped.as_deref(), Some("keep! {\n    Input Param\n    Abs Add\n    Exp\n}\n"));
        assert_eq!(add_to_list(text, "none", "Add"), None);
    }

    #[test]
    fn op_lines_go_into_their_group() {
        let text = "macro_rules! for_each_op {\n    control {\n        input Input \"input\" leaf;\n    }\n    elementwise {\n        abs Abs \"abs\" elementwise;\n    }\n}\n";
        let added =
            add_op_line(text, "elementwise", "add", "Add", "elementwise").expect("the group is there");
        let wanted = "        abs Abs \"abs\" elementwise;\n        add Add \"add\" elementwise;\n    }\n";
        assert!(added.contains(wanted), "{added}");
        assert_eq!(add_op_line(text, "signal", "add", "Add", "host"), None);
        let grouped = add_group(text, "signal", "3.9 Signal").expect("a list with groups");
        assert!(grouped.ends_with("    }\n    // 3.9 Signal\n    signal {\n    }\n}\n"), "{grouped}");
        assert!(add_op_line(&grouped, "signal", "fft", "Fft", "host").is_some());
    }
}
