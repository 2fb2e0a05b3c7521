"""Clients of services and stores whose calls keep their thread until the answer is there, by resolved names.

Most have an async twin. Constructors and methods that send nothing are left out.
"""

from __future__ import annotations

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_JVM = NamePattern(
    r"^software\.amazon\.awssdk\.services\.\w+\.\w+(?<!Async)Client\.(?!builder|create|close|utilities|serviceName)\w+$"
    r"|^com\.amazonaws\.services\.[\w.]+\.Amazon\w+(?<!Async)\.\w+$"
    r"|\b(StringRedisTemplate|(?<!Reactive)RedisTemplate|(?<!Reactive)MongoTemplate)(\.opsFor\w+\(\))?\.(?!opsFor)\w+$"
    r"|^(jakarta|javax)\.persistence\.EntityManager\.(find|persist|merge|flush|createQuery\(\).*)$"
    r"|\bRestClient\.(get|post|put|delete|patch)\(\)(\.\w+\(\))*\.(body|toEntity|toBodilessEntity)$"
    r"|\bJavaMailSender\.send$|^com\.google\.cloud\.storage\.Storage\.(?!close)\w+$|\bJdbcClient\.sql\(\)(\.\w+\(\))*\.(list|single|optional|update)$"
    r"|^redis\.clients\.jedis\.(JedisPool\.getResource\(\)|Jedis(Cluster|Pooled)?|UnifiedJedis)\.(?!close|pipelined)[a-z]\w+$"
    r"|\.(prepareStatement|createStatement|prepareCall)\(\)\.execute\w*$"
    r"|(?:(?i:repository|repo|dao|entitymanager|jdbctemplate)\.(find|get|load|select|query)\w*|\.findById)\(\)\.(orElseThrow|orElse|orElseGet|isPresent)$"
    r"|^com\.mongodb\.client\.\w+\.(find\(\)\.\w+|insertOne|updateOne|deleteOne|replaceOne|countDocuments)$"
    r"|^(org\.redisson\.api\.)?RedissonClient\.get\w+\(\)\.(get|set|put|lock|tryLock)$|^org\.jooq\.DSLContext\..*\.(fetch\w*|execute)$"
)


_JVM_WORK = NamePattern(
    r"^java\.util\.zip\.((GZIP|Inflater|Deflater)\w*Stream|Zip\w*)\b.*\.(read\w*|nextEntry|getNextEntry|transferTo|copyTo|bufferedReader|reader|write|finish)$"
    r"|(^|\.)(BCrypt|Argon2|SCrypt|Pbkdf2)PasswordEncoder(\(\))?\.(matches|encode)$|(^|\.)PasswordEncoder\.(matches|encode)$"
    r"|\bBCrypt\.(hashpw|checkpw|withDefaults\(\)\.\w+|verifyer\(\)\.verify)$|\bArgon2\w*(\.create\(\))?\.(hash|verify)$|SecretKeyFactory\b.*\.generateSecret$"
    r"|\bImageIO\.(read|write)$|\bPDDocument\.(load|save)$|\bLoader\.loadPDF$|\b(XSSF|HSSF|SXSSF)Workbook(\.write)?$|\bWorkbookFactory\.create$"
    r"|\bKeyPairGenerator\b.*\.(generateKeyPair|genKeyPair)$|\b(JasperRunManager|JasperFillManager|JasperExportManager)\.\w+$"
    r"|^java\.net\.(Socket|DatagramSocket)\b.*\.(read\w*|receive|connect)$|^java\.net\.InetAddress\.get(All)?ByName$"
    r"|^java\.util\.concurrent\.(Semaphore\.acquire|\w*BlockingQueue\.(take|put)|CountDownLatch\.await|CyclicBarrier\.await|Phaser\.\w+)$"
    r"|^javax\.sql\.DataSource\.getConnection$|^java\.sql\.DriverManager\.getConnection$|^java\.sql\.(Prepared|Callable)?Statement\.execute\w*$"
    r"|(^|\.)openConnection\(\)(\.(apply|also|let)\(\))?\.(getInputStream|inputStream\b.*|connect|getResponseCode|getContent|getOutputStream)$"
    r"|(^|\.)(URL|toURL\(\))\.(openStream|readText|readBytes)$"
    r"|\bTransport\.send$|^com\.jcraft\.jsch\.\w+\.(connect|put|get)$|^org\.apache\.commons\.net\.ftp\.FTPS?Client\.\w+$"
    r"|\bElasticsearchClient\.(search|index|get|bulk|delete|update)$|\bRestHighLevelClient\.\w+$|\b(KafkaProducer|KafkaTemplate)\.(flush|send\(\)\.get)$"
)
"""Work of the processor, and waits for other programs and threads."""


