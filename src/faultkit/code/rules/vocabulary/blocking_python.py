"""Calls of Python that keep their thread until they are done, by resolved names.

Most have an async twin. Constructors and methods that send nothing are left out.
"""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

WAITS = frozenset(
    (
        "time.sleep", "urllib.request.urlopen", "urllib3.request", "urllib3.PoolManager.request",
        "os.system", "subprocess.run", "subprocess.call", "subprocess.check_call",
        "subprocess.check_output", "os.popen", "socket.create_connection", "socket.getaddrinfo",
        "socket.gethostbyname", "smtplib.SMTP", "subprocess.Popen.wait", "subprocess.Popen.communicate",
        "concurrent.futures.wait", "ftplib.FTP", "psycopg2.connect", "psycopg.connect", "pymysql.connect",
        "MySQLdb.connect", "mysql.connector.connect", "pyodbc.connect", "boto3.client",
        "shutil.copyfileobj", "shutil.copytree", "shutil.rmtree", "bcrypt.hashpw", "bcrypt.checkpw",
        "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "shutil.make_archive",
        "shutil.unpack_archive", "zipfile.ZipFile.extractall", "tarfile.open().extractall",
        "tarfile.TarFile.extractall", "openpyxl.load_workbook", "weasyprint.HTML.write_pdf",
        "pandas.read_csv", "pandas.read_excel", "pandas.read_parquet", "pandas.read_json", "pandas.read_sql",
        "paramiko.SSHClient.connect", "paramiko.SSHClient.exec_command",
        "asyncio.run", "asyncio.get_event_loop().run_until_complete",
        "asyncio.get_running_loop().run_until_complete", "asyncio.new_event_loop().run_until_complete",
        "concurrent.futures.ThreadPoolExecutor.submit().result",
        "concurrent.futures.ProcessPoolExecutor.submit().result", "threading.Event.wait",
        "threading.Thread.join", "asyncio.run_coroutine_threadsafe().result", "queue.Queue.get",
        "queue.Queue.join",
        "PIL.Image.open", "PIL.Image.open().save", "PIL.Image.open().thumbnail", "PIL.Image.open().resize",
        "socket.socket.connect", "socket.socket.recv", "ldap3.Connection", "pdfkit.from_string",
        "pdfkit.from_file",
        "hashlib.pbkdf2_hmac", "hashlib.scrypt", "passlib.context.CryptContext.hash",
        "passlib.context.CryptContext.verify", "argon2.PasswordHasher.hash", "argon2.PasswordHasher.verify",
    )
)  # fmt: skip
WORK = frozenset(
    (
        "gzip.decompress", "gzip.compress", "zlib.decompress", "zlib.compress", "bz2.decompress",
        "bz2.compress", "lzma.decompress", "lzma.compress", "brotli.compress", "brotli.decompress",
        "gzip.open", "bz2.open", "lzma.open", "gzip.GzipFile.read", "gzip.open().read",
        "zipfile.ZipFile.read", "zipfile.ZipFile.extract", "tarfile.open", "zstandard.decompress",
        "zstandard.compress", "zstandard.ZstdDecompressor.decompress", "zstandard.ZstdCompressor.compress",
        "lz4.frame.decompress", "lz4.frame.compress", "snappy.decompress", "py7zr.SevenZipFile.extractall",
        "joblib.load", "pickle.load", "numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "polars.read_csv",
        "polars.read_parquet", "polars.read_excel", "pyarrow.parquet.read_table", "pyarrow.csv.read_csv",
        "xarray.open_dataset", "rasterio.open", "netCDF4.Dataset", "geopandas.read_file",
        "pydub.AudioSegment.from_file", "qrcode.make", "soundfile.read", "librosa.load", "pypdf.PdfReader",
        "PyPDF2.PdfReader", "docx.Document", "lxml.etree.parse", "xml.etree.ElementTree.parse",
        "cryptography.hazmat.primitives.kdf.pbkdf2.PBKDF2HMAC.derive",
        "cryptography.hazmat.primitives.kdf.scrypt.Scrypt.derive",
        "cryptography.hazmat.primitives.asymmetric.rsa.generate_private_key", "rsa.newkeys",
        "hashlib.file_digest",
        "multiprocessing.Pool.map", "multiprocessing.Pool.apply", "multiprocessing.Pool.starmap",
        "multiprocessing.pool.ThreadPool.map", "portalocker.lock", "fcntl.flock", "fcntl.lockf",
        "threading.Condition.wait", "threading.Barrier.wait", "werkzeug.security.generate_password_hash",
        "werkzeug.security.check_password_hash", "django.contrib.auth.hashers.make_password",
        "django.contrib.auth.hashers.check_password", "argon2.hash_password", "nacl.pwhash.str",
        "nacl.pwhash.verify", "ffmpeg.run", "imageio.imread", "skimage.io.imread", "telnetlib.Telnet",
    )
)  # fmt: skip
"""Work of the processor, and waits for locks. What is loaded once, at the start, delays no one."""
_HTTP = NamePattern(
    r"(requests|httpx|requests\.(Session|session\(\))|httpx\.Client|niquests|curl_cffi\.requests|cloudscraper\.create_scraper\(\))"
    r"\.(get|post|put|patch|delete|head|request|send|stream)$"
)
_SQL = NamePattern(
    r"(psycopg2|psycopg|pymysql|MySQLdb|mysql\.connector|pyodbc|sqlite3)\.connect\(\)(\.cursor\(\))?"
    r"\.(execute|executemany|fetchall|fetchone|commit)$"
)
_SESSION = NamePattern(
    r"^(sqlalchemy\.orm\.(session\.)?Session|sqlmodel\.Session|sqlalchemy\.orm\.(sessionmaker|scoped_session)\(\)\(\)"
    r"|[\w.]*\bSessionLocal)\.(execute|scalars?|commit|flush|refresh|get|exec"
    r"|query\(\)(\.\w+\(\))*\.(all|first|one|one_or_none|scalar|count|delete|update))$"
)
_AWS = NamePattern(
    r"^boto3\.client\(\)\.(?!generate_|get_paginator|get_waiter|can_paginate|close|meta|exceptions)[a-z]\w*$"
)
_MONGO = NamePattern(
    r"^pymongo\.MongoClient[\w.\[\]]*\.(find_one|insert_one|insert_many|update_one|update_many|delete_one"
    r"|delete_many|count_documents|find_one_and_\w+)$"
)
_CLIENTS = (_SESSION, _AWS, _MONGO)
_USED_OFTEN = (*_CLIENTS, NamePattern(r"^\w+Dep\."))
FILES = NamePattern(r"^(open|io\.open|pathlib\.Path\.(read_text|read_bytes|write_text|write_bytes))$")
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
    r"|cassandra\.cluster\.(Session|Cluster\.connect\(\))|neo4j\.(GraphDatabase\.driver\(\)|Driver|Session)|github\.Github|gitlab\.Gitlab|jira\.JIRA"
    r"|azure\.(?!\w+\.aio)[\w.]+(?<!aio)\.\w+Client(\.from_connection_string\(\))?|pymssql\.connect\(\)|cx_Oracle\.connect\(\)|oracledb\.connect\(\)"
    r"|trino\.dbapi\.connect\(\)|pysftp\.Connection|imaplib\.IMAP4(_SSL)?|poplib\.POP3(_SSL)?|gspread\.\w+\(\)|tweepy\.API|stomp\.Connection"
    r"|duckdb\.connect\(\)|pymilvus\.MilvusClient|chromadb\.\w*Client|pinecone\.Pinecone|typesense\.Client|zenpy\.Zenpy|asana\.Client"
    r"|snowflake\.connector\.connect\(\)|googleapiclient\.discovery\.build\(\)|sendgrid\.SendGridAPIClient"
    r"|pika\.BlockingConnection|smtplib\.SMTP(_SSL)?|ftplib\.FTP(_TLS)?|paramiko\.SSHClient)\.(?!__|close|options\b|from_connection_string$|get_\w+_(?:client|sender|receiver)$)"
    r"[\w.()\[\]]+$"
)
_TYPED = NamePattern(
    r"^(mypy_boto3_\w+(\.client)?\.\w+Client|botocore\.client\.BaseClient)\.(?!generate_|get_paginator|get_waiter|can_paginate|close|meta"
    r"|exceptions)[a-z]\w*$"
    r"|^(psycopg2\.extensions\.(connection|cursor)|psycopg2\.pool\.\w+|psycopg\.(Connection|Cursor)|psycopg_pool\.ConnectionPool"
    r"|sqlite3\.(Connection|Cursor)|sqlalchemy(\.engine)?\.(Connection|Engine)|pymysql\.connections\.Connection)"
    r"(\.(connection|cursor|connect|begin|getconn)\(\))*\.(execute\w*|fetch\w+|commit|getconn|cursor\(\)\.\w+|scalars?)$"
    r"|^pymongo\.(collection\.Collection|database\.Database[\w.\[\]]*)\.(find_one\w*|insert_\w+|update_\w+|delete_\w+|count_documents)$"
    r"|^(kafka\.KafkaProducer\.(flush|send\(\)\.get)|confluent_kafka\.(Producer\.flush|Consumer\.(poll|consume|commit)))$"
)
"""Clients that a parameter or field is declared with."""
_FUNCTIONS = NamePattern(
    r"^(dns\.resolver\.(resolve|query)|git\.Repo\.clone_from|feedparser\.parse|imaplib\.IMAP4(_SSL)?|pytesseract\.image_to_\w+"
    r"|firebase_admin\.(messaging\.send\w*|auth\.\w+)|geopy\.geocoders\.\w+\.(geocode|reverse)|httplib2\.Http\.request"
    r"|xmlrpc\.client\.ServerProxy\.[\w.]+|ldap\.initialize\(\)\.\w+_s|fabric\.Connection\.(run|sudo|put|get)|pdfplumber\.open"
    r"|pikepdf\.open|fitz\.open|cv2\.(imread|imwrite)|camelot\.read_pdf|pyodbc\.connect|oracledb\.connect|filelock\.FileLock\.acquire"
    r"|boto3\.resource\(\)\.\w+\(\)\.(put|get|upload|download|delete|update|query|scan|batch|send)_?\w*|threading\.(Lock|Semaphore|Barrier)\.acquire"
    r"|boto3\.client\(\)\.(upload|download)_file(obj)?|boto3\.client\(\)\.(publish|invoke|query|scan))$"
)
_MODELS = NamePattern(
    r"^(joblib\.load\(\)|pickle\.loads?\(\)|torch\.(jit\.)?load\(\)|sentence_transformers\.(SentenceTransformer|CrossEncoder)|transformers\.\w+(\.from_pretrained)?\(\)"
    r"|whisper\.load_model\(\)|faster_whisper\.WhisperModel|spacy\.load\(\)|(tensorflow\.)?keras\.models\.load_model\(\)|onnxruntime\.InferenceSession"
    r"|sklearn\.[\w.]+|ultralytics\.YOLO|easyocr\.Reader|(lightgbm|xgboost|catboost)\.\w+)\.(predict\w*|encode|transcribe|generate|run|readtext|fit\w*|transform|rank)$"
)
"""Models, whose answers are work of the processor."""
_STRIPE = NamePattern(
    r"^stripe\.[A-Z]\w*(\.\w+)*\.(create|retrieve|list|modify|delete|search|confirm|capture|cancel)$"
)
_DJANGO = NamePattern(
    r"\.objects(\.\w+\(\))*\.(get|first|last|count|exists|create|update|delete|get_or_create|update_or_create"
    r"|bulk_create|aggregate|in_bulk)$"
)
_GRPC = NamePattern(r"_pb2_grpc\.\w+Stub\.[A-Z]\w*$")
_ENGINE = NamePattern(
    r"^sqlalchemy\.create_engine\(\)\.(connect|begin)\(\)\.(execute|scalar|scalars|commit)$|^zipfile\.ZipFile\.write(str)?$"
)


