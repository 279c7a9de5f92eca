//! Small inputs that ask for much: memory is measured, so each test is to run in a process of its own, as nextest has
//! it.

use pumice_import::fuzz::within_memory;
use pumice_models::{ChatInput, ChatTemplate, Message, TextError};

fn render(source: &str) -> Result<String, TextError> {
    ChatTemplate::new(source)?
        .render(&ChatInput::new(&[Message::new("user", "hi")]).add_generation_prompt(true))
}

/// What a template may take at most: the text that its fuel pays for, a few times over while it is made.
const TEMPLATE_KIB: u64 = 200 << 10;

/// A template of 12 KB took 8 GB: `format` and `tojson` write a long string as often as they are told.
#[test]
fn templates_that_multiply_text_end_before_they_take_memory() {
    let long = "{% set x = 'xxxxxxxx' * 500000 %}";
    let fields = format!("{long}{{{{ '{}'.format(x) }}}}", "{0}".repeat(4000));
    let nested = format!("{long}{{% set y = {{'a': x}} %}}{{{{ '{}'.format(y) }}}}", "{0[a]}".repeat(2000));
    let json = format!("{long}{{{{ ([x] * 10000) | tojson }}}}");
    let indented = format!("{long}{{{{ ([x] * 10000) | tojson(indent=4) }}}}");
    let shared = "{% set ns = namespace(x=['xxxxxxxxxxxxxxxx']) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x | tojson }}";
    let text = format!("{long}{{{{ ([x] * 10000) | string }}}}");
    let joined = format!("{long}{{{{ ([x] * 10000) | join(x) }}}}");
    let printed = format!("{long}{{{{ [x] * 10000 }}}}");
    let percent = format!("{long}{{{{ '{}' | format({}) }}}}", "%s".repeat(2000), vec!["x"; 2000].join(","));
    let split = "{% set x = 'x ' * 4000000 %}{{ x.split(' ') | length }}{{ x.split() | length }}".to_owned();
    let replaced = format!("{long}{{{{ x.replace('x', x) }}}}{{{{ x | replace('x', x) }}}}");
    let product = "{% set ns = namespace(x=0) %}{% for i in range(9999) %}{% for j in range(9999) %}{% set ns.x = 'x' * 9999 %}{% endfor %}{% endfor %}".to_owned();
    // Each turn doubles what the chain gives, without a list of it.
    let chained = "{% set ns = namespace(x=[1] * 2) %}{% for i in range(40) %}{% set ns.x = ns.x | chain(ns.x) %}{% endfor %}{{ ns.x | groupby('a') | length }}".to_owned();
    let wide = "{{ 'x' | indent(999999999) }}".to_owned();
    let sorted = format!("{{{{ ([1] * 40000) | sort(attribute='{}') | length }}}}", "a,".repeat(4000));
    let copied = format!("{long}{{{{ [{{'a': x}}] | sort(attribute='{}') | length }}}}", "a,".repeat(1000));
    let starred = "{{ '%*d' | format(999999999, 1) | length }}".to_owned();
    let filled = "{{ '{:{}}'.format('a', 999999999) | length }}".to_owned();
    let all = [
        sorted,
        copied,
        starred,
        filled,
        fields,
        nested,
        json,
        indented,
        shared.to_owned(),
        text,
        joined,
        printed,
        percent,
        split,
        replaced,
        product,
        chained,
        wide,
    ];
    within_memory(TEMPLATE_KIB, || {
        for source in all {
            let result = render(&source);
            assert!(
                matches!(result, Err(TextError::TemplateEndless { .. } | TextError::TemplateRender { .. })),
                "{:?} {}",
                result.map(|text| text.len()),
                &source[..source.len().min(160)]
            );
        }
    });
}

