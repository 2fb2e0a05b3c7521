-- The last line of wrk's output, as JSON.
function done(summary)
  local e = summary.errors
  print(string.format('{"requests":%d,"elapsed_us":%d,"errors":%d}',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout))
end
