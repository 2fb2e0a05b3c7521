"""Maps that outlive a call: caches that only grow, values that several callers load at once."""

# ruff: noqa: E101  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_CACHE = "unbounded-cache"
_PY = "python"
_TS = "typescript"
_GO = "go"
_JAVA = "java"
_RUST = "rust"
_CS = "csharp"
_KT = "kotlin"

CASES = [
    bad(
        _CACHE,
        _PY,
        """
        import time
        _suggestions = {}

        def suggestions_for(prefix, locale):
            key = (prefix.lower(), locale)
            known = _suggestions.get(key)
            if known and time.monotonic() - known[0] < 300:
                return known[1]
            titles = query_index(prefix, locale)
            _suggestions[key] = (time.monotonic(), titles)
            return titles

        class ProfileService:
            def __init__(self, api):
                self.api = api
                self.profiles = {}

            def profile(self, user_id):
                if user_id not in self.profiles:
                    self.profiles[user_id] = self.api.load(user_id)
                return self.profiles[user_id]
        """,
        2,
        16,
    ),
    good(
        _CACHE,
        _PY,
        """
        from cachetools import TTLCache
        _suggestions = TTLCache(maxsize=1000, ttl=300)
        _codes = {"de": 1, "fr": 2}
        _loaders = {}

        def suggestions_for(prefix):
            if prefix in _suggestions:
                return _suggestions[prefix]
            _suggestions[prefix] = query_index(prefix)
            return _suggestions[prefix]

        def register(kind, loader):
            _loaders[kind] = loader

        class ProfileService:
            def __init__(self, api):
                self.api = api
                self.profiles = {}

            def profile(self, user_id):
                if user_id not in self.profiles:
                    if len(self.profiles) > 1000:
                        self.profiles.clear()
                    self.profiles[user_id] = self.api.load(user_id)
                return self.profiles[user_id]

        class Walk:
            def __init__(self):
                self.done = {}

            def visit(self, node_id):
                if node_id not in self.done:
                    self.done[node_id] = True
        """,
    ),
    bad(
        _CACHE,
        _TS,
        """
        @Injectable()
        export class Flags {
          private readonly evaluations = new Map<string, Evaluation>();
          forUser(user: UserContext) {
            const key = `${user.id}:${user.country}`;
            const known = this.evaluations.get(key);
            if (known) return known;
            const made = evaluate(user);
            this.evaluations.set(key, made);
            return made;
          }
        }
        """,
        3,
    ),
    good(
        _CACHE,
        _TS,
        """
        @Injectable()
        export class Flags {
          private readonly evaluations = new Map<string, Evaluation>();
          private readonly parsers = new Map<Kind, Parser>();
          forUser(user: UserContext) {
            const key = `${user.id}:${user.country}`;
            const known = this.evaluations.get(key);
            if (known) return known;
            this.evaluations.set(key, evaluate(user));
            setTimeout(() => this.evaluations.delete(key), 60_000);
          }
          parser(id: Kind) {
            if (!this.parsers.has(id)) this.parsers.set(id, new Parser(id));
            return this.parsers.get(id);
          }
        }
        """,
    ),
    bad(
        _CACHE,
        _GO,
        """
        package a

        import "sync"

        type Profiles struct {
        	mu    sync.RWMutex
        	known map[string]Profile
        }

        type Server struct {
        	byToken map[string]Profile
        	seen    sync.Map
        }

        func (s *Server) Get(token string) Profile {
        	if p, ok := s.byToken[token]; ok {
        		return p
        	}
        	p := load(token)
        	s.byToken[token] = p
        	return p
        }

        func (s *Server) Once(id string) bool {
        	_, found := s.seen.LoadOrStore(id, true)
        	return found
        }
        """,
        11,
        12,
    ),
    bad(
        _CACHE,
        _JAVA,
        """
        import java.util.Map;
        import java.util.concurrent.ConcurrentHashMap;
        @Service
        public class Profiles {
          private final Map<String, Profile> known = new ConcurrentHashMap<>();
          public Profile get(String userId) {
            return known.computeIfAbsent(userId, id -> api.load(id));
          }
        }
        """,
        5,
    ),
    good(
        _CACHE,
        _JAVA,
        """
        import java.util.Map;
        import java.util.concurrent.ConcurrentHashMap;
        @Service
        public class Profiles {
          private final Map<Market, Profile> byMarket = new ConcurrentHashMap<>();
          private final Map<String, Profile> known = new ConcurrentHashMap<>();
          private final Map<String, Channel> channels = new ConcurrentHashMap<>();
          public Profile get(Market market) {
            return byMarket.computeIfAbsent(market, id -> api.load(id));
          }
          public Profile get(String userId) {
            return known.computeIfAbsent(userId, id -> api.load(id));
          }
          @Scheduled(fixedRate = 60000)
          void trim() {
            known.entrySet().removeIf(e -> e.getValue().isOld());
          }
          public Channel channel(String shard) {
            return channels.computeIfAbsent(shard, this::open);
          }
        }
        """,
    ),
    bad(
        _CACHE,
        _RUST,
        """
        use std::collections::HashMap;
        use tokio::sync::RwLock;
        pub struct Profiles {
            known: RwLock<HashMap<String, Profile>>,
        }
        impl Profiles {
            pub async fn get(&self, user_id: &str) -> Profile {
                if let Some(p) = self.known.read().await.get(user_id) {
                    return p.clone();
                }
                let p = self.load(user_id).await;
                self.known.write().await.insert(user_id.to_string(), p.clone());
                p
            }
        }
        """,
        4,
    ),
    good(
        _CACHE,
        _RUST,
        """
        use std::collections::HashMap;
        use tokio::sync::RwLock;
        pub struct Profiles {
            known: RwLock<HashMap<String, Profile>>,
        }
        impl Profiles {
            pub async fn get(&self, user_id: &str) -> Profile {
                if let Some(p) = self.known.read().await.get(user_id) {
                    return p.clone();
                }
                let p = self.load(user_id).await;
                let mut known = self.known.write().await;
                known.retain(|_, each| !each.is_old());
                known.insert(user_id.to_string(), p.clone());
                p
            }
        }
        """,
    ),
    bad(
        _CACHE,
        _CS,
        """
        public class Profiles {
          private static readonly ConcurrentDictionary<string, Profile> Known = new();
          public Task<Profile> Get(string userId) => Task.FromResult(Known.GetOrAdd(userId, id => Load(id)));
        }
        """,
        2,
    ),
    bad(
        _CACHE,
        _KT,
        """
        import java.util.concurrent.ConcurrentHashMap
        class Profiles(private val api: Api) {
            private val known = ConcurrentHashMap<String, Profile>()
            fun get(userId: String): Profile = known.getOrPut(userId) { api.load(userId) }
        }
        """,
        3,
    ),
]