/// A sort of long strings that are alike compares all of their bytes, as often as the list is long: it is paid for
/// before. What a conversation has is sorted.
#[test]
fn putting_long_strings_in_order_is_paid_for() {
    let many = "{% set x = 'xxxxxxxx' * 50000 %}{% set y = [x] * 2000 %}";
    for order in ["sort | length", "unique | list | length", "min | length", "max | length"] {
        let result = render(&format!("{many}{{{{ y | {order} }}}}"));
        assert!(matches!(result, Err(TextError::TemplateEndless { .. })), "{order}: {result:?}");
    }
    let groups = format!("{many}{{% set z = [{{'a': x}}] * 2000 %}}{{{{ z | groupby('a') | length }}}}");
    assert!(matches!(render(&groups), Err(TextError::TemplateEndless { .. })));
    let missing = "{% set x = 'xxxxxxxx' * 50000 %}{{ ([{}] * 2000) | groupby('a', default=x) | length }}";
    assert!(matches!(render(missing), Err(TextError::TemplateEndless { .. })));
    let short = "{{ ['b', 'a', 'B'] | sort | join(',') }} {{ {'b': 1, 'a': 2} | dictsort | length }} {{ [3, 1] | min }}";
    assert_eq!(render(short).expect("it is short"), "a,b,B 2 1");
}

/// Methods that go through a list pay for its items: a loop of calls took minutes.
#[test]
fn methods_that_go_through_lists_are_paid_for() {
    for (list, call) in [
        ("range(100000) | list", "v.count(1)"),
        ("[''] * 100000", "''.join(v)"),
        ("['b'] * 100000", "'a'.startswith(v)"),
    ] {
        let source =
            format!("{{% set v = {list} %}}{{% for i in range(2000) %}}{{% set y = {call} %}}{{% endfor %}}");
        let result = render(&source);
        assert!(matches!(result, Err(TextError::TemplateEndless { .. })), "{call}: {result:?}");
    }
    assert_eq!(render("{{ [1, 2, 1].count(1) }}{{ ','.join(['a', 'b']) }}").as_deref(), Ok("2a,b"));
    assert_eq!(
        render("{{ 'ab'.startswith(('b', 'a')) }}{{ 'ab'.endswith('a') }}").as_deref(),
        Ok("TrueFalse")
    );
}

/// Filters that are paid for take arguments by name, as Jinja2's do.
#[test]
fn paid_filters_take_arguments_by_name() {
    for (source, expected) in [
        ("{{ [{'a': 2}, {'a': 1}] | sort(attribute='a') | map(attribute='a') | join('-') }}", "1-2"),
        (
            "{{ ['a', 'B'] | sort(reverse=true) | join }}{{ ['a', 'A'] | unique(case_sensitive=true) | join }}",
            "BaaA",
        ),
        ("{{ {'b': 1, 'a': 2} | dictsort(by='value') | map('first') | join }}", "ba"),
        ("{{ ([{'a': 2}, {'a': 1}] | min(attribute='a')).a }}", "1"),
        ("{{ [{'a': 2}, {'a': 1}] | join('-', attribute='a') }}", "2-1"),
        ("{{ ([{'b': 3}] | groupby('a', default=7) | first)[0] }}", "7"),
        ("{{ 'a\nb' | indent(width=1, first=true) }}{{ 'aaa' | replace('a', 'b', count=2) }}", " a\n bbba"),
        ("{{ '%(a)s' | format(a=1) }}{{ 'aaa' | replace('a', 'b', 1) }}", "1baa"),
    ] {
        assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
    }
}

