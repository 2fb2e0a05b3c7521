/** The time ranges that can be chosen, as the server's parameters. */

export const RANGES = [
  ["15m", "15 minutes"],
  ["1h", "hour"],
  ["6h", "6 hours"],
  ["24h", "24 hours"],
  ["7d", "7 days"],
  ["30d", "30 days"],
];

/** Buckets for about sixty points per chart. */
export const BUCKETS = { "15m": "15s", "1h": "1m", "6h": "5m", "24h": "20m", "7d": "3h", "30d": "12h" };

/** Local time as `2026-01-31T12:00`, the form of datetime fields. */
export const localText = (text) => {
  const moment = new Date(text);
  if (Number.isNaN(moment.getTime())) return "";
  return new Date(moment - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
};

export const fromLocal = (text) => (text ? new Date(text).toISOString() : "");
