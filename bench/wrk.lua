-- The last line of wrk's output, as JSON.
function done(summary, latency)
  local e = summary.errors
  print(string.format('{"requests":%d,"elapsed_us":%d,"errors":%d,"p50_us":%d,"p99_us":%d}',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