/// What becomes text is paid for before it is written, by whichever filter, operator, test or function: a list that
/// holds one long string many times is short. `x ~ y` of such lists took 4 GB.
#[test]
fn lists_of_one_long_string_are_paid_for_before_they_become_text() {
    let uses = [
        "v ~ ''",
        "'' ~ v",
        "1 ~ v ~ 2",
        "{'a': {}} ~ v",
        "v | string",
        "v | join",
        "v | join('', attribute='a')",
        "v | upper",
        "v | lower",
        "v | title",
        "v | capitalize",
        "v | trim",
        "v | indent(2)",
        "v | replace('a', 'b')",
        "'a' | replace('a', v)",
        "'aa' | replace(v, 'b')",
        "v | split(',')",
        "v | lines",
        "v | e",
        "v | escape",
        "v | int",
        "v | float",
        "v | format",
        "'%s' | format(v)",
        "'{}'.format(v)",
        "','.join(v)",
        "v | tojson",
        "v | pprint",
        "v | urlencode",
        "v | length",
        "v | list | string",
        "v | reverse | join",
        "v | first ~ v",
        "v | batch(2) | join",
        "v | map('string') | join",
        "v | map('upper') | join",
        "v | map('unpaid upper') | join",
        "v | select('unpaid lower') | list | length",
        "v | dictsort",
        "v | unique | string",
        "v | groupby('a')",
        "v | sum",
        "v + 'a'",
        "v in 'a'",
        "v not in 'a'",
        "v is in('a')",
        "v == ''",
        "v is startingwith('a')",
        "'a' is startingwith(v)",
        "v is lower",
        "dict(a=v) | string",
        "debug(v)",
        "raise_exception(v)",
        "strftime_now(v)",
        "namespace(a=v) | string",
        "v[::-1] | string",
        "(v, v) | string",
    ];
    let long = "{% set x = 'xxxxxxxx' * 20000 %}";
    within_memory(TEMPLATE_KIB, || {
        for list in ["[x] * 10000", "[[x] * 10000]", "[{'a': [x] * 10000}]"] {
            for what in uses {
                let text = |tag: &str| format!("{long}{{% set v = {list} %}}{tag}");
                let tags = [format!("{{{{ ({what}) | length }}}}"), format!("{{% set w = {what} %}}")];
                for source in tags.map(|tag| text(&tag)) {
                    let result = render(&source).map(|text| text.len());
                    assert!(
                        result.as_ref().is_ok_and(|n| *n < 1000) || result.is_err(),
                        "{source}: {result:?}"
                    );
                }
            }
        }
    });
}

/// What the sign `~` gives is what it gave: text, of the same letters, that compares and counts as text.
#[test]
fn concatenations_are_text() {
    for (source, expected) in [
        ("{{ 'a<' ~ 1 ~ [2, 'b'] ~ none ~ '&' }}", "a<1[2, 'b']None&"),
        ("{{ ('a' ~ 'b') == 'ab' }}{{ 'ab' in ['a' ~ 'b'] }}{{ {'ab': 1}['a' ~ 'b'] }}", "TrueTrue1"),
        ("{{ ('a' ~ '<') | upper ~ ('<' ~ 'x').strip('<') }}{{ ('a' ~ 'b') | length }}", "A<x2"),
        ("{{ ('a' ~ '<' ~ 'b').split('<') | join('>') }}", "a>b"),
        ("{{ ('<' ~ 'b') | e }}{{ '<' | escape }}{{ ('a' ~ '\"') | tojson }}", "&lt;b&lt;\"a\\\"\""),
        ("{% set x %}<b>{% endset %}{{ x ~ '<' + x }}{{ x is string }}", "<b><<b>True"),
        ("{{ 2 * 3 ~ 4 + '5' if 1 ~ 2 == '12' else 0 }}", "645"),
        ("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m('<') ~ m(1) | upper }}", "<<><1>"),
        ("{{ ('{' ~ '}').format('<') }}{{ '%s<' | format('a' ~ '<') }}", "<a<<"),
        ("{{ ['a' ~ '<', '>'] | join('&') }}{{ 'a<' | replace('<', '>' ~ '') }}", "a<&>a>"),
    ] {
        assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
    }
}

