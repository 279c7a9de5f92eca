"""Short templates, one for each construct that chat templates use, and what transformers makes of them. Part of chat_templates.py."""

# Expressions: what stands between `{{` and `}}`.
EXPRESSIONS = r"""
none
true
[1, 2.0, 'a', none, true, ["b'c"], {'k': 1e-7, "z": 1e16}]
(1, 'a')
(1,)
()
[]
{}
{'b': 1, 'a': {}}
1.0
1.5e300
0.1 + 0.2
1e16
123456789012345680.0
1e-5
-0.0
7 / 2
4 / 2
7 // 2
-7 // 2
7 % 3
-7 % 3
2 ** 10
2 ** -1
2 ** 3 ** 2
-2 ** 2
1 + 2 * 3 - 4
1_000
0x1f
'a' + 'b'
'a' ~ 1 ~ none ~ 1.0 ~ true ~ missing
'a' + 1
'a' + missing
none + 'a'
1 + none
'ab' * 3
[1] * 2
[1] + [2]
[1] + 'a'
(1,) + (2,)
(1,) + [2]
'%s and %d' % ('a', 3)
'%s' % 'x'
'%05.2f|%x|%-4s|%%' % (1.5, 255, 'a')
'%s' | format('x')
'{} {}'.format('a', 1.0)
'{0}-{1}-{0}'.format('a', 'b')
'{a}/{b!r}'.format(a=1, b='x')
'{:>5}|{:<5}|{:^5}|{:05d}|{:.2f}'.format('a', 'b', 'c', 42, 3.14159)
'{}'.format([1, 'a'])
'{}'.format(none)
'{{}}'.format()
1 == 1.0
1 == true
'1' == 1
'a' < 'b'
1 < 2 < 3
3 > 2 > 2
1 < 'a'
none < 1
[1, 2] == [1, 2]
{'a': 1} == {'a': 1.0}
(1, 2) == [1, 2]
not true
not missing
missing
missing.x
missing['x']
missing is defined
missing is undefined
missing == none
missing is none
missing or 'a'
missing and 'a'
'' or 'b'
'a' and 0
missing | default('d')
none | default('d')
none | default('d', true)
'' | default('d', boolean=true)
missing | d
missing | length
missing | trim
missing | list
missing | tojson
missing is string
missing is iterable
missing is sequence
missing is mapping
'a' in missing
missing + 1
missing()
none.x
none.x.y
(none).x is defined
messages[0].nothing is defined
messages[0].nothing.more
messages[5]
messages[5].role
messages[-1].role
messages[0]['role']
messages[0].get('role')
messages[0].get('none')
messages[0].get('none', 'd')
messages[1:]
messages[:1] | length
messages[::-1] | map(attribute='role') | join(',')
'hello'[1:3]
'hello'[-2:]
'hello'[::-1]
'hello'[0]
'hello'[9]
[1, 2, 3][-1]
[1, 2, 3][1:][0]
[1, 2, 3][:-1]
(1, 2, 3)[1]
{'a': 1}.a
{'a': 1}['a']
{'a': 1}['b']
{1: 'x'}[1]
{'items': 1}['items']
{'items': [1]}.items()
{'a': 1, 'b': 2}.items() | list
{'a': 1, 'b': 2}.keys() | list
{'a': 1, 'b': 2}.values() | list
{'a': 1} | items | list
{'b': 1, 'a': 2} | dictsort
{'b': 1, 'a': 2} | dictsort(false, 'value')
{'a': 1} | list
{'a': 1} | length
dict(a=1, b='x')
dict({'a': 1}, b=2)
'a' in {'a': 1}
'x' not in {'a': 1}
'a' in 'cat'
1 in [1, 2]
1 in (1, 2)
1 in 'abc'
'role' in messages[0]
'tool_calls' in messages[0]
'tool' in messages | map(attribute='role')
'yes' if true else 'no'
'yes' if false
('a' if missing else 'b') ~ 'c'
'  x\n'.strip()
'xxaxx'.strip('x')
' \x1f a\u2003\x85'.strip()
'\n\na\n'.lstrip('\n')
'a \n'.rstrip()
'a b  c'.split()
'a b  c'.split(' ')
'a,b,c'.split(',', 1)
'a,b,c'.rsplit(',', 1)
' a b c '.split(none, 1)
' a b c '.rsplit(none, 1)
' a  b '.split(none, 9)
'a,b,c'.split(',', maxsplit=1)
'a,b'.split(sep=',')
'a</t>b</t>c'.split('</t>')[-1]
'a'.split('')
'a\nb\r\nc\x0bd\u2028e'.splitlines()
'a\nb\n'.splitlines(true)
'a-b-c'.partition('-')
'a-b-c'.rpartition('-')
'abc'.partition('x')
'abc'.startswith('a')
'abc'.startswith(('x', 'a'))
'abc'.endswith('bc')
'abc'.find('c')
'abc'.find('x')
'abcabc'.rfind('b')
'abc'.index('b')
'abc'.index('x')
'abcabc'.count('bc')
'aaa'.replace('a', 'b')
'aaa'.replace('a', 'b', 2)
'abc'.upper()
'ABC'.lower()
'straße'.upper()
'hello wORLD'.title()
'hello wORLD'.capitalize()
'Ab'.swapcase()
'ß'.casefold()
'abc'.removeprefix('ab')
'abc'.removesuffix('bc')
'abc'.removeprefix('x')
'7'.zfill(3)
'-7'.zfill(4)
'a'.ljust(3) ~ '|'
'a'.rjust(3, '.')
'a'.center(4) ~ '|'
'12'.isdigit()
'1a'.isalnum()
'ab'.isalpha()
'  '.isspace()
'ab'.islower()
'AB'.isupper()
'a'.isascii()
'a'.nothing()
', '.join(['a', 'b'])
', '.join(['a', 1])
'-'.join('abc')
[1, 2, 1].count(1)
[1, 2].index(2)
[1].append(2)
{'a': 1}.update({'b': 2})
{'a': 1}.copy()
'x' | upper
'X' | lower
'hello world' | title
'hello-world (foo)' | title
'hello' | capitalize
'  a ' | trim
'xax' | trim('x')
'abc' | length
'abc' | count
'abc' | first
'abc' | last
[] | first
[3, 1, 2] | sort
['b', 'A', 'c'] | sort
['b', 'A', 'c'] | sort(case_sensitive=true)
[3, 1, 2] | sort(reverse=true)
[1, 2, 3] | sum
[{'a': 1}, {'a': 2}] | sum(attribute='a')
[1, 2, 3] | max
[1, 2, 3] | min
[1, 1, 2] | unique | list
['a', 'A'] | unique | list
[1, 2, 3] | reverse | list
'abc' | reverse
[1, 2, 3, 4, 5] | batch(2) | list
[1, 2, 3] | batch(2, 0) | list
[1, 2, 3, 4, 5] | slice(2) | list
['a', 'b'] | join
['a', 1, none] | join('-')
messages | map(attribute='content') | list
messages | map(attribute='none', default='d') | join(',')
['a', 'b'] | map('upper') | join
[1, 2, 3, 4] | select('odd') | list
[1, 2, 3, 4] | reject('odd') | list
[1, 0, none, 'a'] | select | list
messages | selectattr('role', 'equalto', 'user') | list | length
messages | selectattr('role', '==', 'user') | map(attribute='content') | first
messages | rejectattr('role', 'eq', 'user') | map(attribute='role') | list
messages | selectattr('tool_calls', 'defined') | list
messages | selectattr('role', 'in', ['user', 'x']) | list | length
messages | groupby('role') | map('first') | list
'a b' | replace(' ', '_')
'abc' | list
'x' | string
1.0 | string
[1.0] | string
none | string
'3' | int
'3.7' | int
'x' | int
'x' | int(7)
3.9 | int
' 42 ' | int
'ff' | int(base=16)
'0x1A' | int(0, 16)
none | int
true | int
'3.5' | float
'x' | float
'x' | float(1.5)
3 | float
'1e3' | float
3.14159 | round(2)
3.5 | round
2.5 | round
3.7 | round(0, 'floor')
3.2 | round(0, 'ceil')
-3 | abs
'a\nb' | indent
'a\nb\n' | indent(2)
'\na' | indent('> ', first=true)
'a\nb' | indent(2, true)
'a\n\nb' | indent(2)
'a\n\nb' | indent(2, blank=true)
'<a>&"' | e
'<a>' | escape
'<a>' | safe
'one two three' | wordcount
'hello world foo' | truncate(8)
'hello' | center(9)
'<b>x</b>' | striptags
{'a': 1} | tojson
{'b': 1, 'a': [1, 2.0, none, true, "é\"\\\n\u2028\x7f"]} | tojson
[1, {'a': []}] | tojson(indent=2)
{} | tojson(indent=2)
{'a': {'b': [1, 2]}} | tojson(indent=4)
{'a': 1} | tojson(indent=0)
{'a': [1]} | tojson(indent='\t')
{'b': 1, 'a': 2} | tojson(sort_keys=true)
{'a': 1, 'b': [1]} | tojson(separators=(',', ':'))
'é🙂<>&\'' | tojson
'é🙂\x7f' | tojson(ensure_ascii=true)
'é' | tojson(ensure_ascii=False)
{'a': 1} | tojson(true, 2)
{1: 2, none: 3, true: 4, 1.5: 5} | tojson
(1, 2) | tojson
1e-7 | tojson
1e22 | tojson
{'a': 1}.items() | tojson
range(3) | list
range(1, 10, 3) | list
range(3)
range(5) | sum
'a' is string
1 is string
1 is number
1.5 is number
true is number
true is boolean
1 is boolean
1 is integer
true is integer
1.0 is float
1 is float
none is none
'a' is iterable
1 is iterable
[1] is iterable
{'a': 1} is mapping
[1] is mapping
'a' is sequence
{} is sequence
1 is sequence
3 is odd
4 is even
4 is divisibleby 2
4 is divisibleby(3)
1 is eq 1
1 is ne 2
1 is lt 2
2 is ge 2
1 is greaterthan 2
'a' is in ['a']
'a' is not in ['a']
'abc' is lower
'ABC' is upper
true is true
1 is true
false is false
none is sameas none
range is callable
'upper' is filter
'odd' is test
not 1 is string
1 is not string
'a' is string and 'b' is string
namespace(a=1).a
namespace(a=1).b
'it\'s'
"say \"hi\""
'tab\there'
'\x41\u00e9\U0001F642'
'\d\/'
'\a\v\\d' | tojson
'\\\'' | length
'a' 'b'
'\101'
'multi
line'
-1 | abs
(-1) | abs
-messages | length
1 if 2 > 1 else 3 | string
'a' ~ 'b' | upper
('a' ~ 'b') | upper
[1, 2] | first + 1
'a' if not missing is defined else 'b'
messages | length > 1
messages | length - 1
messages[0].content + '!' if messages[0].content is string else ''
messages[0].role == 'user' and messages[0].content | length == 2
bos_token + 'x' + eos_token
pad_token
tools
documents
tools is none
add_generation_prompt
strftime_now('%Y-%m-%d')
strftime_now('%d %B %Y, %A %j %y %m')
raise_exception('no')
unheard_of('x')
'x' | unheard_of
'x' is unheard_of
messages[0].items() | list
messages[0] | items | map('first') | join(',')
messages[0]
messages
['a', "b'", 'c"', '\n', 'é', '\u200b', '\u00a0']
[missing]
{'a': missing}
[1, [2, [3]]] | string
(messages | map(attribute='role') | list) == ['user', 'assistant']
messages | map('length') | list
'a,b' | replace(',', ';') | upper | lower | trim
'%.1f' | format(2.25)
'abc' | map('upper') | join
'x' * 0 == ''
'a' < 'B'
[1, 2] < [1, 3]
[[2, 'b'], [1, 'a']] | sort
messages | sort(attribute='role') | map(attribute='role') | join
'{"a": 1}' | tojson
""".strip("\n").split("\n")

