//! Chat templates whose lists share what they hold: whatever is done with them ends soon, as text or as an error.

use pumice_models::{ChatInput, ChatTemplate, Message, TextError};
use std::sync::mpsc::channel;
use std::thread::spawn;
use std::time::Duration;

/// Far more than the fuel of a rendering takes in a debug build on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// A list of a few hundred bytes that has 2^60 items.
const JOINED: &str =
    "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}";
/// Two lists of 2^60 lists that are equal and not the same.
const NESTED: &str = "{% set a = namespace(x=[]) %}{% set b = namespace(x=[]) %}{% for i in range(60) %}{% set a.x = [a.x, a.x] %}{% set b.x = [b.x, b.x] %}{% endfor %}";
/// The same, deeper than values are written.
const DEEP: &str = "{% set a = namespace(x=[]) %}{% set b = namespace(x=[]) %}{% for i in range(60) %}{% set a.x = [a.x, a.x] %}{% set b.x = [b.x, b.x] %}{% endfor %}{% for i in range(600) %}{% set a.x = [a.x] %}{% set b.x = [b.x] %}{% endfor %}";

/// The result of a template; none where it takes longer. Its thread is left alone then.
fn rendered(source: String) -> Option<Result<String, TextError>> {
    let (sender, receiver) = channel();
    spawn(move || {
        let input = [Message::new("user", "hi")];
        let result = ChatTemplate::new(&source).and_then(|template| template.render(&ChatInput::new(&input)));
        sender.send(result)
    });
    receiver.recv_timeout(SOON).ok()
}

/// Each expression ends with an error, of fuel or of nesting.
fn none_hangs(values: &str, expressions: &[&str]) {
    let hanging: Vec<_> = expressions
        .iter()
        .filter(|expression| {
            let result = rendered(format!("{values}{{{{ {expression} }}}}"));
            let ended = matches!(
                result,
                Some(Err(TextError::TemplateEndless { .. } | TextError::TemplateRender { .. }))
            );
            if !ended {
                eprintln!("{expression}: {:?}", result.map(|r| r.map(|text| text.len())));
            }
            !ended
        })
        .collect();
    assert!(hanging.is_empty(), "{hanging:?}");
}

#[test]
fn joined_lists_are_paid_for_by_their_items() {
    none_hangs(
        JOINED,
        &["ns.x", "ns.x | length", "ns.x[5]", "ns.x == [1]", "ns.x | unique", "{ns.x: 1}", "ns.x is eq [2]"],
    );
}

#[test]
fn comparisons_of_shared_lists_are_paid_for() {
    let comparisons = [
        "a.x == b.x",
        "a.x != b.x",
        "1 == 2 or a.x < b.x",
        "[a.x] + [] >= [b.x]",
        "a.x in [b.x]",
        "a.x is eq b.x",
        "a.x is in [b.x]",
        "[a.x] | select('equalto', b.x) | list | length",
        "[a.x] | rejectattr('0', 'lt', b.x) | list | length",
        "[a.x].index(b.x)",
        "[a.x].count(b.x)",
        "{a.x: 1}",
        "{1 or a.x: 1}[b.x]",
        "{'a': 1}[a.x]",
        "{'a': 1}.get(a.x)",
        "[a.x, b.x] | unique | length",
        "[a.x, b.x] | max | length",
        "[[a.x, b.x]] | sum(start=[]) | length",
        "{'a': a.x, 'b': b.x} | dictsort(by='value')",
    ];
    none_hangs(NESTED, &comparisons);
    none_hangs(DEEP, &comparisons);
}

#[test]
fn a_loop_that_asks_whether_a_list_changed_ends() {
    let source = format!("{NESTED}{{% for i in [a.x, b.x] %}}{{{{ loop.changed(i) }}}}{{% endfor %}}");
    let result = rendered(source);
    assert!(matches!(result, Some(Err(TextError::TemplateEndless { .. }))), "{result:?}");
}

/// What real templates do: lists of messages grow one by one, and all of it is cheap.
#[test]
fn lists_that_grow_by_one_and_plain_comparisons_have_fuel_enough() {
    let source = "{% set ns = namespace(x=[]) %}{% for i in range(1000) %}{% set ns.x = ns.x + [{'role': 'user', 'content': 'a'}] %}{% endfor %}\
        {% set out = namespace(n=0) %}{% for m in ns.x %}{% if m.role == 'user' and m['content'] != '' and not m.role in ['tool'] %}{% set out.n = out.n + 1 %}{% endif %}{% endfor %}\
        {{ out.n }} {{ ['a'] + ['b'] }} {{ (['a'] * 2) == ['a', 'a'] }} {{ [1, 2] | sum }} {% set a = 'a' %}{{ not a in 'b' }}";
    let result = rendered(source.to_owned());
    assert!(matches!(&result, Some(Ok(text)) if text == "1000 ['a', 'b'] True 3 True"), "{result:?}");
}

/// A long text is sought in a list, as templates do that ask whether a message says anything.
#[test]
fn long_texts_are_sought_and_compared() {
    let source = "{% for m in messages %}{{ m.content in ['', none] }} {{ m.content == 'a' }} {{ 'x' in m.content }}{% endfor %}";
    let input = [Message::new("user", "x".repeat(1_000_000))];
    let template = ChatTemplate::new(source).expect("a template");
    let result = template.render(&ChatInput::new(&input));
    assert_eq!(result.as_deref(), Ok("False False True"));
}