@lru_cache(maxsize=4096)
def asks(name: str) -> bool:
    """Return whether a call of this name asks another program. The same names come again in every file."""
    if name.endswith(".close"):
        return False  # It asks nothing: the sockets are closed.
    return any(each.match(name) for each in (_HTTP, _SQL, *_CLIENTS)) or blocks_in_python(name)


def is_used_often(name: str) -> bool:
    """Return whether a call is one of many on the same session or client."""
    return any(each.search(name) for each in _USED_OFTEN) or blocks_in_python(name)


def blocks_in_python(name: str) -> bool:
    """Return whether a call of this name asks another program and waits for it (Python)."""
    return any(
        each.match(name) is not None
        for each in (_REDIS, _SDKS, _STRIPE, _ENGINE, _TYPED, _FUNCTIONS, _MODELS)
    ) or (_DJANGO.search(name) is not None)


_OPENS = frozenset(("open", "io.open", "pathlib.Path.open"))
_BYTES = lazy_regex(r"[\"']r?b[rb]?[\"']")


def reads_in_parts(call: Call, facts: Facts) -> bool:
    """Return whether a file of bytes is opened, and a loop reads all of it part by part (Python).

    In an async function the loop may await between the parts."""
    is_open = call.name in _OPENS or (call.method == "open" and bool(call.receiver_written))
    scope = facts.function_of(call) if is_open and len(call.assigned) == 1 else None
    if (
        scope is None
        or scope.is_async
        or not any(_BYTES.fullmatch(each.value.text) for each in call.arguments)
    ):
        return False
    read = re.compile(rf"(?<!await )\b{re.escape(call.assigned[0])}\.read(?:into)?\(\s*\S")
    behind = Span(call.span.end, scope.body.end)
    return any(
        loop.kind != "comprehension" and not loop.is_async and read.search(facts.text(loop.span))
        for loop in facts.within(facts.loops, behind)
    )


