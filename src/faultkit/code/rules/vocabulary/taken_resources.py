"""Calls that take a connection, file, session, channel or permit that must be given back, by language."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from faultkit.base.patterns import lazy_regex, utf8_finder
from faultkit.code.rules.rule import Severity
from faultkit.code.rules.vocabulary.text_pattern import linear_expression

OF_SOURCE = lazy_regex(r"(source|ds|pool|hikari)\.connection$", re.IGNORECASE)
"""The property of a pool that takes a connection from it (Kotlin)."""
_TAKES: dict[str, tuple[tuple[re.Pattern[str], Severity], ...]] = {
    "python": (
        (lazy_regex(r"(^|\.)(getconn|get_connection|acquire_connection)$"), "high"),
        (
            lazy_regex(r"^(psycopg2?|pymysql|MySQLdb|mysql\.connector|pyodbc|cx_Oracle|oracledb)\.connect$"),
            "high",
        ),
        (
            lazy_regex(
                r"(^|\.)(asyncpg|aiomysql|aiopg|psycopg_pool)\..*\.acquire$|[pP]ool\w*(\(\))?\.acquire$"
            ),
            "high",
        ),
        (lazy_regex(r"(^|[.~])(SessionLocal|\w*[sS]ession_?[fF]actory|\w*session_?maker(\(\))?)$"), "high"),
        (lazy_regex(r"^sqlalchemy\.(orm\.Session|create_engine\(\)\.(connect|raw_connection))$"), "high"),
        (lazy_regex(r"(^|\.)engine\.(connect|raw_connection)$"), "high"),
        (lazy_regex(r"^aiohttp\.(client\.)?ClientSession$|^httpx\.(Async)?Client$"), "medium"),
        (lazy_regex(r"^(smtplib\.SMTP(_SSL)?|ftplib\.FTP|socket\.(socket|create_connection))$"), "medium"),
        (
            lazy_regex(r"^(io\.|gzip\.|codecs\.|builtins\.|bz2\.)?open$|^tarfile\.open$|^zipfile\.ZipFile$"),
            "medium",
        ),
        (lazy_regex(r"\.launch$|[bB]rowser\w*\.new_(page|context)$"), "medium"),
        (
            lazy_regex(
                r"^paramiko\.(SSHClient|Transport)$|\.open_sftp$|^ftplib\.FTP_TLS$|^imaplib\.IMAP4(_SSL)?$"
                r"|^pysftp\.Connection$|^pika\.BlockingConnection$|^pika\..*\.channel$"
            ),
            "medium",
        ),
    ),
    "javascript": (
        (lazy_regex(r"(^|\.)(getConnection|acquireConnection|createQueryRunner|startSession)$"), "high"),
        (lazy_regex(r"^(fs/promises|fs\.promises|fsPromises|fsp)\.open$|^fs\.openSync$"), "medium"),
        (lazy_regex(r"(^|\.)(puppeteer|chromium|firefox|webkit)(-core)?\.launch$"), "high"),
        (lazy_regex(r"(^|\.)(browser|context)\w*(\(\))?\.(newPage|newContext)$"), "medium"),
        (lazy_regex(r"^(ssh2-sftp-client|basic-ftp\.Client|ftp|imapflow\.ImapFlow)(\.default)?$"), "medium"),
    ),
    "go": (
        (lazy_regex(r"^os\.(Open|Create|OpenFile)$|^net\.(Dial|DialTimeout)$"), "medium"),
        (
            lazy_regex(
                r"/sftp\.(NewClient|Client\.(Open|Create|OpenFile))$|crypto/ssh\.Dial$|/ftp\.Dial\w*$"
                r"|/amqp\w*\.(Dial\w*|Connection\.Channel)$|\.NewSession$"
            ),
            "medium",
        ),
        (lazy_regex(r"\.(Acquire|Conn)$|\.(Begin|BeginTx|Beginx|BeginTxx)$"), "high"),
        (lazy_regex(r"\.(Query|QueryContext|Queryx|QueryxContext|NamedQuery|NamedQueryContext)$"), "high"),
        (lazy_regex(r"\.(Prepare|PrepareContext|Preparex|PreparexContext)$|[pP]ool\w*\.Get$"), "high"),
        (
            lazy_regex(
                r"^net/http\.(Get|Post|PostForm|Head|(Default)?Client\.(Do|Get|Post|PostForm))$"
                r"|\.RoundTrip$|retryablehttp\.(\w+\(\)|Client)\.(Do|Get|Post)$"
            ),
            "high",
        ),
    ),
    "java": (
        (lazy_regex(r"(?i:source|ds|drivermanager|pool|provider|factory|db)(\(\))?\.getConnection$"), "high"),
        (lazy_regex(r"\.openSession$|\.createEntityManager$"), "high"),
        (lazy_regex(r"(Pool|pool)\w*(\(\))?\.(getResource|borrowObject)$"), "high"),
        (lazy_regex(r"^okhttp3\..*\.execute$|HttpClient\b.*\.execute$"), "high"),
        (lazy_regex(r"(^|\.)S3Client\.getObject$|AmazonS3\w*\.getObject$"), "high"),
        (
            lazy_regex(
                r"JSch\.getSession$|\.openChannel$|(SSHClient|FTPSClient|FTPClient)$|\.newSFTPClient$"
                r"|ConnectionFactory\.newConnection$|Connection(\(\))?\.createChannel$|\.newConnection\(\)\.createChannel$"
            ),
            "medium",
        ),
        (
            lazy_regex(
                r"^java\.(io\.(FileInputStream|FileOutputStream|FileReader|FileWriter"
                r"|RandomAccessFile)|net\.Socket|util\.zip\.ZipFile"
                r"|nio\.file\.Files\.(new\w+|lines|list|walk)|nio\.channels\.\w*Channel\.open"
                r"|net\.URL\.openStream)$|^(java\.sql\.)?DriverManager\.getConnection$"
            ),
            "medium",
        ),
    ),
    "csharp": (
        (
            lazy_regex(r"^(Sql|Npgsql|MySql|Sqlite|Oracle|Odbc|OleDb|SQLite|Firebird)Connection$"),
            "high",
        ),
        (lazy_regex(r"(^|\.)(CreateConnection|OpenConnection|OpenConnectionAsync)$"), "high"),
        (
            lazy_regex(r"^(FileStream|TcpClient|File\.(Open(Read|Write|Text)?|Create))$"),
            "medium",
        ),
        (lazy_regex(r"(^|\.)(ArrayPool|MemoryPool|\w*[pP]ool)(\.Shared)?\.(Rent|RentAsync|Get)$"), "high"),
        (lazy_regex(r"^(Renci\.SshNet\.)?(Sftp|Ssh|Scp|Ftp|Imap|Pop3|AsyncFtp)Client$"), "medium"),
        (lazy_regex(r"\.(CreateModel|CreateChannelAsync|CreateConnectionAsync)$"), "medium"),
        (lazy_regex(r"(^|\.)Create(Async)?Scope$|\.BeginTransaction(Async)?$"), "high"),
    ),
}
_TAKES["kotlin"] = _TAKES["java"]
_SOME = {
    language: lazy_regex("|".join(f"(?:{pattern.pattern})" for pattern, _ in takes))
    for language, takes in _TAKES.items()
}
"""All of them as one: few names match."""


@cache
def _may_take(family: str) -> Callable[[bytes], bool]:
    """Return what says whether one of them may match an ASCII name, in a fraction of the time."""
    return utf8_finder(linear_expression(_SOME[family].pattern))


@lru_cache(maxsize=4096)
def taken_severity(name: str, language: str) -> Severity | None:
    """Return the severity for a call that takes something. The same names come again in every file."""
    family = language if language in _TAKES else "javascript"
    if not (_may_take(family)(name.encode()) if name.isascii() else _SOME[family].search(name)):
        return None
    takes = _TAKES[family]
    return next((severity for pattern, severity in takes if pattern.search(name)), None)