/// A template of 152 KB, `{{ a.b.b.b... }}`, overflowed the stack of whoever read it: each link is a call deeper.
#[test]
fn chains_and_nesting_do_not_overflow_a_small_stack() {
    const LONGEST: usize = 64 << 10;
    const TAG: usize = 4 << 10;
    let filled = |begin: &str, link: &str, end: &str| {
        // One tag, or as many as the source has room for.
        let most = if link.starts_with("{%") { LONGEST } else { TAG };
        let links = (most - begin.len() - end.len()) / link.len();
        format!("{begin}{}{end}", link.repeat(links))
    };
    let chains = [
        filled("{{ a", ".b", " }}"),
        filled("{{ a", "|a", " }}"),
        filled("{{ a", "+a", " }}"),
        filled("{{ a", "~a", " }}"),
        filled("{{ a", "[0]", " }}"),
        filled("{{ a", "()", " }}"),
        filled("{{ ", "-", "1 }}"),
        filled("{{ ", "not ", "1 }}"),
        filled("{{ 1", "<1", " }}"),
        filled("{{ 1", " if 1 else 1", " }}"),
        filled("{% if a %}", "{%elif a%}", "{% endif %}"),
        filled("{{ ", "(", "1 }}"),
        filled("{{ ", "[", "1 }}"),
        filled("", "{%if a%}", ""),
        filled("{{ 2", "**2", " }}"),
        filled("{{ a", " and a", " }}"),
    ];
    // As a thread of a server has it.
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let work = move || {
        for source in chains {
            assert!(source.len() <= LONGEST);
            // What is no error to the parser may render; nothing ends the process.
            // What is no error to the parser may render; nothing ends the process.
            let _ = render(&source);
        }
        let chain = |links: usize| format!("{{{{ a{} }}}}", ".b".repeat(links));
        assert_eq!(render(&chain(3000)), Err(TextError::TemplateTag { bytes: 6005, limit: TAG }));
        assert_eq!(render(&chain(76_000)), Err(TextError::TemplateLength { bytes: 152_007, limit: LONGEST }));
    };
    small.spawn(work).expect("a thread").join().expect("no panic");
}

/// Each turn of the loop puts the value into a new list: 70,000 levels, which are written, compared, hashed and
/// dropped.
#[test]
fn values_that_nest_deep_do_not_overflow_the_stack() {
    let nest =
        "{% set ns = namespace(x=1, y=1) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}";
    let half = "{% set ns = namespace(x=1, y=1) %}{% for i in range(30000) %}{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] %}{% endfor %}";
    let uses = [
        "{{ ns.x }}",
        "{{ ns.x | string | length }}",
        "{{ ns.x | tojson }}",
        "{{ ns.x == ns.y }}",
        "{{ {ns.x: 1} }}",
        "{{ [ns.x, ns.y] | sort }}",
        "{{ [ns.x, ns.y] | unique }}",
        "{{ '{}'.format(ns.x) }}",
        "{{ ns.x ~ 1 }}",
        "{{ ns.x in [ns.y] }}",
    ];
    let _ = render(nest);
    for source in uses {
        let _ = render(&format!("{half}{source}"));
    }
    let dicts = "{% set ns = namespace(x=1) %}{% for i in range(40000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}{{ ns.x }}";
    let _ = render(dicts);
    let deep = render(&format!("{half}{{{{ ns.x | tojson }}}}")).expect_err("too deep");
    assert!(deep.to_string().contains("nest deeper than 128"), "{deep}");
}

/// Each sign of a text is a token of some 40 bytes, so a text of 100 MB took 4 GB.
#[test]
fn a_text_of_signs_ends_before_it_takes_memory() {
    let text = format!("graph g {{{}", "+".repeat(20_000_000));
    within_memory(300 << 10, || {
        let error = pumice_ir::text::read(&text).expect_err("refused").to_string();
        assert!(error.contains("more than 4194304 words and signs"), "{error}");
    });
}

/// A text of 2,099 bytes took 3.9 GB: sums of minima multiplied with themselves from node to node.
#[test]
fn extents_that_square_themselves_end_before_they_take_memory() {
    let sum = (2..12).map(|i| format!("min(s, {i})")).collect::<Vec<_>>().join(" + ");
    let mut text = format!("graph g {{\n  symbol s = 1..=64\n  a0: f32[{sum}] = input()\n");
    for i in 0..12 {
        text += &format!(
            "  b{i} = unsqueeze(a{i}) {{ axes = [0] }}\n  c{i} = unsqueeze(a{i}) {{ axes = [1] }}\n"
        );
        text += &format!("  d{i} = mul(b{i}, c{i})\n  a{} = reshape(d{i}) {{ shape = [-1] }}\n", i + 1);
    }
    text += "  output y = a12\n}\n";
    within_memory(16 << 10, || {
        let error = pumice_ir::text::read(&text).expect_err("refused").to_string();
        assert!(error.contains("more than 1024 variables and operations"), "{error}");
    });
}