def blocks_on_jvm(call: Call) -> bool:
    """Return whether a call keeps its thread, for an answer of another program or for work (Java, Kotlin)."""
    return _JVM.search(call.name) is not None or _JVM_WORK.search(call.name) is not None


_THEN = NamePattern(
    r"^(then(Apply|Accept|Run|Compose|Combine)\w*|(handle|whenComplete)(Async)?|exceptionally)$"
)


def is_done_by_then(call: Call, facts: Facts) -> bool:
    """Return whether a future is asked after others are done: `allOf(a, b).thenApply(v -> a.join())`."""
    return call.method in ("get", "join") and any(
        _THEN.match(each.method) and ("Future" in each.name or "allOf" in each.name)
        for each in facts.calls_around(call)
    )


_DIESEL = frozenset(("load", "first", "get_result", "get_results", "execute"))
_CONNECTION = lazy_regex(r"(&mut\s+)?\*?(\w*conn\w*|db)")
_CSHARP_STORES = NamePattern(
    r"(^|\.)IDatabase\.(String|Hash|List|Set|SortedSet|Key|Lock|Script|Stream)(?!\w*Async$)\w+$"
    r"|(^|\.)(SqlConnection|NpgsqlConnection|MySqlConnection|IDbConnection)\.(Query|QueryFirst|QueryFirstOrDefault"
    r"|QuerySingle|QuerySingleOrDefault|QueryMultiple|Execute|ExecuteScalar|Open)$"
    r"|(^|\.)I?Mongo(Collection|Database)\.(InsertOne|InsertMany|ReplaceOne|UpdateOne|UpdateMany|DeleteOne|DeleteMany|CountDocuments"
    r"|Find\(\)(\.(?!\w+Async\(\))\w+\(\))*\.(ToList|First|FirstOrDefault|Single|SingleOrDefault|Any))$"
    r"|(^|\.)(?:Get)?(Blob|BlockBlob|BlobContainer|Queue|Table|Secret|Key|Certificate|ShareFile)Client(\(\))?\.(Upload|Download(To|Content|Streaming)?|OpenRead|OpenWrite"
    r"|SendMessage|ReceiveMessages?|DeleteMessage|GetEntity|AddEntity|UpsertEntity|UpdateEntity|GetSecret|GetKey|Exists|Delete\w*|GetProperties)$"
    r"|(^|\.)(SftpClient|SshClient|ScpClient|FtpClient)\.(Connect|Upload\w*|Download\w*|RunCommand|ListDirectory|GetListing)$"
    r"|(^|\.)(Odbc|OleDb|Oracle|Sqlite|MySql|SQLite)(Command\.Execute(Reader|Scalar|NonQuery)|Connection\.Open)$"
    r"|(^|\.)(SqlBulkCopy\.WriteToServer|BlockingCollection\.(Take|Add)|ManualResetEvent(Slim)?\.Wait(One)?|AutoResetEvent\.WaitOne|CountdownEvent\.Wait"
    r"|Mutex\.WaitOne|IProducer\.Flush|IConsumer\.Consume|IModel\.WaitForConfirms\w*|NetworkStream\.Read|SslStream\.Read|Ping\.Send|Dns\.GetHostEntry)$"
)


_DAPPER = frozenset(
    (
        "Query", "QueryFirst", "QueryFirstOrDefault", "QuerySingle", "QuerySingleOrDefault", "QueryMultiple",
        "Execute", "ExecuteScalar",
    )
)  # fmt: skip


def blocks_in_csharp(call: Call, facts: Facts) -> bool:
    """Return whether a call to a store has an async twin and is not that (C#)."""
    if _CSHARP_STORES.search(call.name) is not None:
        return True
    return call.method in _DAPPER and bool(call.receiver_written) and facts.imports_any("Dapper")


def is_diesel(call: Call, facts: Facts) -> bool:
    """Return whether a call sends a query of Diesel, which waits for the answer (Rust)."""
    if call.method not in _DIESEL or len(call.positional) != 1 or not facts.imports_any("diesel"):
        return False
    given = call.positional[0].value.text
    return _CONNECTION.fullmatch(given) is not None and b"diesel_async" not in facts.syntax.source


_REFERENCE = lazy_regex(r"(?:\bthis|\bself|\b[A-Z]\w*)::(\w+)")


def is_referred_to(scope: Scope, other: Scope, facts: Facts) -> bool:
    """Return whether a method is given away by its name in another one: `.map(this::load)`."""
    return scope.short_name in _REFERENCE.findall(facts.text(other.body))
