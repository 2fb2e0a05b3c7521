"""TLS without verification that a setting chooses, or that only builds for tests have."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_TLS = "tls-not-verified"

CASES: list[Case] = [
    good(
        _TLS,
        "rust",
        """
        async fn ask(url: &str) -> Result<Response, Error> {
            #[cfg(feature = "test_mode")]
            let client = reqwest::Client::builder().danger_accept_invalid_certs(true);

            #[cfg(not(feature = "test_mode"))]
            let client = reqwest::Client::builder();

            client.timeout(LIMIT).build()?.get(url).send().await
        }
        """,
    ),
    bad(
        _TLS,
        "rust",
        """
        async fn ask(url: &str) -> Result<Response, Error> {
            #[cfg(test)]
            {
                return Ok(Response::default());
            }
            reqwest::Client::builder().danger_accept_invalid_certs(true).build()?.get(url).send().await
        }

        #[cfg(not(test))]
        fn client() -> reqwest::Client {
            reqwest::Client::builder().danger_accept_invalid_certs(true).build().unwrap()
        }
        """,
        6,
        11,
    ),
    good(
        _TLS,
        "csharp",
        """
        class Clients
        {
            HttpClientHandler Handler()
            {
                var handler = new HttpClientHandler();
        #if DEBUG
                handler.ServerCertificateCustomValidationCallback = (a, b, c, d) => true;
        #endif
                return handler;
            }
        }
        """,
    ),
    bad(
        _TLS,
        "csharp",
        """
        class Clients
        {
            HttpClientHandler Handler()
            {
                var handler = new HttpClientHandler();
        #if DEBUG
                handler.UseProxy = false;
        #else
                handler.ServerCertificateCustomValidationCallback = (a, b, c, d) => true;
        #endif
                return handler;
            }
        }
        """,
        9,
    ),
    good(
        _TLS,
        "go",
        """
        package upload

        func clientFor(insecure bool) *http.Client {
        	if !insecure {
        		return &http.Client{Timeout: limit}
        	}
        	return &http.Client{Transport: &http.Transport{
        		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
        	}}
        }

        func transports(base *http.Transport) *pair {
        	insecureBase := base.Clone()
        	insecureBase.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
        	return &pair{base, insecureBase}
        }
        """,
    ),
    bad(
        _TLS,
        "go",
        """
        package upload

        func clientFor(proxied bool) *http.Client {
        	if !proxied {
        		return &http.Client{Timeout: limit}
        	}
        	return &http.Client{Transport: &http.Transport{
        		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
        	}}
        }
        """,
        8,
    ),
    good(
        _TLS,
        "java",
        """
        class Clients {
            Clients secure(Trust trust) {
                if (!trust.isVerify()) {
                    return open();
                }
                return this;
            }

            Clients open() {
                builder.trustManager(InsecureTrustManagerFactory.INSTANCE);
                return this;
            }
        }
        """,
    ),
    bad(
        _TLS,
        "java",
        """
        class Clients {
            Clients secure(Trust trust) {
                return open();
            }

            Clients open() {
                builder.trustManager(InsecureTrustManagerFactory.INSTANCE);
                return this;
            }
        }
        """,
        7,
    ),
]
