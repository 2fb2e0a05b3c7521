"""How Java writes what facts are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faultkit.code.facts.grammar import (
    Binding,
    CatchParts,
    Grammar,
    ParameterParts,
    assignment,
    body_of_statement,
    branches,
    cases,
    count_loop,
    each_loop,
    keyed_by,
    known_names,
    tries_with,
    update,
    while_loop,
)
from faultkit.code.languages.dialect import child_of, text_of
from faultkit.code.languages.syntax import Node

_KNOWN = {
    "java.net": "URL URI Socket ServerSocket HttpURLConnection URLConnection",
    "java.net.http": "HttpClient HttpRequest HttpResponse",
    "java.io": """File FileInputStream FileOutputStream FileReader FileWriter BufferedReader BufferedWriter
        InputStreamReader OutputStreamWriter PrintWriter RandomAccessFile IOException InputStream OutputStream
        ObjectInputStream ObjectOutputStream UncheckedIOException""",
    "java.nio.file": "Files Path Paths",
    "java.sql": "Connection DriverManager Statement PreparedStatement ResultSet SQLException",
    "java.util": "List Map Set ArrayList HashMap HashSet LinkedList Scanner Optional Random UUID Date Timer",
    "java.util.concurrent": """Executors ExecutorService CompletableFuture Future LinkedBlockingQueue
        ArrayBlockingQueue LinkedBlockingDeque ConcurrentHashMap ConcurrentLinkedQueue TimeUnit
        ThreadPoolExecutor ScheduledExecutorService Semaphore CountDownLatch TimeoutException
        ExecutionException CancellationException PriorityBlockingQueue""",
    "java.util.concurrent.locks": "Lock ReentrantLock ReadWriteLock ReentrantReadWriteLock",
    "java.time": "Instant Duration LocalDateTime LocalDate ZonedDateTime Clock ZoneId",
    "org.springframework.web.client": "RestTemplate RestClient",
    "org.springframework.jdbc.core": "JdbcTemplate",
}
"""Classes by their plain names, as if imported: wildcards and snippets do not state the package."""


def _import(node: Node) -> Iterator[tuple[str, str]]:
    name = child_of(node, "scoped_identifier", "identifier")
    whole = text_of(name)
    yield "", whole
    if child_of(node, "asterisk"):
        yield "*", whole
    else:
        yield whole.rpartition(".")[2], whole


def _declaration(node: Node, around: Node) -> Iterator[Binding]:
    constant = "final" in text_of(child_of(node, "modifiers")).split()
    for each in node.children_by_field_name("declarator"):
        name = each.child_by_field_name("name")
        if name is not None:
            value, type_ = each.child_by_field_name("value"), node.child_by_field_name("type")
            is_field = node.type == "field_declaration"
            yield Binding((name,), value, type_, is_constant=constant, is_field=is_field)


def _resource(node: Node, around: Node) -> Iterator[Binding]:
    name = node.child_by_field_name("name")
    if name is not None:
        yield Binding((name,), node.child_by_field_name("value"), node.child_by_field_name("type"))


def _handler(node: Node) -> CatchParts | None:
    block, parameter = node.child_by_field_name("body"), child_of(node, "catch_formal_parameter")
    if node.type != "catch_clause" or block is None or parameter is None:
        return None
    listed = child_of(parameter, "catch_type")
    types = () if listed is None else tuple(listed.named_children)
    return CatchParts(node, block, types, parameter.child_by_field_name("name"))


def _callee(node: Node) -> Node | None:
    return node.child_by_field_name("object") or node.child_by_field_name("type")


def _own_name(node: Node) -> str:
    return text_of(node.child_by_field_name("name")) if node.type == "method_invocation" else ""


def _parameters(node: Node) -> Iterator[ParameterParts]:
    listed = node.child_by_field_name("parameters")
    if listed is None:
        return
    if listed.type == "identifier":
        yield ParameterParts(listed)
        return
    for each in listed.named_children:
        name = each.child_by_field_name("name")
        if each.type == "identifier":
            yield ParameterParts(each)
        elif each.type == "spread_parameter":
            named = child_of(each, "variable_declarator")
            if named is not None and (name := named.child_by_field_name("name")) is not None:
                yield ParameterParts(name, child_of(each, "..."))
        elif name is not None:
            yield ParameterParts(name, each.child_by_field_name("type"))


def _decorators(node: Node) -> Iterable[Node]:
    listed = child_of(node, "modifiers")
    for each in listed.named_children if listed is not None else ():
        if each.type in ("annotation", "marker_annotation"):
            yield each


def _type_name(node: Node) -> str:
    text = text_of(node).partition("<")[0].rstrip("[] ")
    return "" if text == "var" else text


def _bases(node: Node) -> Iterator[str]:
    for field in ("superclass", "interfaces"):
        listed = node.child_by_field_name(field)
        if listed is not None:
            yield from text_of(listed).replace(",", " ").split()[1:]


_TRIES = tries_with(_handler)

JAVA = Grammar(
    names=frozenset({"identifier", "type_identifier"}),
    self_names=frozenset({"this"}),
    members={
        "method_invocation": ("object", "name"),
        "field_access": ("object", "field"),
        "scoped_identifier": ("scope", "name"),
        "annotation": ("", "name"),
        "marker_annotation": ("", "name"),
    },
    subscripts={"array_access": "array"},
    calls=frozenset({"method_invocation", "object_creation_expression", "annotation"}),
    constructors=frozenset({"object_creation_expression"}),
    functions=frozenset({"method_declaration", "constructor_declaration", "lambda_expression"}),
    types=frozenset({"class_declaration", "interface_declaration", "enum_declaration", "record_declaration"}),
    transparent=frozenset({"parenthesized_expression", "cast_expression"}),
    awaits=frozenset(),
    shapes={
        "string_literal": "text",
        "decimal_integer_literal": "number",
        "decimal_floating_point_literal": "number",
        "true": "true",
        "false": "false",
        "null_literal": "none",
        "identifier": "name",
        "field_access": "name",
        "method_invocation": "call",
        "object_creation_expression": "call",
        "lambda_expression": "function",
        "element_value_array_initializer": "list",
        "array_initializer": "list",
    },
    statements=frozenset({"expression_statement"}),
    returns=frozenset({"return_statement", "yield_statement"}),
    steps={
        "return_statement": "return",
        "break_statement": "break",
        "continue_statement": "continue",
        "throw_statement": "raise",
        "yield_statement": "yield",
        "if_statement": "branch",
        "switch_expression": "branch",
        "ternary_expression": "branch",
        "assert_statement": "assert",
        "binary_expression": "binary",
    },
    texts=frozenset({"string_literal"}),
    interpolations=frozenset(),
    empty=frozenset({"line_comment", "block_comment", "continue_statement"}),
    managed=frozenset({"resource"}),
    closed=frozenset({"scoped_identifier"}),
    bindings={
        "local_variable_declaration": _declaration,
        "field_declaration": _declaration,
        "resource": _resource,
        "assignment_expression": assignment,
        "update_expression": update,
    },
    imports={"import_declaration": _import},
    loops={
        "for_statement": count_loop,
        "enhanced_for_statement": each_loop("name", "value"),
        "while_statement": while_loop("(true)"),
        "do_statement": while_loop("(true)"),
    },
    forks={"if_statement": branches, "ternary_expression": branches, "switch_expression": cases},
    tries={"try_statement": _TRIES, "try_with_resources_statement": _TRIES},
    callee=_callee,
    own_name=_own_name,
    keyword=keyed_by("element_value_pair", "key"),
    parameters=_parameters,
    decorators=_decorators,
    managed_body=body_of_statement,
    type_name=_type_name,
    bases=_bases,
    bare_fields=True,
    broad=frozenset({"Exception", "Throwable", "java.lang.Exception", "java.lang.Throwable"}),
    predefined=known_names(_KNOWN),
    iterators=frozenset({"map", "forEach", "flatMap", "filter", "peek"}),
)
