"""Tables, models and keys that are loaded again for each request, or once."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "loaded-each-time"

_SCOPED = """
        class Zones {
            private readonly Dictionary<string, Zone> _zones;

            public Zones(IConfiguration configuration) {
                using var stream = File.OpenRead(configuration["Plan"]);
                _zones = JsonSerializer.Deserialize<Dictionary<string, Zone>>(stream);
            }
        }

        static class Module {
            static void Add(IServiceCollection services) => services.AddScoped<Zones>();
        }
        """
_CONSUMER = """
        using MassTransit;

        class Coverage : IConsumer<CoverageRequested> {
            private readonly Dictionary<string, string> _table;

            public Coverage(IOptions<CoverageOptions> options) {
                _table = File.ReadLines(options.Value.Path)
                    .Select(line => line.Split(';'))
                    .ToDictionary(cells => cells[0], cells => cells[1]);
            }
        }
        """
_ECHO = """
        package region

        import (
            "os"
            "github.com/labstack/echo/v4"
            "github.com/oschwald/geoip2-golang"
        )

        func (g *Gate) country(ip net.IP) (string, error) {
            raw, err := os.ReadFile(g.path)
            if err != nil {
                return "", err
            }
            db, err := geoip2.FromBytes(raw)
            if err != nil {
                return "", err
            }
            return lookup(db, ip)
        }

        func (g *Gate) Middleware(next echo.HandlerFunc) echo.HandlerFunc {
            return func(c echo.Context) error {
                if _, err := g.country(net.ParseIP(c.RealIP())); err != nil {
                    return err
                }
                return next(c)
            }
        }
        """
_FILTER = """
        import com.nimbusds.jose.jwk.JWKSet;

        class TokenFilter extends OncePerRequestFilter {
            @Override
            protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain) {
                check(request.getHeader("Authorization"));
            }

            private void check(String token) {
                JWKSet keys = JWKSet.load(keysUrl, 2000, 2000, 1000);
                verify(keys.getKeyByKeyId(token));
            }
        }
        """
_PROPERTY = """
        import ctranslate2

        class Engine:
            @property
            def _translator(self):
                return ctranslate2.Translator(str(self._root), device="cpu")

            def translate(self, tokens):
                return self._translator.translate_batch([tokens])
        """
_FLASK = """
        import json
        from flask import Flask, request

        app = Flask(__name__)

        def zone_of(code):
            with open("zones.json") as file:
                zones = json.load(file)
            return zones[code]

        @app.get("/zone")
        def zone():
            return {"zone": zone_of(request.args["code"])}
        """
_EXPRESS = """
        import fs from "node:fs";

        app.get("/zone", (req, res) => {
          const zones = JSON.parse(fs.readFileSync(ZONES, "utf8"));
          res.json({ zone: zones[req.query.code] });
        });
        """
_CLIENT = """
        import httpx

        class Rates:
            @property
            def client(self):
                return httpx.Client(timeout=3)

            def rate(self, code):
                return self.client.get(f"/rates/{code}").json()
        """

CASES = [
    bad(_RULE, "csharp", _SCOPED, 6),
    good(_RULE, "csharp", _SCOPED.replace("AddScoped", "AddSingleton")),
    bad(_RULE, "csharp", _CONSUMER, 7),
    good(_RULE, "csharp", _CONSUMER.replace("public Coverage(IOptions<CoverageOptions> options)", "static Coverage()").replace("options.Value.", "Settings.")),
    good(_RULE, "csharp", _CONSUMER.replace(" : IConsumer<CoverageRequested>", "")),
    bad(_RULE, "go", _ECHO, 14),
    good(_RULE, "go", _ECHO.replace("func (g *Gate) country(ip net.IP)", "func NewCountry(g *Gate, ip net.IP)").replace("g.country(", "g.known(")),
    bad(_RULE, "java", _FILTER, 10),
    good(_RULE, "java", _FILTER.replace("JWKSet keys = JWKSet", "if (keys == null) keys = JWKSet")),
    bad(_RULE, "python", _PROPERTY, 6),
    good(_RULE, "python", _PROPERTY.replace("@property", "@cached_property")),
    bad(_RULE, "python", _FLASK, 8),
    good(_RULE, "python", _FLASK.replace("\"zones.json\"", "f\"zones/{code}.json\"")),
    good(_RULE, "python", _FLASK.replace("def zone_of", "@lru_cache\n        def zone_of")),
    good(_RULE, "python", _FLASK.replace("zones = json.load(file)", "zones = json.load(file)\n            with open(TMP, \"w\") as out:\n                json.dump(zones, out)")),
    bad(_RULE, "javascript", _EXPRESS, 4),
    good(_RULE, "javascript", _EXPRESS.replace("ZONES,", "req.query.file,")),
    bad(_RULE, "go", """
        package auth

        import (
            "net/http"
            "github.com/coreos/go-oidc/v3/oidc"
        )

        func (a *Auth) User(w http.ResponseWriter, r *http.Request) {
            provider, err := oidc.NewProvider(r.Context(), a.issuer)
            a.answer(w, provider, err)
        }
        """, 9),
    bad("http-client-per-call", "python", _CLIENT, 6),
    good("http-client-per-call", "python", _CLIENT.replace("@property", "@cached_property")),
]  # fmt: skip