_AWS_NAMES = frozenset(
    (
        "Bucket", "QueueUrl", "TableName", "TopicArn", "FunctionName", "SecretId", "KeyId", "StreamName",
        "DelaySeconds", "StateMachineArn", "DeliveryStreamName", "FromEmailAddress", "UserPoolId",
    )
)  # fmt: skip
_AWS_WORDS = frozenset(name.encode() for name in _AWS_NAMES)
_AWS_METHOD = NamePattern(r"^(?!generate_|get_paginator|get_waiter)[a-z][a-z0-9_]*$")
TO_THREADS = frozenset(
    ("to_thread", "run_in_executor", "run_sync", "run_in_threadpool", "submit", "sync_to_async")
)
"""Calls that give a function to a thread."""
_TAKES_COROUTINES = frozenset(
    ("gather", "create_task", "ensure_future", "wait_for", "shield", "wait", "as_completed", "start_soon")
)


def is_aws_call(call: Call, facts: Facts) -> bool:
    """Return whether a call is one of boto3 by its keywords, whatever its object is named (Python)."""
    if _AWS_WORDS.isdisjoint(facts.syntax.words) or call.is_awaited or not call.receiver_written:
        return False
    if _AWS_METHOD.match(call.method) is None or call.method in TO_THREADS:
        return False
    names = {each.name for each in call.arguments if each.name}
    if names.isdisjoint(_AWS_NAMES) or not all(name[:1].isupper() for name in names):
        return False
    return not facts.syntax.has_any(b"aiobo") and not _is_coroutine(call, facts)


def _is_coroutine(call: Call, facts: Facts) -> bool:
    """Return whether the result is given to what waits for coroutines, so that the client is async."""
    return any(
        each.method in _TAKES_COROUTINES
        or (each.method == "append" and facts.syntax.has_any(b"gather", b"as_completed"))
        for each in facts.calls_around(call)
    )


def is_blocking_stub(call: Call, facts: Facts) -> bool:
    """Return whether a call of a gRPC stub waits for the answer, as stubs of a plain channel do (Python)."""
    return _GRPC.search(call.name) is not None and b"aio" not in facts.syntax.source