STATEMENTS = [
    "{% for i in [1, 2, 3] %}{{ i }}{% if not loop.last %},{% endif %}{% endfor %}",
    "{% for i in [] %}x{% else %}none{% endfor %}",
    "{% for i in missing %}x{% else %}none{% endfor %}",
    "{% for i in none %}x{% endfor %}",
    "{% for i in 5 %}x{% endfor %}",
    "{% for c in 'abc' %}[{{ c }}]{% endfor %}",
    "{% for k in {'a': 1, 'b': 2} %}{{ k }}{% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in {'a': 1} | items %}{{ k }}={{ v }}{% endfor %}",
    "{% for a, b in [(1, 2), [3, 4]] %}{{ a }}{{ b }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for i in range(10) if i % 2 == 0 %}{{ loop.index }}:{{ i }} {% endfor %}",
    "{% for i in range(10) %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in range(5) %}{% if i == 3 %}{% continue %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }} {% endfor %}",
    "{% for i in [1, 2, 3] %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}",
    "{% for i in [1, 2, 3] %}{{ loop.previtem is defined }}{{ loop.nextitem is undefined }} {% endfor %}",
    "{% for i in [1, 1, 2] %}{{ loop.changed(i) }}{% endfor %}",
    "{% for i in [1, 2, 3] %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for i in [[1, [2]], [3]] recursive %}{% if i is iterable %}<{{ loop(i) }}>{% else %}{{ i }}{% endif %}{% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }} {% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2} | items %}{{ k }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% for k in {'a': 1, 'b': 2}.keys() %}{{ k }}{{ loop.last }}{% endfor %}",
    "{% for k in {'a': 1, 'b': 2}.values() %}{{ k }}{{ loop.last }}{% endfor %}",
    "{% for k in {'a': 1, 'b': 2} %}{{ k }}{{ loop.last }}{{ loop.length }}{% endfor %}",
    "{% for k in {'b': 1, 'a': 2} | dictsort %}{{ k }}{{ loop.last }}{% endfor %}",
    "{% for k in [1, 2] | reverse %}{{ k }}{{ loop.last }}{{ loop.revindex0 }}{% endfor %}",
    "{% for k in [1, 2, 3] | batch(2) %}{{ k }}{{ loop.last }}{% endfor %}",
    "{% for k in [1, 1, 2] | unique %}{{ k }}{{ loop.last }}{% endfor %}",
    "{% for k in ([1, 2] + [3])[1:] %}{{ k }}{{ loop.last }}{{ loop.length }}{% endfor %}",
    "{% for k in messages | map(attribute='role') %}{{ k }}{{ loop.last }}{% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2}.items() if k != 'b' %}{{ k }}{{ loop.last }}{% endfor %}",
    "{% for k in range(3) %}{{ k }}{{ loop.last }}{{ loop.length }}{% endfor %}",
    "{% for k in 'ab' %}{{ k }}{{ loop.last }}{% endfor %}",
    "{% for k in 'a b'.split() %}{{ k }}{{ loop.last }}{{ loop.length }}{% endfor %}",
    "{% for i in [1, 2] %}{% for j in [1, 2] %}{{ i }}{{ j }}{{ loop.index }} {% endfor %}{{ loop.index }}{% endfor %}",
    "{% for m in messages | selectattr('role', 'equalto', 'user') %}{{ m.content }}{{ loop.length }}{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
    "{% set ns = namespace(x=1, l=[]) %}{% for i in [1, 2] %}{% set ns.x = ns.x + i %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.x }}{{ ns.l }}",
    "{% set ns = namespace() %}{% set ns.a = 'b' %}{{ ns.a }}{{ ns.c is defined }}",
    "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}",
    "{% set d = {'a': 1} %}{% set d.a = 2 %}{{ d.a }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set a, b = (1, 2) %}{{ b }}{{ a }}",
    "{% set x = 'a' if true else 'b' %}{{ x }}",
    "{% set x %}block {{ 1 + 1 }}{% endset %}[{{ x }}]{{ x | length }}",
    "{% set x | upper %}block{% endset %}{{ x }}",
    "{% if true %}{% set x = 5 %}{% endif %}{{ x }}",
    "{% if messages %}a{% elif x %}b{% else %}c{% endif %}",
    "{% if missing %}a{% elif messages[0].role == 'user' %}b{% else %}c{% endif %}",
    "{% if [] %}a{% endif %}{% if {} %}b{% endif %}{% if 0 %}c{% endif %}{% if 0.0 %}d{% endif %}{% if '' %}e{% endif %}{% if none %}f{% endif %}{% if ' ' %}g{% endif %}",
    "{% if messages | selectattr('role', 'equalto', 'nobody') %}a{% else %}b{% endif %}",
    "{% if messages | selectattr('role', 'equalto', 'nobody') | list %}a{% else %}b{% endif %}",
    "{% if messages | map(attribute='x') %}a{% endif %}{% if [] | reverse %}b{% endif %}{% if {} | items %}c{% endif %}{% if [] | batch(2) %}d{% endif %}",
    "{% macro m(a, b='d', c=none) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, 2) }}|{{ m(1, c=3) }}|{{ m(a='x') }}",
    "{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m() }}{{ m(1) | length }}{{ m(1) ~ 'x' }}{{ m('a') + 'b' }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}",
    "{% macro m(a, b=a ~ '!') %}{{ b }}{% endmacro %}{{ m('x') }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}",
    "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% macro wrap(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call wrap('b') %}in{% endcall %}",
    "{% macro each(l) %}{% for i in l %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(x) each([1, 2]) %}[{{ x }}]{% endcall %}",
    "{% set g = 1 %}{% macro m() %}{{ g }}{% endmacro %}{{ m() }}",
    "{% for i in [1] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% macro m() %}{{ messages[0].role }}{{ bos_token }}{% endmacro %}{{ m() }}",
    "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}",
    "{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}",
    "{% macro m(x) %}{% set y = x %}{{ y }}{% endmacro %}{{ m(1) }}{{ y }}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% filter upper %}abc{{ 'd' }}{% endfilter %}",
    "{% raw %}{{ x }}{% if %}{% endraw %}",
    "{# a comment {{ x }} #}x",
    "{% generation %}a{{ messages[0].role }}{% endgeneration %}b",
    "{% for m in messages %}{% generation %}{{ m.role }}{% set z = 1 %}{% endgeneration %}{{ z }}{% endfor %}",
    "a\n  {% if true %}\nb\n  {% endif %}\nc\n",
    "a\n  {%- if true -%}\n  b  \n{%- endif -%}\n  c",
    "a\n  {%+ if true %}x{% endif +%}\n  b",
    "a {{- ' b ' -}} c",
    "  {# x #}\n  y\n",
    "{{ 'a' }}\n{{ 'b' }}\n",
    "{{ 'a' }}\n\n",
    "\n{% if true %}\n\nx\n{% endif %}\n\n",
    "a\r\nb\r{% if true %}\r\nc{% endif %}",
    "{%- set a = 1 -%}\n\n{{- a -}}\n\n",
    "x {% if true %} y {% endif %} z",
    "{{ messages[0].content }}{{ ' ' }}{{- messages[1].content }}",
    "{% set l = [] %}{% set _ = l.append(1) %}{{ l }}",
    "{% set a = [1, 2] %}{% set b = a + [3] %}{{ a }}{{ b }}",
    "{% set x = messages[0] %}{% set messages = messages[1:] %}{{ messages | length }}{{ x.role }}",
    "{% for message in messages %}{% set content = message.content if message.content is string else '' %}{{ content }}{% endfor %}{{ content }}",
    "{% if x is defined and x.y %}a{% else %}b{% endif %}",
    "{% set j = joiner(', ') %}{% for i in [1, 2] %}{{ j() }}{{ i }}{% endfor %}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}",
    "{% do 1 %}",
    "{% unknown %}",
    "{% if true %}",
    "{{ ",
    "{% for %}{% endfor %}",
    "{% set s = namespace(t='') %}{% for m in messages %}{% set s.t = s.t ~ m.role[0] | upper ~ '.' %}{% endfor %}{{ s.t }}",
    "{%- for m in messages -%}{%- if loop.index0 % 2 == 0 and m['role'] != 'user' -%}{{- raise_exception('x') -}}{%- endif -%}{%- endfor -%}ok",
    "{{ messages[0]['content'].split('</think>')[-1].lstrip('\\n') }}",
    "{% set q = \"a'b\" %}{{ q }}{{ q | tojson }}",
    "{{ {'a': 'b', 'c': messages[0]} | tojson(indent=2) }}",
    "{% for k, v in {'z': 1, 'a': [1, 'x']} | dictsort %}{{ k }}:{{ v }} {% endfor %}",
    "{{ ['a', 'b'] | map('replace', 'a', 'x') | list }}",
    "{% set f = 'upper' %}{{ ['a'] | map(f) | join }}",
    "{% block x %}in a block{% endblock %}",
    "{{ self }}",
    "{{ loop }}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
]


def lines(texts):
    """Expressions, of which those that go on over a line end stand in two."""
    joined = []
    for text in texts:
        if joined and joined[-1].count("'") % 2 and joined[-1].startswith("'multi"):
            joined[-1] += "\n" + text
        else:
            joined.append(text)
    return joined


CONSTRUCTS = ["{{ " + expression + " }}" for expression in lines(EXPRESSIONS)] + STATEMENTS


def construct(source):
    return apply(source, [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Ho <x>\n"}])
