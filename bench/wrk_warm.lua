-- As wrk.lua, without what comes first: the connections, their handshakes and so many requests (WARM_UP). The line `ready`
-- says that these are over.
local WARM_UP = tonumber(os.getenv("WARM_UP"))
local sent, text = 0, nil

function request()
  sent = sent + 1
  if sent == WARM_UP then
    io.stdout:write("ready\n")
    io.stdout:flush()
  end
  text = text or wrk.format()
  return text
end

function done(summary, latency)
  local e = summary.errors
  print(string.format('{"requests":%d,"elapsed_us":%d,"errors":%d,"p50_us":%d,"p99_us":%d}',
    summary.requests - WARM_UP, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
