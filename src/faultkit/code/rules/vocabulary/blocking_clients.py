"""Clients of services and stores whose calls keep their thread until the answer is there, by resolved names.

Most have an async twin. Constructors and methods that send nothing are left out.
"""

from __future__ import annotations

import re

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_REDIS = NamePattern(
    r"^redis\.((client\.)?(Redis|StrictRedis)(\.from_url\(\))?|from_url\(\)|(cluster\.)?RedisCluster|sentinel\.Sentinel"
    r"\.(master|slave)_for\(\))\.(pipeline\(\)\.execute|(?!pipeline|pubsub|lock|close|from_url|register_script"
    r"|get_encoder|get_connection_kwargs|set_response_callback|connection_pool)[a-z]+)$"
)
_SDKS = NamePattern(
    r"^(elasticsearch\.Elasticsearch|opensearchpy\.OpenSearch|openai\.OpenAI|anthropic\.Anthropic|twilio\.rest\.Client"
    r"|hvac\.Client|slack_sdk\.WebClient|google\.cloud\.\w+\.(Client|\w+Client)|minio\.Minio|meilisearch\.Client"
    r"|qdrant_client\.QdrantClient|pymemcache\.(client\.base\.)?Client|clickhouse_driver\.Client|docker\.from_env\(\)"
    r"|clickhouse_connect\.get_client\(\)|influxdb_client\.InfluxDBClient|kubernetes\.client\.\w+Api|consul\.Consul"
    r"|zeep\.Client|suds\.client\.Client|pysolr\.Solr|jwt\.PyJWKClient|ldap3\.Connection|hdbcli\.dbapi\.connect\(\)"
    r"|snowflake\.connector\.connect\(\)|googleapiclient\.discovery\.build\(\)|sendgrid\.SendGridAPIClient"
    r"|pika\.BlockingConnection|smtplib\.SMTP(_SSL)?|ftplib\.FTP(_TLS)?|paramiko\.SSHClient)\.(?!__|close|options\b)"
    r"[\w.()\[\]]+$"
)
_STRIPE = NamePattern(
    r"^stripe\.[A-Z]\w*(\.\w+)*\.(create|retrieve|list|modify|delete|search|confirm|capture|cancel)$"
)
_ENGINE = NamePattern(
    r"^sqlalchemy\.create_engine\(\)\.(connect|begin)\(\)\.(execute|scalar|scalars|commit)$|^zipfile\.ZipFile\.write(str)?$"
)
_JVM = NamePattern(
    r"^software\.amazon\.awssdk\.services\.\w+\.\w+(?<!Async)Client\.(?!builder|create|close|utilities|serviceName)\w+$"
    r"|^com\.amazonaws\.services\.[\w.]+\.Amazon\w+(?<!Async)\.\w+$"
    r"|\b(StringRedisTemplate|(?<!Reactive)RedisTemplate|(?<!Reactive)MongoTemplate)(\.opsFor\w+\(\))?\.(?!opsFor)\w+$"
    r"|^(jakarta|javax)\.persistence\.EntityManager\.(find|persist|merge|flush|createQuery\(\).*)$"
    r"|\bRestClient\.(get|post|put|delete|patch)\(\)(\.\w+\(\))*\.(body|toEntity|toBodilessEntity)$"
    r"|\bJavaMailSender\.send$|^com\.google\.cloud\.storage\.Storage\.(?!close)\w+$|\bJdbcClient\.sql\(\)(\.\w+\(\))*\.(list|single|optional|update)$"
    r"|^com\.mongodb\.client\.\w+\.(find\(\)\.\w+|insertOne|updateOne|deleteOne|replaceOne|countDocuments)$"
    r"|^(org\.redisson\.api\.)?RedissonClient\.get\w+\(\)\.(get|set|put|lock|tryLock)$|^org\.jooq\.DSLContext\..*\.(fetch\w*|execute)$"
)


def blocks_in_python(name: str) -> bool:
    """Return whether a call of this name asks another program and waits for it (Python)."""
    return any(each.match(name) is not None for each in (_REDIS, _SDKS, _STRIPE, _ENGINE))


def blocks_on_jvm(call: Call) -> bool:
    """Return whether a call asks another program and waits for it (Java, Kotlin)."""
    return _JVM.search(call.name) is not None


_REFERENCE = re.compile(r"(?:\bthis|\bself|\b[A-Z]\w*)::(\w+)")


def is_referred_to(scope: Scope, other: Scope, facts: Facts) -> bool:
    """Return whether a method is given away by its name in another one: `.map(this::load)`."""
    return scope.short_name in _REFERENCE.findall(facts.text(other.body))
