"""Names of functions and types that make clients of HTTP services, by language."""

from __future__ import annotations

from faultkit.code.rules.vocabulary.name_pattern import NamePattern

PYTHON = frozenset(
    (
        "httpx.AsyncClient", "httpx.Client", "aiohttp.ClientSession", "requests.Session",
        "requests.session", "urllib3.PoolManager", "boto3.client", "boto3.resource", "boto3.Session",
        "openai.OpenAI", "openai.AsyncOpenAI", "anthropic.Anthropic", "anthropic.AsyncAnthropic",
        "zeep.Client", "zeep.AsyncClient", "suds.client.Client", "google.cloud.storage.Client",
        "google.cloud.pubsub_v1.PublisherClient", "google.cloud.bigquery.Client",
        "google.cloud.firestore.Client", "azure.storage.blob.BlobServiceClient",
        "azure.storage.blob.BlobServiceClient.from_connection_string",
        "azure.keyvault.secrets.SecretClient", "niquests.Session", "curl_cffi.requests.Session",
        "botocore.session.get_session", "aioboto3.Session", "twilio.rest.Client", "minio.Minio",
        "slack_sdk.WebClient", "opensearchpy.OpenSearch", "weaviate.connect_to_local",
    )
)  # fmt: skip
SESSIONS = ("httpx.", "aiohttp.", "requests.", "urllib3.", "niquests.", "curl_cffi.")
"""Clients that only have connections; others also load what they know of a service."""
FUNCTIONS = NamePattern(r"^(httpx|requests)\.(get|post|put|patch|delete|head|options|request|stream)$")
JAVASCRIPT = frozenset(
    ("axios.create", "http.Agent", "https.Agent", "undici.Agent", "undici.Pool", "got.extend")
)
AWS = NamePattern(
    r"^(@aws-sdk/(client|lib)-[\w-]+\.\w+(Client|Document\.from)|aws-sdk\.\w+|nodemailer\.createTransport|openai"
    r"|openai\.(Azure)?OpenAI|@anthropic-ai/sdk(\.Anthropic)?|stripe(\.Stripe)?|twilio|soap\.createClient(Async)?"
    r"|strong-soap\.soap\.createClient|@google-cloud/[\w-]+\.[A-Z]\w+|@azure/[\w-]+\.\w+Client(\.fromConnectionString)?"
    r"|@elastic/elasticsearch\.Client|@opensearch-project/opensearch\.Client|ssh2(-sftp-client)?|ssh2\.Client"
    r"|@sendgrid/client\.Client|@slack/web-api\.WebClient|algoliasearch|minio\.Client|ldapjs\.createClient)$"
)
JAVA = NamePattern(
    r"(^|\.)(java\.net\.http\.HttpClient\.newHttpClient|RestTemplate|OkHttpClient|HttpClients\.(createDefault|custom)"
    r"|HttpClientBuilder\.create|WebClient\.(create|builder)|CloseableHttpClient)$|"
    r"java\.net\.http\.HttpClient\.newBuilder\(\).*\.build$|OkHttpClient\.Builder.*\.build$|"
    r"RestTemplateBuilder\b.*\.build$|(^|\.)RestClient\.create$|Retrofit\.Builder\b.*\.build$|ClientBuilder\.newClient$|"
    r"software\.amazon\.awssdk\.services\.[\w.]+Client(\.create|\.builder\(\).*\.build)$"
)
RUST = NamePattern(r"^reqwest\.(blocking\.)?Client(\.new|\.default|\.builder\(\).*\.build)$")
KOTLIN = NamePattern(
    r"^(okhttp3\.OkHttpClient(\.Builder\b.*\.build)?|io\.ktor\.client\.HttpClient"
    r"|software\.amazon\.awssdk\.services\.[\w.]+Client(\.create|\.builder\(\).*\.build)"
    r"|aws\.sdk\.kotlin\.services\.[\w.]+Client(\.fromEnvironment)?)$"
)
CSHARP = ("HttpClient", "RestClient", "WebClient")
MAIL = "nodemailer.createTransport"
"""It keeps connections only with `pool`."""
GO = ("net/http.Client", "net/http.Transport")
